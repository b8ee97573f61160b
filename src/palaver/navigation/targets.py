"""Which path to go for next (the paper's target selection, Algorithm 2).

In the first phase it is a path through states of the dialogue: each missing path is cut down to those of its symbols
that are states or messages, and one of these is drawn. The chances of a path grow with its length and fall with how
often it was drawn before: length / (draws + 1). When nothing with a state is missing, it is a message in which
something is, drawn by what share of it is missing / (draws + 1). The paper prints the share that is covered, which
would go for messages that have nothing left to cover.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from palaver.chance import Chance
from palaver.grammar.analyse import reachable
from palaver.matching.cut import Dialogue
from palaver.navigation.goals import Aim
from palaver.navigation.kpaths import KPath

# After so many draws a target is given up: it needs something that does not come.
MOST_DRAWS = 12


class Target(NamedTuple):
    """A path that a conversation should lead along, or a message that should be said."""

    path: KPath
    is_message: bool = False


class TargetSelector:
    """Draws targets. What is missing is counted once, and counted down as it is covered."""

    def __init__(self, aim: Aim, dialogue: Dialogue, chance: Chance) -> None:
        self._aim = aim
        self._chance = chance
        self._messages = tuple(dict.fromkeys(move.symbol for move in dialogue.messages))
        self._dialogue = frozenset((*dialogue.states, *self._messages))
        below = aim.coverage.paths.below
        children = {name: [child for child in found if child in below] for name, found in below.items()}
        self._inside: Mapping[str, Sequence[str]] = {
            message: tuple(reachable(message, children)) for message in self._messages
        }
        self.draws: Counter[Target] = Counter()
        self._states: Counter[KPath] = Counter()  # how many missing paths a path through states stands for
        self._payload: Counter[str] = Counter()  # by the first symbol, how many paths without a state are missing
        for path in aim.missing():
            self._count(path, 1)
        self._all_payload = Counter(self._payload)
        aim.coverage.watchers.append(self._see)

    def _see(self, state: int) -> None:
        if self._aim.target(state) == state:
            self._count(self._aim.coverage.walks[state], -1)

    def _count(self, path: KPath, by: int) -> None:
        projection = self.project(path)
        if projection:
            self._states[projection] += by
            if not self._states[projection]:
                del self._states[projection]
        else:
            self._payload[path[0]] += by

    def project(self, path: KPath) -> KPath:
        """The part of a path that is dialogue."""
        end = 0
        while end < len(path) and path[end] in self._dialogue:
            end += 1
        return path[:end]

    def select(self, but_for: Collection[Target] = ()) -> Target | None:
        """Draw a target that was not drawn too often; None if there is none."""
        states = [Target(path) for path in self._states]
        drawn = self._draw([(target, float(len(target.path))) for target in states], but_for)
        if drawn is None:
            messages = [(Target((name,), is_message=True), self._missing_share(name)) for name in self._messages]
            drawn = self._draw(messages, but_for)
        return drawn

    def as_data(self) -> list[Any]:
        """How often each target was drawn, as JSON can hold it."""
        return [[list(target.path), target.is_message, count] for target, count in self.draws.items()]

    def add_data(self, data: list[Any]) -> None:
        """Add the draws of another run."""
        for path, is_message, count in data:
            self.draws[Target(tuple(path), is_message)] += count

    def _missing_share(self, message: str) -> float:
        everything = sum(self._all_payload[name] for name in self._inside[message])
        return sum(self._payload[name] for name in self._inside[message]) / everything if everything else 0.0

    def _draw(self, targets: list[tuple[Target, float]], but_for: Collection[Target]) -> Target | None:
        options: list[Target] = []
        energies: list[float] = []
        for target, energy in targets:
            if energy and target not in but_for and self.draws[target] < MOST_DRAWS:
                options.append(target)
                energies.append(energy / (self.draws[target] + 1))
        if not options:
            return None
        (drawn,) = self._chance.stream.choices(options, energies)
        self.draws[drawn] += 1
        return drawn
