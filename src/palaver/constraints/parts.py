"""Formulas about a conversation that grows, asked again and again.

A `Part` is asked with the rows of today and with the `Memory` of when it was last asked, and answers with a new one:

- a part that reads no row (`Fixed`) is evaluated once;
- a condition looks only at combinations in which something is new, unless it reads a whole list, and that has grown;
- `forall` remembers only the nodes for which the body could still fail, `exists` only those where it could still hold;
- what holds for good is `SETTLED`.

A part that nobody needs to ask (the right side of an `or` whose left side holds) simply lags behind: its memory tells
which rows it saw, so it catches up when it is asked again.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeAlias

from palaver.constraints.check import CompiledLeaf, Evaluate, Failure, Value
from palaver.constraints.growth import Grown, Rows
from palaver.constraints.select import Bindings, Select
from palaver.grammar.code import SPEC_CODE_RAISES
from palaver.spec.ast import Expression, Mention
from palaver.trees.tree import Tree


class Memory(NamedTuple):
    """What a part found when it was last asked."""

    rows: Rows  # those it reads, as they were
    failure: Failure | None
    parts: tuple[Memory | None, ...] = ()
    pending: Pending = Grown()  # nodes that a quantifier binds, with outcomes that can change


# In the order in which they were bound.
Pending: TypeAlias = "Grown[tuple[Tree, Memory | None]]"
NONE_PENDING: Pending = Grown()

# It holds, and always will.
SETTLED = Memory((), None)

# The root for those who will not look at it.
NO_TREE = Tree("")


@dataclass(frozen=True, eq=False)
class Part(ABC):
    """A formula, to be asked again and again."""

    reads: tuple[int, ...]  # the numbers of the rows it depends on
    can_recover: bool  # whether it may hold later if it fails now
    can_break: bool  # whether it may fail later if it holds now

    def ask(self, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        """The outcome today, given the rows of today and what was found before."""
        if before is SETTLED:
            return before
        now = tuple([rows[number] for number in self.reads])
        if before is not None and all(map(operator.is_, now, before.rows)):
            return before
        return self.update(now, rows, bound, before)

    @abstractmethod
    def update(self, now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        """The same, if something has changed; `now` are the rows this part reads."""


@dataclass(frozen=True, eq=False)
class Fixed(Part):
    """A formula that reads nothing but what is bound: its outcome never changes."""

    evaluate: Evaluate

    def update(self, now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        failure = self.evaluate(NO_TREE, bound)
        return SETTLED if failure is None else Memory((), failure)


@dataclass(frozen=True, slots=True)
class Column:
    """What a mention ranges over: a row (its position among those read) or, inside of a bound node, a selection."""

    mention: Mention
    row: int | None
    select: Select
    only_measured: bool  # a list of which the condition takes nothing but the length

    def values(self, now: Rows, bound: Bindings, start: int) -> Sequence[Value]:
        if self.row is None:
            found = self.select(NO_TREE, bound)
        elif self.mention.kind == "each":
            return now[self.row].selected(start)
        elif self.mention.kind == "count" or self.only_measured:
            now[self.row].selected(now[self.row].trees.length)  # it may have failed
            length = now[self.row].trees.length
            # A range is as long as the list, and is there at once.
            return [length] if self.mention.kind == "count" else [range(length)]  # type: ignore[list-item]
        else:
            return [now[self.row].selected()]
        match self.mention.kind:
            case "each":
                return found
            case "list":
                return [found]
            case "count":
                return [len(found)]


@dataclass(frozen=True, eq=False)
class Condition(Part):
    """A leaf with mentions of something from the root."""

    leaf: CompiledLeaf
    columns: tuple[Column, ...]

    def update(self, now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        function = self.leaf.function
        values: tuple[Value, ...] = ()
        error: BaseException | None = None
        try:
            for values in self._combinations(now, bound, before):
                if not function(*values):
                    break
            else:
                return Memory(now, None)
        except SPEC_CODE_RAISES as caught:  # foreign code: whatever it raises is a failure, never a pass
            error = caught
        seen = tuple(
            (column.mention, now[column.row].selected() if column.only_measured and column.row is not None else value)
            for column, value in zip(self.columns, values, strict=False)
        )
        return Memory(now, Failure(self.leaf.expression, seen, dict(bound), error))

    def _combinations(self, now: Rows, bound: Bindings, before: Memory | None) -> Iterable[tuple[Value, ...]]:
        """Those to try, in the order of all combinations: any that failed comes first of all that fail."""
        variables = [[bound[name]] for name in self.leaf.variables]
        if before is None or before.failure is not None or self._lists_have_grown(now, before):
            return product(*(column.values(now, bound, 0) for column in self.columns), *variables)
        marks = [0 if column.row is None else before.rows[column.row].trees.length for column in self.columns]
        growing = [
            column.row is not None and column.mention.kind == "each" and now[column.row].trees.length > mark
            for column, mark in zip(self.columns, marks, strict=True)
        ]
        if sum(growing) == 1:
            starts = [mark if grows else 0 for mark, grows in zip(marks, growing, strict=True)]
            options = [column.values(now, bound, start) for column, start in zip(self.columns, starts, strict=True)]
            return product(*options, *variables)
        options = [column.values(now, bound, 0) for column in self.columns]
        marks = [mark if grows else len(option) for mark, grows, option in zip(marks, growing, options, strict=True)]
        return ((*values, *(each[0] for each in variables)) for values in _with_news(options, marks))

    def _lists_have_grown(self, now: Rows, before: Memory) -> bool:
        return any(
            column.row is not None and column.mention.kind != "each" and now[column.row] is not before.rows[column.row]
            for column in self.columns
        )


def _with_news(options: list[Sequence[Value]], marks: list[int]) -> Iterator[tuple[Value, ...]]:
    """The combinations in which at least one value stands behind its mark, in the order of all combinations."""
    if not options:
        return
    first, mark = options[0], marks[0]
    others, other_marks = options[1:], marks[1:]
    if any(map(operator.gt, map(len, others), other_marks)):
        for value in first[:mark]:
            for values in _with_news(others, other_marks):
                yield (value, *values)
    for value in first[mark:]:
        for values in product(*others):
            yield (value, *values)


@dataclass(frozen=True, eq=False)
class All(Part):
    parts: tuple[Part, ...]

    def update(self, now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        memories: list[Memory | None] = [None] * len(self.parts) if before is None else list(before.parts)
        for position, part in enumerate(self.parts):
            memory = memories[position] = part.ask(rows, bound, memories[position])
            if memory.failure is not None:
                return Memory(now, memory.failure, tuple(memories))
        is_settled = all(memory is SETTLED for memory in memories)
        return SETTLED if is_settled else Memory(now, None, tuple(memories))


@dataclass(frozen=True, eq=False)
class OneOf(Part):
    parts: tuple[Part, ...]

    def update(self, now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        memories: list[Memory | None] = [None] * len(self.parts) if before is None else list(before.parts)
        failure = None
        for position, part in enumerate(self.parts):
            memory = memories[position] = part.ask(rows, bound, memories[position])
            failure = memory.failure
            if memory is SETTLED:
                return SETTLED
            if failure is None:
                break
        return Memory(now, failure, tuple(memories))


@dataclass(frozen=True, eq=False)
class Opposite(Part):
    part: Part
    expression: Expression

    def update(self, now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        memory = self.part.ask(rows, bound, None if before is None else before.parts[0])
        failure = memory.failure
        if failure is None:
            return Memory(now, Failure(self.expression, bound=dict(bound)), (memory,))
        return Memory(now, failure if failure.error is not None else None, (memory,))


@dataclass(frozen=True, eq=False)
class Quantifier(Part):
    """What `forall` and `exists` share: the nodes they bind. The row of the path, if it has one, is read first."""

    variable: str
    select: Select | None  # None: the path starts from the root, and has a row
    body: Part
    expression: Expression

    def update(self, now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        try:
            found = self._new(now, bound, before)
        except SPEC_CODE_RAISES as error:  # a computed index in the path
            return Memory(now, Failure(self.expression, bound=dict(bound), error=error))
        return self.bind(found, now, rows, bound, before)

    def _new(self, now: Rows, bound: Bindings, before: Memory | None) -> list[Tree]:
        if self.select is None:
            return now[0].selected(0 if before is None else before.rows[0].trees.length)
        # A path that raised left nothing behind, and raises again.
        return self.select(NO_TREE, bound) if before is None or not before.pending.length else []

    @abstractmethod
    def bind(self, found: list[Tree], now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        """The outcome, given the nodes that are new."""

    def _body_has_changed(self, now: Rows, before: Memory) -> bool:
        start = len(now) - len(self.body.reads)
        return not all(map(operator.is_, now[start:], before.rows[start:]))


class ForEvery(Quantifier):
    def bind(self, found: list[Tree], now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        todo: list[tuple[Tree, Memory | None]] = [(tree, None) for tree in found]
        pending = NONE_PENDING
        if before is not None:
            if before.failure is not None or self._body_has_changed(now, before):
                todo = before.pending.since(0) + todo
            else:
                pending = before.pending
        kept: list[tuple[Tree, Memory | None]] = []
        failure = None
        for position, (tree, last) in enumerate(todo):
            memory = self.body.ask(rows, {**bound, self.variable: tree}, last)
            if memory is not SETTLED:
                kept.append((tree, memory))
            if memory.failure is not None:
                failure = memory.failure
                kept += todo[position + 1 :]
                break
        pending = pending.plus(kept)
        if self.select is not None and not pending.length:
            return SETTLED
        return Memory(now, failure, pending=pending)


class ForSome(Quantifier):
    def bind(self, found: list[Tree], now: Rows, rows: Rows, bound: Bindings, before: Memory | None) -> Memory:
        if not self.body.reads:
            return self._seek(found, now, rows, bound)
        failure = Failure(self.expression, bound=dict(bound))
        todo = [] if before is None else before.pending.since(0)
        todo += [(tree, None) for tree in found]
        for position, (tree, last) in enumerate(todo):
            memory = self.body.ask(rows, {**bound, self.variable: tree}, last)
            if memory is SETTLED:
                return SETTLED
            todo[position] = (tree, memory)
            if memory.failure is None:
                return Memory(now, None, pending=NONE_PENDING.plus(todo))
            failure = memory.failure
        return Memory(now, failure, pending=NONE_PENDING.plus(todo))

    def _seek(self, found: list[Tree], now: Rows, rows: Rows, bound: Bindings) -> Memory:
        """The outcome where that of the body never changes: none of the nodes need be looked at again."""
        failure = None
        for tree in reversed(found):  # What is asked for is likely to be what was said last.
            memory = self.body.ask(rows, {**bound, self.variable: tree}, None)
            if memory.failure is None:
                return SETTLED
            failure = failure or memory.failure
        return Memory(now, failure or Failure(self.expression, bound=dict(bound)))
