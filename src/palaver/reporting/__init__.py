"""Readers of a campaign's events: what is shown while it lasts, its findings, and its summary.

Doors: `console` is the reader of `palaver talk`, and `planted_defects` that of the demo.
"""

DOOR = ("console", "planted_defects")
