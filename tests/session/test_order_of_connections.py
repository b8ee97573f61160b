"""Order is known only within a connection: a message may overtake one of another connection, and nothing else."""

from __future__ import annotations

import pytest
from driven_session import DrivenSession

from palaver.party import ConnectionMode
from palaver.session.findings import FindingKind
from palaver.session.interface import Opened, Received
from palaver.session.setup import RoleAssignment

# After <go>, either <first> comes on the connection of A, or <second> on that of B, and then <third> on that of A.
OVERTAKING = """
<start> ::= <A:go> (<first> | <second> <third>) <B:over>
<go> ::= "go\\n"
<over> ::= "over\\n"
"""
TEXTS = """
<one> ::= "one\\n"
<two> ::= "two\\n"
<three> ::= "three\\n"
"""
# The messages of one peer that we have two connections to, and those of two peers.
ONE_PEER = f"{OVERTAKING}<first> ::= <S:A:one>\n<second> ::= <S:B:two>\n<third> ::= <S:A:three>\n{TEXTS}"
TWO_PEERS = ONE_PEER.replace("<S:B:two>", "<T:B:two>")
PLACE = ("tcp://127.0.0.1:1", ConnectionMode.CONNECT)
ELSEWHERE = ("tcp://127.0.0.1:2", ConnectionMode.CONNECT)
EXTERNAL = ("1", ConnectionMode.EXTERNAL)


def asked(text: str) -> DrivenSession:
    """A session with two open connections, after our first message."""
    assignment = RoleAssignment(
        {"A": PLACE, "B": ELSEWHERE, "S": EXTERNAL} | ({"T": EXTERNAL} if "<T:" in text else {})
    )
    session = DrivenSession(text, assignment, link="A")
    for link in ("A", "B"):
        session.do(Opened(0.0, link))
    assert session.talk() == b"go\n"
    return session


def hear(session: DrivenSession, link: str, data: bytes) -> None:
    session.do(Received(session.now, link, data, False))


@pytest.mark.parametrize("text", [ONE_PEER, TWO_PEERS], ids=["one peer", "two peers"])
@pytest.mark.parametrize("pieces", [[b"three\n"], [b"thr", b"ee\n"]], ids=["whole", "in pieces"])
def test_a_message_waits_for_one_on_another_connection(text: str, pieces: list[bytes]) -> None:
    session = asked(text)
    for piece in pieces:
        hear(session, "A", piece)
        assert session.kinds == []
    hear(session, "B", b"two\n")
    assert session.talk() == b"over\n"
    assert session.kinds == []
    assert [each.symbol for each in session.session.said] == ["<go>", "<two>", "<three>", "<over>"]


@pytest.mark.parametrize("text", [ONE_PEER, TWO_PEERS], ids=["one peer", "two peers"])
def test_a_message_that_waits_in_vain_is_a_finding_after_the_timeout(text: str) -> None:
    session = asked(text)
    hear(session, "A", b"three\n")
    session.wait(4.9)
    assert session.kinds == []
    session.wait(0.2)
    assert session.kinds == [FindingKind.UNPARSEABLE]
    assert session.session.findings[0].got == b"three\n"


@pytest.mark.parametrize("text", [ONE_PEER, TWO_PEERS], ids=["one peer", "two peers"])
@pytest.mark.parametrize("data", [b"four\n", b"thru\n"])
def test_what_is_never_sent_is_a_finding_at_once(text: str, data: bytes) -> None:
    session = asked(text)
    hear(session, "A", data)
    assert session.kinds == [FindingKind.UNPARSEABLE]


def test_the_message_of_another_peer_is_a_finding_at_once() -> None:
    session = asked(TWO_PEERS)
    hear(session, "A", b"two\n")
    assert session.kinds == [FindingKind.UNPARSEABLE]


@pytest.mark.parametrize("text", [ONE_PEER, TWO_PEERS], ids=["one peer", "two peers"])
def test_nothing_is_waited_for_when_nobody_else_may_send(text: str) -> None:
    session = asked(text)
    hear(session, "B", b"two\n")
    hear(session, "A", b"one\n")
    assert session.kinds == [FindingKind.UNPARSEABLE]
    assert session.session.findings[0].got == b"one\n"


ANY_ORDER = """
<start> ::= <A:go> (<S:A:one> | <T:B:two>){4} <B:over>
<go> ::= "go\\n"
<over> ::= "over\\n"
<one> ::= r"[a-z]+"
<two> ::= r"[a-z]+"
"""


def test_the_data_that_came_first_is_read_first() -> None:
    session = asked(ANY_ORDER)
    # Each could go on until the peers are quiet.
    for arrived in ([("A", b"a"), ("B", b"b"), ("A", b"a")], [("B", b"b"), ("A", b"a")]):
        for link, data in arrived:
            hear(session, link, data)
        session.wait(1.0)
        session.wait(1.0)
    assert [each.data for each in session.session.said] == [b"go\n", b"aa", b"b", b"b", b"a"]
