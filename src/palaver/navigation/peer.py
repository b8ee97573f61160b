"""What is known of how the others answer: how likely an answer is, and which ones never come.

An answer is counted by what we said last and what else might have come; what it consists of, by pairs of a symbol and
one below it, over all answers. What never came in many tries is *given up*: it is planned for no more, unless it comes
after all. Nothing is given up for ever: whoever has time left asks again with more patience.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from palaver.navigation.kpaths import KPaths
from palaver.trees.node import Node

# How often something must not have come before it is given up. With 10 a thing that comes every third time would be
# given up in one of sixty cases; with 20, in one of three thousand.
PATIENCE = 20

# For each of the answers that may come, this share of the patience has to pass before one that never came is given up.
# Of two that are equally likely it is given up in vain once in two thousand cases, of three once in a thousand.
_SHARE = 0.275

# What we said last, and the answers that may come.
Situation = tuple[str, tuple[str, ...]]


@dataclass(slots=True)
class Peer:
    """Counts of answers."""

    paths: KPaths
    patience: int = PATIENCE
    situations: Counter[Situation] = field(default_factory=Counter)
    answers: Counter[tuple[Situation, str]] = field(default_factory=Counter)
    symbols: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    # --- Which answer -------------------------------------------------------------------------------------------------

    def answered(self, last: str, possible: tuple[str, ...], symbol: str) -> None:
        """One of the possible answers to what we said last came. They are sorted, each once."""
        situation = (last, possible)
        self.situations[situation] += 1
        self.answers[situation, symbol] += 1

    def likelihood(self, last: str, possible: tuple[str, ...], symbol: str) -> float:
        """How likely an answer is; 0 if it is given up. `possible` are sorted, each once."""
        if len(possible) == 1:
            return 1.0
        situation = (last, possible)
        count, seen = self.situations[situation], self.answers[situation, symbol]
        if not seen and count >= self.patience * _SHARE * len(possible):
            return 0.0
        return (seen + 1) / (count + len(possible))

    # --- What is in it ------------------------------------------------------------------------------------------------

    def contained(self, node: Node) -> None:
        """Count what an answer consists of."""
        stack = [node]
        while stack:
            here = stack.pop()
            self.symbols[here.symbol] += 1
            names: dict[str, None] = {}
            for child in here.children:
                if isinstance(child, Node):
                    names[child.symbol] = None
                    stack.append(child)
                else:
                    names[self.paths.label(here.symbol, child)] = None
            for name in names:
                self.pairs[here.symbol, name] += 1

    def likelihood_of(self, steps: Iterable[tuple[str, str]]) -> float:
        """How likely it is that an answer has these symbols below each other; 0 if that is given up."""
        likelihood = 1.0
        for step in steps:
            count, seen = self.symbols[step[0]], self.pairs[step]
            if seen:
                likelihood *= seen / count
            elif count >= self.patience:
                return 0.0
            else:
                likelihood /= count + 1
        return likelihood

    # --- Between runs -------------------------------------------------------------------------------------------------

    def as_data(self) -> dict[str, Any]:
        """All counts, as JSON can hold them."""
        return {
            "situations": [[last, list(names), count] for (last, names), count in self.situations.items()],
            "answers": [[last, list(names), name, n] for ((last, names), name), n in self.answers.items()],
            "symbols": [[name, count] for name, count in self.symbols.items()],
            "pairs": [[*pair, count] for pair, count in self.pairs.items()],
        }

    def add_data(self, data: dict[str, Any]) -> None:
        """Add the counts of another run."""
        for last, names, count in data["situations"]:
            self.situations[last, tuple(names)] += count
        for last, names, name, count in data["answers"]:
            self.answers[(last, tuple(names)), name] += count
        for name, count in data["symbols"]:
            self.symbols[name] += count
        for above, below, count in data["pairs"]:
            self.pairs[above, below] += count
