"""Random strings of a pattern: random derivations (Hanford 1970), made by a walk over its syntax tree.

Most of a message's characters come from here, so the common case, a class of characters some number of times, is one
draw of random bytes and one table look-up for all of them. Look-around and anchors are ignored while a string is made,
and the result is checked against the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, assert_never, cast

from palaver.random_source import RandomSource
from palaver.regular.charset import BYTES, EVERY, CharSet, drawable, listed
from palaver.regular.expression import Alternation, Concatenation, Repetition
from palaver.regular.regex import Regex
from palaver.regular.regex_parser import (
    Anchor,
    BackReference,
    Conditional,
    Group,
    LookAround,
    PatternCharacter,
    PatternSyntax,
    WordBoundary,
)
from palaver.regular.regular_limits import MAX_PATTERN_TRIES

# Text is drawn as str, anything binary as bytes; the two never mix in one pattern.
TextOrBytes: TypeAlias = str | bytes
Draw: TypeAlias = Callable[[RandomSource], Any]


class NoSuchString(Exception):
    """No string of the pattern was found."""


def compile_draw(regex: Regex, *, binary: bool, most: int) -> Callable[[RandomSource], TextOrBytes]:
    """A function that draws a string of the pattern; unbounded repetition stops `most` above its least count."""
    draw = _SamplerBuilder(binary, most).draw_of(regex.syntax)
    if regex.is_plain:
        return draw

    def checked(chance: RandomSource) -> TextOrBytes:
        for _ in range(MAX_PATTERN_TRIES):
            text = draw(chance)
            if regex.matches(text.decode("latin-1") if binary else text):
                return cast("TextOrBytes", text)
        MAX_PATTERN_TRIES.reached()
        raise NoSuchString

    return checked


def drawn_from(regex: Regex, *, binary: bool) -> str | None:
    """The characters a pattern is drawn from if it is one character out of a few; else None."""
    return "".join(listed(_drawn(regex.syntax, binary))) if isinstance(regex.syntax, PatternCharacter) else None


def _drawn(character: PatternCharacter, binary: bool) -> CharSet:
    return drawable(character.chars & (BYTES if binary else EVERY))


class _SamplerBuilder:
    def __init__(self, binary: bool, most: int) -> None:
        self._binary = binary
        self._most = most
        self._empty: TextOrBytes = b"" if binary else ""
        # The text of each group of the string in the making, for back-references.
        self._groups: dict[int, TextOrBytes] = {}

    def draw_of(self, syntax: PatternSyntax) -> Draw:
        groups, empty = self._groups, self._empty
        match syntax:
            case PatternCharacter():
                return self._one_of(_drawn(syntax, self._binary))
            case Concatenation(parts):
                draws = [self.draw_of(part) for part in parts]
                join: Any = empty.join
                return lambda chance: join([draw(chance) for draw in draws])
            case Alternation(()):
                return _nothing
            case Alternation(options):
                choices = [self.draw_of(option) for option in options]
                return lambda chance: chance.pick(choices)(chance)
            case Repetition(body, least, most):
                return self._repetition(body, least, most)
            case Group(number, body):
                return self._group(number, self.draw_of(body))
            case BackReference(referred):
                return lambda chance: groups.get(referred, empty)
            case Conditional(condition, yes, no):
                if_met, if_not = self.draw_of(yes), self.draw_of(no)
                return lambda chance: (if_met if condition in groups else if_not)(chance)
            case LookAround() | Anchor() | WordBoundary():
                return lambda chance: empty
            case _:
                assert_never(syntax)

    def _group(self, number: int | None, draw: Draw) -> Draw:
        groups = self._groups
        if number is None:
            return draw

        def remembered(chance: RandomSource) -> TextOrBytes:
            text: TextOrBytes = draw(chance)
            groups[number] = text
            return text

        return remembered

    def _repetition(self, body: PatternSyntax, least: int, most: int | None) -> Draw:
        unbounded = most is None
        top = least + self._most if most is None else min(most, least + max(self._most, 1) * 4)
        spread = top - least + 1
        if isinstance(body, PatternCharacter):
            table = _byte_table(_drawn(body, self._binary))
            if table is not None:
                return _run_of(table, least, spread, unbounded=unbounded, binary=self._binary)
        draw = self.draw_of(body)
        join: Any = self._empty.join

        def several(chance: RandomSource) -> Any:
            drawn = chance.random()
            count = least + int((drawn * drawn if unbounded else drawn) * spread)
            return join([draw(chance) for _ in range(count)])

        return several

    def _one_of(self, chars: CharSet) -> Draw:
        if not chars:
            return _nothing
        drawn = listed(chars)
        pool: Sequence[TextOrBytes] = [char.encode("latin-1") for char in drawn] if self._binary else drawn
        size = len(pool)
        if size == 1:
            return lambda chance: pool[0]
        return lambda chance: pool[int(chance.random() * size)]


def _nothing(chance: RandomSource) -> str:
    raise NoSuchString


def _byte_table(chars: CharSet) -> bytes | None:
    """All byte values spread over the characters, if they are few and small enough; else None."""
    size = chars.size()
    if not size or chars - BYTES:
        return None
    pool = bytes(code for low, high in chars.pairs() for code in range(low, high + 1))
    return (pool * -(-256 // size))[:256]


def _run_of(table: bytes, least: int, spread: int, *, unbounded: bool, binary: bool) -> Draw:
    def run(chance: RandomSource) -> bytes:
        drawn = chance.random()
        # Squared, so that short runs are usual and long ones still happen.
        count = least + int((drawn * drawn if unbounded else drawn) * spread)
        return chance.stream.randbytes(count).translate(table)

    return run if binary else lambda chance: run(chance).decode("latin-1")
