"""Transition: moved to `grammar.analysis`."""

from palaver.grammar.components import leading_to as leading_to
from palaver.grammar.components import strongly_connected_components as groups
from palaver.grammar.fixpoints import users_of as users_of

__all__ = ["groups", "leading_to", "users_of"]
