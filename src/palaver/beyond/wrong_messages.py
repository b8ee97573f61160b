"""Plans and makes messages that are wrong on purpose: one wrongness at a time, in a known place.

Two proofs are needed before a message is sent that may be judged. The matchers say that it is no message that may be
said here, nor the beginning of one, nor several (`membership`). And `<beyond>` says that it is wrong here, and which
answers it may get (`refusal_rules`). What lacks one of them is sent as the last message of a session only: then a
crash, a hang or a report of a sanitizer is all that counts.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from palaver.beyond.answers import answers_by_message
from palaver.beyond.beyond_limits import DEFAULT_SHARE, MAX_DATAGRAM, MUTANTS_TRIED, UNJUDGED_SHARE, WANTED_SHARE
from palaver.beyond.digression import Digression, parse_aside
from palaver.beyond.extremes import FieldExtremes
from palaver.beyond.membership import Membership, Place, prove
from palaver.beyond.mutants import MAKERS, Mutant, MutantMaker, WrongnessKind, spans_of
from palaver.beyond.refusal_rules import RefusalRules, common_end, data_of
from palaver.beyond.transport_faults import cut, delivery_of, fault_of
from palaver.errors import Undecided
from palaver.grammar.ir import BEYOND
from palaver.lean_dataclasses import dataclass
from palaver.matching.forecaster import MessageType
from palaver.random_source import RandomSource
from palaver.session.setup import SessionSetup
from palaver.session.strategy import ScriptLine

__all__ = [
    "DEFAULT_SHARE", "Cell", "Digression", "DigressionSource", "Place", "ScriptedDigressions", "Tally", "WrongMessages",
]  # fmt: skip


# What trouble below messages is about: from then on, all of them.
ANY_MESSAGE = "all messages from here on"


@dataclass(frozen=True)
class Cell:
    """A place of wrongness: what may be said there, the kind, and the message."""

    state: tuple[str, ...]  # the names of the messages of ours that may be said
    kind: str
    message: str


@dataclass
class Tally:
    """Counts of wrong messages."""

    judged: int = 0
    unjudged: int = 0
    refused: int = 0


class CellLedger(Protocol):
    """Counts the cells that were covered, and knows which are missing."""

    @property
    def is_goal(self) -> bool:
        """True if those that are missing are wanted."""

    def missing_at(self, place: tuple[str, ...]) -> list[tuple[str, str]]:
        """The kinds and messages at a place that are missing, where a session is now."""

    def note(self, place: tuple[str, ...], kind: str, message: str, cause: str) -> None:
        """A wrong message was tried; the cause why it will not be judged, or "" if it will."""


class DigressionSource(Protocol):
    """Proposes wrong messages to a session."""

    def propose(self, place: Place, number: int, chance: RandomSource) -> Digression | None:
        """A wrong message instead of our next one, when so many messages were said; None: there is none."""


class ScriptedDigressions:
    """Wrong messages that were sent before, each after so many other messages of ours; they are proved again."""

    def __init__(self, wrong: WrongMessages, asides: Iterable[tuple[int, ScriptLine]]) -> None:
        self._wrong = wrong
        self._asides = deque(asides)

    def propose(self, place: Place, number: int, chance: RandomSource) -> Digression | None:
        """The next one, if its turn has come, and if it is still wrong."""
        while self._asides and self._asides[0][0] <= number:
            _, line = self._asides.popleft()
            if (found := self._wrong.again(place, line.data, line.aside)) is not None:
                return found
        return None


class WrongMessages:
    """The wrong messages of a campaign: `share` of our turns bring one."""

    def __init__(self, setup: SessionSetup, chance: RandomSource, share: float = DEFAULT_SHARE) -> None:
        self._setup = setup
        self.share = share
        self.sees_target = False  # True if palaver has started the system under test, and can tell why it closes
        self.rules = RefusalRules(setup.spec, setup.ours, chance / "beyond")
        self.cells: Counter[Cell] = Counter()  # of the messages that were judged
        self._tried: Counter[Cell] = Counter()
        self._turns: Counter[tuple[WrongnessKind, str]] = Counter()  # by kind and message
        self.ledger: CellLedger | None = None
        self._cause = ""  # why the latest wrong message is not judged
        self.tally = Tally()
        self._extremes = FieldExtremes(setup.spec)
        self._makers: dict[WrongnessKind, MutantMaker] = {**MAKERS, WrongnessKind.EXTREME: self._extremes.outside}

    @cached_property
    def ours(self) -> tuple[MessageType, ...]:
        """All messages that we can send, but closing ones."""
        messages, closing = self._setup.forecaster.messages, self._setup.closing
        return tuple(move for move in messages if move.sender in self._setup.ours and move.symbol not in closing)

    def seconds_to_wait(self, message: str, timeout: float) -> float:
        """The time that the answer to a wrong message may take: as that to the message it was made from."""
        deadlines = self._setup.deadlines
        return deadlines.seconds_to_wait(self._answers.get(message, ()), timeout) if deadlines else timeout

    @cached_property
    def _answers(self) -> Mapping[str, frozenset[str]]:
        return answers_by_message(self._setup.forecaster)

    def end_of(self, sender: str) -> bytes:
        """The end that all messages of a party of ours have in common."""
        samples = [data for move in self.ours if move.sender == sender for data in self.rules.samples(move.symbol)]
        return common_end(samples)

    def propose(self, place: Place, number: int, chance: RandomSource) -> Digression | None:
        """A wrong message where few of its kind were tried, or None."""
        if not place.moves:
            return None
        state = tuple(sorted({move.symbol for move in place.moves}))
        wanted = self._wanted(state, place)
        if chance.random() >= (max(self.share, WANTED_SHARE) if wanted else self.share):
            return None
        sender, recipient = place.moves[0].sender, place.moves[0].recipient
        may_be_last = chance.random() < UNJUDGED_SHARE
        if not may_be_last:  # what ends the session would keep it from places that are farther away
            wanted = [each for each in wanted if each[0] != WrongnessKind.TRANSPORT.value]
        for attempt in range(MUTANTS_TRIED):
            # Streams of their own: else the numbers that choose a kind would choose the sample as well.
            cell = self._next_cell(state, place, chance / attempt / "cell", wanted, may_be_last=may_be_last)
            if cell.kind == WrongnessKind.TRANSPORT.value:
                found = self._troubled(
                    cell, place, chance / attempt / "mutant", may_be_last=may_be_last or bool(wanted)
                )
                self._note(cell, "" if found is not None and found.fault is not None else "no connection was broken")
                return found
            self._cause = "no such message was found"
            mutant = self._mutant(cell, place, chance / attempt / "mutant")
            found = None if mutant is None else self.proved(place, mutant, cell.message, (sender, recipient))
            if not place.is_unsure:
                self._note(cell, self._cause if found is None or found.judgement is None else "")
            if found is not None and (found.judgement is not None or may_be_last):
                return self._counted(cell, found)
        return None

    def _wanted(self, state: tuple[str, ...], place: Place) -> list[tuple[str, str]]:
        """The missing kinds and messages that may be tried at a place, if they are a goal."""
        missing = [] if self.ledger is None else self.ledger.missing_at(state)
        if self.ledger is None or not self.ledger.is_goal or place.is_unsure:
            return []
        kinds = {kind.value for kind in self._kinds(place, is_constrained=True)}
        return [each for each in missing if each[0] in kinds]

    def _note(self, cell: Cell, cause: str) -> None:
        if self.ledger is not None:
            self.ledger.note(cell.state, cell.kind, cell.message, cause)

    def cells_at(self, moves: Sequence[MessageType]) -> Iterator[tuple[str, str]]:
        """The kinds of wrongness that can be judged where these messages may be said, each with its message."""
        sender, here = moves[0].sender, list(dict.fromkeys(move.symbol for move in moves))
        if sender not in self._setup.by_datagram:
            yield from ((WrongnessKind.TRANSPORT.value, symbol) for symbol in here)
        for symbol in here:
            if self._setup.negations(symbol) and self.rules.is_about(sender, symbol):
                yield WrongnessKind.CONSTRAINT.value, symbol
        if self.rules.is_empty or self.rules.anything_goes(moves):
            return
        yield from ((kind.value, symbol) for kind in self._makers for symbol in here)
        elsewhere = [move.symbol for move in self.ours if move.sender == sender and move.symbol not in here]
        for symbol in dict.fromkeys(elsewhere):
            if any(self.rules.is_judged(sender, data, moves) for data in self.rules.samples(symbol)):
                yield WrongnessKind.STATE.value, symbol

    def _counted(self, cell: Cell, digression: Digression) -> Digression:
        if digression.judgement is None:
            self.tally.unjudged += 1
        else:
            self.tally.judged += 1
            self.cells[cell] += 1
        return digression

    def _kinds(self, place: Place, *, is_constrained: bool) -> list[WrongnessKind]:
        """The kinds of wrongness that there can be at a place."""
        kinds = [WrongnessKind.STATE, *self._makers]
        kinds += [WrongnessKind.CONSTRAINT] if is_constrained else []
        return kinds if place.right is None else [*kinds, WrongnessKind.TRANSPORT]

    def _next_cell(
        self,
        state: tuple[str, ...],
        place: Place,
        chance: RandomSource,
        wanted: list[tuple[str, str]],
        *,
        may_be_last: bool,
    ) -> Cell:
        """One that is wanted, or of those that were tried least, of a kind that is as likely as the others.

        A constraint is broken only where that may be judged, or need not be: the search for such a message takes long.
        """
        if wanted:
            return Cell(state, *chance.pick(wanted))
        messages, sender = list(dict.fromkeys(state)), place.moves[0].sender
        constrained = [
            symbol
            for symbol in messages
            if (may_be_last or self.rules.is_about(sender, symbol)) and self._setup.negations_left(symbol)
        ]
        kind = chance.pick(self._kinds(place, is_constrained=bool(constrained)))
        if kind is WrongnessKind.CONSTRAINT:
            messages = constrained
        if kind is WrongnessKind.STATE:
            elsewhere = [move.symbol for move in self.ours if move.sender == sender and move.symbol not in state]
            messages = list(dict.fromkeys(elsewhere)) or messages
        cells = [Cell(state, kind.value, symbol) for symbol in messages]
        least = min(self._tried[cell] for cell in cells)
        cell = chance.pick([cell for cell in cells if self._tried[cell] == least])
        self._tried[cell] += 1
        return cell

    def _troubled(self, cell: Cell, place: Place, chance: RandomSource, *, may_be_last: bool) -> Digression | None:
        """A right message over a connection that breaks; or trouble below all messages from here on."""
        move = next(move for move in place.moves if move.symbol == cell.message)
        if not may_be_last and place.has_wrong_messages:
            return None  # nobody could tell what has caused a finding
        if not may_be_last:
            turn = self._turn(WrongnessKind.TRANSPORT, ANY_MESSAGE)
            delivery = delivery_of(turn, is_alone=place.is_program)
            self.tally.unjudged += 1
            return Digression(
                move.sender, move.recipient, BEYOND, b"", WrongnessKind.TRANSPORT, ANY_MESSAGE, delivery.value
            )
        data = None if place.right is None else place.right(move)
        samples = self.rules.samples(chance.pick(self.ours).symbol)
        if not data or not samples:
            return None
        fault = fault_of(self._turn(WrongnessKind.TRANSPORT, "faults"), is_program=place.is_program)
        self.tally.unjudged += 1
        data = cut(data, fault, chance.pick(samples))
        return Digression(move.sender, move.recipient, BEYOND, data, WrongnessKind.TRANSPORT, cell.message, fault.what)

    def _mutant(self, cell: Cell, place: Place, chance: RandomSource) -> Mutant | None:
        kind = WrongnessKind(cell.kind)
        if kind is WrongnessKind.CONSTRAINT:
            return self._broken(cell.message, place)
        samples = self.rules.samples(cell.message)
        if not samples:
            return None
        if kind is WrongnessKind.STATE:
            return Mutant(chance.pick(samples), kind, "where it may not be said")
        node = self._setup.spec.random_tree(cell.message, chance / "tree")
        if node is None:
            return None
        data = data_of(node)
        turn = self._turn(kind, cell.message)
        return self._makers[kind](data, spans_of(node), chance, turn) if data else None

    def _turn(self, kind: WrongnessKind, message: str) -> int:
        """A number that rotates what is done to a message."""
        turn = self._turns[kind, message]
        self._turns[kind, message] += 1
        return turn

    def _broken(self, message: str, place: Place) -> Mutant | None:
        """A message that may be said here, but breaks a constraint."""
        move = next(move for move in place.moves if move.symbol == message)
        turn = self._turn(WrongnessKind.CONSTRAINT, message)
        made = None if place.broken is None else place.broken(move, turn)
        return None if made is None else Mutant(data_of(made[0]), WrongnessKind.CONSTRAINT, made[1])

    def edge(self, move: MessageType, chance: RandomSource) -> bytes | None:
        """The bytes of a message with a field at one of its bounds, constraints aside; None if there is none."""
        node = self._setup.spec.random_tree(move.symbol, chance / "tree")
        data = b"" if node is None else data_of(node)
        if node is None or not data:
            return None
        return self._extremes.inside(data, spans_of(node), chance, self._turn(WrongnessKind.EXTREME, f"{move} inside"))

    def again(self, place: Place, data: bytes, told: str) -> Digression | None:
        """A wrong message that was sent before, if it is still wrong here; `told` is what was said of it then."""
        kind, message, what = parse_aside(told)
        if kind is WrongnessKind.TRANSPORT:  # the bytes are right
            move = place.moves[0]
            return Digression(move.sender, move.recipient, BEYOND, data, kind, message, what)
        parties = place.moves[0].sender, place.moves[0].recipient
        return self.proved(place, Mutant(data, kind, what), message, parties)

    def proved(self, place: Place, mutant: Mutant, message: str, parties: tuple[str, str | None]) -> Digression | None:
        """The wrong message, judged if both proofs are there; None if it is a message that may be said."""
        sender, recipient = parties
        if place.is_datagram and len(mutant.data) > MAX_DATAGRAM:
            self._cause = "it does not fit into a datagram"
            return None
        proof = prove(place, mutant.data)
        membership = proof.membership
        self._cause = "what was made is a right message"
        if membership in (Membership.VALID, Membership.UNKNOWN) or not mutant.data:
            return None
        self._cause = "where it ends is not known to the peer"
        judgement = None
        if membership is Membership.WRONG and not place.is_unsure:
            self._cause = f"{BEYOND} allows it, or does not say how it is answered"
            try:
                broken = message if message in proof.refused else None
                judgement = self.rules.judge(sender, mutant.data, place.moves, broken)
            except Undecided:
                return None
        symbol = BEYOND if judgement is None else judgement.move.symbol
        return Digression(sender, recipient, symbol, mutant.data, mutant.kind, message, mutant.what, judgement)
