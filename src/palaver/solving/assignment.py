"""Assignment of values to fields: a node of `<len>`, say, for which `int(<len>) == 17` holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from palaver.errors import ConversionError
from palaver.generation.measured_derivations import Count, Length, Measure, MeasuredDerivations
from palaver.grammar.symbol_languages import Languages
from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.regular.language import Unit
from palaver.solving.decoded_words import DecodedWords
from palaver.solving.domains import Domain
from palaver.solving.invertible_views import View, ViewKind
from palaver.solving.placement import node_of
from palaver.solving.restrict import restricted
from palaver.solving.solving_limits import MAX_AFFIX_LENGTH, MAX_AMOUNT, MAX_CACHED_ASSIGNMENTS, MAX_DECODED_WORDS
from palaver.solving.spelling import Speller
from palaver.solving.view_values import first_spelling, inverse, numbers_in, simple_base
from palaver.trees.node import Node, NonTerminal
from palaver.trees.tree import Tree

# The operators that make a text part of a field.
_PARTS = ("startswith", "endswith", "contains")


@dataclass(frozen=True)
class Assigner:
    """Makes nodes of one grammar with the values that equations require.

    `read` reads a value as a symbol, `read_bits` a string of 0 and 1; `measured` makes derivations of a given length or
    count.
    """

    languages: Languages
    speller: Speller
    domains: Mapping[str, Domain]
    read: Callable[[str, Any], Node | None]
    read_bits: Callable[[str, str], Node | None]
    measured: Callable[[Measure], MeasuredDerivations]
    spread: int  # the growth of unbounded fields beyond their minimum
    _free: dict[str, Domain | None] = field(default_factory=dict, repr=False)
    # Caches by symbol and view. Views are compared by identity, and kept with the answers: to hash one takes as long as
    # many an answer.
    _bases: dict[tuple[str, int], tuple[View, int | None]] = field(default_factory=dict, repr=False)
    # Many equations require the same few numbers again and again.
    _assigned: dict[tuple[str, int, Any], tuple[View, Node | None]] = field(default_factory=dict, repr=False)
    _decoded: dict[tuple[str, int], tuple[View, DecodedWords]] = field(default_factory=dict, repr=False)

    def node(self, symbol: str, word: str) -> Node | None:
        """The node of a word of the symbol's language."""
        language = self.languages.of(symbol)
        assert language is not None, "a word belongs to a language"
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
            assert language is not None, "a symbol that can be spelled is regular"
            if isinstance(value, bytes) and language.unit is Unit.BYTES:
                return self.speller.node(symbol, value.decode("latin-1"))
            if isinstance(value, str) and language.unit is Unit.TEXT:
                return self.speller.node(symbol, value)
        return self.read(symbol, value)

    def draw(self, domain: Domain, chance: RandomSource) -> Node | None:
        """A node from a domain; None if there is none."""
        for word in domain.draw(chance):
            node = self.node(domain.symbol, word)
            if node is not None:
                return node
        return None

    def domain(self, symbol: str) -> Domain | None:
        """The domain of a symbol; None if it is no regular language."""
        if symbol in self.domains:
            return self.domains[symbol]
        if symbol not in self._free:
            language = self.languages.of(symbol)
            self._free[symbol] = None if language is None else Domain(symbol, language, spread=self.spread)
        return self._free[symbol]

    def numbers(self, tree: Tree, view: View) -> tuple[int, int | None]:
        """The bounds of the numbers that a node in the place of `tree` can be."""
        domain = self.domain(node_of(tree).symbol)
        known = None if domain is None else numbers_in(domain, view)
        return (0, None) if known is None else known

    def assigned(self, tree: Tree, view: View, operator: str, value: Any, chance: RandomSource) -> Node | None:
        """A node in the place of `tree`, for which `view operator value` should hold; None if none is known."""
        symbol = node_of(tree).symbol
        if operator in _PARTS and isinstance(part := plain(value), str | bytes) and len(part) > MAX_AFFIX_LENGTH:
            return None
        if operator != "==" or type(value) not in (int, str, bytes):
            return self._sought(tree, symbol, view, operator, value, chance)[0]
        key = (symbol, id(view), value)
        known = self._assigned.get(key)
        if known is None:
            node, is_only = self._sought(tree, symbol, view, operator, value, chance)
            if not is_only:
                return node
            if len(self._assigned) > MAX_CACHED_ASSIGNMENTS:
                self._assigned.clear()
            known = self._assigned[key] = (view, node)
        return known[1]

    def _sought(
        self, tree: Tree, symbol: str, view: View, operator: str, value: Any, chance: RandomSource
    ) -> tuple[Node | None, bool]:
        """The node of a symbol, and True if it would be the same another time, with any tree."""
        if operator == "==" and view.kind is ViewKind.VALUE and symbol not in self.domains:
            node = self._read(symbol, plain(value))
            if node is not None:
                return node, True
        domain = self.domain(symbol)
        if domain is not None and view.kind is ViewKind.DECODED:
            return self._encoded(tree, domain, view, value, chance), False
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

    def _encoded(self, tree: Tree, domain: Domain, view: View, value: Any, chance: RandomSource) -> Node | None:
        """A node that a function of the spec decodes to this number, of the length of `tree` if there is one."""
        key = (domain.symbol, id(view))
        if key not in self._decoded:
            assert view.function is not None, "a function decodes"
            nodes = (self.node(domain.symbol, word) for word in domain.each(MAX_DECODED_WORDS))
            self._decoded[key] = (view, DecodedWords(nodes, view.function, view.reads_as))
        number = inverse(view, value)
        found = [] if number is None else self._decoded[key][1].of(number)
        alike = [node for node in found if _size(Tree(node)) == _size(tree)]
        return chance.pick(alike or found) if found else None

    def _rewritten(self, tree: Tree, view: View, operator: str, value: Any, chance: RandomSource) -> Node | None:
        """The node for a symbol that is no regular language, or a view that does not restrict one."""
        symbol = node_of(tree).symbol
        match view.kind, operator:
            case ViewKind.VALUE, "==":
                return self._read(symbol, plain(value))
            case ViewKind.VALUE, "in":
                options = list(value) if isinstance(value, list | tuple) else []
                return self._read(symbol, plain(chance.pick(options))) if options else None
            case ViewKind.NUMBER, "==" if not view.modulus:
                return self._number(tree, view, value)
            case ViewKind.LENGTH, "==":
                amount = inverse(view, value)
                return None if amount is None else self._of_length(tree, amount, chance)
            case ViewKind.ITEM | ViewKind.SLICE, "==":
                return self._with_part(tree, view, value)
        return None

    def counted(self, tree: Tree, symbol: str, more: int, chance: RandomSource) -> Node | None:
        """A node in the place of `tree` with `more` nodes of `symbol` in it, or fewer, and the rest as it is."""
        amount, node = sum(1 for _ in tree.find_subtrees(symbol)) + more, node_of(tree)
        return self.measured(Count(symbol)).draw(node.symbol, amount, chance, like=node) if _is_built(amount) else None

    def _of_length(self, tree: Tree, amount: int, chance: RandomSource) -> Node | None:
        if not _is_built(amount):
            return None
        measured, symbol = self.measured(Length()), node_of(tree).symbol
        return measured.draw(symbol, amount * (8 if measured.unit(symbol) is Unit.BITS else 1), chance)

    def _number(self, tree: Tree, view: View, value: Any) -> Node | None:
        number = inverse(view, value)
        if number is None:
            return None
        nodes = (self._read(node_of(tree).symbol, spelling) for spelling in _spellings(number, view, _size(tree)))
        return next((node for node in nodes if node is not None), None)

    def _with_part(self, tree: Tree, view: View, value: Any) -> Node | None:
        """The node with the part of its text exchanged that the view looks at."""
        try:
            whole: Any = bytes(tree) if view.reads_as == "bytes" else str(tree)
        except ConversionError:
            return None
        if view.kind is ViewKind.ITEM and isinstance(value, int):
            number = inverse(view, value)
            if number is None or not 0 <= number < 256:
                return None
            value = bytes((number,)) if view.reads_as == "bytes" else chr(number)
        if type(value) is not type(whole):
            return None
        start = view.start or 0
        start = start if start >= 0 else len(whole) + start
        stop = start + 1 if view.kind is ViewKind.ITEM else view.stop
        rest = whole[stop:] if stop is not None else whole[:0]
        return self._read(node_of(tree).symbol, whole[:start] + value + rest)


def _size(tree: Tree) -> int:
    """The number of bytes of a tree; 0 if its bits fill no whole bytes."""
    try:
        return len(bytes(tree))
    except ConversionError:
        return 0


def _is_built(amount: int) -> bool:
    """True if a derivation of this length or count is built."""
    if amount > MAX_AMOUNT:
        MAX_AMOUNT.reached()
    return 0 <= amount <= MAX_AMOUNT


def plain(value: Any) -> Any:
    """A value that can be read as a symbol: of a tree its text or bytes."""
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
