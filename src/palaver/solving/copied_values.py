"""Copies of values: fields of a message of ours that are equal to fields of earlier messages, or to each other.

Answers repeat what was asked, and names are used that were given before. Code that demands it need not tell how far
away a value is, and a value that nobody knows is seldom drawn by chance. So what is there already is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.regular.language import Unit
from palaver.solving.assignment import Assigner
from palaver.solving.placement import Placing, node_of
from palaver.solving.solving_limits import MAX_COPIED_FIELDS, MAX_COPY_TRIES
from palaver.trees.node import Node, TreePath
from palaver.trees.tree import Tree
from palaver.trees.values import to_bits

# The probabilities that a field is exchanged at all, and then for one of its own symbol if there is any.
_COPY_FIELD = 0.5
_SAME_SYMBOL = 0.8


@dataclass(frozen=True, slots=True)
class ValueCopier:
    """Exchanges fields of the part of a tree that is not frozen."""

    placing: Placing
    assigner: Assigner
    chance: RandomSource
    is_frozen: Callable[[TreePath], bool]

    def with_copies(self, tree: Tree) -> Tree:
        """The tree with copies in some of its free fields; itself if there is nothing to copy.

        :raises Discarded: a copy could not be made to fit
        """
        free, fields = self._survey(tree)
        places = [place for place in free if self._is_worth_copying_to(place)]
        chosen = [place for place in places if self.chance.random() < _COPY_FIELD]
        if places and not chosen:
            chosen = [self.chance.pick(places)]
        for place in chosen:
            node = self._copy_for(place, fields)
            if node is not None:
                tree = self._put(tree, place.path, node)
        return tree

    def _survey(self, root: Tree) -> tuple[list[Tree], list[Tree]]:
        """The free fields that may be exchanged, and the latest fields of the tree, the latest first."""
        free: list[Tree] = []
        fields: list[Tree] = []
        todo: list[tuple[Tree, TreePath]] = [(root, ())]
        while todo and len(fields) < MAX_COPIED_FIELDS:
            tree, path = todo.pop()
            node = tree.node
            if not isinstance(node, Node):
                continue
            if self.assigner.languages.of(node.symbol) is not None:
                fields.append(tree)
                if not self.is_frozen(path) and self.placing.can_write(tree):
                    free.append(tree)
            # The last child is the next one to be looked at.
            todo.extend((child, (*path, child.step)) for child in tree.children)
        return free, fields

    def _is_worth_copying_to(self, place: Tree) -> bool:
        """Return True if a field is a part of a message, and not all of it."""
        return place.parent is not None and not self.is_frozen(place.parent.path)

    def _copy_for(self, place: Tree, fields: Sequence[Tree]) -> Node | None:
        """A node for a place that is equal to one of these fields, more likely to a late one."""
        own = node_of(place)
        same = [field for field in fields if node_of(field).symbol == own.symbol and field.node != own]
        if same and self.chance.random() < _SAME_SYMBOL:
            return node_of(self._late(same))
        domain = self.assigner.domain(own.symbol)
        if domain is None:
            return None
        word = self._word(place, domain.language.unit)
        for _ in range(MAX_COPY_TRIES):
            field = self._late(fields)
            language = self.assigner.languages.of(node_of(field).symbol)
            if language is None or language.unit is not domain.language.unit:
                continue
            other = self._word(field, language.unit)
            if other != word and domain.allows(other):
                return self.assigner.node(own.symbol, other)
        return None

    def _late(self, fields: Sequence[Tree]) -> Tree:
        """One of these fields: each place from the front is as likely as all between it and its double."""
        return fields[int((len(fields) + 1) ** self.chance.random()) - 1]

    @staticmethod
    def _word(tree: Tree, unit: Unit) -> str:
        return to_bits(tree.node) if unit is Unit.BITS else str(tree)

    def _put(self, tree: Tree, path: TreePath, node: Node) -> Tree:
        try:
            place = tree.at(path)
        except IndexError:  # it was inside of a field that another copy has exchanged
            return tree
        if not isinstance(place.node, Node) or place.node.symbol != node.symbol:
            return tree
        return self.placing.put(tree, place, node)
