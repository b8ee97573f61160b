"""Transition: moved to `grammar.lowering`."""

from palaver.grammar.lower import slice_messages as slice_messages
from palaver.grammar.lower import slice_parties as slice_parties
