"""Strongly connected components of a graph (Tarjan 1972), without recursion, and reachability along its edges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

Name = TypeVar("Name", bound=str)


def reachable(start: str, *edges: Mapping[str, Iterable[str]]) -> dict[str, None]:
    """`start` and all that the edges lead to, in the order in which it is first met."""
    found: dict[str, None] = {}
    todo = [start]
    while todo:
        symbol = todo.pop()
        if symbol not in found:
            found[symbol] = None
            following = [name for edge in edges for name in edge.get(symbol, ())]
            todo.extend(reversed(following))
    return found


def leading_to(targets: Iterable[str], users: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The targets and all that lead to one, given the edges backwards."""
    everywhere = ""  # a name of its own, from which all targets are reached at once
    return frozenset(reachable(everywhere, {**users, everywhere: targets})) - {everywhere}


def cyclic_components(names: Iterable[Name], edges: Mapping[str, Iterable[Name]]) -> dict[Name, tuple[Name, ...]]:
    """The component of each name that leads back to itself, in the order of `names`."""
    order = list(names)
    found: dict[Name, tuple[Name, ...]] = {}
    for component in strongly_connected_components(order, edges):
        if len(component) > 1 or component[0] in edges.get(component[0], ()):
            found.update(dict.fromkeys(component, tuple(component)))
    return {name: found[name] for name in order if name in found}


def strongly_connected_components(names: Iterable[Name], edges: Mapping[str, Iterable[Name]]) -> Iterator[list[Name]]:
    """The components, those that others lead to first; the members of each in the order of `names`.

    Edges to other names are ignored.
    """
    order = {name: number for number, name in enumerate(names)}
    index: dict[Name, int] = {}  # in the order in which the search meets them
    lowest: dict[Name, int] = {}  # the smallest index on the search path that each leads back to
    pending: list[Name] = []  # met, and not yet in a complete component
    is_pending: set[Name] = set()
    for start in order:
        path: list[tuple[Name, Iterator[Name]]] = []
        following = None if start in index else start
        while path or following is not None:
            if following is not None:
                index[following] = lowest[following] = len(index)
                pending.append(following)
                is_pending.add(following)
                path.append((following, iter([name for name in edges.get(following, ()) if name in order])))
            here, rest = path[-1]
            following = None
            for name in rest:
                if name not in index:
                    following = name
                    break
                if name in is_pending:
                    lowest[here] = min(lowest[here], index[name])
            if following is not None:
                continue
            path.pop()
            if path:
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[here])
            if lowest[here] == index[here]:
                component = [pending.pop()]
                while component[-1] != here:
                    component.append(pending.pop())
                is_pending.difference_update(component)
                yield sorted(component, key=order.__getitem__)
