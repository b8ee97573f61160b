"""Semi-naive evaluation (Bancilhon & Ramakrishnan 1986) of formulas, again whenever the tree has grown.

A formula looks only at combinations in which something is
new. It is given the selections of now and its own last `Outcome`, and returns a new one:

- a formula that reads no selection (`StaticFormula`) is evaluated once;
- a condition on a fold over a list goes on with the state it had (`folds`);
- a leaf looks at combinations with something new, unless it reads a whole list that has grown;
- `forall` keeps only the nodes for which the body may still fail, `exists` only those for which it may still hold;
- a formula that holds for good is `SETTLED`.

A formula whose outcome is not needed (the right side of an `or` whose left side holds) is not evaluated. Its last
outcome has the selections it saw, so it catches up later.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import NamedTuple, TypeAlias

from palaver.constraints.checks import CompiledLeaf, Evaluate, Failure, Value, values_of
from palaver.constraints.folds import Fold, FoldState
from palaver.constraints.node_selectors import Bindings, Select
from palaver.constraints.path_growth import AppendOnlyList, Selections
from palaver.lean_dataclasses import dataclass
from palaver.spec.ast import Expression, Mention
from palaver.spec.python_code import SPEC_CODE_RAISES, SpecFunction
from palaver.trees.tree import Tree


class Outcome(NamedTuple):
    """The outcome of a formula, with what is needed to update it."""

    selections: Selections  # those the formula reads, as they were
    failure: Failure | None
    parts: tuple[Outcome | None, ...] = ()
    pending: Pending = AppendOnlyList()  # nodes that a quantifier binds, with outcomes that can change
    states: tuple[FoldState, ...] = ()  # of folds


# In the order in which they were bound.
Pending: TypeAlias = "AppendOnlyList[tuple[Tree, Outcome | None]]"
NONE_PENDING: Pending = AppendOnlyList()

# The formula holds, and always will.
SETTLED = Outcome((), None)

# The root, where it is not looked at.
NO_TREE = Tree("")


@dataclass(frozen=True, eq=False)
class IncrementalFormula(ABC):
    """A formula that can be evaluated again and again."""

    reads: tuple[int, ...]  # the numbers of the selections it depends on
    can_recover: bool  # it may hold later if it fails now
    can_break: bool  # it may fail later if it holds now

    def evaluate(self, selections: Selections, bound: Bindings, before: Outcome | None) -> Outcome:
        """The outcome for the selections of now, given the last one."""
        if before is SETTLED:
            return before
        now = tuple([selections[number] for number in self.reads])
        if before is not None and all(map(operator.is_, now, before.selections)):
            return before
        return self.update(now, selections, bound, before)

    @abstractmethod
    def update(self, now: Selections, selections: Selections, bound: Bindings, before: Outcome | None) -> Outcome:
        """The outcome after something has changed; `now` are the selections that this formula reads."""


@dataclass(frozen=True, eq=False)
class StaticFormula(IncrementalFormula):
    """A formula that reads only bound nodes: its outcome never changes."""

    check: Evaluate

    def update(self, now: Selections, selections: Selections, bound: Bindings, before: Outcome | None) -> Outcome:
        failure = self.check(NO_TREE, bound)
        return SETTLED if failure is None else Outcome((), failure)


@dataclass(frozen=True, eq=False)
class IncrementalFold(IncrementalFormula):
    """A condition on folds over lists; it reads a selection for each of them."""

    expression: Expression
    function: SpecFunction  # of the states of the folds
    folds: tuple[Fold, ...]

    def update(self, now: Selections, selections: Selections, bound: Bindings, before: Outcome | None) -> Outcome:
        states = tuple(fold.initial for fold in self.folds) if before is None else before.states
        error: BaseException | None = None
        try:
            states = tuple(
                fold.after(state, selection.selected(state.length))
                for fold, state, selection in zip(self.folds, states, now, strict=True)
            )
            if self.function(*(state.value for state in states)):
                return Outcome(now, None, states=states)
        except SPEC_CODE_RAISES as caught:  # foreign code: whatever it raises is a failure, never a pass
            error = caught
        seen = tuple((fold.name, state.value) for fold, state in zip(self.folds, states, strict=True))
        return Outcome(now, Failure(self.expression, (), dict(bound), error, seen), states=states)


@dataclass(frozen=True, slots=True)
class MentionValues:
    """The values of a mention: those of a selection, by its position among those read, or found in a bound node."""

    mention: Mention
    position: int | None
    select: Select
    only_measured: bool  # a list of which the condition takes only the length

    def values(self, now: Selections, bound: Bindings, start: int) -> Sequence[Value]:
        kind = self.mention.kind
        if self.position is None:
            found = self.select(NO_TREE, bound)
        else:
            selection = now[self.position]
            if kind == "each":
                return selection.selected(start)
            if kind == "count" or self.only_measured:
                length = selection.trees.length
                selection.selected(length)  # raises if the path has failed
                # A range is as long as the list, and takes no time to make.
                return [length] if kind == "count" else [range(length)]  # type: ignore[list-item]
            found = selection.selected()
        return values_of(self.mention, found)


@dataclass(frozen=True, eq=False)
class IncrementalLeaf(IncrementalFormula):
    """A condition that mentions something from the root."""

    leaf: CompiledLeaf
    mentions: tuple[MentionValues, ...]

    @cached_property
    def _needed(self) -> tuple[int, ...]:
        """The positions of selections without whose nodes there is nothing to try; none if a mention may raise."""
        needed = [each.position for each in self.mentions if each.position is not None and each.mention.kind == "each"]
        return tuple(needed) if all(each.position is not None for each in self.mentions) else ()

    def update(self, now: Selections, selections: Selections, bound: Bindings, before: Outcome | None) -> Outcome:
        if 0 in [now[at].trees.length for at in self._needed] and not any(each.error for each in now):
            return Outcome(now, None)
        function = self.leaf.function
        values: tuple[Value, ...] = ()
        error: BaseException | None = None
        try:
            for values in self._combinations(now, bound, before):
                if not function(*values):
                    break
            else:
                return Outcome(now, None)
        except SPEC_CODE_RAISES as caught:  # foreign code: whatever it raises is a failure, never a pass
            error = caught
        seen = tuple(
            (each.mention, now[each.position].selected() if each.only_measured and each.position is not None else value)
            for each, value in zip(self.mentions, values, strict=False)
        )
        return Outcome(now, Failure(self.leaf.expression, seen, dict(bound), error))

    def _combinations(self, now: Selections, bound: Bindings, before: Outcome | None) -> Iterable[tuple[Value, ...]]:
        """The combinations to try, in the order of all combinations: the first that fails is the first of all."""
        variables = [[bound[name]] for name in self.leaf.variables]
        if before is None or before.failure is not None or self._lists_have_grown(now, before):
            return product(*(each.values(now, bound, 0) for each in self.mentions), *variables)
        last = before.selections
        known = [0 if each.position is None else last[each.position].trees.length for each in self.mentions]
        growing = [
            each.position is not None and each.mention.kind == "each" and now[each.position].trees.length > length
            for each, length in zip(self.mentions, known, strict=True)
        ]
        if sum(growing) == 1:
            starts = [length if grows else 0 for length, grows in zip(known, growing, strict=True)]
            options = [each.values(now, bound, start) for each, start in zip(self.mentions, starts, strict=True)]
            return product(*options, *variables)
        options = [each.values(now, bound, 0) for each in self.mentions]
        known = [size if grows else len(each) for size, grows, each in zip(known, growing, options, strict=True)]
        return ((*values, *(each[0] for each in variables)) for values in _with_new_value(options, known))

    def _lists_have_grown(self, now: Selections, before: Outcome) -> bool:
        lists = [each.position for each in self.mentions if each.mention.kind != "each"]
        return any(at is not None and now[at] is not before.selections[at] for at in lists)


def _with_new_value(options: list[Sequence[Value]], known: list[int]) -> Iterator[tuple[Value, ...]]:
    """The combinations with at least one value behind those known before, in the order of all combinations."""
    if not options:
        return
    first, length = options[0], known[0]
    others, other_lengths = options[1:], known[1:]
    if any(map(operator.gt, map(len, others), other_lengths)):
        for value in first[:length]:
            for values in _with_new_value(others, other_lengths):
                yield (value, *values)
    for value in first[length:]:
        for values in product(*others):
            yield (value, *values)


@dataclass(frozen=True, eq=False)
class IncrementalConnective(IncrementalFormula):
    """`and` if every part must hold, else `or`."""

    every: bool
    parts: tuple[IncrementalFormula, ...]

    def update(self, now: Selections, selections: Selections, bound: Bindings, before: Outcome | None) -> Outcome:
        outcomes: list[Outcome | None] = [None] * len(self.parts) if before is None else list(before.parts)
        failure = None
        for position, part in enumerate(self.parts):
            outcome = outcomes[position] = part.evaluate(selections, bound, outcomes[position])
            failure = outcome.failure
            if (failure is None) is not self.every:
                break
        is_settled = (all if self.every else any)(outcome is SETTLED for outcome in outcomes)
        return SETTLED if is_settled else Outcome(now, failure, tuple(outcomes))


@dataclass(frozen=True, eq=False)
class IncrementalNot(IncrementalFormula):
    part: IncrementalFormula
    expression: Expression

    def update(self, now: Selections, selections: Selections, bound: Bindings, before: Outcome | None) -> Outcome:
        outcome = self.part.evaluate(selections, bound, None if before is None else before.parts[0])
        failure = outcome.failure
        if failure is None:
            return Outcome(now, Failure(self.expression, bound=dict(bound)), (outcome,))
        return Outcome(now, failure if failure.error is not None else None, (outcome,))


@dataclass(frozen=True, eq=False)
class IncrementalQuantifier(IncrementalFormula):
    """The part that `forall` and `exists` share: binding nodes. The path's selection, if it has one, is read first."""

    variable: str
    select: Select | None  # None: the path starts from the root, and has a selection
    body: IncrementalFormula
    expression: Expression

    def update(self, now: Selections, selections: Selections, bound: Bindings, before: Outcome | None) -> Outcome:
        try:
            found = self._new(now, bound, before)
        except SPEC_CODE_RAISES as error:  # a computed index in the path
            return Outcome(now, Failure(self.expression, bound=dict(bound), error=error))
        return self.bind(found, now, selections, bound, before)

    def _new(self, now: Selections, bound: Bindings, before: Outcome | None) -> list[Tree]:
        if self.select is None:
            return now[0].selected(0 if before is None else before.selections[0].trees.length)
        # A path that raised left nothing behind, and raises again.
        return self.select(NO_TREE, bound) if before is None or not before.pending.length else []

    @abstractmethod
    def bind(
        self, found: list[Tree], now: Selections, selections: Selections, bound: Bindings, before: Outcome | None
    ) -> Outcome:
        """The outcome, given the nodes that are new."""

    def _body_has_changed(self, now: Selections, before: Outcome) -> bool:
        start = len(now) - len(self.body.reads)
        return not all(map(operator.is_, now[start:], before.selections[start:]))


class IncrementalForall(IncrementalQuantifier):
    def bind(
        self, found: list[Tree], now: Selections, selections: Selections, bound: Bindings, before: Outcome | None
    ) -> Outcome:
        todo: list[tuple[Tree, Outcome | None]] = [(tree, None) for tree in found]
        pending = NONE_PENDING
        if before is not None:
            if before.failure is not None or self._body_has_changed(now, before):
                todo = before.pending.since(0) + todo
            else:
                pending = before.pending
        kept: list[tuple[Tree, Outcome | None]] = []
        failure = None
        for position, (tree, last) in enumerate(todo):
            outcome = self.body.evaluate(selections, {**bound, self.variable: tree}, last)
            if outcome is not SETTLED:
                kept.append((tree, outcome))
            if outcome.failure is not None:
                failure = outcome.failure
                kept += todo[position + 1 :]
                break
        pending = pending.plus(kept)
        if self.select is not None and not pending.length:
            return SETTLED
        return Outcome(now, failure, pending=pending)


class IncrementalExists(IncrementalQuantifier):
    def bind(
        self, found: list[Tree], now: Selections, selections: Selections, bound: Bindings, before: Outcome | None
    ) -> Outcome:
        if not self.body.reads:
            return self._bind_static(found, now, selections, bound)
        failure = Failure(self.expression, bound=dict(bound))
        todo = [] if before is None else before.pending.since(0)
        todo += [(tree, None) for tree in found]
        for position, (tree, last) in enumerate(todo):
            outcome = self.body.evaluate(selections, {**bound, self.variable: tree}, last)
            if outcome is SETTLED:
                return SETTLED
            todo[position] = (tree, outcome)
            if outcome.failure is None:
                return Outcome(now, None, pending=NONE_PENDING.plus(todo))
            failure = outcome.failure
        return Outcome(now, failure, pending=NONE_PENDING.plus(todo))

    def _bind_static(self, found: list[Tree], now: Selections, selections: Selections, bound: Bindings) -> Outcome:
        """The outcome where that of the body never changes, so that no node need be looked at again."""
        failure = None
        for tree in reversed(found):  # the newest node is the likeliest to satisfy the body
            outcome = self.body.evaluate(selections, {**bound, self.variable: tree}, None)
            if outcome.failure is None:
                return SETTLED
            failure = failure or outcome.failure
        return Outcome(now, failure or Failure(self.expression, bound=dict(bound)))
