"""The step budget of a search, counted in trees that were measured."""

from __future__ import annotations

from palaver.constraints.checks import Failure


class StepBudget:
    """The steps that were taken, their limit, and the latest condition that failed."""

    __slots__ = ("failure", "limit", "spent")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0
        self.failure: Failure | None = None

    @property
    def is_spent(self) -> bool:
        return self.spent >= self.limit
