"""Grammars: names resolved and library rules added, with static analysis, checks, slices and printing.

Other rooms import from `ir` (the `Grammar`), `analysis`, `lowering` (spec files to checked grammars, slices of them),
`printing` and `symbol_languages` (the regular languages of symbols).
"""

DOOR = ("ir", "analysis", "lowering", "printing", "symbol_languages")
