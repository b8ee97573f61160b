"""What leads back to itself in a graph, in time that grows with its edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

Name = TypeVar("Name", bound=str)


def circles(edges: Mapping[str, Iterable[Name]], names: Iterable[Name]) -> dict[Name, tuple[Name, ...]]:
    """For each of these names that leads back to itself, all that it leads to and that lead to it, in their order.

    How it works (Tarjan): a walk goes as deep as it can, and remembers what it came by. A name from which it gets to
    one further back on its way is in a circle with it; a name from which it does not is the top of a circle that is
    complete, or is in none.
    """
    order = {name: number for number, name in enumerate(names)}
    numbers: dict[Name, int] = {}  # in the order in which the walk met them
    lowest: dict[Name, int] = {}  # the first on the way that each leads back to
    open_names: list[Name] = []  # met, and not known to be in a complete circle
    is_open: set[Name] = set()
    found: dict[Name, tuple[Name, ...]] = {}
    for start in order:
        if start in numbers:
            continue
        way: list[tuple[Name, Iterator[Name]]] = []
        following: Name | None = start
        while way or following is not None:
            if following is not None:
                numbers[following] = lowest[following] = len(numbers)
                open_names.append(following)
                is_open.add(following)
                way.append((following, iter(edges.get(following, ()))))
            here, rest = way[-1]
            following = None
            for name in rest:
                if name not in numbers:
                    following = name
                    break
                if name in is_open:
                    lowest[here] = min(lowest[here], numbers[name])
            if following is not None:
                continue
            way.pop()
            if way:
                lowest[way[-1][0]] = min(lowest[way[-1][0]], lowest[here])
            if lowest[here] == numbers[here]:
                circle = [open_names.pop()]
                while circle[-1] != here:
                    circle.append(open_names.pop())
                is_open.difference_update(circle)
                if len(circle) > 1 or here in edges.get(here, ()):
                    found.update(dict.fromkeys(circle, tuple(sorted(circle, key=order.__getitem__))))
    return {name: found[name] for name in order if name in found}
