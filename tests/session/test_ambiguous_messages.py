"""Of several readings of a message, that one counts which breaks nothing, also if code decides that.

They may be of two types, of different lengths, or in different states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from driven_session import DrivenSession

import palaver
from palaver.compiled import Spec
from palaver.session.findings import FindingKind
from palaver.testing import run_pair
from palaver.trees.node import Node

# A client asks for what is there, or for what is not, by the same words.
SPEC = r"""
<start> ::= <exchange>{1,4} <Client:Server:bye>
<exchange> ::= <found> | <missed>
<found> ::= <Client:Server:get> <Server:Client:ok>
<missed> ::= <Client:Server:get_none> <Server:Client:none>
<get> ::= "GET " <there> "\n"
<get_none> ::= "GET " <absent> "\n"
<there> ::= <name>
<absent> ::= <name>
<name> ::= r"[a-z]{3}"
<ok> ::= "ok\n"
<none> ::= "none\n"
<bye> ::= "bye\n"

import random

KNOWN = ["abc", "abd"]


def known_at(node):
    # Nobody can see from outside that this looks at no other message.
    return KNOWN if node.get_root().symbol == "<start>" else []


def known():
    return random.choice(KNOWN)


where forall <p> in <there>: str(<p>) in {known}
where forall <p> in <absent>: str(<p>) not in {known}
"""


@pytest.mark.parametrize("generated", [False, True], ids=["solved", "generated"])
@pytest.mark.parametrize("known", ["KNOWN", "known_at(<p>)"], ids=["plain", "opaque"])
def test_both_sides_mean_the_same(known: str, *, generated: bool) -> None:
    text = SPEC.replace("{known}", known)
    if generated:
        text = text.replace("<there> ::= <name>", "<there> ::= <name> := known()")
    spec = palaver.loads(text)
    said: set[str] = set()
    for seed in range(12):
        pair = run_pair(spec, pairs={"Client": "Server"}, seed=seed)
        assert [*pair.caller.findings, *pair.listener.findings] == [], seed
        said.update(message.symbol for message in pair.caller.said)
    assert said == {"<get>", "<ok>", "<get_none>", "<none>", "<bye>"}


# Where the number ends, and the rest begins, cannot be seen.
LENGTHS = r"""
<start> ::= <exchange>{1,3} <Client:bye>
<exchange> ::= <Client:ask> <Server:count> <Server:rest>
<ask> ::= "ASK\n"
<count> ::= r"[0-9]{1,2}"
<rest> ::= r"[0-9]{0,2};"
<bye> ::= "bye\n"

def small(nodes):
    return all(int(node) < 10 for node in nodes)

where small(*<count>)
"""

STATES = r"""
<start> ::= <exchange>{2,4} <Client:bye> <Server:farewell>
<exchange> ::= <low> | <high>
<low> ::= <Client:ask> <Server:answer>
<high> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK\n"
<answer> ::= <n> "\n"
<n> ::= r"[0-9]{1,2}"
<bye> ::= "bye\n"
<farewell> ::= "bye\n"

def is_small(node):
    return node.get_root() is not None and int(str(node).split()[-1]) < 10

def state_of(node):
    while node.symbol not in ("<low>", "<high>", "<start>"):
        node = node.parent
    return node.symbol

def all_fit(root):
    lows, highs = ([n for n in root.find_all_nodes(name) if "\n" in str(n)[4:]] for name in ("<low>", "<high>"))
    return all(map(is_small, lows)) and not any(map(is_small, highs))

"""
IN_STATES = {
    "upwards": "where forall <a> in <answer>: is_small(<a>) == (state_of(<a>) == '<low>')",
    "all of it": "where all_fit(<start>)",
    "each": "where forall <l> in <low>: is_small(<l>)\nwhere forall <h> in <high>: not is_small(<h>)",
    "sums": "where sum(int(n) for n in *<low>..<n>) <= 9\nwhere all(int(n) >= 10 for n in *<high>..<n>)",
}


def test_where_a_message_ends_both_sides_mean_the_same() -> None:
    spec = palaver.loads(LENGTHS)
    for seed in range(12):
        pair = run_pair(spec, seed=seed)
        assert [*pair.caller.findings, *pair.listener.findings] == [], seed


@pytest.mark.parametrize("condition", IN_STATES.values(), ids=IN_STATES)
def test_in_which_state_a_message_stands_both_sides_mean_the_same(condition: str) -> None:
    spec = palaver.loads(f"{STATES}{condition}\n")
    for seed in range(12):
        pair = run_pair(spec, seed=seed)
        assert [*pair.caller.findings, *pair.listener.findings] == [], seed


@pytest.mark.parametrize("number", [b"5", b"55"])
@pytest.mark.parametrize("condition", IN_STATES.values(), ids=IN_STATES)
def test_who_closes_is_accused_of_that_and_of_nothing_else(condition: str, number: bytes) -> None:
    session = DrivenSession(f"{STATES}{condition}\n").open()
    assert session.talk() == b"ASK\n"
    session.hear(number + b"\n")
    assert session.talk() == b"ASK\n"
    session.close()
    assert session.kinds == [FindingKind.CLOSED]


LOGIN = """
<start> ::= (<Client:right> <Server:welcome> | <Client:wrong> <Server:denied>) <Client:quit> <Server:bye>
<right> ::= "PASS a\\n"
<wrong> ::= "PASS " r"[a-c]" "\\n"
<welcome> ::= "WELCOME\\n"
<denied> ::= "DENIED\\n"
<quit> ::= "QUIT\\n"
<bye> ::= "BYE\\n"
"""


@pytest.mark.parametrize(
    ("accepted", "silent", "kinds"),
    [
        (b"PASS a\n", b"", {FindingKind.UNDECIDED}),  # where it was made as a wrong one that happens to be right
        (b"PASS b\n", b"", {FindingKind.UNPARSEABLE, FindingKind.UNDECIDED}),
        (b"PASS a\n", b"PASS b\n", {FindingKind.SILENCE, FindingKind.UNDECIDED}),
    ],
)
def test_a_peer_may_take_our_message_for_another_one_that_it_fits(
    accepted: bytes, silent: bytes, kinds: set[FindingKind]
) -> None:
    found: dict[FindingKind, set[bytes]] = {}
    for seed in range(30):
        session = DrivenSession(LOGIN, seed=seed, timeout=5.0, patience=5.0).open()
        said = session.talk()
        if said != silent:
            session.hear(b"WELCOME\n" if said == accepted else b"DENIED\n")
            session.talk()
            session.hear(b"BYE\n")
        session.wait(6)
        for kind in session.kinds:
            found.setdefault(kind, set()).add(said)
    assert found.keys() == kinds
    assert found[FindingKind.UNDECIDED] == {b"PASS a\n"}


EITHER = """
<start> ::= (<Client:right> | <Client:wrong>) <Server:welcome>
<right> ::= "PASS a\\n"
<wrong> ::= "PASS " r"[a-c]" "\\n"
<welcome> ::= "WELCOME\\n"
"""


@pytest.mark.parametrize("is_whole", [False, True], ids=["a stream", "a datagram"])
def test_what_is_cut_short_after_each_reading_is_not_excused(is_whole: bool) -> None:
    for seed in range(10):
        session = DrivenSession(EITHER, seed=seed, timeout=5.0, patience=5.0).open()
        session.talk()
        session.hear(b"WELC", is_whole=is_whole)
        session.wait(6)
        assert session.kinds == [FindingKind.UNPARSEABLE if is_whole else FindingKind.SILENCE], seed


ROUNDS = """
<start> ::= <round>{6} <Client:quit>
<round> ::= (<Client:one> | <Client:two>) <Server:done>
<one> ::= r"[a-z]{8}" "\\n"
<two> ::= r"[a-z]{8}" "\\n"
<done> ::= "DONE\\n"
<quit> ::= "QUIT\\n"
"""


def test_a_message_is_read_once_as_each_type_whichever_way_leads_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    session = DrivenSession(ROUNDS).open()
    for _ in range(5):
        session.talk()
        session.hear(b"DONE\n")
    read, readings = Counter[tuple[str, bytes]](), Spec.readings

    def counted(spec: Spec, symbol: str, data: bytes, history: Sequence[Node] = ()) -> Iterator[Node]:
        read[symbol, data] += 1
        return readings(spec, symbol, data, history)

    session.talk()
    monkeypatch.setattr(Spec, "readings", counted)
    session.hear(b"SORRY\n")
    assert session.kinds == [FindingKind.UNPARSEABLE]
    assert len(read) > 6
    assert set(read.values()) == {1}


def test_data_is_not_excused_where_the_connection_was_to_be_closed() -> None:
    spec = EITHER.replace("<Server:welcome>", "<Server:welcome>? <Server:connection_closed>")
    spec += '<connection_closed> ::= ""\n'
    for seed in range(10):
        session = DrivenSession(spec, seed=seed, timeout=5.0, patience=5.0).open()
        session.talk()
        session.hear(b"HELLO\n")
        session.wait(6)
        assert session.kinds == [FindingKind.UNPARSEABLE], seed


OPTIONAL = """
<start> ::= <x>{2} <Client:ping> <Server:pong> <Client:quit> <Server:bye>
<x> ::= <Client:nick> <Server:renamed>?
<nick> ::= "NICK " r"[a-z]" "\\n"
<renamed> ::= "RENAMED " r"[a-z]" "\\n"
<ping> ::= "PING\\n"
<pong> ::= "PONG\\n"
<quit> ::= "QUIT\\n"
<bye> ::= "BYE\\n"
"""


@pytest.mark.parametrize(
    ("heard", "kinds"),
    [
        (b"RENAMED a\nPONG\n", [FindingKind.UNDECIDED]),
        (b"RENAMED a\nRENAMED b\n", [FindingKind.UNDECIDED]),  # the second comes when the first has been taken
        (b"PANG\n", [FindingKind.UNPARSEABLE]),
        (b"PONG\nRENAMED a\n", [FindingKind.UNEXPECTED]),  # what came before it cannot have crossed our message
    ],
)
def test_an_answer_that_need_not_come_may_cross_our_next_message(heard: bytes, kinds: list[FindingKind]) -> None:
    session = DrivenSession(OPTIONAL).open()
    assert [line[:4] for line in session.talk().splitlines()] == [b"NICK", b"NICK", b"PING"]
    session.hear(heard)
    session.wait(1)
    assert session.kinds == kinds
