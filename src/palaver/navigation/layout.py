"""Layered graph drawing (Sugiyama, Tagawa & Toda 1981), in columns from left to right.

Arrows that lead back, found by depth-first search, are reversed, and each box is put right of all boxes that lead to it
(longest path). Boxes stand in even columns. Each label has an odd column, the one behind the box where its arrow
begins, and each column that an arrow passes keeps a slot for it, so nothing overlaps. Within a column, items are sorted
by the mean position of their neighbours (barycentres); then each is moved as near to its neighbours as the order
allows, by isotonic regression (pool adjacent violators).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from palaver.lean_dataclasses import dataclass
from palaver.navigation.navigation_limits import LAYOUT_SWEEPS

# Pixels between columns, between items in a column, and between the ends of arrows at a box.
_COLUMN_GAP = 44
_ROW_GAP = 10
PORT_GAP = 12


@dataclass(eq=False)
class LayoutItem:
    """A box, a label, or a slot for an arrow; `x` and `y` are its centre."""

    width: float
    height: float
    column: int = 0
    x: float = 0.0
    y: float = 0.0
    column_width: float = 0.0
    left: list[LayoutItem] = field(default_factory=list)  # the neighbours in the column before
    right: list[LayoutItem] = field(default_factory=list)


@dataclass(frozen=True)
class ArrowRoute:
    """The items along an arrow: from the source over its label to the target, which may be the source."""

    label: LayoutItem
    items: tuple[LayoutItem, ...]


@dataclass(frozen=True)
class Layout:
    """The positions of all items."""

    boxes: tuple[LayoutItem, ...]
    routes: tuple[ArrowRoute, ...]  # one for each arrow
    width: float
    height: float


def lay_out(boxes: Sequence[tuple[float, float]], arrows: Sequence[tuple[int, int, float, float]]) -> Layout:
    """Lay out boxes of these sizes, and arrows: source, target, and the size of the label.

    Every box must be reachable from the first.
    """
    items = tuple(LayoutItem(*size) for size in boxes)
    layers = _layers(len(boxes), [(source, target) for source, target, *_ in arrows])
    for item, layer in zip(items, layers, strict=True):
        item.column = 2 * layer
    routes = tuple(_route(items, layers, *arrow) for arrow in arrows)
    columns = _columns(items, routes)
    _make_room_for_arrows(items)
    _sort(columns)
    _move(columns)
    width = _place_columns(columns)
    top = min(item.y - item.height / 2 for column in columns for item in column)
    for column in columns:
        for item in column:
            item.y -= top
    height = max(item.y + item.height / 2 for column in columns for item in column)
    return Layout(items, routes, width, height)


def _layers(count: int, arrows: Iterable[tuple[int, int]]) -> list[int]:
    """The layer of each box: behind all boxes that lead to it, except by arrows that lead back."""
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


def _route(
    boxes: Sequence[LayoutItem], layers: Sequence[int], source: int, target: int, width: float, height: float
) -> ArrowRoute:
    """The route of one arrow. Its items are connected from left to right, whatever the direction of the arrow."""
    label = LayoutItem(width, height)
    first, last = sorted((source, target), key=layers.__getitem__)
    if source == target:
        label.column = boxes[source].column + 1
        _connect(boxes[source], label)
        return ArrowRoute(label, (boxes[source], label, boxes[source]))
    path = [boxes[first], label]
    path += [LayoutItem(0, PORT_GAP) for _ in range(2 * layers[first] + 2, 2 * layers[last])]
    path.append(boxes[last])
    for offset, (one, other) in enumerate(pairwise(path), 1):
        if other is not boxes[last]:
            other.column = boxes[first].column + offset
        _connect(one, other)
    return ArrowRoute(label, tuple(path if first == source else reversed(path)))


def _connect(left: LayoutItem, right: LayoutItem) -> None:
    left.right.append(right)
    right.left.append(left)


def _columns(boxes: Iterable[LayoutItem], routes: Iterable[ArrowRoute]) -> list[list[LayoutItem]]:
    items = dict.fromkeys(boxes) | dict.fromkeys(item for route in routes for item in route.items)
    columns: list[list[LayoutItem]] = [[] for _ in range(1 + max(item.column for item in items))]
    for item in items:
        columns[item.column].append(item)
    return columns


def _make_room_for_arrows(boxes: Iterable[LayoutItem]) -> None:
    for box in boxes:
        loops = sum(item.right == [] for item in box.right)
        box.height = max(box.height, PORT_GAP * (1 + max(len(box.left), len(box.right) + loops)))


def _sort(columns: list[list[LayoutItem]]) -> None:
    """Order each column by the barycentres of its items, in sweeps from both sides."""
    for number in range(LAYOUT_SWEEPS):
        is_rightwards = number % 2 == 0
        row_of = {item: float(row) for column in columns for row, item in enumerate(column)}
        for column in columns if is_rightwards else reversed(columns):
            column.sort(key=lambda item: _middle(item.left if is_rightwards else item.right, row_of.get, row_of[item]))
            row_of |= {item: float(row) for row, item in enumerate(column)}


def _middle(items: Sequence[LayoutItem], value: Callable[[LayoutItem], float | None], default: float) -> float:
    values = [each for item in items if (each := value(item)) is not None]
    return sum(values) / len(values) if values else default


def _move(columns: list[list[LayoutItem]]) -> None:
    """Move items towards their neighbours, in their order and without overlaps."""
    for column in columns:
        _settle(column, [0.0] * len(column))
    for number in range(LAYOUT_SWEEPS):
        for column in columns if number % 2 == 0 else reversed(columns):
            _settle(column, [_middle([*item.left, *item.right], lambda each: each.y, item.y) for item in column])


def _settle(column: list[LayoutItem], wanted: list[float]) -> None:
    """Set positions with the least squared distance to the wanted ones, in order and without overlaps."""
    # Pools of items that touch: their number, and the sum of the wanted positions of the first.
    pools: list[tuple[int, float]] = []
    offsets = list(_offsets(column))
    for want, offset in zip(wanted, offsets, strict=True):
        pools.append((1, want - offset))
        while len(pools) > 1 and pools[-2][1] / pools[-2][0] > pools[-1][1] / pools[-1][0]:
            (count, total), (more, sum_of_more) = pools[-2:]
            pools[-2:] = [(count + more, total + sum_of_more)]
    starts = [total / count for count, total in pools for _ in range(count)]
    for item, start, offset in zip(column, starts, offsets, strict=True):
        item.y = start + offset


def _offsets(column: list[LayoutItem]) -> Iterator[float]:
    """The distance of the centre of each item from the top if all items touch."""
    top = 0.0
    for item in column:
        yield top + item.height / 2
        top += item.height + _ROW_GAP


def _place_columns(columns: list[list[LayoutItem]]) -> float:
    left = 0.0
    for column in columns:
        width = max((item.width for item in column), default=0.0)
        for item in column:
            item.x, item.column_width = left + width / 2, width
            if not item.width:  # a slot is as wide as its column
                item.width = width
        left += width + _COLUMN_GAP
    return left - _COLUMN_GAP
