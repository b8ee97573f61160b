"""Deterministic regexes: one-unambiguous expressions (Brüggemann-Klein and Wood 1998) of regular languages, for `re`.

`re` takes the first way that works out and says nothing about the others. So an outline is written as a regex only if
it is deterministic in the sense of one-unambiguous expressions, relaxed in one way: at
every choice and every loop the ways on are told apart by the next character, or no word of one way is a prefix of a
word of another (then the regex looks one character past the choice). This is checked against all that can follow. Such
a regex has at most one end from any start, and one derivation. Loops are possessive: nothing is ever taken back.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import combinations
from typing import TypeAlias, assert_never

from palaver.lean_dataclasses import dataclass
from palaver.matching.matching_limits import (
    MAX_ALTERNATIVES_COMPARED,
    MAX_AUTOMATON_STATES,
    MAX_KEPT_REGEXES,
    MAX_REGEX_LENGTH,
    MAX_STATE_PAIRS,
)
from palaver.regular.charset import END_OF_UNICODE, EVERY, CharSet
from palaver.regular.language import Automaton, AutomatonState
from palaver.regular.regex import (
    Alternation,
    CharacterClass,
    Concatenation,
    RegularExpression,
    Repetition,
    can_be_empty,
    character_sets,
    length_range,
)

# Stands for the end of the input in sets of characters. It is no character of any script; the fast path falls back on
# an input that has it nevertheless.
END_MARK = chr(END_OF_UNICODE - 1)
END = CharSet.of(END_MARK)

MatchText: TypeAlias = Callable[..., "re.Match[str] | None"]

# Python before 3.11.5 misreads a possessive quantifier behind a group; an atomic group says the same, a little slower.
_CAN_BE_POSSESSIVE = sys.version_info >= (3, 11, 5)


class NoRegex(Exception):
    """Raised for a rule that one deterministic regex cannot read."""


@dataclass(frozen=True)
class RulePattern:
    """The regex of a nonterminal."""

    pattern: re.Pattern[str]
    is_closed: bool  # True if no match is a prefix of a longer one
    least: int  # lengths of a match
    most: int | None
    chars: CharSet  # that a match can begin with
    expression: RegularExpression

    def takes_all(self, alphabet: CharSet) -> bool:
        """Return True if it matches any characters, in a fixed number."""
        parts = self.expression.parts if isinstance(self.expression, Concatenation) else (self.expression,)
        return all(isinstance(part, CharacterClass) and part.chars == alphabet for part in parts)

    @cached_property
    def start(self) -> AutomatonState:
        """The start state of its automaton."""
        return Automaton(self.expression).start


def series(parts: Sequence[RegularExpression]) -> RegularExpression:
    flat: list[RegularExpression] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Concatenation) else (part,))
    return flat[0] if len(flat) == 1 else Concatenation(tuple(flat))


def fork(options: Sequence[RegularExpression]) -> RegularExpression:
    return options[0] if len(options) == 1 else Alternation(tuple(options))


@lru_cache(MAX_KEPT_REGEXES)
def rule_pattern(outline: RegularExpression, following: CharSet) -> RulePattern:
    """The regex of an outline, and what may follow it. :raises NoRegex: there may be more than one way to match"""
    least, most = length_range(outline)
    text = write_regex(outline, CharacterClass(following | END))
    if len(text) > MAX_REGEX_LENGTH:
        raise NoRegex
    # What always has the same length is never the beginning of something longer.
    is_open = least != most and _is_open(outline)
    if is_open:
        # Without the rest of the input a round or an option may look absent.
        text += _look(following)
    return RulePattern(re.compile(text), not is_open, least, most, _first(outline), outline)


def write_regex(outline: RegularExpression, rest: RegularExpression) -> str:
    """The regex of an outline before `rest`. :raises NoRegex: there may be more than one way to match"""
    match outline:
        case CharacterClass(chars):
            return write_chars(chars)
        case Concatenation(parts):
            # The regex of characters does not depend on the rest, and most parts are characters.
            return "".join(
                write_chars(part.chars)
                if isinstance(part, CharacterClass)
                else write_regex(part, series([*parts[place:], rest]))
                for place, part in enumerate(parts, 1)
            )
        case Alternation(options):
            return _write_fork(options, rest)
        case Repetition(body, least, most):
            if least != most and _first(body) & _first(rest) and not are_apart(body, rest):
                raise NoRegex
            # Behind what stands there once at most, there is no other round.
            text = write_regex(body, rest if most == 1 else series([Repetition(body, 0, None), rest]))
            limits = f"{{{least},{'' if most is None else most}}}" if (least, most) != (0, None) else "*"
            return f"(?:{text}){limits}+" if _CAN_BE_POSSESSIVE else f"(?>(?:{text}){limits})"
        case _:
            assert_never(outline)


def write_chars(chars: CharSet) -> str:
    """A regex for one character of a set."""
    if chars.size() == 1:
        return re.escape(chr(chars.bounds[0]))
    if chars.bounds[-1] < END_OF_UNICODE - 1:
        return f"[{chars.as_class()}]"
    # The complement is smaller, and `re` is slow with large sets.
    others = EVERY - chars - END
    return f"[^{others.as_class()}]" if others else "(?s:.)"


def _write_fork(options: Sequence[RegularExpression], rest: RegularExpression) -> str:
    if len(options) > MAX_ALTERNATIVES_COMPARED:
        raise NoRegex
    options = sorted(options, key=can_be_empty)  # an option that can be empty always matches, so it comes last
    texts = [write_regex(option, rest) for option in options]
    firsts = [_first(series([option, rest])) for option in options]
    if not any(one & two for one, two in combinations(firsts, 2)):
        if all(isinstance(option, CharacterClass) for option in options):
            return write_chars(CharSet.union(firsts))
        return f"(?:{'|'.join(texts)})"
    following = _first(rest)
    if not all(are_apart(*pair) for pair in combinations([series([o, CharacterClass(following)]) for o in options], 2)):
        raise NoRegex
    return f"(?:{'|'.join(text + _look(following) for text in texts)})"


def _look(following: CharSet) -> str:
    following -= END  # `\\Z` stands for it; with it, the class would be written as a large complement
    return f"(?={write_chars(following)}|\\Z)" if following else "\\Z"


def _first(outline: RegularExpression) -> CharSet:
    """The characters that an outline can begin with."""
    match outline:
        case CharacterClass(chars):
            return chars
        case Alternation(options):
            return CharSet.union(_first(option) for option in options)
        case Repetition(body, _, _):
            return _first(body)
        case Concatenation(parts):
            chars = CharSet()
            for part in parts:
                chars |= _first(part)
                if not can_be_empty(part):
                    break
            return chars
        case _:
            assert_never(outline)


def _is_open(outline: RegularExpression) -> bool:
    """Return True if a match can be a prefix of a longer match."""
    if _has_an_end_mark(outline):
        return False
    heads = _heads(outline)
    states = [Automaton(outline).start]
    seen = set(states)
    while states:
        state = states.pop()
        if state.accepts and state.can_go_on:
            return True
        following = state.next_chars()
        for char in [char for char in heads if char in following]:
            after = state[char]
            if after is not None and after not in seen:
                seen.add(after)
                states.append(after)
        if len(seen) > MAX_AUTOMATON_STATES:
            return True  # perhaps
    return False


def _has_an_end_mark(outline: RegularExpression) -> bool:
    """Return True if every match ends with a character that stands nowhere else in it, as lines do."""
    match outline:
        case Concatenation((*parts, CharacterClass(mark))) if mark.size() == 1:
            char = chr(mark.bounds[0])
            return not any(char in chars for part in parts for chars in character_sets(part))
    return False


def _heads(*outlines: RegularExpression) -> list[str]:
    """One character of each class: those between two of them are treated alike."""
    bounds = sorted({bound for outline in outlines for chars in character_sets(outline) for bound in chars.bounds})
    return [chr(bound) for bound in bounds if bound < END_OF_UNICODE]


def are_apart(one: RegularExpression, two: RegularExpression) -> bool:
    """Return True if no word of either is a prefix of a word of the other (product automaton)."""
    if any(not (left & right) for left, right in zip(_beginning(one), _beginning(two), strict=False)):
        return True
    heads = _heads(one, two)
    pairs = [(Automaton(one).start, Automaton(two).start)]
    seen = set(pairs)
    while pairs:
        left, right = pairs.pop()
        if left.accepts or right.accepts:
            return False
        # Few characters lead on from a state, and each transition that is looked up is made.
        common = left.next_chars() & right.next_chars()
        for char in [char for char in heads if char in common]:
            after, other = left[char], right[char]
            if after is not None and other is not None and (after, other) not in seen:
                seen.add((after, other))
                pairs.append((after, other))
        if len(seen) > MAX_STATE_PAIRS:
            return False
    return True


def _beginning(outline: RegularExpression) -> Iterator[CharSet]:
    """The sets of the first characters, as far as there is one in each place for certain."""
    match outline:
        case CharacterClass(chars):
            yield chars
        case Concatenation(parts):
            for part in parts:
                yield from _beginning(part)
                if not isinstance(part, CharacterClass):
                    break
        case Alternation() | Repetition():
            pass
        case _:
            assert_never(outline)
