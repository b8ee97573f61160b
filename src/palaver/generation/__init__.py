"""Generation: a grammar compiled to functions that make random trees.

The door:

- `tree_maker`: all makers of a grammar; `make` and `make_tree`
- `makers`: what callers hand in or catch: the spec's code, makers of fields, steering, `Discarded`
- `measured_derivations`: derivations with an exact length or count
- `depth`: how deep functions may call each other
- `generation_limits`: how large trees may be
"""

DOOR = ("tree_maker", "makers", "measured_derivations", "depth", "generation_limits")
