"""Value symbols: the fields of messages whose values may mean something to the peer later, such as names and numbers.

A field that is said again refers to what it named before: a key that was stored, a token that was granted. Such fields
are found by their place in the grammar alone. A *value symbol* is in a message, and has many words, but no symbol
inside it has; or it consists of such symbols, and is in several messages. What a generator makes is no value, nor is
what a computed repetition counts by.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, assert_never

from palaver.grammar.fixpoints import strongly_connected_components, word_counts
from palaver.grammar.ir import tracked_selectors
from palaver.spec.ast import And, Expression, Formula, Not, Or, PythonCondition, Quantified
from palaver.spec.traversal import last_symbol

if TYPE_CHECKING:
    from palaver.grammar.analysis import Analysis

# A symbol of fewer words has values that meet by chance.
_MANY_WORDS = 17


def value_symbols(analysis: Analysis) -> tuple[str, ...]:
    """The value symbols of a grammar, in the order of the spec."""
    rules = analysis.grammar.rules
    messages = {ref.symbol for ref in analysis.messages}
    carriers = Counter(symbol for message in messages for symbol in analysis.below(message))
    counted = {last_symbol(path) for path in tracked_selectors(analysis.grammar)}
    computed = counted | {name for name, rule in rules.items() if rule.generator is not None}
    excluded = computed | messages
    excluded |= analysis.above(excluded)
    counts = word_counts(rules, _MANY_WORDS)
    large = {name for name in rules if counts[name] >= _MANY_WORDS}
    least = _least(large, analysis)
    candidates = (large & carriers.keys()) - excluded

    def is_value(name: str) -> bool:
        return name in least or (
            carriers[name] > 1 and all(child in least or child not in large for child in analysis.children[name])
        )

    return tuple(name for name in rules if name in candidates and is_value(name))


def fields_of(analysis: Analysis) -> tuple[str, ...]:
    """The symbols of many words with no other such symbol inside them."""
    rules = analysis.grammar.rules
    counts = word_counts(rules, _MANY_WORDS)
    least = _least({name for name in rules if counts[name] >= _MANY_WORDS}, analysis)
    return tuple(name for name in rules if name in least)


def _least(large: set[str], analysis: Analysis) -> set[str]:
    """The large symbols with no other large symbol inside them."""
    least: set[str] = set()
    outer: set[str] = set()  # large, or with a large symbol inside
    for component in strongly_connected_components(analysis.grammar.rules, analysis.children):
        found = [name for name in component if name in large]
        is_outer = any(child in outer for name in component for child in analysis.children[name])
        if len(found) == 1 and not is_outer:
            least.update(found)
        if found or is_outer:
            outer.update(component)
    return least


def tied_symbols(analysis: Analysis) -> Mapping[str, tuple[str, ...]]:
    """The symbols whose values a constraint compares for equality, by each of them; union-find over all comparisons."""
    group: dict[str, list[str]] = {}
    for constraint in analysis.grammar.constraints:
        for one, other in _equal_pairs(constraint.formula):
            if one in analysis.grammar.rules and other in analysis.grammar.rules:
                joined = list(dict.fromkeys([*group.get(one, [one]), *group.get(other, [other])]))
                for symbol in joined:
                    group[symbol] = joined
    return {symbol: tuple(name for name in joined if name != symbol) for symbol, joined in group.items()}


def _equal_pairs(formula: Formula) -> Iterator[tuple[str, str]]:
    """The pairs of symbols that a formula compares for equality."""
    bound: dict[str, str] = {}
    todo = [formula]
    while todo:
        match todo.pop():
            case And(parts) | Or(parts):
                todo += parts
            case Not(part):
                todo.append(part)
            case Quantified(_, variable, path, body):
                bound[variable] = last_symbol(path)
                todo.append(body)
            case PythonCondition(expression):
                for one, other in _compared(expression):
                    yield bound.get(one, one), bound.get(other, other)
            case other_formula:
                assert_never(other_formula)


def _compared(expression: Expression) -> Iterator[tuple[str, str]]:
    symbols = {mention.name: last_symbol(mention.path) for mention in expression.mentions}
    for part in ast.walk(expression.python):
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq):
            one, other = (_field(side, symbols) for side in (part.left, part.comparators[0]))
            if one is not None and other is not None and one != other:
                yield one, other


def _field(side: ast.expr, symbols: Mapping[str, str]) -> str | None:
    """The symbol that a side of a comparison is, perhaps as `str(<x>)`."""
    if isinstance(side, ast.Call) and isinstance(side.func, ast.Name) and len(side.args) == 1 and not side.keywords:
        side = side.args[0] if side.func.id in ("str", "bytes", "int") else side
    return symbols.get(side.id) if isinstance(side, ast.Name) else None
