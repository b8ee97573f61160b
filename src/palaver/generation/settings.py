"""Deliberate wrongness: `setting` statements that make the generator break the grammar now and then.

Each key has a probability. The wrappers here take a maker that does the right thing and return one that does the wrong
thing that often. Without settings nothing is wrapped, and nothing is paid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from palaver.generation.makers import Many, One, Run
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence, Setting
from palaver.trees.node import Leaf, Part

Rates = Mapping[str, float]

_NONE: Rates = {}


class Wrongness:
    """The settings of a grammar, asked per place in a rule."""

    def __init__(self, settings: Iterable[Setting]) -> None:
        self._by_selector: dict[str, dict[str, float]] = {}
        for setting in settings:
            rates = self._by_selector.setdefault(setting.selector, {})
            rates.update((key, float(value)) for key, value in setting.values if isinstance(value, int | float))

    def __bool__(self) -> bool:
        return any(self._by_selector.values())

    def rates(self, expr: Expr, rule: str) -> Rates:
        """What applies to `expr` in the rule of that name; the more particular selector wins."""
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
    """What `all_with_type(...)` calls this kind of expression."""
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


def now_and_then(rate: float, wrong: Many, right: Many) -> Many:
    """`wrong` with probability `rate`, else `right`."""

    def either(run: Run, out: list[Part]) -> None:
        (wrong if run.random() < rate else right)(run, out)

    return either


def while_it_may_grow(rate: float, wrong: Many, right: Many) -> Many:
    """The same, for wrong things that are larger than the right ones: a tree that is large enough gets no more of
    them, or it might never end."""

    def either(run: Run, out: list[Part]) -> None:
        (wrong if run.random() < rate and run.left >= 0 else right)(run, out)

    return either


def one_while_it_may_grow(rate: float, wrong: One, right: One) -> One:
    """The same for what is exactly one part."""

    # Not one function of any arguments: passing those on takes up the C stack, which is too small for deep trees.
    def either(run: Run) -> Part:
        return (wrong if run.random() < rate and run.left >= 0 else right)(run)

    return either


def dropped_or_multiplied(make: Many) -> Many:
    """The terminal not at all, or two to five times."""

    def wrong(run: Run, out: list[Part]) -> None:
        for _ in range((0, 2, 3, 4, 5)[int(run.random() * 5)]):
            make(run, out)

    return wrong


def several_times(make: Many) -> Many:
    """The option two to five times."""

    def wrong(run: Run, out: list[Part]) -> None:
        for _ in range(2 + int(run.random() * 4)):
            make(run, out)

    return wrong


def nothing(run: Run, out: list[Part]) -> None:
    """No item at all where one was due."""


def several_of(options: list[Many]) -> Many:
    """Two or more of the alternatives, one after the other, in any order."""

    def wrong(run: Run, out: list[Part]) -> None:
        left = list(options)
        for _ in range(2 + int(run.random() * (len(options) - 1))):
            left.pop(int(run.random() * len(left)))(run, out)

    return wrong


def outside(pattern: Callable[[str], object], make: Many, tries: int) -> Many:
    """A string near the pattern that the pattern does not match; the right one if none was found."""

    def wrong(run: Run, out: list[Part]) -> None:
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

    def wrong(run: Run, out: list[Part]) -> None:
        start = len(out)
        make(run, out)
        for at in range(start, len(out)):
            part = out[at]
            if isinstance(part, str | bytes):
                out[at] = _havocked(part, run, 1 << int(run.random() * (stack_power + 1)))

    return wrong


def _havocked(leaf: str | bytes, run: Run, edits: int) -> Leaf:
    if isinstance(leaf, str):
        return mangled(leaf, run, edits)
    return mangled(leaf.decode("latin-1"), run, edits).encode("latin-1")


def mangled(text: str, run: Run, edits: int) -> str:
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
