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
from dataclasses import replace
from functools import partial

from palaver.addresses import scheme_named
from palaver.beyond.beyond_limits import MAX_SHOWN_ANSWER
from palaver.beyond.digression import Answer, AnswerRead, AnswerReader, Digression
from palaver.beyond.edge_strategy import EdgeStrategy
from palaver.beyond.membership import Place
from palaver.beyond.mutants import operator_of
from palaver.beyond.wrong_messages import DigressionSource, WrongMessages
from palaver.errors import Undecided
from palaver.grammar.ir import BEYOND
from palaver.matching.forecaster import MessageType
from palaver.matching.matcher import Matcher
from palaver.party import Party
from palaver.random_source import RandomSource
from palaver.session.engine import EndWatch, FindingDraft, OwnStep, Session, Timeouts
from palaver.session.events import Closed, Failed, Input
from palaver.session.findings import Finding, FindingKind, SessionMessage, Severity, show_data
from palaver.session.setup import SessionSetup
from palaver.session.strategy import ScriptedMessage, Strategy
from palaver.trees.node import Node, NonTerminal


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

    # --- the proposal -------------------------------------------------------------------------------------------------

    def _made(self) -> Callable[[], None] | None:
        proposed = self._proposed()
        return super()._made() if proposed is None else partial(self._digress, proposed)

    def _proposed(self) -> Digression | None:
        """A wrong message, if only we can send now, and it is known who would answer."""
        closing = self._setup.closing
        moves = [move for move in self._forecast.moves if move.symbol not in closing]
        senders = {move.sender for move in moves}
        if len(senders) != 1 or any(move not in self._moves for move in moves):
            return None
        party = self._roles.party(moves[0].sender)
        peers = self._roles.senders_to(party)
        if len(peers) != 1 or not self._roles.has_connection(party):
            return None
        self._peer = peers[0]
        self._turns += 1
        place = self._place(party, moves)
        number = sum(said.is_ours and not said.aside for said in self.said)
        return self._source.propose(place, number, self._aside_chance / self._turns)

    def _place(self, party: Party, moves: list[MessageType]) -> Place:
        link = self._roles.link(party)
        is_datagram = link is not None and scheme_named(link[0].scheme).is_datagram
        end = self._wrong.end_of(moves[0].sender)
        bounded = partial(self._matcher_here, bounded=True) if self._setup.spec.grammar.constraints else None
        return Place(
            *(moves, self._matcher_here, self._history.allows, end, is_datagram),
            bounded=bounded,
            broken=self._breaker.make,
        )

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
        """Send a wrong message."""
        self._open, self._has_ended = digression, False
        self._connections.send(self._roles.party(digression.sender).party_name, digression.data)
        self._tell(digression.sender, digression.recipient, digression.symbol, digression.data, digression.aside)
        self._clock.mark_message()

    def _tell(self, sender: str, recipient: str | None, symbol: str, data: bytes, aside: str) -> None:
        """Add a message beside the dialogue."""
        is_ours = sender != self._peer
        leaf = data if self._setup.is_binary else data.decode("utf-8", "surrogateescape")
        node = Node(NonTerminal(symbol), (leaf,))
        self.said.append(
            SessionMessage(self._clock.now, sender, recipient, symbol, data, node, is_ours=is_ours, aside=aside)
        )

    # --- the answer ---------------------------------------------------------------------------------------------------

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
        ours = [said for said in self.said if said.is_aside and said.is_ours] if self._peer else []
        return self._roles.party(ours[-1].sender).party_name if ours else ""

    @property
    def deadline(self) -> float | None:
        """The time when the session wants `TimePassed` if nothing happens before."""
        if self._open is None or self.is_over:
            return super().deadline
        return self._answer_at if self.ends_at is None else min(self._answer_at, self.ends_at)

    def _go_on(self) -> None:
        if self._open is not None and not self.is_over:
            self._read_answer(self._open)
        if self.is_over:
            return
        if self._open is None:
            super()._go_on()
        elif self._clock.has_reached(self.ends_at):
            self._cut(self._allowance.out_of_time())

    def _read_answer(self, digression: Digression) -> None:
        inbox = self._receiver.inbox(self._peer, self._link)
        data = inbox.peek() if inbox.has_data else b""
        clock = self._clock
        if digression.judgement is None:
            self._answer_at = clock.quiet_at
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
        self._answer_at = clock.active_at + (clock.timeouts.patience if data else clock.timeouts.timeout)
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
        if self._has_ended:  # it was refused, and the connection closed, before we could read either
            self._end(OwnStep.FINISH)

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
        elif self._has_ended and digression.data.endswith(self._wrong.end_of(digression.sender) or b"\0"):
            text = "was answered by the end of the connection"
            self._report(digression, FindingKind.CLOSED, text, b"", AnswerRead())
        self._open = None
        self._end(OwnStep.FINISH)

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
