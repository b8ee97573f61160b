"""State diagram as SVG, drawn without any other program."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple
from xml.sax.saxutils import escape

from palaver.navigation.diagram_model import Arrow, Box, Diagram, Ink
from palaver.navigation.layout import PORT_GAP, Layout, LayoutItem, lay_out

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
    yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{item.width:.1f}" height="{item.height:.1f}" {look}/>'
    if box.state.can_end:
        width, height = item.width - 6, item.height - 6
        yield f'<rect x="{left + 3:.1f}" y="{top + 3:.1f}" width="{width:.1f}" height="{height:.1f}" {look}/>'
    yield _text(box.name, item.x, item.y + 4, "#000000")


def _text(text: str, x: float, y: float, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{colour}">{escape(text)}</text>'


# --- Arrows -----------------------------------------------------------------------------------------------------------


class _CurveEnd(NamedTuple):
    """An end of a curve: the edge of an item, and the edge of its column, where the curve is level."""

    x: float
    edge: float
    y: float


def _arrows(drawn: Diagram, layout: Layout) -> Iterator[str]:
    ports = _Ports(layout)
    for number, (arrow, route) in enumerate(zip(drawn.arrows, layout.routes, strict=True)):
        is_loop = route.items[0] is route.items[-1]
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
