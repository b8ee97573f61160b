"""The progress of reading a message: the lengths at which it is complete, and where it failed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence


class MatchProgress:
    """The result of reading so far. All offsets and lengths count units of the input: bytes, or characters of a str.

    may_go_on       True if more input could be read
    dead_at         the offset of the first unexpected unit; None as long as there is none, or if the message is
                    complete right at the end of the input
    expected        the terminals that could have stood at `failed_at`, in the order of the spec
    complete_here   True if all the input so far is a complete message
    """

    __slots__ = ("_count", "_failure", "_lengths", "complete_here", "may_go_on")

    def __init__(
        self,
        lengths: Sequence[int],
        complete_here: bool,
        may_go_on: bool,
        failure: Callable[[], tuple[int, tuple[str, ...]]] | None = None,
    ) -> None:
        # The list is shared with the matcher and only grows, so that a piece costs nothing for those before it.
        self._lengths = lengths
        self._count = len(lengths)
        self.complete_here = complete_here
        self.may_go_on = may_go_on
        self._failure = failure

    @property
    def failed_at(self) -> int | None:
        return None if self._failure is None else self._failure()[0]

    @property
    def expected(self) -> tuple[str, ...]:
        return () if self._failure is None else self._failure()[1]

    def is_complete_at(self, length: int) -> bool:
        """Return True if the first `length` units are a complete message."""
        place = bisect_left(self._lengths, length, 0, self._count)
        return place < self._count and self._lengths[place] == length

    def last_lengths(self, number: int) -> list[int]:
        """The last of `complete`, as many as asked for or all."""
        return list(self._lengths[max(0, self._count - number) : self._count])

    @property
    def complete(self) -> tuple[int, ...]:
        """The lengths at which the message is complete, rising; of a whole input, its full length or none."""
        return tuple(self._lengths[: self._count])

    @property
    def longest(self) -> int | None:
        """The last of `complete`."""
        return self._lengths[self._count - 1] if self._count else None

    def _key(self) -> tuple[object, ...]:
        return self.complete, self.complete_here, self.may_go_on, self.failed_at, self.expected

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatchProgress) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]  # not a key

    def __repr__(self) -> str:
        return (
            f"Progress(complete={self.complete}, may_go_on={self.may_go_on}, dead_at={self.failed_at},"
            f" expected={self.expected})"
        )
