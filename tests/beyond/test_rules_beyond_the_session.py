"""The second root of a spec, `<beyond>`: what it is, what knows nothing of it, and which mistakes in it are told."""

from __future__ import annotations

import pytest

import palaver
from palaver.beyond.refusal_rules import RefusalRules
from palaver.random_source import RandomSource

SESSION = r"""
<start>    ::= <Server:ready> <work>
<work>     ::= <Client:get> <Server:value> <work> | <Client:login> <Server:fine> <Client:bye> <Server:gone>
<ready>    ::= "ready\r\n"
<get>      ::= "get " <key> "\r\n"
<login>    ::= "login\r\n"
<bye>      ::= "bye\r\n"
<key>      ::= r"[a-z]{1,8}"
<value>    ::= "value " r"[0-9]+" "\r\n"
<fine>     ::= "fine\r\n"
<gone>     ::= "gone\r\n"
"""
BEYOND = r"""
<beyond>   ::= <allowed> | <early> | <misspelt>
<allowed>  ::= <Client:any_get>
<early>    ::= (<Client:any_bye> | <Client:any_login>) <Server:not_now>
<misspelt> ::= <Client:any_line> <Server:refusal>
<any_get>  ::= r"get [ -~]+" "\r\n"
<any_bye>  ::= r"bye *" "\r\n"
<any_login> ::= r"login *" "\r\n"
<any_line> ::= r"[^\r\n]*" "\r\n"
<not_now>  ::= "error not now\r\n"
<refusal>  ::= r"error [ -~]*" "\r\n"
"""


def rules() -> RefusalRules:
    spec = palaver.loads(SESSION, BEYOND)
    return RefusalRules(spec, ("Client",), RandomSource(1))


def warned(text: str) -> list[str]:
    return [each.message for each in palaver.loads(SESSION, text).warnings]


def test_a_spec_with_a_second_root_has_no_warnings() -> None:
    assert warned(BEYOND) == []


def test_coverage_and_parties_and_printing_know_nothing_of_it() -> None:
    with_it, without = palaver.loads(SESSION, BEYOND), palaver.loads(SESSION)
    assert with_it.analysis.parties == without.analysis.parties
    assert list(with_it.grammar.rules) == list(without.grammar.rules)
    assert [str(tree) for tree in with_it.fuzz(5, seed=1)] == [str(tree) for tree in without.fuzz(5, seed=1)]


def test_a_rule_that_both_roots_lead_to_stays_in_the_session() -> None:
    spec = palaver.loads(SESSION, BEYOND.replace("error not now\\r\\n", "error ").replace('"error "', '"error " <key>'))
    assert "<key>" in spec.grammar.rules
    assert "<key>" not in spec.grammar.beyond


def test_a_rule_that_neither_root_leads_to_is_told() -> None:
    assert warned(BEYOND + "<lost> ::= 'x'\n") == ["<lost> is never used"]


def test_an_alternative_without_a_message_is_told() -> None:
    assert "has no message" in warned("<beyond> ::= 'x'\n")[0]


def test_an_alternative_that_is_never_reached_is_told() -> None:
    text = BEYOND.replace("| <misspelt>\n", "| <misspelt> | <again>\n<again> ::= <Client:any_get> <Server:refusal>\n")
    assert any("never reached" in each for each in warned(text))


def test_a_party_that_says_nothing_in_the_session_is_told() -> None:
    assert any("Cleint" in each for each in warned(BEYOND.replace("<Client:any_get>", "<Cleint:any_get>")))


@pytest.mark.parametrize(
    ("data", "position"), [(b"get x y\r\n", 0), (b"bye \r\n", 1), (b"login\r\n", 1), (b"hm\r\n", 2), (b"hm", None)]
)
def test_the_first_alternative_that_fits_decides(data: bytes, position: int | None) -> None:
    found = rules().find("Client", data)
    assert (None if found is None else found.position) == position


def test_a_message_without_an_answer_is_legal() -> None:
    found = rules().find("Client", b"get x\r\n")
    assert found is not None
    assert found.is_legal


def test_a_message_is_not_judged_where_one_of_its_kind_may_be_said() -> None:
    known = rules()
    moves = {move.symbol: move for move in palaver.loads(SESSION).forecaster().messages}
    here = [moves["<get>"], moves["<login>"]]
    assert known.judge("Client", b"bye\r\n", here) is None  # of the same kind as login, which may be said
    judged = known.judge("Client", b"bye\r\n", [moves["<get>"]])
    assert judged is not None
    assert judged.alternative == "<early>"


def test_nothing_is_judged_where_anything_may_be_said() -> None:
    text = SESSION.replace('"login\\r\\n"', 'r"[A-Za-z ]+" "\\r\\n"')
    known = RefusalRules(palaver.loads(text, BEYOND), ("Client",), RandomSource(1))
    moves = {move.symbol: move for move in palaver.loads(text).forecaster().messages}
    assert known.anything_goes([moves["<get>"], moves["<login>"]]) == [moves["<login>"]]
    assert known.judge("Client", b"\x01\r\n", [moves["<get>"], moves["<login>"]]) is None
