"""Derivation trees: immutable nodes, their values, and the view of them that users see.

Other rooms import from `node` (nodes and paths), `lazy` (nodes with children made at first access), `values` (text,
bytes and numbers of nodes) and `tree` (the `Tree` of the API).
"""

DOOR = ("node", "lazy", "values", "tree")
