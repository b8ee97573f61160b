"""A session follows the table of its life: states, inputs and next states."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from driven_session import DrivenSession, answered
from hypothesis import given
from hypothesis import strategies as st
from lifecycle_page import PAGE, rendered

from palaver.matching.forecaster import Forecast, MessageType
from palaver.random_source import RandomSource
from palaver.session.findings import FindingKind
from palaver.session.interface import Input, Opened, Received, TimePassed
from palaver.session.lifecycle import (
    EVENTS,
    TRANSITIONS,
    LifecycleError,
    LifecycleInput,
    OwnStep,
    SessionState,
)
from palaver.session.strategy import WAIT, RandomStrategy, StrategyChoice


@st.composite
def paths(draw: st.DrawFn) -> list[SessionState]:
    """The states along a sequence of allowed inputs."""
    state = SessionState.IDLE
    found = [state]
    for _ in range(draw(st.integers(0, 30))):
        step: LifecycleInput = draw(st.sampled_from(list(TRANSITIONS[state])))
        state = TRANSITIONS[state][step]
        found.append(state)
    return found


@given(paths())
def test_allowed_inputs_lead_to_states_of_the_table(states: list[SessionState]) -> None:
    assert set(states) <= set(TRANSITIONS)


@given(paths())
def test_a_session_that_is_over_stays_over(states: list[SessionState]) -> None:
    if SessionState.OVER in states:
        assert set(states[states.index(SessionState.OVER) :]) == {SessionState.OVER}


@given(paths())
def test_a_session_begins_once_and_pauses_end(states: list[SessionState]) -> None:
    assert SessionState.IDLE not in states[1:]
    for before, after in pairwise(states):
        if after is SessionState.UNANSWERED:
            assert before is SessionState.YIELDING
        if after is SessionState.MESSAGE_PENDING:
            assert before in (SessionState.OUR_TURN, SessionState.UNANSWERED)


def test_every_state_can_be_reached_and_can_end() -> None:
    reached = {SessionState.IDLE}
    for _ in SessionState:
        reached |= {target for state in reached for target in TRANSITIONS[state].values()}
    assert reached == set(SessionState)
    for state in SessionState:
        assert SessionState.OVER in TRANSITIONS[state].values()


def test_every_live_state_takes_every_event_unless_a_message_is_pending() -> None:
    for state, row in TRANSITIONS.items():
        takes_events = state not in (SessionState.IDLE, SessionState.MESSAGE_PENDING)
        assert [event in row for event in EVENTS] == [takes_events] * len(EVENTS)


def test_every_step_is_used() -> None:
    assert {step for row in TRANSITIONS.values() for step in row} == {*EVENTS, *OwnStep}


def test_the_page_shows_the_table() -> None:
    # `python tests/session/lifecycle_page.py` draws it again.
    assert PAGE.read_text(encoding="utf-8") == rendered()


# --- Sessions ---------------------------------------------------------------------------------------------------------


def test_nothing_is_handled_while_a_message_is_pending() -> None:
    driven = DrivenSession().open()
    assert driven.session.speak(0.0)
    with pytest.raises(LifecycleError, match="TimePassed is not allowed in state MESSAGE_PENDING"):
        driven.session.handle(TimePassed(0.0))
    driven.session.discard()
    driven.session.handle(TimePassed(0.0))
    assert driven.session.wants_to_send


def test_only_a_message_that_was_made_is_committed_or_discarded() -> None:
    session = DrivenSession().open().session
    with pytest.raises(LifecycleError, match="commit is not allowed in state OUR_TURN"):
        session.commit(0.0)
    with pytest.raises(LifecycleError, match="discard is not allowed in state OUR_TURN"):
        session.discard()


def test_no_message_is_made_when_it_is_not_our_turn() -> None:
    session = DrivenSession().session
    with pytest.raises(LifecycleError, match="make message is not allowed in state PEER_TURN"):
        session.speak(0.0)


class Hesitant(RandomStrategy):
    """Lets the peer send first, each time, unless it has just waited in vain."""

    def __init__(self) -> None:
        super().__init__(RandomSource(1))
        self.pauses = 0
        self._has_waited = False

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        if not self._has_waited:
            return WAIT
        self._has_waited = False
        return super().choose(moves, forecast, can_end)

    def waited(self, forecast: Forecast) -> None:
        self.pauses += 1
        self._has_waited = True


def hesitant() -> tuple[DrivenSession, Hesitant]:
    driven, strategy = DrivenSession(quiet=1.0).open(), Hesitant()
    driven.session._strategy = strategy
    return driven, strategy


def test_a_pause_ends_after_the_quiet_interval_and_is_told_to_the_strategy() -> None:
    driven, strategy = hesitant()
    assert not driven.session.speak(0.0)
    assert not driven.session.wants_to_send
    assert driven.session.deadline == 1.0
    driven.wait(0.5)
    assert not driven.session.wants_to_send
    driven.wait(0.5)
    assert driven.session.wants_to_send
    assert strategy.pauses == 0
    assert driven.session.speak(1.0)
    assert strategy.pauses == 1


def test_a_pause_ends_with_the_first_message() -> None:
    driven, strategy = hesitant()
    assert not driven.session.speak(0.0)
    driven.hear(b"SAY hello\n")
    assert driven.kinds == [FindingKind.UNEXPECTED]
    assert strategy.pauses == 0


def test_a_pause_that_a_message_has_ended_is_forgotten() -> None:
    text = "<start> ::= (<Client:ask> | <Server:note>) <Server:answer>\n"
    text += '<ask> ::= "ASK\\n"\n<note> ::= "NOTE\\n"\n<answer> ::= "SAY\\n"\n'
    driven = DrivenSession(text, quiet=1.0, timeout=5.0).open()
    driven.session._strategy = Hesitant()
    assert not driven.session.speak(0.0)
    assert driven.session.deadline == 1.0
    driven.hear(b"NOTE\n", after=0.25)
    assert driven.session.deadline == 5.25


CHUNKS = st.sampled_from([b"SAY a\n", b"SAY", b"BYE\n", b"?", b""])


@given(
    st.lists(st.one_of(st.sampled_from(["answer", "open", "wait", "speak", "discard", "close"]), CHUNKS), max_size=12)
)
def test_a_session_that_is_driven_anyhow_keeps_to_the_table(steps: list[str | bytes]) -> None:
    driven = DrivenSession(timeout=1.0)
    for step in steps:
        session = driven.session
        was_over = session.is_over
        if isinstance(step, bytes):
            _handle(driven, Received(driven.now, driven.link, step))
        elif step == "open":
            _handle(driven, Opened(driven.now, driven.link))
        elif step == "wait":
            driven.now += 0.6
            _handle(driven, TimePassed(driven.now))
        elif step == "close":
            driven.close()
        elif session.wants_to_send:
            if step == "answer":
                driven.hear(answered(driven.talk()))
            elif session.speak(driven.now):
                session.discard()
                assert session.wants_to_send
        assert session.is_over or not was_over
        if session.is_over:
            assert session.deadline is None
            assert not session.wants_to_send


def _handle(driven: DrivenSession, event: Input) -> None:
    driven.actions += driven.session.handle(event)
