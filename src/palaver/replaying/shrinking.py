"""Shrinking: the smallest conversation that still shows a finding, by delta debugging (Zeller and Hildebrandt 2002).

How it works
============

First whole exchanges are left out, in ever smaller pieces, as far as the grammar of the dialogue allows, or replaced
by some that have fewer messages; then subtrees of our messages are replaced by smaller ones, then values by shorter
and plainer ones. Each candidate is a script that is followed live, by a session that makes every message satisfy the
grammar and the constraints, whatever the peer answers. A candidate is taken if the same problem is found, and what was
really said is smaller than the best so far.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import field
from itertools import islice
from time import monotonic
from typing import Any, TypeAlias

from palaver.errors import ConversionError
from palaver.lean_dataclasses import dataclass
from palaver.navigation.guidance import Guidance
from palaver.printable import counted
from palaver.random_source import RandomSource
from palaver.recording.run_reader import RecordedFinding, RecordedMessage, Run, Shrinking
from palaver.replaying.live_replay import LiveAttempt, LiveTarget, Script, Trial, recorded_script
from palaver.replaying.replaying_limits import (
    FIRST_TRIES,
    LAST_SHARE,
    LAST_TRIES,
    MAX_FIELD_FAILURES,
    MAX_FIELD_RESTORATIONS,
    MAX_KEPT_EXCHANGES,
    MAX_PIECE_FAILURES,
    MAX_PIECE_MESSAGES,
    MAX_SHORTCUTS,
    MAX_SHRINKING_RUNS,
    MAX_SHRINKING_SECONDS,
)
from palaver.replaying.shortcuts import Shortcuts
from palaver.replaying.shorter_pieces import ShorterPieces
from palaver.replaying.simpler_messages import SimplerMessage, Simplifier, oddness_of, size_of
from palaver.session.findings import Finding, FindingKind, SessionMessage
from palaver.session.setup import SessionSetup
from palaver.session.strategy import ScriptLine, script_of
from palaver.trees.node import Node, TreePath, part_at
from palaver.trees.tree import Tree

# Why it stops if a server that palaver has not started is gone, perhaps by the finding itself.
NOBODY_ANSWERS = "nobody answered any more; with --target, palaver starts the server for each attempt"

# What a peer may make up for a session is at least so long.
_WORD = re.compile(rb"[A-Za-z0-9]{3,}")

# Proposes simpler trees for a message.
MessageChanges: TypeAlias = Callable[[Node], Iterator[SimplerMessage]]


@dataclass(frozen=True)
class ShrinkLimits:
    """Limits of what is tried, and how often a candidate must show the finding: `needed` of `tries` times."""

    runs: int = MAX_SHRINKING_RUNS
    seconds: float = MAX_SHRINKING_SECONDS
    needed: int = 1
    tries: int = 1


@dataclass
class ShrinkProgress:
    """The progress of shrinking."""

    runs: int = 0
    messages: int = 0  # of the smallest conversation so far
    data: int = 0  # bytes of ours in it
    phase: str = "trying the finding again"


@dataclass
class Shrinker:
    """Makes a conversation small. `trial` is to be held with a live target; then `result` has what is left."""

    setup: SessionSetup
    guidance: Guidance
    script: Script
    chance: RandomSource
    limits: ShrinkLimits = field(default_factory=ShrinkLimits)
    shows_later: bool = False  # the finding shows when all is said, and not by the last answer
    tell: Callable[[ShrinkProgress], None] = lambda _: None
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        self.progress = ShrinkProgress()
        self.best: tuple[SessionMessage, ...] | None = None  # None: the finding did not come again
        self.finding: Finding | None = None  # that the best shows
        self.latest: LiveAttempt | None = None
        self.reason = ""  # why it stopped
        self.reproduced = self.of = 0  # of the last tries
        self._began = self.clock()
        self._known: dict[tuple[object, ...], bool] = {}
        self._decided: Counter[tuple[str, str]] = Counter()  # parts of messages that the constraints have restored
        self._simplifier = Simplifier(self.setup.spec, self.chance)
        self._shortcuts = Shortcuts(self.guidance, self.chance)
        self._pieces = ShorterPieces(self.setup, self.chance)

    def trial(self) -> Trial:
        """Try candidates until none is smaller, or a limit is reached."""
        for _ in range(FIRST_TRIES):
            if (yield from self._works(self.script)):
                break
            self._known.clear()
        if self.best is None:
            self.reason = self.reason or "the finding did not come again"
            return
        before = None
        while before != self.best and not self._is_over:
            before = self.best
            yield from self._leave_out_messages()
            yield from self._take_shortcuts()
            yield from self._say_in_fewer_messages()
            for phase, changes in self._phases:
                yield from self._simplify(phase, changes)
        self.reason = self.reason or "nothing smaller was found"
        if self.reason != NOBODY_ANSWERS:
            yield from self._confirm()

    @property
    def _phases(self) -> Sequence[tuple[str, MessageChanges]]:
        simpler = self._simplifier
        return (
            ("smaller subtrees", simpler.subtrees),
            ("fewer rounds", simpler.rounds),
            ("shorter and plainer values", simpler.values),
        )

    @property
    def _is_over(self) -> bool:
        if self.progress.runs >= self.limits.runs:
            self.reason = f"stopped after {counted(self.progress.runs, 'run')} (--runs)"
        elif self.clock() - self._began >= self.limits.seconds:
            self.reason = f"stopped after {self.limits.seconds:g} s (--time)"
        return bool(self.reason)

    def _works(self, script: Script) -> Generator[Script, LiveAttempt, bool]:
        """Try a script; if it shows the finding and is smaller, it is the best from here on."""
        key = tuple((step.symbol, step.data if step.node is None else _tree_key(step.node)) for step in script)
        if key in self._known or self._is_over:
            return False
        self._known[key] = False
        count, seen = 0, None
        for number in range(self.limits.tries):
            attempt = self.latest = yield script
            self.progress.runs += 1
            self.tell(self.progress)
            if not attempt.is_tried:
                self.reason = NOBODY_ANSWERS
                break
            count += attempt.is_reproduced
            seen = attempt if attempt.is_reproduced else seen
            if count >= self.limits.needed or count + self.limits.tries - number - 1 < self.limits.needed:
                break
        if seen is None or count < self.limits.needed:
            return False
        return self._take(seen)

    def _take(self, attempt: LiveAttempt) -> bool:
        if self.best is not None and not _is_smaller(attempt.messages, self.best):
            return False
        self.best, self.finding = attempt.messages, attempt.finding
        self.progress.messages = len(self.best)
        self.progress.data = sum(len(said.data) for said in self.best if said.is_ours)
        self.tell(self.progress)
        return True

    def _leave_out_messages(self) -> Trial:
        """Leave out exchanges: a message of ours with the answers to it. Mostly the last one shows the finding."""
        self.progress.phase = "fewer messages"
        size = max(1, len(self._exchanges) // 2)
        while size and not self._is_over:
            start = 0
            while start + size < len(self._exchanges) + (self.shows_later and start > 0):
                exchanges = self._exchanges
                rest = [*exchanges[:start], *exchanges[start + size :]]
                script = tuple(step for exchange in rest for step in exchange)
                if not self._pieces.is_possible(script) or not (yield from self._works(script)):
                    start += 1
            # A round of a dialogue often has four exchanges or fewer, so none of these sizes is left out.
            size = max(size // 2, 4) if size > 4 else size - 1

    def _take_shortcuts(self) -> Trial:
        """Reach the last messages by a shorter way through the dialogue, with other messages than were recorded."""
        self.progress.phase = "shorter ways"
        for count in range(1, MAX_KEPT_EXCHANGES + 1):
            exchanges = self._exchanges
            kept = [step for exchange in exchanges[-count:] for step in exchange]
            before = sum(map(len, exchanges[:-count]))
            if count >= len(exchanges) or not kept[0].is_ours or kept[0].aside or self._is_over:
                return
            for way in islice(self._shortcuts.ways_to(kept[0]), MAX_SHORTCUTS):
                if len(way) < before and (yield from self._works((*way, *kept))):
                    break

    def _say_in_fewer_messages(self) -> Trial:
        """Replace exchanges in the middle, which cannot be left out, by some that have fewer messages."""
        self.progress.phase = "shorter exchanges"
        for length in range(1, MAX_PIECE_MESSAGES + 1):
            start = failures = 0
            while start < len(self._exchanges) and failures < MAX_PIECE_FAILURES and not self._is_over:
                for script in self._pieces.replaced(self._exchanges, start, length):
                    if (yield from self._works(script)):
                        failures = 0
                        break
                    failures += 1
                    if failures >= MAX_PIECE_FAILURES:
                        break
                else:
                    start += 1
        for script in islice(self._pieces.reordered(self._exchanges), MAX_PIECE_FAILURES):
            if (yield from self._works(script)):
                break

    @property
    def _exchanges(self) -> list[list[ScriptLine]]:
        """The best conversation in pieces that can be left out; what the peer says first belongs to the last one."""
        steps = script_of(self.best or ())
        first = next((at for at, step in enumerate(steps) if step.is_ours), len(steps))
        pieces: list[list[ScriptLine]] = []
        for step in steps[first:]:
            if step.is_ours:
                pieces.append([])
            pieces[-1].append(step)
        if pieces:
            return [*([steps[:first]] if first else []), *pieces]
        return [steps]

    def _simplify(self, phase: str, changes: MessageChanges) -> Trial:
        """Make our messages simpler, one by one, the last first."""
        self.progress.phase = phase
        at = len(self.best or ()) - 1
        while at >= 0 and not self._is_over:
            assert self.best is not None, "there is something to be made simpler"
            if at < len(self.best) and self.best[at].is_ours and not self.best[at].is_aside:
                while (yield from self._simplify_one(at, changes)):
                    pass
            at -= 1

    def _simplify_one(self, at: int, changes: MessageChanges) -> Generator[Script, LiveAttempt, bool]:
        """Try the changes of a message until one works."""
        assert self.best is not None, "there is something to be made simpler"
        if at >= len(self.best):
            return False
        steps, said, failures = script_of(self.best), self.best[at], 0
        for node, path in changes(said.node):
            place = (said.symbol, str(Tree(said.node).at(path).symbol))
            if failures >= MAX_FIELD_FAILURES or self._is_over:
                break
            if size_of(node) >= size_of(said.node) or self._decided[place] >= MAX_FIELD_RESTORATIONS:
                continue
            script, runs = (*steps[:at], steps[at]._replace(node=node, kept=path), *steps[at + 1 :]), self.progress.runs
            if (yield from self._works(script)):
                return True
            if path and self.progress.runs > runs and self._is_restored(at, node, path):
                self._decided[place] += 1
            else:
                failures += 1
        return False

    def _is_restored(self, at: int, proposed: Node, path: TreePath) -> bool:
        """Return True if a part was not sent as proposed, but as before, or as the peer has said it.

        Such parts are tokens, lengths and the like: other values of them are proposed in vain.
        """
        assert self.best is not None, "there is something to be made simpler"
        messages = () if self.latest is None else self.latest.messages
        if at >= len(messages) or messages[at].symbol != self.best[at].symbol:
            return False
        sent, wanted, was = (_text_at(node, path) for node in (messages[at].node, proposed, self.best[at].node))
        heard = b"\0".join(said.data for said in messages[:at] if not said.is_ours)
        return sent not in (None, wanted) and (sent == was or sent in heard)

    def _confirm(self) -> Trial:
        """Try the result some more times, to tell how often it shows the finding."""
        script = tuple(script_of(self.best or ()))
        self.progress.phase = "trying the result"
        for _ in range(max(LAST_TRIES, self.limits.tries)):
            attempt = yield script
            self.progress.runs += 1
            if not attempt.is_tried:
                self.reason = NOBODY_ANSWERS
                break
            self.of += 1
            self.reproduced += attempt.is_reproduced
            self.tell(self.progress)

    def result(self, finding: int) -> Shrinking | None:
        """The shrunk conversation, to be kept; None if the finding did not come again."""
        if self.best is None or self.finding is None:
            return None
        messages = tuple(
            RecordedMessage(
                *(number, 0.0, said.sender, said.recipient, said.symbol, said.data, said.is_ours, said.aside)
            )
            for number, said in enumerate(self.best, 1)
        )
        shown = self.finding.message.partition("\n")[0]
        explanation = "\n".join([*self.finding.message.splitlines()[1:], *self.finding.explanation])
        figures = (self.progress.runs, self.reproduced, self.of, self.reason)
        return Shrinking(
            *(finding, messages, *figures, shown, explanation), got=self.finding.got, offset=self.finding.offset
        )


def _text_at(node: Node, path: TreePath) -> bytes | None:
    """The bytes of a part; None if there is none, or none of whole bytes."""
    try:
        return Tree(part_at(node, path)).to_bytes()
    except (IndexError, ConversionError):
        return None


def _tree_key(node: Node) -> tuple[object, ...]:
    """A key that is equal for trees that need not both be tried."""
    return (*size_of(node), Tree(node).serialised())


def _is_smaller(messages: Sequence[SessionMessage], others: Sequence[SessionMessage]) -> bool:
    """Compare conversations: the number of messages, then the length of ours, then their trees, then oddness.

    Words that the peer has made up for one of them, such as tokens, do not count where we repeat them.
    """
    told, told_others = _words_told(messages), _words_told(others)
    return _cost(messages, told - told_others) < _cost(others, told_others - told)


def _words_told(messages: Sequence[SessionMessage]) -> set[bytes]:
    """The words that the peer has said before us."""
    ours: set[bytes] = set()
    told: set[bytes] = set()
    for said in messages:
        words = set(_WORD.findall(said.data))
        if said.is_ours:
            ours |= words
        else:
            told |= words - ours
    return told


def _cost(messages: Sequence[SessionMessage], repeated: set[bytes]) -> tuple[int, ...]:
    """The cost that is minimised, without the words that we only repeat."""
    sizes = [size_of(said.node) for said in messages if said.is_ours]
    words = [word for said in messages if said.is_ours for word in _WORD.findall(said.data) if word in repeated]
    return (
        len(messages),
        sum(size.length for size in sizes) - sum(map(len, words)),
        sum(size.nodes for size in sizes),
        sum(size.oddness for size in sizes) - sum(oddness_of(word.decode()) for word in words),
    )


def shrink(
    run: Run,
    finding: RecordedFinding,
    limits: ShrinkLimits | None = None,
    tell: Callable[[str, int, int, int], None] = lambda *_: None,
    tell_missed: Callable[[LiveAttempt], None] = lambda _: None,
    **options: Any,
) -> Shrinking | None:
    """Make a recorded finding small, and keep the result in its run; None if the finding did not come again.

    `tell` is told the phase, the sessions so far, and the messages and bytes of the smallest conversation;
    `tell_missed` the last attempt, if the finding did not come again. `options` are those of `palaver.talk`; others are
    taken from the run. An interruption keeps what was reached until then.

    :raises RunError: what was said was not kept, or the result cannot be kept
    """
    began = monotonic()
    limits = limits or ShrinkLimits()
    run.check_writable()
    # What was reached is tried once more when the time is over, but nobody is waited for without end.
    seconds = LAST_SHARE * limits.seconds
    target = LiveTarget(run, finding, **{"seconds": seconds, **options})
    chance = RandomSource(run.seed) / "shrink" / finding.number
    campaign, script = target.campaign, recorded_script(run, finding)
    shrinker = Shrinker(campaign.setup, campaign.guidance, script, chance, limits)
    shrinker.shows_later = finding.kind in (FindingKind.HANG, FindingKind.MEMORY)
    shrinker.tell = lambda now: tell(now.phase, now.runs, now.messages, now.data)
    try:
        target.hold(shrinker.trial())
    except KeyboardInterrupt:
        shrinker.reason = "interrupted"
        raise
    finally:
        shrinker.reason = shrinker.reason or campaign.progress.ended.partition("\n")[0] or "it could not go on"
        result = shrinker.result(finding.number)
        if result is not None:
            run.keep_shrinking(result, monotonic() - began)
    if result is None and shrinker.latest is not None:
        tell_missed(shrinker.latest)
    return result
