"""Graphs of symbols, and properties of symbols as fixpoints over the rules (worklist algorithm; Kildall 1973).

An item that can be empty, and a symbol that can contain nothing but itself, make inputs infinitely ambiguous: an empty
item can be repeated any number of times, and `<a> ::= <a> | "x"` can be applied any number of times. Parsing and
generation apply them no more often than needed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from functools import cache
from itertools import chain
from math import prod
from typing import TypeVar, assert_never

from palaver.regular.charset import EVERY
from palaver.regular.language import Language, Unit
from palaver.regular.regex import compile_pattern
from palaver.regular.words import Words, has_words
from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Rule, Sequence
from palaver.spec.traversal import symbols_in

# More nodes than any tree has: the size of a symbol that has no finite tree.
ENDLESS = 1 << 60

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


def users_of(rules: Mapping[str, Rule], *edges: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The symbols whose rules refer to each symbol, or that further edges lead from."""
    return backwards({name: symbols_in(rule.body) for name, rule in rules.items()}, *edges)


def generator_arguments(rule: Rule) -> tuple[str, ...]:
    """The distinct symbols a rule's generator mentions, in the order of the text."""
    if rule.generator is None:
        return ()
    return tuple(dict.fromkeys(mention.path.base for mention in rule.generator.mentions))


def _fixpoint(
    rules: Mapping[str, Rule],
    start: Value,
    value_of: Callable[[str, Mapping[str, Value]], Value],
    users: Mapping[str, list[str]],
) -> dict[str, Value]:
    """The values of all symbols that agree with each other; `value_of` must be monotone.

    Rules are revisited only when a symbol they refer to has changed, so long chains of rules cost no more than short
    ones.
    """
    found = dict.fromkeys(rules, start)
    todo = dict.fromkeys(reversed(list(rules)))  # what rules refer to mostly stands below them
    while todo:
        name = next(iter(todo))
        del todo[name]
        value = value_of(name, found)
        if value != found[name]:
            found[name] = value
            todo.update(dict.fromkeys(users.get(name, ())))
    return found


def least_sizes(rules: Mapping[str, Rule], children: Mapping[str, Iterable[str]] | None = None) -> dict[str, int]:
    """The least number of nodes below and including each symbol; `ENDLESS` if it has no finite tree.

    `children` are the symbols in each rule, if they are known already.
    """
    users = users_of(rules) if children is None else backwards(children)
    return _fixpoint(rules, ENDLESS, lambda name, sizes: min(1 + least_size(rules[name].body, sizes), ENDLESS), users)


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
        case _:
            assert_never(expr)
    return min(size, ENDLESS)


def most_occurrences(target: str, rules: Mapping[str, Rule]) -> dict[str, int]:
    """The number of nodes named `target` that a tree of each symbol can hold, sources included: 0, 1, or 2 for more."""
    arguments = {name: generator_arguments(rule) for name, rule in rules.items()}

    def count(name: str, counts: Mapping[str, int]) -> int:
        inside = _most_in(rules[name].body, counts) + sum(counts.get(symbol, 0) for symbol in arguments[name])
        return min(2, (name == target) + inside)

    return _fixpoint(rules, 0, count, users_of(rules, arguments))


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
        case _:
            assert_never(expr)


def word_counts(rules: Mapping[str, Rule], enough: int) -> dict[str, int]:
    """The number of words of each symbol, as far as it is less than `enough`; words that are derived twice count twice.

    What a generator or a computed repetition makes counts as enough.
    """

    def count(name: str, counts: Mapping[str, int]) -> int:
        return enough if rules[name].generator is not None else _words_in(rules[name].body, counts, enough)

    return _fixpoint(rules, 0, count, users_of(rules))


def _words_in(expr: Expr, counts: Mapping[str, int], enough: int) -> int:
    match expr:
        case Ref(symbol):
            return counts.get(symbol, enough)
        case Sequence(parts) | Permutation(parts):
            return min(enough, prod(_words_in(part, counts, enough) for part in parts))
        case Choice(options):
            return min(enough, sum(_words_in(option, counts, enough) for option in options))
        case Repeat(body, least, most):
            once = _words_in(body, counts, enough)
            if not isinstance(least, int) or not isinstance(most, int):
                return enough if once else 0
            return min(enough, sum(int(once**times) for times in range(least, min(most, least + enough) + 1)))
        case Pattern(source):
            return _words_of(source, enough)
        case Literal() | Bit():
            return 1
        case _:
            assert_never(expr)


@cache
def _words_of(source: str | bytes, enough: int) -> int:
    """The number of words of a pattern; `enough` if it is not plain, or they are hard to count."""
    pattern = compile_pattern(source)
    language = Language(Unit.TEXT, pattern.expression(EVERY))
    if not pattern.is_plain or has_words(language, enough):
        return enough
    return min(enough, Words(language).count(enough) or enough)


def always_inside(rules: Mapping[str, Rule]) -> dict[str, frozenset[str]]:
    """The symbols that every tree of each symbol holds, itself included, sources left out."""
    return _fixpoint(
        rules, frozenset(rules), lambda name, found: _always_in(rules[name].body, found) | {name}, users_of(rules)
    )


def _always_in(expr: Expr, found: Mapping[str, frozenset[str]]) -> frozenset[str]:
    match expr:
        case Ref(symbol):
            return found.get(symbol, frozenset())
        case Sequence(parts) | Permutation(parts):
            return frozenset().union(*(_always_in(part, found) for part in parts))
        case Choice(options):
            first, *others = (_always_in(option, found) for option in options)
            return first.intersection(*others)
        case Repeat(body, least):
            return _always_in(body, found) if isinstance(least, int) and least > 0 else frozenset()
        case Literal() | Bit() | Pattern():
            return frozenset()
        case _:
            assert_never(expr)


def nullable_symbols(rules: Mapping[str, Rule]) -> frozenset[str]:
    """The symbols that have an empty tree."""
    found: set[str] = set()
    while fresh := {name for name, rule in rules.items() if name not in found and can_be_empty(rule.body, found)}:
        found |= fresh
    return frozenset(found)


def can_be_empty(expr: Expr, nullable: Set[str]) -> bool:
    """Return True if `expr` derives the empty text, given the symbols that do."""
    match expr:
        case Literal(value):
            return not value
        case Bit():
            return False
        case Pattern(source):
            return compile_pattern(source).width[0] == 0
        case Ref(symbol):
            return symbol in nullable
        case Sequence(parts) | Permutation(parts):
            return all(can_be_empty(part, nullable) for part in parts)
        case Choice(options):
            return any(can_be_empty(option, nullable) for option in options)
        case Repeat(body, least):
            # A computed bound may turn out to be zero.
            return not isinstance(least, int) or least == 0 or can_be_empty(body, nullable)
        case _:
            assert_never(expr)


def cyclic_symbols(rules: Mapping[str, Rule], nullable: Set[str]) -> frozenset[str]:
    """The symbols that can contain themselves with nothing beside them."""
    edges = {name: tuple(dict.fromkeys(_alone(rule.body, nullable))) for name, rule in rules.items()}
    return frozenset(cyclic_components(rules, edges))


def _alone(expr: Expr, nullable: Set[str]) -> Iterator[str]:
    """The symbols that `expr` can consist of with nothing beside them."""
    match expr:
        case Ref(symbol):
            yield symbol
        case Choice(options):
            yield from chain.from_iterable(_alone(option, nullable) for option in options)
        case Sequence(parts) | Permutation(parts):
            for at, part in enumerate(parts):
                if all(can_be_empty(other, nullable) for other in (*parts[:at], *parts[at + 1 :])):
                    yield from _alone(part, nullable)
        case Repeat(body, least):
            if not isinstance(least, int) or least <= 1 or can_be_empty(body, nullable):
                yield from _alone(body, nullable)
        case Literal() | Bit() | Pattern():
            pass
        case _:
            assert_never(expr)


def reachable(start: str, *edges: Mapping[str, Iterable[str]]) -> dict[str, None]:
    """`start` and all that the edges lead to, in the order in which it is first met."""
    found: dict[str, None] = {}
    todo = [start]
    last_first = edges[::-1]
    while todo:
        symbol = todo.pop()
        if symbol not in found:
            found[symbol] = None
            for edge in last_first:
                if following := edge.get(symbol):
                    todo += [*following][::-1]
    return found


def backwards(*edges: Mapping[Name, Iterable[Name]]) -> dict[Name, list[Name]]:
    """The edges turned round."""
    found: dict[Name, list[Name]] = {}
    for edge in edges:
        for name, following in edge.items():
            for other in following:
                found.setdefault(other, []).append(name)
    return found


def leading_to(targets: Iterable[str], users: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The targets and all that lead to one, given the edges backwards."""
    everywhere = ""  # a name of its own, from which all targets are reached at once
    return frozenset(reachable(everywhere, {**users, everywhere: targets})) - {everywhere}


def cyclic_components(names: Iterable[Name], edges: Mapping[Name, Iterable[Name]]) -> dict[Name, tuple[Name, ...]]:
    """The component of each name that leads back to itself, in the order of `names`."""
    order = list(names)
    found: dict[Name, tuple[Name, ...]] = {}
    for component in strongly_connected_components(order, edges):
        if len(component) > 1 or component[0] in edges.get(component[0], ()):
            found.update(dict.fromkeys(component, tuple(component)))
    return {name: found[name] for name in order if name in found}


def strongly_connected_components(names: Iterable[Name], edges: Mapping[Name, Iterable[Name]]) -> Iterator[list[Name]]:
    """The components among `names` (Tarjan 1972), those that others lead to first; members in the order of `names`."""
    order = {name: number for number, name in enumerate(names)}
    index: dict[Name, int] = {}  # in the order in which the search meets them
    lowest: dict[Name, int] = {}  # the smallest index on the search path that each leads back to
    pending: list[Name] = []  # met, and not yet in a complete component
    is_pending: set[Name] = set()
    for start in order:
        path: list[tuple[Name, Iterator[Name]]] = []
        following = None if start in index else start
        while path or following is not None:
            if following is not None:
                index[following] = lowest[following] = len(index)
                pending.append(following)
                is_pending.add(following)
                path.append((following, iter([name for name in edges.get(following, ()) if name in order])))
            here, rest = path[-1]
            following = None
            for name in rest:
                if name not in index:
                    following = name
                    break
                if name in is_pending:
                    lowest[here] = min(lowest[here], index[name])
            if following is not None:
                continue
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[here])
            if lowest[here] == index[here]:
                component = [pending.pop()]
                while component[-1] != here:
                    component.append(pending.pop())
                is_pending.difference_update(component)
                yield sorted(component, key=order.__getitem__)
