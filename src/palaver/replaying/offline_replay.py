"""Offline replay: the recorded inputs of a session, through the engine once more.

How it works
============

A session depends on nothing but its inputs, their times, and our messages. Inputs and times are recorded; each message
of ours is prescribed, read from its recorded bytes. So the engine must answer with the recorded actions, byte for byte,
and with the recorded finding. With another spec it may not: then the place is told where the two part, and what is
found now.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from enum import Enum
from typing import assert_never

from palaver.beyond.wrong_messages import Digression, Place, WrongMessages
from palaver.campaign.run import Campaign
from palaver.compiled import Spec
from palaver.generation.makers import Steering, ValueSource
from palaver.lean_dataclasses import dataclass
from palaver.matching.forecaster import Forecast, MessageType
from palaver.printable import counted
from palaver.random_source import RandomSource
from palaver.recording.run_reader import RecordedFinding, RecordedMessage, Run, RunError
from palaver.replaying.run_options import SEEN_OUTSIDE, offline_campaign
from palaver.session.engine import EndWatch, LifecycleError
from palaver.session.findings import Finding, FindingKind, show_data
from palaver.session.interface import Action, Close, Finish, Heard, Input, Open, Secure, Send, Turn
from palaver.session.strategy import WAIT, ScriptedMessage, Strategy, StrategyChoice
from palaver.trees.node import Node


@dataclass(frozen=True)
class OfflineResult:
    """The result of a recorded session this time."""

    parting: str  # where it went otherwise; "" if it did not
    finding: Finding | None  # that is found now
    is_found: bool  # the recorded finding is found
    actions: int  # that were compared


def replay_offline(run: Run, finding: RecordedFinding, spec: Spec | None = None) -> OfflineResult:
    """Replay the session of a finding; with another spec, if one is given.

    :raises RunError: the session was not kept
    """
    if not run.session(finding.session).has_details:
        raise RunError(f"session {finding.session} was not kept: see --keep and --run-size")
    result = _replayed(run, finding, spec, _Free.NEVER)
    if not result.is_found and not result.parting:
        # Where nothing was sent we had ended the session, or had found no message: only the result tells.
        again = _replayed(run, finding, spec, _Free.AT_END)
        return again if again.is_found else result
    return result


class _Free(Enum):
    """When the strategy may choose freely what to try to send."""

    NEVER = "never"
    AT_END = "in turns without a message"


def _replayed(run: Run, finding: RecordedFinding, spec: Spec | None, free: _Free) -> OfflineResult:
    with closing(offline_campaign(run, finding.session, spec)) as campaign:
        return _Replay(run, finding.session, campaign, free).result(finding)


def count_again(run: Run, session: int, campaign: Campaign) -> None:
    """Let the guidance of a campaign learn from a session that was recorded, as if it had just been held."""
    _Replay(run, session, campaign, _Free.NEVER, campaign.guidance.random_walk).go_through()


class _Replay:
    def __init__(
        self, run: Run, number: int, campaign: Campaign, free: _Free, observer: Strategy | None = None
    ) -> None:
        recorded = run.session(number)
        known = run.recoveries_before(number)
        if known is not None:
            campaign.setup.recoveries.add_data(known)
        self._began = run.began
        self._events = run.wire(number)
        self._ours = deque(said for said in run.messages(number) if said.is_ours)
        self._free = free
        self._strategy = _PrescribedStrategy(observer)
        self._digressions = _PrescribedDigressions(campaign.sessions.wrong)
        self._session = campaign.sessions.recorded(
            self._strategy,
            RandomSource(run.seed) / "session" / (number - 1),
            self._digressions,
            ends_at=recorded.ends_at,
            end_watch=EndWatch(recorded.watched),
        )
        self._due: deque[Action] = deque()  # actions of the session that the record must have next
        self._actions = 0
        self._sent = 0

    def result(self, finding: RecordedFinding) -> OfflineResult:
        parting = self.go_through()
        found = self._session.findings
        alike = [each for each in found if is_same_finding(finding, each)]
        is_outside = finding.kind in SEEN_OUTSIDE
        is_found = not parting and (bool(alike) or is_outside)
        now = alike[0] if alike else found[0] if found else None
        return OfflineResult(parting, now, is_found, self._actions)

    def go_through(self) -> str:
        """Replay the session; return where it and the record part, or "" if they do not."""
        for event, answer in _with_answers(self._events):
            self._session.own_way.recalled = answer
            if isinstance(event, Action):
                parting = self._compare(event)
            elif self._due:
                parting = f"now there is {_told(self._due[0])}, which there was not"
            elif self._session.is_over:
                parting = "now the session is over already"
            else:
                parting = self._go_on(event)
            if parting:
                return f"after {counted(self._sent, 'message')} of ours: {parting}"
        return ""

    def _compare(self, recorded: Action) -> str:
        if not self._due:
            return f"there was {_told(recorded)}, and now there is nothing"
        now = self._due.popleft()
        self._actions += 1
        if _comparable(now) != _comparable(recorded):
            return f"there was {_told(recorded)}, and now there is {_told(now)}"
        return ""

    def _go_on(self, event: Input | Turn) -> str:
        if isinstance(event, Input):
            self._due.extend(self._session.handle(event))
            return ""
        try:
            return self._take(event)
        except LifecycleError:
            return "it was our turn, and now it is not"

    def _take(self, turn: Turn) -> str:
        session, strategy = self._session, self._strategy
        wanted: RecordedMessage | None = None
        if turn.outcome == "taken" and self._ours and self._ours[0].at == turn.at - self._began:
            wanted = self._ours.popleft()
        is_aside = wanted is not None and bool(wanted.aside)
        self._digressions.wanted = wanted if is_aside else None
        dialogue = None if is_aside else wanted
        strategy.prescribe(dialogue, is_pause=turn.outcome == "yielded", is_free=self._is_free(turn, wanted))
        if not session.speak(turn.made_at):
            return "" if turn.outcome == "yielded" or session.is_over else "we let the peer speak first now"
        if turn.outcome == "dropped":
            session.discard()
            return ""
        if wanted is not None and (strategy.is_stuck or self._digressions.wanted is not None):
            why = strategy.reason or "it is not one of the messages that may come next"
            return f"{wanted.symbol} ({show_data(wanted.data)}) cannot be sent now: {why}"
        self._due.extend(session.commit(turn.at))
        self._sent += wanted is not None
        return ""

    def _is_free(self, turn: Turn, wanted: RecordedMessage | None) -> bool:
        return self._free is _Free.AT_END and turn.outcome == "taken" and wanted is None


def _with_answers(
    events: Sequence[Input | Action | Turn],
) -> Iterator[tuple[Input | Action | Turn, tuple[Heard, ...] | None]]:
    """The events, each turn with what its party has heard in its own way; None: nothing was sent in such a way."""
    answers: dict[int, tuple[Heard, ...]] = {}
    turn = 0
    for at, event in enumerate(events):
        if isinstance(event, Turn) and event.outcome == "answered":
            answers[turn] = event.heard
        elif isinstance(event, Turn):
            turn = at
    for at, event in enumerate(events):
        if not isinstance(event, Turn) or event.outcome != "answered":
            yield event, answers.get(at)


class _PrescribedDigressions:
    """Proposes the wrong messages that the record has, if they are still wrong."""

    def __init__(self, wrong: WrongMessages | None) -> None:
        self._wrong = wrong
        self.wanted: RecordedMessage | None = None

    def propose(self, place: Place, number: int, chance: RandomSource) -> Digression | None:
        """The prescribed message."""
        if self.wanted is None or self._wrong is None:
            return None
        found = self._wrong.again(place, self.wanted.data, self.wanted.aside)
        self.wanted = self.wanted if found is None else None
        return found


class _PrescribedStrategy:
    """Chooses what the record says."""

    steering: Steering | None = None
    values: ValueSource | None = None

    def __init__(self, observer: Strategy | None = None) -> None:
        self._observer = observer  # is told what happens
        self._wanted: RecordedMessage | None = None
        self._is_pause = self._is_free = False
        self.is_stuck = False
        self.reason = ""

    def prescribe(self, wanted: RecordedMessage | None, *, is_pause: bool, is_free: bool) -> None:
        """The next choice: a message, a pause, any message, or the end."""
        self._wanted, self._is_pause, self._is_free = wanted, is_pause, is_free
        self.is_stuck = False

    def begin(self) -> None:
        """Begin the only session."""
        if self._observer is not None:
            self._observer.begin()

    def choose(self, moves: Sequence[MessageType], forecast: Forecast, can_end: bool) -> StrategyChoice:
        """The prescribed message, if it is possible."""
        if self._is_pause:
            return WAIT
        if self._is_free:
            return moves[0]
        wanted = self._wanted
        if wanted is None or self.is_stuck:
            return None
        found = [move for move in moves if (move.sender, move.symbol) == (wanted.sender, wanted.symbol)]
        if not found:
            self.is_stuck = True
            return None
        return ScriptedMessage(found[0], data=wanted.data)

    def finish_soon(self) -> None:
        """The record has an end of its own."""

    def waited(self, forecast: Forecast) -> None:
        """The record says what comes next."""

    def refused(self, move: MessageType) -> None:
        """The message violates a constraint, which it did not when it was recorded."""
        self.is_stuck, self.reason = True, "it is not such a message any more, or violates a constraint"

    def said(self, move: MessageType, node: Node, before: Forecast, after: Forecast, is_ours: bool) -> None:
        """Pass it on."""
        if self._observer is not None:
            self._observer.said(move, node, before, after, is_ours)

    def ended(self, can_end: bool) -> None:
        """Pass it on."""
        if self._observer is not None:
            self._observer.ended(can_end)


def is_same_finding(recorded: RecordedFinding, now: Finding) -> bool:
    """Return True if a finding says the same as a recorded one; what was found out about it later is left aside."""
    if recorded.kind is FindingKind.UNSOLVED:
        return now.kind is FindingKind.UNSOLVED
    # That it does not come without a wrong message was found out later.
    is_changed = recorded.kind is FindingKind.STATE_CHANGED and recorded.cause == now.kind.label
    kind = now.kind if is_changed else recorded.kind
    is_alike = (kind, recorded.party, recorded.got, recorded.constraint, recorded.offset) == (
        *(now.kind, now.party, now.got, now.constraint, now.offset),
    )
    return is_alike and recorded.expected == now.expected and recorded.messages == len(now.messages)


def _comparable(action: Action) -> object:
    # Where files and programs are is not part of the conversation.
    return (action.link, action.role, action.address.scheme) if isinstance(action, Open) else action


def _told(action: Action) -> str:
    match action:
        case Send(link, data):
            return f"{show_data(data)} on {link}"
        case Open(link):
            return f"the opening of {link}"
        case Secure(link):
            return f"the encryption of {link}"
        case Close(link) | Finish(link):
            return f"the end of {link}"
        case _:
            assert_never(action)
