"""Folds over the nodes of a growing tree, by finite differencing (Paige & Koenig 1982): they cost only what is new.

A *model* in a spec is such a fold: a state that each message changes, such as what a server has stored. `step` is given
the state and a node, and returns the next state. It must leave the state that it is given as it is: two messages that
may come next each go on from it. That is looked at now and then, and a step that changes its state is an error of the
spec.

Generators take no nodes of the session, but they may ask for the state of a model: a step that has an attribute `state`
has the state of now there, while a message is made (`published`).
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from palaver.lean_dataclasses import dataclass, replace
from palaver.spec.ast import Expression, Mention
from palaver.spec.python_code import SPEC_CODE_RAISES, compile_expression
from palaver.trees.tree import Tree

# This many first steps are looked at, and after that those whose numbers are powers of two.
_FIRST_STEPS = 64


class FoldState(NamedTuple):
    """The state after some nodes, and how many these are."""

    length: int
    value: Any


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold: the list that it is over, its step, and the state before the first node."""

    mention: Mention
    step: Any  # a function of the state and a node
    initial: FoldState

    @property
    def name(self) -> str:
        """The name of the step."""
        return getattr(self.step, "__name__", "the fold")

    def after(self, state: FoldState, nodes: Iterable[Tree]) -> FoldState:
        """The state after some more nodes. :raises ValueError: if the step changes the state it is given"""
        length, value = state
        for node in nodes:
            length += 1
            is_watched = length <= _FIRST_STEPS or length & (length - 1) == 0
            before = _snapshot(value) if is_watched else None
            following = self.step(value, node)
            if is_watched and _snapshot(value) != before:
                raise ValueError(f"{self.name} changes the state it is given; it must return a new one")
            value = following
        return FoldState(length, value)


@contextmanager
def published(states: Iterable[tuple[Fold, FoldState]]) -> Iterator[None]:
    """Let the steps that have an attribute `state` have these there."""
    before: list[tuple[Any, Any]] = []
    for fold, state in states:
        if hasattr(fold.step, "state"):
            before.append((fold.step, fold.step.state))
            fold.step.state = state.value
    try:
        yield
    finally:
        for step, value in before:
            step.state = value


def _snapshot(value: object, depth: int = 6) -> object:
    """The parts of a value, to be compared with its parts later."""
    if depth == 0:
        return id(value)
    match value:
        case None | str() | bytes() | int() | float():
            return value
        case dict():
            return [(id(key), _snapshot(each, depth - 1)) for key, each in value.items()]
        case list() | tuple() | set() | frozenset():
            return [_snapshot(each, depth - 1) for each in value]
        case _ if isinstance(getattr(value, "__dict__", None), dict):
            return [(name, _snapshot(each, depth - 1)) for name, each in vars(value).items()]
    return id(value)


def folds_of(expression: Expression, names: dict[str, Any]) -> tuple[Expression, tuple[Fold, ...]]:
    """The folds of a condition, and the condition in which each list stands for the state instead.

    A fold that cannot be told apart (its step depends on other nodes, its list is used elsewhere) stays as it is.
    """
    finder = _FoldFinder(expression, names)
    python = finder.visit(copy.deepcopy(expression.python))
    if not finder.found:
        return expression, ()
    text = f"{expression.text} (of the states)"  # conditions are told apart by their texts
    return replace(expression, text=text, python=python), tuple(finder.found)


class FirstBreach(NamedTuple):
    """The node with which a condition on folds stopped holding for good, and the states after it."""

    node: Tree
    states: tuple[tuple[str, object], ...]  # with the names of the steps


def first_breach(
    expression: Expression, names: dict[str, Any], nodes: Mapping[Mention, Sequence[Tree]]
) -> FirstBreach | None:
    """The node after which a condition on folds no longer holds, up to the end; None if it is none on one list."""
    condition, folds = folds_of(expression, names)
    if not folds or len(folds) != len(expression.mentions) or len({fold.mention.path for fold in folds}) != 1:
        return None
    function = compile_expression(condition, names)
    ordered = [next(fold for fold in folds if fold.mention == mention) for mention in expression.mentions]
    states = [fold.initial for fold in ordered]
    found: FirstBreach | None = None
    try:
        for node in nodes.get(ordered[0].mention, ()):
            states = [fold.after(state, [node]) for fold, state in zip(ordered, states, strict=True)]
            if function(*(state.value for state in states)):
                found = None
            elif found is None:
                named = zip(ordered, states, strict=True)
                found = FirstBreach(node, tuple((fold.name, state.value) for fold, state in named))
    except SPEC_CODE_RAISES:  # the condition itself tells of it
        return None
    return found


class _FoldFinder(ast.NodeTransformer):
    def __init__(self, expression: Expression, names: dict[str, Any]) -> None:
        self._expression = expression
        self._names = names
        self._mentions = {mention.name: mention for mention in expression.mentions}
        used = [node.id for node in ast.walk(expression.python) if isinstance(node, ast.Name)]
        self._used_once = {name for name in self._mentions if used.count(name) == 1}
        self.found: list[Fold] = []

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(function, [step, ast.Name(name), initial], []) if name in self._used_once:
                fold = self._fold(function, step, self._mentions[name], initial)
                if fold is not None:
                    self.found.append(fold)
                    return node.args[1]
        self.generic_visit(node)
        return node

    def _fold(self, function: ast.expr, step: ast.expr, mention: Mention, initial: ast.expr) -> Fold | None:
        if mention.kind != "list" or not self._is_reduce(function):
            return None
        try:
            return Fold(mention, self._value(step), FoldState(0, self._value(initial)))
        except SPEC_CODE_RAISES:  # among them NameError: a part depends on a node or on a variable
            return None

    def _is_reduce(self, function: ast.expr) -> bool:
        match function:
            case ast.Name(name):
                return self._names.get(name) is functools.reduce
            case ast.Attribute(ast.Name(module), "reduce"):
                return self._names.get(module) is functools
        return False

    def _value(self, python: ast.expr) -> Any:
        """The value of a part, which is the same in all evaluations."""
        part = replace(self._expression, text=ast.unparse(python), mentions=(), python=python)
        return compile_expression(part, self._names)()
