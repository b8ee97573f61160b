"""Derivation trees as spec authors and users of the API see them: views of nodes in their place.

How it works. A `Tree` is a thin view. It holds a part (`node`), the tree above it and the step that leads from there to
here; views of children are made at first access, and kept, so `tree.children[0] is tree.children[0]`. The parts below
never change: an edit returns a new tree that shares everything but the nodes above the change. So a message that was
sent stays as it is, a copy is the tree itself, and `read_only` is always true.

The names are those of FANDANGO's derivation trees. Where its manual calls something that its code has as a property,
both work here: `children` is a list that can be called, `is_terminal` a truth value that can be called.

Operators and the methods of str, bytes and int come from `Forwarding`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, NoReturn, Self, overload

from palaver.trees import rendering, values
from palaver.trees.forwarding import Forwarding
from palaver.trees.lazy import LazyNode
from palaver.trees.node import (
    Leaf,
    Nested,
    Node,
    NonTerminal,
    Part,
    TreePath,
    from_nested,
    part_at,
    parts_below,
    replace_at,
)
from palaver.trees.terminal import CallableList, Flag
from palaver.trees.terminal import Terminal as Terminal
from palaver.trees.values import ANONYMOUS, PlainValue, TreeValue

_TRUE, _FALSE = Flag(True), Flag(False)


class ProtocolMessage(NamedTuple):
    """One message of a session: its sender, its recipient (None: not stated), and its tree."""

    sender: str
    recipient: str | None
    msg: Tree


class Messages(list[ProtocolMessage]):
    """The messages of a tree, to index, slice and iterate; `next()` returns them one by one, as an iterator does."""

    _taken = 0

    def __next__(self) -> ProtocolMessage:
        if self._taken == len(self):
            raise StopIteration
        self._taken += 1
        return self[self._taken - 1]


class FoundNodes(NamedTuple):
    """The nodes of one name in a tree: all of them, and those that are not open."""

    every: list[Tree]
    complete: list[Tree]


def _no_edit(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object) -> NoReturn:
        raise TypeError(f"{name}() is not possible: trees are values; replaced(where, new) returns an edited tree")

    return refuse


class TreeCaches:
    """Values that are kept with a tree; apart from it, because most trees are only passed on the way to others."""

    # Values of the class, so that one is made without running any Python.
    sources: CallableList[Tree] | None = None
    serialised: str | bytes | None = None
    leaves: Sequence[Leaf] | None = None
    # The nodes of each symbol that constraints have found; kept here, because each constraint looks for them.
    found: Mapping[str, FoundNodes] = MappingProxyType({})
    found_inside: dict[str, FoundNodes] | None = None  # the same by `..`, which leaves out sources


class Tree(Forwarding):
    """A node, or a leaf, in its place."""

    __slots__ = ("_children", "caches", "node", "parent", "step")

    def __init__(self, part: Part, parent: Tree | None = None, index: int = 0) -> None:
        self.node = part
        self.parent = parent
        # From the parent to here: the position among its children, or ~position among its sources.
        self.step = index
        self._children: CallableList[Tree] | None = None
        self.caches: TreeCaches | None = None

    def make_caches(self) -> TreeCaches:
        """The caches of a tree that has none yet; callers look first, because many ask for them, and often."""
        self.caches = made = TreeCaches()
        return made

    @classmethod
    def with_leaves(cls, part: Part, leaves: Sequence[Leaf]) -> Self:
        """A tree with its leaves, which then need not be gathered again to serialise it."""
        tree = cls(part)
        tree.caches = caches = TreeCaches()
        caches.leaves = leaves
        return tree

    @classmethod
    def from_tree(cls, nested: Nested) -> Self:
        """A tree from nested pairs of a name and children: ``("<start>", [("abc", [])])``."""
        return cls(from_nested(nested))

    # Symbol and parties

    @property
    def symbol(self) -> NonTerminal | Terminal:
        node = self.node
        return node.symbol if isinstance(node, Node) else Terminal(node)

    @property
    def is_terminal(self) -> Flag:
        return _FALSE if isinstance(self.node, Node) else _TRUE

    @property
    def is_non_terminal(self) -> Flag:
        return _TRUE if isinstance(self.node, Node) else _FALSE

    @property
    def nonterminal(self) -> NonTerminal:
        """The symbol of a node. :raises TypeError: this is a leaf"""
        if not isinstance(self.node, Node):
            raise TypeError(f"{self.node!r} is a terminal and has no nonterminal symbol")
        return self.node.symbol

    @property
    def terminal(self) -> Terminal:
        """The symbol of a leaf. :raises TypeError: this is a node"""
        if isinstance(self.node, Node):
            raise TypeError(f"{self.node.symbol} is a nonterminal and has no terminal symbol")
        return Terminal(self.node)

    @property
    def sender(self) -> str | None:
        """The sender, if this is a message."""
        node = self.node
        return node.parties.sender if isinstance(node, Node) and node.parties else None

    @property
    def recipient(self) -> str | None:
        """The recipient, if this is a message and the spec states one."""
        node = self.node
        return node.parties.recipient if isinstance(node, Node) and node.parties else None

    @property
    def read_only(self) -> Flag:
        """Always true: trees are values."""
        return _TRUE

    # Structure

    @property
    def children(self) -> CallableList[Tree]:
        if self._children is None:
            node = self.node
            parts = node.children if isinstance(node, Node) else ()
            self._children = CallableList([Tree(part, self, position) for position, part in enumerate(parts)])
        return self._children

    @property
    def sources(self) -> CallableList[Tree]:
        """The arguments of the generator that made this node."""
        caches = self.caches or self.make_caches()
        if caches.sources is None:
            node = self.node
            parts = node.sources if isinstance(node, Node) else ()
            caches.sources = CallableList([Tree(part, self, ~position) for position, part in enumerate(parts)])
        return caches.sources

    @overload
    def __getitem__(self, where: int) -> Tree: ...

    @overload
    def __getitem__(self, where: slice) -> SliceTree: ...

    def __getitem__(self, where: int | slice) -> Tree:
        """A child by its position, or some of them as one anonymous tree."""
        if isinstance(where, slice):
            return SliceTree(self, self.children[where])
        if not hasattr(type(where), "__index__"):
            raise TypeError(f"a tree is indexed by position, tree[0] or tree[1:3], not by {type(where).__name__}")
        try:
            return self.children[where]
        except IndexError:
            count = len(self.children)
            raise IndexError(f"{values.name_of(self.node)} has no child {where!s}, only {count}") from None

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.children)

    def __len__(self) -> int:
        """The number of children; the length of the value is `len(str(tree))`."""
        return len(self.node.children) if isinstance(self.node, Node) else 0

    def size(self) -> int:
        """The number of nodes and leaves, this one included, sources not."""
        return sum(1 for _ in parts_below(self.node))

    def count_terminals(self) -> int:
        return len(values.leaves_of(self.node))

    def get_root(self) -> Tree:
        tree = self
        while tree.parent is not None:
            tree = tree.parent
        return tree

    def get_path(self) -> list[Tree]:
        """The trees from the root down to this one, both included."""
        path = [self]
        while (parent := path[-1].parent) is not None:
            path.append(parent)
        path.reverse()
        return path

    @property
    def path(self) -> TreePath:
        """The steps from the root down to this tree, as `replaced` takes them."""
        return tuple(tree.step for tree in self.get_path()[1:])

    def at(self, path: Iterable[int]) -> Tree:
        """The tree at `path` below this one. :raises IndexError: there is none"""
        tree = self
        for step in path:
            part_at(tree.node, (step,))  # checks the step, and raises with a message
            tree = tree.children[step] if step >= 0 else tree.sources[~step]
        return tree

    # Search

    def find_subtrees(self, symbol: str) -> Iterator[Tree]:
        """All trees named `symbol`, breadth first, this one and sources included."""
        name = _with_brackets(symbol)
        queue = deque([self])
        while queue:
            tree = queue.popleft()
            node = tree.node
            if not isinstance(node, Node):
                continue
            if node.symbol == name:
                yield tree
            queue.extend(tree.children)
            if node.sources:
                queue.extend(tree.sources)

    def find_all_trees(self, symbol: str) -> list[Tree]:
        """All trees named `symbol`, as a list."""
        return list(self.find_subtrees(symbol))

    def find_all_nodes(self, symbol: str, exclude_read_only: bool = True) -> list[Tree]:
        """All trees named `symbol`, as a list. Trees cannot be changed, so `exclude_read_only` excludes none."""
        return list(self.find_subtrees(symbol))

    def find_direct_trees(self, symbol: str) -> list[Tree]:
        """The children and sources named `symbol`."""
        name = _with_brackets(symbol)
        return [tree for tree in (*self.children, *self.sources) if tree.is_non_terminal and tree.nonterminal == name]

    def flattened(self) -> list[Tree]:
        """This tree and all below it, parents first, sources left out."""
        found: list[Tree] = []
        stack = [self]
        while stack:
            tree = stack.pop()
            found.append(tree)
            stack.extend(reversed(tree.children))
        return found

    def descendants(self) -> list[Tree]:
        """All trees below this one, parents first, sources left out."""
        return self.flattened()[1:]

    def get_index(self, tree: Tree) -> int:
        """The position of `tree` in `flattened()`, or else of the first tree equal to it; -1 if there is none."""
        found = self.flattened()
        for position, candidate in enumerate(found):
            if candidate is tree:
                return position
        return next((position for position, candidate in enumerate(found) if candidate == tree), -1)

    def get_non_terminal_symbols(self) -> KeysView[NonTerminal]:
        """The symbols of all nodes, sources left out: a set, but in order of first occurrence."""
        return dict.fromkeys(part.symbol for part in parts_below(self.node) if isinstance(part, Node)).keys()

    def protocol_msgs(self, reverse: bool = False) -> Messages:
        """The messages in order of the session, the latest first if `reverse`."""
        found = Messages()
        stack = [self]
        while stack:
            tree = stack.pop()
            node = tree.node
            if isinstance(node, Node) and node.parties is None:
                stack.extend(reversed(tree.children))
            elif isinstance(node, Node) and node.parties is not None:  # a message holds no further ones
                found.append(ProtocolMessage(node.parties.sender, node.parties.recipient, tree))
        if reverse:
            found.reverse()
        return found

    # Values

    def value(self) -> TreeValue:
        return TreeValue(self.node)

    def children_values(self) -> list[TreeValue]:
        return [tree.value() for tree in self.children]

    def descendant_values(self) -> list[TreeValue]:
        return [TreeValue(part) for part in list(parts_below(self.node))[1:]]

    def to_string(self, encoding: str = "latin-1") -> str:
        """The value as text, bytes decoded by `encoding`.

        :raises ConversionError: bits fill no whole bytes, or the bytes are not of that encoding
        """
        data = self.serialised()
        return data if isinstance(data, str) else values.decode(self.node, data, encoding)

    def to_bytes(self, encoding: str = "utf-8") -> bytes:
        """The value as bytes, text encoded by `encoding`.

        :raises ConversionError: bits fill no whole bytes, or the encoding lacks a character
        """
        data = self.serialised()
        if isinstance(data, str):
            return values.encode(self.node, data, encoding)
        # Text inside bytes was encoded as UTF-8; another encoding must start from the leaves again.
        return data if encoding == "utf-8" else values.to_bytes(self.node, encoding)

    __bytes__ = to_bytes  # called for every message, so without the indirection of Forwarding

    def serialised(self) -> str | bytes:
        """The data to write or send: text if all of it is text, else bytes. Computed once.

        :raises ConversionError: bits fill no whole bytes
        """
        caches = self.caches
        if caches is not None and (data := caches.serialised) is not None:
            return data
        node = self.node
        if isinstance(node, LazyNode):
            return node.unexpanded[0]
        if caches is None:
            self.caches = caches = TreeCaches()
        known = caches.leaves
        if known is None:
            data = values.serialise(node)
        else:
            caches.leaves = None
            data = values.joined(node, known)
        caches.serialised = data
        return data

    def share_serialised(self, other: Tree) -> None:
        """Copy the cached serialisation of the other tree if it has the same node."""
        known = other.caches
        if known is not None and known.serialised is not None and self.node is other.node:
            (self.caches or self.make_caches()).serialised = known.serialised

    def to_int(self) -> int:
        """The value as a number. :raises ConversionError: it is none"""
        return values.to_int(self.node)

    def to_bits(self) -> str:
        """The value as a row of 0 and 1."""
        return values.to_bits(self.node)

    def contains_bits(self) -> bool:
        return any(isinstance(leaf, int) for leaf in values.leaves_of(self.node))

    def contains_bytes(self) -> bool:
        return any(isinstance(leaf, bytes) for leaf in values.leaves_of(self.node))

    def should_be_serialized_to_bytes(self) -> bool:
        """Return True if the value is not plain text."""
        return any(not isinstance(piece, str) for piece in values.pieces(self.node))

    def _own(self) -> PlainValue:
        return values.value_of(self.node)

    def __bool__(self) -> bool:
        """The truth of the value: bits that are not 0, text or bytes that are not empty."""
        return values.is_truthy(self.node)

    def __eq__(self, other: object) -> bool:
        """Equal in the type of `other`; between trees, in structure if the symbols are the same, else in value.

        :raises ConversionError: the value cannot be read in that type
        :raises TypeError: `other` is neither text, bytes, int nor a tree
        """
        if isinstance(other, Tree):
            return values.equal_parts(self.node, other.node)
        if isinstance(other, TreeValue):
            return self.value() == other
        return values.equals_plain(self.node, other)

    def __hash__(self) -> int:
        return values.hash_of(self.node)

    # Output

    def to_tree(self) -> str:
        return rendering.show_tree(self.node)

    def to_grammar(self) -> str:
        return rendering.show_grammar(self.node)

    def to_repr(self) -> str:
        return rendering.show_repr(self.node)

    def to_value(self) -> str:
        return rendering.show_value(self.node)

    __repr__ = to_repr

    # Editing

    def replaced(self, where: Tree | Sequence[int], new: Tree | Part) -> Tree:
        """This tree with `new` in place of a tree below it, named by itself or by its path from here.

        :raises ValueError: that tree is not below this one
        :raises IndexError: the path leads nowhere
        """
        path = self._path_to(where) if isinstance(where, Tree) else tuple(where)
        return Tree(replace_at(self.node, path, new.node if isinstance(new, Tree) else new))

    def replace(self, grammar: object, old: Tree, new: Tree) -> Tree:
        """This tree with `new` in place of `old`; the grammar is not needed. For text, write `str(tree).replace`."""
        if not isinstance(old, Tree):
            raise TypeError("replace() puts one tree in place of another; for text, write str(tree).replace(...)")
        return self.replaced(old, new)

    def deepcopy(self, *_: object, **__: object) -> Self:
        """The tree itself, as it never changes."""
        return self

    __copy__ = deepcopy
    __deepcopy__ = deepcopy

    def set_all_read_only(self, read_only: bool = True) -> None:
        """Do nothing: every tree is read-only."""

    set_children, add_child, remove_child = map(_no_edit, ("set_children", "add_child", "remove_child"))

    def _path_to(self, below: Tree) -> TreePath:
        steps: list[int] = []
        tree: Tree | None = below
        while tree is not None and tree is not self:
            steps.append(tree.step)
            tree = tree.parent
        if tree is None:
            raise ValueError(f"{values.name_of(below.node)} is not a part of this {values.name_of(self.node)}")
        return tuple(reversed(steps))


class SliceTree(Tree):
    """Some children of a tree, the `whole`, as one anonymous tree; their parent is still their own."""

    __slots__ = ("whole",)

    def __init__(self, whole: Tree, trees: Sequence[Tree]) -> None:
        super().__init__(Node(ANONYMOUS, tuple(tree.node for tree in trees)))
        self.whole = whole
        self._children = CallableList(trees)


DerivationTree = Tree


def _with_brackets(symbol: str) -> str:
    return symbol if symbol.startswith("<") else f"<{symbol}>"
