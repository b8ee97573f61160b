"""Derivations as values, and what spec authors see of them."""

from palaver.trees.node import Leaf, Node, NonTerminal, OpenNode, Part, Parties, leaves, make_node, same
from palaver.trees.tree import DerivationTree, ProtocolMessage, SliceTree, Terminal, Tree
from palaver.trees.values import Kind, TreeValue

__all__ = [
    "DerivationTree",
    "Kind",
    "Leaf",
    "Node",
    "NonTerminal",
    "OpenNode",
    "Part",
    "Parties",
    "ProtocolMessage",
    "SliceTree",
    "Terminal",
    "Tree",
    "TreeValue",
    "leaves",
    "make_node",
    "same",
]
