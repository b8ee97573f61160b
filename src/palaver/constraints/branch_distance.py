"""Branch distance of relations between two values (Korel 1990; Tracey et al. 1998), normalised to 0 … 1.

0.0 means that the relation holds. Each function first evaluates the relation in Python, with whatever `==` and `<` the
values define, and measures only if it fails. A distance that cannot be measured is 1.0, never an exception. A tree is
measured in the type that it is compared in.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, KeysView, Sequence, ValuesView
from datetime import timedelta
from itertools import islice
from math import inf, log2
from numbers import Number
from typing import Any, TypeAlias

from palaver.constraints.constraints_limits import (
    MAX_AFTER_FAILURE,
    MAX_COMPARED_CHARACTERS,
    MAX_COMPARED_ELEMENTS,
    MAX_NESTING,
    MAX_OCCURRENCES,
)
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.trees.tree import Tree
from palaver.trees.values import Forwarding, TreeValue, ValueType, value_of

RelationDistance: TypeAlias = Callable[[Any, Any], float]
AnyText: TypeAlias = "str | bytes | bytearray"

FAR = 1.0

# Tuples, because a union is built each time that it is evaluated, and search spends its time here.
_NUMBERS = (int, float)
_TEXTS = (str, bytes, bytearray)
_SEQUENCES = (list, tuple)
_SETS = (set, frozenset)

# Smaller than any gap that search could close step by step, and large enough to survive being divided.
_LEAST = 1e-9

# Up to here `gap / (gap + 1)` tells one step from the next. It is flat for numbers of 64 bits, so beyond this the scale
# is logarithmic.
_STEPS = 1024
_STEPS_LOG = 10.0

# The distance of one character too many or too few, and the most that a different character counts.
_CHARACTER = 64


def normalised(gap: float) -> float:
    """A gap between 0 and infinity as a number between 0 and 1; larger gaps stay larger."""
    if gap <= _STEPS:
        # A relation may fail although its gap is 0.
        return max(_LEAST, gap / (gap + 1.0)) if gap > 0 else 0.5
    return 1.0 - 1.0 / ((_STEPS + 1.0) * (1.0 + log2(gap) - _STEPS_LOG)) if gap == gap else FAR


def _measured(holds: Callable[[Any, Any], Any], gap: RelationDistance) -> RelationDistance:
    def distance(left: Any, right: Any) -> float:
        if holds(left, right):
            return 0.0
        try:
            return normalised(gap(left, right))
        except SPEC_CODE_RAISES:  # the values may be of the spec's own classes
            return FAR

    return distance


def _never(holds: Callable[[Any, Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda left, right: not holds(left, right)


def _isin(left: Any, right: Any) -> bool:
    return left in right


def _one_step(left: Any, right: Any) -> float:
    """The gap of values that are equal and should not be: any change will do."""
    return 1.0


def _equality_gap(left: Any, right: Any, depth: int = 0) -> float:
    left, right = _comparable(left, right)
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return abs(left - right)
    if isinstance(left, _TEXTS):
        return _text_gap(left, right) if _same_kind(left, right) else inf
    if isinstance(left, _SEQUENCES) and _same_kind(left, right):
        return _sequence_gap(left, right, depth)
    if isinstance(left, _SETS) and isinstance(right, _SETS):
        return len(left ^ right)
    return _difference(left, right)


def _excess(left: Any, right: Any, depth: int = 0) -> float:
    """The amount by which `left` is more than `right`."""
    left, right = _comparable(left, right)
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return left - right
    if isinstance(left, _TEXTS):
        return _text_excess(left, right)
    if isinstance(left, _SEQUENCES):
        for one, other in islice(zip(left, right, strict=False), MAX_COMPARED_ELEMENTS):
            if one != other:
                return _excess(one, other, depth + 1) if depth < MAX_NESTING else 1.0
        return len(left) - len(right)
    if isinstance(left, _SETS):
        return len(left - right)
    return _difference(left, right)


def _strict_excess(left: Any, right: Any) -> float:
    return _excess(left, right) + 1


def _shortage(left: Any, right: Any) -> float:
    return _excess(right, left)


def _strict_shortage(left: Any, right: Any) -> float:
    return _excess(right, left) + 1


def _difference(left: Any, right: Any) -> float:
    """Numbers of any kind, and points in time."""
    between = left - right
    if isinstance(between, timedelta):
        return abs(between.total_seconds())
    if isinstance(between, Number):
        return float(abs(between))  # type: ignore[arg-type]  # no type says that numbers have a magnitude
    return inf


def _membership_gap(item: Any, container: Any) -> float:
    if isinstance(container, str | bytes | bytearray | Forwarding):
        return _containing_gap(item, container)
    if isinstance(container, range):
        return _range_gap(item, container)
    return _nearest(item, container)


def _occurrences(item: Any, container: Any) -> float:
    """The number of occurrences of an item that should not occur."""
    if isinstance(container, Forwarding):
        item, container = _comparable(item, container)
    return container.count(item) if isinstance(container, str | bytes | list | tuple) else 1.0


# Distance to a comparison being true, and to its being false.
WANTED: dict[tuple[type[ast.cmpop], bool], RelationDistance] = {
    (ast.Eq, True): _measured(operator.eq, _equality_gap),
    (ast.Eq, False): _measured(_never(operator.eq), _one_step),
    (ast.NotEq, True): _measured(operator.ne, _one_step),
    (ast.NotEq, False): _measured(_never(operator.ne), _equality_gap),
    (ast.Lt, True): _measured(operator.lt, _strict_excess),
    (ast.Lt, False): _measured(_never(operator.lt), _shortage),
    (ast.LtE, True): _measured(operator.le, _excess),
    (ast.LtE, False): _measured(_never(operator.le), _strict_shortage),
    (ast.Gt, True): _measured(operator.gt, _strict_shortage),
    (ast.Gt, False): _measured(_never(operator.gt), _excess),
    (ast.GtE, True): _measured(operator.ge, _shortage),
    (ast.GtE, False): _measured(_never(operator.ge), _strict_excess),
    (ast.In, True): _measured(_isin, _membership_gap),
    (ast.In, False): _measured(_never(_isin), _occurrences),
    (ast.NotIn, True): _measured(_never(_isin), _occurrences),
    (ast.NotIn, False): _measured(_isin, _membership_gap),
}


def truth(value: Any) -> float:
    """The distance of a value from being true: 0 or 1, as nothing is known about what would make it so."""
    return 0.0 if value else FAR


def untruth(value: Any) -> float:
    """The distance of a value from being false: of numbers from 0, of collections and text from being empty."""
    if not value:
        return 0.0
    if value is True:
        return FAR
    if isinstance(value, _NUMBERS):
        return normalised(abs(value))
    return normalised(len(value)) if isinstance(value, str | bytes | list | tuple | set | dict) else FAR


def all_of(distances: Iterable[float]) -> float:
    """The distance of `all(…)` by the distances of its elements.

    Python would stop at the first that fails. Those after it are measured too, but may raise, or never end.
    """
    remaining = iter(distances)
    for distance in remaining:
        if distance:
            return normalised(distance + _total(remaining))
    return 0.0


def _total(distances: Iterator[float]) -> float:
    total = 0.0
    try:
        for distance in islice(distances, MAX_AFTER_FAILURE):
            total += distance
    except SPEC_CODE_RAISES:
        pass
    return total


def any_of(distances: Iterable[float]) -> float:
    """The distance of `any(…)` by the distances of its elements."""
    nearest = FAR
    for distance in distances:
        if not distance:
            return 0.0
        nearest = min(nearest, distance)
    return nearest


def starts_with(subject: Any, *arguments: Any) -> float:
    """The distance of `subject.startswith(…)`."""
    return 0.0 if subject.startswith(*arguments) else _affix_distance(subject, arguments, lambda text, n: text[:n])


def ends_with(subject: Any, *arguments: Any) -> float:
    """The distance of `subject.endswith(…)`."""
    return 0.0 if subject.endswith(*arguments) else _affix_distance(subject, arguments, lambda text, n: text[-n:])


def _affix_distance(subject: Any, arguments: Sequence[Any], cut: Callable[[Any, int], Any]) -> float:
    try:
        (wanted,) = arguments
        options = wanted if isinstance(wanted, tuple) else (wanted,)
        pairs = [_comparable(subject, option) for option in options]
        return normalised(min(_text_gap(cut(text, len(affix)), affix) for text, affix in pairs))
    except SPEC_CODE_RAISES:  # no plain text, or only a part of it
        return FAR


# Methods that test every character.
CHARACTER_TESTS = frozenset((
    "isalnum", "isalpha", "isascii", "isdecimal", "isdigit",
    "islower", "isnumeric", "isprintable", "isspace", "isupper",
))  # fmt: skip


def has_only(name: str) -> Callable[[Any], float]:
    """The distance of `subject.isdigit()` and the like: the number of characters that are something else."""

    def distance(subject: Any) -> float:
        if getattr(subject, name)():
            return 0.0
        if isinstance(subject, str) and len(subject) == 1:
            return 0.5  # by far the most frequent subject is one character, in a comprehension
        try:
            text: Any = _own(subject) if isinstance(subject, Forwarding) else subject
            return normalised(sum(not getattr(text[at : at + 1], name)() for at in range(len(text))))
        except SPEC_CODE_RAISES:
            return FAR

    return distance


def _text_gap(one: AnyText, other: AnyText) -> float:
    """The gap of characters too many or too few, and of those that differ between a common start and end."""
    excess = abs(len(one) - len(other))
    if not excess and len(one) <= MAX_COMPARED_CHARACTERS:
        return sum(map(_character_gap, _codes(one), _codes(other)))
    start = _first_difference(one, other)
    one, other = one[start : start + MAX_COMPARED_CHARACTERS], other[start : start + MAX_COMPARED_CHARACTERS]
    if excess:
        one, other = _without_common_end(one, other)
    return excess * _CHARACTER + sum(map(_character_gap, _codes(one), _codes(other)))


def _text_excess(one: Any, other: Any) -> float:
    start = _first_difference(one, other)
    if start < min(len(one), len(other)):
        return next(_codes(one[start:])) - next(_codes(other[start:]))
    return len(one) - len(other)


def _first_difference(one: AnyText, other: AnyText) -> int:
    """The length of the common start; long stretches are compared at once."""
    shorter = min(len(one), len(other))
    at = 0
    while at < shorter and one[at : at + MAX_COMPARED_CHARACTERS] == other[at : at + MAX_COMPARED_CHARACTERS]:
        at += MAX_COMPARED_CHARACTERS
    while at < shorter and one[at] == other[at]:
        at += 1
    return min(at, shorter)


def _without_common_end(one: AnyText, other: AnyText) -> tuple[AnyText, AnyText]:
    shorter = min(len(one), len(other))
    common = 0
    while common < shorter and one[-1 - common] == other[-1 - common]:
        common += 1
    return one[: len(one) - common], other[: len(other) - common]


def _containing_gap(item: Any, container: Any) -> float:
    """The gap of the rest of `item` behind its longest prefix that is in `container`."""
    if isinstance(item, Forwarding) or isinstance(container, Forwarding):
        item, container = _comparable(item, container)
    known = _longest_beginning(item, container)
    wanted = next(_codes(item[known:]))
    nearest: float = _CHARACTER
    at = container.find(item[:known])
    for _ in range(max(MAX_OCCURRENCES, 0 if known else MAX_COMPARED_CHARACTERS)):
        if at < 0 or at + known >= len(container):
            break
        nearest = min(nearest, _character_gap(next(_codes(container[at + known : at + known + 1])), wanted))
        at = container.find(item[:known], at + 1)
    return (len(item) - known - 1) * _CHARACTER + nearest


def _longest_beginning(item: Any, container: Any) -> int:
    found, missing = 0, len(item)
    while missing - found > 1:
        middle = (found + missing) // 2
        if item[:middle] in container:
            found = middle
        else:
            missing = middle
    return found


def _character_gap(one: int, other: int) -> int:
    gap = one - other if one > other else other - one
    return gap if gap < _CHARACTER else _CHARACTER


def _codes(text: AnyText) -> Iterator[int]:
    return map(ord, text) if isinstance(text, str) else iter(text)


def _sequence_gap(one: Sequence[Any], other: Sequence[Any], depth: int) -> float:
    gap: float = 2 * abs(len(one) - len(other))
    for left, right in islice(zip(one, other, strict=False), MAX_COMPARED_ELEMENTS):
        gap += _element_distance(left, right, depth)
    return gap


def _element_distance(one: Any, other: Any, depth: int) -> float:
    if one is other or one == other:
        return 0.0
    if depth >= MAX_NESTING:
        return FAR
    try:
        return normalised(_equality_gap(one, other, depth + 1))
    except SPEC_CODE_RAISES:
        return FAR


def _nearest(item: Any, container: Any) -> float:
    """The gap to the nearest element. A set too large to be searched has none: its order is not reproducible."""
    if not isinstance(container, list | tuple | set | frozenset | dict | KeysView | ValuesView):
        return inf
    if len(container) > MAX_COMPARED_ELEMENTS and isinstance(container, _SETS):
        return inf
    nearest = inf
    for element in islice(container, MAX_COMPARED_ELEMENTS):
        try:
            nearest = min(nearest, _equality_gap(item, element))
        except SPEC_CODE_RAISES:  # another kind of value
            continue
    return nearest


def _range_gap(item: Any, numbers: range) -> float:
    number = item.to_int() if isinstance(item, Forwarding) else item
    if not numbers:
        return inf
    low, high = min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1])
    if not low <= number <= high:
        return low - number if number < low else number - high
    behind = (number - low) % abs(numbers.step)
    return min(behind, abs(numbers.step) - behind)


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """Both as plain values, a tree in the type that it is compared in."""
    if isinstance(left, Forwarding):
        if not isinstance(right, Forwarding):
            return _like(left, right), right
        left, right = _own(left), _own(right)
        if isinstance(left, str) and isinstance(right, bytes):
            return left.encode("utf-8", "replace"), right
        if isinstance(left, bytes) and isinstance(right, str):
            return left, right.encode("utf-8", "replace")
    elif isinstance(right, Forwarding):
        return left, _like(right, left)
    return left, right


def _like(tree: Forwarding, other: Any) -> Any:
    if isinstance(other, str):
        return tree.to_string()
    if isinstance(other, bytes | bytearray):
        return tree.to_bytes()
    return tree.to_int() if isinstance(other, int | float) else _own(tree)


def _own(tree: Forwarding) -> str | bytes | int:
    if isinstance(tree, Tree):
        return value_of(tree.node)
    assert isinstance(tree, TreeValue), "nothing else forwards"
    match tree.type_:
        case ValueType.BITS:
            return tree.to_int()
        case ValueType.BYTES:
            return tree.to_bytes()
    return tree.to_string()


def _same_kind(left: Any, right: Any) -> bool:
    """True if two values can be equal by what they contain."""
    if isinstance(left, str):
        return isinstance(right, str)
    if isinstance(left, list):
        return isinstance(right, list)
    return isinstance(right, tuple if isinstance(left, tuple) else (bytes, bytearray))
