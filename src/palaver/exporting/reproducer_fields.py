"""The part of an exported script that computes fields of messages anew: lengths, checksums, and the like.

What a constraint of the spec says of a field stands in the script as Python text, with the functions that it calls. So
only the standard library is used here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


class MessagePart:
    """A part of a message, as code of a spec sees it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __bytes__(self) -> bytes:
        return self.data

    def __str__(self) -> str:
        try:
            return self.data.decode()
        except UnicodeDecodeError:
            return self.data.decode("latin-1")

    def __int__(self) -> int:
        return int(str(self))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, bytes):
            return self.data == other
        return str(self) == str(other) if isinstance(other, (str, MessagePart)) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(str(self), name)


def evaluated(text: str, names: dict[str, Any], parts: dict[str, MessagePart]) -> Any:
    """The value of an expression of the spec, in which names stand for parts of a message."""
    return eval(text, {**names, **parts})


class MendedMessage:
    """A message in which words were replaced, and then the fields that no longer fit."""

    def __init__(
        self, data: bytes, fields: list[dict[str, Any]], names: dict[str, Any], adapt: Callable[[bytes], bytes]
    ) -> None:
        places = [place for field in fields for place in (field["field"], *field["parts"].values())]
        cuts = sorted({0, len(data), *(cut for place in places for cut in place)})
        self._numbers = {cut: number for number, cut in enumerate(cuts)}
        self._pieces = [adapt(data[start:end]) for start, end in zip(cuts, cuts[1:])]  # noqa: B905, RUF007
        self._fields = fields
        self._names = names

    def mended(self) -> bytes:
        """The message with every field as the others want it, as far as that can be found."""
        for _ in self._fields:  # a field may be part of what another one depends on
            for field in self._fields:
                if not self._holds(field):
                    self._mend(field)
        return b"".join(self._pieces)

    def _part(self, place: tuple[int, int]) -> bytes:
        return b"".join(self._pieces[self._numbers[place[0]] : self._numbers[place[1]]])

    def _value(self, text: str, field: dict[str, Any]) -> Any:
        parts = {name: MessagePart(self._part(place)) for name, place in field["parts"].items()}
        return evaluated(text, self._names, parts)

    def _holds(self, field: dict[str, Any]) -> bool:
        try:
            return bool(self._value(field["condition"], field))
        except Exception:  # code of the spec may raise anything
            return False

    def _mend(self, field: dict[str, Any]) -> None:
        start, end = (self._numbers[cut] for cut in field["field"])
        before = self._pieces[start:end]
        with contextlib.suppress(Exception):
            for data in list(self._candidates(field)):
                self._pieces[start:end] = [data, *(b"" for _ in before[1:])]
                if self._holds(field):
                    return
        self._pieces[start:end] = before

    def _candidates(self, field: dict[str, Any]) -> Iterator[bytes]:
        """The wanted value in the forms that a field may have it in."""
        value, now = self._value(field["value"], field), self._part(field["field"])
        if isinstance(value, (bytes, bytearray, MessagePart)):
            yield bytes(value)
        elif isinstance(value, str):
            yield value.encode()
            yield value.encode("latin-1", "replace")
        elif isinstance(value, int):
            # The equation may be about the number and something more, such as the four bytes of a header.
            for number in (value, value - self._surplus(field, now)):
                for form in ("%0*d", "%0*x", "%0*X"):
                    yield (form % (field["width"], number)).encode()
                with contextlib.suppress(OverflowError):
                    yield number.to_bytes(len(now), "big")
                    yield number.to_bytes(len(now), "little")

    def _surplus(self, field: dict[str, Any], now: bytes) -> int:
        side = self._value(field["side"], field)
        return int(side) - (int(now) if now.isdigit() else int.from_bytes(now, "big"))
