"""Where boxes and labels of a diagram go: in columns, from left to right, with few crossings and no overlaps.

How it works
============

Arrows that would lead back are turned round, so that every box can stand right of all that lead to it. Boxes stand in
even columns. Each label has a place of its own, in the odd column behind the box where its arrow begins, and where an
arrow passes a column, a slot is kept free for it. So nothing can lie upon anything else. Within a column, things
are sorted by where their neighbours are; then each is moved as near to its neighbours as those above and below allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

# How often columns are looked at again when their order, and when their places, are improved.
_ROUNDS = 12
# Pixels between columns, between things in a column, and between the ends of arrows at a box.
_COLUMN_GAP = 44
_ROW_GAP = 10
PORT_GAP = 12


@dataclass(eq=False)
class LayoutItem:
    """A box, a label, or a slot for an arrow; `x` and `y` are its middle."""

    width: float
    height: float
    column: int = 0
    x: float = 0.0
    y: float = 0.0
    column_width: float = 0.0
    left: list[LayoutItem] = field(default_factory=list)  # what it is connected to in the column before
    right: list[LayoutItem] = field(default_factory=list)


@dataclass(frozen=True)
class ArrowRoute:
    """The way of an arrow: from the source over its label to the target. A loop ends where it began."""

    label: LayoutItem
    things: tuple[LayoutItem, ...]


@dataclass(frozen=True)
class Layout:
    boxes: tuple[LayoutItem, ...]
    lines: tuple[ArrowRoute, ...]  # one for each arrow
    width: float
    height: float


def lay_out(boxes: Sequence[tuple[float, float]], arrows: Sequence[tuple[int, int, float, float]]) -> Layout:
    """Places for boxes of these sizes, and for arrows: source, target, and the size of the label.

    Every box can be reached from the first.
    """
    things = tuple(LayoutItem(*size) for size in boxes)
    layers = _layers(len(boxes), [(source, target) for source, target, *_ in arrows])
    for thing, layer in zip(things, layers, strict=True):
        thing.column = 2 * layer
    lines = tuple(_line(things, layers, *arrow) for arrow in arrows)
    columns = _columns(things, lines)
    _make_room_for_arrows(things)
    _sort(columns)
    _move(columns)
    width = _place_columns(columns)
    top = min(thing.y - thing.height / 2 for column in columns for thing in column)
    for column in columns:
        for thing in column:
            thing.y -= top
    height = max(thing.y + thing.height / 2 for column in columns for thing in column)
    return Layout(things, lines, width, height)


def _layers(count: int, arrows: Iterable[tuple[int, int]]) -> list[int]:
    """For each box how far right it stands: behind all boxes that lead to it, but for arrows that lead back."""
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in arrows:
        if source != target:
            following[source].append(target)
    finished: dict[int, None] = {}
    ahead: list[list[int]] = [[] for _ in range(count)]  # without arrows that lead back
    path = [(0, iter(following[0]))]
    on_path = {0}
    while path:
        box, rest = path[-1]
        target = next(rest, box)
        if target == box:
            path.pop()
            on_path.discard(box)
            finished[box] = None
        elif target not in on_path:
            ahead[box].append(target)
            if target not in finished:
                on_path.add(target)
                path.append((target, iter(following[target])))
    layers = [0] * count
    for box in reversed(finished):
        for target in ahead[box]:
            layers[target] = max(layers[target], layers[box] + 1)
    return layers


def _line(
    boxes: Sequence[LayoutItem], layers: Sequence[int], source: int, target: int, width: float, height: float
) -> ArrowRoute:
    """The way of one arrow. What it passes is connected from left to right, whichever way the arrow leads."""
    label = LayoutItem(width, height)
    first, last = sorted((source, target), key=layers.__getitem__)
    if source == target:
        label.column = boxes[source].column + 1
        _connect(boxes[source], label)
        return ArrowRoute(label, (boxes[source], label, boxes[source]))
    way = [boxes[first], label]
    way += [LayoutItem(0, PORT_GAP) for _ in range(2 * layers[first] + 2, 2 * layers[last])]
    way.append(boxes[last])
    for offset, (one, other) in enumerate(pairwise(way), 1):
        if other is not boxes[last]:
            other.column = boxes[first].column + offset
        _connect(one, other)
    return ArrowRoute(label, tuple(way if first == source else reversed(way)))


def _connect(left: LayoutItem, right: LayoutItem) -> None:
    left.right.append(right)
    right.left.append(left)


def _columns(boxes: Iterable[LayoutItem], lines: Iterable[ArrowRoute]) -> list[list[LayoutItem]]:
    things = dict.fromkeys(boxes) | dict.fromkeys(thing for line in lines for thing in line.things)
    columns: list[list[LayoutItem]] = [[] for _ in range(1 + max(thing.column for thing in things))]
    for thing in things:
        columns[thing.column].append(thing)
    return columns


def _make_room_for_arrows(boxes: Iterable[LayoutItem]) -> None:
    for box in boxes:
        loops = sum(thing.right == [] for thing in box.right)
        box.height = max(box.height, PORT_GAP * (1 + max(len(box.left), len(box.right) + loops)))


def _sort(columns: list[list[LayoutItem]]) -> None:
    """Order each column by where the neighbours of its things stand, again and again from both sides."""
    for number in range(_ROUNDS):
        is_rightwards = number % 2 == 0
        place = {thing: float(row) for column in columns for row, thing in enumerate(column)}
        for column in columns if is_rightwards else reversed(columns):
            column.sort(
                key=lambda thing: _middle(thing.left if is_rightwards else thing.right, place.get, place[thing])
            )
            place |= {thing: float(row) for row, thing in enumerate(column)}


def _middle(things: Sequence[LayoutItem], value: Callable[[LayoutItem], float | None], default: float) -> float:
    values = [each for thing in things if (each := value(thing)) is not None]
    return sum(values) / len(values) if values else default


def _move(columns: list[list[LayoutItem]]) -> None:
    """Move things towards their neighbours, in their order and without overlaps."""
    for column in columns:
        _settle(column, [0.0] * len(column))
    for number in range(_ROUNDS):
        for column in columns if number % 2 == 0 else reversed(columns):
            _settle(column, [_middle([*thing.left, *thing.right], lambda each: each.y, thing.y) for thing in column])


def _settle(column: list[LayoutItem], wanted: list[float]) -> None:
    """Places as near to the wanted ones as can be: things that want the same place share it out among themselves."""
    # Pools of things that stand close together: how many, and the sum of where their first would like to be.
    pools: list[tuple[int, float]] = []
    offsets = list(_offsets(column))
    for want, offset in zip(wanted, offsets, strict=True):
        pools.append((1, want - offset))
        while len(pools) > 1 and pools[-2][1] / pools[-2][0] > pools[-1][1] / pools[-1][0]:
            (count, total), (more, sum_of_more) = pools[-2:]
            pools[-2:] = [(count + more, total + sum_of_more)]
    starts = [total / count for count, total in pools for _ in range(count)]
    for thing, start, offset in zip(column, starts, offsets, strict=True):
        thing.y = start + offset


def _offsets(column: list[LayoutItem]) -> Iterator[float]:
    """How far the middle of each is below the top if they all stand close together."""
    top = 0.0
    for thing in column:
        yield top + thing.height / 2
        top += thing.height + _ROW_GAP


def _place_columns(columns: list[list[LayoutItem]]) -> float:
    left = 0.0
    for column in columns:
        width = max((thing.width for thing in column), default=0.0)
        for thing in column:
            thing.x, thing.column_width = left + width / 2, width
            if not thing.width:  # a slot is as wide as what stands above and below it
                thing.width = width
        left += width + _COLUMN_GAP
    return left - _COLUMN_GAP
