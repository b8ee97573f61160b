"""Fingerprints of findings: what is equal for findings of one problem, and differs for those of two.

Times and random values are left out: numbers, quoted values, and what the peer has only repeated from our messages,
also in another case. So the same problem, met with other values, has the same fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple
from hashlib import blake2b
from typing import TYPE_CHECKING

from palaver.lean_dataclasses import dataclass
from palaver.session.message_text import is_binary
from palaver.session.session_limits import (
    MAX_FINGERPRINT_BINARY,
    MAX_FINGERPRINT_BYTES,
    MAX_FINGERPRINT_SAID,
    MAX_FINGERPRINT_SOURCE,
    MAX_FINGERPRINT_WORD,
    MIN_REPEATED_PART,
    MIN_REPEATED_WORD,
)
from palaver.trees.node import Node

if TYPE_CHECKING:
    from palaver.session.findings import SessionMessage


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The part of a finding that tells one problem from another."""

    kind: str
    party: str  # that caused it
    after: str  # the name of the last message
    request: str  # the names of our last message: of the message, and of what stands for it
    constraint: str  # the violated one
    expected: tuple[str, ...]
    cause: str = ""  # the signal or exit code, and the top stack frame; or the reason, without its values
    received: str = ""  # what came where it was wrong, without its values

    @property
    def digest(self) -> str:
        """A short name for it, equal in all runs."""
        return blake2b(repr(astuple(self)).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()

    @property
    def problem(self) -> tuple[object, ...]:
        """The part that is equal for findings of one problem that was reached in different ways."""
        return self.kind, self.party, self.after, self.request, self.constraint, self.cause, self.received

    @property
    def place(self) -> tuple[object, ...]:
        """The part that is equal for all problems at one place of the dialogue, whatever came there."""
        return self.kind, self.party, self.after, self.request, self.constraint, self.expected


_QUOTED = re.compile(r"b?'(?:[^'\\]|\\.)*'|b?\"(?:[^\"\\]|\\.)*\"")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
# Not those of a place such as `spec.fan:7:3`, nor those inside of a name, nor exit codes.
_NUMBER = re.compile(r"(?<![\w:.])(?<!code )\d+(?:\.\d+)*")

_WORD = re.compile(rb"[A-Za-z0-9_]+")
# A digest or a random identifier, if digits and letters are mixed.
_LONG_WORD = re.compile(rb"[0-9a-zA-Z]{8,}")
_DIGITS = re.compile(rb"[0-9]+")
_REPEATED = b"..."


def normalised_text(text: str) -> str:
    """A sentence without the values in it."""
    return _NUMBER.sub("0", _ADDRESS.sub("0x0", _QUOTED.sub("''", text[:MAX_FINGERPRINT_SOURCE])))


def normalised_data(data: bytes, said: bytes = b"") -> str:
    """The first line of received data, without numbers and without what it repeats of what we have said."""
    if _is_binary(data):
        return data[:MAX_FINGERPRINT_BINARY].hex(" ")
    line = _LONG_WORD.sub(_without_digest, without_repetition(data, said, MIN_REPEATED_WORD, _REPEATED))
    return _DIGITS.sub(b"0", line)[:MAX_FINGERPRINT_BYTES].decode(errors="replace")


def data_again(data: bytes, said: bytes) -> str:
    """The part of received data that is equal when it comes again, in answer to other messages perhaps."""
    if _is_binary(data):
        return data[:MAX_FINGERPRINT_BINARY].hex(" ")
    line = _LONG_WORD.sub(_without_digest, without_repetition(data, said))
    return _DIGITS.sub(b"0", line).decode(errors="replace")


def _is_binary(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return is_binary(data)


def repeatable(ours: Sequence[bytes]) -> bytes:
    """The part of our messages that a peer may repeat: all of the last, and those before without their first word.

    That is the name of a message, mostly. An answer that names a command is the same answer, whether that command was
    said before or not.
    """
    parts, size = list(ours[-1:]), 0
    for data in reversed(ours[:-1]):
        name = _WORD.match(data)
        parts.append(data[name.end() :] if name else data)
        size += len(data)
        if size > MAX_FINGERPRINT_SAID:
            break
    return b"\0".join(parts)


def without_repetition(data: bytes, said: bytes, shortest: int = 1, mark: bytes = b"") -> bytes:
    """The first line of received data, with a mark for what it repeats, in so many characters, of what we have said."""
    line = data.lstrip(b"\r\n").partition(b"\n")[0].rstrip(b"\r") or data[:1]
    line, said = line[:MAX_FINGERPRINT_SOURCE], said[:MAX_FINGERPRINT_SAID].lower()
    small, words = line.lower(), set(_WORD.findall(said))
    rest: list[bytes] = []
    at = 0
    while word := _WORD.search(line, at):
        start, end = word.span()
        rest.append(line[at:start])
        is_repeated = small[start:end] in (said if end - start >= MIN_REPEATED_WORD else words)
        at = _end_of_repetition(small, start, end, said) if is_repeated else end
        if not is_repeated or at - start < shortest:
            rest.append(_without_repeated_part(line[start:at], said, mark))
            continue
        if rest[-2:] != [mark, b""]:  # what is repeated in several pieces is repeated
            rest.append(mark)
        at += len(line[at:]) - len(line[at:].lstrip())
    return b"".join((*rest, line[at:]))


def _end_of_repetition(line: bytes, start: int, end: int, said: bytes) -> int:
    """The end of the last word until which all from `start` on is repeated; it is so until `end`."""
    for word in _WORD.finditer(line, end):
        if line[start : word.end()] not in said:
            break
        end = word.end()
    return end


def _without_repeated_part(word: bytes, said: bytes, mark: bytes) -> bytes:
    """A word with a mark for the longest beginning or end that is repeated from what we have said, in lower case."""
    small = word.lower()
    for length in range(min(len(word) - 1, MAX_FINGERPRINT_WORD), MIN_REPEATED_PART - 1, -1):
        if small[-length:] in said:
            return word[:-length] + mark
        if small[:length] in said:
            return mark + word[length:]
    return word


def _without_digest(word: re.Match[bytes]) -> bytes:
    is_mixed = not word[0].isalpha() and not word[0].isdigit()
    return b"0" if is_mixed else word[0]


def request_names(messages: Sequence[SessionMessage]) -> str:
    """The name of our last message; and if another symbol stands for all of it, that one's, too."""
    ours = next((said for said in reversed(messages) if said.is_ours), None)
    if ours is None:
        return ""
    names = [ours.symbol]
    node = ours.node
    while len(node.children) == 1 and isinstance(child := node.children[0], Node):
        names.append(child.symbol)
        node = child
    return " ".join(names)
