"""Checks of a clause by the monitor: what can be checked on nodes that are still open, and what is counted."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import assert_never

from palaver.constraints.checks import Check, Evaluate, Failure, FormulaCompiler, can_bind_open_nodes
from palaver.constraints.code_uses import count_limit, takes_only_length
from palaver.lean_dataclasses import dataclass
from palaver.solving.clauses import Clause
from palaver.spec.ast import And, Expression, Formula, Not, Or, PythonCondition, Quantified, Selector
from palaver.spec.traversal import expressions_of, last_symbol, selectors_of, step_symbols
from palaver.trees.node import BegunNode, OpenNode
from palaver.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class EarlyCheck:
    """A clause that is checked on nodes of a state before they are finished."""

    clause: int
    symbol: str
    variable: str
    evaluate: Evaluate


@dataclass(frozen=True, slots=True)
class CountLimit:
    """A clause by which a sum of counts must not exceed a number; `symbols` are those that are counted everywhere."""

    clause: int
    limit: int
    symbols: tuple[str | None, ...]
    expression: Expression


def limit_of_counts(at: int, clause: Clause, constants: Mapping[str, int]) -> CountLimit | None:
    """The limit that a clause sets to numbers of nodes."""
    expression = clause.expression
    if expression is None or clause.quantifiers or not expression.mentions or not _only_measures(clause):
        return None
    limit = count_limit(expression.python, constants)
    if limit is None:
        return None
    symbols = tuple(None if mention.path.steps else mention.path.base for mention in expression.mentions)
    return CountLimit(at, limit, symbols, expression)


def is_checked_while_open(clause: Clause) -> bool:
    """Return True if the early check says of open nodes all that the clause says of them once they are complete."""
    if early_check_of(0, clause) is None or not is_checked_early(clause):
        return False
    return all(can_bind_open_nodes(each) for each in _quantifiers_of(clause) if _is_over_states(each, clause))


def _is_over_states(quantifier: Quantified, clause: Clause) -> bool:
    """Return True if a quantifier binds nodes with messages inside."""
    below = clause.analysis.below(last_symbol(quantifier.path))
    return any(message.symbol in below for message in clause.analysis.messages)


def early_check_of(at: int, clause: Clause) -> EarlyCheck | None:
    """The early check of a clause whose first quantifier is over a state, and compares what is inside."""
    if not clause.quantifiers:
        return None
    first = clause.quantifiers[0]
    if first.path.steps or not can_bind_open_nodes(first):
        return None
    return early_check(at, clause)


def early_checks(clauses: Sequence[Clause]) -> dict[str, list[EarlyCheck]]:
    """The early checks of all clauses, by the symbol of the nodes that they are about."""
    found: dict[str, list[EarlyCheck]] = {}
    for at, clause in enumerate(clauses):
        if (check := early_check_of(at, clause)) is not None:
            found.setdefault(check.symbol, []).append(check)
    return found


def early_check(at: int, clause: Clause, *, every: bool = False) -> EarlyCheck:
    first = clause.quantifiers[0]
    compiler = FormulaCompiler(clause.analysis, clause.names, early=not every, every=every)
    variables = () if first.variable.startswith("<") else (first.variable,)
    return EarlyCheck(at, first.path.base, first.variable, compiler.formula(_below_the_first(clause), variables))


def early_failure_in_tree(check: Check, message: Tree) -> Failure | None:
    """The failure of a clause if the open nodes were complete; if it raises, without the innermost of them."""
    root = message.get_root()
    failure = check.failure(root)
    around = message.parent
    while failure is not None and failure.error is not None and around is not None:
        if type(around.node) is OpenNode:
            root = root.replaced(around.path, BegunNode(*around.node))
            failure = check.failure(root)
        around = around.parent
    return failure


def is_about_each_state(clause: Clause) -> bool:
    """Return True if a clause is about each node of a state, and about nothing but that."""
    if not clause.quantifiers or clause.quantifiers[0].path.steps:
        return False
    bound = {each.variable for each in clause.quantifiers}
    return all(
        path.base in bound or path is clause.quantifiers[0].path
        for path in selectors_of(clause.as_constraint().formula)
    )


def _below_the_first(clause: Clause) -> Formula:
    """The formula below the first quantifier of a clause."""
    formula = clause.as_constraint().formula
    assert isinstance(formula, Quantified), "a clause with quantifiers begins with one"
    return formula.body


def is_checked_early(clause: Clause) -> bool:
    """Return True if the early check covers all that can be checked on unfinished nodes."""
    has_check = early_check_of(0, clause) is not None
    bound: set[str] = set()
    for at, quantifier in enumerate(_quantifiers_of(clause)):
        # Open nodes inside of one that is bound are looked at together with it.
        is_looked_at = (has_check and at == 0) or quantifier.path.base in bound
        if not is_looked_at and can_bind_open_nodes(quantifier):
            return False
        bound.add(quantifier.variable)
    return True


def _quantifiers_of(clause: Clause) -> Iterator[Quantified]:
    """All quantifiers of a clause, each before those inside of it."""
    todo: list[Formula] = [clause.as_constraint().formula]
    while todo:
        match formula := todo.pop():
            case Quantified(body=body):
                yield formula
                todo.append(body)
            case And(parts) | Or(parts):
                todo.extend(parts)
            case Not(part):
                todo.append(part)
            case PythonCondition():
                pass
            case _:
                assert_never(formula)


def messages_seen(clause: Clause, messages: Collection[str], states: Collection[str]) -> frozenset[str]:
    """The messages that contain nodes which a clause selects, or stand in such a node: in a state."""
    found: set[str] = set()
    for symbols in _path_symbols(clause.as_constraint().formula):
        if symbols[-1] in states:
            found.update(name for name in messages if name in clause.analysis.below(symbols[-1]))
        else:  # nodes that hold no messages are in the same message as those on the path to them
            wanted = {symbol for symbol in symbols if symbol not in states}
            found.update(name for name in messages if wanted <= {name} | clause.analysis.below_including_sources(name))
    return frozenset(found)


def _path_symbols(formula: Formula) -> Iterator[tuple[str, ...]]:
    """The symbols on the path to the nodes of each selector, with what quantifiers bind in the place of their names."""
    todo: list[tuple[Formula, Mapping[str, tuple[str, ...]]]] = [(formula, {})]
    while todo:
        part, bound = todo.pop()
        match part:
            case PythonCondition(expression):
                yield from (_path(mention.path, bound) for mention in expression.mentions)
            case Quantified(variable=variable, path=path, body=body):
                symbols = _path(path, bound)
                yield symbols
                todo.append((body, {**bound, variable: symbols}))
            case And(parts) | Or(parts):
                todo.extend((each, bound) for each in parts)
            case Not(inner):
                todo.append((inner, bound))
            case _:
                assert_never(part)


def _path(path: Selector, bound: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return (*bound.get(path.base, (path.base,)), *step_symbols(path))


def is_about_each(clause: Clause) -> bool:
    expression = clause.expression
    return expression is not None and all(mention.kind == "each" for mention in expression.mentions)


def only_counts(clause: Clause) -> bool:
    """Return True if a clause is a condition on numbers of nodes, wherever they stand."""
    expression = clause.expression
    if expression is None or clause.quantifiers or not expression.mentions:
        return False
    return not any(mention.path.steps for mention in expression.mentions) and _only_measures(clause)


def measured_paths(clause: Clause) -> tuple[Selector, ...]:
    """The paths to the nodes whose numbers a clause sees; none if it sees anything else."""
    if clause.expression is None or clause.quantifiers or not _only_measures(clause):
        return ()
    return tuple(mention.path for mention in clause.expression.mentions)


def _only_measures(clause: Clause) -> bool:
    """Return True if a clause sees only numbers of nodes."""
    expression = clause.expression
    return expression is not None and all(
        mention.kind == "count" or takes_only_length(mention, expression, clause.names)
        for mention in expression.mentions
    )


def told_apart(clauses: Sequence[Clause], incremental: Sequence[bool], states: frozenset[str]) -> frozenset[str]:
    """The symbols above messages in which hypotheses differ: those that clauses mention, and those that code may see.

    The code of a clause that is not `incremental` may look at everything.
    """
    found = set(states)
    for clause, is_incremental in zip(clauses, incremental, strict=True):
        analysis = clause.analysis
        messages = {message.symbol for message in analysis.messages}
        seen = _seen_by_code(clause) if is_incremental else analysis.grammar.rules
        found.update(name for name in seen if not messages.isdisjoint(analysis.below(name)))
    return frozenset(found)


def _seen_by_code(clause: Clause) -> frozenset[str]:
    """The symbols inside of nodes that code of a clause is given as a whole, so that it can see what is in them."""
    bound = {quantifier.variable: last_symbol(quantifier.path) for quantifier in _quantifiers_of(clause)}
    found: set[str] = set()
    for expression in expressions_of(clause.as_constraint().formula):
        for mention in expression.mentions:
            if mention.kind != "count" and not takes_only_length(mention, expression, clause.names):
                symbol = last_symbol(mention.path)
                found |= clause.analysis.below(bound.get(symbol, symbol))
    return frozenset(found)


def compares_numbers(clause: Clause) -> bool:
    """Return True if a clause compares two values that are no texts, as far as can be seen."""
    expression = clause.expression
    if expression is None or clause.quantifiers:
        return False
    match expression.python:
        case ast.Compare(left, [ast.Eq() | ast.LtE() | ast.GtE() | ast.Lt() | ast.Gt()], [right]):
            sides = (left, right)
            return not any(isinstance(side, ast.Constant) and not _is_number(side.value) for side in sides)
    return False


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
