"""Deadlines of the peer's messages: how long each may take after the message before it.

They come from the command line, or from a variable of the spec, which means nothing to other tools:

    MESSAGE_DEADLINES = {"<answer>": 0.5}

A spec that includes another one may leave some of its messages out. It keeps their deadlines, which then never count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from palaver.errors import PalaverError
from palaver.spec.python_code import short_repr

VARIABLE = "MESSAGE_DEADLINES"


class Deadlines:
    """The seconds that messages may take, by their names. Without any, messages have the time of the timeout.

    `messages` are those of all rules, whether a session can come to them or not.

    :raises PalaverError: there is no such message, or its deadline is not a number of seconds
    """

    def __init__(self, seconds: Mapping[str, Any], messages: Iterable[str]) -> None:
        known = set(messages)
        self._seconds: dict[str, float] = {}
        for name, value in seconds.items():
            symbol = name if str(name).startswith("<") else f"<{name}>"
            if symbol not in known:
                raise PalaverError(f"a deadline is given for {symbol}, but there is no such message")
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise PalaverError(f"the deadline of {symbol} must be a number of seconds, not {short_repr(value)}")
            self._seconds[symbol] = float(value)

    def __bool__(self) -> bool:
        return bool(self._seconds)

    def of(self, symbol: str) -> float | None:
        """The deadline of a message, in seconds after the message before; None if it has none."""
        return self._seconds.get(symbol)

    def seconds_to_wait(self, symbols: Iterable[str], timeout: float) -> float:
        """The time to wait for one of these messages: until the timeout at least, as a late one is told as such."""
        return max([timeout, *(self._seconds.get(symbol, timeout) for symbol in symbols)])


def deadlines_of_spec(names: Mapping[str, Any]) -> Mapping[str, Any]:
    """The deadlines that the code of a spec sets. :raises PalaverError: they are not a dictionary"""
    found = names.get(VARIABLE, {})
    if not isinstance(found, dict):
        raise PalaverError(f"{VARIABLE} of the spec must be a dictionary of messages and seconds")
    return found
