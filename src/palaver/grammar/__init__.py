"""Grammars: names resolved and library rules added, with static analysis, checks, slices and printing.

Other rooms import from `ir` (the `Grammar`), `analysis`, `lowering` (spec files to grammars, slices of grammars),
`diagnosis` (static checks) and `printing`.
"""

DOOR = ("ir", "analysis", "lowering", "diagnosis", "printing")
