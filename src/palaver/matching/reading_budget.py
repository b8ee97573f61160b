"""A budget for reading one input that somebody else sends: it bounds the memory of all who read it."""

from __future__ import annotations

from palaver.lean_dataclasses import dataclass


@dataclass(slots=True, eq=False)
class ReadingBudget:
    """The steps that the Earley parsers of one input may take together, and the rules that may be open at a time.

    A step costs some 250 bytes, and an open rule 400. What the grammar allows may be any number of both: an ambiguous
    input has many steps, and one that only opens brackets has as many open rules.
    """

    steps: int  # that are left
    depth: int

    def spend(self, steps: int) -> bool:
        """Take so many steps; False if that is too many."""
        self.steps -= steps
        return self.steps >= 0

    def is_too_deep(self, frame: object) -> bool:
        """Return True if more rules are open than may be; each frame of a call names the one around it."""
        depth = 0
        while isinstance(frame, tuple):
            frame = frame[2]
            depth += 1
            if depth > self.depth:
                return True
        return False
