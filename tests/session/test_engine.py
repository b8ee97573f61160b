"""A session listens before it talks, understands what comes in any pieces, and tells what was wrong."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import SERVER, Scene, answered

from palaver.session.events import Close, Failed, Open
from palaver.session.findings import Kind, Verdict


def test_nothing_is_said_before_the_link_is_open() -> None:
    scene = Scene()
    assert [type(action) for action in scene.actions] == [Open]
    assert scene.talk() == b""
    assert scene.open().talk()


def test_a_conversation_goes_to_its_end() -> None:
    scene = Scene().open()
    while not scene.session.is_over:
        scene.hear(answered(scene.talk()))
    assert scene.session.verdict is Verdict.PASS
    assert [said.symbol for said in scene.session.said][-2:] == ["<quit>", "<bye>"]
    assert isinstance(scene.actions[-1], Close)


def test_the_server_of_the_same_spec_answers_what_the_constraint_demands() -> None:
    scene = Scene(casting=SERVER, link="Server").open()
    scene.hear(b"ASK hello\n")
    assert scene.talk() == b"SAY hello\n"
    scene.hear(b"QUIT\n")
    assert scene.talk() == b"BYE\n"
    assert scene.session.verdict is Verdict.PASS


@given(cuts=st.lists(st.integers(1, 12), max_size=12), seed=st.integers(0, 20))
@settings(max_examples=25, deadline=None)
def test_how_bytes_are_cut_changes_nothing(cuts: list[int], seed: int) -> None:
    whole, cut = Scene(seed=seed).open(), Scene(seed=seed).open()
    while not whole.session.is_over:
        answer = answered(whole.talk())
        whole.hear(answer)
        assert answered(cut.talk()) == answer
        places = sorted({min(place, len(answer)) for place in cuts} | {0, len(answer)})
        for start, end in pairwise(places):
            cut.hear(answer[start:end])
    assert cut.session.verdict is whole.session.verdict is Verdict.PASS


def test_two_messages_in_one_piece_are_two_messages() -> None:
    scene = Scene(
        "<start> ::= <Client:go> <Server:one> <Server:two>\n<go> ::= 'GO\\n'\n<one> ::= '1\\n'\n<two> ::= '2\\n'\n"
    ).open()
    assert scene.talk() == b"GO\n"
    scene.hear(b"1\n2\n")
    assert scene.session.is_over
    assert [said.symbol for said in scene.session.said] == ["<go>", "<one>", "<two>"]


def test_what_the_peer_says_first_makes_our_message_void() -> None:
    scene = Scene(
        "<start> ::= <Client:go> <Server:yes> | <Server:no>\n<go> ::= 'GO\\n'\n<yes> ::= 'Y\\n'\n<no> ::= 'N\\n'\n"
    ).open()
    assert scene.session.wants_to_speak
    assert scene.session.speak(scene.now)
    scene.session.discard()
    scene.hear(b"N\n")
    assert scene.sent() == b""
    assert scene.session.is_over
    assert scene.session.verdict is Verdict.PASS


# --- what can be wrong ------------------------------------------------------------------------------------------------


def test_a_broken_constraint_is_named_with_the_values_it_saw() -> None:
    scene = Scene().open()
    scene.talk()
    scene.hear(b"SAY nonsense\n")
    (finding,) = scene.session.findings
    assert finding.kind is Kind.CONSTRAINT
    assert "<e>.<ask>.<word> == <e>.<answer>.<word> does not hold" in finding.message
    assert "nonsense" in finding.show()


@pytest.mark.parametrize("inner", ["forall <w> in <v>..<found>.<word>: <w> ==", "<v>..<found>.<word> =="])
def test_a_wrong_answer_is_noticed_when_it_comes_though_the_state_it_stands_in_goes_on(inner: str) -> None:
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
    scene = Scene(text).open()
    added = scene.talk().removeprefix(b"ADD ")
    scene.hear(b"OK\n")
    scene.talk()
    scene.hear(b"GOT not" + added)
    assert scene.kinds == [Kind.CONSTRAINT]


def test_what_cannot_be_read_is_shown_with_what_was_expected() -> None:
    scene = Scene().open()
    scene.talk()
    scene.hear(b"SAX ")
    (finding,) = scene.session.findings
    assert finding.kind is Kind.UNPARSEABLE
    assert finding.got == b"SAX "
    assert "offset" in finding.message
    assert finding.expected


def test_who_speaks_out_of_turn_is_told_of() -> None:
    scene = Scene().open()
    scene.hear(b"SAY hello\n")
    assert scene.kinds == [Kind.UNEXPECTED]


def test_silence_is_a_finding_when_the_time_is_over_and_not_before() -> None:
    scene = Scene(timeout=5.0).open()
    scene.talk()
    scene.wait(4.9)
    assert not scene.session.is_over
    scene.wait(0.2)
    assert scene.kinds == [Kind.SILENCE]


def test_a_slow_peer_is_no_violation() -> None:
    scene = Scene(timeout=1.0, patience=1.0).open()
    for byte in answered(scene.talk()):
        assert not scene.session.findings
        scene.hear(bytes([byte]), after=0.9)
    assert not scene.session.findings
    assert len(scene.session.said) == 2


def test_half_a_message_and_then_nothing_is_silence() -> None:
    scene = Scene(patience=1.0).open()
    scene.talk()
    scene.hear(b"SAY hel")
    scene.wait(1.1)
    (finding,) = scene.session.findings
    assert (finding.kind, finding.got) == (Kind.SILENCE, b"SAY hel")


@pytest.mark.parametrize("heard", [b"", b"SAY hel"])
def test_a_connection_that_is_closed_too_soon_is_a_finding(heard: bytes) -> None:
    scene = Scene().open()
    scene.talk()
    if heard:
        scene.hear(heard)
    scene.close()
    assert scene.kinds == [Kind.CLOSED]


def test_a_reset_is_a_finding_of_its_own_kind() -> None:
    scene = Scene().open()
    scene.talk()
    scene.close("reset")
    assert scene.kinds == [Kind.RESET]


def test_a_reset_in_the_middle_of_a_message_is_one_finding() -> None:
    scene = Scene().open()
    scene.talk()
    scene.hear(b"SAY hel")
    scene.close("reset")
    (finding,) = scene.session.findings
    assert (finding.kind, finding.got) == (Kind.RESET, b"SAY hel")


def test_who_says_no_more_may_still_be_answered() -> None:
    scene = Scene(casting=SERVER, link="Server").open()
    scene.hear(b"ASK hello\n")
    assert scene.talk() == b"SAY hello\n"
    scene.hear(b"QUIT\n")
    scene.close()
    assert scene.talk() == b"BYE\n"
    assert scene.session.verdict is Verdict.PASS


def test_who_never_lets_us_speak_is_stopped() -> None:
    text = "<start> ::= <Client:go> <Server:line>* <Server:end>\n"
    text += "<go> ::= 'GO\\n'\n<line> ::= 'x\\n'\n<end> ::= '.\\n'\n"
    scene = Scene(text, most_messages=100).open()
    scene.talk()
    scene.hear(b"x\n" * 1000)
    assert scene.kinds == [Kind.LIMIT]
    assert len(scene.session.said) == 102


def test_who_refuses_was_not_tested() -> None:
    scene = Scene()
    scene.do(Failed(0.0, "Client", "refused", "connection refused"))
    assert scene.kinds == [Kind.REFUSED]
    assert scene.session.verdict is Verdict.INCONCLUSIVE


def test_a_message_without_an_end_stops_at_a_limit() -> None:
    text = "<start> ::= <Client:go> <Server:much>\n<go> ::= 'GO\\n'\n<much> ::= r'[a-z]+' '\\n'\n"
    scene = Scene(text, largest_message=1000).open()
    scene.talk()
    for _ in range(11):
        scene.hear(b"a" * 100)
    assert scene.kinds == [Kind.LIMIT]


def test_a_message_that_could_go_on_waits_for_a_quiet_interval() -> None:
    text = "<start> ::= <Client:go> <Server:word> <Client:end>\n"
    text += "<go> ::= 'GO\\n'\n<word> ::= r'[a-z]+'\n<end> ::= 'END\\n'\n"
    scene = Scene(text).open()
    scene.talk()
    scene.hear(b"ab")
    scene.wait(0.01)
    scene.hear(b"cd")
    assert len(scene.session.said) == 1
    assert scene.session.deadline is not None
    scene.wait(scene.session.deadline - scene.now)
    assert [said.data for said in scene.session.said][1:] == [b"abcd"]
    assert scene.talk() == b"END\n"


def test_a_datagram_is_a_message_of_its_own() -> None:
    text = "<start> ::= <Client:go> <Server:word> <Server:word>\n<go> ::= 'GO\\n'\n<word> ::= r'[a-z]+'\n"
    scene = Scene(text).open()
    scene.talk()
    scene.hear(b"ab", is_whole=True)
    scene.hear(b"cd", is_whole=True)
    assert [said.data for said in scene.session.said] == [b"GO\n", b"ab", b"cd"]
    assert scene.session.verdict is Verdict.PASS


def test_spec_code_that_raises_is_the_specs_failure() -> None:
    text = "<start> ::= <Client:go> <Server:word>\n<go> ::= 'GO\\n'\n<word> ::= r'[a-z]+\\n'\nwhere int(<word>) > 0\n"
    scene = Scene(text).open()
    scene.talk()
    scene.hear(b"abc\n")
    assert scene.kinds == [Kind.SPEC_CRASH]
    assert scene.session.verdict is Verdict.ERROR


COUNTED = """
<start> ::= <item>* <Client:end>
<item> ::= <Client:put> <Server:ok>
<put> ::= "PUT\\n"
<ok> ::= "OK\\n"
<end> ::= "END\\n"
where len(*<put>) == 3
"""


@pytest.mark.parametrize("seed", range(5))
def test_what_must_be_so_at_the_end_need_not_be_so_before(seed: int) -> None:
    scene = Scene(COUNTED, seed=seed).open()
    while not scene.session.is_over:
        if scene.talk().endswith(b"PUT\n"):
            scene.hear(b"OK\n")
    # Whoever walks at random may miss it, but is told; nobody says that the peer was wrong.
    puts = sum(said.symbol == "<put>" for said in scene.session.said)
    assert (puts == 3) == (scene.session.verdict is Verdict.PASS)
    assert puts == 3 or scene.kinds == [Kind.UNSOLVED]


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
    scene = Scene(GUESSED).open()
    assert scene.talk()
    assert len(scene.session._forecast.hypotheses) == 2
    scene.hear(answer)
    (hypothesis,) = scene.session._forecast.hypotheses
    assert f"('{state}'" in str(hypothesis.tree()) or state in str(hypothesis.tree())
    assert scene.talk() == b"QUIT\n"
    assert scene.session.verdict is Verdict.PASS


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


@pytest.mark.parametrize("seed", range(4))
def test_what_we_say_is_right_before_what_it_is_a_part_of_is_finished(seed: int) -> None:
    scene = Scene(LETTER, seed=seed).open()
    while not scene.session.is_over:
        scene.talk()
        if not scene.session.is_over:
            scene.hear(b"OK\n")
    assert scene.session.verdict is Verdict.PASS
    addresses = [said.data[-2:] for said in scene.session.said if said.symbol in ("<from>", "<to>")]
    assert len(addresses) == 7
    assert addresses[0] not in addresses[1:]
