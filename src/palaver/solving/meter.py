"""How much work a search may do, counted in steps: trees that were judged."""

from __future__ import annotations

from palaver.constraints.check import Failure


class Meter:
    """Steps that were taken, how many may be, and the latest condition that did not hold."""

    __slots__ = ("failure", "limit", "spent")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0
        self.failure: Failure | None = None

    @property
    def is_empty(self) -> bool:
        return self.spent >= self.limit
