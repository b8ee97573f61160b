"""Constraints, compiled: to checks, to outcomes that follow a growing session, and to distances that guide a search.

Doors: `checks` (a constraint as a function that returns its first failure), `node_selectors` (paths as functions that
find nodes), `incremental` (checks evaluated again with every message), `distance` (distance from satisfaction),
`code_uses` (static analysis of conditions). The other modules are private to the room.
"""

DOOR = ("checks", "node_selectors", "incremental", "distance", "code_uses")
