"""What sessions of a setup learn about constraints: which hold again, after which messages, and which are in vain."""

from __future__ import annotations

from palaver.session.blame import Recoveries
from palaver.session.session_limits import MAX_QUESTIONS


def test_a_clause_that_held_again_can_recover() -> None:
    recoveries = Recoveries()
    assert recoveries.can_recover(1) is False
    recoveries.recovered(1, "<ask>")
    assert recoveries.can_recover(1) is True
    assert recoveries.can_recover(2) is False


def test_a_clause_waits_for_others_if_it_never_held_after_a_message_and_recovers() -> None:
    recoveries = Recoveries()
    assert not recoveries.waits_for_others(1, "<ask>")
    recoveries.recovered(1, "<answer>")
    assert recoveries.waits_for_others(1, "<ask>")
    recoveries.held(1, "<ask>")
    assert not recoveries.waits_for_others(1, "<ask>")
    assert recoveries.waits_for_others(1, "<put>")
    assert recoveries.has_held(1, "<ask>")
    assert not recoveries.has_held(2, "<ask>")


def test_what_is_asked_too_often_in_vain_is_asked_no_more_until_it_recovers_with_such_a_message() -> None:
    recoveries = Recoveries()
    for _ in range(MAX_QUESTIONS):
        assert recoveries.is_worth_asking(1, "<ask>")
        recoveries.asked_in_vain(1, "<ask>")
        assert recoveries.was_asked_in_vain(1, "<ask>")
    assert not recoveries.is_worth_asking(1, "<ask>")
    assert recoveries.is_worth_asking(2, "<ask>")
    assert recoveries.is_worth_asking(1, "<answer>")
    recoveries.recovered(1, "<answer>")
    assert not recoveries.is_worth_asking(1, "<ask>")
    recoveries.recovered(1, "<ask>")
    assert recoveries.is_worth_asking(1, "<ask>")


def test_what_was_learnt_can_be_kept_and_added_to_other_sessions() -> None:
    one, other = Recoveries(), Recoveries()
    one.recovered(3, "<ask>")
    one.held(1, "<ask>")
    one.note_futile("<ask>", frozenset({4, 2}))
    one.asked_in_vain(5, "<ask>")
    assert one.count != other.count
    other.add_data(one.as_data())
    assert one.count == other.count
    assert other.as_data() == one.as_data()
    assert other.is_futile("<ask>", frozenset({2, 4}))
    assert not other.is_futile("<put>", frozenset({2, 4}))
