"""Recorded findings, tried again: offline through the engine, live with the target, and made small.

Doors: `offline_replay`, `live_replay` and `shrinking`, each for the command that is called so; `again` lets a run begin
with the findings of another one, and `resuming` lets a run go on.
"""

DOOR = ("offline_replay", "live_replay", "shrinking", "again", "resuming")
