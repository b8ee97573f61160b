"""Parser of patterns: the standard library's own, whose result is translated into a syntax tree of ours.

`re._parser` and `re._constants` are private to Python and may change between its versions; only this module touches
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from functools import cache, cached_property
from re import _constants as op  # type: ignore[attr-defined]  # private, but the only way to the parsed form
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple, TypeAlias

from palaver.lean_dataclasses import dataclass
from palaver.regular.charset import END_OF_UNICODE, EVERY, CharSet
from palaver.regular.expression import EMPTY_WORD, Alternation, Concatenation, Repetition

_CHARACTERS = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_TYPE_FLAGS = re.ASCII | re.LOCALE | re.UNICODE
# As plain numbers: to combine flags of `re` takes longer than all the rest.
_DOTALL, _IGNORECASE, _ASCII, _MULTILINE = int(re.DOTALL), int(re.IGNORECASE), int(re.ASCII), int(re.MULTILINE)


@dataclass(frozen=True, eq=False)
class PatternCharacter:
    """One character of a pattern, as the standard library has it."""

    kind: Any
    value: Any
    flags: int

    @cached_property
    def chars(self) -> CharSet:
        """The set it stands for, found on demand: for `\\w`, Python is asked about all of Unicode."""
        return _characters(self.kind, self.value, self.flags)


@dataclass(frozen=True, slots=True)
class Group:
    """A group; the number is that of back-references to it, None if it captures nothing."""

    number: int | None
    body: PatternSyntax


@dataclass(frozen=True, slots=True)
class BackReference:
    number: int


@dataclass(frozen=True, slots=True)
class Conditional:
    """`(?(1)yes|no)`: the choice depends on a group."""

    number: int
    yes: PatternSyntax
    no: PatternSyntax


@dataclass(frozen=True, slots=True)
class LookAround:
    """Reads nothing; `body` must match, or must not, right after this place, or right before it.

    `width` is the length of a body that stands before; Python allows only those of one length there.
    """

    body: PatternSyntax
    is_negative: bool
    is_behind: bool
    width: int


class Anchor(Enum):
    """A condition on a place in the text; nothing is read."""

    START = "the start of the text"
    LINE_START = "the start of a line"
    END = "the end of the text"
    LAST_LINE_END = "the end of the text, or a line break before it"
    LINE_END = "the end of a line"


@dataclass(frozen=True, slots=True)
class WordBoundary:
    """A place where a word begins or ends, or one where none does; nothing is read."""

    word: CharSet
    is_negative: bool


# What matches nothing, `(?!)`, is an alternation without options.
PatternSyntax: TypeAlias = (
    "PatternCharacter | Concatenation[PatternSyntax] | Alternation[PatternSyntax] | Repetition[PatternSyntax]"
    " | Group | BackReference | Conditional | LookAround | Anchor | WordBoundary"
)


class ParsedPattern(NamedTuple):
    """A pattern as its syntax tree, with what is known about it."""

    syntax: PatternSyntax
    width: tuple[int, int | None]
    is_plain: bool  # True if it has nothing that textbooks do not have
    is_memoryless: bool  # True if no part depends on how another part matched


def parse_pattern(text: str, flags: int) -> ParsedPattern:
    """The syntax tree of a pattern. :raises re.error: it has none"""
    tree = parser.parse(text, flags)
    translation = _PatternTranslation()
    syntax = translation.sequence(tree, tree.state.flags)
    least, most = tree.getwidth()
    width = least, most if most < op.MAXREPEAT else None
    return ParsedPattern(syntax, width, translation.is_plain, translation.is_memoryless)


class _PatternTranslation:
    """From the standard library's syntax tree to ours."""

    def __init__(self) -> None:
        self.is_plain = True
        self.is_memoryless = True

    def sequence(self, items: Iterable[tuple[Any, Any]], flags: int) -> PatternSyntax:
        parts = tuple([self._item(kind, value, flags) for kind, value in items])
        return parts[0] if len(parts) == 1 else Concatenation(parts) if parts else EMPTY_WORD

    def _item(self, kind: Any, value: Any, flags: int) -> PatternSyntax:
        if kind in _CHARACTERS:
            return PatternCharacter(kind, value, flags)
        if kind in _REPEATS:
            return self._repetition(kind, value, flags)
        if kind is op.SUBPATTERN:
            return Group(value[0], self.sequence(value[3], _flags_inside(value, flags)))
        if kind is op.BRANCH:
            return Alternation(tuple([self.sequence(option, flags) for option in value[1]]))
        if kind is op.FAILURE or (kind is op.ASSERT_NOT and not value[1]):
            return Alternation(())
        return self._not_in_textbooks(kind, value, flags)

    def _repetition(self, kind: Any, value: Any, flags: int) -> PatternSyntax:
        least, most, body = value
        limit = None if most is op.MAXREPEAT or most >= op.MAXREPEAT else int(most)
        if kind is op.POSSESSIVE_REPEAT:
            self.is_plain = self.is_memoryless = False
        return Repetition(self.sequence(body, flags), int(least), limit)

    def _not_in_textbooks(self, kind: Any, value: Any, flags: int) -> PatternSyntax:
        self.is_plain = False
        if kind is op.AT:
            return _anchor(value, flags)
        if kind in (op.ASSERT, op.ASSERT_NOT):
            direction, body = value
            return LookAround(
                self.sequence(body, flags), kind is op.ASSERT_NOT, is_behind=direction < 0, width=body.getwidth()[0]
            )
        self.is_memoryless = False
        if kind is op.ATOMIC_GROUP:
            return Group(None, self.sequence(value, flags))
        if kind is op.GROUPREF:
            return BackReference(value)
        assert kind is op.GROUPREF_EXISTS, f"an unknown part of a pattern: {kind}"
        number, yes, no = value
        return Conditional(number, self.sequence(yes, flags), self.sequence(no or (), flags))


def _anchor(place: Any, flags: int) -> Anchor | WordBoundary:
    if place in (op.AT_BOUNDARY, op.AT_NON_BOUNDARY):
        return WordBoundary(_set_of_class(r"\w", flags & _ASCII), place is op.AT_NON_BOUNDARY)
    if place is op.AT_BEGINNING:
        return Anchor.LINE_START if flags & _MULTILINE else Anchor.START
    if place is op.AT_END:
        return Anchor.LINE_END if flags & _MULTILINE else Anchor.LAST_LINE_END
    return Anchor.START if place is op.AT_BEGINNING_STRING else Anchor.END


def _flags_inside(group: Any, flags: int) -> int:
    """The flags that hold inside a group, given those around it."""
    _, added, removed, _ = group
    if added & _TYPE_FLAGS:
        flags &= ~_TYPE_FLAGS
    return int((flags | added) & ~removed)


def _characters(kind: Any, value: Any, flags: int) -> CharSet:
    """The set that one character of a pattern stands for."""
    if kind is op.ANY:
        return EVERY if flags & _DOTALL else EVERY - CharSet.of("\n")
    if kind is not op.IN:
        value = [(op.LITERAL, value)] if kind is op.LITERAL else [(op.NEGATE, None), (op.LITERAL, value)]
    if flags & _IGNORECASE or any(item[0] is op.CATEGORY for item in value):
        return _set_of_class("".join(map(_class_item, value)), flags & (_IGNORECASE | _ASCII))
    pairs = [item[1] if item[0] is op.RANGE else (item[1], item[1]) for item in value if item[0] is not op.NEGATE]
    members = CharSet.ranges(pairs)
    return EVERY - members if value[0][0] is op.NEGATE else members


_CATEGORY_TEXT = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s", op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _class_item(item: tuple[Any, Any]) -> str:
    kind, value = item
    if kind is op.NEGATE:
        return "^"
    if kind is op.CATEGORY:
        return _CATEGORY_TEXT[value]
    return CharSet.ranges([value if kind is op.RANGE else (value, value)]).as_class()


@cache
def _set_of_class(members: str, flags: int) -> CharSet:
    """The set of a bracket expression, found by matching it against every character there is.

    Case-insensitive matching and \\w have so many special cases that only `re` itself knows them all.
    """
    runs = re.compile(f"[{members}]+", flags).finditer(_every_character())
    return CharSet(tuple(bound for run in runs for bound in run.span()))


@cache
def _every_character() -> str:
    return "".join(map(chr, range(END_OF_UNICODE)))
