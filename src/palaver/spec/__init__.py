"""Spec files: text to a frozen abstract syntax tree with source positions, and Python code of specs.

Other rooms import from `ast`, `traversal` (of the AST), `diagnostics`, `spec_files` (reading files and texts) and
`python_code` (the spec's Python expressions as functions).
"""

DOOR = ("ast", "traversal", "diagnostics", "spec_files", "python_code")
