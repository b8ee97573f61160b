"""Strategies that know no plan: a random walk, and the shortest way to the end."""

from __future__ import annotations

from driven_session import CLIENT, ECHO, answered

import palaver
from palaver.random_source import RandomSource
from palaver.session.engine import Session, Timeouts
from palaver.session.interface import Opened, Received, Send, TimePassed
from palaver.session.setup import SessionSetup
from palaver.session.strategy import RandomStrategy, ShortestStrategy, Strategy

SETUP = SessionSetup(palaver.loads(ECHO), CLIENT)


def exchanges(strategy: Strategy, seed: int = 1, max_messages: int = 1000) -> int:
    """The number of exchanges in a session with a correct server."""
    session = Session(SETUP, strategy, RandomSource(seed), Timeouts(max_messages=max_messages))
    session.handle(TimePassed(0.0))
    session.handle(Opened(0.0, "Client"))
    while session.wants_to_send and session.speak(0.0):
        for action in session.commit(0.0):
            if isinstance(action, Send):
                session.handle(Received(0.0, "Client", answered(action.data), False))
    assert session.is_over
    assert not session.findings
    return sum(said.symbol == "<ask>" for said in session.said)


def test_the_shortest_way_is_short_in_every_session() -> None:
    strategy = ShortestStrategy(RandomSource(1))
    assert [exchanges(strategy, seed) for seed in range(8)] == [1] * 8


def test_a_walk_that_had_to_end_soon_is_free_again_in_the_next_session() -> None:
    strategy = RandomStrategy(RandomSource(1))
    assert {exchanges(strategy, seed, max_messages=6) for seed in range(8)} <= {1, 2, 3}
    strategy.finish_soon()
    lengths = [exchanges(strategy, seed) for seed in range(12)]
    assert max(lengths) > 2
