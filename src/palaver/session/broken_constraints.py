"""Messages that break one constraint, and only that: its negation is solved, and all others are kept.

How it works
============

The negation of a constraint stands in its place when the solver completes our next message. A comparison of numbers is
negated at its boundary first: what must be equal is one too large or one too small, what may be at most so large is one
larger. Then everything that breaks it will do. The monitor has the last word: a message counts as wrong only if it
says that this very constraint can hold no more.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, NamedTuple, assert_never

from palaver.errors import PalaverError
from palaver.lean_dataclasses import replace
from palaver.matching.forecaster import MessageType
from palaver.random_source import RandomSource
from palaver.session.blame import Violation
from palaver.session.next_message import NextMessage
from palaver.session.session_limits import BREAKING_STEPS
from palaver.spec.ast import And, Constraint, Expression, Formula, Not, Or, PythonCondition, Quantified
from palaver.trees.node import Node

if TYPE_CHECKING:
    from palaver.session.history import SessionHistory
    from palaver.session.setup import SessionSetup
    from palaver.solving.solver_factory import Solver


class Negation(NamedTuple):
    """One way to break a constraint, by its place in the spec."""

    number: int
    constraint: Constraint  # what holds when it is broken
    how: str


class BrokenMessage(NamedTuple):
    """A message that breaks one constraint, and what is wrong about it."""

    node: Node
    what: str


class ConstraintBreaker:
    """Makes messages of ours that break one constraint, where a session is now."""

    def __init__(self, setup: SessionSetup, history: SessionHistory, chance: RandomSource) -> None:
        self._setup = setup
        self._history = history
        self._chance = chance

    def make(self, move: MessageType, turn: int) -> BrokenMessage | None:
        """A message that breaks one of the constraints on it; the `turn` says which, and how. None: none was found."""
        ways = self._setup.negations_left(move.symbol)
        if not ways:
            return None
        way = ways[turn % len(ways)]
        found = self._broken(move, way)
        self._setup.note_negation(move.symbol, way, is_found=found is not None)
        return found

    def _broken(self, move: MessageType, way: Negation) -> BrokenMessage | None:
        monitor, history = self._setup.monitor, self._history
        try:
            node = self._solved(move, way)
            found = None if node is None else history.checked(move, node, is_ours=True)
        except PalaverError:
            return None
        if node is None or not isinstance(found, Violation) or monitor.constraints_of([found.clause]) != {way.number}:
            return None
        text = " ".join(self._setup.spec.grammar.constraints[way.number].text.split())
        return BrokenMessage(node, f"{way.how}: {text}")

    def _solved(self, move: MessageType, way: Negation) -> Node | None:
        context = NextMessage(self._history)
        context.move = move
        context.history = self._setup.references.seen_by(move.symbol, self._history.referenced)
        solver = self._solver(context, way)
        monitor = self._setup.monitor
        left_out = monitor.left_to_others(move, self._history.forecast) | monitor.folded
        solver.left_out = left_out - {way.number}
        with self._history.watches[0].checks.published_states():
            # What earlier messages must not be repeated of is seen only if all of the session is there.
            for context.sees_all in (False, True):
                solver.forget()
                solver.begin()
                solver.budget.limit = BREAKING_STEPS
                while not solver.is_exhausted:
                    tree = solver.solve()
                    node = None if tree is None else tree.at(context.hook).node
                    if isinstance(node, Node):
                        return node
        return None

    def _solver(self, context: NextMessage, way: Negation) -> Solver:
        spec = self._setup.spec
        constraints = list(spec.grammar.constraints)
        constraints[way.number] = way.constraint
        chance = self._chance / way.how / way.number
        return spec.solver_factory.solver(constraints, chance, chance / "fuzz", self._setup.limits, context)


def negations_of(number: int, constraint: Constraint) -> Iterator[Negation]:
    """The ways to break a constraint: at the boundary first, then any."""
    for formula, how in _broken(constraint.formula):
        yield Negation(number, replace(constraint, text=f"{constraint.text} [{how}]", formula=formula), how)


def _broken(formula: Formula) -> Iterator[tuple[Formula, str]]:
    match formula:
        case Quantified(True, variable, path, body):
            for part, how in _broken(body):
                yield Quantified(False, variable, path, part), how
        case And(parts):
            for at, each in enumerate(parts):
                for part, how in _broken(each):
                    yield And((*parts[:at], part, *parts[at + 1 :])), how
        case PythonCondition(expression):
            for compared, how in _boundaries(expression):
                yield PythonCondition(compared), how
            yield Not(formula), "breaks"
        case Or() | Not() | Quantified():
            yield Not(formula), "breaks"
        case _:
            assert_never(formula)


_NUMBER_CALLS = ("len", "int", "ord", "sum")


def _is_number(side: ast.expr) -> bool:
    if isinstance(side, ast.BinOp):
        return _is_number(side.left) or _is_number(side.right)
    if isinstance(side, ast.Call):
        function = side.func
        return isinstance(function, ast.Name) and function.id in _NUMBER_CALLS
    return isinstance(side, ast.Constant) and type(side.value) is int


_Boundary = tuple[type[ast.cmpop], int, str]
_BOUNDARIES: dict[type[ast.cmpop], tuple[_Boundary, ...]] = {
    ast.Eq: ((ast.Eq, 1, "one too large"), (ast.Eq, -1, "one too small")),
    ast.LtE: ((ast.Eq, 1, "one too large"),),
    ast.Lt: ((ast.Eq, 0, "one too large"),),
    ast.GtE: ((ast.Eq, -1, "one too small"),),
    ast.Gt: ((ast.Eq, 0, "one too small"),),
}


def _boundaries(expression: Expression) -> Iterator[tuple[Expression, str]]:
    """The comparisons that hold just outside of the boundary of one that compares numbers."""
    sides = _sides(expression.python)
    if sides is None:
        return
    left, operator, right, wrap = sides
    for new, offset, how in _BOUNDARIES.get(operator, ()):
        shifted = right if not offset else ast.BinOp(deepcopy(right), ast.Add(), ast.Constant(offset))
        compared = ast.Compare(deepcopy(left), [new()], [wrap(shifted)])
        ast.fix_missing_locations(ast.copy_location(compared, expression.python))
        yield replace(expression, text=f"{expression.text} [{how}]", python=compared), how


Wrap = Callable[[ast.expr], ast.expr]


def _sides(condition: ast.expr) -> tuple[ast.expr, type[ast.cmpop], ast.expr, Wrap] | None:
    """The sides of a comparison of numbers; the right one may stand in a call that encodes it."""
    if not isinstance(condition, ast.Compare) or len(condition.ops) != 1:
        return None
    left, operator, right = condition.left, type(condition.ops[0]), condition.comparators[0]
    if _is_number(left) or _is_number(right):
        return left, operator, right, lambda side: side
    if isinstance(right, ast.Call) and len(right.args) == 1 and not right.keywords and _is_number(right.args[0]):
        call = right
        return left, operator, right.args[0], lambda side: ast.Call(call.func, [side], [])
    return None
