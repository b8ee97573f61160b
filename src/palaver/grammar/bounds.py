"""Transition: moved to `grammar.analysis`, `grammar.ir` and `spec.traversal`."""

from palaver.grammar.analyse import BoundDependence as Dependence
from palaver.grammar.ir import tracked_selectors as tracked_paths
from palaver.spec.traversal import last_symbol as last_symbol

__all__ = ["Dependence", "last_symbol", "tracked_paths"]
