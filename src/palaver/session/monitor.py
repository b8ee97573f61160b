"""Runtime monitor of the constraints, with three-valued verdicts (as in Bauer, Leucker & Schallhart 2011).

Constraints are split into clauses, and each is watched (`constraints.incremental`): a message costs what it can change,
not what came before it. A clause is *violated* if it does not hold, and no later message can make it hold. When the
session ends, all must hold; until then a clause may be undecided. Clauses about each node of a state
(`forall <e> in <exchange>: …`) are checked as far as the node is finished, so that a wrong message is noticed when it
comes and not when the exchange is over. Numbers of nodes only grow: a clause that limits one is violated as soon as so
many nodes have begun. Who is to blame for a clause that fails is kept with its value (`blame`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property

from palaver.compiled import Spec
from palaver.constraints.checks import Check, Failure, compile_check
from palaver.constraints.code_uses import integer_constants
from palaver.constraints.incremental import IncrementalChecks
from palaver.matching.forecaster import Forecast, Hypothesis, MessageType
from palaver.session.blame import LatestMessage, MonitorState, Violation
from palaver.session.clause_checks import (
    EarlyCheck,
    compares_numbers,
    early_check,
    early_checks,
    early_failure_in_tree,
    is_about_each,
    is_about_each_state,
    is_checked_early,
    is_checked_while_open,
    limit_of_counts,
    measured_paths,
    messages_seen,
    only_counts,
    told_apart,
)
from palaver.session.finished_nodes import in_its_place, in_recent_tree, in_their_places
from palaver.session.list_comparisons import ListComparisons
from palaver.session.message_order import MessageOrder
from palaver.solving.clauses import Clause, clauses_of
from palaver.spec.ast import Constraint
from palaver.spec.traversal import expressions_of, last_symbol, selectors_of, step_symbols, symbols_of
from palaver.trees.node import Node, OpenNode
from palaver.trees.tree import Tree


class ConstraintMonitor:
    """The constraints of one spec, for all its sessions."""

    def __init__(self, spec: Spec) -> None:
        analysis, names = spec.analysis, spec.namespace.names
        by_constraint = [clauses_of(constraint, analysis, names) for constraint in spec.grammar.constraints]
        clauses = [clause for each in by_constraint for clause in each]
        self._constraints = [number for number, each in enumerate(by_constraint) for _ in each]  # of each clause
        self._checks = [compile_check(clause.as_constraint(), analysis, names) for clause in clauses]
        constants = integer_constants(spec.python, names)
        initial = IncrementalChecks.begin(self._checks, analysis, names, constants).with_message(None)
        self.initial = MonitorState(initial, (None,) * len(clauses), (None,) * len(clauses))
        self._lasting = [not initial.can_recover(check.constraint) for check in self._checks]
        self._early = early_checks(clauses)
        numbers = {name: names[name] for name in sorted(constants)}
        limits = [limit_of_counts(at, clause, numbers) for at, clause in enumerate(clauses)]
        self._count_limits = [each for each in limits if each is not None]
        # The symbols whose nodes count as soon as they have begun; None if there are too many nodes when there is none.
        begun = frozenset(symbol for each in self._count_limits for symbol in each.symbols if symbol is not None)
        self._limited = None if any(each.limit < 0 for each in self._count_limits) else begun
        # True if `check` checks everything that can be checked on unfinished nodes.
        self.checks_all_early = all(is_checked_early(clause) for clause in clauses)
        # The symbols above messages that constraints mention.
        messages = {message.symbol for message in analysis.messages}
        mentioned = {name for constraint in spec.grammar.constraints for name in symbols_of(constraint.formula)}
        self.states = frozenset(name for name in mentioned if not messages.isdisjoint(analysis.below(name)))
        self._mentioned = frozenset(mentioned)
        # How the early values are found: on each open node, or on the whole tree.
        self._early_of_nodes: list[EarlyCheck] = []
        self._early_of_trees: dict[int, Check] = {}
        for at, clause in enumerate(clauses):
            self._add_early_value(at, clause, initial)
        # False if the whole tree is needed to evaluate the clauses.
        incremental = [initial.is_incremental(check.constraint) for check in self._checks]
        self.is_incremental = not self._early_of_trees and all(incremental)
        self.distinguished = told_apart(clauses, incremental, self.states)  # the states that hypotheses differ in
        self.lists = ListComparisons(clauses, self.states, incremental)
        # The messages that contain nothing that constraints mention.
        self._unseen = frozenset(
            name for name in messages if mentioned.isdisjoint({name} | analysis.below_including_sources(name))
        )
        if not self.is_incremental or self._early_of_nodes or self._violated(self.initial, self.initial) is not None:
            self._unseen = frozenset()
        # False if a session without violations may end wherever the grammar lets it.
        self.constrains_the_end = not all(self._lasting)
        self._analysis = analysis
        # The clauses that are only conditions on numbers of nodes, wherever these stand; and the paths to such nodes.
        self._counting = [only_counts(clause) for clause in clauses]
        self._measured = [measured_paths(clause) for clause in clauses]
        self._only_counted: dict[tuple[int, str], bool] = {}
        # For each clause, the messages that can change its value: any, if its code may look at everything.
        seen = [messages_seen(clause, messages, self.states) for clause in clauses]
        self._seen = [each if known else frozenset(messages) for each, known in zip(seen, incremental, strict=True)]
        self._listed = [self._holders(clause, messages) for clause in clauses]
        self._has_listed = any(self._listed)
        self._order = MessageOrder(spec.grammar.bodies, analysis)
        self._expressions = [tuple(expressions_of(clause.as_constraint().formula)) for clause in clauses]
        self._numeric = [compares_numbers(clause) for clause in clauses]
        self._about_each = [is_about_each(clause) for clause in clauses]
        # The messages that are always the same. With settings, nothing is certain of what is made.
        self._follows_the_grammar = not spec.grammar.settings
        self._constant = frozenset(filter(analysis.is_one_thing, messages if self._follows_the_grammar else ()))

    @cached_property
    def _sees_around(self) -> frozenset[str] | None:
        """The nodes around a message that are looked at with it; None if more is needed."""
        found = frozenset((*self._early, *(each.symbol for each in self._early_of_nodes)))
        sees_more = not self.is_incremental or self.lists.all or self._analysis.grammar.start in found
        return None if sees_more else found

    @cached_property
    def folded(self) -> frozenset[int]:
        """The constraints on states of folds, which need all of the session: the solver does not see that."""
        is_fold = self.initial.checks.is_fold
        return self.constraints_of([at for at, check in enumerate(self._checks) if is_fold(check.constraint)])

    def is_folded(self, clause: int) -> bool:
        """Return True if a clause is a condition on states of folds."""
        return self.initial.checks.is_fold(self._checks[clause].constraint)

    @cached_property
    def presumed(self) -> frozenset[int]:
        """The constraints, by their places in the spec, that have early values."""
        return self.constraints_of([*(each.clause for each in self._early_of_nodes), *self._early_of_trees])

    def _add_early_value(self, at: int, clause: Clause, initial: IncrementalChecks) -> None:
        """Compile the early value of a clause, if it has one."""
        if initial.is_fold(self._checks[at].constraint):
            return  # a step expects complete nodes
        is_limit = any(each.clause == at for each in self._count_limits)
        if is_limit or not self._speaks_of_states(clause) or is_checked_while_open(clause):
            return
        if initial.is_incremental(self._checks[at].constraint) and is_about_each_state(clause):
            self._early_of_nodes.append(early_check(at, clause, every=True))
        else:
            self._early_of_trees[at] = compile_check(clause.as_constraint(), clause.analysis, clause.names, every=True)

    def _holders(self, clause: Clause, messages: Collection[str]) -> tuple[frozenset[str], ...]:
        """For each list that a clause sees all of, the messages that may contain nodes of it."""
        found: list[frozenset[str]] = []
        if clause.expression is not None and not clause.quantifiers:
            for mention in clause.expression.mentions:
                counted = last_symbol(mention.path)
                if mention.kind != "each" and counted not in self.states:
                    wanted = {counted, mention.path.base} - self.states
                    found.append(frozenset(name for name in messages if wanted <= {name} | self._analysis.below(name)))
        return tuple(dict.fromkeys(found))

    def _speaks_of_states(self, clause: Clause) -> bool:
        """Return True if a clause selects nodes that hold messages."""
        return any(last_symbol(path) in self.states for path in selectors_of(clause.as_constraint().formula))

    def check(
        self, before: MonitorState, hypothesis: Hypothesis, latest: LatestMessage
    ) -> tuple[MonitorState, Violation | None]:
        """The state after the latest message, and the clause that it has violated.

        If the message changes nothing, the state is the same object as before.
        """
        if not self._checks:
            return before, None
        if self._is_unseen(latest.symbol, hypothesis):
            violated = self._exceeded(before, before, hypothesis) if self._count_limits else None
            if violated is None and self.lists.all:
                violated = self.lists.diverged(before, before, latest.symbol, hypothesis.ahead, None)
            if violated is None and self.constrains_the_end:
                violated = self._beyond_repair(before, before, hypothesis)
            return before, violated
        message = self._message(hypothesis)
        checks = before.checks.with_message(message, in_their_places(hypothesis.closed, hypothesis))
        after = self._state_after(before, checks, message, hypothesis, latest)
        violated = self._exceeded(before, after, hypothesis) if self._count_limits else None
        if violated is None and self.lists.all:
            violated = self.lists.diverged(before, after, latest.symbol, hypothesis.ahead, message)
        if violated is None and checks.failures:
            violated = self._violated(before, after) or self._beyond_repair(before, after, hypothesis)
        elif violated is None and self._early_of_trees:
            violated = self._beyond_repair(before, after, hypothesis)
        return after, violated or self._early_failure(message, before)

    def _state_after(
        self,
        before: MonitorState,
        checks: IncrementalChecks,
        message: Tree,
        hypothesis: Hypothesis,
        latest: LatestMessage,
    ) -> MonitorState:
        early, failures = before.early, {}
        if self._early_of_nodes or self._early_of_trees:
            failures = self._early_failures(message)
            values: list[bool | None] = list(early)
            for at in (*(each.clause for each in self._early_of_nodes), *self._early_of_trees):
                failure = failures.get(at)
                # Code that expects complete nodes may raise.
                values[at] = True if failure is None else None if failure.error is not None else False
            early = tuple(values)
        failing = [at for at, failure in enumerate(checks.outcomes) if failure is not None] if self._has_listed else ()
        undecided = [at for at in failing if self._may_be_undecided(at, latest.symbol, hypothesis.ahead)]
        return before.after(checks, early, latest, failures, undecided)

    def _early_failures(self, message: Tree) -> dict[int, Failure]:
        """The failures of clauses about states if the nodes around a message were complete as they are."""
        root = message.get_root()
        found = {at: early_failure_in_tree(check, message) for at, check in self._early_of_trees.items()}
        around = message.parent if self._early_of_nodes else None
        while around is not None:
            node = around.node
            for early in self._early_of_nodes:
                if isinstance(node, OpenNode) and early.symbol == node.symbol and found.get(early.clause) is None:
                    found[early.clause] = early.evaluate(root, {early.variable: around})
            around = around.parent
        return {at: failure for at, failure in found.items() if failure is not None}

    def _violated(self, before: MonitorState, after: MonitorState) -> Violation | None:
        for at, (failure, is_lasting) in enumerate(zip(after.checks.outcomes, self._lasting, strict=True)):
            if failure is not None and is_lasting:
                return self._with_blame(at, failure, before)
        return None

    def _exceeded(self, before: MonitorState, state: MonitorState, hypothesis: Hypothesis) -> Violation | None:
        """The clause by which there are too many nodes, or will be when those that have begun are complete."""
        if not self._count_limits:
            return None
        holds = state.checks is before.checks or not state.checks.failures  # of the nodes that are complete
        if holds and self._limited is not None and self._limited.isdisjoint(hypothesis.open_kinds):
            return None
        begun: list[str] = list(hypothesis.open_symbols)
        for each in self._count_limits:
            counts = state.checks.counts(each.clause)
            if counts is None:
                continue
            total = sum(counts) + sum(begun.count(symbol) for symbol in each.symbols if symbol is not None)
            if total > each.limit:
                failure = state.checks.outcomes[each.clause] or Failure(
                    each.expression,
                    tuple(
                        (mention, count + (begun.count(symbol) if symbol is not None else 0))
                        for mention, count, symbol in zip(each.expression.mentions, counts, each.symbols, strict=True)
                    ),
                )
                return Violation(each.clause, failure)
        return None

    def _beyond_repair(self, before: MonitorState, after: MonitorState, hypothesis: Hypothesis) -> Violation | None:
        """A clause that later messages could have satisfied, if no such message can come any more."""
        outcomes = after.checks.outcomes
        if not any(outcomes) and not self._early_of_trees:
            return None
        ahead = hypothesis.ahead
        if not ahead:
            if not hypothesis.can_end:
                return None
            clause, failure = self._first_failure(Tree(hypothesis.complete_tree()))
            known = outcomes[clause] if self.is_folded(clause) else None  # with the state
            return None if failure is None else self._with_blame(clause, known or failure, before)
        for at, (failure, seen) in enumerate(zip(outcomes, self._seen, strict=True)):
            if failure is not None and seen.isdisjoint(ahead):
                return self._with_blame(at, failure, before)
        return None

    def _with_blame(self, clause: int, failure: Failure, before: MonitorState) -> Violation:
        """The violation of a clause that was given time: by the message that broke it, if that is known."""
        if not before.fails(clause):
            return Violation(clause, failure)
        breach = before.breaches[clause]
        if breach is None or breach.is_ours:
            return Violation(clause, failure, is_doubtful=True)
        return Violation(clause, failure, breach)

    def accusation(self, state: MonitorState, hypothesis: Hypothesis) -> Violation | None:
        """The clause that the peer broke first, of those that would fail if the session ended here."""
        tree = Tree(hypothesis.complete_tree())
        found = [
            Violation(at, failure, breach)
            for at, breach in enumerate(state.breaches)
            if breach is not None and not breach.is_ours and (failure := self._checks[at].failure(tree)) is not None
        ]
        return min(found, key=lambda each: each.breach.number if each.breach else 0, default=None)

    def constraint(self, clause: int) -> Constraint:
        """The condition of a clause."""
        return self._checks[clause].constraint

    def compares_numbers(self, clause: int) -> bool:
        """Return True if it says something how far a clause is from holding."""
        return self._numeric[clause]

    def is_constant(self, symbol: str) -> bool:
        """Return True if all messages of a symbol that we can make are the same."""
        return symbol in self._constant

    def fails_always(self, violation: Violation, symbol: str) -> bool:
        """Return True if every message of this symbol fails like this: all are equal, only counted, or one too many."""
        if self.lists.all and self.lists.is_full(violation, symbol, self._analysis):
            return True
        return symbol in self._constant or self.is_only_counted(violation.clause, symbol)

    def only_counts(self, clause: int) -> bool:
        """Return True if a clause sees only numbers of nodes."""
        return bool(self._measured[clause])

    def only_counted_in(self, symbol: str) -> frozenset[int]:
        """The constraints, by their places in the spec, on which all messages of a symbol have the same effect."""
        others = {number for at, number in enumerate(self._constraints) if not self.is_only_counted(at, symbol)}
        return frozenset(self._constraints) - others

    def is_only_counted(self, clause: int, symbol: str) -> bool:
        """Return True if a clause sees only numbers of nodes, and all messages of a symbol add the same numbers."""
        key = (clause, symbol)
        if key not in self._only_counted:
            paths = self._measured[clause] if self._follows_the_grammar else ()
            names = {name for path in paths for name in (path.base, *step_symbols(path))} - self.states
            self._only_counted[key] = bool(paths) and all(self._occurs_at_most_once(name, symbol) for name in names)
        return self._only_counted[key]

    def _occurs_at_most_once(self, name: str, symbol: str) -> bool:
        """Return True if every message of a symbol contains a node of some name, and only one; or none can."""
        is_inside = name == symbol or name in self._analysis.below_including_sources(symbol)
        return not is_inside or self._analysis.occurs_once_in(name, symbol)

    def is_pending(self, before: MonitorState, after: MonitorState, hypothesis: Hypothesis, symbol: str) -> bool:
        """Return True if after a message of this symbol only clauses fail that later messages are to satisfy.

        These are conditions on numbers of nodes that failed before; conditions that hold once the open nodes are
        complete; and conditions on all nodes of some name, such as `len(*<answer>.<item>) == int(<question>.<n>)`,
        before the messages that contain them.
        """
        for at, (then, now) in enumerate(zip(before.checks.outcomes, after.checks.outcomes, strict=True)):
            is_as_before = self._counting[at] and then is not None
            is_left = is_as_before or after.early[at] or self._is_undecided(at, symbol, hypothesis.ahead)
            if now is not None and not is_left:
                return False
        return True

    def left_to_others(self, move: MessageType, forecast: Forecast) -> frozenset[int]:
        """The constraints, by their places in the spec, that need not hold yet when we send this message."""
        return self._undecided_after(move, forecast, self._is_undecided)

    def shared_with_others(self, move: MessageType, forecast: Forecast) -> frozenset[int]:
        """The constraints that other messages may yet make hold, but on which this one has a say, too."""
        return self._undecided_after(move, forecast, self._is_shared)

    def _undecided_after(
        self, move: MessageType, forecast: Forecast, is_undecided: Callable[[int, str, frozenset[str]], bool]
    ) -> frozenset[int]:
        if not self._has_listed:
            return frozenset()
        ahead = forecast.ahead_after(move)
        clauses = enumerate(self._constraints)
        return frozenset(number for at, number in clauses if is_undecided(at, move.symbol, ahead))

    def _is_undecided(self, at: int, symbol: str, ahead: frozenset[str]) -> bool:
        """Return True if a clause sees all nodes of some names, and others or more of them are to come in messages."""
        listed = self._listed[at]
        if self._lasting[at] or any(symbol in holders for holders in listed):
            return self.lists.may_become_equal(at, ahead)
        return any(not holders.isdisjoint(ahead) for holders in listed)

    def _is_shared(self, at: int, symbol: str, ahead: frozenset[str]) -> bool:
        """Return True if some of these nodes are in this message, and others are to come in other messages."""
        listed = self._listed[at]
        if self._lasting[at] or not any(symbol in holders for holders in listed):
            return False
        return any(symbol not in holders and not holders.isdisjoint(ahead) for holders in listed)

    def is_left_to_later(self, at: int, symbol: str, hypothesis: Hypothesis) -> bool:
        """Return True if a clause compares nodes of such messages with nodes that are to come when all these are said.

        `[*<echo>.<n>] == [*<add>.<n>]` does so if no <add> may come after an <echo>.
        """
        if self._lasting[at] or not any(symbol in holders for holders in self._listed[at]):
            return False
        later = [holders for holders in self._listed[at] if symbol not in holders]
        is_ahead = any(not holders.isdisjoint(hypothesis.ahead) for holders in later)
        return is_ahead and not any(self._order.may_follow(symbol, name) for holders in later for name in holders)

    def _is_left_to_others(self, at: int, symbol: str, ahead: frozenset[str]) -> bool:
        """Return True if a clause is undecided, and no other message of this symbol would have made it hold."""
        if self._is_undecided(at, symbol, ahead):
            return True
        return self.is_only_counted(at, symbol) and self._is_shared(at, symbol, ahead)

    def _may_be_undecided(self, at: int, symbol: str, ahead: frozenset[str]) -> bool:
        return self._is_undecided(at, symbol, ahead) or self._is_shared(at, symbol, ahead)

    def newly_failing(self, before: MonitorState, after: MonitorState) -> list[int]:
        """The clauses that held before a message and fail after it, and that nobody is blamed for yet."""
        if not self._has_listed:
            return []
        outcomes = enumerate(zip(before.checks.outcomes, after.checks.outcomes, strict=True))
        newly = [at for at, (then, now) in outcomes if then is None and now is not None]
        return [at for at in newly if after.breaches[at] is None and not after.early[at]]

    def broken_by(
        self, before: MonitorState, after: MonitorState, hypothesis: Hypothesis, symbol: str
    ) -> frozenset[int]:
        """The clauses that held before a message of this symbol, fail after it, and are not undecided."""
        if after is before or after.is_clean:
            return frozenset()
        return frozenset(
            at
            for at, failure in enumerate(after.checks.outcomes)
            if (
                (failure is not None and before.checks.outcomes[at] is None and not after.early[at])
                or (after.early[at] is False and not before.fails(at) and at not in self.lists.of_states)
            )
            and not (failure is not None and self._is_left_to_others(at, symbol, hypothesis.ahead))
        )

    def constraints_of(self, clauses: Collection[int]) -> frozenset[int]:
        """The constraints, by their places in the spec, that clauses belong to."""
        return frozenset(self._constraints[at] for at in clauses)

    def cannot_see(self, symbol: str) -> frozenset[int]:
        """The constraints that no message of a symbol can change."""
        return frozenset(self._constraints) - self.constraints_of(
            [at for at, seen in enumerate(self._seen) if symbol in seen]
        )

    def held_by_the_past(self, state: MonitorState, tree: Tree) -> frozenset[int]:
        """The constraints that hold, but would not if only this latest part of the session were there."""
        outcomes = zip(state.checks.outcomes, self._checks, strict=True)
        return self.constraints_of(
            [at for at, (failure, check) in enumerate(outcomes) if failure is None and check.failure(tree) is not None]
        )

    def clause_of(self, failure: Failure) -> int | None:
        """The clause that a condition is part of."""
        for at, expressions in enumerate(self._expressions):
            if failure.leaf in expressions:
                return at
        return None

    def is_lasting(self, clause: int) -> bool:
        """Return True if a clause that fails cannot hold again."""
        return self._lasting[clause]

    def is_about_each(self, clause: int) -> bool:
        """Return True if a clause is about each node of some name, not about all of them together."""
        return self._about_each[clause]

    def _is_unseen(self, symbol: str, hypothesis: Hypothesis) -> bool:
        """Return True if no constraint mentions the latest message, or the nodes that it has finished."""
        return symbol in self._unseen and self._mentioned.isdisjoint(hypothesis.closed_symbols)

    def failure_at_end(self, tree: Tree) -> Failure | None:
        """The failure of a constraint in a session that is over."""
        return self._first_failure(tree)[1]

    def _first_failure(self, tree: Tree) -> tuple[int, Failure | None]:
        for at, check in enumerate(self._checks):
            if (failure := check.failure(tree)) is not None:
                return at, failure
        return 0, None

    def _message(self, hypothesis: Hypothesis) -> Tree:
        """The latest message in its place. Clauses that are not watched see the whole tree around it.

        Watched ones see no more than the name of the node that it stands in, unless they look at that early.
        """
        if not self.is_incremental:
            return Tree(hypothesis.tree()).at(hypothesis.latest)
        is_alone = self._sees_around is not None and self._sees_around.isdisjoint(hypothesis.kinds_around)
        return in_its_place(hypothesis) if is_alone else in_recent_tree(hypothesis)

    def _early_failure(self, message: Tree, before: MonitorState) -> Violation | None:
        if not self._early:
            return None
        root, around = message.get_root(), message.parent
        while around is not None:
            assert isinstance(around.node, Node), "what has children is a node"
            is_open = isinstance(around.node, OpenNode)
            for early in self._early.get(around.node.symbol, ()):
                # Of a node that the message has completed, the value of a clause that lasts is known by now.
                if is_open or not self._lasting[early.clause]:
                    failure = early.evaluate(root, {early.variable: around})
                    if failure is not None:
                        return self._with_blame(early.clause, failure, before)
            around = around.parent
        return None
