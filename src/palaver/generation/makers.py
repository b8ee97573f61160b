"""The functions that makers are built from: each makes one part of a tree, or several.

An expression that is always exactly one part (a symbol, a terminal, a choice of these) has a `One`, which returns it;
any other a `Many`, which appends its parts to a list. A `Derivation` is the state of one tree while it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, cast

from palaver.generation.generation_limits import MAX_NODES, MAX_POOL_GROUPS
from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.spec.ast import Expression, Rule, Selector
from palaver.trees.node import Leaf, Node, Part, Parties
from palaver.trees.values import leaves_of

One: TypeAlias = "Callable[[Derivation], Part]"
Many: TypeAlias = "Callable[[Derivation, list[Part]], None]"
Several: TypeAlias = "Callable[[Derivation, list[Part], int], None]"
Body: TypeAlias = "Callable[[Derivation], tuple[Part, ...]]"
# Makes a node; its argument makes one by the rule.
MakeField: TypeAlias = "Callable[[MakeNode], Node]"
Attempts: TypeAlias = "Callable[[Derivation], MakeNode]"
FieldMakers: TypeAlias = Mapping[str, MakeField]


class MakeNode(Protocol):
    """Makes candidates for a node."""

    def __call__(self, nodes: int | None = None) -> Node:
        """The next candidate, of about so many nodes if they are given."""


class Discarded(Exception):
    """This attempt cannot become a tree; `reason` says why. Another attempt may."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class SpecCode:
    """The spec's own Python, as the generator calls it.

    `bound` computes a repetition's bound from the node its path selects (None: the bound mentions no symbol);
    `generate` evaluates a rule's generator and reads the result as the rule's symbol, with the nodes before it that
    bounds may count by; both raise `Discarded` if this attempt fails.
    """

    bound: Callable[[Expression, Node | None], int]
    generate: Callable[[Rule, tuple[Node, ...], Mapping[Selector, Node]], Node]


class Steering(Protocol):
    """Prefers parts that were never made in such a context.

    A context is a *state*, a number that stands for all that the steering has to know of the symbols above a node.
    Names are those of symbols, with their brackets, and the labels of terminals.
    """

    @property
    def state(self) -> int:
        """The state of the node above the next part."""

    def begin(self) -> None:
        """A tree is made, or made again because the last one was no good."""

    def enter(self, state: int, name: str) -> int | None:
        """Return the state of a part of this name below a node in `state`; None if it need not be steered."""

    def leave(self) -> None:
        """The part that was entered last, of those with a state, is made."""

    def worth(self, state: int, names: Sequence[str]) -> float:
        """The value of parts of these names below a node in `state`; 0 if it does not matter."""

    def invites(self, state: int, names: Sequence[str]) -> bool:
        """Return True if parts of these names are to be made once more, or at all, below a node in `state`."""

    def choose(self, state: int, names: Sequence[str]) -> None:
        """Parts of these names are chosen below a node in `state`; in a repetition, they may be made."""

    def leave_out(self, symbols: Iterable[str]) -> None:
        """Nodes of these symbols are not made of choices that could be steered."""


class ValueSource(Protocol):
    """Offers values that were seen before, for fields whose values may mean something to the peer."""

    def begin(self) -> None:
        """A tree is made, or made again because the last one was no good."""

    def recall(self, symbol: str) -> Node | None:
        """A known node of a symbol; None if a fresh one is to be made."""


class Derivation:
    """The state of one tree while it is made."""

    __slots__ = (
        "above", "chance", "fields", "last", "leaves", "left", "pins", "random", "say", "state", "steering", "values",
    )  # fmt: skip

    # Set only if the tree is steered, and only makers that steer look at them.
    steering: Steering
    state: int  # of the node whose children are made

    def __init__(self, chance: RandomSource, nodes: int, fields: FieldMakers) -> None:
        self.chance = chance
        self.fields = fields  # makers of symbols of which more is required than by their rule
        self.random = chance.random
        self.left = nodes
        # All leaves so far, in order. To collect them here costs far less than to gather them from the finished tree.
        self.leaves: list[Leaf] = []
        self.say = self.leaves.append
        self.above: list[str] = []  # the symbols that are open, outermost first; kept only if somebody asks
        self.last: dict[Selector, Node] = {}  # the latest node of each path that a bound mentions
        self.pins: dict[str, Node] = {}  # nodes to be used where their symbol is first due
        self.values: ValueSource | None = None  # asked for known values of some symbols


def constant(leaf: Leaf) -> One:
    def make(run: Derivation) -> Leaf:
        run.say(leaf)
        return leaf

    return make


def drawn(draw: Callable[[RandomSource], str | bytes]) -> One:
    def make(run: Derivation) -> Leaf:
        leaf = draw(run.chance)
        run.say(leaf)
        return leaf

    return make


def by_the_rule(expand: One) -> Attempts:
    """Candidates of all sizes: the first as large as any, then smaller ones, and again."""

    def attempts(run: Derivation) -> MakeNode:
        left, number = run.left, 0

        def attempt(nodes: int | None = None) -> Node:
            nonlocal number
            run.left = smaller(left, number) if nodes is None else nodes
            number += 1
            return cast(Node, expand(run))

        return attempt

    return attempts


def smaller(nodes: int, attempt: int) -> int:
    """The number of nodes for an attempt after others: where large trees are hopeless, a small one may do."""
    return nodes >> 2 * (attempt % 4)


def recalled(symbol: str, parties: Parties | None, make: One) -> One:
    """A field that may be a known value."""

    def make_or_recall(run: Derivation) -> Part:
        node = None if run.values is None else run.values.recall(symbol)
        if node is None:
            return make(run)
        run.left -= 1
        run.leaves += leaves_of(node)
        return node if node.parties == parties else node._replace(parties=parties)

    return make_or_recall


def too_large(symbol: str) -> One:
    def refuse(run: Derivation) -> Part:
        MAX_NODES.reached()
        raise Discarded(f"every {symbol} has more than {MAX_NODES} nodes")

    return refuse


def from_pool(pool: tuple[Node, ...]) -> One:
    count = len(pool)
    ready: dict[int, list[Leaf]] = {}  # the leaves of nodes; in a long chain of rules most are never needed

    def pick(run: Derivation) -> Node:
        run.left -= 1
        at = int(run.random() * count) if count > 1 else 0
        if at not in ready:
            ready[at] = leaves_of(pool[at])
        run.leaves += ready[at]
        return pool[at]

    return pick


def all_of(ones: list[One]) -> Body:
    if len(ones) == 1:
        (only,) = ones
        return lambda run: (only(run),)
    if len(ones) == 2:
        first, second = ones
        return lambda run: (first(run), second(run))
    return lambda run: tuple([one(run) for one in ones])


def appending(one: One) -> Many:
    return lambda run, out: out.append(one(run))


def in_turn(makers: list[Many]) -> Many:
    def each(run: Derivation, out: list[Part]) -> None:
        for make in makers:
            make(run, out)

    return each


def choice_of_ones(makers: list[One], costs: list[int]) -> One:
    dearest, count = max(costs), len(makers)

    def choose(run: Derivation) -> Part:
        if run.left >= dearest:
            return makers[int(run.random() * count)](run)
        return makers[fitting(run, costs)](run)

    return choose


def choice_of_many(makers: list[Many], costs: list[int]) -> Many:
    dearest, count = max(costs), len(makers)

    def choose(run: Derivation, out: list[Part]) -> None:
        if run.left >= dearest:
            makers[int(run.random() * count)](run, out)
        else:
            makers[fitting(run, costs)](run, out)

    return choose


def fitting(run: Derivation, costs: list[int]) -> int:
    """One of the options that the nodes left suffice for; if there is none, one of the cheapest."""
    allowed = max(run.left, min(costs))
    options = [at for at, cost in enumerate(costs) if cost <= allowed]
    return options[int(run.random() * len(options))]


def shuffled(makers: list[Many]) -> Many:
    def any_order(run: Derivation, out: list[Part]) -> None:
        left = list(makers)
        while left:
            left.pop(int(run.random() * len(left)))(run, out)

    return any_order


def exactly(once: Many, count: int) -> Many:
    def so_many(run: Derivation, out: list[Part]) -> None:
        for _ in range(count):
            once(run, out)

    return so_many


def exactly_from(pool: tuple[Node, ...], count: int) -> Many:
    """So many nodes from a pool; from a small one several at a time, because most bits of a message come from here."""
    group = 1
    while group < count and len(pool) ** (group + 1) <= MAX_POOL_GROUPS:
        group += 1
    rest = exactly_from(pool, count % group) if count % group else None
    size, base = len(pool) ** group, len(pool)
    # The groups and what they say, by their numbers; built when they are first drawn, because many never are.
    ready: list[tuple[list[Node], list[Leaf]] | None] = [None] * size

    def build(at: int) -> tuple[list[Node], list[Leaf]]:
        nodes, number = [], at
        for _ in range(group):
            number, position = divmod(number, base)
            nodes.append(pool[position])
        nodes.reverse()
        built = ready[at] = (nodes, [leaf for node in nodes for leaf in leaves_of(node)])
        return built

    def so_many(run: Derivation, out: list[Part]) -> None:
        run.left -= count
        random, leaves = run.random, run.leaves
        for _ in range(count // group):
            at = int(random() * size)
            nodes, found = ready[at] or build(at)
            out += nodes
            leaves += found
        if rest is not None:
            rest(run, out)

    return so_many


def times(once: Many) -> Several:
    def so_many(run: Derivation, out: list[Part], count: int) -> None:
        for _ in range(count):
            once(run, out)

    return so_many


def times_from(pool: tuple[Node, ...]) -> Several:
    """So many nodes from a pool, without a call for each."""
    size = len(pool)
    ready: list[list[Leaf] | None] = [None] * size

    def so_many(run: Derivation, out: list[Part], count: int) -> None:
        run.left -= count
        random, leaves = run.random, run.leaves
        for _ in range(count):
            at = int(random() * size) if size > 1 else 0
            out.append(pool[at])
            here = ready[at]
            if here is None:
                here = ready[at] = leaves_of(pool[at])
            leaves += here

    return so_many


def between(first: Several, further: Several, least: int, most: int, spread: int, cost: int) -> Many:
    counts = min(most - least, max(spread, 1) * 4) + 1

    def some(run: Derivation, out: list[Part]) -> None:
        if least:
            first(run, out, least)
        if run.left >= cost:
            further(run, out, int(run.random() * counts))

    return some


def unbounded(once: Many, further: Many, least: int, spread: int, cost: int) -> Many:
    def some(run: Derivation, out: list[Part]) -> None:
        for _ in range(least):
            once(run, out)
        # Squared, so that few are usual and many still happen.
        drawn = run.random()
        for _ in range(int(drawn * drawn * (spread + 1))):
            if run.left < cost:
                break
            further(run, out)

    return some


def if_not_empty(once: Many) -> Many:
    """An item of a repetition that is left out if it is empty: its number could not be read back."""

    def further(run: Derivation, out: list[Part]) -> None:
        before = len(out)
        once(run, out)
        if not any(map(extent, out[before:])):
            del out[before:]

    return further


def without_rounds(make: One) -> One:
    """A maker whose nodes do not contain themselves with nothing beside them: the innermost one is used."""

    def innermost(run: Derivation) -> Part:
        node = make(run)
        assert isinstance(node, Node), "the maker of a symbol makes a node"
        found, whole = node, extent(node)
        todo = [node]
        while todo:
            current = todo.pop()
            if current.symbol == node.symbol:
                found = current
            todo.extend(part for part in current.children if isinstance(part, Node) and extent(part) == whole)
        return found if node.parties is None else found._replace(parties=node.parties)

    return innermost


def extent(part: Part) -> int:
    """The size of a part's text, in a unit of which only zero and equality matter."""
    return sum(8 * len(leaf) if isinstance(leaf, str | bytes) else 1 for leaf in leaves_of(part))
