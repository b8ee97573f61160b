"""Lazy nodes: they store their serialisation, and make their children at first access.

How it works. Where other nodes store their children, a lazy node stores its serialisation and a function that makes the
children from it. `children` calls the function at first access and keeps the result. The serialisation stays, so it
never needs the leaves.

Nodes are tuples, and tuples compare, iterate and show what they store, past `children`. So the methods of tuples are
delegated: to a tuple of the same four items where only those matter, and to the *plain twin*, which has no lazy nodes,
where the children matter. So comparing and hashing go all the way down in C, and no deeper than for other nodes.

One limitation: an `OpenNode` on the left of `==` does not ask the lazy node on the right, and is never equal to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, SupportsIndex, TypeAlias, overload

from palaver.trees.node import Node, OpenNode, Part, new

Serialised: TypeAlias = str | bytes
Expand: TypeAlias = Callable[[Any], tuple[Part, ...]]


class _ChildrenOnDemand:
    """`LazyNode.children` until the first access; from then on the result, in the node's own dictionary, hides this."""

    def __get__(self, node: LazyNode, owner: type[LazyNode]) -> tuple[Part, ...]:
        data, expand = node.unexpanded
        children = expand(data)
        node.__dict__["children"] = children
        return children


def _as_twin(name: str) -> Any:
    """A method of tuples, delegated to the plain twin."""
    method = getattr(tuple, name)

    def of_twin(self: LazyNode, *arguments: Any) -> Any:
        return method(without_lazy_nodes(self), *map(without_lazy_nodes, arguments))

    return of_twin


class LazyNode(Node):
    """A node whose children are made at first access.

    `new(LazyNode, (symbol, (data, expand), sources, parties))` makes one. `data` is its serialisation: text if all
    its leaves are text, else bytes; never empty. `expand` makes the children from it, equal ones each time.
    """

    children = _ChildrenOnDemand()
    # Stored in place of the children: `data` and `expand`.
    unexpanded: tuple[Serialised, Expand] = vars(Node)["children"]

    # A node that is made with its children is not lazy.

    def __new__(cls, *arguments: Any, **named: Any) -> Node:  # type: ignore[misc]
        return Node(*arguments, **named)

    @classmethod
    def _make(cls, items: Any) -> Node:  # type: ignore[override]
        return Node._make(items)

    def _replace(self, **changes: Any) -> Node:  # type: ignore[override]
        if changes.keys() <= {"symbol", "sources", "parties"}:
            kept = {"symbol": self.symbol, "sources": self.sources, "parties": self.parties} | changes
            edited = new(LazyNode, (kept["symbol"], self.unexpanded, kept["sources"], kept["parties"]))
            edited.__dict__.update(self.__dict__)  # the children, if they have been made
            return edited
        return new(Node, (self.symbol, (), self.sources, self.parties))._replace(**changes)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.symbol, self.children, self.sources, self.parties))

    @overload
    def __getitem__(self, where: SupportsIndex) -> Any: ...

    @overload
    def __getitem__(self, where: slice) -> tuple[Any, ...]: ...

    def __getitem__(self, where: Any) -> Any:
        return tuple(self)[where]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, tuple):
            return NotImplemented
        if isinstance(other, LazyNode):
            if self.symbol != other.symbol or self.unexpanded[0] != other.unexpanded[0]:
                return False
            if self.unexpanded == other.unexpanded and self.sources == other.sources and self.parties == other.parties:
                return True
        return bool(without_lazy_nodes(self) == (without_lazy_nodes(other) if isinstance(other, Node) else other))

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(without_lazy_nodes(self))

    def __repr__(self) -> str:
        return repr(without_lazy_nodes(self))

    def __reduce_ex__(self, protocol: object) -> tuple[type[Node], tuple[Any, ...]]:
        return Node, tuple(self)

    def __setattr__(self, name: str, value: object = None) -> NoReturn:
        raise AttributeError(f"nodes never change: {name} cannot be set; _replace returns an edited node")

    __delattr__ = __setattr__

    __lt__, __le__, __gt__, __ge__ = map(_as_twin, ("__lt__", "__le__", "__gt__", "__ge__"))
    __contains__, index, count = map(_as_twin, ("__contains__", "index", "count"))
    __add__, __mul__, __rmul__ = map(_as_twin, ("__add__", "__mul__", "__rmul__"))

    def __radd__(self, other: tuple[Any, ...]) -> tuple[Any, ...]:
        return other + tuple(self)


def with_serialised(node: Node, data: Serialised) -> LazyNode:
    """The same node with its serialisation."""
    children = node.children
    known = new(LazyNode, (node.symbol, (data, lambda _: children), node.sources, node.parties))
    known.__dict__["children"] = children
    return known


def unexpanded_data(part: Part) -> Serialised | None:
    """The serialisation of a lazy node whose children have not been made yet; None for other parts."""
    return part.unexpanded[0] if isinstance(part, LazyNode) and "children" not in part.__dict__ else None


def without_lazy_nodes(part: Part) -> Part:
    """The same part with nothing lazy in it; all children are made."""
    if not isinstance(part, Node):
        return part
    order: list[Part] = []
    stack: list[Part] = [part]
    while stack:
        top = stack.pop()
        order.append(top)
        if isinstance(top, Node):
            stack.extend(top.children)
            stack.extend(top.sources)
    # Backwards, the children come in their order, then the sources, then the node.
    made: list[Any] = []
    for top in reversed(order):
        if isinstance(top, Node):
            sources_at = len(made) - len(top.sources)
            children_at = sources_at - len(top.children)
            children, sources = tuple(made[children_at:sources_at]), tuple(made[sources_at:])
            kind = OpenNode if isinstance(top, OpenNode) else Node
            made[children_at:] = [new(kind, (top.symbol, children, sources, top.parties))]
        else:
            made.append(top)
    (twin,) = made
    return twin  # type: ignore[no-any-return]  # the node that was put in
