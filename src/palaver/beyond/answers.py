"""The messages of the peer that may come behind each message of the dialogue: how long to wait for an answer.

They are found by a search over the states of the dialogue automaton.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from palaver.beyond.beyond_limits import MAX_STATES
from palaver.matching.dialogue_automaton import AnyFields
from palaver.matching.forecaster import Forecaster


def answers_by_message(forecaster: Forecaster) -> Mapping[str, frozenset[str]]:
    """The symbols that somebody else may say next, by those of all messages."""
    compiled = forecaster.compiled
    fields = AnyFields(forecaster.positions) if forecaster.positions.has_computed_loops else None
    found: dict[str, frozenset[str]] = {}
    seen, todo = {compiled.beginning}, deque([compiled.beginning])
    while todo and len(seen) < MAX_STATES:
        state = todo.popleft()
        for move in compiled.moves(state, fields):
            for step in compiled.steps(state, move, fields):
                after = compiled.state_after(step)
                others = {each.symbol for each in compiled.moves(after, fields) if each.sender != move.sender}
                found[move.symbol] = found.get(move.symbol, frozenset()) | others
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
    return found
