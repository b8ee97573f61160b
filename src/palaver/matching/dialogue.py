"""Old names, until the other rooms import from the doors."""

from palaver.matching.dialogue_automaton import DiagramState as Future
from palaver.matching.matching_limits import MOST_HYPOTHESES as MOST_HYPOTHESES

__all__ = ["MOST_HYPOTHESES", "Future"]
