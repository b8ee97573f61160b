"""A session that digresses: some of our messages are wrong on purpose, and it goes on after they were refused.

How it works
============

When it is our turn, and nobody else's, a wrong message may be proposed instead of the next one. Its bytes are sent as
they are: code of the spec that changes messages on their way would repair them. Until the digression is over, nothing
is sent, what comes is read as the answer to it (`digression`), and history, constraints and strategy hear nothing.
A wrong message that nothing is known to be wrong about is the last one of its session.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any

from palaver.addresses import scheme_named
from palaver.beyond.beyond_limits import MAX_SHOWN_ANSWER
from palaver.beyond.digression import Answer, AnswerRead, AnswerReader, Digression
from palaver.beyond.edge_strategy import EdgeStrategy
from palaver.beyond.membership import Place
from palaver.beyond.mutants import WrongnessKind, operator_of
from palaver.beyond.refusal_rules import data_of
from palaver.beyond.transport_faults import Breakage, Delivery, OutgoingPieces
from palaver.beyond.wrong_messages import DigressionSource, WrongMessages
from palaver.compiled.data import message_bytes
from palaver.errors import PalaverError, Undecided
from palaver.grammar.ir import BEYOND
from palaver.lean_dataclasses import replace
from palaver.matching.forecaster import MessageType
from palaver.matching.matcher import Matcher
from palaver.party import Party
from palaver.random_source import RandomSource
from palaver.session.engine import EndWatch, FindingDraft, OwnStep, Session, Timeouts
from palaver.session.findings import Finding, FindingKind, SessionMessage, Severity, show_data
from palaver.session.interface import Action, Close, Closed, Failed, Input, Open, TimePassed
from palaver.session.setup import SessionSetup
from palaver.session.strategy import ScriptedMessage, Strategy
from palaver.trees.node import Node, NonTerminal

# The beginning of what is told of trouble below messages.
TROUBLE = f"{WrongnessKind.TRANSPORT.value}: "
SECOND_CONNECTION = Delivery.SECOND_CONNECTION.value


class DigressingSession(Session):
    """A session in which wrong messages of `wrong` are sent, or those of another source."""

    def __init__(
        self,
        setup: SessionSetup,
        strategy: Strategy,
        chance: RandomSource,
        timeouts: Timeouts | None = None,
        *,
        wrong: WrongMessages,
        source: DigressionSource | None = None,
        ends_at: float | None = None,
        end_watch: EndWatch | None = None,
    ) -> None:
        edges = strategy if source is not None else EdgeStrategy(strategy, self._at_the_edge, chance / "edges")
        super().__init__(setup, edges, chance, timeouts, ends_at=ends_at, end_watch=end_watch)
        self._setup = setup
        self._wrong = wrong
        self._breaker = self._history.breaker(chance / "broken")
        self._source: DigressionSource = source or wrong
        self._aside_chance = chance / "beyond"
        self._turns = 0
        self._open: Digression | None = None
        self._peer = ""  # who answers
        self._has_ended = False  # the connection, while the digression goes on
        self._may_close = False  # the peer, as its last answer says
        self._answer_at = 0.0  # the time when the answer is judged as it is then
        self._pieces = OutgoingPieces(self._connections.send)
        self._second: str | None = None  # the name of a second connection

    # --- the proposal -------------------------------------------------------------------------------------------------

    def _made(self) -> Callable[[], None] | None:
        if not self._pieces.is_waiting:
            self._pieces.flush()
        proposed = self._proposed()
        return super()._made() if proposed is None else partial(self._digress, proposed)

    def _proposed(self) -> Digression | None:
        """A wrong message, if only we can send now, and it is known who would answer."""
        if self._pieces.how is not None or self._second is not None:
            return None  # one kind of trouble at a time, so that it is known what has caused a finding
        closing = self._setup.closing
        moves = [move for move in self._forecast.moves if move.symbol not in closing]
        senders = {move.sender for move in moves}
        if len(senders) != 1 or any(move not in self._moves for move in moves):
            return None
        party = self._roles.party(moves[0].sender)
        peers = self._roles.senders_to(party)
        if len(peers) != 1 or not self._roles.has_connection(party):
            return None
        if not self._connections.is_open(party.party_name) or not self._may_answer(peers[0]):
            return None
        self._peer = peers[0]
        self._turns += 1
        place = self._place(party, moves)
        number = sum(said.is_ours and not said.aside for said in self.said)
        return self._source.propose(place, number, self._aside_chance / self._turns)

    def _may_answer(self, peer: str) -> bool:
        """Return True if a peer has something left to say; else it may hang up before it hears us."""
        closing = self._setup.closing
        theirs = {move.symbol for move in self._setup.forecaster.messages if move.sender == peer} - closing
        return all(not theirs.isdisjoint(hypothesis.ahead) for hypothesis in self._forecast.hypotheses)

    def _place(self, party: Party, moves: list[MessageType]) -> Place:
        link = self._roles.link(party)
        is_datagram = link is not None and scheme_named(link[0].scheme).is_datagram
        end = self._wrong.end_of(moves[0].sender)
        bounded = partial(self._matcher_here, bounded=True) if self._setup.spec.grammar.constraints else None
        return Place(
            *(moves, self._matcher_here, self._history.allows, end, is_datagram),
            bounded=bounded,
            broken=self._breaker.make,
            right=None if is_datagram else self._right,
            is_program=party.party_name == "In",
            has_wrong_messages=any(said.aside for said in self.said),
            is_unsure=self._is_unsure,
        )

    @property
    def _is_unsure(self) -> bool:
        """True if the peer's latest answer comes by rules with a note only, so that its state is not the usual one."""
        noted = self._setup.spec.analysis.noted_messages
        turns = groupby((said for said in self.said if not said.aside), lambda said: said.is_ours)
        answers = [list(messages) for is_ours, messages in turns if not is_ours]
        return bool(answers) and any(said.symbol in noted for said in answers[-1])

    def _right(self, move: MessageType) -> bytes | None:
        """The bytes of a right message."""
        try:
            return data_of(self._history.make(move)) or None
        except PalaverError:  # code of the spec cannot make it
            return None

    def _matcher_here(self, symbol: str, *, bounded: bool = False) -> Matcher:
        setup = self._setup
        history = setup.references.seen_by(symbol, self._history.referenced)
        return setup.spec.matcher(symbol, binary=setup.is_binary, whole=False, history=history, bounded=bounded)

    def _at_the_edge(self, move: MessageType, chance: RandomSource) -> ScriptedMessage | None:
        """A message that may be said now, with a field at one of its bounds."""
        data = self._wrong.edge(move, chance)
        if data is None:
            return None
        wanted = ScriptedMessage(move, data=data)
        return wanted if self._history.make(move, wanted) is not None else None

    def _digress(self, digression: Digression) -> None:
        """Send a wrong message, or let something go wrong below the next ones."""
        link = self._roles.party(digression.sender).party_name
        if digression.delivery is None:
            self._open, self._has_ended = digression, False
            self._connections.send(link, digression.data)
        elif digression.delivery is Delivery.SECOND_CONNECTION:
            self._connect_again(link)
        else:
            self._pieces.how = digression.delivery
        self._tell(digression.sender, digression.recipient, digression.symbol, digression.data, digression.aside)
        self._clock.mark_message()
        if digression.fault is not None:
            self._break_off(digression, link, digression.fault.end)

    def _break_off(self, digression: Digression, link: str, end: Breakage) -> None:
        """End a connection as a fault says, unless that waits for the answer."""
        if end is Breakage.FINISHED:
            self._connections.finish(link)
        elif end in (Breakage.RESET, Breakage.CLOSED):
            self._connections.close(link, abruptly=end is Breakage.RESET)
            self._leave(digression, b"")

    def _connect_again(self, link: str) -> None:
        """Open a second connection to the same place, of which the dialogue knows nothing."""
        place = self._roles.link(self._roles.party(link))
        if place is not None and place[1] == "connect" and self._second is None:
            self._second = f"{link} beside"
            self._connections.beside(Open(self._second, *place))

    def _end(self, step: OwnStep) -> None:
        if not self.is_over:
            self._pieces.flush()
            if self._second is not None:
                self._connections.beside(Close(self._second))
        super()._end(step)

    def _finish(self) -> None:
        self._pieces.flush()
        super()._finish()

    def say(self, party: Party, message: Any, recipient: str | None) -> None:
        """Send a message of a party, in pieces if that is wanted."""
        is_whole = getattr(party, "close_post_transmit", False) or not self._roles.has_connection(party)
        if is_whole or party.party_name == "TimerControl" or self._pieces.how is None:
            super().say(party, message, recipient)
            return
        moves = self._forecast.moves
        may_join = bool(moves) and all(self._roles.is_ours(move.sender) for move in moves)
        may_join = may_join and not self._history.can_end
        self._pieces.take(self._clock.now, party.party_name, message_bytes(message), may_join=may_join)

    def stop(self, party: Party) -> None:
        """Close the connection of a party."""
        self._pieces.flush()
        super().stop(party)

    def secure(self, party: Party, **options: str) -> None:
        """Encrypt the connection of a party from here on."""
        self._pieces.flush()
        super().secure(party, **options)

    def _tell(self, sender: str, recipient: str | None, symbol: str, data: bytes, aside: str) -> None:
        """Add a message beside the dialogue."""
        is_ours = sender != self._peer
        leaf = data if self._setup.is_binary else data.decode("utf-8", "surrogateescape")
        node = Node(NonTerminal(symbol), (leaf,))
        self.said.append(
            SessionMessage(self._clock.now, sender, recipient, symbol, data, node, is_ours=is_ours, aside=aside)
        )

    # --- the answer ---------------------------------------------------------------------------------------------------

    def handle(self, event: Input) -> list[Action]:
        """Take in an event, unless it is about the second connection, or comes of a message that is not judged."""
        if not isinstance(event, TimePassed) and self._is_beside(event.link):
            return []
        return super().handle(event)

    def _is_beside(self, link: str) -> bool:
        """Return True if nothing is said about what comes by a connection."""
        if link == self._second:
            return True
        # Such a message may be allowed, and bring or close another connection, as that for data in FTP.
        is_unjudged = self._open is not None and self._open.judgement is None
        return is_unjudged and link != self._link

    def _process(self, event: Input) -> None:
        is_end = isinstance(event, Closed | Failed) and event.link == self._link
        if is_end and self._open is not None:
            self._has_ended = True
            self._connections.failed(self._link)
        elif is_end and self._may_close:
            self._end(OwnStep.FINISH)
        else:
            super()._process(event)

    @property
    def _link(self) -> str:
        """The connection by which the latest wrong message was sent."""
        ours = [said for said in self.said if said.is_aside and said.is_ours and said.data] if self._peer else []
        return self._roles.party(ours[-1].sender).party_name if ours else ""

    @property
    def deadline(self) -> float | None:
        """The time when the session wants `TimePassed` if nothing happens before."""
        if self._open is None or self.is_over:
            times = [at for at in (super().deadline, self._pieces.due_at) if at is not None and not self.is_over]
            return min(times, default=None)
        return self._answer_at if self.ends_at is None else min(self._answer_at, self.ends_at)

    def _go_on(self) -> None:
        if self._open is not None and not self.is_over:
            self._read_answer(self._open)
        if self.is_over:
            return
        if self._pieces.go_on(self._clock.now):
            self._clock.mark_message()
        if self._open is None:
            super()._go_on()
            if self._pieces.is_waiting and not self.wants_to_send:
                self._pieces.flush()
        elif self._clock.has_reached(self.ends_at):
            self._cut(self._allowance.out_of_time())

    def _read_answer(self, digression: Digression) -> None:
        inbox = self._receiver.inbox(self._peer, self._link)
        data = inbox.peek() if inbox.has_data else b""
        clock = self._clock
        if digression.judgement is None:
            self._answer_at = clock.quiet_at
            if data and digression.fault is not None and digression.fault.end is Breakage.CLOSED_AT_ANSWER:
                self._connections.close(self._link)
            if data or self._has_ended or clock.is_quiet:
                self._leave(digression, data)
            return
        try:
            read = self._reader.read(
                digression.judgement.answers, data, is_quiet=clock.is_quiet, has_ended=self._has_ended
            )
        except Undecided:
            self._end(OwnStep.FINISH)
            return
        seconds = self._wrong.seconds_to_wait(digression.message, clock.timeouts.timeout)
        self._answer_at = clock.active_at + (clock.timeouts.patience if data else seconds)
        if read.may_be_longer:
            self._answer_at = clock.quiet_at
        if read.kind is not None:
            self._accuse(digression, read.kind, read, data[read.length :])
        elif read.is_complete:
            for answer in read.answers:
                inbox.take(len(answer.data))
            self._close_digression(read)
        elif self._has_ended:
            self._judge_close(digression, read)
        elif clock.now >= self._answer_at:
            self._accuse(digression, FindingKind.REFUSAL, read, data[read.length :])

    @property
    def _reader(self) -> AnswerReader:
        setup = self._setup
        others = [move for move in setup.forecaster.messages if move.sender == self._peer]
        spec = setup.spec
        return AnswerReader(
            lambda symbol: spec.matcher(symbol, binary=setup.is_binary, whole=False),
            others,
            self._wrong.rules.closing | setup.closing,
            self._wrong.rules.silent,
        )

    def _tell_answers(self, answers: tuple[Answer, ...]) -> None:
        for answer in answers:
            self._tell(self._peer, None, answer.symbol, answer.data, "answer")

    def _close_digression(self, read: AnswerRead) -> None:
        """The wrong message was refused: go on as if it had not been said."""
        self._tell_answers(read.answers)
        self._wrong.tally.refused += 1
        self._open = None
        self._may_close = read.may_close
        self._clock.mark_message()
        if self._has_ended or self._is_server:
            # It was refused, and the connection closed, before we could read either; or it was our answer that was
            # wrong: what the client does then is another way than that of the session.
            self._end(OwnStep.FINISH)

    @property
    def _is_server(self) -> bool:
        """True if the peer has come to us, as clients do."""
        place = self._roles.link(self._roles.party(self._link)) if self._link else None
        return place is not None and place[1] == "listen"

    def _judge_close(self, digression: Digression, read: AnswerRead) -> None:
        """The connection has ended before the answer was complete."""
        self._tell_answers(read.answers)
        if not read.may_close:
            self._report(digression, FindingKind.CLOSED, "was answered by the end of the connection", b"", read)
        self._open = None
        self._end(OwnStep.FINISH)

    def _leave(self, digression: Digression, data: bytes) -> None:
        """End the session after a message that nothing is known to be wrong about, whatever was answered."""
        if data:
            self._tell(self._peer, None, BEYOND, data, "answer")
        elif self._is_unanswered(digression):
            text = "was answered by the end of the connection"
            self._report(digression, FindingKind.CLOSED, text, b"", AnswerRead())
        self._open = None
        self._end(OwnStep.FINISH)

    def _is_unanswered(self, digression: Digression) -> bool:
        """Return True if the peer has ended the connection although a message was complete."""
        is_complete = digression.data.endswith(self._wrong.end_of(digression.sender) or b"\0")
        return self._has_ended and is_complete and digression.fault is None and not self._is_server

    # --- findings -----------------------------------------------------------------------------------------------------

    def _accuse(self, digression: Digression, kind: FindingKind, read: AnswerRead, got: bytes) -> None:
        """Report an answer that is not allowed, and end the session."""
        self._tell_answers(read.answers)
        text = f"was answered by {show_data(got[:MAX_SHOWN_ANSWER])}" if got else "was not answered"
        self._report(digression, kind, text, got, read)
        self._open = None
        self._end(OwnStep.FIND)

    def _report(self, digression: Digression, kind: FindingKind, text: str, got: bytes, read: AnswerRead) -> None:
        judgement = digression.judgement
        what = f"{digression.message}, {digression.what} ({digression.kind.value}), {text}"
        is_note = kind is FindingKind.CLOSED and (judgement is None or not self._wrong.sees_target)
        is_note = is_note or (self._is_server and not got)  # a client may wait for what it can read
        rule = BEYOND if judgement is None else f"{BEYOND} ::= … | {judgement.alternative} | …"
        answer = "another message" if read.symbol else "no message" if got else "nothing"
        operator = operator_of(digression.what)
        self.findings.append(
            Finding(
                *(kind, self._clock.now, what, self._peer, read.expected, got, rule, tuple(self.said)),
                severity=Severity.NOTE if is_note else Severity.VIOLATION,
                offset=read.offset if got else None,
                cause=f"{digression.kind.value}: {operator}, answered by {answer}",
            )
        )

    def _note(self, draft: FindingDraft) -> None:
        if draft.blamed is not None:
            # Messages beside the dialogue are not counted by those who blame.
            counted = [number for number, said in enumerate(self.said) if not said.is_aside]
            draft = replace(draft, blamed=counted[draft.blamed])
        super()._note(draft)

    def _add(self, move: MessageType, data: bytes) -> None:
        super()._add(move, data)
        self._may_close = self._may_close and self.said[-1].is_ours
