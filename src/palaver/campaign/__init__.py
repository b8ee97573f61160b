"""Campaigns: session after session with a system under test, as a stream of events.

Doors: `talk` sets up a campaign, `run` is the `Campaign`, `events` are what it yields, `oracles` are checks beyond the
grammar, and `target` is the program under test, started and watched.
"""

DOOR = ("events", "oracles", "run", "talk", "target")
