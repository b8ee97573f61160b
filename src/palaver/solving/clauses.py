"""Constraints, split into equivalent clauses that must all hold.

`forall <x> in <a>: A and B` is two clauses, each with the quantifier in front. The body of a clause is a condition, an
`or`, a `not`, or an `exists`. A clause also knows which symbols its names refer to, and if it is about every node of a
symbol.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, assert_never

from palaver.constraints.checks import CompiledLeaf, Evaluate, Failure, FormulaCompiler, can_bind_open_nodes
from palaver.constraints.node_selectors import Bindings, Select, compile_path
from palaver.grammar.analysis import Analysis
from palaver.lean_dataclasses import dataclass, replace
from palaver.spec.ast import (
    And,
    Child,
    Constraint,
    Descendant,
    Expression,
    Formula,
    Index,
    Not,
    Or,
    PythonCondition,
    Quantified,
    Selector,
)
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.trees.tree import Tree


@dataclass(frozen=True, eq=False)
class Clause:
    """A part of a constraint: for all nodes that the quantifiers bind, the body holds."""

    constraint: Constraint
    quantifiers: tuple[Quantified, ...]
    body: Formula
    analysis: Analysis
    names: dict[str, Any]
    variables: tuple[str, ...] = ()  # the Python names that are bound

    @property
    def expression(self) -> Expression | None:
        """The condition, if the body is one."""
        return self.body.expression if isinstance(self.body, PythonCondition) else None

    @cached_property
    def leaf(self) -> CompiledLeaf:
        """The condition, compiled."""
        assert isinstance(self.body, PythonCondition), "the caller has looked at the expression"
        return FormulaCompiler(self.analysis, self.names, early=True).leaf(self.body.expression, self.variables)

    @cached_property
    def evaluate(self) -> Evaluate:
        """The body, compiled."""
        return FormulaCompiler(self.analysis, self.names, early=True).formula(self.body, self.variables)

    @cached_property
    def _selects(self) -> tuple[Select, ...]:
        return tuple(
            compile_path(each.path, self.analysis, self.names, open_too=can_bind_open_nodes(each), early=True)
            for each in self.quantifiers
        )

    def bindings(self, root: Tree) -> list[Bindings]:
        """All bindings of the quantifiers in a tree, in document order; none if a computed index fails."""
        found: list[Bindings] = [{}]
        try:
            for quantifier, select in zip(self.quantifiers, self._selects, strict=True):
                found = [{**bound, quantifier.variable: tree} for bound in found for tree in select(root, bound)]
        except SPEC_CODE_RAISES:
            return []
        return found

    def select(self, path: Selector, root: Tree, bound: Bindings) -> list[Tree]:
        """The nodes that a path inside the body selects; none if a computed index fails."""
        try:
            return compile_path(path, self.analysis, self.names)(root, bound)
        except SPEC_CODE_RAISES:
            return []

    @property
    def is_about_one_node(self) -> bool:
        """True if the condition is a function of one node of the symbol that it mentions."""
        expression = self.expression
        if expression is None or self.quantifiers or len(expression.mentions) != 1:
            return False
        return expression.mentions[0].kind == "each" and not expression.mentions[0].path.steps

    def as_constraint(self) -> Constraint:
        """The clause as a constraint of its own."""
        formula = self.body
        for quantifier in reversed(self.quantifiers):
            formula = replace(quantifier, body=formula)
        return replace(self.constraint, formula=formula)

    def failures(self, root: Tree) -> Iterator[tuple[Bindings, Failure]]:
        """The bindings for which the body fails."""
        for bound in self.bindings(root):
            if (failure := self.evaluate(root, bound)) is not None:
                yield bound, failure

    def path_of(self, name: str) -> Selector:
        """The path of the nodes that a name in the condition refers to."""
        expression = self.expression
        for mention in expression.mentions if expression is not None else ():
            if mention.name == name:
                return mention.path
        return Selector(name)

    def symbols_of(self, path: Selector) -> frozenset[str]:
        """The symbols of the nodes that a path can select."""
        binder = self._binder(path.base)
        symbols = frozenset((path.base,)) if binder is None else self.symbols_of(binder.path)
        for step in path.steps:
            match step:
                case Child(symbol) | Descendant(symbol):
                    symbols = frozenset((symbol,))
                case Index(tuple()):
                    pass
                case Index():
                    symbols = frozenset(child for name in symbols for child in self.analysis.children.get(name, ()))
                case _:
                    assert_never(step)
        return symbols

    @cached_property
    def sought(self) -> frozenset[str]:
        """The symbols of all nodes on the paths to the nodes that the condition mentions."""
        expression = self.expression
        paths = [each.path for each in self.quantifiers]
        paths += [mention.path for mention in expression.mentions] if expression is not None else []
        prefixes = [replace(path, steps=path.steps[:end]) for path in paths for end in range(len(path.steps) + 1)]
        return frozenset(symbol for prefix in prefixes for symbol in self.symbols_of(prefix))

    def binders_of(self, path: Selector) -> frozenset[str]:
        """The variables that quantifiers bind on the way to the nodes of a path."""
        binder = self._binder(path.base)
        return frozenset() if binder is None else self.binders_of(binder.path) | {binder.variable}

    def is_everywhere(self, path: Selector) -> bool:
        """True if a path, with the quantifiers in front, selects every node of its symbol."""
        binder = self._binder(path.base)
        if binder is not None:
            if not self.is_everywhere(binder.path):
                return False
            symbol = next(iter(self.symbols_of(binder.path)))
        else:
            symbol = path.base
        for step in path.steps:
            match step:
                case Child(child) if self._holders.get(child) == {symbol} and child != self.analysis.grammar.start:
                    symbol = child
                case Descendant(inner) if self._is_always_below(inner, symbol):
                    symbol = inner
                case _:
                    return False
        return True

    def _is_always_below(self, inner: str, symbol: str) -> bool:
        """True if each node of a symbol is below one of the other symbol, or is itself one."""
        seen, todo = {symbol, inner}, [inner] if inner != symbol else []
        while todo:
            name = todo.pop()
            holders = self._holders.get(name)
            if not holders or name == self.analysis.grammar.start or "(source)" in holders:
                return False
            todo += holders - seen
            seen |= holders
        return True

    @cached_property
    def _holders(self) -> dict[str, set[str]]:
        """For each symbol, those it may be a child of, or a source of."""
        found: dict[str, set[str]] = {}
        for edges in (self.analysis.children, self.analysis.arguments):
            for holder, symbols in edges.items():
                for symbol in symbols:
                    found.setdefault(symbol, set()).add(holder if edges is self.analysis.children else "(source)")
        return found

    def _binder(self, base: str) -> Quantified | None:
        return next((each for each in reversed(self.quantifiers) if each.variable == base), None)


def clauses_of(constraint: Constraint, analysis: Analysis, names: dict[str, Any]) -> list[Clause]:
    """The clauses that a constraint consists of, in the order of the text."""
    found: list[Clause] = []
    todo: list[tuple[tuple[Quantified, ...], Formula]] = [((), constraint.formula)]
    while todo:
        quantifiers, formula = todo.pop()
        match formula:
            case And(parts):
                todo.extend((quantifiers, part) for part in reversed(parts))
            case Quantified(True, _, _, body):
                todo.append(((*quantifiers, formula), body))
            case PythonCondition() | Or() | Not() | Quantified():
                bound = (each.variable for each in quantifiers)
                variables = tuple(name for name in bound if not name.startswith("<"))
                found.append(Clause(constraint, quantifiers, formula, analysis, names, variables))
            case _:
                assert_never(formula)
    return found
