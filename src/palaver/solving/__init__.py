"""Solving: trees that satisfy every constraint, by construction where possible, else by search.

Doors: `solver_factory` (makes solvers for the constraints of a spec), `solving_limits` (bounds and rates; loads nothing
else), `clauses` (constraints in conjunctive form), `explanation` (proofs and reasons where no tree is found),
`generator_sources` (the arguments of generators, recovered from parsed input). The other modules are private.
"""

DOOR = ("solver_factory", "solving_limits", "clauses", "explanation", "generator_sources")
