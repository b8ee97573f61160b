"""Plans and makes messages that are wrong on purpose: one wrongness at a time, in a known place.

Two proofs are needed before a message is sent that may be judged. The matchers say that it is no message that may be
said here, nor the beginning of one, nor several (`membership`). And `<beyond>` says that it is wrong here, and which
answers it may get (`refusal_rules`). What lacks one of them is sent as the last message of a session only: then a
crash, a hang or a report of a sanitizer is all that counts.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from palaver.beyond.beyond_limits import DEFAULT_SHARE, MUTANTS_TRIED, UNJUDGED_SHARE
from palaver.beyond.digression import Digression, parse_aside
from palaver.beyond.extremes import FieldExtremes
from palaver.beyond.membership import Membership, Place, prove
from palaver.beyond.mutants import MAKERS, Mutant, MutantMaker, WrongnessKind, spans_of
from palaver.beyond.refusal_rules import RefusalRules, common_end, data_of
from palaver.errors import Undecided
from palaver.grammar.ir import BEYOND
from palaver.matching.forecaster import MessageType
from palaver.random_source import RandomSource
from palaver.session.setup import SessionSetup
from palaver.session.strategy import ScriptLine

__all__ = [
    "DEFAULT_SHARE", "Cell", "Digression", "DigressionSource", "Place", "ScriptedDigressions", "Tally", "WrongMessages",
]  # fmt: skip


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
        self.tally = Tally()
        self._extremes = FieldExtremes(setup.spec)
        self._makers: dict[WrongnessKind, MutantMaker] = {**MAKERS, WrongnessKind.EXTREME: self._extremes.outside}

    @cached_property
    def ours(self) -> tuple[MessageType, ...]:
        """All messages that we can send, but closing ones."""
        messages, closing = self._setup.forecaster.messages, self._setup.closing
        return tuple(move for move in messages if move.sender in self._setup.ours and move.symbol not in closing)

    def end_of(self, sender: str) -> bytes:
        """The end that all messages of a party of ours have in common."""
        samples = [data for move in self.ours if move.sender == sender for data in self.rules.samples(move.symbol)]
        return common_end(samples)

    def propose(self, place: Place, number: int, chance: RandomSource) -> Digression | None:
        """A wrong message where few of its kind were tried, or None."""
        if chance.random() >= self.share or not place.moves:
            return None
        sender, recipient = place.moves[0].sender, place.moves[0].recipient
        may_be_last = chance.random() < UNJUDGED_SHARE
        state = tuple(move.symbol for move in place.moves)
        for attempt in range(MUTANTS_TRIED):
            cell = self._next_cell(state, sender, chance / attempt)
            mutant = self._mutant(cell, place, chance / attempt)
            found = None if mutant is None else self.proved(place, mutant, cell.message, (sender, recipient))
            if found is not None and (found.judgement is not None or may_be_last):
                return self._counted(cell, found)
        return None

    def _counted(self, cell: Cell, digression: Digression) -> Digression:
        if digression.judgement is None:
            self.tally.unjudged += 1
        else:
            self.tally.judged += 1
            self.cells[cell] += 1
        return digression

    def _next_cell(self, state: tuple[str, ...], sender: str, chance: RandomSource) -> Cell:
        """One of the cells here that were tried least, of a kind that is as likely as the others."""
        messages = list(dict.fromkeys(state))
        kinds = [WrongnessKind.STATE, *self._makers]
        constrained = [symbol for symbol in messages if self._setup.negations(symbol)]
        if constrained:
            kinds.append(WrongnessKind.CONSTRAINT)
        kind = chance.pick(kinds)
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
        parties = place.moves[0].sender, place.moves[0].recipient
        return self.proved(place, Mutant(data, kind, what), message, parties)

    def proved(self, place: Place, mutant: Mutant, message: str, parties: tuple[str, str | None]) -> Digression | None:
        """The wrong message, judged if both proofs are there; None if it is a message that may be said."""
        sender, recipient = parties
        proof = prove(place, mutant.data)
        membership = proof.membership
        if membership in (Membership.VALID, Membership.UNKNOWN) or not mutant.data:
            return None
        judgement = None
        if membership is Membership.WRONG:
            try:
                broken = message if message in proof.refused else None
                judgement = self.rules.judge(sender, mutant.data, place.moves, broken)
            except Undecided:
                return None
        symbol = BEYOND if judgement is None else judgement.move.symbol
        return Digression(sender, recipient, symbol, mutant.data, mutant.kind, message, mutant.what, judgement)
