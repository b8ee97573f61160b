"""Items and state sets of the Earley parser (Earley 1970), with the links from which trees are read (Scott 2008)."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from palaver.matching.bound_paths import PathState
from palaver.matching.bounded_ends import PossibleEnds
from palaver.matching.grammar_slots import GrammarSlot, NextInput, Nonterminal
from palaver.matching.token_rules import RuleToken
from palaver.trees.node import Node


class NoChild:
    """Stands in place of a child for a link that adds none."""


NO_CHILD: Final = NoChild()


class Binding:
    """The node that a path selected last: one of the history, or the text read from `start` to `end`."""

    __slots__ = ("end", "node", "origin", "start")

    def __init__(self, start: int, end: int, node: Node | None = None) -> None:
        self.start = start
        self.end = end
        self.node = node  # otherwise made when it is needed
        self.origin: CompletedGoal | RuleToken | None = None


Environment: TypeAlias = tuple[Binding | None, ...]


class GoalLimits(NamedTuple):
    """The limits of a goal that a constraint bounds, or that stands in one."""

    last: int | None  # the position that nothing in it goes beyond
    ends: PossibleEnds | None  # of one that a constraint bounds itself
    start: int  # from where totals are counted: the beginning of the rule that this is a part of

    def allow(self, pos: int) -> bool:
        """Return True if something in the goal may end at `pos`."""
        return self.last is None or pos <= self.last

    def allow_end(self, pos: int, buffer: str) -> bool:
        """Return True if the goal itself may."""
        return self.ends is None or self.ends.allow(pos, buffer)


class ParseGoal:
    """A nonterminal predicted at a position; all items that wait for it share it."""

    __slots__ = (
        "bounds", "empty_results", "env", "limits", "nonterminal", "path_state", "pos", "selected", "tail_goals",
        "tails", "waiters",
    )  # fmt: skip

    def __init__(self, nonterminal: Nonterminal, pos: int, env: Environment, path_state: PathState) -> None:
        self.nonterminal = nonterminal
        self.pos = pos
        self.env = env
        self.limits: GoalLimits | None = None
        self.path_state = path_state  # below the node of this goal
        self.selected: tuple[int, ...] = ()  # the paths that select this node
        self.bounds: tuple[int, int | None] = (1, 1)  # of a repetition
        self.waiters: list[EarleyItem] = []
        self.tails: list[EarleyItem] = []  # waiters for which this is the last slot, see `GrammarSlot.is_tail`
        self.tail_goals: set[ParseGoal] | None = None  # those of the tails, once there are many and no more to come
        self.empty_results: tuple[CompletedGoal, ...] = ()  # of most goals there are none


class EarleyItem:
    """A dotted rule at a position within a goal, made by `new_item`."""

    __slots__ = ("child", "count", "env", "goal", "more", "pos", "prev", "slot")

    slot: GrammarSlot
    goal: ParseGoal
    pos: int
    count: int  # iterations of a repetition, or the used parts of a permutation as a bit set
    env: Environment
    prev: EarleyItem | None  # None: the first slot of an alternative
    child: ItemChild
    more: list[tuple[EarleyItem, ItemChild]] | None  # further ways to this item


class CompletedGoal:
    """A goal completed at a position, made by `new_result`."""

    __slots__ = ("child", "end", "env", "goal", "graph", "more", "prev")

    goal: ParseGoal
    end: int
    env: Environment
    prev: EarleyItem
    child: ItemChild
    more: list[tuple[EarleyItem, ItemChild]] | None  # without those that end with a tail, see `EarleyParser.ways`
    graph: object  # kept here by the parse forest


# The child over which an item moved on: a nonterminal, a terminal or token (None; its text is what lies between), or
# nothing.
ItemChild: TypeAlias = CompletedGoal | NoChild | None

# These take two thirds of the time of constructors, and nothing is done more often.


def new_item(
    slot: GrammarSlot,
    goal: ParseGoal,
    pos: int,
    count: int,
    env: Environment,
    prev: EarleyItem | None,
    child: ItemChild,
) -> EarleyItem:
    item = EarleyItem()
    item.slot = slot
    item.goal = goal
    item.pos = pos
    item.count = count
    item.env = env
    item.prev = prev
    item.child = child
    item.more = None
    return item


def new_result(goal: ParseGoal, end: int, env: Environment, prev: EarleyItem, child: ItemChild) -> CompletedGoal:
    result = CompletedGoal()
    result.goal = goal
    result.end = end
    result.env = env
    result.prev = prev
    result.child = child
    result.more = None
    result.graph = None
    return result


def is_tail_link(item: EarleyItem, child: ItemChild) -> bool:
    """Return True if `EarleyParser.ways` finds this link again; it does not if the item moved on over a token."""
    return item.slot.is_tail and child is not None


class StateSet:
    """The state set of one input position: items, completed goals, and the goals predicted there."""

    __slots__ = ("done", "goals", "key", "pos", "results", "seen", "skipped", "todo")

    def __init__(self, pos: int, key: NextInput) -> None:
        self.pos = pos
        self.key = key  # the next input
        self.todo: list[EarleyItem | CompletedGoal] = []
        self.done = 0  # how many of `todo` have been processed
        self.seen: dict[object, EarleyItem] = {}
        self.results: dict[object, CompletedGoal] = {}  # by their goal, and the environment if there is one
        self.goals: dict[object, ParseGoal] = {}
        # Left out because the next input does not fit: moves of an item (False) or completions of its goal (True).
        self.skipped: list[tuple[bool, EarleyItem, ItemChild, Environment]] = []
