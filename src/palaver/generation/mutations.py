"""Mutations: `setting` statements that make the generator break the grammar now and then.

Each key has a probability. The wrappers here take a maker and return one that mutates its result that often. Without
settings nothing is wrapped, and nothing is paid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from palaver.generation.makers import Derivation, Many, One
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence, Setting
from palaver.trees.node import Part

Rates = Mapping[str, float]

_NONE: Rates = {}


class MutationRates:
    """The settings of a grammar."""

    def __init__(self, settings: Iterable[Setting]) -> None:
        self._by_selector: dict[str, dict[str, float]] = {}
        for setting in settings:
            rates = self._by_selector.setdefault(setting.selector, {})
            rates.update((key, float(value)) for key, value in setting.values if isinstance(value, int | float))

    def __bool__(self) -> bool:
        return any(self._by_selector.values())

    def rates(self, expr: Expr, rule: str) -> Rates:
        """The rates for `expr` in the rule of that name; the more particular selector wins."""
        if not self._by_selector:
            return _NONE
        found: dict[str, float] = {}
        selectors = ["*", node_type(expr), rule]
        if isinstance(expr, Ref):
            selectors.append(expr.symbol)
        for selector in selectors:
            found.update(self._by_selector.get(selector, _NONE))
        return found


def node_type(expr: Expr) -> str:
    """The name that `all_with_type(...)` has for this kind of expression."""
    match expr:
        case Ref():
            return "NonTerminalNode"
        case Literal() | Bit() | Pattern():
            return "TerminalNode"
        case Choice() | Permutation():
            return "Alternative"
        case Sequence():
            return "Concatenation"
        case Repeat(_, 0, None):
            return "Star"
        case Repeat(_, 1, None):
            return "Plus"
        case Repeat(_, 0, 1):
            return "Option"
        case Repeat():
            return "Repetition"
        case _:
            assert_never(expr)


def mutated(rate: float, wrong: Many, right: Many, *, grows: bool = False) -> Many:
    """`wrong` with probability `rate`, else `right`; what `grows` stops once a tree is large, or it might never end."""

    def either(run: Derivation, out: list[Part]) -> None:
        (wrong if run.random() < rate and (run.left >= 0 or not grows) else right)(run, out)

    return either


def mutated_part(rate: float, wrong: One, right: One) -> One:
    """The same for one part, with a mutation that grows."""

    # Not one function of any arguments: passing those on takes up the C stack, which is too small for deep trees.
    def either(run: Derivation) -> Part:
        return (wrong if run.random() < rate and run.left >= 0 else right)(run)

    return either


def repeated(make: Many, counts: tuple[int, ...]) -> Many:
    """The part one of these numbers of times."""

    def wrong(run: Derivation, out: list[Part]) -> None:
        for _ in range(counts[int(run.random() * len(counts))]):
            make(run, out)

    return wrong


def nothing(run: Derivation, out: list[Part]) -> None:
    """No item at all where one was due."""


def several_of(options: list[Many]) -> Many:
    """Two or more of the alternatives, one after the other, in any order."""

    def wrong(run: Derivation, out: list[Part]) -> None:
        left = list(options)
        for _ in range(2 + int(run.random() * (len(options) - 1))):
            left.pop(int(run.random() * len(left)))(run, out)

    return wrong


def outside(pattern: Callable[[str], object], make: Many, tries: int) -> Many:
    """A string near the pattern that the pattern does not match; the right one if none was found."""

    def wrong(run: Derivation, out: list[Part]) -> None:
        made: list[Part] = []
        make(run, made)
        (leaf,) = made
        for _ in range(tries):
            text = leaf if isinstance(leaf, str) else bytes(leaf).decode("latin-1") if isinstance(leaf, bytes) else ""
            tried = mangled(text, run, 1)
            if not pattern(tried):
                leaf = tried if isinstance(leaf, str) else tried.encode("latin-1", "replace")
                break
        out.append(leaf)

    return wrong


def havoc(make: Many, stack_power: int) -> Many:
    """The terminal's bytes with up to two to the power of `stack_power` random edits."""

    def wrong(run: Derivation, out: list[Part]) -> None:
        start = len(out)
        make(run, out)
        for at in range(start, len(out)):
            part = out[at]
            if isinstance(part, str | bytes):
                edits = 1 << int(run.random() * (stack_power + 1))
                text = mangled(part if isinstance(part, str) else part.decode("latin-1"), run, edits)
                out[at] = text if isinstance(part, str) else text.encode("latin-1")

    return wrong


def mangled(text: str, run: Derivation, edits: int) -> str:
    """`text` after that many random changes, insertions and deletions of single characters."""
    chars = list(text)
    for _ in range(edits):
        at = int(run.random() * (len(chars) + 1))
        fresh = chr(int(run.random() * 256))
        match int(run.random() * 3):
            case 0:
                chars.insert(at, fresh)
            case 1:
                chars[at : at + 1] = [fresh]
            case _:
                del chars[at : at + 1]
    return "".join(chars)
