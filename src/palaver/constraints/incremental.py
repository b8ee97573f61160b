"""Incremental evaluation of constraints on a growing tree: runtime verification (Bauer, Leucker & Schallhart 2011).

A constraint holds, fails for good, or fails and may still recover (`can_recover`): three verdicts on a growing tree.

How it works
============

Messages never change. Each path from the root has a selection of all nodes that it has selected so far (`path_growth`):
one walk through the new message, and a look at the nodes that it completed, tell what each selection gains. A path from
a node that a quantifier has bound always selects the same, because such a node is complete. Formulas
(`incremental_formulas`) keep their outcomes, and look only at what is new in the selections they read.

Everything here is a value: two messages that may come next each extend it on their own.

Some constraints do not come apart like this, and are evaluated on the whole tree for every message: those

- whose Python code goes from a node to its surroundings (`code_uses`), or asks if two nodes are the same that come from
  different paths: there are several views of a node;
- that index a node while it is still open, or look for the arguments of a generator above the messages;
- with `..` from a node that may be open, if what it selects may also be elsewhere, or in several such nodes;
- for which the order of nodes matters (a list; a negation), but is not the order in which they come.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, assert_never

from palaver.constraints.checks import Check, FormulaCompiler
from palaver.constraints.code_uses import (
    compares_nodes,
    demands_distinct,
    is_upper_bound,
    sees_surroundings,
    takes_only_length,
)
from palaver.constraints.folds import Fold, FoldState, folds_of, published
from palaver.constraints.incremental_formulas import (
    IncrementalConnective,
    IncrementalExists,
    IncrementalFold,
    IncrementalForall,
    IncrementalFormula,
    IncrementalLeaf,
    IncrementalNot,
    MentionValues,
    Outcome,
    StaticFormula,
)
from palaver.constraints.node_selectors import compile_path
from palaver.constraints.path_growth import Selection, Selections, WatchedPath, WatchedPaths
from palaver.grammar.analysis import Analysis
from palaver.lean_dataclasses import dataclass
from palaver.spec.ast import And, Constraint, Expression, Formula, Not, Or, PythonCondition, Quantified, Selector
from palaver.spec.python_code import SPEC_CODE_RAISES, compile_expression
from palaver.spec.traversal import expressions_of, first_expression, selectors_of, walk_formula
from palaver.trees.node import Node
from palaver.trees.tree import Tree


@dataclass(frozen=True, eq=False)
class _CompiledConstraints:
    """The compiled constraints, which all sessions share."""

    checks: tuple[Check, ...]
    formulas: tuple[IncrementalFormula | None, ...]  # None: the check looks at the whole tree
    watched: tuple[WatchedPath, ...]
    leads: dict[str, bool]  # True if something that is watched can be inside, or an argument
    by_symbol: dict[str, tuple[int, ...]]  # the paths, by number, that gain from a node of a symbol
    readers: tuple[tuple[int, ...], ...]  # by path, the positions of the formulas that read it
    unwatched: tuple[int, ...]  # the positions of checks that look at the whole tree
    has_folds: bool  # True if some formula is a condition on the states of folds

    def formula_of(self, constraint: Constraint) -> IncrementalFormula | None:
        for check, formula in zip(self.checks, self.formulas, strict=True):
            if check.constraint is constraint:
                return formula
        raise ValueError(f"no constraint that is watched: {constraint.text}")


_NO_STATES: Final = nullcontext()


class IncrementalChecks:
    """The outcomes of the constraints after some messages; a value, like the messages themselves.

    `outcomes` has the failure of each check, in their order, and None where one holds; `failures` are those there are.
    """

    __slots__ = ("_compiled", "_outcomes", "_selections", "failures", "outcomes")

    def __init__(
        self, compiled: _CompiledConstraints, selections: Selections, outcomes: tuple[Outcome | None, ...]
    ) -> None:
        self._compiled = compiled
        self._selections = selections
        self._outcomes = outcomes
        self.outcomes = [None if outcome is None else outcome.failure for outcome in outcomes]
        self.failures = [failure for failure in self.outcomes if failure is not None]

    @staticmethod
    def begin(
        checks: Sequence[Check], analysis: Analysis, names: dict[str, Any], constants: Container[str] = ()
    ) -> IncrementalChecks:
        """The outcomes before any message. This compiles the constraints: keep it, and begin every session with it.

        `constants` are the names that always stand for the same integer.
        """
        compiler = _IncrementalCompiler(analysis, names, constants)
        formulas = tuple(compiler.constraint(check.constraint) for check in checks)
        watched = compiler.paths.watched()
        sought = frozenset(each.symbol for each in watched)
        above = analysis.above_including_sources(sought)
        leads = {symbol: symbol in above for symbol in analysis.grammar.rules}
        by_symbol = {name: tuple(at for at, each in enumerate(watched) if each.symbol == name) for name in sought}
        known = [(at, formula) for at, formula in enumerate(formulas) if formula is not None]
        readers = tuple(tuple(at for at, each in known if path in each.reads) for path in range(len(watched)))
        unwatched = tuple(at for at, formula in enumerate(formulas) if formula is None)
        has_folds = any(isinstance(formula, IncrementalFold) for formula in formulas)
        compiled = _CompiledConstraints(
            tuple(checks), formulas, watched, leads, by_symbol, readers, unwatched, has_folds
        )
        return IncrementalChecks(compiled, tuple(Selection() for _ in watched), (None,) * len(formulas))

    def with_message(self, message: Tree | None, closed: Sequence[Tree] = ()) -> IncrementalChecks:
        """The outcomes after one more message; None: after the end of the session.

        `message` stands in its place. `closed` are the nodes above messages that are complete now and were not before,
        in the order in which they ended: inner nodes first, and at the end of the session the root last. The failures
        are those that the checks give for the tree of the session so far. Only constraints that are not incremental
        look at that tree, by way of the `message`; the others see only the name of the node in which a message, or a
        closed node, stands.
        """
        compiled, outcomes = self._compiled, self._outcomes
        selections, changed = self._gain(self._arrived(message, closed))
        affected = {position for path in changed for position in compiled.readers[path]}
        affected.update(compiled.unwatched)
        if None in outcomes:
            affected.update(range(len(outcomes)))  # the first time
        if not affected:
            return self
        last = message if message is not None else next(reversed(closed), None)
        after = list(outcomes)
        for position in sorted(affected):
            formula = compiled.formulas[position]
            if formula is not None:
                after[position] = formula.evaluate(selections, {}, after[position])
            elif last is not None:
                after[position] = Outcome((), compiled.checks[position].failure(last.get_root()))
        return IncrementalChecks(compiled, selections, tuple(after))

    def is_incremental(self, constraint: Constraint) -> bool:
        """True if the constraint is evaluated only as far as a message can change it."""
        return self._compiled.formula_of(constraint) is not None

    def can_recover(self, constraint: Constraint) -> bool:
        """True if the constraint, should it fail, could hold after further messages; False only if that is certain.

        A `forall` that fails stays violated. A node that must exist, or be one of several, may still come.
        """
        formula = self._compiled.formula_of(constraint)
        return formula is None or formula.can_recover

    def counts(self, position: int) -> list[int] | None:
        """The numbers of nodes that the mentions of a check have selected, if it is one incremental condition."""
        formula = self._compiled.formulas[position]
        if not isinstance(formula, IncrementalLeaf):
            return None
        return [self._selections[number].trees.length for number in formula.reads]

    def nodes(self, position: int) -> list[list[Tree]] | None:
        """The nodes that the mentions of a check have selected, if it is one incremental condition."""
        formula = self._compiled.formulas[position]
        if not isinstance(formula, IncrementalLeaf):
            return None
        selections = [self._selections[number] for number in formula.reads]
        return None if any(each.error for each in selections) else [list(each.selected()) for each in selections]

    def is_fold(self, constraint: Constraint) -> bool:
        """True if the constraint is a condition on the states of folds."""
        return isinstance(self._compiled.formula_of(constraint), IncrementalFold)

    def published_states(self) -> AbstractContextManager[None]:
        """A context in which generators can ask the steps of folds for their states."""
        if not self._compiled.has_folds:
            return _NO_STATES
        found: list[tuple[Fold, FoldState]] = []
        for formula, outcome in zip(self._compiled.formulas, self._outcomes, strict=True):
            if isinstance(formula, IncrementalFold) and outcome is not None:
                found += zip(formula.folds, outcome.states, strict=True)
        return published(found)

    def _gain(self, arrived: dict[str, list[Tree]]) -> tuple[Selections, list[int]]:
        """The selections with what they gain from new nodes, and the numbers of those that have changed."""
        changed: list[int] = []
        if not arrived:
            return self._selections, changed
        compiled, selections = self._compiled, list(self._selections)
        for number in sorted(number for symbol in arrived for number in compiled.by_symbol[symbol]):
            selection, watched = selections[number], compiled.watched[number]
            if selection.error is not None:
                continue
            try:
                gained = [tree for each in arrived[watched.symbol] for tree in watched.gain(each)]
            except SPEC_CODE_RAISES as error:  # a wrong index, or code that computes one
                selections[number] = Selection(selection.trees, error)
                changed.append(number)
            else:
                if gained:
                    selections[number] = Selection(selection.trees.plus(gained))
                    changed.append(number)
        return tuple(selections), changed

    def _arrived(self, message: Tree | None, closed: Sequence[Tree]) -> dict[str, list[Tree]]:
        """The new complete nodes, by the symbols that are watched."""
        found: dict[str, list[Tree]] = {}
        if message is not None:
            self._collect(message, found)
        for tree in closed:
            symbol = tree.nonterminal
            if symbol in self._compiled.by_symbol:
                found.setdefault(symbol, []).append(tree)
        return found

    def _collect(self, message: Tree, found: dict[str, list[Tree]]) -> None:
        sought, leads = self._compiled.by_symbol, self._compiled.leads
        stack = [message]
        while stack:
            tree = stack.pop()
            node = tree.node
            if not isinstance(node, Node):
                continue
            symbol = node.symbol
            if symbol in sought:
                found.setdefault(symbol, []).append(tree)
            if leads.get(symbol):
                stack.extend(reversed(tree.children))
            if node.sources:
                stack.extend(reversed(tree.sources))


class _IncrementalCompiler:
    """Compiles formulas to incremental ones, and numbers the paths from the root that they read."""

    def __init__(self, analysis: Analysis, names: dict[str, Any], constants: Container[str]) -> None:
        self._analysis = analysis
        self._names = names
        self._constants = constants
        self._plain = FormulaCompiler(analysis, names)
        self.paths = WatchedPaths(analysis, names)

    def constraint(self, constraint: Constraint) -> IncrementalFormula | None:
        """A constraint as an incremental formula; None if it needs the whole tree."""
        formula = constraint.formula
        expressions = tuple(expressions_of(formula))
        if any(sees_surroundings(expression, self._names) for expression in expressions):
            return None
        if self._has_several_views(formula) and any(compares_nodes(each, self._names) for each in expressions):
            return None
        if not self._comes_apart(formula, frozenset(), order_matters=False):
            return None
        return self._formula(formula, (), frozenset())

    def _has_several_views(self, formula: Formula) -> bool:
        """True if a node may be found in several ways, each of which gives a view of its own."""
        bound = {each.variable for each in walk_formula(formula) if isinstance(each, Quantified)}
        paths = {path for path in selectors_of(formula) if path.base not in bound}
        return len(paths) > 1 or any(self.paths.is_recursive(path.base) for path in paths)

    def _comes_apart(self, formula: Formula, bound: frozenset[str], *, order_matters: bool) -> bool:
        match formula:
            case PythonCondition(expression):
                return all(
                    self._is_known(mention.path, bound, order_matters=order_matters or mention.kind == "list")
                    for mention in expression.mentions
                )
            case And(parts) | Or(parts):
                return all(self._comes_apart(part, bound, order_matters=order_matters) for part in parts)
            case Not(part):
                # The first failure decides: if it is an exception, the negation fails too.
                return self._comes_apart(part, bound, order_matters=True)
            case Quantified(_, variable, path, body):
                return self._is_known(path, bound, order_matters=order_matters) and self._comes_apart(
                    body, bound | {variable}, order_matters=order_matters
                )
            case _:
                assert_never(formula)

    def _is_known(self, path: Selector, bound: frozenset[str], *, order_matters: bool) -> bool:
        return path.base in bound or self.paths.can_watch(path, order_matters=order_matters)

    def _formula(self, formula: Formula, variables: tuple[str, ...], bound: frozenset[str]) -> IncrementalFormula:
        if not _reads_root(formula, bound):
            return StaticFormula((), False, False, self._plain.formula(formula, variables))
        match formula:
            case PythonCondition(expression):
                return self._leaf(expression, variables, bound)
            case And(formulas) | Or(formulas):
                parts = tuple(self._formula(part, variables, bound) for part in formulas)
                return IncrementalConnective(*_shared(parts), isinstance(formula, And), parts)
            case Not(inner):
                part = self._formula(inner, variables, bound)
                return IncrementalNot(part.reads, part.can_break, part.can_recover, part, first_expression(inner))
            case Quantified():
                return self._quantifier(formula, variables, bound)
            case _:
                assert_never(formula)

    def _quantifier(self, formula: Quantified, variables: tuple[str, ...], bound: frozenset[str]) -> IncrementalFormula:
        variable, path = formula.variable, formula.path
        if not variable.startswith("<"):
            variables = (*variables, variable)
        body = self._formula(formula.body, variables, bound | {variable})
        if path.base in bound:
            select, reads = compile_path(path, self._analysis, self._names), body.reads
        else:
            select, reads = None, (self.paths.number(path), *body.reads)
        # There may be more to come that breaks a `forall`, or that makes up for a missing `exists`.
        can_recover = body.can_recover or (select is None and not formula.every)
        can_break = body.can_break or (select is None and formula.every)
        kind = IncrementalForall if formula.every else IncrementalExists
        return kind(reads, can_recover, can_break, variable, select, body, first_expression(formula.body))

    def _leaf(self, expression: Expression, variables: tuple[str, ...], bound: frozenset[str]) -> IncrementalFormula:
        if fold := self._fold(expression, bound):
            return fold
        leaf = self._plain.leaf(expression, variables)
        mentions: list[MentionValues] = []
        reads: list[int] = []
        for mention, select in zip(expression.mentions, leaf.selects, strict=True):
            position = None
            if mention.path.base not in bound:
                position = len(reads)
                reads.append(self.paths.number(mention.path))
            measured = position is not None and takes_only_length(mention, expression, self._names)
            mentions.append(MentionValues(mention, position, select, measured))
        is_counting = any(each.position is not None and each.mention.kind != "each" for each in mentions)
        constants = () if variables else self._constants  # variables may hide constants
        is_settled = is_upper_bound(expression.python, constants) or demands_distinct(expression, self._names)
        can_recover = is_counting and not is_settled
        return IncrementalLeaf(tuple(reads), can_recover, True, leaf, tuple(mentions))

    def _fold(self, expression: Expression, bound: frozenset[str]) -> IncrementalFold | None:
        """A condition as one on folds; None if it mentions anything else, or is inside of a quantifier."""
        condition, folds = folds_of(expression, self._names)
        if bound or len(folds) != len(expression.mentions):
            return None
        ordered = {fold.mention: fold for fold in folds}
        reads = tuple(self.paths.number(mention.path) for mention in expression.mentions)
        function = compile_expression(condition, self._names)
        return IncrementalFold(
            reads, True, True, expression, function, tuple(map(ordered.__getitem__, expression.mentions))
        )


def _shared(parts: tuple[IncrementalFormula, ...]) -> tuple[tuple[int, ...], bool, bool]:
    """The selections that the parts read, and two flags: one of them can recover, one can break."""
    reads = dict.fromkeys(number for part in parts for number in part.reads)
    return tuple(reads), any(part.can_recover for part in parts), any(part.can_break for part in parts)


def _reads_root(formula: Formula, bound: frozenset[str]) -> bool:
    """True if any path in a formula starts from the root."""
    match formula:
        case PythonCondition(expression):
            return any(mention.path.base not in bound for mention in expression.mentions)
        case And(parts) | Or(parts):
            return any(_reads_root(part, bound) for part in parts)
        case Not(part):
            return _reads_root(part, bound)
        case Quantified(_, variable, path, body):
            return path.base not in bound or _reads_root(body, bound | {variable})
        case _:
            assert_never(formula)
