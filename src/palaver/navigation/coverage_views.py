"""Coverage of a spec in views: messages, states, transitions, alternatives, constraints; pairs and values if wanted.

Messages, states and transitions are counted; an alternative was taken or not (`alternatives.py`). Rules without untaken
alternatives are skipped, and so are nodes below which nothing is left to find. So the trees of later messages cost next
to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from palaver.errors import PalaverError
from palaver.grammar.analysis import Analysis
from palaver.grammar.printing import show_expr
from palaver.matching.dialogue_automaton import DialogueState
from palaver.matching.dialogue_grammar import MessageType
from palaver.matching.forecaster import Forecaster
from palaver.navigation.alternatives import RuleAutomaton
from palaver.navigation.dialogue_states import DiagramState, DialogueStateMachine, DialogueTransition
from palaver.navigation.message_pairs import MessagePairs
from palaver.navigation.navigation_limits import MAX_NOTED_STEPS
from palaver.navigation.refusal_cells import RefusalCells
from palaver.navigation.value_classes import ValueClasses
from palaver.spec.ast import Ref
from palaver.spec.traversal import symbols_of
from palaver.trees.node import Node, OpenNode

# A message between two futures.
_NotedStep: TypeAlias = tuple[DialogueState, MessageType, DialogueState]


class CoverageViews:
    """The coverage so far. `analysis` is that of the grammar of the dialogue."""

    def __init__(self, analysis: Analysis, forecaster: Forecaster) -> None:
        grammar = analysis.grammar
        self._forecaster = forecaster
        self.pairs: MessagePairs | None = None  # if they are a goal
        self.value_classes: ValueClasses | None = None  # if they are a goal
        self.refusals: RefusalCells | None = None  # if wrong messages are sent
        self.alternatives = Alternatives(analysis, grammar.start)
        # By message, the number of occurrences, also if it is 0.
        self.message_counts: dict[MessageType, int] = dict.fromkeys(forecaster.messages, 0)
        # By the text of a constraint, how often it held, and how often it was violated.
        self.constraint_counts: dict[str, tuple[int, int]] = {each.text: (0, 0) for each in grammar.constraints}
        # The variable of a quantifier, as <e> in "forall <e> in <exchange>", is no symbol of the spec.
        self._mentioned = {
            each.text: frozenset(name for name in symbols_of(each.formula) if name in grammar.rules)
            for each in grammar.constraints
        }
        self._all_mentioned = frozenset[str]().union(*self._mentioned.values())
        self._below = analysis.below
        self._held: dict[str, frozenset[str]] = {}
        # Steps whose states are not looked up yet, with the number of occurrences.
        self._steps: dict[_NotedStep, int] = {}
        self._state_counts: dict[DiagramState, int] = {}
        self._transition_counts: dict[DialogueTransition, int] = {}

    @property
    def state_counts(self) -> dict[DiagramState, int]:
        self._count_noted_steps()
        return self._state_counts

    @property
    def transition_counts(self) -> dict[DialogueTransition, int]:
        self._count_noted_steps()
        return self._transition_counts

    @cached_property
    def states(self) -> DialogueStateMachine:
        """The state machine, built when it is first asked for."""
        return DialogueStateMachine(self._forecaster)

    @cached_property
    def _transitions(self) -> dict[tuple[int, MessageType, int], DialogueTransition]:
        return {(each.source.number, each.move, each.target.number): each for each in self.states.transitions}

    def note_message(self, move: MessageType, node: Node) -> None:
        """Note a message and its alternatives, without the transition."""
        self.message_counts[move] += 1
        self.alternatives.note(node)

    def note_transition(self, before: DialogueState, move: MessageType, after: DialogueState) -> None:
        """Note the transition of a message: the future before it, its type, and the future after it."""
        step = (before, move, after)
        self._steps[step] = self._steps.get(step, 0) + 1
        if len(self._steps) > MAX_NOTED_STEPS:
            self._count_noted_steps()

    def _count_noted_steps(self) -> None:
        """Count the states and transitions of the steps noted since the last time."""
        if not self._state_counts:
            self._state_counts = dict.fromkeys(self.states.states, 0)
            self._transition_counts = dict.fromkeys(self.states.transitions, 0)
        steps, self._steps = self._steps, {}
        for (before, move, after), count in steps.items():
            source, target = self.states.state_of(before), self.states.state_of(after)
            if source is None:
                continue
            if before is self._forecaster.compiled.beginning:
                self._state_counts[source] += count
            transition = None if target is None else self._transitions.get((source.number, move, target.number))
            if transition is not None:
                self._transition_counts[transition] += count
                self._state_counts[transition.target] += count

    def note_dialogue(self, tree: Node) -> None:
        """Note the alternatives above the messages of a session, complete or not."""
        self.alternatives.note(tree)

    def note_complete_session(self, tree: Node) -> None:
        """Note a complete session, in which all constraints held: those count whose symbols all occurred."""
        self.note_dialogue(tree)
        if not self._mentioned:
            return
        present: set[str] = set()
        todo = [tree]
        while todo:
            node = todo.pop()
            if not self._may_hold(node.symbol) <= present:
                present.add(node.symbol)
                todo += [child for child in node.children if isinstance(child, Node)]
        for text, symbols in self._mentioned.items():
            if symbols <= present:
                self.note_constraint(text, True)

    def _may_hold(self, symbol: str) -> frozenset[str]:
        """The symbols mentioned by constraints that a tree of this symbol may contain."""
        held = self._held.get(symbol)
        if held is None:
            held = self._held[symbol] = self._all_mentioned & (self._below(symbol) | {symbol})
        return held

    def note_constraint(self, text: str, holds: bool) -> None:
        """Note that the constraint with this text held or was violated."""
        if text in self.constraint_counts:  # it may be a rule of what is wrong on purpose, or of an oracle
            held, failed = self.constraint_counts[text]
            self.constraint_counts[text] = (held + holds, failed + (not holds))

    def summary(self) -> list[tuple[str, int, int]]:
        """Each view: its name, the number of items reached, and the number of all items."""
        taken = set(self.alternatives.taken())
        counted: dict[str, list[bool]] = {
            "messages": [count > 0 for count in self.message_counts.values()],
            "states": [count > 0 for count in self.state_counts.values()],
            "transitions": [count > 0 for count in self.transition_counts.values()],
            "alternatives": [alternative in taken for alternative in self.alternatives],
            "constraints": [held + failed > 0 for held, failed in self.constraint_counts.values()],
        }
        found = [(name, sum(reached), len(reached)) for name, reached in counted.items()]
        more = (("pairs", self.pairs), ("values", self.value_classes), ("refusals", self.refusals))
        return [*found, *((name, each.reached, each.total) for name, each in more if each is not None)]

    def as_data(self) -> dict[str, Any]:
        """All views, as JSON can hold them. Messages that were never seen are included, to identify the spec."""
        taken: dict[str, list[str]] = {}
        for symbol, text in self.alternatives.taken():
            taken.setdefault(symbol, []).append(text)
        return {
            "messages": {show_message(move): count for move, count in self.message_counts.items()},
            "states": {state.name: count for state, count in self.state_counts.items() if count},
            "transitions": [
                [source.name, show_message(move), target.name, count]
                for (source, move, target), count in self.transition_counts.items()
                if count
            ],
            "alternatives": taken,
            "constraints": {text: list(counts) for text, counts in self.constraint_counts.items()},
        }

    def add_data(self, data: Mapping[str, Any], *, of_any_version: bool = False) -> None:
        """Add the result of `as_data`, without states and alternatives that the spec no longer has.

        Data with other messages is refused, unless it may be of another version of the spec.

        :raises PalaverError: the data is of another spec
        """
        moves = {show_message(move): move for move in self.message_counts}
        if not of_any_version and list(data["messages"]) != list(moves):
            raise PalaverError("the coverage file belongs to another spec: its messages are different")
        for name, count in data["messages"].items():
            if name in moves:
                self.message_counts[moves[name]] += count
        states = {state.name: state for state in self.state_counts}
        for name, count in data["states"].items():
            if name in states:
                self.state_counts[states[name]] += count
        for source, name, target, count in data["transitions"]:
            if source in states and target in states and name in moves:
                key = (states[source].number, moves[name], states[target].number)
                if key in self._transitions:
                    self.transition_counts[self._transitions[key]] += count
        for symbol, texts in data["alternatives"].items():
            self.alternatives.take(symbol, texts)
        for text, (held, failed) in data["constraints"].items():
            if text in self.constraint_counts:
                known = self.constraint_counts[text]
                self.constraint_counts[text] = (known[0] + held, known[1] + failed)


class Alternatives:
    """The alternatives of all rules reachable from a symbol, each with the symbol of its rule; and those taken."""

    def __init__(self, analysis: Analysis, start: str) -> None:
        self._below = analysis.below
        reachable = analysis.below(start) | {start}
        rules = analysis.grammar.bodies
        self._automata = {name: RuleAutomaton(body) for name, body in rules.items() if name in reachable}
        self._open = {name: dict.fromkeys(automaton.texts) for name, automaton in self._automata.items()}
        # By symbol, a rule below it with untaken alternatives; and the symbols that have none.
        self._witness: dict[str, str] = {}
        self._done: set[str] = set()

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """All alternatives, in the order of the spec."""
        return ((name, text) for name, automaton in self._automata.items() for text in automaton.texts)

    def taken(self) -> Iterator[tuple[str, str]]:
        """The alternatives that were taken, in the order of the spec."""
        return ((symbol, text) for symbol, text in self if text not in self._open[symbol])

    def take(self, symbol: str, texts: Iterable[str]) -> None:
        """Note that these alternatives of a rule were taken, except those that the spec does not have."""
        still_open = self._open.get(symbol, {})
        for text in texts:
            still_open.pop(text, None)

    def note(self, node: Node) -> None:
        """Note the alternatives of all nodes of a tree, except those inside of messages."""
        done = self._done
        todo = [node]
        while todo:
            here = todo.pop()
            if here.symbol in done or self._is_done_below(here.symbol):
                continue
            if self._open[here.symbol]:
                automaton = self._automata[here.symbol]
                self.take(here.symbol, automaton.taken(here.children, is_open=isinstance(here, OpenNode)))
            todo += [
                child
                for child in here.children
                if isinstance(child, Node) and child.symbol not in done and child.parties is None
            ]

    def _is_done_below(self, symbol: str) -> bool:
        """Return True if no alternative is left to find in a node of this symbol."""
        if self._open.get(self._witness.get(symbol, symbol)):
            return False
        below = self._below(symbol)
        for name, still_open in self._open.items():
            if still_open and (name == symbol or name in below):
                self._witness[symbol] = name
                return False
        self._done.add(symbol)
        return True


def show_message(move: MessageType) -> str:
    """A message as the spec writes it."""
    return show_expr(Ref(move.symbol, move.sender, move.recipient))
