"""What a message costs late in a session: the same as early on, however deep the dialogue has nested by then."""

from __future__ import annotations

import tracemalloc

from guided import setup_of

from palaver.navigation.guidance import Guidance
from palaver.random_source import RandomSource
from palaver.trees.node import Node, NonTerminal

# The constraint makes the symbols around a message count.
NESTED = """
<start> ::= <turn>
<turn> ::= <Client:Server:ask> <Server:Client:answer> <turn> | <Client:Server:bye>
<ask> ::= 'a'
<answer> ::= 'b'
<bye> ::= 'c'
where len(<turn>) > 0
"""


def bytes_kept(messages: int) -> int:
    """The memory that guidance keeps for so many messages of one session."""
    setup = setup_of(NESTED)
    belief = Guidance(setup, RandomSource(0)).guided_strategy.belief
    forecast = setup.forecaster.begin()
    nodes = {"<ask>": Node(NonTerminal("<ask>"), ("a",)), "<answer>": Node(NonTerminal("<answer>"), ("b",))}
    steps = []
    for _ in range(messages):
        move = next(move for move in forecast.moves if move.symbol in nodes)
        before, forecast = forecast, forecast.after(move, nodes[move.symbol])
        steps.append((move, nodes[move.symbol], before, forecast))
    belief.begin()
    tracemalloc.start()
    try:
        for step in steps:
            belief.advance(*step, None)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_guidance_keeps_no_more_of_a_late_message_than_of_an_early_one() -> None:
    assert bytes_kept(800) < 3 * bytes_kept(400)
