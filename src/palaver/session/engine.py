"""A conversation, without a world around it: inputs go in, actions come out.

How it works
============

`handle` is the only door for what happens: bytes, links that open and close, time. It never blocks and knows no clock
but the times in its inputs. What came in is understood before anything is said: the messages that may come next
(`matching.forecaster`) are the candidates of the inbox of each party that we do not play. A message that is complete
and cannot go on is accepted if some hypothesis about the conversation so far survives it with all constraints. If it
could go on, it waits for a quiet interval, which follows the rhythm of the peer.

When nothing waits to be understood and it is our turn, `wants_to_speak` is true. Then `speak` makes a message that
satisfies the constraints, and `commit` says it, unless something has come in between: then `discard` drops it (the
paper's listen-before-talk, Algorithm 1). So a race has only two outcomes, and both are tested in memory.

What was said never changes. Whoever drives the session calls `handle(Passed(…))` at `deadline`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from palaver.chance import Chance
from palaver.compiled.data import as_bytes
from palaver.errors import ConversionError, PalaverError
from palaver.grammar.code import SPEC_CODE_RAISES, raised
from palaver.matching.forecaster import Forecast, MessageType
from palaver.party import Party
from palaver.session.events import (
    Action,
    Close,
    Closed,
    Failed,
    Input,
    Open,
    Opened,
    Passed,
    Received,
    Secure,
    Secured,
    Send,
    Tls,
    Trouble,
)
from palaver.session.findings import Finding, Kind, Said, Verdict, verdict_of
from palaver.session.inbox import Inbox
from palaver.session.memory import Memory
from palaver.session.play import Play
from palaver.session.player import Player
from palaver.session.timers import Timers
from palaver.trees.node import Node
from palaver.trees.tree import Tree

_KIND_OF_TROUBLE: dict[Trouble, Kind] = {
    "refused": Kind.REFUSED,
    "unreachable": Kind.UNREACHABLE,
    "timed out": Kind.UNREACHABLE,
    "not found": Kind.UNREACHABLE,
    "in use": Kind.IN_USE,
    "tls": Kind.TLS,
    "reset": Kind.RESET,
    "other": Kind.UNREACHABLE,
}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a session waits, in seconds, and how much it listens to, in bytes."""

    timeout: float = 5.0  # for a message to begin
    patience: float = 5.0  # for the next byte of a message that has begun
    quiet: float | None = None  # until a message that could go on counts as complete; None: by the peer's rhythm
    largest_message: int = 1 << 20
    most_messages: int = 1_000


# What the quiet interval starts from, and what it follows between: four times the longest pause seen inside a message.
_FIRST_QUIET = 0.15
_LEAST_QUIET = 0.05
_MOST_QUIET = 2.0
_PAUSES = 4


class Session:
    """One conversation of a spec."""

    def __init__(self, play: Play, player: Player, chance: Chance, patience: Patience | None = None) -> None:
        self.spec = play.spec
        self.said: list[Said] = []
        self.findings: list[Finding] = []
        self.is_over = False
        self.watch: Callable[[Said], None] | None = None
        self._player = player
        self._patience = patience or Patience()
        self._actions: list[Action] = []
        self._memory = Memory(play, chance)
        self._forecast: Forecast = self._memory.forecast
        self._cast = play.cast(self)
        self._inboxes: dict[str, Inbox] = {}
        # "opening"; "open"; "ended": the peer says no more, and may still listen; "reset"; "closed"
        self._links: dict[str, str] = {}
        self._timers = Timers()
        self._now = 0.0
        self._since = 0.0  # the last time that something was said or heard
        self._longest_pause = 0.0
        self._heard_in_a_row = 0  # messages since we said something
        self._has_begun = False
        self._next: Callable[[], None] | None = None  # what is done when it is committed
        self._incoming: tuple[str, bool] | None = None  # the link that data is coming from just now

    # --- what happens -------------------------------------------------------------------------------------------------

    def handle(self, event: Input) -> list[Action]:
        """Take in what has happened; what is to be done. The first input, whatever it is, begins the conversation."""
        self._now = max(self._now, event.at)
        self._cast.take_the_stage()
        if not self._has_begun:
            self._begin()
        if self.is_over:
            return self._flush()
        match event:
            case Opened(_, link):
                self._links[link] = "open"
                self._since = self._now
            case Received(_, link, data, is_whole):
                self._receive(link, data, is_whole)
            case Closed(_, link):
                self._closed(event)
            case Failed(_, link, trouble, reason):
                self._links[link] = "closed"
                self._find(_KIND_OF_TROUBLE[trouble], reason, party=link)
            case Secured() | Passed():
                pass
        self._go_on()
        return self._flush()

    def _begin(self) -> None:
        self._has_begun = True
        self._since = self._now
        for party in list(self._cast.parties.values()):
            if party.is_started or party.party_name == "In":
                self._guarded(f"{party.party_name}.start", self.start, party)

    @property
    def deadline(self) -> float | None:
        """When the session wants to be woken if nothing happens."""
        if self.is_over:
            return None
        times = [self._timers.next_at]
        if not self.wants_to_speak:
            times.append(self._waits_until())
        return min((at for at in times if at is not None), default=None)

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.findings)

    def _receive(self, link: str, data: bytes, is_whole: bool) -> None:
        party = self._cast.parties["Out" if link == "In" else link]
        self._incoming = (link, is_whole)
        self._guarded(f"{party.party_name}.receive", party.receive, data, None)
        self._incoming = None

    def _closed(self, event: Closed) -> None:
        link = event.link
        # Who will say no more may still listen, and who does not has broken no rule: we say what is left to be said.
        is_in_order = event.trouble is None and event.exit_code is None
        self._links[link] = "ended" if is_in_order else "reset" if event.trouble == "reset" else "closed"
        party = self._cast.parties["Out" if link == "In" else link]
        self._guarded(f"{party.party_name}.receive", party.receive, None, None)
        if self.is_over:
            return
        if event.trouble == "reset":
            self._listen()
            if not self.is_over and not self._memory.can_end:
                self._find(Kind.RESET, "the connection was reset", party=link)
        elif event.exit_code is not None and event.exit_code < 0:
            self._find(Kind.CRASH, f"the program was ended by signal {-event.exit_code}", party=link)

    def _guarded(self, what: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Call code of the spec."""
        try:
            function(*arguments)
        except PalaverError as error:
            self._find(Kind.SPEC_CRASH, f"{what}: {error}")
        except SPEC_CODE_RAISES as error:
            self._find(Kind.SPEC_CRASH, f"{what} {raised(error)}")

    # --- the stage that parties act on --------------------------------------------------------------------------------

    def start(self, party: Party) -> None:
        place = self._cast.link(party)
        if place is not None and self._links.get(party.party_name) not in ("opening", "open"):
            self._links[party.party_name] = "opening"
            options = getattr(party, "tls", None)
            self._actions.append(Open(party.party_name, *place, tls=None if options is None else Tls(**options)))

    def stop(self, party: Party) -> None:
        if self._links.pop(party.party_name, None) is not None:
            self._actions.append(Close(party.party_name))

    def secure(self, party: Party, **options: str) -> None:
        place = self._cast.link(party)
        if place is not None:
            self._actions.append(Secure(party.party_name, place[1], Tls(**options)))

    def say(self, party: Party, message: Any, recipient: str | None) -> None:
        data = _as_bytes(message)
        if party.party_name == "TimerControl":
            self._timers.control(data.decode("latin-1"), self._now)
        elif self._cast.link(party) is not None:
            self._actions.append(Send(party.party_name, data))

    def hear(self, party: Party, message: Any, sender: str | None) -> None:
        speaker = sender or self._speaker(party)
        if self._cast.parties.get(speaker) is None:
            raise PalaverError(f"{party.party_name} was told something by {speaker}, whom nobody knows")
        inbox = self._inbox(speaker)
        if message is None:
            inbox.end()
            return
        data = _as_bytes(message)
        # An answer that a party gives itself is whole, like a datagram: it knows what it says.
        is_whole = self._incoming is None or self._incoming[1]
        if inbox.has_something and not is_whole:
            self._longest_pause = max(self._longest_pause, self._now - self._since)
        self._since = self._now
        inbox.put(data, is_whole=is_whole)
        if len(inbox) > self._patience.largest_message:
            self._find(
                Kind.LIMIT,
                f"{speaker} has said more than {self._patience.largest_message} bytes without an end of the message",
                party=speaker,
                got=inbox.peek(),
            )

    def _speaker(self, party: Party) -> str:
        if not party.is_fuzzer_controlled():
            return party.party_name
        speakers = self._cast.speakers_to(party)
        if len(speakers) != 1:
            known = ", ".join(speakers) or "none"
            raise PalaverError(f"who speaks to {party.party_name}? Name the sender in receive(); possible are: {known}")
        return speakers[0]

    def _inbox(self, name: str) -> Inbox:
        if name not in self._inboxes:
            self._inboxes[name] = Inbox(self._matcher)
        return self._inboxes[name]

    def _matcher(self, symbol: str, is_whole: bool) -> Any:
        return self.spec.matcher(symbol, binary=self.spec.is_binary, whole=is_whole)

    # --- listening ----------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Understand what can be understood, and find out whether the conversation is over."""
        for name, text in self._timers.expired(self._now):
            self._inbox(name).put(text.encode(), is_whole=True)
            self._since = self._now
        self._listen()
        if self.is_over:
            return
        has_said_enough = len(self.said) >= self._patience.most_messages and self._memory.can_end
        if has_said_enough or not self._forecast.moves:
            self._end()
        elif self._heard_in_a_row > self._patience.most_messages:
            self._talked_down()
        elif not self.wants_to_speak:
            self._check_waiting()

    def _listen(self) -> None:
        # What comes without end is not heard to the end.
        while not self.is_over and self._heard_in_a_row <= self._patience.most_messages and self._understand():
            pass

    def _understand(self) -> bool:
        """Take one message out of an inbox, if one is there for sure; whether that was so."""
        for name, inbox in self._inboxes.items():
            if not inbox.has_something:
                continue
            moves = [move for move in self._forecast.moves if move.sender == name]
            if not moves:
                if self._is_out_of_turn(name):
                    self._unexpected(name, inbox)
                    return False
                continue
            inbox.expect(moves)
            standing = inbox.standing()
            if standing.longest is None:
                if not standing.may_go_on:
                    self._unparseable(name, inbox)
                    return False
                continue
            if standing.may_go_on and self._now < self._quiet_at():
                continue
            return self._accept(name, inbox, standing.longest)
        return False

    def _is_out_of_turn(self, name: str) -> bool:
        """Whether somebody has spoken who cannot be meant to: others may be late, and have to be heard first."""
        others = [move for move in self._forecast.moves if move.sender != name and not self._cast.is_ours(move.sender)]
        several = len({ref.sender for ref in self.spec.analysis.messages if not self._is_ours(ref.sender)}) > 1
        return not others and not several

    def _is_ours(self, name: str | None) -> bool:
        return name is not None and self._cast.is_ours(name)

    def _accept(self, name: str, inbox: Inbox, length: int) -> bool:
        reason = ""
        move: MessageType | None = None
        for move, node in inbox.readings(length):
            refused = self._memory.heard(move, node)
            if refused is None:
                self._note(move, self._memory.newest, inbox.take(length))
                return True
            reason = reason or refused
        crashed = self._memory.crash
        kind = Kind.SPEC_CRASH if crashed else Kind.CONSTRAINT
        symbol = move.symbol if move is not None else "what came"
        self._find(kind, f"{symbol}: {reason}", party=name, got=inbox.peek()[:length])
        return False

    def _note(self, move: MessageType, node: Node, data: bytes) -> None:
        """Let a message be part of the conversation."""
        self._forecast = self._memory.forecast
        self._since = self._now
        said = Said(
            self._now, move.sender, move.recipient, move.symbol, data, node, is_ours=self._cast.is_ours(move.sender)
        )
        self.said.append(said)
        self._heard_in_a_row = 0 if said.is_ours else self._heard_in_a_row + 1
        if self.watch is not None:
            self.watch(said)

    # --- waiting ------------------------------------------------------------------------------------------------------

    def _quiet_at(self) -> float:
        """When a message that could go on counts as complete."""
        if self._patience.quiet is not None:
            return self._since + self._patience.quiet
        rhythm = _PAUSES * self._longest_pause
        return self._since + min(max(rhythm, _LEAST_QUIET if rhythm else _FIRST_QUIET), _MOST_QUIET)

    def _waits_until(self) -> float | None:
        """When waiting for the others ends; None: never, because only a timer or an opening link is waited for."""
        states = self._links.values()
        if "opening" in states and "open" not in states:
            return None  # whoever opens links knows how long that may take; a client may come at any time
        waiting = [inbox for inbox in self._inboxes.values() if inbox.has_something]
        if any(inbox.standing().longest is not None for inbox in waiting):
            return self._quiet_at()
        if waiting:
            return self._since + self._patience.patience
        senders = {move.sender for move in self._forecast.moves}
        if senders and senders <= {"TimerEvent"}:
            return None
        if self._memory.can_end:
            return self._quiet_at()
        return self._since + self._patience.timeout

    def _check_waiting(self) -> None:
        """We wait for others. Will they speak?"""
        expected = [move for move in self._forecast.moves if not self._cast.is_ours(move.sender)]
        if self._is_cut_off(expected):
            if self._memory.can_end:
                self._end()
            else:
                self._find(
                    Kind.CLOSED, "the connection was closed before the conversation was over", party=_names(expected)
                )
            return
        until = self._waits_until()
        if until is None or self._now < until:
            return
        if any(inbox.has_something for inbox in self._inboxes.values()):
            self._stopped_short()
        elif self._memory.can_end:
            self._end()
        elif not expected:
            names = _names(self._forecast.moves)
            self._find(Kind.UNREACHABLE, f"{names} had no link for {self._now - self._since:.1f} s", party=names)
        else:
            waited = f"{self._now - self._since:.1f} s"
            what = " or ".join(dict.fromkeys(move.symbol for move in expected))
            self._find(
                Kind.SILENCE, f"{_names(expected)} said nothing for {waited}", party=_names(expected), expected=(what,)
            )

    def _is_cut_off(self, expected: Sequence[MessageType]) -> bool:
        """Whether nobody that we wait for can reach us any more."""
        if not self._links or any(state in ("opening", "open") for state in self._links.values()):
            return False
        return all(move.sender != "TimerEvent" for move in expected)

    def _stopped_short(self) -> None:
        """Somebody has begun a message and not ended it."""
        for name, inbox in self._inboxes.items():
            if inbox.has_something:
                _, expected = inbox.expected()
                self._find(
                    Kind.SILENCE,
                    f"{name} stopped in the middle of a message for {self._now - self._since:.1f} s",
                    party=name,
                    expected=expected,
                    got=inbox.peek(),
                )
                return

    # --- findings -----------------------------------------------------------------------------------------------------

    def _unparseable(self, name: str, inbox: Inbox) -> None:
        offset, expected = inbox.expected()
        got = inbox.peek()
        kind = Kind.UNPARSEABLE
        if inbox.has_ended and offset >= len(got):
            is_reset = "reset" in self._links.values()
            kind = Kind.RESET if is_reset else Kind.CLOSED
            what = f"{name} {'reset' if is_reset else 'closed'} the connection in the middle of a message"
        else:
            what = f"what {name} said cannot go on at offset {offset}"
        self._find(kind, what, party=name, expected=expected, got=got)

    def _unexpected(self, name: str, inbox: Inbox) -> None:
        ours = [move.symbol for move in self._forecast.moves]
        self._find(
            Kind.UNEXPECTED,
            f"{name} spoke out of turn",
            party=name,
            expected=tuple(dict.fromkeys(ours)),
            got=inbox.peek(),
        )

    def _talked_down(self) -> None:
        last = self.said[-1].sender
        most = self._patience.most_messages
        self._find(Kind.LIMIT, f"{last} has said more than {most} messages, and nobody else anything", party=last)

    def _find(
        self, kind: Kind, message: str, *, party: str = "", expected: Sequence[str] = (), got: bytes = b""
    ) -> None:
        self.findings.append(Finding(kind, self._now, message, party, tuple(expected), got, tuple(self.said)))
        self._end()

    def _end(self) -> None:
        """Close everything; nothing more is said or heard."""
        if self.is_over:
            return
        self.is_over = True
        for party in list(self._cast.parties.values()):
            try:
                party.stop()
            except SPEC_CODE_RAISES as error:
                if not isinstance(error, NotImplementedError):
                    self.findings.append(
                        Finding(Kind.SPEC_CRASH, self._now, f"{party.party_name}.stop {raised(error)}")
                    )
        for link in list(self._links):
            self._actions.append(Close(link))
        self._links.clear()

    # --- speaking -----------------------------------------------------------------------------------------------------

    @property
    def wants_to_speak(self) -> bool:
        """Whether it is our turn, as far as we know; what has come in may change that."""
        if self.is_over or not self._has_begun:
            return False
        if any(inbox.has_something for inbox in self._inboxes.values()):
            return False
        return bool(self._our_moves())

    def _our_moves(self) -> list[MessageType]:
        return [move for move in self._forecast.moves if self._cast.is_ours(move.sender) and self._can_speak(move)]

    def _can_speak(self, move: MessageType) -> bool:
        return self._links.get(move.sender, "open") in ("open", "ended")

    def speak(self, at: float) -> bool:
        """Make what we say next. Until it is committed nobody hears of it, and it can be discarded."""
        self._now = max(self._now, at)
        self._cast.take_the_stage()
        moves = self._our_moves()
        while moves:
            move = self._player.choose(moves, self._forecast, self._memory.can_end)
            if move is None:
                self._next = self._end
                return True
            try:
                node = self._memory.made(move)
            except PalaverError as error:
                self._next = partial(self._find, Kind.SPEC_CRASH, str(error))
                return True
            if node is not None:
                self._next = partial(self._say, move, node)
                return True
            moves = [other for other in moves if other != move]
        self._next = partial(self._find, Kind.UNSOLVED, self._memory.reason)
        return True

    def commit(self, at: float) -> list[Action]:
        """Say what was made."""
        self._now = max(self._now, at)
        self._cast.take_the_stage()
        do, self._next = self._next, None
        assert do is not None, "only what was made can be said"
        do()
        if not self.is_over:
            self._go_on()
        return self._flush()

    def discard(self) -> None:
        """Forget what was made: somebody else was faster."""
        self._next = None

    def _say(self, move: MessageType, node: Node) -> None:
        self._memory.say(move, node)
        tree = Tree(self._memory.newest)
        self._note(move, self._memory.newest, _as_bytes(tree))
        self._guarded(f"{move.sender}.send", self._cast.parties[move.sender].send, tree, move.recipient)

    def _flush(self) -> list[Action]:
        actions, self._actions = self._actions, []
        return actions


def _as_bytes(message: Any) -> bytes:
    match message:
        case Tree():
            data = message.serialised()
        case str() | bytes():
            data = message
        case bytearray() | memoryview():
            data = bytes(message)
        case _:
            raise ConversionError(f"{type(message).__name__} cannot be sent: a message is a tree, text or bytes")
    return as_bytes(data) if isinstance(data, str) else data


def _names(moves: Sequence[MessageType]) -> str:
    return " or ".join(dict.fromkeys(move.sender for move in moves))
