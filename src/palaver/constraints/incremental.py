"""Constraints on a conversation that grows, evaluated again only as far as the newest message can change them.

How it works
============

What was said never changes. A path from the root has a row of all that it has selected so far (`growth`): one walk
through the new message, and a look at the nodes that it completed, tell what each row gains. Nobody walks the history.
A path from a node that a quantifier has bound always selects the same, because such a node is complete.

Formulas become parts (`parts`) that remember what they found, and look only at what is new in the rows they read.

Everything here is a value. A watch can be extended twice, by two messages that may come next, and neither knows of the
other.

Some constraints cannot be cut up like this, and are evaluated on the whole tree for every message. They are those

- whose Python code climbs from a node to what is around it (`uses`);
- that index a node while it is still open, or look for the arguments of a generator above the messages;
- that ask with `..` for what is in a node that may be open, but may as well be elsewhere, or in several such nodes;
- for which the order of what is found matters (a list; what is negated), but is not the order in which it comes.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from palaver.constraints.check import Check, Failure, compile_formula, compile_leaf
from palaver.constraints.growth import Paths, Row, Rows, Watched
from palaver.constraints.parts import (
    All,
    Column,
    Condition,
    Fixed,
    ForEvery,
    ForSome,
    Memory,
    OneOf,
    Opposite,
    Part,
)
from palaver.constraints.select import compile_path
from palaver.constraints.uses import is_only_measured, is_upper_bound, looks_around
from palaver.grammar.analyse import Analysis
from palaver.grammar.code import SPEC_CODE_RAISES
from palaver.grammar.ir import expressions_of, first_expression
from palaver.spec.ast import And, Constraint, Expression, Formula, Leaf, Not, Or, Path, Quantified
from palaver.trees.node import Node
from palaver.trees.tree import Tree


@dataclass(frozen=True, eq=False)
class _Program:
    """What is the same for all conversations."""

    checks: tuple[Check, ...]
    parts: tuple[Part | None, ...]  # None: the check looks at the whole tree
    watched: tuple[Watched, ...]
    leads: dict[str, bool]  # whether something that is watched can be inside, or an argument

    def part_of(self, constraint: Constraint) -> Part | None:
        for check, part in zip(self.checks, self.parts, strict=True):
            if check.constraint is constraint:
                return part
        raise ValueError(f"no constraint that is watched: {constraint.text}")


@dataclass(frozen=True, eq=False)
class Watch:
    """What is known about the constraints after some messages; a value, like the messages themselves."""

    _program: _Program
    _rows: Rows
    _memories: tuple[Memory | None, ...]

    @staticmethod
    def begin(
        checks: Sequence[Check], analysis: Analysis, names: dict[str, Any], constants: Container[str] = ()
    ) -> Watch:
        """Nothing was said yet. This is where things are compiled: keep it, and begin every conversation with it.

        `constants` are the names that stand for the same whole number for ever.
        """
        compiler = _Compiler(analysis, names, constants)
        parts = tuple(compiler.constraint(check.constraint) for check in checks)
        watched = compiler.paths.watched()
        sought = frozenset(each.symbol for each in watched)
        above = analysis.above_or_made_from(sought)
        leads = {symbol: symbol in above for symbol in analysis.grammar.rules}
        program = _Program(tuple(checks), parts, watched, leads)
        return Watch(program, tuple(Row() for _ in watched), (None,) * len(parts))

    def with_message(self, message: Tree, closed: Sequence[Tree] = ()) -> tuple[Watch, list[Failure]]:
        """The watch after one more message, and why constraints do not hold, one reason for each.

        `message` stands in its place. `closed` are the nodes above messages that are complete now and were not before,
        in the order in which they ended: what is inside first. The reasons are those which the checks give for the
        tree of the whole conversation so far. Only constraints that are not incremental look at that tree, by way of
        the `message`; the others see no more than the name of the node in which a message, or a closed node, stands.
        """
        return self._with(message, closed)

    def with_end(self, closed: Sequence[Tree]) -> tuple[Watch, list[Failure]]:
        """The same, for nodes that are complete because nothing more will be said; the root is the last of them."""
        return self._with(None, closed)

    @property
    def failures(self) -> list[Failure]:
        """Why constraints do not hold now, one reason for each."""
        return [memory.failure for memory in self._memories if memory is not None and memory.failure is not None]

    @property
    def outcomes(self) -> list[Failure | None]:
        """The same, in the order of the checks; None where one holds."""
        return [None if memory is None else memory.failure for memory in self._memories]

    def is_incremental(self, constraint: Constraint) -> bool:
        """Whether the constraint is evaluated only as far as a message can change it."""
        return self._program.part_of(constraint) is not None

    def can_recover(self, constraint: Constraint) -> bool:
        """Whether the constraint, if it does not hold, could hold after further messages, as far as can be seen.

        What must be so for all that is said, once broken, stays broken. What must exist, or be of some number, may be
        yet to come.
        """
        part = self._program.part_of(constraint)
        return part is None or part.can_recover

    def _with(self, message: Tree | None, closed: Sequence[Tree]) -> tuple[Watch, list[Failure]]:
        rows = self._gain(self._arrived(message, closed))
        last = message if message is not None else next(reversed(closed), None)
        program = self._program
        memories = list(self._memories)
        for position, part in enumerate(program.parts):
            if part is not None:
                memories[position] = part.ask(rows, {}, memories[position])
            elif last is not None:
                memories[position] = Memory((), program.checks[position].failure(last.get_root()))
        watch = Watch(program, rows, tuple(memories))
        return watch, watch.failures

    def _gain(self, arrived: dict[str, list[Tree]]) -> Rows:
        """The rows, with what they gain from new nodes."""
        if not any(arrived.values()):
            return self._rows
        rows = list(self._rows)
        for number, watched in enumerate(self._program.watched):
            row, new = rows[number], arrived[watched.symbol]
            if not new or row.error is not None:
                continue
            try:
                gained = [tree for each in new for tree in watched.gain(each)]
            except SPEC_CODE_RAISES as error:  # a wrong index, or code that computes one
                rows[number] = Row(row.trees, error)
            else:
                if gained:
                    rows[number] = Row(row.trees.plus(gained))
        return tuple(rows)

    def _arrived(self, message: Tree | None, closed: Sequence[Tree]) -> dict[str, list[Tree]]:
        """The new nodes that are complete, by the symbols that are watched."""
        found: dict[str, list[Tree]] = {watched.symbol: [] for watched in self._program.watched}
        if message is not None:
            _collect(message, found, self._program.leads)
        for tree in closed:
            symbol = tree.nonterminal
            if symbol in found:
                found[symbol].append(tree)
        return found


def _collect(message: Tree, found: dict[str, list[Tree]], leads: dict[str, bool]) -> None:
    stack = [message]
    while stack:
        tree = stack.pop()
        node = tree.node
        if not isinstance(node, Node):
            continue
        symbol = node.symbol
        if symbol in found:
            found[symbol].append(tree)
        if leads.get(symbol):
            stack.extend(reversed(tree.children))
        if node.sources:
            stack.extend(reversed(tree.sources))


class _Compiler:
    """Makes parts of formulas, and numbers the paths from the root that they read."""

    def __init__(self, analysis: Analysis, names: dict[str, Any], constants: Container[str]) -> None:
        self._analysis = analysis
        self._names = names
        self._constants = constants
        self.paths = Paths(analysis, names)

    def constraint(self, constraint: Constraint) -> Part | None:
        """A constraint as a part; None if it needs the whole tree."""
        formula = constraint.formula
        if any(looks_around(expression, self._names) for expression in expressions_of(formula)):
            return None
        if not self._comes_apart(formula, frozenset(), order_matters=False):
            return None
        return self._formula(formula, (), frozenset())

    def _comes_apart(self, formula: Formula, bound: frozenset[str], *, order_matters: bool) -> bool:
        match formula:
            case Leaf(expression):
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
                inner = bound | {variable}
                return self._is_known(path, bound, order_matters=order_matters) and self._comes_apart(
                    body, inner, order_matters=order_matters
                )

    def _is_known(self, path: Path, bound: frozenset[str], *, order_matters: bool) -> bool:
        return path.base in bound or self.paths.can_watch(path, order_matters=order_matters)

    def _formula(self, formula: Formula, variables: tuple[str, ...], bound: frozenset[str]) -> Part:
        if not _reads_root(formula, bound):
            return Fixed((), False, False, compile_formula(formula, variables, self._analysis, self._names))
        match formula:
            case Leaf(expression):
                return self._condition(expression, variables, bound)
            case And(formulas):
                parts = tuple(self._formula(part, variables, bound) for part in formulas)
                return All(*_shared(parts), parts)
            case Or(formulas):
                parts = tuple(self._formula(part, variables, bound) for part in formulas)
                return OneOf(*_shared(parts), parts)
            case Not(inner):
                part = self._formula(inner, variables, bound)
                return Opposite(part.reads, part.can_break, part.can_recover, part, first_expression(inner))
            case Quantified():
                return self._quantifier(formula, variables, bound)

    def _quantifier(self, formula: Quantified, variables: tuple[str, ...], bound: frozenset[str]) -> Part:
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
        kind = ForEvery if formula.every else ForSome
        return kind(reads, can_recover, can_break, variable, select, body, first_expression(formula.body))

    def _condition(self, expression: Expression, variables: tuple[str, ...], bound: frozenset[str]) -> Part:
        leaf = compile_leaf(expression, variables, self._analysis, self._names)
        columns: list[Column] = []
        reads: list[int] = []
        for mention, select in zip(expression.mentions, leaf.selects, strict=True):
            row = None
            if mention.path.base not in bound:
                row = len(reads)
                reads.append(self.paths.number(mention.path))
            measured = row is not None and is_only_measured(mention, expression, self._names)
            columns.append(Column(mention, row, select, measured))
        counted = [column for column in columns if column.row is not None and column.mention.kind != "each"]
        can_recover = bool(counted) and not self._is_upper_bound(expression, variables)
        return Condition(tuple(reads), can_recover, True, leaf, tuple(columns))

    def _is_upper_bound(self, expression: Expression, variables: tuple[str, ...]) -> bool:
        return is_upper_bound(expression.python, () if variables else self._constants)  # which variables may hide


def _shared(parts: tuple[Part, ...]) -> tuple[tuple[int, ...], bool, bool]:
    """What the parts read, and whether one of them can recover, or break."""
    reads = dict.fromkeys(number for part in parts for number in part.reads)
    return tuple(reads), any(part.can_recover for part in parts), any(part.can_break for part in parts)


def _reads_root(formula: Formula, bound: frozenset[str]) -> bool:
    """Whether any path in a formula starts from the root."""
    match formula:
        case Leaf(expression):
            return any(mention.path.base not in bound for mention in expression.mentions)
        case And(parts) | Or(parts):
            return any(_reads_root(part, bound) for part in parts)
        case Not(part):
            return _reads_root(part, bound)
        case Quantified(_, variable, path, body):
            return path.base not in bound or _reads_root(body, bound | {variable})
