"""Transition: moved to `trees.node`."""

from palaver.trees.node import TreePath as Path
from palaver.trees.node import part_at as part_at
from palaver.trees.node import replace_at as replace_at

__all__ = ["Path", "part_at", "replace_at"]
