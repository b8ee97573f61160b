"""Runtime monitor of the constraints, with three-valued verdicts (as in Bauer, Leucker & Schallhart 2011).

Constraints are split into clauses, and each is watched (`constraints.incremental`): a message costs what it can change,
not what came before it. A clause is *violated* if it does not hold, and no later message can make it hold. When the
session ends, all must hold; until then a clause may be undecided. Clauses about each node of a state
(`forall <e> in <exchange>: …`) are checked as far as the node is finished, so that a wrong message is noticed when it
comes and not when the exchange is over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import assert_never

from palaver.compiled import Spec
from palaver.constraints.checks import Evaluate, Failure, FormulaCompiler, can_bind_open_nodes, compile_check
from palaver.constraints.code_uses import integer_constants, is_upper_bound, takes_only_length
from palaver.constraints.incremental import IncrementalChecks
from palaver.matching.forecaster import Forecast, Hypothesis, MessageType
from palaver.solving.clauses import Clause, clauses_of
from palaver.spec.ast import And, Formula, Not, Or, PythonCondition, Quantified
from palaver.spec.traversal import last_symbol, symbols_of
from palaver.trees.node import Node, OpenNode
from palaver.trees.tree import Tree


@dataclass(frozen=True, slots=True)
class _EarlyCheck:
    """A clause that is checked on nodes of a state before they are finished."""

    symbol: str
    variable: str
    evaluate: Evaluate


class ConstraintMonitor:
    """The constraints of one spec, for all its sessions."""

    def __init__(self, spec: Spec) -> None:
        analysis, names = spec.analysis, spec.namespace.names
        by_constraint = [clauses_of(constraint, analysis, names) for constraint in spec.grammar.constraints]
        clauses = [clause for each in by_constraint for clause in each]
        self._constraints = [number for number, each in enumerate(by_constraint) for _ in each]  # of each clause
        self._checks = [compile_check(clause.as_constraint(), analysis, names) for clause in clauses]
        constants = integer_constants(spec.python, names)
        self.initial = IncrementalChecks.begin(self._checks, analysis, names, constants).with_message(None)
        self._lasting = [not self.initial.can_recover(check.constraint) for check in self._checks]
        self.is_incremental = all(self.initial.is_incremental(check.constraint) for check in self._checks)
        self._early = [early for clause in clauses if (early := _early(clause)) is not None]
        # True if `check` checks everything that can be checked on unfinished nodes.
        self.checks_all_early = all(_is_checked_early(clause) for clause in clauses)
        # The symbols above messages that constraints mention: hypotheses that differ in these have different verdicts.
        messages = {message.symbol for message in analysis.messages}
        mentioned = {name for constraint in spec.grammar.constraints for name in symbols_of(constraint.formula)}
        self.states = frozenset(name for name in mentioned if not messages.isdisjoint(analysis.below(name)))
        self._mentioned = frozenset(mentioned)
        # The messages that contain nothing that constraints mention.
        self._unseen = frozenset(
            name for name in messages if mentioned.isdisjoint({name} | analysis.below_including_sources(name))
        )
        if not self.is_incremental or self._violated(self.initial) is not None:
            self._unseen = frozenset()
        # False if a session without violations may end wherever the grammar lets it.
        self.constrains_the_end = not all(self._lasting)
        self._analysis = analysis
        self._number_is_fixed: dict[tuple[str, str], bool] = {}
        # The clauses that are only conditions on numbers of nodes; and the expressions that set an upper limit.
        self._counting = [_only_counts(clause) for clause in clauses]
        self._upper_bounds = frozenset(
            clause.expression
            for clause, counts in zip(clauses, self._counting, strict=True)
            if counts and clause.expression is not None and is_upper_bound(clause.expression.python, constants)
        )
        # For each clause, the messages that contain anything that it mentions.
        self._seen = [self._messages_seen(clause, messages) for clause in clauses]
        self._listed = [self._holders(clause, messages) for clause in clauses]
        self._has_listed = any(self._listed)
        # The messages that are always the same. With settings, nothing is certain of what is made.
        self._follows_the_grammar = not spec.grammar.settings
        self._constant = frozenset(
            name for name in messages if self._follows_the_grammar and analysis.is_one_thing(name)
        )

    def _messages_seen(self, clause: Clause, messages: Collection[str]) -> frozenset[str]:
        symbols = set(symbols_of(clause.as_constraint().formula))
        if not symbols.isdisjoint(self.states):
            return frozenset(messages)
        inside = self._analysis.below_including_sources
        return frozenset(name for name in messages if not symbols.isdisjoint({name} | inside(name)))

    def _holders(self, clause: Clause, messages: Collection[str]) -> frozenset[str]:
        """The messages that may contain nodes of which a clause sees all."""
        found: set[str] = set()
        if clause.expression is not None and not clause.quantifiers:
            for mention in clause.expression.mentions:
                counted = last_symbol(mention.path)
                if mention.kind != "each" and counted not in self.states:
                    wanted = {counted, mention.path.base} - self.states
                    found |= {name for name in messages if wanted <= {name} | self._analysis.below(name)}
        return frozenset(found)

    def check(
        self, before: IncrementalChecks, hypothesis: Hypothesis, symbol: str
    ) -> tuple[IncrementalChecks, Failure | None]:
        """The watch after the latest message, one of this symbol, and the failure of a clause that it has violated.

        If the message changes nothing, the watch is the same object as before.
        """
        if not self._checks:
            return before, None
        closed = hypothesis.closed
        if self._is_unseen(symbol, closed):
            return before, self._beyond_repair(before, hypothesis) if self.constrains_the_end else None
        message = self._message(hypothesis)
        after = before.with_message(message, _in_their_places(closed, hypothesis))
        violated = self._violated(after) or self._beyond_repair(after, hypothesis) if after.failures else None
        return after, violated or self._early_failure(message)

    def _violated(self, watch: IncrementalChecks) -> Failure | None:
        for failure, is_lasting in zip(watch.outcomes, self._lasting, strict=True):
            if failure is not None and is_lasting:
                return failure
        return None

    def _beyond_repair(self, watch: IncrementalChecks, hypothesis: Hypothesis) -> Failure | None:
        """The failure of a clause that later messages could have satisfied, if no such message can come any more."""
        outcomes = watch.outcomes
        if not any(outcomes):
            return None
        ahead = hypothesis.ahead
        if not ahead:
            return self.failure_at_end(Tree(hypothesis.complete_tree())) if hypothesis.can_end else None
        for failure, seen in zip(outcomes, self._seen, strict=True):
            if failure is not None and seen.isdisjoint(ahead):
                return failure
        return None

    def is_constant(self, symbol: str) -> bool:
        """Return True if all messages of a symbol that we can make are the same."""
        return symbol in self._constant

    def fails_always(self, failure: Failure, symbol: str) -> bool:
        """Return True if every message of this symbol fails like this: all are the same, or are only counted."""
        if symbol in self._constant:
            return True
        if failure.leaf not in self._upper_bounds or not self._follows_the_grammar:
            return False
        return all(self._adds_a_fixed_number(symbol, mention.path.base) for mention in failure.leaf.mentions)

    def _adds_a_fixed_number(self, symbol: str, counted: str) -> bool:
        """Return True if every message of a symbol adds the same number of nodes."""
        key = (symbol, counted)
        if key not in self._number_is_fixed:
            is_inside = counted == symbol or counted in self._analysis.below_including_sources(symbol)
            is_fixed = not is_inside or self._analysis.occurs_once_in(counted, symbol)
            self._number_is_fixed[key] = is_fixed and counted not in self.states
        return self._number_is_fixed[key]

    def is_pending(
        self, before: IncrementalChecks, after: IncrementalChecks, hypothesis: Hypothesis, symbol: str
    ) -> bool:
        """Return True if after a message of this symbol only clauses fail that later messages are to satisfy.

        These are conditions on numbers of nodes that failed before; and conditions on all nodes of some name, such as
        `len(*<answer>.<item>) == int(<question>.<n>)`, before the messages that contain them.
        """
        for at, (then, now) in enumerate(zip(before.outcomes, after.outcomes, strict=True)):
            is_as_before = self._counting[at] and then is not None
            if now is not None and not is_as_before and not self._is_left_to_others(at, symbol, hypothesis.ahead):
                return False
        return True

    def left_to_others(self, move: MessageType, forecast: Forecast) -> frozenset[int]:
        """The constraints, by their places in the spec, that need not hold yet when we send this message."""
        if not self._has_listed:
            return frozenset()
        ahead = forecast.ahead_after(move)
        clauses = enumerate(self._constraints)
        return frozenset(number for at, number in clauses if self._is_left_to_others(at, move.symbol, ahead))

    def _is_left_to_others(self, at: int, symbol: str, ahead: frozenset[str]) -> bool:
        holders = self._listed[at]
        return not self._lasting[at] and symbol not in holders and not holders.isdisjoint(ahead)

    def breaks_a_count(self, before: IncrementalChecks, after: IncrementalChecks) -> bool:
        """Return True if a number of nodes was right before, and is wrong now."""
        outcomes = zip(before.outcomes, after.outcomes, self._counting, strict=True)
        return any(counts and then is None and now is not None for then, now, counts in outcomes)

    def _is_unseen(self, symbol: str, closed: Sequence[Node]) -> bool:
        """Return True if no constraint mentions a message, or the nodes that it has finished."""
        if symbol not in self._unseen:
            return False
        return not closed or self._mentioned.isdisjoint([node.symbol for node in closed])

    def failure_at_end(self, tree: Tree) -> Failure | None:
        """The failure of a constraint in a session that is over."""
        for check in self._checks:
            if (failure := check.failure(tree)) is not None:
                return failure
        return None

    def _message(self, hypothesis: Hypothesis) -> Tree:
        """The latest message in its place. Clauses that are not watched see the whole tree around it."""
        if self.is_incremental:
            root, path = hypothesis.recent_tree()
            tree = Tree(root)
            for step in path:  # as `at`, but without the neighbours, which are not needed
                assert isinstance(tree.node, Node), "messages stand in nodes"
                tree = Tree(tree.node.children[step], tree, step)
            return tree
        return Tree(hypothesis.tree()).at(hypothesis.latest)

    def _early_failure(self, message: Tree) -> Failure | None:
        if not self._early:
            return None
        root, around = message.get_root(), message.parent
        while around is not None:
            assert isinstance(around.node, Node), "what has children is a node"
            for early in self._early:
                if early.symbol == around.node.symbol:
                    failure = early.evaluate(root, {early.variable: around})
                    if failure is not None:
                        return failure
            around = around.parent
        return None


def _early(clause: Clause) -> _EarlyCheck | None:
    """The early check of a clause whose first quantifier is over a state, and compares what is inside."""
    if not clause.quantifiers:
        return None
    first = clause.quantifiers[0]
    if first.path.steps or not can_bind_open_nodes(first):
        return None
    evaluate = FormulaCompiler(clause.analysis, clause.names, early=True).formula(_below_the_first(clause), ())
    return _EarlyCheck(first.path.base, first.variable, evaluate)


def _below_the_first(clause: Clause) -> Formula:
    """The formula below the first quantifier of a clause."""
    formula = clause.as_constraint().formula
    assert isinstance(formula, Quantified), "a clause with quantifiers begins with one"
    return formula.body


def _is_checked_early(clause: Clause) -> bool:
    """Return True if the early check covers all that can be checked on unfinished nodes."""
    is_early = _early(clause) is not None
    todo: list[Formula] = [_below_the_first(clause) if is_early else clause.as_constraint().formula]
    while todo:
        match formula := todo.pop():
            case Quantified(path=path, body=body) as quantifier:
                if not path.steps and can_bind_open_nodes(quantifier):
                    return False
                todo.append(body)
            case And(parts) | Or(parts):
                todo.extend(parts)
            case Not(part):
                todo.append(part)
            case PythonCondition():
                pass
            case _:
                assert_never(formula)
    return True


def _only_counts(clause: Clause) -> bool:
    """Return True if a clause is a condition on numbers of nodes, wherever they stand."""
    expression = clause.expression
    if expression is None or clause.quantifiers or not expression.mentions:
        return False
    return not any(mention.path.steps for mention in expression.mentions) and all(
        mention.kind == "count" or takes_only_length(mention, expression, clause.names)
        for mention in expression.mentions
    )


def _in_their_places(nodes: Sequence[Node], hypothesis: Hypothesis) -> Sequence[Tree]:
    """The nodes that the latest message has finished, each below its parent."""
    if not nodes:
        return ()
    around = next(iter(hypothesis.open_symbols), None)
    parent = None if around is None else Tree(OpenNode(around, ()))
    found: list[Tree] = []
    for node in reversed(nodes):
        holder = next((tree for tree in reversed(found) if _holds(tree, node)), parent)
        found.append(Tree(node, holder))
    found.reverse()
    return found


def _holds(tree: Tree, node: Node) -> bool:
    return isinstance(tree.node, Node) and any(child is node for child in tree.node.children)
