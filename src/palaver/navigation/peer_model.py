"""Frequencies of the peer's answers, by the rule of succession (Laplace 1814), and the answers that never come.

An answer is counted by our last message and the other possible answers; its content is counted by pairs of a symbol and
a child, over all answers. Likelihoods are relative frequencies with Laplace's rule of succession. Something that never
came in many attempts is *given up*: it is not planned for, unless it comes after all, or the patience is increased.
Fewer attempts are many while nothing shows that answers vary.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import field
from hashlib import blake2b
from math import ceil
from typing import Any, TypeAlias

from palaver.lean_dataclasses import dataclass
from palaver.navigation.coverage import KPaths
from palaver.navigation.navigation_limits import (
    MAX_HISTORIES,
    PATIENCE,
    PATIENCE_SHARE_PER_ANSWER,
    UNVARIED_SHARE_PER_ANSWER,
)
from palaver.trees.node import Node

# The symbol of our last message, and those of the possible answers.
AnswerContext: TypeAlias = tuple[str, tuple[str, ...]]


@dataclass(slots=True)
class PeerModel:
    """Counts of answers and their contents."""

    paths: KPaths
    patience: int = PATIENCE
    situations: Counter[AnswerContext] = field(default_factory=Counter)
    answers: Counter[tuple[AnswerContext, str]] = field(default_factory=Counter)
    symbols: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    # By our last message and an answer, in all situations: how often it came, and the sum of its shares of chance.
    _come_after: Counter[tuple[str, str]] = field(default_factory=Counter, compare=False)
    _chances: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float), compare=False)
    _histories: dict[AnswerContext, set[bytes]] = field(default_factory=dict, compare=False)  # digests, of this run
    _earlier_histories: Counter[AnswerContext] = field(default_factory=Counter, compare=False)
    varies: bool = field(default=False, compare=False)  # some message of ours has had different answers
    # What was counted before things that were given up were tried again: only attempts since then can be in vain.
    _situations_before: Counter[AnswerContext] = field(default_factory=Counter, compare=False)
    _symbols_before: Counter[str] = field(default_factory=Counter, compare=False)
    _chances_before: dict[tuple[str, str], float] = field(default_factory=dict, compare=False)

    def retry_given_up(self) -> None:
        """Try again what was given up, with twice the patience from now on."""
        self.patience *= 2
        self._situations_before = self.situations.copy()
        self._symbols_before = self.symbols.copy()
        self._chances_before = dict(self._chances)

    def note_answer(self, last: str, possible: tuple[str, ...], symbol: str, history: bytes = b"") -> None:
        """Count one of the possible answers to our last message, after a history. They are sorted, each once."""
        situation = (last, possible)
        histories = self._histories.setdefault(situation, set())
        if len(histories) < MAX_HISTORIES:
            histories.add(history)
        self.situations[situation] += 1
        self.answers[situation, symbol] += 1
        self.varies = self.varies or self.answers[situation, symbol] < self.situations[situation]
        self._note_elsewhere(situation, symbol, 1)

    def _note_elsewhere(self, situation: AnswerContext, symbol: str, times: int) -> None:
        last, possible = situation
        self._come_after[last, symbol] += times
        for each in possible:
            self._chances[last, each] += times / len(possible)

    def histories(self, situation: AnswerContext) -> int:
        """The number of different histories after which an answer was counted."""
        return len(self._histories.get(situation, ())) + self._earlier_histories[situation]

    def has_come(self, last: str, possible: tuple[str, ...], symbol: str) -> bool:
        """Return True if one of the possible answers to our last message was counted before."""
        return ((last, possible), symbol) in self.answers

    def answer_likelihood(self, last: str, possible: tuple[str, ...], symbol: str) -> float:
        """The likelihood of an answer; 0 if it is given up. `possible` are sorted, each once."""
        if len(possible) == 1:
            return 1.0
        situation = (last, possible)
        count, seen = self.situations[situation], self.answers[situation, symbol]
        tries = count - self._situations_before[situation]
        if not seen and self._is_given_up(situation, symbol, tries / len(possible)):
            return 0.0
        # Nobody expects an answer with a note, unless it has come before.
        noted = self.paths.noted
        expected = sum(each not in noted for each in possible)
        return (seen + (symbol not in noted)) / (count + expected) if expected else (seen + 1) / (count + len(possible))

    def _is_given_up(self, situation: AnswerContext, symbol: str, chances: float) -> bool:
        """Return True if an answer that never came in a situation has had its chances.

        It is asked for less often while every message of ours, in each situation, has had one and the same answer:
        then nothing shows that the peer remembers. Half of that is enough if it never came after the same message in
        other situations, and had all of them there.
        """
        enough = self.patience * (PATIENCE_SHARE_PER_ANSWER if self.varies else UNVARIED_SHARE_PER_ANSWER)
        key = (situation[0], symbol)
        everywhere = self._chances[key] - self._chances_before.get(key, 0.0)
        is_known = not self._come_after[key] and everywhere - chances >= enough
        return chances >= (enough / 2 if is_known else enough)

    def note_content(self, node: Node) -> None:
        """Count the symbols of an answer, and the pairs of a symbol and a child."""
        stack = [node]
        while stack:
            here = stack.pop()
            self.symbols[here.symbol] += 1
            names: dict[str, None] = {}
            terminals = self.paths.terminals(here.symbol)
            for child in here.children:
                if isinstance(child, Node):
                    names[child.symbol] = None
                    stack.append(child)
                elif not terminals.needs_neighbours:
                    names[terminals.of_leaf(child)] = None
            if terminals.needs_neighbours:
                names |= dict.fromkeys(name for each in terminals.of_leaves(here.children) for name in each)
            for name in names:
                self.pairs[here.symbol, name] += 1

    def content_likelihood(self, steps: Iterable[tuple[str, str]]) -> float:
        """The likelihood that an answer contains these steps from symbol to child; 0 if that is given up."""
        likelihood = 1.0
        for step in steps:
            count, seen = self.symbols[step[0]], self.pairs[step]
            if seen:
                likelihood *= seen / count
            else:
                tries = count - self._symbols_before[step[0]]
                if tries >= self.patience:
                    return 0.0
                likelihood /= tries + 1
        return likelihood

    def as_data(self) -> dict[str, Any]:
        """All counts, as JSON can hold them."""
        return {
            "situations": [[last, list(names), count] for (last, names), count in self.situations.items()],
            "answers": [[last, list(names), name, n] for ((last, names), name), n in self.answers.items()],
            "histories": [[last, list(names), self.histories((last, names))] for last, names in self.situations],
            "symbols": [[name, count] for name, count in self.symbols.items()],
            "pairs": [[*pair, count] for pair, count in self.pairs.items()],
        }

    def add_data(self, data: dict[str, Any], *, as_hint: bool = False) -> None:
        """Add the counts of another run.

        As a hint they are made so small that nothing is given up for their sake, and tell only what is likely.
        """
        if as_hint:
            data = self._reduced(data)
        for last, names, count in data["situations"]:
            self.situations[last, tuple(names)] += count
        for last, names, name, count in data["answers"]:
            self.answers[(last, tuple(names)), name] += count
            self.varies = self.varies or self.answers[(last, tuple(names)), name] < self.situations[last, tuple(names)]
            self._note_elsewhere((last, tuple(names)), name, count)
        for last, names, count in data.get("histories", ()):
            self._earlier_histories[last, tuple(names)] += count
        for name, count in data["symbols"]:
            self.symbols[name] += count
        for above, below, count in data["pairs"]:
            self.pairs[above, below] += count

    def _reduced(self, data: dict[str, Any]) -> dict[str, Any]:
        """The counts in proportion, but far from those at which something is given up; what came counts at least 1."""
        enough = self.patience * PATIENCE_SHARE_PER_ANSWER / 2
        shares = {(last, *names): min(1.0, enough * len(names) / count) for last, names, count in data["situations"]}
        answers = [
            [last, names, name, ceil(count * shares[last, *names])] for last, names, name, count in data["answers"]
        ]
        situations: Counter[AnswerContext] = Counter()
        for last, names, _, count in answers:
            situations[last, tuple(names)] += count
        parts = {name: min(1.0, self.patience / 2 / count) for name, count in data["symbols"]}
        return {
            "situations": [[*situation, count] for situation, count in situations.items()],
            "answers": answers,
            "symbols": [[name, ceil(count * parts[name])] for name, count in data["symbols"]],
            "pairs": [[above, below, ceil(count * parts[above])] for above, below, count in data["pairs"]],
        }


class NewExchanges:
    """The exchanges of a session, each a message of ours and an answer, as digests: messages may be long and many."""

    def __init__(self) -> None:
        self._asked = b""  # our last message
        self._met: set[tuple[bytes, bytes]] = set()

    def note(self, data: str | bytes, *, is_ours: bool) -> bool:
        """Note a message; return True if it is an answer that the last message of ours has not had yet."""
        whole = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        message = blake2b(whole, digest_size=16).digest()
        if is_ours:
            self._asked = message
            return False
        is_new = (self._asked, message) not in self._met
        self._met.add((self._asked, message))
        return is_new
