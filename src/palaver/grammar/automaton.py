"""Transitional names; see `palaver.regular.language`."""

from palaver.regular.automaton import Automaton as Automaton
from palaver.regular.automaton import AutomatonState as State

__all__ = ["Automaton", "State"]
