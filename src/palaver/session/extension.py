"""One more message: what is known after it, or why it cannot be accepted."""

from __future__ import annotations

from typing import NamedTuple

from palaver.constraints.checks import Failure
from palaver.lean_dataclasses import dataclass
from palaver.matching.forecaster import Forecast, MessageType
from palaver.session.blame import MonitorState, Violation
from palaver.session.references import Referenced
from palaver.spec.ast import Expression
from palaver.trees.node import Node


class Refusal(NamedTuple):
    """The reason why a message cannot be accepted."""

    reason: str
    leaf: Expression | None = None  # of the constraint that it violates
    is_crash: bool = False  # True if code of the spec raised
    blamed: int | None = None  # the earlier message that broke the constraint, by its number; None: it was this one
    violation: Violation | None = None
    cause: str = ""  # the exception that code of the spec raised, and where

    @staticmethod
    def by(violation: Violation) -> Refusal:
        """The refusal of a message that violates a constraint."""
        failure, breach = violation.failure, violation.breach
        is_crash = failure.error is not None
        if breach is None or is_crash:
            return Refusal(failure.tell(), failure.leaf, is_crash, None, violation, failure.cause)
        broken = breach.failure
        return Refusal(broken.tell(), broken.leaf, broken.error is not None, breach.number, violation, broken.cause)


class Extension(NamedTuple):
    """A message that violates no constraint, and what is known after it."""

    node: Node
    forecast: Forecast
    watches: list[MonitorState]  # one for each hypothesis
    referenced: Referenced


@dataclass(slots=True)
class MakingAttempt:
    """An attempt to make a message, and what stood in its way."""

    move: MessageType
    violation: Violation | None = None
    failure: Failure | None = None
    broken: frozenset[int] = frozenset()  # clauses that may recover
    refused: int = 0  # messages that were refused because they break such clauses
    latest: Failure | None = None  # of such a clause with the latest of these messages
