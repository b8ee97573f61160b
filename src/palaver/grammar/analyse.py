"""What can be known about a grammar without running it.

Everything here is a fixpoint or a reachability question over rules; each answer is computed once per grammar, and all
of them are plain mappings, so later stages only look things up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from palaver.grammar.ir import Grammar, mentioned, paths_of, refs, uses_binary, walk
from palaver.grammar.mentions import users_of
from palaver.spec.ast import (
    Bit,
    Choice,
    Expr,
    Literal,
    Pattern,
    Permutation,
    Ref,
    Repeat,
    Rule,
    Sequence,
)

# More nodes than any tree has: the size of a symbol that never ends.
ENDLESS = 1 << 60


@dataclass(frozen=True)
class Analysis:
    """Answers about one grammar."""

    grammar: Grammar
    # Answers about symbols, kept once given.
    _below: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _below_or_source: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _often: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)
    _meetings: dict[tuple[str, str], bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The least number of nodes a tree of each symbol has; `ENDLESS` if there is no such tree."""
        return least_sizes(self.grammar.rules)

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """The symbols that may stand directly below each symbol, in the order of the spec."""
        rules = self.grammar.rules
        return {name: mentioned(rule.body) for name, rule in rules.items()}

    @cached_property
    def arguments(self) -> Mapping[str, tuple[str, ...]]:
        """The symbols each symbol's generator is made from."""
        return {name: generator_arguments(rule) for name, rule in self.grammar.rules.items()}

    @cached_property
    def reachable(self) -> frozenset[str]:
        """What can be reached from the start symbol, through rules and through generators."""
        return frozenset(reachable(self.grammar.start, self.children, self.arguments))

    @cached_property
    def used(self) -> frozenset[str]:
        """What can be reached from the start symbol or from `<start>`.

        Whoever starts from another symbol for once did not forget the rest.
        """
        return self.reachable | frozenset(reachable("<start>", self.children, self.arguments))

    def below(self, symbol: str) -> frozenset[str]:
        """What can stand anywhere inside a tree of `symbol`; itself only if it is recursive."""
        if symbol not in self._below:
            self._below[symbol] = _below(symbol, self.children)
        return self._below[symbol]

    def above(self, symbols: Iterable[str]) -> frozenset[str]:
        """The symbols in whose trees one of these can stand; one of them only if it can stand in another."""
        return _above(symbols, self.children)

    def above_or_made_from(self, symbols: Iterable[str]) -> frozenset[str]:
        """What is `above`, with the symbols whose generators need one of these, or what it can stand in."""
        return _above(symbols, self.children, self.arguments)

    def below_or_source(self, symbol: str) -> frozenset[str]:
        """What is `below`, with the arguments of generators, and what is inside those."""
        if symbol not in self._below_or_source:
            self._below_or_source[symbol] = _below(symbol, self.children, self.arguments)
        return self._below_or_source[symbol]

    @cached_property
    def always(self) -> frozenset[str]:
        """The symbols that stand in every tree of the start symbol, sources aside."""
        return self._held[self.grammar.start]

    def is_once_in(self, symbol: str, outer: str) -> bool:
        """Whether every node named `outer` holds, or is, exactly one of the name `symbol`, sources included."""
        return symbol in self._held[outer] and _count(symbol, self.grammar.rules, self.arguments)[outer] == 1

    def is_one_thing(self, symbol: str) -> bool:
        """Whether all nodes of that name are the same: there is nothing to choose in it, and nothing to compute."""
        rules = (self.grammar.rules[name] for name in sorted(self.below(symbol) | {symbol}))
        return all(rule.generator is None and all(map(_is_fixed, walk(rule.body))) for rule in rules)

    @cached_property
    def _held(self) -> dict[str, frozenset[str]]:
        """For each symbol those that stand in every tree of it, sources aside."""
        return _always(self.grammar.rules)

    @cached_property
    def sought(self) -> frozenset[str]:
        """The symbols that constraints and goals look for in a whole tree."""
        paths = [mention.path for goal in self.grammar.goals for mention in goal.expression.mentions]
        for constraint in self.grammar.constraints:
            paths += paths_of(constraint.formula)
        return frozenset(path.base for path in paths if path.base in self.grammar.rules)

    @cached_property
    def messages(self) -> tuple[Ref, ...]:
        """The messages that the start symbol leads to, each once, in the order of the spec."""
        found: dict[Ref, None] = {}
        for symbol in reachable(self.grammar.start, self.children):
            for ref in refs(self.grammar.rules[symbol].body):
                if ref.sender is not None:
                    found.setdefault(ref)
        return tuple(found)

    @cached_property
    def parties(self) -> tuple[str, ...]:
        """Everyone who says or is told something, in the order of the spec."""
        names = (name for ref in self.messages for name in (ref.sender, ref.recipient) if name is not None)
        return tuple(dict.fromkeys(names))

    def may_repeat(self, symbol: str) -> bool:
        """Whether a tree of the start symbol can hold more than one node of that name."""
        if symbol not in self._often:
            self._often[symbol] = _count(symbol, self.grammar.rules, self.arguments)[self.grammar.start] > 1
        return self._often[symbol]

    def can_meet(self, one: str, other: str) -> bool:
        """Whether a tree of the start symbol can hold nodes of both names."""
        pair = (one, other)
        if pair not in self._meetings:
            self._meetings[pair] = _Meeting(self, one, other).is_possible()
        return self._meetings[pair]

    @cached_property
    def is_binary(self) -> bool:
        """Whether anything the start symbol leads to is bytes or bits."""
        return uses_binary(self.grammar.bodies, self.grammar.start)


def reachable(start: str, *edges: Mapping[str, Iterable[str]]) -> dict[str, None]:
    """`start` and all that the edges lead to, in the order in which it is first met."""
    found: dict[str, None] = {}
    todo = [start]
    while todo:
        symbol = todo.pop()
        if symbol not in found:
            found[symbol] = None
            following = [name for edge in edges for name in edge.get(symbol, ())]
            todo.extend(reversed(following))
    return found


def _above(symbols: Iterable[str], *edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    parents: dict[str, list[str]] = {}
    for edge in edges:
        for name, children in edge.items():
            for child in children:
                parents.setdefault(child, []).append(name)
    everywhere = ""  # a name of its own, from which all of them are reached at once
    nearest = [parent for symbol in symbols for parent in parents.get(symbol, ())]
    return frozenset(reachable(everywhere, {**parents, everywhere: nearest})) - {everywhere}


def _below(symbol: str, *edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    found: set[str] = set()
    for edge in edges:
        for child in edge.get(symbol, ()):
            if child not in found:
                found.update(reachable(child, *edges))
    return frozenset(found)


def generator_arguments(rule: Rule) -> tuple[str, ...]:
    """The distinct symbols a rule's generator mentions, in the order of the text."""
    if rule.generator is None:
        return ()
    return tuple(dict.fromkeys(mention.path.base for mention in rule.generator.mentions))


def least_sizes(rules: Mapping[str, Rule]) -> dict[str, int]:
    """The least number of nodes below and including each symbol.

    Rules are revisited only when something they mention became smaller, so long chains of rules cost no more than
    short ones.
    """
    users = users_of(rules)
    sizes = dict.fromkeys(rules, ENDLESS)
    todo = dict.fromkeys(rules)
    while todo:
        name = next(iter(todo))
        del todo[name]
        size = 1 + least_size(rules[name].body, sizes)
        if size < sizes[name]:
            sizes[name] = size
            todo.update(dict.fromkeys(users.get(name, ())))
    return sizes


def least_size(expr: Expr, sizes: Mapping[str, int]) -> int:
    """The least number of nodes that `expr` expands to, at most `ENDLESS`."""
    match expr:
        case Ref(symbol):
            size = sizes.get(symbol, 1)
        case Sequence(parts) | Permutation(parts):
            size = sum(least_size(part, sizes) for part in parts)
        case Choice(options):
            size = min(least_size(option, sizes) for option in options)
        case Repeat(body, least):
            # A computed bound may turn out to be zero.
            size = least * least_size(body, sizes) if isinstance(least, int) and least else 0
        case Literal() | Bit() | Pattern():
            size = 1
    return min(size, ENDLESS)


def _count(target: str, rules: Mapping[str, Rule], arguments: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """How many nodes named `target` a tree of each symbol can hold: 0, 1, or 2 for "several"."""
    counts = dict.fromkeys(rules, 0)
    changed = True
    while changed:
        changed = False
        for name, rule in rules.items():
            inside = _most_in(rule.body, counts) + sum(counts.get(symbol, 0) for symbol in arguments[name])
            count = min(2, (name == target) + inside)
            if count > counts[name]:
                counts[name], changed = count, True
    return counts


def _most_in(expr: Expr, counts: Mapping[str, int]) -> int:
    match expr:
        case Ref(symbol):
            return counts.get(symbol, 0)
        case Sequence(parts) | Permutation(parts):
            return min(2, sum(_most_in(part, counts) for part in parts))
        case Choice(options):
            return max(_most_in(option, counts) for option in options)
        case Repeat(body, _, most):
            once = _most_in(body, counts)
            return once if most in (0, 1) else 2 * once
        case Literal() | Bit() | Pattern():
            return 0


def _is_fixed(expr: Expr) -> bool:
    match expr:
        case Repeat(_, int(least), most):
            return least == most
        case _:
            return isinstance(expr, Literal | Bit | Sequence | Ref)


def _always(rules: Mapping[str, Rule]) -> dict[str, frozenset[str]]:
    """For each symbol, what every tree of it holds, itself included.

    At first that is everything. Each round takes away what a rule can do without, until nothing more can be taken.
    """
    users = users_of(rules)
    everything = frozenset(rules)
    found = dict.fromkeys(rules, everything)
    todo = dict.fromkeys(rules)
    while todo:
        name = next(iter(todo))
        del todo[name]
        held = _always_in(rules[name].body, found) | {name}
        if held != found[name]:
            found[name] = held
            todo.update(dict.fromkeys(users.get(name, ())))
    return found


def _always_in(expr: Expr, found: Mapping[str, frozenset[str]]) -> frozenset[str]:
    match expr:
        case Ref(symbol):
            return found.get(symbol, frozenset())
        case Sequence(parts) | Permutation(parts):
            return frozenset().union(*(_always_in(part, found) for part in parts))
        case Choice(options):
            first, *others = (_always_in(option, found) for option in options)
            return first.intersection(*others)
        case Repeat(body, int(least)) if least > 0:
            return _always_in(body, found)
        case _:
            return frozenset()


class _Meeting:
    """Whether two different symbols can occur in one tree.

    They can below one another, and in two parts that stand side by side.
    """

    def __init__(self, analysis: Analysis, one: str, other: str) -> None:
        self._analysis = analysis
        self._pair = (one, other)
        self._meet: set[str] = set()

    def is_possible(self) -> bool:
        rules = self._analysis.grammar.rules
        fresh = True
        while fresh:
            found = [name for name in rules if name not in self._meet and self._meet_below(name)]
            self._meet.update(found)
            fresh = bool(found)
        return self._analysis.grammar.start in self._meet

    def _meet_below(self, name: str) -> bool:
        one, other = self._pair
        if name in self._pair and (other if name == one else one) in self._analysis.below_or_source(name):
            return True
        sources = tuple(Ref(symbol) for symbol in self._analysis.arguments[name])
        return self._meet_in_sequence((self._analysis.grammar.rules[name].body, *sources))

    def _meet_in(self, expr: Expr) -> bool:
        match expr:
            case Ref(symbol):
                return symbol in self._meet
            case Sequence(parts) | Permutation(parts):
                return self._meet_in_sequence(parts)
            case Choice(options):
                return any(map(self._meet_in, options))
            case Repeat(body, _, most):
                return self._meet_in(body) if most in (0, 1) else self._meet_in_sequence((body, body))
            case _:
                return False

    def _meet_in_sequence(self, parts: tuple[Expr, ...]) -> bool:
        if any(map(self._meet_in, parts)):
            return True
        one, other = self._pair
        places = [at for at, part in enumerate(parts) if self._leads_to(part, one)]
        others = [at for at, part in enumerate(parts) if self._leads_to(part, other)]
        return any(at != there for at in places for there in others)

    def _leads_to(self, expr: Expr, symbol: str) -> bool:
        below = self._analysis.below_or_source
        return any(ref.symbol == symbol or symbol in below(ref.symbol) for ref in refs(expr))
