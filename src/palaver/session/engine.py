"""A session without IO, as in h11 and wsproto: events go in, actions come out.

How it works
============

`handle` takes every event: bytes, connections that open and close, time. It never blocks and knows no clock but the
times of its events. What came in is read (`receiver`) before anything is sent. When nothing is left to read and we can
send, `wants_to_send` is true. Then `speak` makes a message that satisfies the constraints (`history`), and `commit`
sends it, unless something has come in between: then `discard` drops it (listen-before-talk, Algorithm 1 of the paper).
When it is not our turn, the peer is waited for (`quiescence`). The driver calls `handle(Passed(…))` at `deadline`. The
session's state follows the table in `lifecycle`: every event, and every step of its own, is looked up there.
Code of the spec comes in by a second door: the session is the host of the parties. They open and close connections
(`roles`), send our messages, and forward what they receive. The first finding ends the session.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, assert_never

from palaver.compiled.data import message_bytes
from palaver.errors import PalaverError
from palaver.interruption import Interrupted
from palaver.matching.forecaster import Forecast, MessageType
from palaver.party import Party
from palaver.random_source import RandomSource
from palaver.session import finding_drafts, interface
from palaver.session.allowance import CutOff, SessionAllowance
from palaver.session.closing import Endings
from palaver.session.finding_drafts import FindingDraft
from palaver.session.findings import Finding, FindingKind, SessionMessage, Verdict, verdict_of
from palaver.session.history import SessionHistory
from palaver.session.interface import Action, Closed, Failed, Input, Listening, Opened, Received, Secured, TimePassed
from palaver.session.leaving import EndWatch, Leaving
from palaver.session.lifecycle import OVER, TRANSITIONS, LifecycleError, LifecycleInput, OwnStep, SessionState
from palaver.session.own_way import OwnWay
from palaver.session.quiescence import PeerWait, SessionClock, Timeouts, Timers
from palaver.session.receiver import AcceptedMessage, Receiver
from palaver.session.roles import SELF_STARTING, Connections
from palaver.session.setup import SessionSetup
from palaver.session.strategy import WAIT, ScriptedMessage, Strategy
from palaver.spec.python_code import SPEC_CODE_RAISES, raising_line
from palaver.trees.node import Node
from palaver.trees.tree import Tree

__all__ = ["CutOff", "EndWatch", "FindingDraft", "LifecycleError", "OwnStep", "Session", "Timeouts"]


class Session:
    """One run of the protocol that a spec describes. It is cut when the run `ends_at` some time."""

    def __init__(
        self,
        setup: SessionSetup,
        strategy: Strategy,
        chance: RandomSource,
        timeouts: Timeouts | None = None,
        *,
        ends_at: float | None = None,
        end_watch: EndWatch | None = None,
    ) -> None:
        self.spec = setup.spec
        self.said: list[SessionMessage] = []
        self.findings: list[Finding] = []
        self.cut_off: CutOff | None = None  # why, if a limit has ended the session
        self._state = SessionState.IDLE
        self._strategy = strategy
        self._timeouts = timeouts or Timeouts()
        self._history = SessionHistory(setup, chance, strategy.steering, strategy.values)
        self._forecast: Forecast = self._history.forecast
        self._random = self.spec.namespace.turn(chance)
        self.spec.namespace.take(self._random)
        self._roles = setup.make_roles(self)
        self._connections = Connections(self._roles.first_addresses)
        self._clock = SessionClock(self._timeouts)
        self._allowance = SessionAllowance(self._timeouts, ends_at)
        self._timers = Timers(are_observed=setup.has_timers)
        self._receiver = Receiver(setup, self._roles, self._history, max_message_bytes=self._timeouts.max_message_bytes)
        self._wait = PeerWait(
            *(self._roles, self._history, self._receiver, self._connections, self._clock, self._timers),
            setup.deadlines or None,
        )
        self.own_way = OwnWay()
        self.leaving = Leaving(setup, self._connections, self._clock, end_watch or EndWatch(self._timeouts.grace))
        self._endings = Endings(setup, self._roles, self._history, self._connections)
        self._received_in_a_row = 0  # messages since our last one
        self._moves: Sequence[MessageType] = ()  # the messages we can send, when it is our turn
        self._grace: float | None = None  # how long we let the peer send first; None: for the quiet interval
        self._pending: Callable[[], None] | None = None  # carries out what was made, when it is committed
        self._text = getincrementaldecoder("utf-8")("surrogateescape")  # of what a program writes
        self._arriving: tuple[str, bool] | None = None  # the party that is given data just now; True for a datagram

    @property
    def is_over(self) -> bool:
        """True if the session has ended."""
        return self._state is OVER

    @property
    def verdict(self) -> Verdict:
        """The verdict of the findings so far; without any, that of a session that was cut is inconclusive."""
        verdict = verdict_of(self.findings)
        return Verdict.INCONCLUSIVE if self.cut_off and verdict is Verdict.PASS else verdict

    @property
    def ends_at(self) -> float | None:
        """The time when the session is cut, as far as it is known."""
        return self._allowance.ends_at

    def _take(self, step: LifecycleInput) -> None:
        """Go to the next state. :raises LifecycleError: the step is not allowed in this state"""
        state = TRANSITIONS[self._state].get(step)
        if state is None:
            raise LifecycleError(self._state, step)
        self._state = state

    def handle(self, event: Input) -> list[Action]:
        """Take in an event, and return the actions to be carried out. The first event begins the session.

        :raises LifecycleError: a message was made, and neither committed nor discarded
        """
        self._clock.advance(event.at)
        self._activate()
        if self._state is SessionState.IDLE:
            self._begin()
        self._take(type(event))
        if self._state is SessionState.LEAVING:
            self._watch_end(event)
        elif self._state is not OVER:
            self._process(event)
            self._go_on()
        return self._connections.take_actions()

    def _process(self, event: Input) -> None:
        match event:
            case Received(_, link, data, is_whole):
                self._receive(link, data, is_whole)
            case Listening(_, link, port):
                self._roles.note_port(link, port)
                self._connections.listening(link, port)
            case Opened(_, link):
                self._connections.opened(link)
                self._allowance.start(self._clock.now)
                self._clock.mark_message()
            case Closed():
                self._close(event)
            case Failed(_, link, "reset") if self._endings.symbols:
                self._close(Closed(event.at, link, "reset"))
            case Failed(_, link):
                self._connections.failed(link)
                self._find(self._wait.failed(event))
            case interface.Connected():
                self._allowance.start(self._clock.now)
            case Secured() | TimePassed():
                pass
            case _:
                assert_never(event)

    def _begin(self) -> None:
        self._take(OwnStep.BEGIN)
        self._strategy.begin()
        self._clock.mark_activity()
        self._allowance.begin(self._clock.now)
        for fault in self._roles.faults:
            self._find(FindingDraft(FindingKind.SPEC_CRASH, fault))
        for party in self._roles.players:
            if not self.is_over and (party.is_started or party.party_name in SELF_STARTING):
                self._guarded(f"{party.party_name}.start", self.start, party)

    def _activate(self) -> None:
        """Let code of the spec mean this session from here on, whichever other one went on in between."""
        self._roles.activate_parties()
        if self.spec.namespace.active is not self._random:
            self.spec.namespace.take(self._random)

    @property
    def deadline(self) -> float | None:
        """The time when the session wants `TimePassed` if nothing happens before."""
        if self._state is OVER:
            return None
        times = [self.ends_at, self._timers.next_at if self._wait.is_for_timer() else None]
        if self._state is SessionState.LEAVING or self._is_yielding:
            times.append(self._clock.alarm)
        elif not self.wants_to_send:
            times.append(self._wait.deadline)
        return min((at for at in times if at is not None), default=None)

    def _receive(self, link: str, data: bytes, is_whole: bool) -> None:
        party = self._roles.party("Out" if link == "In" else link)
        self._arriving = (party.party_name, is_whole)
        self._clock.note_buffered(data)
        # The code of a spec that sees what a program writes sees text, which must be cut between characters.
        is_plain = getattr(party.receive, "__func__", None) is Party.receive
        is_text = not is_plain and party.party_name == "Out" and self.spec.namespace.program_speaks_text
        piece = self._text.decode(data) if is_text else data
        if piece or not data:  # an empty datagram counts
            receive = partial(self.hear, party) if is_plain else party.receive
            self._guarded(f"{party.party_name}.receive", receive, piece, self._receiver.only_sender_to(party))
        self._arriving = None
        self._clock.mark_buffering()

    def _close(self, event: Closed) -> None:
        self._connections.closed(event)
        party = self._roles.party("Out" if event.link == "In" else event.link)
        sender = self._receiver.only_sender_to(party)
        self._guarded(f"{party.party_name}.receive", party.receive, None, sender)
        if self.is_over:
            return
        if sender is not None:
            self._receiver.end(sender, party.party_name)  # whatever the party has made of it
        self._endings.note(event.link, "reset" if event.cause == "reset" else "closed")
        code = event.exit_code or 0
        if event.cause == "reset" or (code > 0 and not self._history.can_end):
            self._read_messages()
            if not (self.is_over or self._history.can_end or self._endings.is_told(event.link)):
                self._find(self._wait.broken_off(event))
        elif code < 0:
            self._find(self._wait.broken_off(event))

    def _watch_end(self, event: Input) -> None:
        """Report what comes although the dialogue is complete, and end the session when it was watched long enough."""
        if isinstance(event, Received):
            self._receive(event.link, event.data, event.is_whole)
            self._read_messages()
        elif isinstance(event, Closed):
            self._close(event)
        if self.leaving.is_over() or self._clock.has_reached(self.ends_at):
            self._end(OwnStep.FINISH)

    def _guarded(self, what: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Call code of the spec."""
        try:
            function(*arguments)
        except SPEC_CODE_RAISES as error:
            self._find(finding_drafts.raised(error, self._roles.told(what, error)))

    def _go_on(self) -> None:
        """Read all messages that are certain, and decide whose turn it is, or if the session is over."""
        self._read_messages()
        while self._timers.are_observed and not self.is_over and self._wait.is_for_timer():
            text = self._timers.expired(self._clock.now)
            if text is None:
                break
            self._receiver.inbox("TimerEvent").put(text.encode(), is_whole=True)
            self._clock.mark_activity()
            self._read_messages()
        if self._state in (SessionState.LEAVING, OVER):
            return
        most, is_late = self._timeouts.max_messages, self._clock.has_reached(self.ends_at)
        if not self._forecast.moves or ((is_late or len(self.said) >= most) and self._history.may_stop):
            self._finish()
        elif is_late:
            self._cut(self._allowance.out_of_time())
        elif self._received_in_a_row > most:
            self._find(finding_drafts.too_many(self.said[-1].sender, self._forecast.moves, most))
        elif len(self.said) >= most and self._allowance.is_used_up(len(self.said), self._received_in_a_row):
            self._cut(CutOff(f"--max-messages {most}"))
        elif not self._is_yielding:
            self._decide_turn()

    def _decide_turn(self) -> None:
        """Take our turn if we can; otherwise end if the peer has had its time."""
        if not self._receiver.has_unread() and (moves := self._our_moves()):
            self._moves = moves
            self._take(OwnStep.TAKE_TURN)
        elif self._wait.timed_out():
            self._finish() if (draft := self._wait.finding()) is None else self._find(draft)

    def _our_moves(self) -> Sequence[MessageType]:
        """The messages that we can send now."""
        moves = self._roles.table.next_moves(self._forecast.moves)
        sendable = self._roles.sendable(moves, self._connections)
        return self._endings.and_ours(sendable) if moves.has_closing_of_ours else sendable

    def _read_messages(self) -> None:
        most, is_reset = self._allowance.most, self._connections.is_any_reset()
        while self._state is not OVER:
            if len(self.said) >= most and self._allowance.is_used_up(len(self.said), self._received_in_a_row):
                return  # a peer that sends without end is not read to the end
            found = self._receiver.next_message(is_quiet=self._clock.is_quiet, is_reset=is_reset)
            if found is None and self._endings.came and not self._receiver.has_unread():
                move = self._endings.take()
                found = None if move is None else AcceptedMessage(move, b"")
            if isinstance(found, AcceptedMessage):
                self._add(found.move, found.data)
                if found.is_alone and (breach := self._history.broken_now()) is not None:
                    self._find(finding_drafts.accused(breach))
                continue
            if found is not None:
                self._find(self.leaving.judged(found) if self._state is SessionState.LEAVING else found)
            return

    def _add(self, move: MessageType, data: bytes) -> None:
        """Add the newest message of the history to the session."""
        before, self._forecast = self._forecast, self._history.forecast
        node = self._history.newest
        self._take(OwnStep.ADD_MESSAGE)
        is_ours = self._roles.is_ours(move.sender)
        if not is_ours and (late := self._wait.lateness(move)):
            self._note(late)
        self._clock.mark_message()
        message = SessionMessage(self._clock.now, move.sender, move.recipient, move.symbol, data, node, is_ours=is_ours)
        self.said.append(message)
        if not self._allowance.has_started:
            self._allowance.start(self._clock.now)
        if len(self.said) >= self._allowance.nearly_all:
            self._strategy.finish_soon()
        self._strategy.said(move, node, before, self._forecast, is_ours)
        self._received_in_a_row = 0 if is_ours else self._received_in_a_row + 1

    @property
    def wants_to_send(self) -> bool:
        """True if it is our turn, as far as we know; what has come in may change that."""
        return self._state in (SessionState.OUR_TURN, SessionState.UNANSWERED)

    @property
    def _is_yielding(self) -> bool:
        """True while we let the peer send first."""
        return self._state is SessionState.YIELDING and self._clock.now < self._clock.alarm

    def speak(self, at: float) -> bool:
        """Make our next message; it can be committed or discarded. Return False if we let the peer send first.

        :raises LifecycleError: it is not our turn
        """
        self._clock.advance(at)
        self._activate()
        is_unanswered = self._state is SessionState.UNANSWERED
        self._take(OwnStep.MAKE_MESSAGE)
        if is_unanswered:
            self._strategy.waited(self._forecast)
        self._pending = self._made()
        if self._pending is not None:
            return not self.is_over  # code of the spec may have ended the session
        self._clock.set_alarm(self._grace)
        self._take(OwnStep.YIELD_TURN)
        return False

    def _made(self) -> Callable[[], None] | None:
        """Make a message; return the function that carries it out, or None to let the peer send first."""
        moves, self._grace = self._moves, None
        while moves:
            move = self._strategy.choose(moves, self._forecast, self._history.may_stop)
            if move is None:
                return self._finish
            if move is WAIT:
                return None
            script, move = (move, move.move) if isinstance(move, ScriptedMessage) else (None, move)
            try:
                node = self._history.make(move, script)
            except PalaverError as error:
                return partial(self._find, FindingDraft(FindingKind.SPEC_CRASH, str(error)))
            if node is not None:
                return partial(self._send, move, node)
            if self._history.is_settled:
                break
            self._strategy.refused(move)
            moves = [other for other in moves if other != move]
        if self._history.can_end:
            return self._finish
        # A message of the peer may make possible what is not now.
        self._grace = None if self._history.accusation is not None else self._wait.seconds_left or None
        return None if self._grace else partial(self._find, finding_drafts.not_made(self._history))

    def commit(self, at: float) -> list[Action]:
        """Send the message that was made. :raises LifecycleError: there is none"""
        self._clock.advance(at)
        self._activate()
        self._take(OwnStep.COMMIT)
        carry_out, self._pending = self._pending, None
        assert carry_out is not None, "a message is pending"
        carry_out()
        if not self.is_over:
            self._go_on()
        return self._connections.take_actions()

    def discard(self) -> None:
        """Drop the message that was made, because the peer was faster. :raises LifecycleError: there is none"""
        self._take(OwnStep.DISCARD)
        self._pending = None

    def _send(self, move: MessageType, node: Node) -> None:
        self._history.add_made(node)
        tree = Tree(self._history.newest)
        party = self._roles.party(move.sender)
        self._add(move, message_bytes(tree))
        if move.symbol in self._endings.symbols:
            self._connections.end(party.party_name, move.symbol)
        else:
            send = self.own_way.sending(party, self._roles, self._connections, self.hear)
            self._guarded(f"{move.sender}.send", send, tree, move.recipient)

    def _find(self, draft: FindingDraft) -> None:
        if draft.kind is FindingKind.CRASH and (breach := self._history.breach_when_cut(len(self.said))) is not None:
            self._note(finding_drafts.accused(breach))
        draft = self._receiver.excused(self._history.explained(draft), self.said)
        self._note(self._endings.explained(draft))
        self._end(OwnStep.FIND)

    def _note(self, draft: FindingDraft) -> None:
        self.findings.append(draft.finding(self._clock.now, self.said, self.spec.grammar.all_constraints))

    def cut(self, error: Interrupted) -> list[Action]:
        """End the session because its time was over in the middle of some work; return what is to be done."""
        self._cut(self._allowance.out_of_time(raising_line(self.spec.namespace.names, error)))
        return self._connections.take_actions()

    def _cut(self, reason: CutOff) -> None:
        """End the session because a limit is reached. That says nothing about the peer, nor about the plan."""
        if not self.is_over:
            if (breach := self._history.breach_when_cut(len(self.said))) is not None:
                self._note(finding_drafts.accused(breach))
            self.cut_off = reason
            self._strategy.finish_soon()
            self._end(OwnStep.CUT)

    def abandon(self) -> list[Action]:
        """End the session because of a finding that is not its own; return what is to be done."""
        self._end(OwnStep.FIND)
        return self._connections.take_actions()

    def _finish(self) -> None:
        """The dialogue is complete; nothing more must come, and the program under test may still exit."""
        missing = self._history.missing
        if missing is not None and self._forecast.crashes:
            self._find(FindingDraft(FindingKind.SPEC_CRASH, self._forecast.crashes[0]))
        elif missing:
            self._find(finding_drafts.incomplete(self._history.accusation_at_end, missing))
        elif missing is not None and (breach := self._history.unrepaired_breach()) is not None:
            self._find(finding_drafts.accused(breach))
        else:
            for remark in self._history.remarks():
                self._note(remark)
            is_watched = self.leaving.begin(self.said[-1].symbol if self.said else "")
            self._take(OwnStep.LEAVE) if is_watched else self._end(OwnStep.FINISH)

    def _end(self, step: OwnStep) -> None:
        """Close everything; nothing more is sent or received."""
        if self.is_over:
            return
        self._take(step)
        self._strategy.ended(self.verdict is Verdict.PASS and self._history.can_end)
        for fault in self._roles.stop():
            self._note(FindingDraft(FindingKind.SPEC_CRASH, fault))
        self._connections.close_all()

    def start(self, party: Party) -> None:
        """Open the connection of a party."""
        place = self._roles.link(party)
        if place is not None and not self.is_over:
            begins = partial(self._receiver.may_begin_with, party) if place[1] == "listen" else None
            latest = len(self.said) if self._receiver.is_reading or self._arriving else None
            self._connections.open(party.party_name, place, getattr(party, "tls", None), begins, latest)

    def stop(self, party: Party) -> None:
        """Close the connection of a party."""
        self._connections.close(party.party_name)

    def recast(self) -> None:
        """Note that a party is new, or that another one plays it from here on."""
        self._roles.recast()

    def secure(self, party: Party, **options: str) -> None:
        """Encrypt the connection of a party from here on."""
        place = self._roles.link(party)
        if place is not None:
            self._connections.secure(party.party_name, place[1], options)

    def say(self, party: Party, message: Any, recipient: str | None) -> None:
        """Send a message of a party, after the party has changed it as it wanted."""
        data, name = message_bytes(message), party.party_name
        if name == "TimerControl":
            self._timers.control(data.decode("latin-1"), self._clock.now)
        elif self._roles.has_connection(party):
            self._connections.send(name, data, is_last=getattr(party, "close_post_transmit", False))

    def hear(self, party: Party, message: Any, sender: str | None) -> None:
        """Take in data that a party has forwarded, or received in its own way; None: the sender sends no more."""
        if message is None and sender is None and self._receiver.only_sender_to(party) is None:
            return  # no party in particular sends no more
        name = sender or self._receiver.sender_to(party)
        if not self._roles.is_known(name):
            raise PalaverError(f"receive() of {party.party_name} names the sender {name}, but there is no such party")
        inbox = self._receiver.inbox(name, party.party_name)
        data = message if message is None or isinstance(message, bytes) else message_bytes(message)
        if self.own_way.heard is not None:
            self.own_way.note(party, data, name)
        if data is None:
            inbox.end()
            return
        # An answer that a party, or another one, gives itself is whole, like a datagram.
        is_whole = self._arriving is None or self._arriving != (party.party_name, False)
        self._clock.note_forwarded(is_more=inbox.has_data and not is_whole)
        inbox.put(data, is_whole=is_whole)
        if self.wants_to_send and self._receiver.has_unread():
            self._take(OwnStep.DELIVER)
        most = self._timeouts.max_message_bytes
        if len(inbox) > most:
            self._find(finding_drafts.too_long(name, inbox, self._forecast.moves, most))
