"""Static analysis of a grammar: reachability, least sizes, occurrences and co-occurrence of symbols.

Each answer is computed once per grammar, most of them as fixpoints over the rules (`fixpoints`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from itertools import islice
from typing import assert_never

from palaver.grammar.fixpoints import (
    always_inside,
    backwards,
    can_be_empty,
    cyclic_components,
    cyclic_symbols,
    generator_arguments,
    leading_to,
    least_size,
    least_sizes,
    most_occurrences,
    nullable_symbols,
    reachable,
    strongly_connected_components,
    users_of,
)
from palaver.grammar.ir import Grammar, uses_binary
from palaver.grammar.local_bounds import LocalBounds
from palaver.grammar.value_symbols import fields_of, tied_symbols, value_symbols
from palaver.lean_dataclasses import dataclass
from palaver.spec.ast import (
    Bit,
    Choice,
    Descendant,
    Expr,
    Expression,
    Literal,
    Pattern,
    Permutation,
    Ref,
    Repeat,
    Selector,
    Sequence,
)
from palaver.spec.traversal import bounds_among, last_symbol, refs, selectors_of, steps_behind, walk

__all__ = [
    "Analysis", "BoundDependence", "backwards", "can_be_empty", "cyclic_components", "cyclic_symbols",
    "generator_arguments", "leading_to", "least_size", "least_sizes", "nullable_symbols", "reachable",
    "strongly_connected_components", "users_of",
]  # fmt: skip


@dataclass(frozen=True)
class Analysis:
    """Answers about one grammar."""

    grammar: Grammar
    # Answers about symbols, cached.
    _below: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _below_or_source: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _repeats: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    _pairs: dict[tuple[str, str], bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The least number of nodes a tree of each symbol has; `ENDLESS` if there is no such tree."""
        return least_sizes(self.grammar.rules, self.children)

    @cached_property
    def parts(self) -> Mapping[str, list[Expr]]:
        """Everything inside the rule of each symbol."""
        return {name: walk(rule.body) for name, rule in self.grammar.rules.items()}

    @cached_property
    def refs(self) -> Mapping[str, list[Ref]]:
        """The references in the rule of each symbol."""
        return {name: [part for part in parts if isinstance(part, Ref)] for name, parts in self.parts.items()}

    @cached_property
    def computed_bounds(self) -> Mapping[str, list[Expression]]:
        """The bounds that are Python expressions, of the rules that have any."""
        return {name: bounds for name, parts in self.parts.items() if (bounds := bounds_among(parts))}

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """The symbols that may stand directly below each symbol, in the order of the spec."""
        return {name: tuple(dict.fromkeys([ref.symbol for ref in found])) for name, found in self.refs.items()}

    @cached_property
    def holding_messages(self) -> frozenset[str]:
        """The symbols in whose rules, or below them, there are messages."""
        direct = [name for name, found in self.refs.items() if any(ref.sender is not None for ref in found)]
        return leading_to(direct, backwards(self.children))

    @cached_property
    def arguments(self) -> Mapping[str, tuple[str, ...]]:
        """The symbols each symbol's generator is made from."""
        return {name: generator_arguments(rule) for name, rule in self.grammar.rules.items()}

    @cached_property
    def reachable(self) -> frozenset[str]:
        """The symbols that the start symbol leads to, through rules and through generators."""
        return frozenset(reachable(self.grammar.start, self.children, self.arguments))

    @cached_property
    def used(self) -> frozenset[str]:
        """The symbols that the start symbol or `<start>` leads to: another start does not make the rest useless."""
        return self.reachable | frozenset(reachable("<start>", self.children, self.arguments))

    @cached_property
    def noted_messages(self) -> Mapping[str, tuple[str, ...]]:
        """The messages that only rules with a note lead to, each with those rules."""
        found: dict[str, tuple[str, ...]] = {}
        messages = {message.symbol for message in self.messages}
        for noted in self.grammar.noted:
            others = {name: [each for each in below if each != noted] for name, below in self.children.items()}
            elsewhere = reachable(self.grammar.start, others)
            for name in messages.intersection(reachable(noted, self.children)):
                if name not in elsewhere:
                    found[name] = (*found.get(name, ()), noted)
        return found

    def below(self, symbol: str) -> frozenset[str]:
        """The symbols that can occur inside a tree of `symbol`; itself only if it is recursive."""
        if symbol not in self._below:
            self._below[symbol] = _below(symbol, self.children)
        return self._below[symbol]

    def is_shallow(self, symbol: str, most: int) -> bool:
        """True if every tree of a symbol has at most a certain depth for sure: it is small, and not recursive."""
        inside = (symbol, *self.below_including_sources(symbol))
        parts = (part for name in inside for part in self.parts[name])
        if next(islice(parts, most, None), None) is not None:
            return False
        return not any(name in self.below_including_sources(name) for name in inside)

    def above(self, symbols: Iterable[str]) -> frozenset[str]:
        """The symbols in whose trees one of these can occur; one of them only if it can occur in another."""
        return _above(symbols, self.children)

    def above_including_sources(self, symbols: Iterable[str]) -> frozenset[str]:
        """The symbols `above`, following also the arguments of generators."""
        return _above(symbols, self.children, self.arguments)

    def below_including_sources(self, symbol: str) -> frozenset[str]:
        """The symbols `below`, following also the arguments of generators."""
        if symbol not in self._below_or_source:
            self._below_or_source[symbol] = _below(symbol, self.children, self.arguments)
        return self._below_or_source[symbol]

    @cached_property
    def always(self) -> frozenset[str]:
        """The symbols that occur in every tree of the start symbol, sources left out."""
        return self._held[self.grammar.start]

    def occurs_once_in(self, symbol: str, outer: str) -> bool:
        """Return True if every node named `outer` holds, or is, exactly one node `symbol`, sources included."""
        return symbol in self._held[outer] and most_occurrences(symbol, self.grammar.rules)[outer] == 1

    def is_one_thing(self, symbol: str) -> bool:
        """Return True if all nodes of that name are equal: nothing in them is chosen or computed."""
        names, rules = self.below(symbol) | {symbol}, self.grammar.rules
        return all(rules[name].generator is None and all(map(_is_fixed, self.parts[name])) for name in names)

    @cached_property
    def _held(self) -> dict[str, frozenset[str]]:
        return always_inside(self.grammar.rules)

    @cached_property
    def sought(self) -> frozenset[str]:
        """The symbols that constraints and objectives look for in a whole tree."""
        return frozenset(path.base for path in self._selectors if path.base in self.grammar.rules)

    @cached_property
    def sought_inside(self) -> Mapping[str, frozenset[str]]:
        """The symbols that constraints and objectives look for anywhere below a node, by the name before the `..`."""
        found: dict[str, set[str]] = {}
        for path in self._selectors:
            for name, step in steps_behind(path):
                if isinstance(step, Descendant):
                    found.setdefault(name, set()).add(step.symbol)
        return {name: frozenset(symbols) for name, symbols in found.items()}

    @cached_property
    def _selectors(self) -> tuple[Selector, ...]:
        paths = [mention.path for objective in self.grammar.objectives for mention in objective.expression.mentions]
        for constraint in self.grammar.constraints:
            paths += selectors_of(constraint.formula)
        return tuple(paths)

    @cached_property
    def messages(self) -> tuple[Ref, ...]:
        """The messages that the start symbol leads to, each once, in the order of the spec."""
        found: dict[Ref, None] = {}
        for symbol in reachable(self.grammar.start, self.children):
            for ref in self.refs[symbol]:
                if ref.sender is not None:
                    found.setdefault(ref)
        return tuple(found)

    @cached_property
    def parties(self) -> tuple[str, ...]:
        """The senders and recipients of messages, in the order of the spec."""
        return _parties_in(self.messages)

    @cached_property
    def all_parties(self) -> tuple[str, ...]:
        """The same for all rules, also those that the start symbol does not lead to."""
        return _parties_in(ref for found in self.refs.values() for ref in found)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The symbols of many words with no other such symbol inside, in the order of the spec."""
        return fields_of(self)

    @cached_property
    def value_symbols(self) -> tuple[str, ...]:
        """The fields of messages whose values may be worth repeating, in the order of the spec."""
        return value_symbols(self)

    @cached_property
    def tied_symbols(self) -> Mapping[str, tuple[str, ...]]:
        """By each symbol, the others with which constraints compare it for equality."""
        return tied_symbols(self)

    def may_repeat(self, symbol: str) -> bool:
        """Return True if a tree of the start symbol can hold more than one node of that name."""
        if symbol not in self._repeats:
            self._repeats[symbol] = most_occurrences(symbol, self.grammar.rules)[self.grammar.start] > 1
        return self._repeats[symbol]

    def can_cooccur(self, one: str, other: str) -> bool:
        """Return True if a tree of the start symbol can hold nodes of both names."""
        pair = (one, other)
        if pair not in self._pairs:
            self._pairs[pair] = _CoOccurrence(self, one, other).is_possible()
        return self._pairs[pair]

    @cached_property
    def is_binary(self) -> bool:
        """Return True if a tree of the start symbol may hold bytes or bits."""
        return uses_binary(self.grammar.bodies, self.grammar.start)


def _above(symbols: Iterable[str], *edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    parents = backwards(*edges)
    return leading_to([parent for symbol in symbols for parent in parents.get(symbol, ())], parents)


def _below(symbol: str, *edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    found: set[str] = set()
    for edge in edges:
        for child in edge.get(symbol, ()):
            if child not in found:
                found.update(reachable(child, *edges))
    return frozenset(found)


def _is_fixed(expr: Expr) -> bool:
    """Return True if `expr` has nothing to choose in itself; its parts may have."""
    match expr:
        case Repeat(_, least, most):
            return isinstance(least, int) and least == most
        case Literal() | Bit() | Sequence() | Ref():
            return True
        case Choice() | Permutation() | Pattern():
            return False
        case _:
            assert_never(expr)


class _CoOccurrence:
    """Decides if two different symbols can occur in one tree: below one another, or in two parts side by side."""

    def __init__(self, analysis: Analysis, one: str, other: str) -> None:
        self._analysis = analysis
        self._pair = (one, other)
        self._found: set[str] = set()

    def is_possible(self) -> bool:
        rules = self._analysis.grammar.rules
        fresh = True
        while fresh:
            found = [name for name in rules if name not in self._found and self._occur_below(name)]
            self._found.update(found)
            fresh = bool(found)
        return self._analysis.grammar.start in self._found

    def _occur_below(self, name: str) -> bool:
        one, other = self._pair
        if name in self._pair and (other if name == one else one) in self._analysis.below_including_sources(name):
            return True
        sources = tuple(Ref(symbol) for symbol in self._analysis.arguments[name])
        return self._occur_in_sequence((self._analysis.grammar.rules[name].body, *sources))

    def _occur_in(self, expr: Expr) -> bool:
        match expr:
            case Ref(symbol):
                return symbol in self._found
            case Sequence(parts) | Permutation(parts):
                return self._occur_in_sequence(parts)
            case Choice(options):
                return any(map(self._occur_in, options))
            case Repeat(body, _, most):
                return self._occur_in(body) if most in (0, 1) else self._occur_in_sequence((body, body))
            case Literal() | Bit() | Pattern():
                return False
            case _:
                assert_never(expr)

    def _occur_in_sequence(self, parts: tuple[Expr, ...]) -> bool:
        if any(map(self._occur_in, parts)):
            return True
        one, other = self._pair
        places = [at for at, part in enumerate(parts) if self._leads_to(part, one)]
        others = [at for at, part in enumerate(parts) if self._leads_to(part, other)]
        return any(at != there for at in places for there in others)

    def _leads_to(self, expr: Expr, symbol: str) -> bool:
        below = self._analysis.below_including_sources
        return any(ref.symbol == symbol or symbol in below(ref.symbol) for ref in refs(expr))


class BoundDependence:
    """The parts of a grammar that must change together because a computed repetition counts a field.

    In `<n> ":" <x>{int(<n>)}` neither the number nor the repetition can change alone. The node that must be remade is
    *closed*: it holds every field that its repetitions count, and every repetition that counts its fields.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._closed: dict[tuple[str, str, str | None], bool] = {}

    @cached_property
    def _counted_in(self) -> dict[str, frozenset[str]]:
        """The fields that the computed bounds of each rule count, unless they are parts of the same node."""
        return {
            name: frozenset(last_symbol(mention.path) for bound in bounds for mention in bound.mentions)
            for name, bounds in self._analysis.computed_bounds.items()
            if name not in self._local_fields
        }

    @cached_property
    def _local_fields(self) -> dict[str, frozenset[str]]:
        """The fields that the bounds of rules count, where they are always inside of the same node."""
        rules = self._analysis.grammar.rules
        counting = [rules[name] for name in self._analysis.computed_bounds]
        local = LocalBounds(rules, self._analysis.below) if counting else None
        return {rule.symbol: fields for rule in counting if local is not None and (fields := local.fields(rule))}

    @cached_property
    def fields(self) -> frozenset[str]:
        """The symbols that some bound counts by."""
        counted = (*self._counted_in.values(), *self._local_fields.values())
        return frozenset(field for fields in counted for field in fields)

    def levels_to_remake(self, symbol: str, above: Iterable[str], *, is_all: bool = True) -> int:
        """The levels from a changed node up to the one to be remade; 0: it stands alone. `above`: innermost first.

        If what is above is not all, then nothing outside of it counts, nor is counted.
        """
        if not self.fields:
            return 0
        symbols = (symbol, *above)
        least = levels = self._levels_to_local(symbols)
        for levels, name in enumerate(symbols[least:], start=least):
            if self._is_closed(name, symbol, None if is_all else symbols[-1]):
                return levels
        return levels

    def _levels_to_local(self, symbols: tuple[str, ...]) -> int:
        """The levels from the first symbol up to the node that counts by a field in it, if such a rule is above."""
        inside = self._inside(symbols[0])
        counting = (name for name, fields in self._local_fields.items() if name in symbols[1:] and fields & inside)
        return max((symbols.index(name, 1) for name in counting), default=0)

    def _is_closed(self, name: str, changed: str, within: str | None) -> bool:
        key = (name, changed, within)
        if key not in self._closed:
            inside = self._inside(name)
            counted = {field for rule, fields in self._counted_in.items() if rule in inside for field in fields}
            changing = self._inside(changed)
            counting = {rule for rule, fields in self._counted_in.items() if fields & changing}
            if within is not None:
                counted &= self._inside(within)
                counting &= self._inside(within)
            self._closed[key] = counted <= inside and (counting & self._analysis.reachable) <= inside
        return self._closed[key]

    def _inside(self, symbol: str) -> frozenset[str]:
        return self._analysis.below(symbol) | {symbol}


def _parties_in(messages: Iterable[Ref]) -> tuple[str, ...]:
    names = (name for ref in messages for name in (ref.sender, ref.recipient) if name is not None)
    return tuple(dict.fromkeys(names))
