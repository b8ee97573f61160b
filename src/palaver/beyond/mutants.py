"""Mutants: messages with one thing wrong, in a known place, made from a right one.

Kinds of wrongness, each derived from the grammar:

- structure: a part left out, said twice, exchanged with its neighbour, replaced by the text of another; a keyword with
  one letter changed
- terminal: control characters, NUL, blanks, the wrong case, bytes that are no UTF-8, a bit that is flipped

Fields at and beyond their bounds are in `extremes`, broken constraints in the session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from palaver.random_source import RandomSource
from palaver.trees.node import Node, Part
from palaver.trees.values import leaf_bytes


class WrongnessKind(Enum):
    """A kind of wrongness."""

    __hash__ = object.__hash__

    STATE = "state"
    STRUCTURE = "structure"
    TERMINAL = "terminal"
    CONSTRAINT = "constraint"
    EXTREME = "extreme"
    TRANSPORT = "transport"


class Mutant(NamedTuple):
    """A message with one thing wrong."""

    data: bytes
    kind: WrongnessKind
    what: str  # what was done to it, and to which part


class MutablePart(NamedTuple):
    """A part of a message: its bytes, the name of its symbol, and its place among its siblings."""

    start: int
    end: int
    symbol: str  # the part itself, or for a leaf the symbol around it
    is_leaf: bool
    parent: int  # a number for each node
    depth: int


def spans_of(message: Node) -> list[MutablePart]:
    """The parts of a message that fill whole bytes, the message itself left out, from left to right."""
    found: list[MutablePart] = []
    # A symbol with its start is a node that ends here; positions are in bits.
    stack: list[tuple[Part, str, int, int] | tuple[int, str, int, int, int]] = [(message, message.symbol, -1, 0)]
    at = numbers = 0
    while stack:
        top = stack.pop()
        if len(top) == 5:
            start, symbol, parent, depth, _ = top
            found.append(MutablePart(start, at, symbol, False, parent, depth))
            continue
        part, symbol, parent, depth = top
        if isinstance(part, Node):
            numbers += 1
            stack.append((at, part.symbol, parent, depth, 0))
            stack.extend((child, part.symbol, numbers, depth + 1) for child in reversed(part.children))
        else:
            size = 1 if isinstance(part, int) else 8 * len(leaf_bytes(part))
            found.append(MutablePart(at, at + size, symbol, True, parent, depth))
            at += size
    whole = [span for span in found if span.start % 8 == 0 and span.end % 8 == 0]
    spans = [span._replace(start=span.start // 8, end=span.end // 8) for span in whole]
    return sorted(span for span in spans if span.depth and span.end > span.start)


_STRUCTURES = ("left out", "twice", "exchanged", "replaced", "misspelt")


def spliced(data: bytes, span: MutablePart, new: bytes) -> bytes:
    return data[: span.start] + new + data[span.end :]


def structure_mutant(data: bytes, spans: Sequence[MutablePart], chance: RandomSource, turn: int) -> Mutant | None:
    """A message with a part that is missing, doubled, out of order, of another kind, or misspelt."""
    if not spans:
        return None
    span = chance.pick(spans)
    text, name = data[span.start : span.end], name_of(data, span)
    how = _STRUCTURES[turn % len(_STRUCTURES)]
    if how == "left out":
        return _mutant(spliced(data, span, b""), WrongnessKind.STRUCTURE, f"{name} left out")
    if how == "twice":
        return _mutant(spliced(data, span, text * 2), WrongnessKind.STRUCTURE, f"{name} said twice")
    if how == "exchanged":
        siblings = [each for each in spans if each.parent == span.parent and each.start == span.end]
        if not siblings:
            return None
        other = siblings[0]
        swapped = data[: span.start] + data[other.start : other.end] + text + data[other.end :]
        return _mutant(swapped, WrongnessKind.STRUCTURE, f"{name} and {name_of(data, other)} exchanged")
    if how == "replaced":
        other = chance.pick(spans)
        new = spliced(data, span, data[other.start : other.end])
        return _mutant(new, WrongnessKind.STRUCTURE, f"{name_of(data, other)} instead of {name}")
    words = [each for each in spans if each.is_leaf and data[each.start : each.end][:1].isalpha()]
    if not words:
        return None
    word = chance.pick(words)
    letters = [at for at in range(word.start, word.end) if data[at : at + 1].isalpha()]
    at = chance.pick(letters)
    new_letter = bytes([data[at] ^ 0x02]) if bytes([data[at] ^ 0x02]).isalpha() else b"Z"
    new = data[:at] + new_letter + data[at + 1 :]
    return _mutant(new, WrongnessKind.STRUCTURE, f"a letter of {name_of(data, word)} changed")


_INSERTED = {
    "a NUL": b"\0",
    "a control character (SOH)": b"\x01",
    "a control character (BS)": b"\x08",
    "a control character (ESC)": b"\x1b",
    "a control character (DEL)": b"\x7f",
    "a TAB": b"\t",
    "a blank": b" ",
    "a byte that is no UTF-8": b"\xff",
    "an overlong form of UTF-8": b"\xc0\xaf",
    "a letter beyond ASCII": "é".encode(),
    "a carriage return": b"\r",
    "a percent sign": b"%n",
}


# What many readers skip at the beginning and the end of a message.
_AROUND = {"a blank": b" ", "a TAB": b"\t", "a NUL": b"\0"}
_TERMINALS = (*_INSERTED, "case", "bit", "blank left out", "one left out", "one twice", "before the message")


def terminal_mutant(data: bytes, spans: Sequence[MutablePart], chance: RandomSource, turn: int) -> Mutant | None:
    """A message with a character that does not belong there."""
    if turn % 2 and (bits := _in_bits(data, spans)):
        at, bit = bits[turn // 16 % len(bits)], 7 - turn // 2 % 8  # one after the other: each has a meaning of its own
        flipped = data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]
        name = min((each.end - each.start, each.symbol) for each in spans if each.start <= at < each.end)[1]
        return _mutant(flipped, WrongnessKind.TERMINAL, f"a bit of {name} flipped")
    leaves = [span for span in spans if span.is_leaf]
    if not leaves:
        return None
    span = chance.pick(leaves)
    name = name_of(data, span)
    how = _TERMINALS[turn % len(_TERMINALS)]
    inside = span.start + chance.below(span.end - span.start)
    at = chance.pick((span.start, inside, span.end))  # the borders of a part are where mistakes are made
    if how == "before the message":
        added = chance.pick(list(_AROUND))
        return _mutant(_AROUND[added] + data, WrongnessKind.TERMINAL, f"{added} before the message")
    if how == "case":
        new = spliced(data, span, data[span.start : span.end].swapcase())
        return _mutant(new, WrongnessKind.TERMINAL, f"{name} in the other case")
    if how == "bit":
        bit = chance.pick((7, chance.below(8)))  # the highest one is left out by those who have only seven
        flipped = bytes([data[inside] ^ (1 << bit)])
        return _mutant(data[:inside] + flipped + data[inside + 1 :], WrongnessKind.TERMINAL, f"a bit of {name} flipped")
    if how == "one left out":
        new = data[:inside] + data[inside + 1 :]
        return _mutant(new, WrongnessKind.TERMINAL, f"a character of {name} left out")
    if how == "one twice":
        new = data[: inside + 1] + data[inside:]
        return _mutant(new, WrongnessKind.TERMINAL, f"a character of {name} said twice")
    if how == "blank left out":
        text = data[span.start : span.end]
        new = spliced(data, span, text.replace(b" ", b"", 1))
        return _mutant(new, WrongnessKind.TERMINAL, f"{name} without its blank") if b" " in text else None
    return _mutant(data[:at] + _INSERTED[how] + data[at:], WrongnessKind.TERMINAL, f"{how} in {name}")


def _in_bits(data: bytes, spans: Sequence[MutablePart]) -> list[int]:
    """The bytes that are made of fields of bits: no terminal has them alone."""
    whole = {at for span in spans if span.is_leaf for at in range(span.start, span.end)}
    named = {at for span in spans if not span.is_leaf for at in range(span.start, span.end)}
    return sorted(named - whole)


_NAMES = re.compile(r"'[^']*' of |a part of |<[^<>]*>|\([A-Z]+\)|[0-9]+")


def operator_of(what: str) -> str:
    """The thing that was done to a message, without the names and values of its parts."""
    return " ".join(_NAMES.sub("", what).split())


def _mutant(data: bytes, kind: WrongnessKind, what: str) -> Mutant:
    return Mutant(data, kind, what)


def name_of(data: bytes, span: MutablePart) -> str:
    """The name of a part: its symbol, or for text beside symbols the text itself."""
    if not span.is_leaf:
        return span.symbol
    text = data[span.start : span.end]
    shown = text.decode("ascii", "backslashreplace").strip()
    return f"'{shown}' of {span.symbol}" if 0 < len(shown) <= 12 and shown.isprintable() else f"a part of {span.symbol}"


# Makes a mutant of a message from its bytes and parts; a number rotates what is done to it.
MutantMaker = Callable[[bytes, Sequence[MutablePart], RandomSource, int], Mutant | None]

MAKERS: dict[WrongnessKind, MutantMaker] = {
    WrongnessKind.STRUCTURE: structure_mutant,
    WrongnessKind.TERMINAL: terminal_mutant,
}
