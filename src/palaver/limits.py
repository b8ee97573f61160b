"""Limits: where palaver stops on purpose, and a record of the limits that were reached.

Each room declares its limits in one module. A limit that costs only time is a plain number there. A `Limit` is one that
changes a result when it is reached (a reading is dropped, a proof is not attempted); the code that stops there calls
`reached`. Whoever wants to tell the user records the limits reached in a context of its own:

    with limits.recorded() as reached:
        ...
    for line in limits.told(reached):
        print(line)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self

_record: ContextVar[Counter[Limit] | None] = ContextVar("limits reached", default=None)


class Limit(int):
    """A number that bounds some work, with what is limited and what happens beyond it."""

    what: str
    consequence: str

    def __new__(cls, value: int, what: str, consequence: str) -> Self:
        limit = super().__new__(cls, value)
        limit.what = what
        limit.consequence = consequence
        return limit

    def reached(self) -> None:
        """Record that the limit has changed a result."""
        record = _record.get()
        if record is not None:
            record[self] += 1

    def told(self, times: int) -> str:
        """One line for the user: `limit reached 3 times: 64 hypotheses; the least likely are dropped`."""
        often = "once" if times == 1 else f"{times} times"
        return f"limit reached {often}: {int(self)} {self.what}; {self.consequence}"

    def __hash__(self) -> int:
        return hash((self.what, int(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Limit):
            return self.what == other.what and int(self) == int(other)
        return int(self) == other


def told(record: Counter[Limit]) -> list[str]:
    """The limits of a record, in the order of their names: one line for each."""
    return [limit.told(times) for limit, times in sorted(record.items(), key=lambda item: item[0].what)]


@contextmanager
def recorded(into: Counter[Limit] | None = None) -> Iterator[Counter[Limit]]:
    """Record the limits that are reached in this context, and how often each; in a new record unless one is given."""
    record: Counter[Limit] = Counter() if into is None else into
    token = _record.set(record)
    try:
        yield record
    finally:
        _record.reset(token)
