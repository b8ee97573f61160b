"""The boxes, arrows and colours of a state diagram, whatever the format.

An arrow is a transition, or in the folded form a chain of transitions: a state with one way in and one way out that is
not the beginning of a rule is left out, so an exchange is one arrow, as in the diagrams of textbooks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from palaver.matching.dialogue_grammar import MessageType
from palaver.navigation.coverage_views import CoverageViews
from palaver.navigation.dialogue_states import DiagramState, DialogueStateMachine, DialogueTransition


class Ink(Enum):
    """Coverage as a colour: one for lines, one for areas."""

    PLAIN = ("#444444", "#f4f4f4")  # the coverage is unknown
    COVERED = ("#1a7f37", "#dafbe1")
    PARTLY = ("#9a6700", "#fff8c5")  # only the beginning of a chain
    MISSED = ("#cf222e", "#ffebe9")

    def __init__(self, line: str, area: str) -> None:
        self.line = line
        self.area = area


@dataclass(frozen=True, slots=True)
class Box:
    """A state in the diagram."""

    state: DiagramState
    name: str  # without brackets
    ink: Ink


@dataclass(frozen=True, slots=True)
class Arrow:
    """One or more messages in the diagram, each a line of the label."""

    source: int  # index in `Diagram.boxes`
    target: int
    label: tuple[str, ...]
    ink: Ink


@dataclass(frozen=True, slots=True)
class Diagram:
    """Boxes and arrows; the first box is the initial state."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    remarks: tuple[str, ...] = ()


def diagram(states: DialogueStateMachine, views: CoverageViews | None = None, *, is_folded: bool = True) -> Diagram:
    """Make the diagram of a state machine. With `views` of the same machine, colours show the coverage."""
    between = set(_between(states)) if is_folded else set()
    shown = [state for state in states.states if state not in between]
    indexes = {state: index for index, state in enumerate(shown)}
    boxes = tuple(Box(state, _without_brackets(state.name), _state_ink(state, views)) for state in shown)
    arrows = tuple(
        Arrow(
            indexes[chain[0].source],
            indexes[chain[-1].target],
            tuple(_show_move(transition.move) for transition in chain),
            _chain_ink(chain, views),
        )
        for chain in _chains(states, between)
    )
    remarks = () if states.is_complete else (f"only the first {len(states.states)} states are shown",)
    return Diagram(boxes, arrows, remarks)


def _between(states: DialogueStateMachine) -> Iterator[DiagramState]:
    """The states that are inside of an arrow in the folded form."""
    ways_in = Counter(transition.target for transition in states.transitions)
    ways_out = Counter(transition.source for transition in states.transitions)
    for state in states.states[1:]:
        if not state.is_beginning and not state.can_end and ways_in[state] == ways_out[state] == 1:
            yield state


def _chains(states: DialogueStateMachine, between: set[DiagramState]) -> Iterator[list[DialogueTransition]]:
    following = {each.source: each for each in states.transitions if each.source in between}
    for transition in states.transitions:
        if transition.source in between:
            continue
        chain = [transition]
        while chain[-1].target in between:
            chain.append(following[chain[-1].target])
        yield chain


def _state_ink(state: DiagramState, views: CoverageViews | None) -> Ink:
    if views is None:
        return Ink.PLAIN
    return Ink.COVERED if views.state_counts[state] else Ink.MISSED


def _chain_ink(chain: list[DialogueTransition], views: CoverageViews | None) -> Ink:
    if views is None:
        return Ink.PLAIN
    covered = [views.transition_counts[transition] > 0 for transition in chain]
    return Ink.COVERED if all(covered) else Ink.PARTLY if any(covered) else Ink.MISSED


def _show_move(move: MessageType) -> str:
    """A message with its sender and recipient."""
    to = "" if move.recipient is None else f" -> {move.recipient}"
    return f"{move.sender}{to}: {move.symbol[1:-1]}"


def _without_brackets(name: str) -> str:
    return name.removeprefix("<").replace(">", "", 1)
