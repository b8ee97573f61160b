"""Transition: moved to `spec.traversal`."""

from palaver.spec.traversal import names_in as names_in
from palaver.spec.traversal import terminal_label as label_of

__all__ = ["label_of", "names_in"]
