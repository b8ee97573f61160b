"""What the others say, from the bytes that come to the messages that are accepted.

How it works
============

Each party that we do not play has an inbox. The messages that it may send next are the candidates of what is in there.
A message that is complete and cannot go on is accepted if some hypothesis about the conversation so far survives it
with all constraints. If it could go on, it waits until the peer is quiet. If it can end at several places, the last one
counts after which the rest can be the beginning of what comes next.

Nothing here knows the time, or what a link is.
"""

from __future__ import annotations

from typing import NamedTuple

from palaver.errors import PalaverError
from palaver.matching.forecaster import Forecast, MessageType
from palaver.matching.matcher import Matcher
from palaver.party import Party
from palaver.session.cast import Cast
from palaver.session.complaints import Complaint, out_of_turn, refused, stopped_short, unreadable
from palaver.session.inbox import Inbox
from palaver.session.memory import Judged, Memory, Refusal
from palaver.session.past import Past
from palaver.session.play import Play

# Where a message may end is tried at so many places, from the last one back.
_MOST_LENGTHS = 256


class Understood(NamedTuple):
    """A message that was taken out of an inbox. Its tree is the newest one of the memory."""

    move: MessageType
    data: bytes


class Hearing:
    """The inboxes of one session. What is understood goes into `memory`, which tells what may come next."""

    def __init__(self, play: Play, cast: Cast, memory: Memory) -> None:
        self._spec = play.spec
        self._lookback = play.lookback
        self._heard_before = play.heard
        self._cast = cast
        self._memory = memory
        self._inboxes: dict[str, Inbox] = {}

    # --- who speaks, and who waits to be heard ------------------------------------------------------------------------

    def speaker(self, party: Party) -> str:
        """Who speaks to a party.

        :raises PalaverError: that cannot be told
        """
        speaker = self.only_speaker(party)
        if speaker is None:
            known = ", ".join(self._cast.speakers_to(party)) or "none"
            raise PalaverError(f"who speaks to {party.party_name}? Name the sender in receive(); possible are: {known}")
        return speaker

    def only_speaker(self, party: Party) -> str | None:
        """Who speaks to a party, if there is only one who can: ever, or now."""
        speakers = self._cast.speakers_to(party)
        if len(speakers) > 1:
            told, moves = (party.party_name, None), self._memory.forecast.moves
            now = (move.sender for move in moves if move.sender in speakers and move.recipient in told)
            speakers = list(dict.fromkeys(now))
        return speakers[0] if len(speakers) == 1 else None

    def inbox(self, name: str) -> Inbox:
        """The inbox of a party. They stand in the order in which what waits in them has come."""
        inbox = self._inboxes.get(name)
        if inbox is None:
            inbox = self._inboxes[name] = Inbox(self._matcher, self._heard_before)
        elif not inbox.has_something:
            self._inboxes[name] = self._inboxes.pop(name)
        return inbox

    def _matcher(self, symbol: str, is_whole: bool, past: Past) -> Matcher:
        history = self._lookback.history(symbol, past)
        return self._spec.matcher(symbol, binary=self._spec.is_binary, whole=is_whole, history=history)

    def end(self, name: str) -> None:
        """A party says no more, if it has said anything."""
        if name in self._inboxes:
            self._inboxes[name].end()

    def is_anybody_waiting(self) -> bool:
        return any(inbox.has_something and self._is_waiting(name) for name, inbox in self._inboxes.items())

    def _is_waiting(self, name: str) -> bool:
        """Whether somebody waits to be heard. What stands in our standard input has time until it is asked for."""
        if not self._inboxes[name].has_something:
            return False
        return name != "StdIn" or any(move.sender == name for move in self._memory.forecast.moves)

    def first_expected(self) -> Inbox | None:
        """What has come first of those who may speak now."""
        senders = self._senders()
        for name, inbox in self._inboxes.items():
            if inbox.has_something and name in senders:
                return inbox
        return None

    def interrupted(self, seconds: float) -> Complaint:
        """That somebody has begun a message and not ended it for so long, or has spoken while we waited for another."""
        senders = self._senders()
        name = min(filter(self._is_waiting, self._inboxes), key=lambda each: each not in senders)
        inbox = self._inboxes[name]
        if name in senders:
            return stopped_short(name, inbox, seconds)
        return out_of_turn(name, inbox, self._memory.forecast.moves)

    def _senders(self) -> set[str]:
        return {move.sender for move in self._memory.forecast.moves}

    # --- understanding ------------------------------------------------------------------------------------------------

    def understand(self, *, is_quiet: bool, is_reset: bool) -> Understood | Complaint | None:
        """Take one message out of an inbox, if one is there for sure, and remember it.

        Who began to speak first is heard first, and to the end, unless it is another's turn. If it `is_quiet`, nothing
        goes on; if a link `is_reset`, that is why a message has no end.
        """
        forecast = self._memory.forecast
        for name, inbox in list(self._inboxes.items()):
            if not self._is_waiting(name):
                continue
            moves = [move for move in forecast.moves if move.sender == name]
            if not moves:
                if self._is_out_of_turn(name, forecast):
                    return out_of_turn(name, inbox, forecast.moves)
                continue
            inbox.expect(moves, self._memory.past)
            standing = inbox.standing()
            if standing.longest is None:
                return None if standing.may_go_on else unreadable(name, inbox, is_reset=is_reset)
            if not is_quiet and (standing.may_go_on or self._is_open(name, inbox)):
                return None
            return self._accept(name, inbox)
        return None

    def _is_out_of_turn(self, name: str, forecast: Forecast) -> bool:
        """Whether somebody has spoken who was not meant to: unless others may, who are late and to be heard first."""
        return all(move.sender == name or self._cast.is_ours(move.sender) for move in forecast.moves)

    def _accept(self, name: str, inbox: Inbox) -> Understood | Complaint:
        """The longest message that suits what was said before and what stands behind it."""
        lengths = inbox.lengths()[:_MOST_LENGTHS]
        refusals: list[tuple[str, Refusal]] = []
        # If what stands behind suits none of them, it is what is wrong, and not the message.
        for looks_ahead in (True, False) if len(lengths) > 1 else (False,):
            refusals.clear()
            for length in lengths:
                taken = self._take(name, inbox, length, looks_ahead=looks_ahead)
                if isinstance(taken, Understood):
                    return taken
                refusals.append(taken)
        return refused(name, *refusals[0], inbox.peek()[: lengths[0]])

    def _take(self, name: str, inbox: Inbox, length: int, *, looks_ahead: bool) -> Understood | tuple[str, Refusal]:
        """Take a message of this length, if it suits; otherwise, what it is and why it does not."""
        refusal: tuple[str, Refusal] | None = None
        for move, node in inbox.readings(length):
            judged = self._memory.weigh(move, node)
            if isinstance(judged, Refusal):
                refusal = refusal or (move.symbol, judged)
            elif not looks_ahead or self._can_follow(name, inbox.behind(length), judged):
                self._memory.accept(judged)
                return Understood(move, inbox.take(length))
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
