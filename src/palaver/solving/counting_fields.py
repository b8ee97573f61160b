"""Fields that computed repetitions count by, limited to numbers that can be made: node consistency (Mackworth 1977).

Of the numbers that a field of 32 bits can hold, hardly one is a number of items that a tree may have. So where a field
may ask for too many, its domain is limited, as if the bound were compared with a constant. That is a preference: only
fresh nodes are drawn from that domain, and what a constraint asks for is written as before.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from palaver.generation.generation_limits import MAX_COMPUTED_COUNT
from palaver.grammar.analysis import Analysis
from palaver.lean_dataclasses import replace
from palaver.solving.domains import Domain
from palaver.solving.invertible_views import Relation, View, ViewReader
from palaver.solving.restrict import restricted
from palaver.spec.ast import Child, Expression
from palaver.spec.traversal import computed_bounds, last_symbol


def counting_domains(
    analysis: Analysis, reader: ViewReader, domain_of: Callable[[str], Domain | None], usual: int
) -> dict[str, Domain]:
    """The domains of fields that may ask for too many items: with at most `usual` of them, or as many as can be made.

    `domain_of` tells the domain of a symbol as constraints leave it; None if its language is not regular.
    """
    found: dict[str, Domain] = {}
    for bound in _bounds(analysis):
        path = bound.mentions[0].path
        symbol = last_symbol(path)
        domain = found.get(symbol) or domain_of(symbol)
        relation = _relation(bound, reader)
        if domain is None or relation is None or not all(isinstance(step, Child) for step in path.steps):
            continue
        too_many = restricted(domain, relation.view, ">", int(MAX_COMPUTED_COUNT))
        if too_many is not None and too_many.is_empty:
            continue
        for most in (usual, int(MAX_COMPUTED_COUNT)):
            limited = _at_most(domain, relation.view, most)
            if limited is not None and not limited.is_empty and not limited.is_hopeless:
                found[symbol] = limited
                break
    return found


def _at_most(domain: Domain, view: View, most: int) -> Domain | None:
    """The part of a domain with numbers from 0 up to one; None if that cannot be told."""
    limited = restricted(domain, view, "<=", most)
    if limited is not None:
        return limited
    # Of numbers with the least significant byte first, no range is a limit, but each number is a word.
    exact = [restricted(domain, view, "==", number) for number in range(most + 1)]
    words = [word for each in exact if each is not None for word in each.words or ()]
    return domain.one_of(words, is_exact=False) if words else None


def _bounds(analysis: Analysis) -> Iterator[Expression]:
    """The bounds that count by a field, each once."""
    bounds = (
        bound
        for symbol, rule in analysis.grammar.rules.items()
        if symbol in analysis.reachable
        for bound in computed_bounds(rule.body)
    )
    return (bound for bound in dict.fromkeys(bounds) if bound.mentions)


def _relation(bound: Expression, reader: ViewReader) -> Relation | None:
    """The bound compared with a constant, as a relation between that and a view of the field."""
    compared = ast.Compare(bound.python, [ast.LtE()], [ast.Constant(0)])
    condition = replace(bound, text=f"{bound.text} as a count", python=compared)
    return next(iter(reader.relations(condition, ())), None)
