"""Transition: moved to `grammar.printing`."""

from palaver.grammar.show import transitions as transitions
