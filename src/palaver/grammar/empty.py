"""Transition: moved to `grammar.analysis`."""

from palaver.grammar.fixpoints import can_be_empty as can_be_empty
from palaver.grammar.fixpoints import cyclic_symbols as cyclic_symbols
from palaver.grammar.fixpoints import nullable_symbols as nullable_symbols
