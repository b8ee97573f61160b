"""Dotted rules of a dialogue grammar, like LR(0) items (Knuth 1965), and what is known about each."""

from __future__ import annotations

from typing import NamedTuple

from palaver.grammar.analyse import reachable
from palaver.matching.dialogue_grammar import MessageType
from palaver.matching.dialogue_terms import DialogueTerm, RecursiveGroup
from palaver.matching.open_tree import AddAction, TreeAction
from palaver.trees.node import NonTerminal, Part


class DottedRule:
    """The rest of a rule after the dot: a term, and the rest after it."""

    __slots__ = ("ending", "found", "growing", "is_over", "item", "parts", "rest")

    def __init__(
        self, item: DialogueTerm, rest: DottedRule | None, *, is_over: bool, parts: tuple[Part, ...] | None
    ) -> None:
        self.item = item
        self.rest = rest  # None: this is the end, or a `LeftCornerTerm`
        self.is_over = is_over  # True if no message can come here any more
        self.parts = parts  # added if no message comes; None if one must
        self.ending: tuple[TreeAction, ...] | None = None if parts is None else adding(parts)
        self.found: ClosureResult | None = None
        self.growing: LeftCornerTable | None = None  # of a `LeftCornerTerm`: the rules that can begin with its tree


class Route(NamedTuple):
    """A way from a dotted rule to a message."""

    move: MessageType
    pushed: tuple[DottedRule, ...]  # put on the stack instead of the dotted rule, the outermost first
    after: DottedRule  # in the innermost rule, after the message
    growth: tuple[TreeAction, ...]
    marks: tuple[str, ...]  # the symbols that matter in the growth


class LeftCorner(NamedTuple):
    """The rule of `outer` can begin with `symbol`, which is left-recursive with it."""

    symbol: NonTerminal
    outer: NonTerminal
    before: tuple[Part, ...]
    after: DottedRule


class LeftCornerTable:
    """The left corners of a recursive group, as the fields have them when the first tree begins."""

    def __init__(self, group: RecursiveGroup, corners: tuple[LeftCorner, ...], *, is_asking: bool = False) -> None:
        self.is_asking = is_asking  # True if fields may add others
        self._corners: dict[str, list[LeftCorner]] = {name: [] for name in group}
        for corner in corners:
            self._corners[corner.symbol].append(corner)
        self._group = group
        self._seeds: dict[NonTerminal, tuple[NonTerminal, ...]] = {}

    def corners(self, symbol: NonTerminal) -> list[LeftCorner]:
        """The rules that can begin with `symbol`."""
        return self._corners[symbol]

    def corners_towards(self, goal: NonTerminal, symbol: NonTerminal) -> list[LeftCorner]:
        """Those of them from which `goal` can be reached."""
        seeds = self.seeds(goal)
        return [corner for corner in self._corners[symbol] if corner.outer in seeds]

    def seeds(self, goal: NonTerminal) -> tuple[NonTerminal, ...]:
        """The symbols from which `goal` can be reached by left corners, itself first."""
        if goal not in self._seeds:
            edges = {name: [corner.outer for corner in corners] for name, corners in self._corners.items()}
            others = (name for name in self._group if name != goal and goal in reachable(name, edges))
            self._seeds[goal] = (goal, *others)
        return self._seeds[goal]


class ClosureResult(NamedTuple):
    """All routes from a dotted rule, the preferred first; `is_asking` if fields may add others."""

    routes: dict[MessageType, list[Route]]
    is_asking: bool
    corners: tuple[LeftCorner, ...]


def adding(parts: tuple[Part, ...]) -> tuple[TreeAction, ...]:
    return (AddAction(parts),) if parts else ()
