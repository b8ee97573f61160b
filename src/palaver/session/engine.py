"""A conversation, without a world around it: inputs go in, actions come out.

How it works
============

`handle` is the only door for what happens: bytes, links that open and close, time. It never blocks and knows no clock
but the times in its inputs (`pace`). What came in is understood (`hearing`) before anything is said.

When nothing waits to be understood and it is our turn, `wants_to_speak` is true. Then `speak` makes a message that
satisfies the constraints (`memory`), and `commit` says it, unless something has come in between: then `discard` drops
it (the paper's listen-before-talk, Algorithm 1). So a race has only two outcomes, and both are tested in memory.

When it is not our turn, the others are waited for (`waiting`). Whoever drives the session calls `handle(Passed(…))` at
`deadline`.

Spec code comes in by a second door: parties act on the session as on a stage. They open and close links (`links`), say
what we say, and pass on what others say. What was said never changes. The first complaint ends the session.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Callable
from functools import partial
from typing import Any

from palaver.chance import Chance
from palaver.compiled.data import as_bytes
from palaver.errors import ConversionError, PalaverError
from palaver.grammar.code import SPEC_CODE_RAISES
from palaver.matching.forecaster import Forecast, MessageType
from palaver.party import NetworkParty, Party
from palaver.session import complaints
from palaver.session.cast import SELF_STARTING
from palaver.session.complaints import Complaint
from palaver.session.events import Action, Closed, Failed, Input, Listening, Opened, Passed, Received, Secured, Tls
from palaver.session.findings import Finding, Kind, Said, Verdict, verdict_of
from palaver.session.hearing import Hearing, Understood
from palaver.session.links import Links
from palaver.session.memory import Memory
from palaver.session.pace import Pace, Patience
from palaver.session.play import Play
from palaver.session.player import WAIT, Player
from palaver.session.timers import Timers
from palaver.session.waiting import Waiting
from palaver.trees.node import Node
from palaver.trees.tree import Tree

__all__ = ["Patience", "Session"]

# How long a program may take to end, in seconds, when everything has been said: it may crash only then.
_FAREWELL = 1.0


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
        self._memory = Memory(play, chance, player.steering)
        self._forecast: Forecast = self._memory.forecast
        self._turn = self.spec.namespace.turn(chance)
        self.spec.namespace.take(self._turn)
        self._cast = play.cast(self)
        self._links = Links()
        self._pace = Pace(self._patience)
        self._timers = Timers(are_heard=play.has_timers)
        self._hearing = Hearing(play, self._cast, self._memory)
        self._waiting = Waiting(self._cast, self._memory, self._hearing, self._links, self._pace, self._timers)
        self._has_begun = False
        self._heard_in_a_row = 0  # messages since we said something
        self._ours: list[MessageType] | None = None  # what we can say now; None: to be found out
        self._next: Callable[[], None] | None = None  # what is done when it is committed
        self._text = getincrementaldecoder("utf-8")("surrogateescape")  # of what a program says
        self._incoming: tuple[str, bool] | None = None  # the link that data is coming from just now
        self._leaves_at: float | None = None  # when we no longer wait for a program to end, once all is said

    # --- what happens -------------------------------------------------------------------------------------------------

    def handle(self, event: Input) -> list[Action]:
        """Take in what has happened; what is to be done. The first input, whatever it is, begins the conversation."""
        self._pace.reach(event.at)
        self._take_the_stage()
        self._ours = None
        if not self._has_begun:
            self._begin()
        if self._leaves_at is not None:
            self._part(event, self._leaves_at)
        if self.is_over or self._leaves_at is not None:
            return self._links.take_actions()
        match event:
            case Received(_, link, data, is_whole):
                self._receive(link, data, is_whole)
            case Listening(_, link, port):
                self._settle(link, port)
            case Opened(_, link):
                self._links.opened(link)
                self._pace.stir()
            case Closed():
                self._closed(event)
            case Failed(_, link):
                self._links.failed(link)
                self._find(complaints.failed(event))
            case Secured() | Passed():
                pass
        self._ours = None
        self._go_on()
        return self._links.take_actions()

    def _begin(self) -> None:
        self._has_begun = True
        self._player.begin()
        self._pace.stir()
        for fault in self._cast.faults:
            self._find(Complaint(Kind.SPEC_CRASH, fault))
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
        times = [self._timers.next_at] if self._waiting.is_for_a_timer() else []
        if self._pace.is_holding():
            times.append(self._pace.holds_until)
        elif not self.wants_to_speak:
            times.append(self._waiting.until())
        return min((at for at in times if at is not None), default=None)

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.findings)

    def _receive(self, link: str, data: bytes, is_whole: bool) -> None:
        party = self._cast.party("Out" if link == "In" else link)
        self._incoming = (party.party_name, is_whole)
        self._pace.withhold(data)
        piece = self._text.decode(data) if self._wants_text(party) else data
        if piece or not data:  # an empty datagram is something
            self._guarded(f"{party.party_name}.receive", party.receive, piece, self._hearing.only_speaker(party))
        self._incoming = None
        self._pace.stir_if_withheld()

    def _wants_text(self, party: Party) -> bool:
        """Whether code of the spec sees what a program says as text; only then it can be cut between characters."""
        is_changed = type(party).receive is not Party.receive
        return is_changed and party.party_name == "Out" and self.spec.namespace.program_speaks_text

    def _settle(self, link: str, port: int) -> None:
        """A party that listens at any port learns which one it is."""
        party = self._cast.party(link)
        if isinstance(party, NetworkParty):
            party.port = port
        self._links.settled(link, port)

    def _closed(self, event: Closed) -> None:
        self._links.closed(event)
        party = self._cast.party("Out" if event.link == "In" else event.link)
        speaker = self._hearing.only_speaker(party)
        self._guarded(f"{party.party_name}.receive", party.receive, None, speaker)
        if self.is_over:
            return
        if speaker is not None:
            self._hearing.end(speaker)  # whatever the party has made of it
        code = event.exit_code or 0
        if event.trouble == "reset" or (code > 0 and not self._memory.can_end):
            self._listen()
            if not self.is_over and not self._memory.can_end:
                self._find(complaints.broken_off(event, self._forecast.moves))
        elif code < 0:
            self._find(complaints.broken_off(event, self._forecast.moves))

    def _part(self, event: Input, leaves_at: float) -> None:
        """All is said; has the program ended well?"""
        if isinstance(event, Closed) and event.link == "In":
            self._closed(event)
            self._end()
        elif self._pace.now >= leaves_at:
            self._end()

    def _guarded(self, what: str, function: Callable[..., Any], *arguments: Any) -> None:
        """Call code of the spec."""
        try:
            function(*arguments)
        except SPEC_CODE_RAISES as error:
            self._find(complaints.raised(error, self._cast.told(what, error)))

    # --- listening ----------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Understand what can be understood, and find out whether the conversation is over."""
        self._listen()
        while not self.is_over and self._waiting.is_for_a_timer():
            text = self._timers.expired(self._pace.now)
            if text is None:
                break
            self._hearing.inbox("TimerEvent").put(text.encode(), is_whole=True)
            self._pace.stir()
            self._listen()
        if self.is_over or self._leaves_at is not None:
            return
        most = self._patience.most_messages
        if not self._forecast.moves or (len(self.said) >= most and self._memory.can_end):
            self._finish()
        elif self._heard_in_a_row > most:
            self._find(complaints.too_many(self.said[-1].sender, self._forecast.moves, most))
        elif not self.wants_to_speak and not self._pace.is_holding() and self._waiting.is_in_vain():
            complaint = self._waiting.complaint()
            if complaint is None:
                self._finish()
            else:
                self._find(complaint)

    def _listen(self) -> None:
        # What comes without end is not heard to the end.
        while not self.is_over and self._heard_in_a_row <= self._patience.most_messages:
            heard = self._hearing.understand(is_quiet=self._pace.is_quiet(), is_reset=self._links.is_any_reset())
            if isinstance(heard, Understood):
                self._note(heard.move, heard.data)
                continue
            if heard is not None:
                self._find(heard)
            return

    def _note(self, move: MessageType, data: bytes) -> None:
        """Let a message be part of the conversation: the newest that is remembered."""
        before, self._forecast = self._forecast, self._memory.forecast
        node = self._memory.newest
        self._ours = None
        self._pace.end_turn()
        is_ours = self._cast.is_ours(move.sender)
        said = Said(self._pace.now, move.sender, move.recipient, move.symbol, data, node, is_ours=is_ours)
        self.said.append(said)
        self._player.said(move, node, before, self._forecast, is_ours)
        self._heard_in_a_row = 0 if is_ours else self._heard_in_a_row + 1
        if self.watch is not None:
            self.watch(said)

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
        return not self._pace.is_holding() and not self._hearing.is_anybody_waiting()

    def _our_moves(self) -> list[MessageType]:
        self._cast.take_the_stage()  # the spec may decide who is ours
        moves = self._forecast.moves
        senders = dict.fromkeys(move.sender for move in moves)
        speaking = {sender: self._can_speak(sender) for sender in senders}
        return [move for move in moves if speaking[move.sender]]

    def _can_speak(self, name: str) -> bool:
        party = self._cast.party(name)
        return party.is_fuzzer_controlled() and self._links.can_send(party.party_name)

    def speak(self, at: float) -> bool:
        """Make what we say next. Until it is committed nobody hears of it, and it can be discarded."""
        self._pace.reach(at)
        self._take_the_stage()
        moves, self._ours = self._our_moves() if self._ours is None else self._ours, None
        if self._pace.holds_until is not None:
            self._player.waited(self._forecast)
        while moves:
            move = self._player.choose(moves, self._forecast, self._memory.can_end)
            if move is None:
                self._next = self._finish
                return True
            if move is WAIT:
                self._pace.hold()
                return False
            try:
                node = self._memory.made(move)
            except PalaverError as error:
                self._next = partial(self._find, Complaint(Kind.SPEC_CRASH, str(error)))
                return True
            if node is not None:
                self._next = partial(self._say, move, node)
                return True
            self._player.refused(move)
            moves = [other for other in moves if other != move]
        self._next = partial(self._find, Complaint(Kind.UNSOLVED, self._memory.reason))
        return True

    def commit(self, at: float) -> list[Action]:
        """Say what was made."""
        self._pace.reach(at)
        self._take_the_stage()
        self._ours = None
        do, self._next = self._next, None
        assert do is not None, "only what was made can be said"
        do()
        self._ours = None
        if not self.is_over:
            self._go_on()
        return self._links.take_actions()

    def discard(self) -> None:
        """Forget what was made: somebody else was faster."""
        self._next = None

    def _say(self, move: MessageType, node: Node) -> None:
        self._memory.say(node)
        tree = Tree(self._memory.newest)
        self._note(move, _as_bytes(tree))
        self._guarded(f"{move.sender}.send", self._cast.party(move.sender).send, tree, move.recipient)

    def abandon(self) -> list[Action]:
        """End the session from outside; what is to be done."""
        self._end()
        return self._links.take_actions()

    # --- ending -------------------------------------------------------------------------------------------------------

    def _find(self, complaint: Complaint) -> None:
        self.findings.append(complaint.found(self._pace.now, self.said, self.spec.grammar.constraints))
        self._end()

    def _finish(self) -> None:
        """Everything has been said; a program may still show how it ends."""
        missing = self._memory.unfinished
        if missing is not None and self._forecast.crashes:
            self._find(Complaint(Kind.SPEC_CRASH, self._forecast.crashes[0]))
        elif missing:
            self._find(Complaint(Kind.UNSOLVED, f"nothing more can be said, but {missing}"))
        elif self._links.is_open("In"):
            self._leaves_at, self._ours = self._pace.now + _FAREWELL, None
            self._links.finish("In")
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
            self.findings.append(Finding(Kind.SPEC_CRASH, self._pace.now, fault, conversation=tuple(self.said)))
        self._links.close_all()

    # --- the stage that parties act on --------------------------------------------------------------------------------

    def start(self, party: Party) -> None:
        place = self._cast.link(party)
        if place is not None and not self.is_over:
            self._links.open(party.party_name, place, getattr(party, "tls", None))

    def stop(self, party: Party) -> None:
        self._links.close(party.party_name)

    def secure(self, party: Party, **options: str) -> None:
        place = self._cast.link(party)
        if place is not None:
            self._links.secure(party.party_name, place[1], Tls(**options))

    def say(self, party: Party, message: Any, recipient: str | None) -> None:
        data, name = _as_bytes(message), party.party_name
        if name == "TimerControl":
            self._timers.control(data.decode("latin-1"), self._pace.now)
        elif self._cast.has_link(party):
            self._links.send(name, data)
            if getattr(party, "close_post_transmit", False):
                self._links.finish(name)

    def hear(self, party: Party, message: Any, sender: str | None) -> None:
        if message is None and sender is None and self._hearing.only_speaker(party) is None:
            return  # nobody in particular will say no more
        speaker = sender or self._hearing.speaker(party)
        if not self._cast.is_known(speaker):
            raise PalaverError(f"{party.party_name} was told something by {speaker}, whom nobody knows")
        inbox = self._hearing.inbox(speaker)
        if message is None:
            inbox.end()
            return
        data = _as_bytes(message)
        # An answer that a party gives itself, or another one, is whole, like a datagram: it knows what it says.
        is_whole = self._incoming is None or self._incoming != (party.party_name, False)
        self._pace.pass_on(is_more=inbox.has_something and not is_whole)
        inbox.put(data, is_whole=is_whole)
        self._ours = None
        if len(inbox) > self._patience.largest_message:
            self._find(complaints.too_long(speaker, inbox, self._forecast.moves, self._patience.largest_message))


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
