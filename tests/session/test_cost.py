"""A message costs the same at any point of a session, also with a constraint that ties messages together."""

from __future__ import annotations

import pytest
from driven_session import ECHO, SERVER, DrivenSession, answered

from cost import lines_run
from palaver.session.findings import Verdict

LONG = ECHO.replace("<exchange>+", "<exchange>{510}")
# By how many messages there were before.
EARLY, LATE = range(10, 26, 2), range(1000, 1016, 2)


def ask_and_hear(driven: DrivenSession) -> None:
    driven.hear(answered(driven.talk()))


def hear_and_answer(driven: DrivenSession) -> None:
    driven.hear(b"ASK hello\n" if len(driven.session.said) < 1020 else b"QUIT\n")
    driven.talk()


@pytest.mark.parametrize("side", ["client", "server"])
def test_message_1000_costs_what_message_10_costs(side: str) -> None:
    if side == "client":
        driven, exchange = DrivenSession(LONG, max_messages=2000).open(), ask_and_hear
    else:
        driven, exchange = DrivenSession(LONG, SERVER, link="Server", max_messages=2000).open(), hear_and_answer
    costs = {EARLY: 0, LATE: 0}
    while not driven.session.is_over:
        said = len(driven.session.said)
        measured = next((span for span in costs if said in span), None)
        if measured is None:
            exchange(driven)
        else:
            costs[measured] += lines_run(lambda: exchange(driven))
    assert driven.session.verdict is Verdict.PASS
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
    driven = DrivenSession(text, SERVER, link="Server").open()

    def exchange() -> None:
        driven.hear(b"GET 4\n")
        assert len(driven.talk().split()) == 4

    costs = [lines_run(exchange) for _ in range(120)]
    assert driven.session.verdict is Verdict.PASS
    assert 0 < sum(costs[-20:]) <= 1.5 * sum(costs[5:25]), costs
