"""A session has a hard limit of messages and of time. One that is cut says nothing about the peer."""

import pytest
from driven_session import ECHO, SERVER, DrivenSession, answered
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.random_source import RandomSource
from palaver.session.allowance import SessionAllowance
from palaver.session.engine import Session, Timeouts
from palaver.session.findings import FindingKind, Verdict
from palaver.session.interface import Close, Connected, Opened, Received, TimePassed
from palaver.session.setup import SessionSetup
from palaver.session.strategy import RandomStrategy

# It never ends by itself: only `<quit>` ends it, and that is unlikely.
LONG = ECHO.replace("<exchange>+", "<exchange>{40,80}")


def talked(driven: DrivenSession) -> DrivenSession:
    while not driven.session.is_over:
        for asked in driven.talk().splitlines(keepends=True):
            driven.hear(answered(asked))
    return driven


@settings(max_examples=15)
@given(st.integers(1, 60))
def test_no_session_has_more_messages_than_it_may(most: int) -> None:
    driven = talked(DrivenSession(LONG, max_messages=most).open())
    assert len(driven.session.said) == most
    assert driven.session.findings == []
    assert driven.session.verdict is Verdict.INCONCLUSIVE
    assert str(driven.session.cut_off) == f"--max-messages {most}"


@settings(max_examples=15)
@given(st.integers(2, 60), st.integers(0, 100))
def test_a_session_that_can_end_ends_before_its_last_message(exchanges: int, seed: int) -> None:
    most = 2 * exchanges
    driven = talked(DrivenSession(ECHO, seed=seed, max_messages=most).open())
    assert len(driven.session.said) <= most
    if most >= 8:
        assert driven.session.cut_off is None
        assert driven.session.verdict is Verdict.PASS


def test_a_flood_is_still_the_fault_of_the_peer() -> None:
    text = "<start> ::= <Client:go> <Server:line>* <Server:end>\n"
    text += "<go> ::= 'GO\\n'\n<line> ::= 'x\\n'\n<end> ::= '.\\n'\n"
    driven = DrivenSession(text, max_messages=100).open()
    driven.talk()
    driven.hear(b"x\n" * 100_000)
    assert driven.kinds == [FindingKind.LIMIT]
    assert len(driven.session.said) <= 105


def test_a_session_is_cut_when_its_time_is_over() -> None:
    driven = DrivenSession(session=7.5).open()
    driven.talk()
    assert driven.session.deadline == 5.0  # that of the answer is nearer
    driven.hear(b"SAY a", after=4.9)
    assert driven.session.deadline == 7.5
    driven.hear(b"b", after=2.5)
    driven.wait(0.2)
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.INCONCLUSIVE
    assert driven.session.findings == []
    assert str(driven.session.cut_off) == "--session-time 7.5"
    assert any(isinstance(action, Close) for action in driven.actions)


def test_the_time_of_a_session_begins_with_its_first_connection() -> None:
    driven = DrivenSession(ECHO, SERVER, link="Server", session=10.0)
    driven.wait(599.0)
    driven.open()
    assert not driven.session.is_over
    assert driven.session.ends_at == 609.0


def test_a_handshake_counts_as_the_first_connection() -> None:
    driven = DrivenSession(session=10.0)
    driven.session.handle(TimePassed(2.0))
    driven.session.handle(Connected(3.0, "Client"))
    assert driven.session.ends_at == 13.0


def test_a_client_is_not_waited_for_without_end() -> None:
    driven = DrivenSession(ECHO, SERVER, link="Server", session=10.0)
    assert driven.session.deadline == 600.0
    driven.wait(600.0)
    assert driven.session.is_over
    assert driven.session.findings == []
    assert driven.session.cut_off is not None
    assert driven.session.cut_off.ends_run
    assert str(driven.session.cut_off) == "no client came in 600 s (--time says how long to wait)"


def test_a_session_that_may_end_when_its_time_is_over_has_passed() -> None:
    text = "<start> ::= <Client:go> <Server:line>*\n<go> ::= 'GO\\n'\n<line> ::= 'x\\n'\n"
    driven = DrivenSession(text, session=1.0, quiet=5.0).open()
    driven.talk()
    driven.hear(b"x\n")
    driven.wait(1.0)
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS
    assert driven.session.cut_off is None


def test_the_end_of_the_run_cuts_a_session_that_waits_for_its_client() -> None:
    driven = DrivenSession(ECHO, SERVER, link="Server")
    chance = RandomSource(1)
    setup = SessionSetup(driven.spec, SERVER)
    session = Session(setup, RandomStrategy(chance), chance, Timeouts(), ends_at=3.0)
    session.handle(TimePassed(0.0))
    assert session.deadline == 3.0
    session.handle(TimePassed(3.0))
    assert session.is_over
    assert session.cut_off is not None
    assert session.cut_off.ends_run
    assert session.handle(Opened(4.0, "Server")) == []
    assert session.handle(Received(4.0, "Server", b"late")) == []


@pytest.mark.parametrize(
    ("messages", "in_a_row", "is_used_up"),
    [
        *((99, 0, False), (99, 101, False), (100, 0, True), (100, 94, True)),
        *((100, 95, False), (100, 100, False), (101, 101, True)),
    ],
)
def test_a_peer_that_has_sent_nearly_all_messages_in_a_row_is_read_a_little_further(
    messages: int, in_a_row: int, is_used_up: bool
) -> None:
    assert SessionAllowance(Timeouts(max_messages=100), None).is_used_up(messages, in_a_row) is is_used_up


@pytest.mark.parametrize(
    ("most", "messages", "is_near"), [(100, 89, False), (100, 90, True), (6, 2, False), (6, 3, True)]
)
def test_the_last_messages_are_left_for_the_way_to_the_end(most: int, messages: int, is_near: bool) -> None:
    assert (messages >= SessionAllowance(Timeouts(max_messages=most), None).nearly_all) is is_near
