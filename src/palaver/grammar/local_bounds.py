"""Computed repetitions whose field always stands before them in the same rule.

In `<answer> ::= <len> <byte>{int(<len>)}` the repetition counts by the `<len>` of its own rule and by no other, however
many there are elsewhere. So another `<len>` may change without regard to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from palaver.grammar.fixpoints import always_inside
from palaver.spec.ast import Child, Choice, Expr, Expression, Ref, Repeat, Rule, Selector
from palaver.spec.ast import Sequence as Parts
from palaver.spec.traversal import computed_bounds, last_symbol, refs


class LocalBounds:
    """Tells which rules count only by fields of their own."""

    def __init__(self, rules: Mapping[str, Rule], below: Callable[[str], frozenset[str]]) -> None:
        self._rules = rules
        self._below = below
        self._always = always_inside(rules)

    def fields(self, rule: Rule) -> frozenset[str]:
        """The fields that the repetitions of a rule count by, if all of them are its own; else nothing."""
        bounds = dict.fromkeys(bound for bound in computed_bounds(rule.body) if bound.mentions)
        is_local = all(self._is_local(rule, bound, _flat(option)) for bound in bounds for option in _options(rule.body))
        return frozenset(last_symbol(bound.mentions[0].path) for bound in bounds) if is_local else frozenset()

    def _is_local(self, rule: Rule, bound: Expression, parts: Sequence[Expr]) -> bool:
        field = last_symbol(bound.mentions[0].path)
        counting = [at for at, part in enumerate(parts) if bound in computed_bounds(part)]
        if not counting:
            return True
        if any(self._can_hold(field, part) for part in parts[counting[0] :]):
            # A field in what is repeated comes too late, if the bound is not asked for again.
            first = parts[counting[0]]
            is_once = isinstance(first, Repeat) and bound not in computed_bounds(first.body)
            if len(counting) > 1 or not is_once:
                return False
        before = [part for part in parts[: counting[0]] if self._can_hold(field, part)]
        if not before or self._can_hold(rule.symbol, before[-1]):
            return False
        return self._is_in(bound.mentions[0].path, before[-1])

    def _is_in(self, path: Selector, part: Expr) -> bool:
        """Return True if a part always has a node that the path selects."""
        if not isinstance(part, Ref):
            return False
        if not path.steps:
            return path.base in self._always.get(part.symbol, ())
        way = [path.base, *(step.symbol for step in path.steps if isinstance(step, Child))]
        return part.symbol == path.base and len(way) == len(path.steps) + 1 and self._is_certain(way)

    def _is_certain(self, way: Sequence[str]) -> bool:
        """Return True if each symbol always holds the next one as a part, and no other field."""
        return all(
            symbol in self._rules
            and all(self._holds_only(inner, way[-1], _flat(option)) for option in _options(self._rules[symbol].body))
            for symbol, inner in pairwise(way)
        )

    def _holds_only(self, symbol: str, field: str, parts: Sequence[Expr]) -> bool:
        places = [at for at, part in enumerate(parts) if isinstance(part, Ref) and part.symbol == symbol]
        others = (part for at, part in enumerate(parts) if at not in places)
        return len(places) == 1 and not any(self._can_hold(field, part) for part in others)

    def _can_hold(self, symbol: str, part: Expr) -> bool:
        return any(ref.symbol == symbol or symbol in self._below(ref.symbol) for ref in refs(part))


def _options(body: Expr) -> list[Expr]:
    return [option for each in body.options for option in _options(each)] if isinstance(body, Choice) else [body]


def _flat(option: Expr) -> list[Expr]:
    return [part for each in option.parts for part in _flat(each)] if isinstance(option, Parts) else [option]
