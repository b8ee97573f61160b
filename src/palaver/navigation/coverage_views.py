"""Coverage of a spec in five views: messages, states, transitions, alternatives, constraints.

Messages, states and transitions are counted; an alternative was taken or not. The alternative of an ambiguous node is
approximate (`alternatives.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeAlias

from palaver.errors import PalaverError
from palaver.grammar.analysis import Analysis
from palaver.grammar.printing import show_expr
from palaver.matching.dialogue_automaton import DialogueState
from palaver.matching.dialogue_grammar import MessageType
from palaver.navigation.alternatives import Alternative, Alternatives
from palaver.navigation.dialogue_states import DiagramState, DialogueStateMachine, DialogueTransition
from palaver.navigation.navigation_limits import MAX_NOTED_STEPS
from palaver.spec.ast import Ref
from palaver.spec.traversal import symbols_of
from palaver.trees.node import Node

# A message between two futures; the second may be unknown.
_NotedStep: TypeAlias = tuple[DialogueState, MessageType, DialogueState | None]


class CoverageViews:
    """The coverage so far. `analysis` is that of the grammar of the states."""

    def __init__(self, analysis: Analysis, states: DialogueStateMachine) -> None:
        grammar = analysis.grammar
        self.states = states
        self.alternatives = Alternatives(analysis, grammar.start)
        # By message, the number of occurrences, also if it is 0.
        self.message_counts: dict[MessageType, int] = dict.fromkeys(states.messages, 0)
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
    def _transitions(self) -> dict[tuple[int, MessageType, int], DialogueTransition]:
        return {(each.source.number, each.move, each.target.number): each for each in self.states.transitions}

    # --- Noting -------------------------------------------------------------------------------------------------------

    def note(self, before: DialogueState, move: MessageType, node: Node, after: DialogueState | None = None) -> None:
        """Note a message: the future before it, its type, its tree, and the future after it.

        Without the latter, the transition counts only if the message leads to a single state from there.
        """
        self.note_message(move, node)
        self.note_transition(before, move, after)

    def note_message(self, move: MessageType, node: Node) -> None:
        """Note a message and its alternatives, without the transition."""
        self.message_counts[move] += 1
        self.alternatives.note(node)

    def note_transition(self, before: DialogueState, move: MessageType, after: DialogueState | None = None) -> None:
        """Note the transition of a message."""
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
            self._count(before, move, after, count)

    def _count(self, before: DialogueState, move: MessageType, after: DialogueState | None, count: int) -> None:
        source = self.states.state_of(before)
        if source is None:
            return
        if before is self.states.beginning:
            self._state_counts[source] += count
        target = self._target(source, move) if after is None else self.states.state_of(after)
        transition = None if target is None else self._transitions.get((source.number, move, target.number))
        if transition is not None:
            self._transition_counts[transition] += count
            self._state_counts[transition.target] += count

    def _target(self, source: DiagramState, move: MessageType) -> DiagramState | None:
        targets = self.states.targets(source, move)
        return targets[0] if len(targets) == 1 else None

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
        held, failed = self.constraint_counts.get(text, (0, 0))
        self.constraint_counts[text] = (held + holds, failed + (not holds))

    # --- Reporting ----------------------------------------------------------------------------------------------------

    def summary(self) -> list[tuple[str, int, int]]:
        """Each view: its name, the number of items reached, and the number of all items."""
        counted: dict[str, list[bool]] = {
            "messages": [count > 0 for count in self.message_counts.values()],
            "states": [count > 0 for count in self.state_counts.values()],
            "transitions": [count > 0 for count in self.transition_counts.values()],
            "alternatives": [alternative in self.alternatives for alternative in self.alternatives],
            "constraints": [held + failed > 0 for held, failed in self.constraint_counts.values()],
        }
        return [(name, sum(reached), len(reached)) for name, reached in counted.items()]

    # --- Merging and storing ------------------------------------------------------------------------------------------

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

        :raises PalaverError: the data is in another form, or of another spec
        """
        _check_shape(data)
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
            self.alternatives.take(Alternative(symbol, text) for text in texts)
        for text, (held, failed) in data["constraints"].items():
            if text in self.constraint_counts:
                known = self.constraint_counts[text]
                self.constraint_counts[text] = (known[0] + held, known[1] + failed)

    @classmethod
    def from_data(cls, data: Mapping[str, Any], analysis: Analysis, states: DialogueStateMachine) -> Self:
        """Restore the result of `as_data`, for the same spec.

        :raises PalaverError: the data is in another form, or of another spec
        """
        views = cls(analysis, states)
        views.add_data(data)
        return views


def show_message(move: MessageType) -> str:
    """A message as the spec writes it."""
    return show_expr(Ref(move.symbol, move.sender, move.recipient))


# --- Files ------------------------------------------------------------------------------------------------------------


def read_views(path: str | Path) -> dict[str, Any]:
    """Read the views in a coverage file, in the form of `CoverageViews.as_data`.

    :raises PalaverError: there is no such file, or it is no coverage file
    """
    try:
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise PalaverError(f"cannot read {path}: {error.strerror}; palaver talk --coverage-file writes it") from error
    except (ValueError, RecursionError) as error:
        raise PalaverError(f"{path} is not a coverage file: it is not complete JSON ({error})") from error
    views = content.get("views") if isinstance(content, dict) else None
    if views is None:
        raise PalaverError(
            f"{path} is not a coverage file: it has no key 'views' (palaver talk --coverage-file writes one)"
        )
    try:
        _check_shape(views)
    except PalaverError as error:
        raise PalaverError(f"{path}: {error}") from None
    return dict(views)


def _check_shape(data: Any) -> None:
    is_right = (
        isinstance(data, Mapping)
        and _is_counts(data.get("messages"))
        and _is_counts(data.get("states"))
        and isinstance(data.get("transitions"), list)
        and all(map(_is_transition, data["transitions"]))
        and isinstance(data.get("alternatives"), Mapping)
        and all(map(_is_texts, data["alternatives"].values()))
        and isinstance(data.get("constraints"), Mapping)
        and all(map(_is_outcomes, data["constraints"].values()))
    )
    if not is_right:
        raise PalaverError("the coverage file is damaged: it is not in the form that palaver writes")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def _is_counts(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_count, value.values()))


def _is_transition(value: object) -> bool:
    return isinstance(value, list) and len(value) == 4 and _is_texts(value[:3]) and _is_count(value[3])


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_outcomes(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_count, value))
