"""Derivations with an exact amount of something: so long, or with so many nodes of some symbol.

How it works
============

Both measures add up: what a sequence has is what its parts have together. So for every expression of the grammar the
*possible amounts* up to a limit are known as one whole number, whose bit n says whether n is possible. A choice is the
union of its options, a sequence has all sums of its parts' amounts, and recursion is a fixpoint over the rules. Only
the amounts that are new are carried on from rule to rule, so slow recursion (one more bracket each time) stays cheap.

A derivation is drawn from the top. Each choice takes an option for which the amount is possible, each sequence splits
its amount at random so that every part can have its share; nothing is ever tried in vain.

What adds nothing could go on without end. Therefore each symbol keeps its *history*: which amounts were known at which
time. An amount became known because of others that were known before. So once the nodes are spent, a symbol is
expanded as of the time when its amount became known, and times only go down.

A derivation goes round no more often than needed (see `grammar.empty`), so items of a repetition that would say
nothing are left out, and a node that contains itself with nothing beside it is replaced by that.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import log2
from typing import TypeAlias, cast

from palaver.chance import Chance
from palaver.generation.depth import deep_calls
from palaver.generation.makers import MOST_NODES, Discarded, extent
from palaver.generation.patterns import NoSuchString, compile_draw, drawable
from palaver.grammar.analyse import generator_arguments
from palaver.grammar.charset import BYTES, EVERY, CharSet
from palaver.grammar.empty import can_be_empty, cyclic_symbols, nullable_symbols
from palaver.grammar.ir import computed_bounds, refs, walk
from palaver.grammar.language import Unit
from palaver.grammar.outline import Chars, Fork, Loop, Outline, Series
from palaver.grammar.regex import Regex, compile_pattern
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Rule, Sequence
from palaver.trees.node import Leaf, Node, NonTerminal, Part, Parties, new
from palaver.trees.values import flat

# Larger amounts are not asked about: the length fields that people fill have two bytes.
_MOST_AMOUNT = 1 << 17
# Masks are made for powers of two, so that asking for one more costs nothing; this is the first.
_FIRST_LIMIT = 64

# What a table or a draw may cost in bits of masks that are shifted (some seconds), and a table in bits that are kept
# (64 MB).
_MOST_WORK = 1 << 35
_MOST_HISTORY = 1 << 29

# How often a random count or split is guessed before the possible ones are listed: most guesses are good.
_GUESSES = 8
# How often a derivation is begun anew because something in it could not be made; the last time with the least nodes.
_ATTEMPTS = 8
# How often, in one attempt, a string is drawn again because the pattern's outline accepts too much, or an item because
# it must say something.
_TRIES = 200

# To find this many runs of bits in a mask, its text is searched.
_FEW_RUNS = 24

# Masks and powers of earlier times are forgotten when they are more than this; few of them are asked for again.
_MOST_KEPT = 256

# How many symbols are looked at to tell how rich a part of the grammar is.
_RICH = 16
# No class of characters is richer than what people type.
_RICH_CLASS = 100


@dataclass(frozen=True)
class Length:
    """How much a derivation says, in the unit of its symbol (`Measured.unit`)."""


@dataclass(frozen=True)
class Count:
    """How many nodes of a symbol a derivation has, nested ones and the root included."""

    symbol: str


Measure: TypeAlias = Length | Count
MakeLeaf: TypeAlias = Callable[[Pattern, int, Chance], "Leaf | None"]


class Measured:
    """The derivations of a grammar by their amount of one measure.

    `make` makes a node of a symbol that the measure does not care about; `most` limits unbounded repetition of what
    adds nothing. `leaf` makes a string of a pattern with a given number of characters, if not the usual way.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        measure: Measure,
        *,
        binary: bool,
        most: int,
        make: Callable[[str, Chance], Node],
        leaf: MakeLeaf | None = None,
    ) -> None:
        self._grammar = _Grammar(rules, measure, binary, most, make, leaf)
        self._tables: dict[str, _Table | None] = {}

    def unit(self, symbol: str) -> Unit:
        """What lengths of this symbol are measured in: bits as soon as there are bits in it."""
        if not self._grammar.binary:
            return Unit.TEXT
        return Unit.BITS if self._grammar.may_hold_bits(symbol) else Unit.BYTES

    def amounts(self, symbol: str, limit: int) -> int | None:
        """The possible amounts up to `limit`, as a bit mask. None: that cannot be told.

        It cannot if a generator, a computed repetition or a pattern with look-around and the like is involved. Of a
        count, amounts that only needless rounds and empty items would give are included.
        """
        table = self._table(symbol, limit)
        if table is None or not table.is_exact:
            return None
        return table.root.mask & ((2 << limit) - 1) if limit >= 0 else 0

    def draw(self, symbol: str, amount: int, chance: Chance, *, nodes: int = 200) -> Node | None:
        """A random derivation with exactly this amount; None if there is none, or none was found.

        When about `nodes` nodes are spent, what is still missing is made with few more.
        """
        table = self._table(symbol, amount)
        if table is None or amount < 0 or not table.root.mask >> amount & 1:
            return None
        return table.draw(amount, chance, nodes)

    def _table(self, symbol: str, limit: int) -> _Table | None:
        """Masks for at least this limit, the latest ones if they suffice."""
        table = self._tables.get(symbol)
        if symbol in self._tables and (table is None or table.limit >= limit):
            return table
        if limit > _MOST_AMOUNT:
            return None
        self._tables[symbol] = self._build(symbol, max(_FIRST_LIMIT, 1 << (limit - 1).bit_length()))
        return self._tables[symbol]

    def _build(self, symbol: str, limit: int) -> _Table | None:
        if not self._grammar.can_be_told(symbol):
            return None
        try:
            with deep_calls():
                return _Table(self._grammar, symbol, self.unit(symbol), limit)
        except _TooDear:
            return None


class _TooDear(Exception):
    """The masks would take too long, or too much memory."""


class _NotFound(Exception):
    """This attempt does not become a derivation."""


# --- what is known about the grammar ----------------------------------------------------------------------------------


class _Grammar:
    """The rules, and what of them a measure cares about."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        measure: Measure,
        binary: bool,
        most: int,
        make: Callable[[str, Chance], Node],
        leaf: MakeLeaf | None,
    ) -> None:
        self.rules = rules
        self._below: dict[str, tuple[str, ...]] = {}
        self.counted = measure.symbol if isinstance(measure, Count) else None
        self.binary = binary
        self.most = most
        self.make = make
        self.leaf = leaf
        self.nullable = nullable_symbols(rules)
        self.cyclic = cyclic_symbols({name: rules[name] for name in self._recursive()}, self.nullable)
        self._expanded = self._find_expanded()
        self._with_bits = _leading_to(self._symbols_with_bits(), _users(rules)) if binary else frozenset()
        self._varieties: dict[str, int] = {}
        self._richness: dict[str, float] = {}

    def _find_expanded(self) -> frozenset[str]:
        if self.counted is None:
            return frozenset(self.rules)
        # A generator's arguments are nodes too, though nobody hears them.
        users = _users(self.rules)
        for name, rule in self.rules.items():
            for argument in generator_arguments(rule):
                users.setdefault(argument, []).append(name)
        return _leading_to(users.get(self.counted, ()), users)

    def _symbols_with_bits(self) -> Iterator[str]:
        for name, rule in self.rules.items():
            if any(isinstance(part, Bit) for part in walk(rule.body)):
                yield name

    def _recursive(self) -> Iterator[str]:
        """The symbols that may contain themselves."""
        below = {name: self._children(name) for name in self.rules}
        for group in _groups(list(self.rules), below):
            if len(group) > 1 or group[0] in below[group[0]]:
                yield from group

    def is_expanded(self, symbol: str) -> bool:
        """Whether what stands below the symbol matters. Others are made in the usual way."""
        return symbol in self._expanded

    def may_hold_bits(self, symbol: str) -> bool:
        return symbol in self._with_bits

    def involved(self, symbol: str) -> dict[str, tuple[str, ...]]:
        """All symbols that matter from `symbol` on, each with those directly below it."""
        found: dict[str, tuple[str, ...]] = {}
        todo = [symbol]
        while todo:
            name = todo.pop()
            if name not in found and self.is_expanded(name):
                found[name] = tuple(filter(self.is_expanded, self._children(name)))
                todo.extend(reversed(found[name]))
        return found

    def _children(self, symbol: str) -> tuple[str, ...]:
        if symbol not in self._below:
            self._below[symbol] = tuple(dict.fromkeys(ref.symbol for ref in refs(self.rules[symbol].body)))
        return self._below[symbol]

    def can_be_told(self, symbol: str) -> bool:
        """Whether nothing that matters depends on the spec's own code."""
        involved = (self.rules[name] for name in self.involved(symbol))
        return not any(rule.generator is not None or any(computed_bounds(rule.body)) for rule in involved)

    def richness(self, expr: Expr) -> float:
        """How much there is to be said by an expression: words and structures rather than blanks and fillers."""
        symbols = dict.fromkeys(ref.symbol for ref in refs(expr))
        return log2(1 + self._variety(expr)) + sum(map(self._richness_of, symbols))

    def _richness_of(self, symbol: str) -> float:
        if symbol not in self._richness:
            found = {symbol: None}
            todo = deque(found)
            variety = 0
            while todo and len(found) < _RICH:
                name = todo.popleft()
                if name not in self._varieties:
                    self._varieties[name] = self._variety(self.rules[name].body)
                variety += self._varieties[name]
                fresh = dict.fromkeys(child for child in self._children(name) if child not in found)
                found.update(fresh)
                todo.extend(fresh)
            self._richness[symbol] = len(found) + log2(1 + variety)
        return self._richness[symbol]

    def _variety(self, expr: Expr) -> int:
        """How many different things the terminals of an expression say, roughly."""
        variety = 0
        for part in walk(expr):
            if isinstance(part, Literal | Bit):
                variety += 1
            elif isinstance(part, Pattern):
                variety += self.outline_variety(self.outline(compile_pattern(part.source)))
        return variety

    def outline(self, regex: Regex) -> Outline | None:
        return regex.outline(BYTES if self.binary else EVERY)

    @staticmethod
    def outline_variety(outline: Outline | None) -> int:
        variety = 0
        todo = [] if outline is None else [outline]
        while todo:
            match todo.pop():
                case Chars(chars):
                    variety += min(chars.size(), _RICH_CLASS)
                case Series(parts) | Fork(parts):
                    todo.extend(parts)
                case Loop(body):
                    todo.append(body)
        return variety


def _users(rules: Mapping[str, Rule]) -> dict[str, list[str]]:
    """For each symbol, those whose rules mention it."""
    users: dict[str, list[str]] = {}
    for name, rule in rules.items():
        for symbol in dict.fromkeys(ref.symbol for ref in refs(rule.body)):
            users.setdefault(symbol, []).append(name)
    return users


def _leading_to(targets: Iterable[str], users: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The targets and all symbols that lead to one."""
    found: set[str] = set()
    todo = list(targets)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo.extend(users.get(name, ()))
    return frozenset(found)


# --- sets of amounts --------------------------------------------------------------------------------------------------


class _Scale:
    """Adds sets of amounts up to a limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._everything = (2 << limit) - 1
        self._work = 0

    def begin(self) -> None:
        """From here on, what may be spent is counted anew."""
        self._work = 0

    def sums(self, one: int, other: int) -> int:
        """Everything that an amount of the one and an amount of the other are together."""
        if not one or not other:
            return 0
        # Most sums are with a literal, so with a single amount.
        if not one & (one - 1):
            return other << one.bit_length() - 1 & self._everything
        if not other & (other - 1):
            return one << other.bit_length() - 1 & self._everything
        runs = _run_count(one)
        if (others := _run_count(other)) < runs:
            one, other, runs = other, one, others
        self._work += runs * self.limit
        if self._work > _MOST_WORK:
            raise _TooDear
        found = 0
        # A run of possible amounts costs no more than a few single ones.
        for start, length in _runs(one) if runs < _FEW_RUNS else _runs_as_text(one):
            found |= _smeared(other, length) << start
        return found & self._everything

    def shifted(self, mask: int, amount: int) -> int:
        return mask << amount & self._everything

    def multiples(self, step: int, least: int, most: int | None) -> int:
        """`least` to `most` times `step`."""
        last = self.limit // step if most is None else min(most, self.limit // step)
        if least > last:
            return 0
        ones = ((1 << step * (last - least + 1)) - 1) // ((1 << step) - 1)
        return ones << step * least


def _run_count(mask: int) -> int:
    return (mask & ~(mask << 1)).bit_count()


def _runs(mask: int) -> Iterator[tuple[int, int]]:
    """Where the runs of possible amounts start, and how long they are."""
    done = 0
    while mask:
        start = _lowest(mask)
        mask >>= start
        length = _lowest(mask + 1)
        mask >>= length
        yield done + start, length
        done += start + length


def _runs_as_text(mask: int) -> Iterator[tuple[int, int]]:
    """The same, faster if there are many."""
    for run in re.finditer("1+", f"{mask:b}"[::-1]):
        yield run.start(), run.end() - run.start()


def _smeared(mask: int, count: int) -> int:
    """The mask shifted by 0, 1, … up to `count` - 1, all together."""
    width = 1
    while width * 2 <= count:
        mask |= mask << width
        width *= 2
    return mask | mask << (count - width)


def _lowest(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


def _highest(mask: int, limit: int) -> int:
    """The highest amount up to `limit`, -1 if there is none.

    The limit makes draws the same whether the mask was made for a small limit or for a large one.
    """
    return (mask & ((2 << limit) - 1)).bit_length() - 1


def _split(left: int, right: int, amount: int, ratio: float, chance: Chance) -> int:
    """A share of `amount` for the left, such that the right can have the rest.

    The right gets `ratio` times as much on average, if everything is possible. `amount` must be possible for both.
    """
    low = max(_lowest(left), amount - _highest(right, amount))
    high = min(_highest(left, amount), amount - _lowest(right))
    if low == high:
        return low
    width = high - low + 1
    for _ in range(_GUESSES):
        share = low + int(chance.random() ** ratio * width)
        if left >> share & 1 and right >> (amount - share) & 1:
            return share
    return chance.pick([at for at in range(low, high + 1) if left >> at & 1 and right >> (amount - at) & 1])


class _Powers:
    """What so many items are together, whose amounts are all from one set."""

    def __init__(self, scale: _Scale, each: int) -> None:
        self._scale = scale
        self._each = each
        self._masks = {0: 1, 1: each}

    def mask(self, count: int) -> int:
        mask = self._masks.get(count)
        if mask is None:
            if not self._each or _lowest(self._each) * count > self._scale.limit:
                return 0
            # Halves of halves are few, so all of them together cost little more than the largest one.
            half = count // 2
            mask = self._masks[count] = self._scale.sums(self.mask(half), self.mask(count - half))
        return mask

    def share_out(self, amount: int, count: int, chance: Chance) -> list[int]:
        """Amounts of `count` items that are `amount` together."""
        least = _lowest(self._each)
        shares: list[int] = []
        todo = [(amount, count)]
        while todo:
            amount, count = todo.pop()
            if amount == least * count:
                shares += [least] * count
            elif count == 1:
                shares.append(amount)
            else:
                half = count // 2
                rest = count - half
                share = _split(self.mask(half), self.mask(rest), amount, 1, chance)
                todo += ((amount - share, rest), (share, half))
        return shares


# --- expressions whose amounts are known ------------------------------------------------------------------------------


class _Run:
    """One derivation in the making."""

    __slots__ = ("_made", "_tries", "chance", "finished", "left", "whole")

    def __init__(self, chance: Chance, nodes: int) -> None:
        self.chance = chance
        self.left = nodes
        self._made = 0
        self._tries = _TRIES
        # The latest node of each cyclic symbol and length, and which number it had.
        self.finished = 0
        self.whole: dict[tuple[str, int], tuple[int, Node]] = {}

    def spend(self, count: int) -> None:
        """Take note of so many parts. Past all reason the attempt ends: `""{1000000000}` says nothing, but slowly."""
        self._made += count
        if self._made > MOST_NODES:
            raise _NotFound

    def try_again(self) -> None:
        """Take note that something was made in vain. Tries are shared by all levels, or they would multiply."""
        self._tries -= 1
        if self._tries < 0:
            raise _NotFound


class _Plan:
    """An expression: its possible amounts, and how to make it with one of them.

    A time of None is the present: all amounts are known.
    """

    __slots__ = ("_earlier", "mask", "weight")

    def __init__(self, weight: float = 1) -> None:
        self.mask = 0
        self.weight = weight  # what it gets of an amount, compared to others
        self._earlier: dict[int, int] = {}

    def grow(self) -> int:
        """Find the amounts that became possible since the last time; returns them."""
        return self._add(self._mask_at(None))

    def at(self, time: int | None) -> int:
        """The amounts known at a time."""
        if time is None:
            return self.mask
        mask = self._earlier.get(time)
        if mask is None:
            if len(self._earlier) >= _MOST_KEPT:
                self._earlier.clear()
            mask = self._earlier[time] = self._mask_at(time)
        return mask

    def make(self, amount: int, time: int | None, run: _Run, out: list[Part]) -> None:
        """Append parts with this amount, which must have been possible at that time."""
        raise NotImplementedError

    def _mask_at(self, time: int | None) -> int:
        raise NotImplementedError

    def _add(self, mask: int) -> int:
        fresh = mask & ~self.mask
        self.mask |= fresh
        return fresh


class _Fixed(_Plan):
    """One part that always has the same amount."""

    __slots__ = ("_amounts", "_part")

    def __init__(self, scale: _Scale, amount: int, part: Callable[[_Run], Part]) -> None:
        super().__init__(0)
        self._amounts = scale.shifted(1, amount)
        self._part = part

    def make(self, amount: int, time: int | None, run: _Run, out: list[Part]) -> None:
        out.append(self._part(run))

    def _mask_at(self, time: int | None) -> int:
        return self._amounts


class _Characters(_Plan):
    """Some number of characters of a class, as one string."""

    __slots__ = ("_amounts", "_draw", "_size")

    def __init__(self, scale: _Scale, chars: CharSet, least: int, most: int | None, size: int) -> None:
        pool = drawable(chars)
        count = pool.size()
        super().__init__(log2(1 + min(count, _RICH_CLASS)))
        if not count:
            most = 0
        self._amounts = scale.multiples(size, least, most)
        self._size = size
        self._draw = _characters_of(pool)

    def make(self, amount: int, time: int | None, run: _Run, out: list[Part]) -> None:
        out.append(self._draw(run.chance, amount // self._size))

    def _mask_at(self, time: int | None) -> int:
        return self._amounts


def _characters_of(pool: CharSet) -> Callable[[Chance, int], str]:
    ranges = list(pool.pairs())
    sizes = list(accumulate(high - low + 1 for low, high in ranges))
    starts = [high + 1 - upto for (_, high), upto in zip(ranges, sizes, strict=True)]

    def draw(chance: Chance, count: int) -> str:
        if len(ranges) == 1:
            return "".join([chr(starts[0] + chance.below(sizes[-1])) for _ in range(count)])
        places = [chance.below(sizes[-1]) for _ in range(count)]
        return "".join([chr(starts[bisect_right(sizes, place)] + place) for place in places])

    return draw


class _Text(_Plan):
    """A pattern: the strings that its outline makes, put together and checked."""

    __slots__ = ("_inner", "_leaf")

    def __init__(self, inner: _Plan, leaf: Callable[[Callable[[], str], int, _Run], Leaf]) -> None:
        super().__init__(inner.weight)
        self._inner = inner
        self._leaf = leaf

    def grow(self) -> int:
        return self._add(self._inner.grow())

    def make(self, amount: int, time: int | None, run: _Run, out: list[Part]) -> None:
        def text() -> str:
            pieces: list[Part] = []
            self._inner.make(amount, None, run, pieces)
            return "".join(cast("list[str]", pieces))  # an outline makes nothing but text

        out.append(self._leaf(text, amount, run))

    def _mask_at(self, time: int | None) -> int:
        return self._inner.mask


class _Child(_Plan):
    """A node of a symbol."""

    __slots__ = ("_is_cyclic", "_parties", "_symbol")

    def __init__(self, symbol: _Symbol, parties: Parties | None, is_cyclic: bool) -> None:
        super().__init__()
        self._symbol = symbol
        self._parties = parties
        self._is_cyclic = is_cyclic

    def make(self, amount: int, time: int | None, run: _Run, out: list[Part]) -> None:
        symbol = self._symbol
        run.left -= 1
        run.spend(1)
        then = None if run.left > 0 else symbol.known_since(amount)
        before = run.finished
        parts: list[Part] = []
        symbol.body.make(amount - symbol.own, then, run, parts)
        node: Node = new(Node, (symbol.name, tuple(parts), (), self._parties))
        out.append(self._innermost(node, amount, before, run) if self._is_cyclic else node)

    def _innermost(self, node: Node, length: int, before: int, run: _Run) -> Node:
        """The node, or one inside it that says the same. `before` tells which nodes were finished when it was begun."""
        key = (node.symbol, length)
        number, inner = run.whole.get(key, (0, node))
        found = inner._replace(parties=self._parties) if number > before else node
        run.finished += 1
        run.whole[key] = (run.finished, found)
        return found

    def _mask_at(self, time: int | None) -> int:
        return self._symbol.mask_at(time)


class _Either(_Plan):
    """A choice. Options are drawn by weight; one that is always the same is as good as the best."""

    __slots__ = ("_fitting", "_options", "_weights")

    def __init__(self, options: list[_Plan]) -> None:
        best = max((option.weight for option in options), default=0)
        super().__init__(best)
        self._options = options
        self._weights = [option.weight or best for option in options]
        self._fitting: dict[int, tuple[list[_Plan], list[float]]] = {}

    def grow(self) -> int:
        fresh = 0
        for option in self._options:
            fresh |= option.grow()
        return self._add(fresh)

    def make(self, amount: int, time: int | None, run: _Run, out: list[Part]) -> None:
        fitting = self._fitting.get(amount) if time is None else None
        if fitting is None:
            fitting = self._fitting_at(amount, time)
            if time is None:
                self._fitting[amount] = fitting
        options, upto = fitting
        at = bisect_right(upto, run.chance.random() * upto[-1]) if len(options) > 1 else 0
        options[at].make(amount, time, run, out)

    def _fitting_at(self, amount: int, time: int | None) -> tuple[list[_Plan], list[float]]:
        """The options that can have this amount, and their weights, added up."""
        places = [at for at, option in enumerate(self._options) if option.at(time) >> amount & 1]
        return [self._options[at] for at in places], list(accumulate(self._weights[at] or 1 for at in places))

    def _mask_at(self, time: int | None) -> int:
        mask = 0
        for option in self._options:
            mask |= option.at(time)
        return mask


class _Pair(_Plan):
    """Two parts of a sequence, which share an amount. It is the sequence that makes them."""

    __slots__ = ("_scale", "left", "ratio", "right")

    def __init__(self, scale: _Scale, left: _Plan, right: _Plan) -> None:
        super().__init__(left.weight + right.weight)
        self._scale = scale
        self.left = left
        self.right = right
        self.ratio = right.weight / left.weight if left.weight and right.weight else 1

    def grow(self) -> int:
        fresh_left = self.left.grow()
        fresh_right = self.right.grow()
        sums = self._scale.sums
        old_left = self.left.mask ^ fresh_left
        return self._add(sums(fresh_left, self.right.mask) | sums(old_left, fresh_right))

    def _mask_at(self, time: int | None) -> int:
        return self._scale.sums(self.left.at(time), self.right.at(time))


class _InTurn(_Plan):
    """A sequence, or a permutation. Parts are paired, pairs are paired, and so on, so that all are treated alike."""

    __slots__ = ("_any_order", "_parts", "_top")

    def __init__(self, scale: _Scale, parts: list[_Plan], *, any_order: bool) -> None:
        tops = list(parts)
        while len(tops) > 1:
            paired: list[_Plan] = [_Pair(scale, *tops[at : at + 2]) for at in range(0, len(tops) - 1, 2)]
            tops = paired + tops[len(paired) * 2 :]
        self._top = tops[0] if tops else _Fixed(scale, 0, lambda run: "")
        super().__init__(self._top.weight)
        self._parts = parts
        self._any_order = any_order

    def grow(self) -> int:
        return self._add(self._top.grow())

    def make(self, amount: int, time: int | None, run: _Run, out: list[Part]) -> None:
        if not self._parts:
            return
        todo = list(zip(self._parts, self._share_out(amount, time, run), strict=True))
        while todo:
            part, share = todo.pop(run.chance.below(len(todo)) if self._any_order else 0)
            part.make(share, time, run, out)

    def _share_out(self, amount: int, time: int | None, run: _Run) -> list[int]:
        shares: list[int] = []
        todo = [(self._top, amount)]
        while todo:
            plan, amount = todo.pop()
            if isinstance(plan, _Pair):
                left, right = plan.left, plan.right
                share = _split(left.at(time), right.at(time), amount, plan.ratio, run.chance)
                todo += ((right, amount - share), (left, share))
            else:
                shares.append(amount)
        return shares

    def _mask_at(self, time: int | None) -> int:
        return self._top.at(time)


class _Times(_Plan):
    """A repetition.

    Items beyond the least number must say something. Of a length, that is to have an amount; of a count it can only be
    seen when they are made (`must_say`).
    """

    __slots__ = ("_body", "_extra", "_least", "_most", "_must_say", "_powers", "_scale")

    def __init__(
        self, scale: _Scale, body: _Plan, least: int, most: int | None, *, extra: int | None, must_say: bool
    ) -> None:
        super().__init__(body.weight)
        self._scale = scale
        self._body = body
        self._least = least
        self._most = most
        self._extra = extra  # how many items may have nothing of what is counted; None: a length is measured
        self._must_say = must_say
        self._powers: dict[int, _Powers] = {}

    def grow(self) -> int:
        if not self._body.grow() and self.mask:
            return 0
        return self._add(self._mask_at(None))

    def _mask_at(self, time: int | None) -> int:
        each = self._body.at(time)
        further = self._raised(self._beyond(each) | 1)
        return self._scale.sums(self._raised(each).mask(self._least), further.mask(self._most_beyond))

    @property
    def _most_beyond(self) -> int:
        """How many items there may be beyond the least number; more than the limit would have nothing to share."""
        return self._scale.limit if self._most is None else min(self._most - self._least, self._scale.limit)

    def _beyond(self, each: int) -> int:
        """What an item beyond the least number may have."""
        return each & ~1 if self._extra is None else each

    def _raised(self, each: int) -> _Powers:
        powers = self._powers.get(each)
        if powers is None:
            if len(self._powers) >= _MOST_KEPT:
                self._powers.clear()
            powers = self._powers[each] = _Powers(self._scale, each)
        return powers

    def make(self, amount: int, time: int | None, run: _Run, out: list[Part]) -> None:
        shares = self._share_out(amount, self._body.at(time), run)
        run.spend(len(shares))
        for share in shares[: self._least]:
            self._body.make(share, time, run, out)
        further = self._make_further if self._must_say else self._body.make
        for share in shares[self._least :]:
            further(share, time, run, out)

    def _make_further(self, amount: int, time: int | None, run: _Run, out: list[Part]) -> None:
        while True:
            parts: list[Part] = []
            self._body.make(amount, time, run, parts)
            if any(extent(part) for part in parts):
                out += parts
                return
            if not amount:
                return
            run.try_again()

    def _share_out(self, amount: int, each: int, run: _Run) -> list[int]:
        """What each item gets; their number is drawn here too."""
        if self._least > MOST_NODES:
            raise _NotFound
        beyond = self._beyond(each)
        chance = run.chance
        count = self._draw_count(amount, each, beyond, chance) if run.left > 0 else None
        if count is not None and beyond == each:
            return self._raised(each).share_out(amount, self._least + count, chance)
        if count is None:
            count = self._fewest(amount, each, beyond)
            beyond |= 1
        first, further = self._raised(each), self._raised(beyond)
        left, right = first.mask(self._least), further.mask(count)
        share = _split(left, right, amount, max(count, 1) / max(self._least, 1), chance)
        rest = further.share_out(amount - share, count, chance)
        return first.share_out(share, self._least, chance) + [share for share in rest if share or beyond == each]

    def _draw_count(self, amount: int, each: int, beyond: int, chance: Chance) -> int | None:
        """How many items there are beyond the least number; None if no good guess was made."""
        low, high = self._counts(amount, each, beyond)
        for _ in range(_GUESSES if low <= high else 0):
            drawn = chance.random()
            # Squared, so that few are usual and many still happen.
            count = low + int((drawn if self._most else drawn * drawn) * (high - low + 1))
            if self._mask_of(count, each, beyond) >> amount & 1:
                return count
        return None

    def _counts(self, amount: int, each: int, beyond: int) -> tuple[int, int]:
        """The range in which the number of items beyond the least number is drawn."""
        some = beyond & ~1
        if _highest(some, amount) < 0:
            low, high = 0, 0
        elif beyond == each == some:  # every item takes its share
            low = -(-amount // _highest(some, amount)) - self._least
            high = amount // _lowest(some) - self._least
        else:
            low, high = 0, amount // _lowest(some)
        if beyond & 1:
            high += self._extra or 0
        return max(low, 0), high if self._most is None else min(high, self._most - self._least)

    def _mask_of(self, count: int, each: int, beyond: int) -> int:
        if beyond == each:
            return self._raised(each).mask(self._least + count)
        return self._scale.sums(self._raised(each).mask(self._least), self._raised(beyond).mask(count))

    def _fewest(self, amount: int, each: int, beyond: int) -> int:
        """With how few items beyond the least number the amount is possible."""
        first, further = self._raised(each).mask(self._least), self._raised(beyond | 1)

        def suffices(count: int) -> bool:
            return bool(self._scale.sums(first, further.mask(count)) >> amount & 1)

        high = 0
        while not suffices(min(high, self._most_beyond)):
            high = high * 2 + 1
        return bisect_left(range(min(high, self._most_beyond) + 1), True, lo=(high + 1) // 2, key=suffices)


class _Symbol:
    """A symbol, and which amounts were known for it at which time."""

    def __init__(self, name: NonTerminal, own: int) -> None:
        self.name = name
        self.own = own  # what a node has besides what is below it
        self.body = _Plan()
        self.mask = 0
        self._times: list[int] = []
        self._masks: list[int] = []
        self._known_since: dict[int, int] = {}

    def add(self, fresh: int, time: int) -> None:
        self.mask |= fresh
        self._times.append(time)
        self._masks.append(self.mask)

    def mask_at(self, time: int | None) -> int:
        """What was known before that time."""
        if time is None:
            return self.mask
        at = bisect_left(self._times, time)
        return self._masks[at - 1] if at else 0

    def known_since(self, amount: int) -> int:
        since = self._known_since.get(amount)
        if since is None:
            at = bisect_left(self._masks, 1, key=lambda mask: mask >> amount & 1)
            since = self._known_since[amount] = self._times[at]
        return since


# --- tables -----------------------------------------------------------------------------------------------------------


class _Table:
    """The plans of all that is below a symbol, for amounts up to a limit."""

    def __init__(self, grammar: _Grammar, symbol: str, unit: Unit, limit: int) -> None:
        self._grammar = grammar
        self.limit = limit
        self.is_exact = True
        self._scale = _Scale(limit)
        self._char_size = 8 if unit is Unit.BITS else 1
        below = grammar.involved(symbol)
        names = [name for name in grammar.rules if name in below]
        self._symbols = {name: _Symbol(NonTerminal(name), name == grammar.counted) for name in names}
        for name in names:
            self._symbols[name].body = self._plan(grammar.rules[name].body)
        self.root = self._plan(Ref(symbol))
        self._may_go_round = grammar.counted is not None and not grammar.cyclic.isdisjoint(names)
        self._fill(below)
        self.root.grow()

    def draw(self, amount: int, chance: Chance, nodes: int) -> Node | None:
        self._scale.begin()
        for attempt in range(_ATTEMPTS):
            try:
                with deep_calls():
                    node = self._make(amount, _Run(chance, nodes if attempt < _ATTEMPTS - 1 else 0))
            except (_NotFound, NoSuchString, Discarded, RecursionError):
                continue
            except _TooDear:
                return None
            if not (self._may_go_round and _goes_round(node)):
                return node
        return None

    def _make(self, amount: int, run: _Run) -> Node:
        out: list[Part] = []
        self.root.make(amount, None, run, out)
        (node,) = out
        assert isinstance(node, Node), "the plan of a symbol makes a node"
        return node

    # --- the fixpoint -------------------------------------------------------------------------------------------------

    def _fill(self, below: Mapping[str, tuple[str, ...]]) -> None:
        """Find all possible amounts. Symbols that contain each other wait for all others that they contain."""
        time = 0
        for group in _groups(list(self._symbols), below):
            inside = dict.fromkeys(group)
            users: dict[str, list[str]] = {name: [] for name in group}
            for name in group:
                for child in below[name]:
                    if child in inside:
                        users[child].append(name)
            # First come, first served: what is known earlier takes fewer levels.
            todo = dict.fromkeys(group)
            while todo:
                name = next(iter(todo))
                del todo[name]
                symbol = self._symbols[name]
                fresh = self._scale.shifted(symbol.body.grow(), symbol.own) & ~symbol.mask
                if fresh:
                    time += 1
                    if time * self.limit > _MOST_HISTORY:
                        raise _TooDear
                    symbol.add(fresh, time)
                    todo.update(dict.fromkeys(users[name]))

    # --- expressions --------------------------------------------------------------------------------------------------

    def _plan(self, expr: Expr) -> _Plan:
        match expr:
            case Literal() | Bit():
                return self._terminal(expr)
            case Pattern():
                return self._pattern(expr)
            case Ref():
                return self._child(expr)
            case Choice(options):
                return _Either(self._weighed(options))
            case Sequence(parts):
                return _InTurn(self._scale, self._weighed(parts), any_order=False)
            case Permutation(parts):
                return _InTurn(self._scale, self._weighed(parts), any_order=True)
            case Repeat(body, least, most):
                assert isinstance(least, int), "no bound is computed here"
                assert most is None or isinstance(most, int), "no bound is computed here"
                if self._grammar.counted is None:
                    return self._times(self._plan(body), least, most)
                must_say = can_be_empty(body, self._grammar.nullable)
                return _Times(self._scale, self._plan(body), least, most, extra=self._grammar.most, must_say=must_say)

    def _times(self, body: _Plan, least: int, most: int | None) -> _Plan:
        return _Times(self._scale, body, least, most, extra=None, must_say=False)

    def _weighed(self, parts: tuple[Expr, ...]) -> list[_Plan]:
        """Plans that get of a length what they deserve: a message is not to be filled with blanks."""
        plans = [self._plan(part) for part in parts]
        if self._grammar.counted is None:
            for part, plan in zip(parts, plans, strict=True):
                if not isinstance(plan, _Fixed):
                    plan.weight = self._grammar.richness(part)
        return plans

    def _child(self, ref: Ref) -> _Plan:
        name = ref.symbol
        parties = None if ref.sender is None else Parties(ref.sender, ref.recipient)
        if self._grammar.is_expanded(name):
            is_cyclic = self._grammar.counted is None and name in self._grammar.cyclic
            return _Child(self._symbols[name], parties, is_cyclic)
        make = self._grammar.make

        def other(run: _Run) -> Part:
            node = make(name, run.chance)
            run.left -= 1 + len(flat(node))
            return node if parties is None else node._replace(parties=parties)

        return _Fixed(self._scale, int(name == self._grammar.counted), other)

    # --- terminals ----------------------------------------------------------------------------------------------------

    def _terminal(self, expr: Literal | Bit) -> _Plan:
        leaf: Leaf = expr.value
        if isinstance(leaf, str) and self._grammar.binary:
            leaf = leaf.encode()
        if self._grammar.counted is not None:
            amount = 0
        else:
            amount = 1 if isinstance(leaf, int) else self._char_size * len(leaf)
        return _Fixed(self._scale, amount, lambda run: leaf)

    def _pattern(self, pattern: Pattern) -> _Plan:
        regex, binary = compile_pattern(pattern.source), self._grammar.binary
        if self._grammar.counted is not None:
            draw = compile_draw(regex, binary=binary, most=self._grammar.most)
            return _Fixed(self._scale, 0, lambda run: draw(run.chance))
        if not regex.is_plain:
            self.is_exact = False
        outline = self._grammar.outline(regex)
        inner = _Either([]) if outline is None else self._outlined(outline)
        make = self._grammar.leaf
        if make is None:
            return _Text(inner, lambda text, amount, run: _checked(text, regex, binary, run))
        size = self._char_size

        def made_elsewhere(text: Callable[[], str], amount: int, run: _Run) -> Leaf:
            leaf = make(pattern, amount // size, run.chance)
            if leaf is None:
                raise _NotFound
            return leaf

        return _Text(inner, made_elsewhere)

    def _outlined(self, outline: Outline) -> _Plan:
        match outline:
            case Chars(chars):
                return _Characters(self._scale, chars, 1, 1, self._char_size)
            case Loop(Chars(chars), least, most):
                return _Characters(self._scale, chars, least, most, self._char_size)
            case Loop(body, least, most):
                return self._times(self._outlined(body), least, most)
            case Fork(options):
                return _Either([self._outlined(option) for option in options])
            case Series(parts):
                return _InTurn(self._scale, [self._outlined(part) for part in parts], any_order=False)


def _checked(text: Callable[[], str], regex: Regex, binary: bool, run: _Run) -> Leaf:
    drawn = text()
    while not (regex.is_plain or regex.matches(drawn)):
        run.try_again()
        drawn = text()
    return drawn.encode("latin-1") if binary else drawn


# --- graphs and trees -------------------------------------------------------------------------------------------------


def _groups(names: list[str], below: Mapping[str, tuple[str, ...]]) -> Iterator[list[str]]:
    """The symbols in groups that contain each other, inner ones first; in each group, in the order given."""
    above: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        for child in below[name]:
            above[child].append(name)
    place = {name: at for at, name in enumerate(names)}
    seen: set[str] = set()
    # Whoever is left last when going up is contained by no other group that is still to come.
    for name in reversed(_as_left(names, above)):
        if name not in seen:
            group = [name]
            seen.add(name)
            for member in group:
                fresh = [child for child in below[member] if child not in seen]
                seen.update(fresh)
                group += fresh
            yield sorted(group, key=place.__getitem__)


def _as_left(names: list[str], edges: Mapping[str, Iterable[str]]) -> list[str]:
    """All symbols in the order in which a walk along the edges, depth first, leaves them for good."""
    left: list[str] = []
    seen: set[str] = set()
    for start in names:
        todo = [(start, False)]
        while todo:
            name, is_done = todo.pop()
            if is_done:
                left.append(name)
            elif name not in seen:
                seen.add(name)
                todo.append((name, True))
                todo += [(following, False) for following in edges[name]]
    return left


def _goes_round(node: Node) -> bool:
    """Whether some node contains its own symbol with nothing beside it."""
    found: list[tuple[Node, int]] = [(node, -1)]  # each with the place of the one above it
    extents: list[int] = []
    for at, (current, _) in enumerate(found):
        found += [(part, at) for part in current.children if isinstance(part, Node)]
        extents.append(sum([extent(part) for part in current.children if not isinstance(part, Node)]))
    for at in range(len(found) - 1, 0, -1):
        extents[found[at][1]] += extents[at]
    around: list[frozenset[str]] = []  # the symbols around each node that say no more than it does
    for at, (current, above) in enumerate(found):
        is_alone = at > 0 and extents[above] == extents[at]
        same = around[above] if is_alone else frozenset()
        if current.symbol in same:
            return True
        around.append(same | {current.symbol})
    return False
