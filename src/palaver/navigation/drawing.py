"""A state map as a diagram: what is drawn, in which colour; as Mermaid or as DOT.

An arrow is a transition, or in the folded form a chain of them, where what lies between has only one way in and
out and is not the beginning of a rule: an exchange is one arrow then, as in the diagrams of textbooks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from palaver.matching.cut import MessageType
from palaver.navigation.statemap import DialogueState, DialogueTransition, StateMap
from palaver.navigation.views import Views


class Ink(Enum):
    """What colour says: a colour for lines, one for areas."""

    PLAIN = ("#444444", "#f4f4f4")  # nothing is known about coverage
    COVERED = ("#1a7f37", "#dafbe1")
    PARTLY = ("#9a6700", "#fff8c5")  # of a chain, only the beginning
    MISSED = ("#cf222e", "#ffebe9")

    def __init__(self, line: str, area: str) -> None:
        self.line = line
        self.area = area


@dataclass(frozen=True, slots=True)
class Box:
    """A state in the diagram."""

    state: DialogueState
    name: str  # without brackets
    ink: Ink


@dataclass(frozen=True, slots=True)
class Arrow:
    """One or more messages in the diagram, each a line of the label."""

    source: int  # the place in `boxes`
    target: int
    label: tuple[str, ...]
    ink: Ink


@dataclass(frozen=True, slots=True)
class Diagram:
    """Boxes and arrows; the first box is where everything begins."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    remarks: tuple[str, ...] = ()


def diagram(states: StateMap, views: Views | None = None, *, is_folded: bool = True) -> Diagram:
    """What is to be drawn. Where `views` are given, which are of this map, colours tell what was covered."""
    between = set(_between(states)) if is_folded else set()
    shown = [state for state in states.states if state not in between]
    places = {state: place for place, state in enumerate(shown)}
    boxes = tuple(Box(state, _without_brackets(state.name), _state_ink(state, views)) for state in shown)
    arrows = tuple(
        Arrow(
            places[chain[0].source],
            places[chain[-1].target],
            tuple(show_move(transition.move) for transition in chain),
            _chain_ink(chain, views),
        )
        for chain in _chains(states, between)
    )
    remarks = () if states.is_complete else (f"only {len(states.states)} states are shown; there are more",)
    return Diagram(boxes, arrows, remarks)


def _between(states: StateMap) -> Iterator[DialogueState]:
    """The states that lie inside of an arrow when the map is folded."""
    ways_in = Counter(transition.target for transition in states.transitions)
    ways_out = Counter(transition.source for transition in states.transitions)
    for state in states.states[1:]:
        if not state.is_beginning and not state.can_end and ways_in[state] == ways_out[state] == 1:
            yield state


def _chains(states: StateMap, between: set[DialogueState]) -> Iterator[list[DialogueTransition]]:
    following = {each.source: each for each in states.transitions if each.source in between}
    for transition in states.transitions:
        if transition.source in between:
            continue
        chain = [transition]
        while chain[-1].target in between:
            chain.append(following[chain[-1].target])
        yield chain


def _state_ink(state: DialogueState, views: Views | None) -> Ink:
    if views is None:
        return Ink.PLAIN
    return Ink.COVERED if views.state_counts[state] else Ink.MISSED


def _chain_ink(chain: list[DialogueTransition], views: Views | None) -> Ink:
    if views is None:
        return Ink.PLAIN
    covered = [views.transition_counts[transition] > 0 for transition in chain]
    return Ink.COVERED if all(covered) else Ink.PARTLY if any(covered) else Ink.MISSED


def show_move(move: MessageType) -> str:
    """A message and who says it to whom."""
    to = "" if move.recipient is None else f" -> {move.recipient}"
    return f"{move.sender}{to}: {move.symbol[1:-1]}"


def _without_brackets(name: str) -> str:
    return name.removeprefix("<").replace(">", "", 1)


# --- Mermaid ----------------------------------------------------------------------------------------------------------


def as_mermaid(drawn: Diagram) -> str:
    """A flowchart: other than state diagrams, these have coloured arrows. Double lines: this may be the end."""
    lines = ["flowchart LR"]
    lines += [f"    %% {remark}" for remark in drawn.remarks]
    lines.append("    begin(( ))")
    for place, box in enumerate(drawn.boxes):
        left, right = ("[[", "]]") if box.state.can_end else ("(", ")")
        lines.append(f"    s{place}{left}{_mermaid_text(box.name)}{right}")
    lines.append("    begin --> s0")
    lines += [f"    s{each.source} -->|{_mermaid_text(*each.label)}| s{each.target}" for each in drawn.arrows]
    for ink in Ink:
        boxes = [f"s{place}" for place, box in enumerate(drawn.boxes) if box.ink is ink]
        # The arrow to the first box is number 0.
        arrows = [str(place) for place, arrow in enumerate(drawn.arrows, 1) if arrow.ink is ink]
        if boxes and ink is not Ink.PLAIN:
            lines.append(f"    classDef {ink.name.lower()} fill:{ink.area},stroke:{ink.line},color:#000000")
            lines.append(f"    class {','.join(boxes)} {ink.name.lower()}")
        if arrows and ink is not Ink.PLAIN:
            lines.append(f"    linkStyle {','.join(arrows)} stroke:{ink.line},color:{ink.line}")
    return "".join(f"{line}\n" for line in lines)


# Mermaid writes entities with a number sign. These characters would be markup, or end the text.
_MERMAID_ENTITIES = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", "&": "#amp;", "`": "#96;"})


def _mermaid_text(*lines: str) -> str:
    return '"' + "<br>".join(line.translate(_MERMAID_ENTITIES) for line in lines) + '"'


# --- DOT --------------------------------------------------------------------------------------------------------------


def as_dot(drawn: Diagram) -> str:
    """A graph for Graphviz. Double lines: this may be the end."""
    lines = ["digraph states {"]
    lines += [f"    // {remark}" for remark in drawn.remarks]
    lines += [
        "    rankdir=LR",
        '    node [shape=box style="rounded,filled" fontname="Helvetica"]',
        '    edge [fontname="Helvetica" fontsize=10]',
        '    begin [shape=point label=""]',
    ]
    for place, box in enumerate(drawn.boxes):
        ends = " peripheries=2" if box.state.can_end else ""
        look = f'color="{box.ink.line}" fillcolor="{box.ink.area}"'
        lines.append(f"    s{place} [label={_dot_text(box.name)} {look}{ends}]")
    lines.append("    begin -> s0")
    for arrow in drawn.arrows:
        look = f'color="{arrow.ink.line}" fontcolor="{arrow.ink.line}"'
        lines.append(f"    s{arrow.source} -> s{arrow.target} [label={_dot_text(*arrow.label)} {look}]")
    lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def _dot_text(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
