"""Which parts of a grammar hang together because a computed repetition counts a field.

In `<n> ":" <x>{int(<n>)}` neither the number nor the repetition can change alone. What must be made anew together is a
node that is *closed*: it holds every field that its repetitions count, and every repetition that counts its fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from palaver.grammar.analyse import Analysis
from palaver.grammar.ir import Grammar, computed_bounds
from palaver.spec.ast import Child, Descendant, Path


def tracked_paths(grammar: Grammar) -> tuple[Path, ...]:
    """The paths that bounds mention, in the order of the spec."""
    bounds = (bound for rule in grammar.rules.values() for bound in computed_bounds(rule.body))
    return tuple(dict.fromkeys(mention.path for bound in bounds for mention in bound.mentions))


def last_symbol(path: Path) -> str:
    """The symbol of the nodes that a path selects, its indices aside."""
    symbols = [step.symbol for step in path.steps if isinstance(step, Child | Descendant)]
    return symbols[-1] if symbols else path.base


class Dependence:
    """What depends on what through computed bounds."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._closed: dict[tuple[str, str], bool] = {}

    @cached_property
    def _counted_in(self) -> dict[str, frozenset[str]]:
        """For each rule with computed bounds, the fields they count."""
        return {
            name: frozenset(last_symbol(mention.path) for bound in bounds for mention in bound.mentions)
            for name, rule in self._analysis.grammar.rules.items()
            if (bounds := list(computed_bounds(rule.body)))
        }

    @cached_property
    def fields(self) -> frozenset[str]:
        """The symbols that some bound counts by."""
        return frozenset(field for fields in self._counted_in.values() for field in fields)

    def to_remake(self, symbol: str, above: Iterable[str]) -> int:
        """How many levels above a changed node the node stands that must be made anew; 0 if the change stands alone.

        `above` are the symbols above it, innermost first.
        """
        if not self.fields:
            return 0
        levels = 0
        for levels, name in enumerate((symbol, *above)):
            if self._is_closed(name, symbol):
                return levels
        return levels

    def _is_closed(self, name: str, changed: str) -> bool:
        key = (name, changed)
        if key not in self._closed:
            inside = self._inside(name)
            counted = {field for rule, fields in self._counted_in.items() if rule in inside for field in fields}
            changing = self.fields & self._inside(changed)
            counting = {rule for rule, fields in self._counted_in.items() if fields & changing}
            self._closed[key] = counted <= inside and (counting & self._analysis.reachable) <= inside
        return self._closed[key]

    def _inside(self, symbol: str) -> frozenset[str]:
        return self._analysis.below(symbol) | {symbol}
