"""State diagram of a dialogue as Mermaid, DOT or SVG, in colours that show its coverage.

An arrow is a transition, or in the folded form a chain of transitions: a state with one way in and one way out that is
not the beginning of a rule is left out, so an exchange is one arrow, as in the diagrams of textbooks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from typing import NamedTuple
from xml.sax.saxutils import escape

from palaver.lean_dataclasses import dataclass
from palaver.matching.dialogue_grammar import MessageType
from palaver.navigation.coverage_views import CoverageViews
from palaver.navigation.dialogue_states import DiagramState, DialogueStateMachine, DialogueTransition
from palaver.navigation.layout import PORT_GAP, Layout, LayoutItem, lay_out
from palaver.navigation.recorded_views import state_machine_of as state_machine_of
from palaver.navigation.recorded_views import views_of as views_of
from palaver.printable import counted

__all__ = [
    "CoverageViews",
    "DialogueStateMachine",
    "as_dot",
    "as_mermaid",
    "as_svg",
    "diagram",
    "state_machine_of",
    "views_of",
]


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
    remark: str = ""  # shown when it is pointed at


@dataclass(frozen=True, slots=True)
class Arrow:
    """One or more messages in the diagram, each a line of the label."""

    source: int  # index in `Diagram.boxes`
    target: int
    label: tuple[str, ...]
    ink: Ink
    remark: str = ""  # shown when it is pointed at


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
    boxes = tuple(
        Box(state, _without_brackets(state.name), _state_ink(state, views), _state_remark(state, views))
        for state in shown
    )
    arrows = tuple(
        Arrow(
            indexes[chain[0].source],
            indexes[chain[-1].target],
            tuple(_show_move(transition.move) for transition in chain),
            _chain_ink(chain, views),
            _chain_remark(chain, views),
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


def _state_remark(state: DiagramState, views: CoverageViews | None) -> str:
    if views is None:
        return ""
    count = views.state_counts[state]
    return f"{state.name}: reached {counted(count, 'time')}" if count else f"{state.name}: never reached"


def _chain_remark(chain: list[DialogueTransition], views: CoverageViews | None) -> str:
    if views is None:
        return ""
    counts = [(_show_move(each.move), views.transition_counts[each]) for each in chain]
    return "\n".join(f"{name}: {counted(count, 'time')}" if count else f"{name}: never" for name, count in counts)


def _show_move(move: MessageType) -> str:
    """A message with its sender and recipient."""
    to = "" if move.recipient is None else f" -> {move.recipient}"
    return f"{move.sender}{to}: {move.symbol[1:-1]}"


def _without_brackets(name: str) -> str:
    return name.removeprefix("<").replace(">", "", 1)


def as_mermaid(drawn: Diagram) -> str:
    """Render a Mermaid flowchart, which has coloured arrows, unlike its state diagrams. Double lines: may end here."""
    lines = ["flowchart LR"]
    lines += [f"    %% {remark}" for remark in drawn.remarks]
    lines.append("    begin(( ))")
    for index, box in enumerate(drawn.boxes):
        left, right = ("[[", "]]") if box.state.can_end else ("(", ")")
        lines.append(f"    s{index}{left}{_mermaid_text(box.name)}{right}")
    lines.append("    begin --> s0")
    lines += [f"    s{each.source} -->|{_mermaid_text(*each.label)}| s{each.target}" for each in drawn.arrows]
    for ink in Ink:
        boxes = [f"s{index}" for index, box in enumerate(drawn.boxes) if box.ink is ink]
        # The arrow to the first box is number 0.
        arrows = [str(index) for index, arrow in enumerate(drawn.arrows, 1) if arrow.ink is ink]
        if boxes and ink is not Ink.PLAIN:
            lines.append(f"    classDef {ink.name.lower()} fill:{ink.area},stroke:{ink.line},color:#000000")
            lines.append(f"    class {','.join(boxes)} {ink.name.lower()}")
        if arrows and ink is not Ink.PLAIN:
            lines.append(f"    linkStyle {','.join(arrows)} stroke:{ink.line},color:{ink.line}")
    return "".join(f"{line}\n" for line in lines)


# Mermaid marks entities with a number sign. These characters would be markup, or end the text.
_MERMAID_ENTITIES = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", "&": "#amp;", "`": "#96;"})


def _mermaid_text(*lines: str) -> str:
    return '"' + "<br>".join(line.translate(_MERMAID_ENTITIES) for line in lines) + '"'


def as_dot(drawn: Diagram) -> str:
    """Render a graph for Graphviz. Double lines: the session may end here."""
    lines = ["digraph states {"]
    lines += [f"    // {remark}" for remark in drawn.remarks]
    lines += [
        "    rankdir=LR",
        '    node [shape=box style="rounded,filled" fontname="Helvetica"]',
        '    edge [fontname="Helvetica" fontsize=10]',
        '    begin [shape=point label=""]',
    ]
    for index, box in enumerate(drawn.boxes):
        ends = " peripheries=2" if box.state.can_end else ""
        look = f'color="{box.ink.line}" fillcolor="{box.ink.area}"'
        lines.append(f"    s{index} [label={_dot_text(box.name)} {look}{ends}]")
    lines.append("    begin -> s0")
    for arrow in drawn.arrows:
        look = f'color="{arrow.ink.line}" fontcolor="{arrow.ink.line}"'
        lines.append(f"    s{arrow.source} -> s{arrow.target} [label={_dot_text(*arrow.label)} {look}]")
    lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def _dot_text(*lines: str) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


# The font is monospaced, so that the size of a text is known.
_CHARACTER = 7.3
_ROW = 15.0
_MARGIN = 24.0
_HEAD = 30.0  # left of the first box, for the arrow that leads to it
_LEGEND = {Ink.COVERED: "covered", Ink.PARTLY: "partly covered", Ink.MISSED: "not covered"}


def as_svg(drawn: Diagram) -> str:
    """Render a picture. Double lines: the session may end here."""
    layout = lay_out(
        [(_text_width(box.name) + 20, 30.0) for box in drawn.boxes],
        [(each.source, each.target, *_label_size(each)) for each in drawn.arrows],
    )
    legend = list(_legend(drawn))
    width = layout.width + 2 * _MARGIN + _HEAD
    height = layout.height + 2 * _MARGIN + _ROW * len(legend)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="monospace" font-size="12">',
        "<defs>",
        *(_arrow_head(ink) for ink in Ink),
        "</defs>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<g transform="translate({_MARGIN + _HEAD:.0f} {_MARGIN:.0f})">',
        *_beginning(layout.boxes[0]),
        *_arrows(drawn, layout),
    ]
    for box, item in zip(drawn.boxes, layout.boxes, strict=True):
        lines += _box(box, item)
    for row, (text, colour) in enumerate(legend):
        lines.append(
            f'<text x="0" y="{layout.height + _MARGIN + _ROW * row:.1f}" fill="{colour}">{escape(text)}</text>'
        )
    lines += ["</g>", "</svg>"]
    return "".join(f"{line}\n" for line in lines)


def _text_width(text: str) -> float:
    return _CHARACTER * len(text)


def _label_size(arrow: Arrow) -> tuple[float, float]:
    return max(map(_text_width, arrow.label)) + 8, _ROW * len(arrow.label) + 4


def _legend(drawn: Diagram) -> Iterator[tuple[str, str]]:
    """The meaning of the colours, and the remarks."""
    used = {box.ink for box in drawn.boxes} | {arrow.ink for arrow in drawn.arrows}
    yield from ((text, ink.line) for ink, text in _LEGEND.items() if ink in used)
    yield from ((remark, Ink.PLAIN.line) for remark in drawn.remarks)


def _arrow_head(ink: Ink) -> str:
    return (
        f'<marker id="{ink.name.lower()}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{ink.line}"/></marker>'
    )


def _beginning(first: LayoutItem) -> Iterator[str]:
    left = first.x - first.width / 2
    yield f'<circle cx="{left - _HEAD:.1f}" cy="{first.y:.1f}" r="5" fill="{Ink.PLAIN.line}"/>'
    start, end = (_CurveEnd(x, x, first.y) for x in (left - _HEAD, left))
    yield _curve(Ink.PLAIN, start, end, has_head=True)


def _box(box: Box, item: LayoutItem) -> Iterator[str]:
    look = f'rx="8" fill="{box.ink.area}" stroke="{box.ink.line}"'
    left, top = item.x - item.width / 2, item.y - item.height / 2
    yield from _remarked(box.remark)
    yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{item.width:.1f}" height="{item.height:.1f}" {look}/>'
    if box.state.can_end:
        width, height = item.width - 6, item.height - 6
        yield f'<rect x="{left + 3:.1f}" y="{top + 3:.1f}" width="{width:.1f}" height="{height:.1f}" {look}/>'
    yield _text(box.name, item.x, item.y + 4, "#000000")
    yield from ["</g>"] * bool(box.remark)


def _remarked(remark: str) -> Iterator[str]:
    """The beginning of a group that tells something when it is pointed at; nothing without a remark."""
    if remark:
        yield f"<g><title>{escape(remark)}</title>"


def _text(text: str, x: float, y: float, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{colour}">{escape(text)}</text>'


class _CurveEnd(NamedTuple):
    """An end of a curve: the edge of an item, and the edge of its column, where the curve is level."""

    x: float
    edge: float
    y: float


def _arrows(drawn: Diagram, layout: Layout) -> Iterator[str]:
    ports = _Ports(layout)
    for number, (arrow, route) in enumerate(zip(drawn.arrows, layout.routes, strict=True)):
        is_loop = route.items[0] is route.items[-1]
        yield from _remarked(arrow.remark)
        for step, (one, other) in enumerate(pairwise(route.items)):
            start, end = ports.end(one, other, (number, step)), ports.end(other, one, (number, step))
            if is_loop and one is route.label:
                start = start._replace(y=start.y + PORT_GAP / 4)  # a little lower than the line to it
            yield _curve(arrow.ink, start, end, has_head=step == len(route.items) - 2)
        for slot in route.items[1:-1]:
            if slot is not route.label:
                yield _level(arrow.ink, slot)
        top = route.label.y - _ROW * len(arrow.label) / 2
        for row, text in enumerate(arrow.label):
            yield _text(text, route.label.x, top + _ROW * row + 11, arrow.ink.line)
        yield from ["</g>"] * bool(arrow.remark)


class _Ports:
    """The ports of arrows at boxes, side by side, in the order of their neighbours."""

    def __init__(self, layout: Layout) -> None:
        boxes = dict.fromkeys(layout.boxes)
        wanted: dict[tuple[LayoutItem, bool], list[tuple[float, tuple[int, int]]]] = {}
        for number, route in enumerate(layout.routes):
            for step, (one, other) in enumerate(pairwise(route.items)):
                for box, neighbour in ((one, other), (other, one)):
                    if box in boxes:
                        side = (box, neighbour.column > box.column)
                        wanted.setdefault(side, []).append((neighbour.y, (number, step)))
        self._y: dict[tuple[LayoutItem, bool, tuple[int, int]], float] = {}
        for (box, is_right), ends in wanted.items():
            for index, (_, arrow) in enumerate(sorted(ends)):
                self._y[box, is_right, arrow] = box.y + PORT_GAP * (index - (len(ends) - 1) / 2)

    def end(self, item: LayoutItem, neighbour: LayoutItem, arrow: tuple[int, int]) -> _CurveEnd:
        """The end, at an item, of the line between it and a neighbour."""
        is_right = neighbour.column > item.column
        side = 0.5 if is_right else -0.5
        y = self._y.get((item, is_right, arrow), item.y)
        return _CurveEnd(item.x + side * item.width, item.x + side * item.column_width, y)


def _curve(ink: Ink, start: _CurveEnd, end: _CurveEnd, *, has_head: bool) -> str:
    middle = (start.edge + end.edge) / 2
    path = f"M{start.x:.1f} {start.y:.1f}H{start.edge:.1f}"
    path += f"C{middle:.1f} {start.y:.1f} {middle:.1f} {end.y:.1f} {end.edge:.1f} {end.y:.1f}H{end.x:.1f}"
    head = f' marker-end="url(#{ink.name.lower()})"' if has_head else ""
    return f'<path d="{path}" fill="none" stroke="{ink.line}"{head}/>'


def _level(ink: Ink, slot: LayoutItem) -> str:
    """A line through the slot of a column."""
    return f'<path d="M{slot.x - slot.width / 2:.1f} {slot.y:.1f}h{slot.width:.1f}" fill="none" stroke="{ink.line}"/>'
