"""The life of a session as a finite state machine: a table of states, inputs and next states, as in h11.

`TRANSITIONS` is the only place that says which input is allowed in which state. Inputs are the events of
`session.interface` and the session's own steps. The engine looks up every input here; one that is not in the table is a
mistake of the caller. `docs/session.md` is drawn from the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias, get_args

from palaver.session.interface import Input


class SessionState(Enum):
    """A state of a session, with its meaning."""

    __hash__ = object.__hash__  # several look-ups for each message; that of Enum is computed in Python

    IDLE = "nothing has happened yet"
    PEER_TURN = "input is read, and a message of the peer is waited for"
    OUR_TURN = "all input is read, and we can send a message"
    MESSAGE_PENDING = "our message is made, but not committed"
    YIELDING = "we could send, but let the peer send first for a while"
    UNANSWERED = "the peer has sent nothing while we yielded; it is our turn"
    LEAVING = "the dialogue is complete; nothing more must come, and the program under test may still exit"
    OVER = "the session has ended"


OVER: Final = SessionState.OVER  # looked at several times for each message


class OwnStep(Enum):
    """A step that the session takes itself, with its meaning."""

    __hash__ = object.__hash__

    BEGIN = "the first event begins the session"
    ADD_MESSAGE = "a message is added to the session"
    TAKE_TURN = "nothing is left to read, and we can send"
    DELIVER = "a party delivers data between two events"
    MAKE_MESSAGE = "our next message is made"
    YIELD_TURN = "the strategy lets the peer send first"
    COMMIT = "what was made is sent"
    DISCARD = "what was made is dropped, because the peer was faster"
    FIND = "a finding ends the session"
    LEAVE = "the dialogue is complete, and its end is watched"
    FINISH = "the dialogue is complete, and nothing is left to wait for"
    CUT = "a limit of the session, or of the run, is reached"


LifecycleInput: TypeAlias = type[Input] | OwnStep

EVENTS: Final[tuple[LifecycleInput, ...]] = get_args(Input)


class LifecycleError(RuntimeError):
    """The caller has handed the session an input that is not allowed in its state."""

    def __init__(self, state: SessionState, step: LifecycleInput) -> None:
        super().__init__(f"{name_of(step)} is not allowed in state {state.name} of a session")


def name_of(step: LifecycleInput) -> str:
    """The name of an input, as the documentation shows it."""
    return step.name.lower().replace("_", " ") if isinstance(step, OwnStep) else step.__name__


def _on_event(state: SessionState) -> dict[LifecycleInput, SessionState]:
    return dict.fromkeys(EVENTS, state)


_S, _DO = SessionState, OwnStep
_BROKEN_OFF: dict[LifecycleInput, SessionState] = {_DO.FIND: _S.OVER, _DO.CUT: _S.OVER}
_ENDINGS: dict[LifecycleInput, SessionState] = {**_BROKEN_OFF, _DO.LEAVE: _S.LEAVING, _DO.FINISH: _S.OVER}

TRANSITIONS: Final[Mapping[SessionState, Mapping[LifecycleInput, SessionState]]] = {
    _S.IDLE: {_DO.BEGIN: _S.PEER_TURN, **_BROKEN_OFF},
    _S.PEER_TURN: {
        **_on_event(_S.PEER_TURN),
        _DO.ADD_MESSAGE: _S.PEER_TURN,
        _DO.TAKE_TURN: _S.OUR_TURN,
        **_ENDINGS,
    },
    _S.OUR_TURN: {
        **_on_event(_S.PEER_TURN),
        _DO.DELIVER: _S.PEER_TURN,
        _DO.MAKE_MESSAGE: _S.MESSAGE_PENDING,
        **_BROKEN_OFF,
    },
    _S.MESSAGE_PENDING: {
        _DO.COMMIT: _S.PEER_TURN,
        _DO.DISCARD: _S.OUR_TURN,
        _DO.YIELD_TURN: _S.YIELDING,
        **_BROKEN_OFF,
    },
    _S.YIELDING: {
        **_on_event(_S.YIELDING),
        _DO.ADD_MESSAGE: _S.PEER_TURN,
        _DO.TAKE_TURN: _S.UNANSWERED,
        **_ENDINGS,
    },
    _S.UNANSWERED: {
        **_on_event(_S.YIELDING),
        _DO.DELIVER: _S.YIELDING,
        _DO.MAKE_MESSAGE: _S.MESSAGE_PENDING,
        **_BROKEN_OFF,
    },
    # A message may still be understood from what came before a program exited.
    _S.LEAVING: {**_on_event(_S.LEAVING), _DO.ADD_MESSAGE: _S.LEAVING, **_BROKEN_OFF, _DO.FINISH: _S.OVER},
    # Code of the spec that runs while everything is closed may still raise.
    _S.OVER: {**_on_event(_S.OVER), _DO.FIND: _S.OVER},
}
