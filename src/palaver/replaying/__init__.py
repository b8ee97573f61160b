"""Recorded findings, tried again: offline through the engine, live with the target, and made small.

Doors: `offline_replay`, `live_replay` and `shrinking`, each for the command that is called so.
"""

DOOR = ("offline_replay", "live_replay", "shrinking")
