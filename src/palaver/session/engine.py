"""A conversation, without a world around it: inputs go in, actions come out.

How it works
============

`handle` is the only door for what happens: bytes, links that open and close, time. It never blocks and knows no clock
but the times in its inputs. What came in is understood before anything is said: the messages that may come next
(`matching.forecaster`) are the candidates of the inbox of each party that we do not play. A message that is complete
and cannot go on is accepted if some hypothesis about the conversation so far survives it with all constraints. If it
could go on, it waits for a quiet interval, which follows the rhythm of the peer. If it can end at several places, the
last one counts after which the rest can be the beginning of what comes next.

When nothing waits to be understood and it is our turn, `wants_to_speak` is true. Then `speak` makes a message that
satisfies the constraints, and `commit` says it, unless something has come in between: then `discard` drops it (the
paper's listen-before-talk, Algorithm 1). So a race has only two outcomes, and both are tested in memory.

What was said never changes. Whoever drives the session calls `handle(Passed(…))` at `deadline`.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from palaver.chance import Chance
from palaver.compiled.data import as_bytes
from palaver.errors import ConversionError, PalaverError
from palaver.grammar.code import SPEC_CODE_RAISES
from palaver.grammar.ir import expressions_of
from palaver.matching.forecaster import Forecast, MessageType
from palaver.party import NetworkParty, Party
from palaver.session.cast import SELF_STARTING
from palaver.session.events import (
    Action,
    Address,
    Close,
    Closed,
    Failed,
    Finish,
    Input,
    Listening,
    Open,
    Opened,
    Passed,
    Received,
    Role,
    Secure,
    Secured,
    Send,
    Tls,
    Trouble,
)
from palaver.session.findings import Finding, Kind, Said, Verdict, verdict_of
from palaver.session.inbox import Inbox
from palaver.session.memory import Judged, Memory, Refusal
from palaver.session.past import Past
from palaver.session.play import Play
from palaver.session.player import WAIT, Player
from palaver.session.timers import Timers
from palaver.spec.ast import Expression
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

# Where a message may end is tried at so many places, from the last one back.
_MOST_LENGTHS = 256

# How long a program may take to end, in seconds, when everything has been said: it may crash only then.
_FAREWELL = 1.0

# How many errors may stand between one that spec code raised and what happened. Libraries wrap an error three or four
# times; without a limit, one that is its own cause would be followed for ever.
_DEEPEST_CAUSE = 10


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
        self._memory = Memory(play, chance, player.steering)
        self._lookback = play.lookback
        self._heard_before = play.heard
        self._forecast: Forecast = self._memory.forecast
        self._turn = self.spec.namespace.turn(chance)
        self.spec.namespace.take(self._turn)
        self._cast = play.cast(self)
        self._inboxes: dict[str, Inbox] = {}
        # "opening"; "open"; "ended": the peer says no more, and may still listen; "reset"; "closed"
        self._links: dict[str, str] = {}
        self._places: dict[str, tuple[Address, Role]] = {}  # what they were opened for
        self._finished: set[str] = set()  # links on which we said that we say no more
        self._leaves_at: float | None = None  # when we no longer wait for a program to end, once all is said
        self._timers = Timers()
        self._has_timers = play.has_timers
        self._now = 0.0
        self._since = 0.0  # the last time that something was said or heard
        self._longest_pause = 0.0
        self._heard_in_a_row = 0  # messages since we said something
        self._ours: list[MessageType] | None = None  # what we can say now; None: to be found out
        self._holds_until: float | None = None  # when a pause is over in which we let the others speak
        self._has_begun = False
        self._next: Callable[[], None] | None = None  # what is done when it is committed
        self._heard = getincrementaldecoder("utf-8")("surrogateescape")  # of a program, as text
        self._incoming: tuple[str, bool] | None = None  # the link that data is coming from just now
        self._withheld = 0  # how much has come, in bytes, of which parties have passed nothing on yet

    # --- what happens -------------------------------------------------------------------------------------------------

    def handle(self, event: Input) -> list[Action]:
        """Take in what has happened; what is to be done. The first input, whatever it is, begins the conversation."""
        self._now = max(self._now, event.at)
        self._take_the_stage()
        self._ours = None
        if not self._has_begun:
            self._begin()
        if self._leaves_at is not None:
            self._part(event, self._leaves_at)
        if self.is_over or self._leaves_at is not None:
            return self._flush()
        match event:
            case Received(_, link, data, is_whole):
                self._receive(link, data, is_whole)
            case Listening(_, link, port):
                self._settle(link, port)
            case Opened(_, link):
                self._links[link] = "open"
                self._since = self._now
            case Closed(_, link):
                self._closed(event)
            case Failed(_, link, trouble, reason):
                self._links[link] = "closed"
                self._find(_KIND_OF_TROUBLE[trouble], reason, party=link)
            case Secured() | Passed():
                pass
        self._ours = None
        self._go_on()
        return self._flush()

    def _begin(self) -> None:
        self._has_begun = True
        self._player.begin()
        self._since = self._now
        for fault in self._cast.faults:
            self._find(Kind.SPEC_CRASH, fault)
        for party in self._cast.players:
            if not self.is_over and (party.is_started or party.party_name in SELF_STARTING):
                self._guarded(f"{party.party_name}.start", self.start, party)

    def _take_the_stage(self) -> None:
        """From here on spec code means this session, whichever other one went on in between."""
        self._cast.take_the_stage()
        self.spec.namespace.take(self._turn)

    @property
    def deadline(self) -> float | None:
        """When the session wants to be woken if nothing happens."""
        if self.is_over:
            return None
        if self._leaves_at is not None:
            return self._leaves_at
        times = [self._timers.next_at] if self._awaits_a_timer else []
        if self._is_holding:
            times.append(self._holds_until)
        elif not self.wants_to_speak:
            times.append(self._waits_until())
        return min((at for at in times if at is not None), default=None)

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.findings)

    def _receive(self, link: str, data: bytes, is_whole: bool) -> None:
        party = self._cast.party("Out" if link == "In" else link)
        self._incoming = (party.party_name, is_whole)
        self._withheld += len(data) + 1
        piece = self._heard.decode(data) if self._wants_text(party) else data
        if piece or not data:  # an empty datagram is something
            self._guarded(f"{party.party_name}.receive", party.receive, piece, self._only_speaker(party))
        self._incoming = None
        # A party may gather a message, which so has begun. Who drops what comes without end would wait for ever.
        if 0 < self._withheld <= self._patience.largest_message:
            self._since = self._now

    def _wants_text(self, party: Party) -> bool:
        """Whether code of the spec sees what a program says as text; only then it can be cut between characters."""
        is_changed = type(party).receive is not Party.receive
        return is_changed and party.party_name == "Out" and self.spec.namespace.program_speaks_text

    def _closed(self, event: Closed) -> None:
        link = event.link
        # Who will say no more may still listen, and who does not has broken no rule: we say what is left to be said.
        is_in_order = event.trouble is None and event.exit_code is None
        self._links[link] = "ended" if is_in_order else "reset" if event.trouble == "reset" else "closed"
        party = self._cast.party("Out" if link == "In" else link)
        speaker = self._only_speaker(party)
        self._guarded(f"{party.party_name}.receive", party.receive, None, speaker)
        if self.is_over:
            return
        if speaker in self._inboxes:
            self._inboxes[speaker].end()  # whatever the party has made of it
        if event.trouble == "reset":
            self._listen()
            if not self.is_over and not self._memory.can_end:
                self._find(Kind.RESET, "the connection was reset", party=link, expected=_symbols(self._forecast.moves))
        elif event.exit_code is not None and event.exit_code < 0:
            what, expected = f"the program was ended by signal {-event.exit_code}", _symbols(self._forecast.moves)
            self._find(Kind.CRASH, what, party="Out", expected=expected)
        elif event.exit_code and not self._memory.can_end:
            self._listen()
            if not self.is_over and not self._memory.can_end:
                what, expected = f"the program ended with exit code {event.exit_code}", _symbols(self._forecast.moves)
                self._find(Kind.CRASH, what, party="Out", expected=expected)

    def _part(self, event: Input, leaves_at: float) -> None:
        """All is said; has the program ended well?"""
        if isinstance(event, Closed) and event.link == "In":
            self._closed(event)
            self._end()
        elif self._now >= leaves_at:
            self._end()

    def _guarded(self, what: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Call code of the spec."""
        try:
            function(*arguments)
        except SPEC_CODE_RAISES as error:
            self._find(_kind_of_error(error), self._cast.told(what, error))

    # --- the stage that parties act on --------------------------------------------------------------------------------

    def start(self, party: Party) -> None:
        name, place = party.party_name, self._cast.link(party)
        is_up = self._links.get(name) in ("opening", "open")
        if place is None or self.is_over or (is_up and self._places[name] == place):
            return
        # There is always somewhere to print to.
        self._links[name] = "open" if name == "StdOut" else "opening"
        self._places[name] = place
        self._finished.discard(name)
        options = getattr(party, "tls", None)
        self._actions.append(Open(name, *place, tls=None if options is None else Tls(**options)))

    def _settle(self, link: str, port: int) -> None:
        """A party that listens at any port learns which one it is."""
        party, (address, role) = self._cast.party(link), self._places[link]
        if isinstance(party, NetworkParty):
            party.port = port
        self._places[link] = (replace(address, port=port), role)

    def stop(self, party: Party) -> None:
        if self._links.pop(party.party_name, None) is not None:
            self._actions.append(Close(party.party_name))

    def secure(self, party: Party, **options: str) -> None:
        place = self._cast.link(party)
        if place is not None:
            self._actions.append(Secure(party.party_name, place[1], Tls(**options)))

    def say(self, party: Party, message: Any, recipient: str | None) -> None:
        data, name = _as_bytes(message), party.party_name
        if name == "TimerControl":
            self._timers.control(data.decode("latin-1"), self._now)
            return
        if not self._cast.has_link(party):
            return
        if name not in self._links:
            raise PalaverError(f"{name} has nobody to say it to: start() was not called, or stop() was")
        self._actions.append(Send(name, data))
        if getattr(party, "close_post_transmit", False):
            self._finished.add(name)
            self._actions.append(Finish(name))

    def hear(self, party: Party, message: Any, sender: str | None) -> None:
        if message is None and sender is None and self._only_speaker(party) is None:
            return  # nobody in particular will say no more
        speaker = sender or self._speaker(party)
        if not self._cast.is_known(speaker):
            raise PalaverError(f"{party.party_name} was told something by {speaker}, whom nobody knows")
        inbox = self._inbox(speaker)
        if message is None:
            inbox.end()
            return
        data = _as_bytes(message)
        # An answer that a party gives itself, or another one, is whole, like a datagram: it knows what it says.
        is_whole = self._incoming is None or self._incoming != (party.party_name, False)
        if inbox.has_something and not is_whole:
            self._longest_pause = max(self._longest_pause, self._now - self._since)
        self._since = self._now
        self._withheld = 0
        inbox.put(data, is_whole=is_whole)
        self._ours = None
        if len(inbox) > self._patience.largest_message:
            self._find(
                Kind.LIMIT,
                f"{speaker} has said more than {self._patience.largest_message} bytes without an end of the message",
                party=speaker,
                expected=_symbols([move for move in self._forecast.moves if move.sender == speaker]),
                got=inbox.peek(),
            )

    def _speaker(self, party: Party) -> str:
        speaker = self._only_speaker(party)
        if speaker is None:
            known = ", ".join(self._cast.speakers_to(party)) or "none"
            raise PalaverError(f"who speaks to {party.party_name}? Name the sender in receive(); possible are: {known}")
        return speaker

    def _only_speaker(self, party: Party) -> str | None:
        """Who speaks to a party, if there is only one who can: ever, or now."""
        speakers = self._cast.speakers_to(party)
        if len(speakers) > 1:
            told = (party.party_name, None)
            now = (move.sender for move in self._forecast.moves if move.sender in speakers and move.recipient in told)
            speakers = list(dict.fromkeys(now))
        return speakers[0] if len(speakers) == 1 else None

    def _inbox(self, name: str) -> Inbox:
        """The inbox of a party. They stand in the order in which what waits in them has come."""
        inbox = self._inboxes.get(name)
        if inbox is None:
            inbox = self._inboxes[name] = Inbox(self._matcher, self._heard_before)
        elif not inbox.has_something:
            self._inboxes[name] = self._inboxes.pop(name)
        return inbox

    def _matcher(self, symbol: str, is_whole: bool, past: Past) -> Any:
        history = self._lookback.history(symbol, past)
        return self.spec.matcher(symbol, binary=self.spec.is_binary, whole=is_whole, history=history)

    # --- listening ----------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Understand what can be understood, and find out whether the conversation is over."""
        self._listen()
        while not self.is_over and self._awaits_a_timer and (text := self._timers.expired(self._now)) is not None:
            self._inbox("TimerEvent").put(text.encode(), is_whole=True)
            self._since = self._now
            self._listen()
        if self.is_over or self._leaves_at is not None:
            return
        has_said_enough = len(self.said) >= self._patience.most_messages and self._memory.can_end
        if has_said_enough or not self._forecast.moves:
            self._finish()
        elif self._heard_in_a_row > self._patience.most_messages:
            self._talked_down()
        elif not self.wants_to_speak and not self._is_holding:
            self._check_waiting()

    def _listen(self) -> None:
        # What comes without end is not heard to the end.
        while not self.is_over and self._heard_in_a_row <= self._patience.most_messages and self._understand():
            pass

    def _understand(self) -> bool:
        """Take one message out of an inbox, if one is there for sure; whether that was so.

        Who began to speak first is heard first, and to the end, unless it is another's turn.
        """
        for name, inbox in list(self._inboxes.items()):
            if not self._is_waiting(name):
                continue
            moves = [move for move in self._forecast.moves if move.sender == name]
            if not moves:
                if self._is_out_of_turn(name, self._forecast):
                    self._unexpected(name, inbox)
                    return False
                continue
            inbox.expect(moves, self._memory.past)
            standing = inbox.standing()
            if standing.longest is None:
                if not standing.may_go_on:
                    self._unparseable(name, inbox)
                return False
            if self._now < self._quiet_at() and (standing.may_go_on or self._is_open(name, inbox)):
                return False
            return self._accept(name, inbox)
        return False

    def _is_waiting(self, name: str) -> bool:
        """Whether somebody waits to be heard. What stands in our standard input has time until it is asked for."""
        if not self._inboxes[name].has_something:
            return False
        return name != "StdIn" or any(move.sender == name for move in self._forecast.moves)

    def _is_anybody_waiting(self) -> bool:
        return any(inbox.has_something and self._is_waiting(name) for name, inbox in self._inboxes.items())

    def _is_out_of_turn(self, name: str, forecast: Forecast) -> bool:
        """Whether somebody has spoken who was not meant to: unless others may, who are late and to be heard first."""
        return all(move.sender == name or self._cast.is_ours(move.sender) for move in forecast.moves)

    def _accept(self, name: str, inbox: Inbox) -> bool:
        """Take the longest message that suits what was said before and what stands behind it; whether there is one."""
        lengths = inbox.lengths()[:_MOST_LENGTHS]
        refusals: list[tuple[str, Refusal]] = []
        # If what stands behind suits none of them, it is what is wrong, and not the message.
        for looks_ahead in (True, False) if len(lengths) > 1 else (False,):
            refusals.clear()
            for length in lengths:
                refusal = self._take(name, inbox, length, looks_ahead=looks_ahead)
                if refusal is None:
                    return True
                refusals.append(refusal)
        symbol, (reason, leaf, is_crash) = refusals[0]
        kind = Kind.SPEC_CRASH if is_crash else Kind.CONSTRAINT
        self._find(kind, f"{symbol}: {reason}", party=name, got=inbox.peek()[: lengths[0]], broken=leaf)
        return False

    def _take(self, name: str, inbox: Inbox, length: int, *, looks_ahead: bool) -> tuple[str, Refusal] | None:
        """Take a message of this length, if it suits; otherwise, what it is and why it does not."""
        refusal: tuple[str, Refusal] | None = None
        for move, node in inbox.readings(length):
            judged = self._memory.weigh(move, node)
            if isinstance(judged, Refusal):
                refusal = refusal or (move.symbol, judged)
            elif not looks_ahead or self._can_follow(name, inbox.behind(length), judged):
                self._memory.accept(judged)
                self._note(move, self._memory.newest, inbox.take(length))
                return None
        return refusal or ("what came", Refusal("it has no tree"))

    def _is_open(self, name: str, inbox: Inbox) -> bool:
        """Whether a message that cannot go on may also be a shorter one, and the beginning of the next."""
        lengths = inbox.lengths()[1:_MOST_LENGTHS]
        if not lengths or inbox.has_ended or inbox.behind(inbox.lengths()[0]).has_something:
            return False
        readings = ((length, self._memory.weigh(*reading)) for length in lengths for reading in inbox.readings(length))
        return any(
            self._can_follow(name, inbox.behind(length), judged)
            for length, judged in readings
            if not isinstance(judged, Refusal)
        )

    def _can_follow(self, name: str, left: Inbox, judged: Judged) -> bool:
        """Whether what stands behind a message can be what comes next."""
        if not left.has_something:
            return True
        forecast = judged.forecast
        moves = [move for move in forecast.moves if move.sender == name]
        if not moves:
            return not self._is_out_of_turn(name, forecast)
        left.expect(moves, judged.past)
        standing = left.standing()
        return standing.longest is not None or standing.may_go_on

    def _note(self, move: MessageType, node: Node, data: bytes) -> None:
        """Let a message be part of the conversation."""
        before, self._forecast = self._forecast, self._memory.forecast
        self._ours = None
        self._since = self._now
        self._holds_until = None
        is_ours = self._cast.is_ours(move.sender)
        said = Said(self._now, move.sender, move.recipient, move.symbol, data, node, is_ours=is_ours)
        self.said.append(said)
        self._player.said(move, node, before, self._forecast, is_ours)
        self._heard_in_a_row = 0 if said.is_ours else self._heard_in_a_row + 1
        if self.watch is not None:
            self.watch(said)

    # --- waiting ------------------------------------------------------------------------------------------------------

    def _quiet_at(self) -> float:
        """When a message that could go on counts as complete."""
        return self._since + self._quiet_interval

    @property
    def _quiet_interval(self) -> float:
        if self._patience.quiet is not None:
            return self._patience.quiet
        rhythm = _PAUSES * self._longest_pause
        return min(max(rhythm, _LEAST_QUIET if rhythm else _FIRST_QUIET), _MOST_QUIET)

    def _waits_until(self) -> float | None:
        """When waiting for the others ends; None: never, because only a timer or an opening link is waited for."""
        states = self._peer_states
        if "opening" in states and "open" not in states:
            return None  # whoever opens links knows how long that may take; a client may come at any time
        senders = {move.sender for move in self._forecast.moves}
        waiting = [inbox for name, inbox in self._inboxes.items() if inbox.has_something and name in senders]
        if waiting:
            is_complete = waiting[0].standing().longest is not None
            return self._quiet_at() if is_complete else self._since + self._patience.patience
        if self._awaits_a_timer and self._timers.next_at is not None:
            return None
        if self._withheld:
            return self._since + self._patience.patience
        if self._memory.can_end:
            return self._quiet_at()
        return self._since + self._patience.timeout

    def _check_waiting(self) -> None:
        """We wait for others. Will they speak?"""
        is_anybody_waiting = self._is_anybody_waiting()
        if not is_anybody_waiting and self._is_cut_off():
            names = _names(self._moves_of_others() or self._forecast.moves)
            if self._memory.can_end:
                self._finish()
            elif names == "TimerEvent":
                self._find(Kind.SPEC_CRASH, "TimerEvent is waited for, but no timer runs", party=names)
            else:
                what, missing = "the connection was closed before the conversation was over", self._forecast.moves
                self._find(Kind.CLOSED, what, party=names, expected=_symbols(missing))
            return
        until = self._waits_until()
        if until is None or self._now < until:
            return
        if is_anybody_waiting:
            self._stopped_short()
        elif self._memory.can_end:
            self._finish()
        elif not (expected := self._moves_of_others()):
            names = _names(self._forecast.moves)
            self._find(Kind.UNREACHABLE, f"{names} had no link for {self._now - self._since:.1f} s", party=names)
        else:
            names = _names(expected)
            what = f"{names} said nothing for {self._now - self._since:.1f} s"
            self._find(Kind.SILENCE, what, party=names, expected=_symbols(expected))

    def _moves_of_others(self) -> list[MessageType]:
        return [move for move in self._forecast.moves if not self._cast.is_ours(move.sender)]

    @property
    def _peer_states(self) -> list[str]:
        """How the links are that somebody may talk to us on."""
        return [state for link, state in self._links.items() if link != "StdOut"]

    @property
    def _awaits_a_timer(self) -> bool:
        return self._has_timers and any(move.sender == "TimerEvent" for move in self._forecast.moves)

    def _is_cut_off(self) -> bool:
        """Whether nobody can say any more what may come next."""
        is_all_open = all(state in ("opening", "open") for state in self._links.values())
        if is_all_open and not self._finished and not self._has_timers:
            return False
        return all(self._is_out_of_reach(move) for move in self._forecast.moves)

    def _is_out_of_reach(self, move: MessageType) -> bool:
        if move.sender == "TimerEvent":
            return self._timers.next_at is None
        if self._cast.is_ours(move.sender):
            link = self._cast.party(move.sender).party_name
            return link in self._finished or self._links.get(link) in ("closed", "reset")
        way = self._cast.link_from(move.sender, move.recipient)
        if way in self._links:
            return self._links[way] not in ("opening", "open")
        # It is said by code of the spec, when something happens elsewhere.
        states = self._peer_states
        return bool(states) and not any(state in ("opening", "open") for state in states)

    def _stopped_short(self) -> None:
        """Somebody has begun a message and not ended it, or has spoken while we waited for another."""
        senders = {move.sender for move in self._forecast.moves}
        waiting = filter(self._is_waiting, self._inboxes)
        name = min(waiting, key=lambda each: each not in senders)
        inbox = self._inboxes[name]
        if name not in senders:
            self._unexpected(name, inbox)
            return
        inbox.end()  # only then it is known what is missing
        self._find(
            Kind.SILENCE,
            f"{name} stopped in the middle of a message for {self._now - self._since:.1f} s",
            party=name,
            expected=inbox.expected()[1],
            got=inbox.peek(),
        )

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
        expected = _symbols(self._forecast.moves)
        self._find(Kind.UNEXPECTED, f"{name} spoke out of turn", party=name, expected=expected, got=inbox.peek())

    def _talked_down(self) -> None:
        last = self.said[-1].sender
        most = self._patience.most_messages
        ours = [move for move in self._forecast.moves if move.sender != last]
        what = f"{last} has said more than {most} messages, and nobody else anything"
        self._find(Kind.LIMIT, what, party=last, expected=_symbols(ours))

    def _find(
        self,
        kind: Kind,
        message: str,
        *,
        party: str = "",
        expected: Sequence[str] = (),
        got: bytes = b"",
        broken: Expression | None = None,
    ) -> None:
        constraint = "" if broken is None else self._constraint_with(broken)
        said = tuple(self.said)
        self.findings.append(Finding(kind, self._now, message, party, tuple(expected), got, constraint, said))
        self._end()

    def _constraint_with(self, leaf: Expression) -> str:
        """The text of the constraint that a condition is from."""
        for constraint in self.spec.grammar.constraints:
            if leaf in expressions_of(constraint.formula):
                return constraint.text
        return ""

    def _finish(self) -> None:
        """Everything has been said; a program may still show how it ends."""
        missing = self._memory.unfinished
        if missing is not None and self._forecast.crashes:
            self._find(Kind.SPEC_CRASH, self._forecast.crashes[0])
        elif missing:
            self._find(Kind.UNSOLVED, f"nothing more can be said, but {missing}")
        elif self._links.get("In") == "open":
            self._leaves_at, self._ours = self._now + _FAREWELL, None
            self._actions.append(Finish("In"))
        else:
            self._end()

    def _end(self) -> None:
        """Close everything; nothing more is said or heard."""
        if self.is_over:
            return
        self.is_over, self._ours = True, None
        self._player.ended(not self.findings and self._memory.can_end)
        told = len(self._cast.faults)
        self._cast.stop()
        for fault in self._cast.faults[told:]:
            self.findings.append(Finding(Kind.SPEC_CRASH, self._now, fault, conversation=tuple(self.said)))
        for link in list(self._links):
            self._actions.append(Close(link))
        self._links.clear()

    # --- speaking -----------------------------------------------------------------------------------------------------

    @property
    def wants_to_speak(self) -> bool:
        """Whether it is our turn, as far as we know; what has come in may change that."""
        # Asked several times for each message; only what comes through one of our doors can change the answer.
        if self._ours is None:
            self._ours = self._our_moves() if self._is_our_turn() else []
        return bool(self._ours)

    def _is_our_turn(self) -> bool:
        """Whether we may speak, if there is anything for us to say."""
        if self.is_over or not self._has_begun or self._leaves_at is not None:
            return False
        return not self._is_holding and not self._is_anybody_waiting()

    @property
    def _is_holding(self) -> bool:
        """Whether it would be our turn, but we let the others speak for a while."""
        return self._holds_until is not None and self._now < self._holds_until

    def _our_moves(self) -> list[MessageType]:
        self._cast.take_the_stage()  # the spec may decide who is ours
        moves = self._forecast.moves
        speaking = {sender: self._can_speak(sender) for sender in {move.sender for move in moves}}
        return [move for move in moves if speaking[move.sender]]

    def _can_speak(self, name: str) -> bool:
        party = self._cast.party(name)
        if not party.is_fuzzer_controlled():
            return False
        link = party.party_name
        return self._links.get(link, "open") in ("open", "ended") and link not in self._finished

    def speak(self, at: float) -> bool:
        """Make what we say next. Until it is committed nobody hears of it, and it can be discarded."""
        self._now = max(self._now, at)
        self._take_the_stage()
        moves, self._ours = self._our_moves() if self._ours is None else self._ours, None
        if self._holds_until is not None:
            self._player.waited(self._forecast)
        while moves:
            move = self._player.choose(moves, self._forecast, self._memory.can_end)
            if move is None:
                self._next = self._finish
                return True
            if move is WAIT:
                self._holds_until = self._now + self._quiet_interval
                return False
            try:
                node = self._memory.made(move)
            except PalaverError as error:
                self._next = partial(self._find, Kind.SPEC_CRASH, str(error))
                return True
            if node is not None:
                self._next = partial(self._say, move, node)
                return True
            self._player.refused(move)
            moves = [other for other in moves if other != move]
        self._next = partial(self._find, Kind.UNSOLVED, self._memory.reason)
        return True

    def commit(self, at: float) -> list[Action]:
        """Say what was made."""
        self._now = max(self._now, at)
        self._take_the_stage()
        self._ours = None
        do, self._next = self._next, None
        assert do is not None, "only what was made can be said"
        do()
        self._ours = None
        if not self.is_over:
            self._go_on()
        return self._flush()

    def discard(self) -> None:
        """Forget what was made: somebody else was faster."""
        self._next = None

    def _say(self, move: MessageType, node: Node) -> None:
        self._memory.say(node)
        tree = Tree(self._memory.newest)
        self._note(move, self._memory.newest, _as_bytes(tree))
        self._guarded(f"{move.sender}.send", self._cast.party(move.sender).send, tree, move.recipient)

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


def _kind_of_error(error: BaseException) -> Kind:
    """What it means that spec code raised. A party may have connections of its own, and what happens to these is the
    peer's doing; libraries tell of it by an error of their own, which has the first one behind it."""
    cause: BaseException | None = error
    for _ in range(_DEEPEST_CAUSE):
        match cause:
            case ConnectionRefusedError():
                return Kind.REFUSED
            case ConnectionError():
                return Kind.RESET
            case TimeoutError():
                return Kind.SILENCE
            case BaseException():
                cause = cause.__cause__ or cause.__context__
    return Kind.SPEC_CRASH


def _symbols(moves: Sequence[MessageType]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(move.symbol for move in moves))


def _names(moves: Sequence[MessageType]) -> str:
    return " or ".join(dict.fromkeys(move.sender for move in moves))
