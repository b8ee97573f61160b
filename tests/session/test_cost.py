"""A message costs the same at any point of a conversation, also with a constraint that ties messages together."""

from __future__ import annotations

import pytest
from scenes import ECHO, SERVER, Scene, answered

from cost import lines_run
from palaver.session.findings import Verdict

LONG = ECHO.replace("<exchange>+", "<exchange>{510}")
# By how many messages there were before.
EARLY, LATE = range(10, 26, 2), range(1000, 1016, 2)


def ask_and_hear(scene: Scene) -> None:
    scene.hear(answered(scene.talk()))


def hear_and_answer(scene: Scene) -> None:
    scene.hear(b"ASK hello\n" if len(scene.session.said) < 1020 else b"QUIT\n")
    scene.talk()


@pytest.mark.parametrize("side", ["client", "server"])
def test_message_1000_costs_what_message_10_costs(side: str) -> None:
    if side == "client":
        scene, exchange = Scene(LONG, most_messages=2000).open(), ask_and_hear
    else:
        scene, exchange = Scene(LONG, SERVER, link="Server", most_messages=2000).open(), hear_and_answer
    costs = {EARLY: 0, LATE: 0}
    while not scene.session.is_over:
        said = len(scene.session.said)
        measured = next((span for span in costs if said in span), None)
        if measured is None:
            exchange(scene)
        else:
            costs[measured] += lines_run(lambda: exchange(scene))
    assert scene.session.verdict is Verdict.PASS
    assert 0 < costs[LATE] <= 1.5 * costs[EARLY], costs


def test_an_answer_of_as_many_items_as_were_asked_for_costs_the_same_at_any_point() -> None:
    text = """
<start> ::= <exchange>{120}
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= "GET " <n> "\\n"
<n> ::= r"[1-9]"
<answer> ::= (<item> " ")* "\\n"
<item> ::= r"[a-z]"
where forall <e> in <exchange>: len(*<e>.<answer>.<item>) == int(<e>.<ask>.<n>)
"""
    scene = Scene(text, SERVER, link="Server").open()

    def exchange() -> None:
        scene.hear(b"GET 4\n")
        assert len(scene.talk().split()) == 4

    costs = [lines_run(exchange) for _ in range(120)]
    assert scene.session.verdict is Verdict.PASS
    assert 0 < sum(costs[-20:]) <= 1.5 * sum(costs[5:25]), costs
