"""Strings that match a regular expression, made from its parsed structure.

Most of a message's characters come from here, so the common case, a class of characters some number of times, is one
draw of random bytes and one table look-up for all of them. Parts that no construction can promise (look-around and
anchors) are made as if they were not there, and the result is checked against the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from palaver.chance import Chance
from palaver.generation.pools import drawable, written_out
from palaver.grammar.charset import BYTES, EVERY, CharSet
from palaver.grammar.outline import CHARACTERS, REPEATS, characters, flags_inside, op
from palaver.grammar.regex import Regex

# Text is drawn as str, anything binary as bytes; the two never mix in one pattern.
Text: TypeAlias = str | bytes
Draw: TypeAlias = Callable[[Chance], Any]

# How often a pattern with look-around and the like is tried before it is given up.
_TRIES = 1000


class NoSuchString(Exception):
    """The pattern could not be instantiated."""


def compile_draw(regex: Regex, *, binary: bool, most: int) -> Callable[[Chance], Text]:
    """A function that draws a string of the pattern; unbounded repetition stops `most` above its least count."""
    draw = _Builder(binary, most).sequence(regex.tree, regex.flags)
    if regex.is_plain:
        return draw

    def checked(chance: Chance) -> Text:
        for _ in range(_TRIES):
            text = draw(chance)
            if regex.matches(text.decode("latin-1") if binary else text):
                return cast("Text", text)
        raise NoSuchString

    return checked


def drawn_from(regex: Regex, *, binary: bool) -> str | None:
    """The characters a pattern is drawn from if it is one character out of a few; else None."""
    if len(regex.tree) != 1 or regex.tree[0][0] not in CHARACTERS:
        return None
    kind, value = regex.tree[0]
    return "".join(written_out(_pool(kind, value, regex.flags, binary)))


def _pool(kind: Any, value: Any, flags: int, binary: bool) -> CharSet:
    """The characters an item of a pattern is drawn from."""
    return drawable(characters(kind, value, flags) & (BYTES if binary else EVERY))


class _Builder:
    def __init__(self, binary: bool, most: int) -> None:
        self._binary = binary
        self._most = most
        self._empty: Text = b"" if binary else ""
        # What the groups of the string in the making are, for the back-references to them.
        self._groups: dict[int, Text] = {}

    def sequence(self, items: Any, flags: int) -> Draw:
        draws = [self._item(kind, value, flags) for kind, value in items]
        if len(draws) == 1:
            return draws[0]
        join: Any = self._empty.join
        return lambda chance: join([draw(chance) for draw in draws])

    def _item(self, kind: Any, value: Any, flags: int) -> Draw:
        if kind in CHARACTERS:
            return self._one_of(_pool(kind, value, flags, self._binary))
        if kind in REPEATS:
            return self._repeat(value, flags)
        if kind is op.SUBPATTERN:
            return self._group(value, flags)
        if kind is op.BRANCH:
            options = [self.sequence(option, flags) for option in value[1]]
            return lambda chance: chance.pick(options)(chance)
        if kind is op.ATOMIC_GROUP:
            return self.sequence(value, flags)
        groups, empty = self._groups, self._empty
        if kind is op.GROUPREF:
            return lambda chance: groups.get(value, empty)
        if kind is op.GROUPREF_EXISTS:
            number, yes, no = value
            met, missed = self.sequence(yes, flags), self.sequence(no or [], flags)
            return lambda chance: (met if number in groups else missed)(chance)
        # AT, ASSERT, ASSERT_NOT: nothing of their own; the result is checked.
        return lambda chance: empty

    def _group(self, value: Any, flags: int) -> Draw:
        number, _, _, inner = value
        draw, groups = self.sequence(inner, flags_inside(value, flags)), self._groups
        if number is None:
            return draw

        def remembered(chance: Chance) -> Text:
            text: Text = draw(chance)
            groups[number] = text
            return text

        return remembered

    def _repeat(self, value: Any, flags: int) -> Draw:
        least, most, body = value
        unbounded = most is op.MAXREPEAT
        top = least + self._most if unbounded else min(most, least + max(self._most, 1) * 4)
        spread = top - least + 1
        if len(body) == 1 and body[0][0] in CHARACTERS:
            kind, item = body[0]
            table = _byte_table(_pool(kind, item, flags, self._binary))
            if table is not None:
                return _run_of(table, least, spread, unbounded=unbounded, binary=self._binary)
        draw = self.sequence(body, flags)
        join: Any = self._empty.join

        def several(chance: Chance) -> Any:
            drawn = chance.random()
            count = least + int((drawn * drawn if unbounded else drawn) * spread)
            return join([draw(chance) for _ in range(count)])

        return several

    def _one_of(self, chars: CharSet) -> Draw:
        if not chars:
            return _nothing
        drawn = written_out(chars)
        pool: Sequence[Text] = [char.encode("latin-1") for char in drawn] if self._binary else drawn
        size = len(pool)
        if size == 1:
            return lambda chance: pool[0]
        return lambda chance: pool[int(chance.random() * size)]


def _nothing(chance: Chance) -> str:
    raise NoSuchString


def _byte_table(chars: CharSet) -> bytes | None:
    """All byte values spread over the characters, if they are few and small enough; else None."""
    size = chars.size()
    if not size or chars - BYTES:
        return None
    pool = bytes(code for low, high in chars.pairs() for code in range(low, high + 1))
    return (pool * -(-256 // size))[:256]


def _run_of(table: bytes, least: int, spread: int, *, unbounded: bool, binary: bool) -> Draw:
    def run(chance: Chance) -> bytes:
        drawn = chance.random()
        # Squared, so that short runs are usual and long ones still happen.
        count = least + int((drawn * drawn if unbounded else drawn) * spread)
        return chance.stream.randbytes(count).translate(table)

    return run if binary else lambda chance: run(chance).decode("latin-1")
