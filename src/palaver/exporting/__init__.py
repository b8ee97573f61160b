"""Findings for the tools of others: as a script that needs no palaver, and as a capture of packets.

Doors: `conversation` reads what was said from a run, `reproducer` makes a script of it, and `pcapng` a capture.
"""

DOOR = ("conversation", "reproducer", "pcapng")
