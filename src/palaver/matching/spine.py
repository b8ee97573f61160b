"""Old names, until the other rooms import from the doors."""

from palaver.matching.open_tree import AddAction as Adding
from palaver.matching.open_tree import CloseAction as Closing
from palaver.matching.open_tree import OpenAction as Opening
from palaver.matching.open_tree import TreeAction as Growth
from palaver.matching.open_tree import WrapAction as Wrapping

__all__ = ["Adding", "Closing", "Growth", "Opening", "Wrapping"]
