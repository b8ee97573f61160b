"""Parser of patterns: the standard library's own, whose result is translated into a syntax tree of ours.

`re._parser` and `re._constants` are private to Python and may change between its versions; only this module touches
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from re import _constants as op  # type: ignore[attr-defined]  # private, but the only way to the parsed form
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from palaver.regular.charset import END_OF_UNICODE, EVERY, CharSet
from palaver.regular.expression import EMPTY_WORD, Alternation, Concatenation, Repetition

_CHARACTERS = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_TYPE_FLAGS = re.ASCII | re.LOCALE | re.UNICODE
# As plain numbers: to combine flags of `re` takes longer than all the rest.
_DOTALL, _IGNORECASE, _ASCII = int(re.DOTALL), int(re.IGNORECASE), int(re.ASCII)


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


# What matches nothing, `(?!)`, is an alternation without options; look-around and anchors are the empty word.
PatternSyntax: TypeAlias = (
    "PatternCharacter | Concatenation[PatternSyntax] | Alternation[PatternSyntax] | Repetition[PatternSyntax]"
    " | Group | BackReference | Conditional"
)


def parse_pattern(text: str, flags: int) -> tuple[PatternSyntax, tuple[int, int | None], bool]:
    """The syntax tree, least and largest length, and True if the pattern is plain. :raises re.error: it has none"""
    tree = parser.parse(text, flags)
    translation = _PatternTranslation()
    syntax = translation.sequence(tree, tree.state.flags)
    least, most = tree.getwidth()
    return syntax, (least, most if most < op.MAXREPEAT else None), translation.is_plain


class _PatternTranslation:
    """From the standard library's syntax tree to ours."""

    def __init__(self) -> None:
        self.is_plain = True

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
        self.is_plain &= kind is not op.POSSESSIVE_REPEAT
        return Repetition(self.sequence(body, flags), int(least), limit)

    def _not_in_textbooks(self, kind: Any, value: Any, flags: int) -> PatternSyntax:
        self.is_plain = False
        if kind is op.ATOMIC_GROUP:
            return Group(None, self.sequence(value, flags))
        if kind is op.GROUPREF:
            return BackReference(value)
        if kind is op.GROUPREF_EXISTS:
            number, yes, no = value
            return Conditional(number, self.sequence(yes, flags), self.sequence(no or (), flags))
        assert kind in (op.ASSERT, op.ASSERT_NOT, op.AT), f"an unknown part of a pattern: {kind}"
        return EMPTY_WORD


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
