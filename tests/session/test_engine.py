"""A session listens before it talks, reads messages from any pieces, and reports what was wrong."""

from __future__ import annotations

from itertools import pairwise

import pytest
from driven_session import ECHO, SERVER, DrivenSession, answered
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples, few
from palaver.session.findings import FindingKind, Verdict
from palaver.session.interface import Close, Failed, Open


def test_nothing_is_sent_before_the_connection_is_open() -> None:
    driven = DrivenSession()
    assert [type(action) for action in driven.actions] == [Open]
    assert driven.talk() == b""
    assert driven.open().talk()


def test_a_session_goes_to_its_end() -> None:
    driven = DrivenSession().open()
    while not driven.session.is_over:
        driven.hear(answered(driven.talk()))
    assert driven.session.verdict is Verdict.PASS
    assert [said.symbol for said in driven.session.said][-2:] == ["<quit>", "<bye>"]
    assert isinstance(driven.actions[-1], Close)


def test_the_server_of_the_same_spec_answers_as_the_constraint_requires() -> None:
    driven = DrivenSession(assignment=SERVER, link="Server").open()
    driven.hear(b"ASK hello\n")
    assert driven.talk() == b"SAY hello\n"
    driven.hear(b"QUIT\n")
    assert driven.talk() == b"BYE\n"
    assert driven.session.verdict is Verdict.PASS


@given(cuts=st.lists(st.integers(1, 12), max_size=12), seed=st.integers(0, 20))
@settings(max_examples=examples(25), deadline=None)
def test_pieces_of_any_size_give_the_same_messages(cuts: list[int], seed: int) -> None:
    whole, cut = DrivenSession(seed=seed).open(), DrivenSession(seed=seed).open()
    while not whole.session.is_over:
        answer = answered(whole.talk())
        whole.hear(answer)
        assert answered(cut.talk()) == answer
        places = sorted({min(place, len(answer)) for place in cuts} | {0, len(answer)})
        for start, end in pairwise(places):
            cut.hear(answer[start:end])
    assert cut.session.verdict is whole.session.verdict is Verdict.PASS


def test_two_messages_in_one_piece_are_two_messages() -> None:
    driven = DrivenSession(
        "<start> ::= <Client:go> <Server:one> <Server:two>\n<go> ::= 'GO\\n'\n<one> ::= '1\\n'\n<two> ::= '2\\n'\n"
    ).open()
    assert driven.talk() == b"GO\n"
    driven.hear(b"1\n2\n")
    assert driven.session.is_over
    assert [said.symbol for said in driven.session.said] == ["<go>", "<one>", "<two>"]


def test_our_message_is_discarded_if_the_peer_is_faster() -> None:
    driven = DrivenSession(
        "<start> ::= <Client:go> <Server:yes> | <Server:no>\n<go> ::= 'GO\\n'\n<yes> ::= 'Y\\n'\n<no> ::= 'N\\n'\n"
    ).open()
    assert driven.session.wants_to_send
    assert driven.session.speak(driven.now)
    driven.session.discard()
    driven.hear(b"N\n")
    assert driven.sent() == b""
    assert driven.session.is_over
    assert driven.session.verdict is Verdict.PASS


# --- what can be wrong ------------------------------------------------------------------------------------------------


def test_a_violated_constraint_is_reported_with_its_values() -> None:
    driven = DrivenSession().open()
    driven.talk()
    driven.hear(b"SAY nonsense\n")
    (finding,) = driven.session.findings
    assert finding.kind is FindingKind.CONSTRAINT
    assert "<e>.<ask>.<word> == <e>.<answer>.<word> does not hold" in finding.message
    assert "nonsense" in finding.show()


@pytest.mark.parametrize("inner", ["forall <w> in <v>..<found>.<word>: <w> ==", "<v>..<found>.<word> =="])
def test_a_wrong_answer_is_found_when_it_comes_though_its_state_goes_on(inner: str) -> None:
    text = f"""
<start> ::= <visit>
<visit> ::= <Client:add> <Server:ok> <look>+ <Client:quit>
<look> ::= <Client:get> <Server:found>
<add> ::= "ADD " <word> "\\n"
<ok> ::= "OK\\n"
<get> ::= "GET\\n"
<found> ::= "GOT " <word> "\\n"
<quit> ::= "QUIT\\n"
<word> ::= r"[a-z]+"
where forall <v> in <visit>: {inner} <v>.<add>.<word>
"""
    driven = DrivenSession(text).open()
    added = driven.talk().removeprefix(b"ADD ")
    driven.hear(b"OK\n")
    driven.talk()
    driven.hear(b"GOT not" + added)
    assert driven.kinds == [FindingKind.CONSTRAINT]


def test_unreadable_data_is_reported_with_what_was_expected() -> None:
    driven = DrivenSession().open()
    driven.talk()
    driven.hear(b"SAX ")
    (finding,) = driven.session.findings
    assert finding.kind is FindingKind.UNPARSEABLE
    assert finding.got == b"SAX "
    assert "at byte 2" in finding.message
    assert finding.expected


def test_a_message_out_of_turn_is_a_finding() -> None:
    driven = DrivenSession().open()
    driven.hear(b"SAY hello\n")
    assert driven.kinds == [FindingKind.UNEXPECTED]


def test_silence_is_a_finding_after_the_timeout_and_not_before() -> None:
    driven = DrivenSession(timeout=5.0).open()
    driven.talk()
    driven.wait(4.9)
    assert not driven.session.is_over
    driven.wait(0.2)
    assert driven.kinds == [FindingKind.SILENCE]


def test_a_slow_peer_is_not_a_finding() -> None:
    driven = DrivenSession(timeout=1.0, patience=1.0).open()
    for byte in answered(driven.talk()):
        assert not driven.session.findings
        driven.hear(bytes([byte]), after=0.9)
    assert not driven.session.findings
    assert len(driven.session.said) == 2


def test_half_a_message_and_then_nothing_is_silence() -> None:
    driven = DrivenSession(patience=1.0).open()
    driven.talk()
    driven.hear(b"SAY hel")
    driven.wait(1.1)
    (finding,) = driven.session.findings
    assert (finding.kind, finding.got) == (FindingKind.SILENCE, b"SAY hel")


@pytest.mark.parametrize("heard", [b"", b"SAY hel"])
def test_a_connection_that_is_closed_too_early_is_a_finding(heard: bytes) -> None:
    driven = DrivenSession().open()
    driven.talk()
    if heard:
        driven.hear(heard)
    driven.close()
    assert driven.kinds == [FindingKind.CLOSED]


def test_a_reset_is_a_finding_of_its_own_kind() -> None:
    driven = DrivenSession().open()
    driven.talk()
    driven.close("reset")
    assert driven.kinds == [FindingKind.RESET]


def test_a_reset_in_the_middle_of_a_message_is_one_finding() -> None:
    driven = DrivenSession().open()
    driven.talk()
    driven.hear(b"SAY hel")
    driven.close("reset")
    (finding,) = driven.session.findings
    assert (finding.kind, finding.got) == (FindingKind.RESET, b"SAY hel")


def test_a_peer_that_sends_no_more_may_still_be_answered() -> None:
    driven = DrivenSession(assignment=SERVER, link="Server").open()
    driven.hear(b"ASK hello\n")
    assert driven.talk() == b"SAY hello\n"
    driven.hear(b"QUIT\n")
    driven.close()
    assert driven.talk() == b"BYE\n"
    assert driven.session.verdict is Verdict.PASS


def test_a_peer_that_never_lets_us_send_is_a_finding() -> None:
    text = "<start> ::= <Client:go> <Server:line>* <Server:end>\n"
    text += "<go> ::= 'GO\\n'\n<line> ::= 'x\\n'\n<end> ::= '.\\n'\n"
    driven = DrivenSession(text, max_messages=100).open()
    driven.talk()
    driven.hear(b"x\n" * 1000)
    assert driven.kinds == [FindingKind.LIMIT]
    assert len(driven.session.said) == 102


def test_a_refused_connection_is_inconclusive() -> None:
    driven = DrivenSession()
    driven.do(Failed(0.0, "Client", "refused", "connection refused"))
    assert driven.kinds == [FindingKind.REFUSED]
    assert driven.session.verdict is Verdict.INCONCLUSIVE


def test_a_message_without_an_end_stops_at_a_limit() -> None:
    text = "<start> ::= <Client:go> <Server:much>\n<go> ::= 'GO\\n'\n<much> ::= r'[a-z]+' '\\n'\n"
    driven = DrivenSession(text, max_message_bytes=1000).open()
    driven.talk()
    for _ in range(11):
        driven.hear(b"a" * 100)
    assert driven.kinds == [FindingKind.LIMIT]


def test_a_message_that_could_go_on_waits_for_a_quiet_interval() -> None:
    text = "<start> ::= <Client:go> <Server:word> <Client:end>\n"
    text += "<go> ::= 'GO\\n'\n<word> ::= r'[a-z]+'\n<end> ::= 'END\\n'\n"
    driven = DrivenSession(text).open()
    driven.talk()
    driven.hear(b"ab")
    driven.wait(0.01)
    driven.hear(b"cd")
    assert len(driven.session.said) == 1
    assert driven.session.deadline is not None
    driven.wait(driven.session.deadline - driven.now)
    assert [said.data for said in driven.session.said][1:] == [b"abcd"]
    assert driven.talk() == b"END\n"


def test_a_datagram_is_a_message_of_its_own() -> None:
    text = "<start> ::= <Client:go> <Server:word> <Server:word>\n<go> ::= 'GO\\n'\n<word> ::= r'[a-z]+'\n"
    driven = DrivenSession(text).open()
    driven.talk()
    driven.hear(b"ab", is_whole=True)
    driven.hear(b"cd", is_whole=True)
    assert [said.data for said in driven.session.said] == [b"GO\n", b"ab", b"cd"]
    assert driven.session.verdict is Verdict.PASS


def test_spec_code_that_raises_is_an_error_of_the_spec() -> None:
    text = "<start> ::= <Client:go> <Server:word>\n<go> ::= 'GO\\n'\n<word> ::= r'[a-z]+\\n'\nwhere int(<word>) > 0\n"
    driven = DrivenSession(text).open()
    driven.talk()
    driven.hear(b"abc\n")
    assert driven.kinds == [FindingKind.SPEC_CRASH]
    assert driven.session.verdict is Verdict.ERROR


COUNTED = """
<start> ::= <item>* <Client:end>
<item> ::= <Client:put> <Server:ok>
<put> ::= "PUT\\n"
<ok> ::= "OK\\n"
<end> ::= "END\\n"
where len(*<put>) == 3
"""


@pytest.mark.parametrize("seed", few(range(5)))
def test_a_constraint_on_the_end_need_not_hold_before(seed: int) -> None:
    driven = DrivenSession(COUNTED, seed=seed).open()
    while not driven.session.is_over:
        if driven.talk().endswith(b"PUT\n"):
            driven.hear(b"OK\n")
    # Whoever walks at random may miss it, but is told; nobody says that the peer was wrong.
    puts = sum(said.symbol == "<put>" for said in driven.session.said)
    assert (puts == 3) == (driven.session.verdict is Verdict.PASS)
    assert puts == 3 or driven.kinds == [FindingKind.UNSOLVED]


GUESSED = """
<start> ::= <login> <Client:quit>
<login> ::= <good> | <bad>
<good> ::= <Client:name> <Server:ask>
<bad> ::= <Client:name> <Server:ask>
<name> ::= r"[a-z]{1,4}" "\\n"
<ask> ::= "WHO\\n" | "NO\\n"
<quit> ::= "QUIT\\n"
where forall <g> in <good>: <g>.<ask> == "WHO\\n"
where forall <b> in <bad>: <b>.<ask> == "NO\\n"
"""


@pytest.mark.parametrize(("answer", "state"), [(b"WHO\n", "<good>"), (b"NO\n", "<bad>")])
def test_constraints_decide_between_hypotheses(answer: bytes, state: str) -> None:
    driven = DrivenSession(GUESSED).open()
    assert driven.talk()
    assert len(driven.session._forecast.hypotheses) == 2
    driven.hear(answer)
    (hypothesis,) = list(driven.session._forecast.hypotheses)
    assert f"('{state}'" in str(hypothesis.tree()) or state in str(hypothesis.tree())
    assert driven.talk() == b"QUIT\n"
    assert driven.session.verdict is Verdict.PASS


LETTER = """
<start> ::= <letter> <Client:end>
<letter> ::= <Client:from> <Server:ok> <recipient>{6}
<recipient> ::= <Client:to> <Server:ok>
<from> ::= "FROM " <address> "\\n"
<to> ::= "TO " <address> "\\n"
<ok> ::= "OK\\n"
<end> ::= "END\\n"
<address> ::= r"[a-d]"
where forall <l> in <letter>: <l>.<from>.<address> != <l>.<recipient>.<to>.<address>
"""


@pytest.mark.parametrize("seed", few(range(4)))
def test_our_message_is_right_before_its_state_is_finished(seed: int) -> None:
    driven = DrivenSession(LETTER, seed=seed).open()
    while not driven.session.is_over:
        driven.talk()
        if not driven.session.is_over:
            driven.hear(b"OK\n")
    assert driven.session.verdict is Verdict.PASS
    addresses = [said.data[-2:] for said in driven.session.said if said.symbol in ("<from>", "<to>")]
    assert len(addresses) == 7
    assert addresses[0] not in addresses[1:]


def test_a_session_tells_what_it_can_begin_with_where_it_listens() -> None:
    (opened,) = [action for action in DrivenSession(ECHO, SERVER, "Server").actions if isinstance(action, Open)]
    assert opened.begins_session is not None
    assert opened.begins_session(b"ASK me\n")
    assert opened.begins_session(b"QUIT\n") is False
    (opened,) = [action for action in DrivenSession(ECHO).actions if isinstance(action, Open)]
    assert opened.begins_session is None
