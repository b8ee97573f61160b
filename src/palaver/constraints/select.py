"""Old names, until those who import them are redirected."""

from palaver.constraints.node_selectors import indexed

__all__ = ["indexed"]
