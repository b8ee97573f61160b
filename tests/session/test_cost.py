"""A message costs the same at any point of a session, also with a constraint that ties messages together."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median_low

import pytest
from crossed_modules import PACKAGE, crossed_modules
from driven_session import CLIENT, ECHO, SERVER, DrivenSession, answered

from cost import lines_run
from palaver.compiled import loads
from palaver.random_source import RandomSource
from palaver.session.engine import Session
from palaver.session.findings import Verdict
from palaver.session.setup import SessionSetup
from palaver.session.strategy import RandomStrategy

LONG = ECHO.replace("<exchange>+", "<exchange>{510}")
# By how many messages there were before.
EARLY, LATE = range(10, 26, 2), range(1000, 1016, 2)


def ask_and_hear(driven: DrivenSession) -> None:
    driven.hear(answered(driven.talk()))


def hear_and_answer(driven: DrivenSession) -> None:
    driven.hear(b"ASK hello\n" if len(driven.session.said) < 1020 else b"QUIT\n")
    driven.talk()


def cost_of_early_and_late_ones(exchange: Callable[[], None], number: int) -> tuple[int, int]:
    """What the sixth to the fifteenth of so many exchanges cost, and what the last ten do."""
    early, late = range(5, 15), range(number - 10, number)
    costs = {early: 0, late: 0}
    for at in range(number):
        if at in early or at in late:
            costs[early if at in early else late] += lines_run(exchange)
        else:
            exchange()  # to count takes much longer
    return costs[early], costs[late]


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

    early, late = cost_of_early_and_late_ones(exchange, 120)
    assert driven.session.verdict is Verdict.PASS
    assert 0 < late <= 1.5 * early


def test_what_only_the_first_messages_satisfy_costs_the_same_at_any_point() -> None:
    text = """
<start> ::= <Client:name>{3} <exchange>{120}
<exchange> ::= <Client:ask> <Server:answer>
<name> ::= "NAME " <id> "\\n"
<id> ::= r"[a-z]{3}"
<ask> ::= "ASK " <n> "\\n"
<n> ::= r"[1-9]"
<answer> ::= (<item> " ")* "\\n"
<item> ::= r"[a-z]"
where len(*<name>) == 3
where any(str(each) == "eve" for each in *<id>)
where forall <e> in <exchange>: len(*<e>.<answer>.<item>) == int(<e>.<ask>.<n>)
"""
    driven = DrivenSession(text, SERVER, link="Server").open()
    driven.hear(b"NAME bob\nNAME eve\nNAME sue\n")

    def exchange() -> None:
        driven.hear(b"ASK 4\n")
        assert len(driven.talk().split()) == 4

    early, late = cost_of_early_and_late_ones(exchange, 120)
    assert driven.session.verdict is Verdict.PASS
    assert 0 < late <= 1.5 * early


# A store, and a model of it: what was put under a name is what is got. Its state does not grow without end.
STORE = """
from functools import reduce

<start>    ::= ROUNDS
<exchange> ::= <Client:put> <Server:ok> | <Client:get> (<Server:value> | <Server:nothing>)
<put>      ::= "PUT " <name> " " <number> "\\n"
<get>      ::= "GET " <name> "\\n"
<ok>       ::= "OK\\n"
<value>    ::= "VALUE " <number> "\\n"
<nothing>  ::= "NOTHING\\n"
<name>     ::= r"[a-z]" := known.state[0] if known.state else "a"
<number>   ::= r"[0-9]"

class Store:
    def __init__(self, numbers, mistake=""):
        self.numbers, self.mistake = numbers, mistake

def follow(store, exchange):
    request, answer = (line.split(" ") for line in str(exchange).splitlines())
    if request[0] == "PUT":
        return Store({**store.numbers, request[1]: request[2]}, store.mistake)
    expected = ["VALUE", store.numbers[request[1]]] if request[1] in store.numbers else ["NOTHING"]
    return store if answer == expected else Store(store.numbers, "wrong")

def known(names, put):
    return names if str(put)[4] in names else names + str(put)[4]

known.state = ""

where reduce(follow, *<exchange>, Store({})).mistake == ""
where len(reduce(known, *<put>, "")) < 27
"""


class StoreServer:
    """Answers as the model says, but for one answer."""

    def __init__(self, wrong_at: int = -1) -> None:
        self.numbers: dict[str, str] = {}
        self.asked: list[str] = []
        self._wrong_at = wrong_at

    def answer(self, request: bytes) -> bytes:
        command, name, *number = request.decode().split()
        self.asked.append(f"{command} {name}")
        if command == "PUT":
            self.numbers[name] = number[0]
            return b"OK\n"
        stored = self.numbers.get(name)
        if len(self.asked) >= self._wrong_at >= 0 and stored is not None:
            return b"VALUE %d\n" % ((int(stored) + 1) % 10)
        return b"NOTHING\n" if stored is None else f"VALUE {stored}\n".encode()


def test_a_model_of_the_peer_costs_the_same_at_any_point() -> None:
    long = STORE.replace("ROUNDS", "<exchange>{510}")
    driven, server = DrivenSession(long, max_messages=2000).open(), StoreServer()

    def exchange() -> None:
        driven.hear(server.answer(driven.talk()))

    costs = {EARLY: 0, LATE: 0}
    while not driven.session.is_over:
        said = len(driven.session.said)
        measured = next((span for span in costs if said in span), None)
        if measured is None:
            exchange()
        else:
            costs[measured] += lines_run(exchange)
    assert not driven.session.findings
    assert 0 < costs[LATE] <= 1.5 * costs[EARLY], costs


def test_the_answer_that_contradicts_the_model_is_blamed() -> None:
    driven, server = DrivenSession(STORE.replace("ROUNDS", "<exchange>{40}")).open(), StoreServer(wrong_at=5)
    while not driven.session.is_over:
        driven.hear(server.answer(driven.talk()))
    [finding] = driven.session.findings
    assert finding.party == "Server"
    assert "(the state of follow = " in finding.message
    assert (
        len(finding.messages) == 2 * len(server.asked[: next(i for i in range(4, 40) if server.asked[i][0] == "G")]) + 1
    )


def test_a_generator_may_ask_for_the_state_of_a_model() -> None:
    driven, server = DrivenSession(STORE.replace("ROUNDS", "<exchange>{40}")).open(), StoreServer()
    while not driven.session.is_over:
        driven.hear(server.answer(driven.talk()))
    assert {request[-1] for request in server.asked} == {"a"}
    assert driven.spec.namespace.names["known"].state == ""


def test_a_received_message_crosses_few_modules() -> None:
    spec = (PACKAGE / "specs" / "smtp.fan").read_text(encoding="utf-8")
    assert median_low(map(len, crossed_modules(spec))) <= 20


def test_what_the_peer_has_broken_is_not_searched_for_at_length() -> None:
    driven = DrivenSession("""
<start> ::= <exchange>{6}
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK " <word> "\\n"
<answer> ::= "SAY " <word> "\\n"
<word> ::= r"[a-z]{3}"
def pleasant(words):
    return all(str(each) != "sad" for each in words)
where pleasant(*<word>)
""").open()
    driven.talk()
    driven.hear(b"SAY sad\n")
    first = lines_run(driven.talk)
    driven.hear(b"SAY fun\n")
    assert first < 2 * lines_run(driven.talk)  # the second time it is known that no message of ours repairs it


def test_a_session_after_the_first_does_not_find_out_again_what_fields_can_count() -> None:
    setup = SessionSetup(
        loads("""
<start> ::= <Client:ask>
<ask> ::= <n> " " <item>{int(<n>)}
<n> ::= r"[1-9][0-9]{0,8}"
<item> ::= "x"
"""),
        CLIENT,
    )

    def begin() -> None:
        chance = RandomSource(1)
        Session(setup, RandomStrategy(chance), chance)

    first, second = lines_run(begin), lines_run(begin)
    assert second < 0.1 * first
