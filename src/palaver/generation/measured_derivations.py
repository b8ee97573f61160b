"""Derivations with an exact length or number of nodes, by dynamic programming (Bellman 1957) over the grammar.

Dynamic programming over the grammar. Both measures add up: the amount of a sequence is the sum of its parts' amounts.
So for every expression the *possible amounts* up to a limit are a bit set (`regular.bitsets`): a choice is the union of
its options, a sequence the sumset of its parts (`amount_plans`), and recursion a least fixpoint over the rules. Only
new amounts are carried on from rule to rule, so slow recursion (one more bracket each time) is cheap.

A derivation is drawn from the top. Each choice takes an option for which the amount is possible, each sequence splits
its amount at random so that every part can have its share; there is no backtracking.

Recursion that adds no amount could go on for ever. Therefore each symbol remembers at which time each of its amounts
became known: because of others that were known before. Once the nodes are spent, a symbol is expanded as of the time
when its amount became known, and times only go down.

A derivation is not needlessly ambiguous (see `grammar.fixpoints`): empty items of a repetition are left out, and a node
that contains its own symbol with nothing beside it is replaced by the inner one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from palaver.generation.amount_planner import AmountPlanner, Usual
from palaver.generation.amount_plans import Attempt, NotFound, SymbolAmounts
from palaver.generation.depth import deep_calls
from palaver.generation.generation_limits import MAX_AMOUNT, MAX_DERIVATIONS, MAX_KEPT_BITS, MAX_SHIFTED_BITS
from palaver.generation.makers import Discarded, extent
from palaver.generation.measures import Count, Length, Measure, MeasuredRules
from palaver.grammar.analysis import backwards, strongly_connected_components
from palaver.random_source import RandomSource
from palaver.regular.bitsets import BoundedSums, TooExpensive
from palaver.regular.language import Unit
from palaver.regular.words import NoSuchString
from palaver.spec.ast import Ref, Rule
from palaver.trees.node import Node, NonTerminal, Part

__all__ = ["Count", "Length", "Measure", "MeasuredDerivations"]

# Masks are made for iterated of two, so that asking for one more costs nothing; this is the first.
_FIRST_LIMIT = 64


class MeasuredDerivations:
    """The derivations of a grammar by their amount of one measure.

    `make` makes a node of a symbol that the measure does not look into; `most` limits unbounded repetition of
    expressions without an amount.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        measure: Measure,
        *,
        binary: bool,
        most: int,
        make: Callable[[str, RandomSource], Node],
    ) -> None:
        self._rules = MeasuredRules(rules, measure, binary=binary)
        self._usual = Usual(make, most)
        self._tables: dict[str, _Table | None] = {}

    def unit(self, symbol: str) -> Unit:
        """The unit of this symbol's lengths: bits as soon as there are bits in it."""
        return self._rules.unit(symbol)

    def amounts(self, symbol: str, limit: int) -> int | None:
        """The possible amounts up to `limit`, as a bit mask. None: that cannot be told.

        That is so if a generator, a computed repetition or a pattern that is not plain is involved. Counts that only
        needless recursion and empty items would give are included.
        """
        table = self._table(symbol, limit)
        if table is None or not table.is_exact:
            return None
        return table.root.mask & ((2 << limit) - 1) if limit >= 0 else 0

    def draw(
        self, symbol: str, amount: int, chance: RandomSource, *, nodes: int = 200, like: Node | None = None
    ) -> Node | None:
        """A random derivation with exactly this amount; None if there is none, or none was found.

        When about `nodes` nodes are spent, the rest is made with few more. Nodes that the measure does not look into
        are taken from `like`, in its order, as long as there are any.
        """
        table = self._table(symbol, amount)
        if table is None or amount < 0 or not table.root.mask >> amount & 1:
            return None
        return table.draw(amount, chance, nodes, [] if like is None else self._outer_nodes(like))

    def _outer_nodes(self, node: Node) -> list[Node]:
        """The nodes inside of a node that the measure does not look into, in the order of the text."""
        found: list[Node] = []
        todo = [node]
        while todo:
            current = todo.pop()
            if current is node or self._rules.is_expanded(current.symbol):
                todo += [part for part in reversed(current.children) if isinstance(part, Node)]
            else:
                found.append(current)
        return found

    def _table(self, symbol: str, limit: int) -> _Table | None:
        """Masks for at least this limit, the latest ones if they suffice."""
        table = self._tables.get(symbol)
        if symbol in self._tables and (table is None or table.limit >= limit):
            return table
        if limit > MAX_AMOUNT:
            MAX_AMOUNT.reached()
            return None
        self._tables[symbol] = self._build(symbol, max(_FIRST_LIMIT, 1 << (limit - 1).bit_length()))
        return self._tables[symbol]

    def _build(self, symbol: str, limit: int) -> _Table | None:
        if not self._rules.can_be_told(symbol):
            return None
        try:
            with deep_calls():
                return _Table(self._rules, self._usual, symbol, limit)
        except TooExpensive:
            return None


class _Table:
    """The plans of all that is below a symbol, for amounts up to a limit."""

    def __init__(self, rules: MeasuredRules, usual: Usual, symbol: str, limit: int) -> None:
        self.limit = limit
        self._sums = BoundedSums(limit, MAX_SHIFTED_BITS)
        below = rules.involved(symbol)
        names = [name for name in rules.rules if name in below]
        self._symbols = {name: SymbolAmounts(NonTerminal(name), name == rules.counted) for name in names}
        planner = AmountPlanner(rules, usual, self._symbols, self._sums, rules.unit(symbol))
        for name in names:
            self._symbols[name].body = planner.plan(rules.rules[name].body)
        self.root = planner.plan(Ref(symbol))
        self.is_exact = planner.is_exact
        self._may_go_round = rules.counted is not None and not rules.cyclic.isdisjoint(names)
        self._fill(below)
        self.root.grow()

    def _fill(self, below: Mapping[str, tuple[str, ...]]) -> None:
        """Find all possible amounts; groups of mutually recursive symbols after all others that they contain."""
        time = 0
        for group in strongly_connected_components(list(self._symbols), below):
            users = backwards({name: below[name] for name in group})
            # First come, first served: an amount that is known earlier takes fewer levels.
            todo = dict.fromkeys(group)
            while todo:
                name = next(iter(todo))
                del todo[name]
                symbol = self._symbols[name]
                fresh = self._sums.shifted(symbol.body.grow(), symbol.own) & ~symbol.mask
                if fresh:
                    time += 1
                    if time * self.limit > MAX_KEPT_BITS:
                        raise TooExpensive
                    symbol.add(fresh, time)
                    todo.update(dict.fromkeys(users.get(name, ())))

    def draw(self, amount: int, chance: RandomSource, nodes: int, kept: Sequence[Node]) -> Node | None:
        self._sums.begin()
        for attempt in range(MAX_DERIVATIONS):
            try:
                with deep_calls():
                    # Nodes to keep may not fit, so only the first attempt tries them.
                    keeping = () if attempt else kept
                    node = self._make(amount, Attempt(chance, nodes if attempt < MAX_DERIVATIONS - 1 else 0, keeping))
            except (NotFound, NoSuchString, Discarded, RecursionError):
                continue
            except TooExpensive:
                return None
            if not (self._may_go_round and _goes_round(node)):
                return node
        return None

    def _make(self, amount: int, attempt: Attempt) -> Node:
        out: list[Part] = []
        self.root.make(amount, None, attempt, out)
        (node,) = out
        assert isinstance(node, Node), "the plan of a symbol makes a node"
        return node


def _goes_round(node: Node) -> bool:
    """Return True if some node contains its own symbol with nothing beside it."""
    found: list[tuple[Node, int]] = [(node, -1)]  # each with the place of the one above it
    extents: list[int] = []
    for at, (current, _) in enumerate(found):
        found += [(part, at) for part in current.children if isinstance(part, Node)]
        extents.append(sum([extent(part) for part in current.children if not isinstance(part, Node)]))
    for at in range(len(found) - 1, 0, -1):
        extents[found[at][1]] += extents[at]
    around: list[frozenset[str]] = []  # the symbols around each node that have the same text
    for at, (current, above) in enumerate(found):
        is_alone = at > 0 and extents[above] == extents[at]
        same = around[above] if is_alone else frozenset()
        if current.symbol in same:
            return True
        around.append(same | {current.symbol})
    return False
