"""Nodes that have a wanted value: what must `<len>` be, so that `int(<len>) == 17`?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from palaver.chance import Chance
from palaver.errors import ConversionError
from palaver.generation.measured import Measured
from palaver.generation.measures import Count, Length, Measure
from palaver.grammar.language import Languages, Unit
from palaver.solving.domains import Domain
from palaver.solving.restrict import restricted
from palaver.solving.seen import first_spelling, numbers_in, simple_base
from palaver.solving.spelling import Speller
from palaver.solving.view_arithmetic import inverse
from palaver.solving.views import Kind, View
from palaver.trees.node import Node, NonTerminal
from palaver.trees.tree import Tree

# Larger lengths and counts are not tried: the tree would be larger than any that is asked for.
_LARGEST_AMOUNT = 10_000

# Longer texts are not made to be part of a field: two that must begin with each other would grow with every step.
_PARTS = ("startswith", "endswith", "contains")
_LONGEST_PART = 64

# How many values are remembered with their nodes; then all are forgotten.
_MOST_ASSIGNED = 4096


@dataclass(frozen=True)
class Assigner:
    """Makes nodes of one grammar that are what an equation asks for.

    `read` reads a value as a symbol, `read_bits` a row of 0 and 1; `measured` makes derivations of a given length or
    count.
    """

    languages: Languages
    speller: Speller
    domains: Mapping[str, Domain]
    read: Callable[[str, Any], Node | None]
    read_bits: Callable[[str, str], Node | None]
    measured: Callable[[Measure], Measured]
    spread: int  # how far endless fields go beyond their least
    _free: dict[str, Domain | None] = field(default_factory=dict, repr=False)
    # What is remembered about symbols and views. These are told apart by identity, which is kept with the answers: to
    # hash a view takes as long as many an answer.
    _bases: dict[tuple[str, int], tuple[View, int | None]] = field(default_factory=dict, repr=False)
    # Many equations ask for the same few numbers again and again.
    _assigned: dict[tuple[str, int, Any], tuple[View, Node | None]] = field(default_factory=dict, repr=False)

    def node(self, symbol: str, word: str) -> Node | None:
        """The node of a word of the symbol's language."""
        language = self.languages.of(symbol)
        assert language is not None, "only a language has words"
        if self.languages.is_leaf(symbol):
            return Node(NonTerminal(symbol), (language.spell(word),))
        if self.speller.can_spell(symbol):
            return self.speller.node(symbol, word)
        if language.unit is Unit.BITS:
            return self.read_bits(symbol, word)
        return self.read(symbol, language.spell(word))

    def _read(self, symbol: str, value: Any) -> Node | None:
        """A value read as a symbol, without a matcher if that is possible."""
        if isinstance(value, str | bytes) and self.speller.can_spell(symbol):
            language = self.languages.of(symbol)
            assert language is not None, "what can be spelled is regular"
            if isinstance(value, bytes) and language.unit is Unit.BYTES:
                return self.speller.node(symbol, value.decode("latin-1"))
            if isinstance(value, str) and language.unit is Unit.TEXT:
                return self.speller.node(symbol, value)
        return self.read(symbol, value)

    def draw(self, domain: Domain, chance: Chance) -> Node | None:
        """A node from a domain; None if there is none."""
        for word in domain.draw(chance):
            node = self.node(domain.symbol, word)
            if node is not None:
                return node
        return None

    def domain(self, symbol: str) -> Domain | None:
        """What nodes of a symbol may be; None if that is no regular language."""
        if symbol in self.domains:
            return self.domains[symbol]
        if symbol not in self._free:
            language = self.languages.of(symbol)
            self._free[symbol] = None if language is None else Domain(symbol, language, spread=self.spread)
        return self._free[symbol]

    def numbers(self, tree: Tree, view: View) -> tuple[int, int | None]:
        """Limits of the numbers that a node in the place of `tree` can be."""
        assert isinstance(tree.node, Node), "only nodes are numbers"
        domain = self.domain(tree.node.symbol)
        known = None if domain is None else numbers_in(domain, view)
        return (0, None) if known is None else known

    def assigned(self, tree: Tree, view: View, operator: str, value: Any, chance: Chance) -> Node | None:
        """A node in the place of `tree`, of which `view operator value` holds; None if we know none.

        This is a proposal: it may turn out that it does not hold.
        """
        assert isinstance(tree.node, Node), "only nodes are exchanged"
        symbol = tree.node.symbol
        if operator in _PARTS and isinstance(part := plain(value), str | bytes) and len(part) > _LONGEST_PART:
            return None
        if operator != "==" or type(value) not in (int, str, bytes):
            return self._sought(tree, view, operator, value, chance)[0]
        key = (symbol, id(view), value)
        known = self._assigned.get(key)
        if known is None:
            node, is_only = self._sought(tree, view, operator, value, chance)
            if not is_only:
                return node
            if len(self._assigned) > _MOST_ASSIGNED:
                self._assigned.clear()
            known = self._assigned[key] = (view, node)
        return known[1]

    def _sought(self, tree: Tree, view: View, operator: str, value: Any, chance: Chance) -> tuple[Node | None, bool]:
        """The node, and whether it would be the same another time, with whatever tree."""
        assert isinstance(tree.node, Node), "only nodes are exchanged"
        symbol = tree.node.symbol
        if operator == "==" and view.kind is Kind.VALUE and symbol not in self.domains:
            node = self._read(symbol, plain(value))
            if node is not None:
                return node, True
        domain = self.domain(symbol)
        if domain is not None and operator == "==" and isinstance(value, int):
            known = self._bases.get((symbol, id(view)))
            if known is None:
                known = self._bases[symbol, id(view)] = (view, simple_base(domain, view))
            base = known[1]
            if base is not None:
                word = first_spelling(domain, view, base, value)
                return (None if word is None else self.node(symbol, word)), True
        limited = None if domain is None else restricted(domain, view, operator, plain(value))
        if limited is not None:
            return self.draw(limited, chance), limited.is_single
        return self._rewritten(tree, view, operator, value, chance), False

    def _rewritten(self, tree: Tree, view: View, operator: str, value: Any, chance: Chance) -> Node | None:
        """For symbols that are no regular language, or views that are no limit on one."""
        assert isinstance(tree.node, Node), "only nodes are exchanged"
        symbol = tree.node.symbol
        match view.kind, operator:
            case Kind.VALUE, "==":
                return self._read(symbol, plain(value))
            case Kind.VALUE, "in":
                options = list(value) if isinstance(value, list | tuple) else []
                return self._read(symbol, plain(chance.pick(options))) if options else None
            case Kind.NUMBER, "==" if not view.modulus:
                return self._number(tree, view, value)
            case Kind.LENGTH, "==":
                amount = inverse(view, value)
                return None if amount is None else self._of_length(tree, amount, chance)
            case Kind.ITEM | Kind.SLICE, "==":
                return self._with_part(tree, view, value)
        return None

    def counted(self, tree: Tree, symbol: str, more: int, chance: Chance) -> Node | None:
        """A node in the place of `tree` with so many more nodes of `symbol` in it, or fewer, and the rest as it is."""
        assert isinstance(tree.node, Node), "only nodes are exchanged"
        amount = sum(1 for _ in tree.find_subtrees(symbol)) + more
        if not 0 <= amount <= _LARGEST_AMOUNT:
            return None
        return self.measured(Count(symbol)).draw(tree.node.symbol, amount, chance, like=tree.node)

    def _of_length(self, tree: Tree, amount: int, chance: Chance) -> Node | None:
        assert isinstance(tree.node, Node), "only nodes are exchanged"
        if not 0 <= amount <= _LARGEST_AMOUNT:
            return None
        measured, symbol = self.measured(Length()), tree.node.symbol
        return measured.draw(symbol, amount * (8 if measured.unit(symbol) is Unit.BITS else 1), chance)

    def _number(self, tree: Tree, view: View, value: Any) -> Node | None:
        assert isinstance(tree.node, Node), "only nodes are exchanged"
        number = inverse(view, value)
        if number is None:
            return None
        try:
            size = len(bytes(tree))
        except ConversionError:
            size = 0
        for spelling in _spellings(number, view, size):
            node = self._read(tree.node.symbol, spelling)
            if node is not None:
                return node
        return None

    def _with_part(self, tree: Tree, view: View, value: Any) -> Node | None:
        """The text as it is, but for the part that the view looks at."""
        assert isinstance(tree.node, Node), "only nodes are exchanged"
        try:
            whole: Any = bytes(tree) if view.reads_as == "bytes" else str(tree)
        except ConversionError:
            return None
        if view.kind is Kind.ITEM and isinstance(value, int):
            number = inverse(view, value)
            if number is None or not 0 <= number < 256:
                return None
            value = bytes((number,)) if view.reads_as == "bytes" else chr(number)
        if type(value) is not type(whole):
            return None
        start = view.start or 0
        start = start if start >= 0 else len(whole) + start
        stop = start + 1 if view.kind is Kind.ITEM else view.stop
        rest = whole[stop:] if stop is not None else whole[:0]
        return self._read(tree.node.symbol, whole[:start] + value + rest)


def plain(value: Any) -> Any:
    """A value as it can be read: of a tree its text or bytes."""
    if isinstance(value, Tree):
        try:
            return value.serialised()
        except ConversionError:
            return value.to_int()
    return value


def _spellings(number: int, view: View, size: int) -> list[str | bytes]:
    if view.base == 256:
        sizes = dict.fromkeys((view.size or size, (number.bit_length() + 7) // 8, 1, 2, 4, 8))
        order: Any = "little" if view.layout == "little" else "big"
        return [number.to_bytes(each, order) for each in sizes if 0 <= number < 256**each]
    digits = format(number, {16: "x", 8: "o", 2: "b"}.get(view.base, "d"))
    return list(dict.fromkeys((digits, digits.upper(), digits.zfill(size), digits.upper().zfill(size))))
