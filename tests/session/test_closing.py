"""The end of a connection can be said in a spec, as a message without data."""

from __future__ import annotations

import pytest
from driven_session import SERVER, DrivenSession

import palaver
from amounts import few
from palaver.session.findings import FindingKind, Verdict
from palaver.session.interface import Close, Closed, Failed, Finish, Received
from palaver.testing import run_pair

RULES = """
<quit> ::= "QUIT\\n"
<bye> ::= "BYE\\n"
<connection_closed> ::= ""
<connection_reset> ::= ""
<connection_ended> ::= ""
<connection_finished> ::= ""
"""
MUST = "<start> ::= <Client:Server:quit> <Server:Client:bye> <Server:Client:connection_closed>\n" + RULES
MAY = MUST.replace("<Server:Client:connection_closed>", "<Server:Client:connection_closed>?")
RESET = MUST.replace("connection_closed>\n", "connection_reset>\n", 1)
EITHER = MUST.replace("connection_closed>\n", "connection_ended>\n", 1)
RACE = "<start> ::= <Client:Server:quit> <Server:Client:bye>? <Server:Client:connection_ended>\n" + RULES


def quitted(text: str, heard: bytes = b"BYE\n") -> DrivenSession:
    driven = DrivenSession(text, timeout=2.0).open()
    assert driven.talk() == b"QUIT\n"
    if heard:
        driven.hear(heard)
    return driven


def symbols(driven: DrivenSession) -> list[str]:
    return [said.symbol for said in driven.session.said]


@pytest.mark.parametrize(
    ("text", "how"), [(MUST, None), (MAY, None), (RESET, "reset"), (EITHER, None), (EITHER, "reset")]
)
def test_a_peer_that_closes_as_the_spec_says_passes(text: str, how: str | None) -> None:
    driven = quitted(text)
    driven.close(how)
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS
    assert symbols(driven)[-1].startswith("<connection_")


def test_the_end_of_the_only_connection_needs_no_recipient() -> None:
    driven = quitted(MUST.replace(":Client:", ":").replace(":Server:", ":"))
    driven.close()
    assert driven.session.is_over
    assert symbols(driven) == ["<quit>", "<bye>", "<connection_closed>"]
    assert driven.session.verdict is Verdict.PASS


def test_a_peer_that_must_close_and_does_not_is_silent() -> None:
    driven = quitted(MUST)
    assert not driven.session.is_over
    driven.wait(2.0)
    (finding,) = driven.session.findings
    assert finding.message == "no <connection_closed> from Server in 2.0 s; see --timeout"


def test_a_peer_that_sends_where_it_must_close_is_told_so() -> None:
    driven = quitted(MUST)
    driven.hear(b"MORE\n")
    (finding,) = driven.session.findings
    assert finding.message == "Server sent data when it must end the connection"
    assert finding.got == b"MORE\n"


def test_a_peer_that_may_close_need_not() -> None:
    driven = quitted(MAY)
    driven.wait(2.0)
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("text", "how", "kind"), [(RESET, None, FindingKind.CLOSED), (MUST, "reset", FindingKind.RESET)]
)
def test_a_peer_that_closes_in_another_way_is_found(text: str, how: str | None, kind: FindingKind) -> None:
    driven = quitted(text)
    driven.close(how)
    assert driven.kinds == [kind]


def test_data_instead_of_the_end_is_out_of_turn() -> None:
    driven = quitted(MUST)
    driven.hear(b"BYE\n")
    assert driven.kinds == [FindingKind.UNEXPECTED]
    assert driven.session.findings[0].expected == ("<connection_closed>",)


@pytest.mark.parametrize("heard", [b"", b"BYE\n"])
@pytest.mark.parametrize("how", [None, "reset"])
def test_a_race_can_be_said(heard: bytes, how: str | None) -> None:
    driven = quitted(RACE, heard)
    driven.close(how)
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize(("text", "verdict"), [(EITHER, Verdict.PASS), (MUST, Verdict.FAIL)])
def test_a_reset_that_is_noticed_while_we_send_is_one(text: str, verdict: Verdict) -> None:
    driven = quitted(text)
    driven.do(Failed(driven.now, "Client", "reset", "tcp 127.0.0.1:1: Connection reset by peer"))
    assert driven.session.is_over
    assert driven.session.verdict is verdict


def test_an_end_in_the_middle_of_a_message_is_still_found() -> None:
    driven = quitted(RACE, b"BY")
    driven.close()
    assert driven.kinds == [FindingKind.CLOSED]


def test_data_and_end_that_come_together_are_read_in_their_order() -> None:
    driven = DrivenSession(MUST).open()
    driven.talk()
    driven.do(Received(driven.now, "Client", b"BYE\n"))
    driven.do(Closed(driven.now, "Client"))
    assert symbols(driven) == ["<quit>", "<bye>", "<connection_closed>"]


def test_an_end_before_it_is_expected_counts_when_it_is() -> None:
    text = "<start> ::= <Server:Client:bye> <Client:Server:quit> <Server:Client:connection_finished>\n" + RULES
    driven = DrivenSession(text).open()
    driven.hear(b"BYE\n")
    driven.close()
    assert driven.talk() == b"QUIT\n"
    assert symbols(driven) == ["<bye>", "<quit>", "<connection_finished>"]
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize("how", [None, "reset"])
def test_a_spec_that_expects_an_answer_behind_the_end_of_its_connection_is_wrong(how: str | None) -> None:
    text = (
        "<start> ::= <Server:Client:bye> <Server:Client:connection_closed> <Client:Server:quit> <Server:Client:bye>\n"
    )
    driven = DrivenSession(text + RULES).open()
    driven.hear(b"BYE\n")
    driven.close()
    assert driven.talk() == b"QUIT\n"
    driven.close(how) if how else driven.wait(6.0)
    (finding,) = driven.session.findings
    assert finding.kind is FindingKind.SPEC_CRASH
    told = "the spec expects <bye> from Server on a connection that Server has ended with <connection_closed>"
    assert told in finding.message


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("connection_closed", Close("Client")),
        ("connection_ended", Close("Client")),
        ("connection_reset", Close("Client", abruptly=True)),
        ("connection_finished", Finish("Client")),
    ],
)
def test_our_own_closing_messages_end_the_connection(name: str, action: object) -> None:
    driven = DrivenSession(f"<start> ::= <Client:Server:quit> <Client:Server:{name}>\n" + RULES).open()
    assert driven.talk() == b"QUIT\n"
    assert action in driven.actions
    assert driven.session.verdict is Verdict.PASS


def test_after_we_have_half_closed_the_peer_may_answer_and_we_may_close() -> None:
    start = (
        "<Client:Server:quit> <Client:Server:connection_finished> <Server:Client:bye> <Client:Server:connection_closed>"
    )
    driven = DrivenSession(f"<start> ::= {start}\n" + RULES).open()
    assert driven.talk() == b"QUIT\n"
    driven.hear(b"BYE\n")
    driven.talk()
    assert driven.session.is_over
    assert [type(action) for action in driven.actions if isinstance(action, Finish | Close)] == [Finish, Close]
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize("seed", few(range(4)))
def test_after_we_have_half_closed_nothing_but_the_end_is_left_to_us(seed: int) -> None:
    start = "<Client:Server:quit> <Client:Server:connection_finished> (<Client:Server:bye> | <end>)"
    text = f"<start> ::= {start}\n<end> ::= <Client:Server:connection_closed>\n" + RULES
    driven = DrivenSession(text, seed=seed).open()
    assert driven.talk() == b"QUIT\n"
    assert symbols(driven) == ["<quit>", "<connection_finished>", "<connection_closed>"]
    assert driven.session.verdict is Verdict.PASS


def test_a_program_that_exits_has_closed() -> None:
    text = "<start> ::= <In:quit> <Out:bye> <Out:connection_closed>\nset_program_command('x')\n" + RULES
    driven = DrivenSession(text, SERVER, "In").open()
    driven.talk()
    driven.hear(b"BYE\n")
    driven.do(Closed(driven.now, "In", exit_code=0))
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS


@pytest.mark.parametrize("text", [MUST, MAY, RESET, EITHER, RACE])
def test_both_sides_of_a_spec_agree_on_its_ends(text: str) -> None:
    spec = palaver.loads(text)
    for seed in range(5):
        client, server = run_pair(spec, seed=seed)
        assert (client.verdict, server.verdict) == (Verdict.PASS, Verdict.PASS), client.findings or server.findings


def test_a_message_of_that_name_with_data_is_an_ordinary_one() -> None:
    driven = quitted(MUST.replace('<connection_closed> ::= ""', '<connection_closed> ::= "CLOSED\\n"'))
    driven.hear(b"CLOSED\n")
    assert driven.session.verdict is Verdict.PASS
    assert driven.session.is_over
