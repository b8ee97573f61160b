"""Coverage of a spec, and the strategies that choose our messages to increase it.

Doors: `guidance` puts a guided run together; `coverage` counts k-paths; `goals` selects the k-paths that matter;
`coverage_file` keeps the results between runs; `state_diagram` draws the states of a dialogue.
"""

DOOR = ("guidance", "coverage", "goals", "coverage_file", "state_diagram")
