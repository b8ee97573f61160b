"""Selection of the next coverage target (the paper's Algorithm 2), a weighted random draw.

In the first phase a target is a path through states of the dialogue: each missing path is cut down to its symbols that
are states or messages, and one of these is drawn with weight length / (draws + 1). When no path with a state is
missing, the target is a message, drawn with the missing share of its paths / (draws + 1). The paper prints the covered
share, which would prefer messages that have nothing left to cover.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from palaver.grammar.analysis import reachable
from palaver.matching.dialogue_grammar import DialogueGrammar
from palaver.navigation.coverage import KPath
from palaver.navigation.goals import GoalProgress
from palaver.navigation.navigation_limits import MAX_DRAWS_OF_TARGET
from palaver.random_source import RandomSource


class CoverageTarget(NamedTuple):
    """A path that a session should lead along, or a message that it should contain."""

    path: KPath
    is_message: bool = False


class TargetSelector:
    """Draws targets. Missing paths are counted once, and counted down as they are covered."""

    def __init__(self, goal_progress: GoalProgress, dialogue: DialogueGrammar, chance: RandomSource) -> None:
        self._goal = goal_progress
        self._chance = chance
        self._messages = tuple(dict.fromkeys(move.symbol for move in dialogue.messages))
        self._dialogue = frozenset((*dialogue.states, *self._messages))
        below = goal_progress.coverage.paths.below
        children = {name: [child for child in found if child in below] for name, found in below.items()}
        self._inside: Mapping[str, Sequence[str]] = {
            message: tuple(reachable(message, children)) for message in self._messages
        }
        self.draws: Counter[CoverageTarget] = Counter()
        self._states: Counter[KPath] = (
            Counter()
        )  # by path through states, the number of missing paths that begin with it
        self._payload: Counter[str] = Counter()  # by first symbol, the number of missing paths without a state
        for path in goal_progress.missing():
            self._count(path, 1)
        self._all_payload = Counter(self._payload)
        goal_progress.coverage.watchers.append(self._count_down)

    def _count_down(self, state: int) -> None:
        if self._goal.relevant(state) == state:
            self._count(self._goal.coverage.walks[state], -1)

    def _count(self, path: KPath, by: int) -> None:
        projection = self.project(path)
        if projection:
            self._states[projection] += by
            if not self._states[projection]:
                del self._states[projection]
        else:
            self._payload[path[0]] += by

    def project(self, path: KPath) -> KPath:
        """The symbols of a path, from its beginning, that are states or messages."""
        end = 0
        while end < len(path) and path[end] in self._dialogue:
            end += 1
        return path[:end]

    def select(self, excluded: Collection[CoverageTarget] = ()) -> CoverageTarget | None:
        """Draw a target that is not given up; None if there is none."""
        states = [CoverageTarget(path) for path in self._states]
        drawn = self._draw([(target, float(len(target.path))) for target in states], excluded)
        if drawn is None:
            messages = [
                (CoverageTarget((name,), is_message=True), self._missing_share(name)) for name in self._messages
            ]
            drawn = self._draw(messages, excluded)
        return drawn

    def as_data(self) -> list[Any]:
        """The number of draws of each target, as JSON can hold it."""
        return [[list(target.path), target.is_message, count] for target, count in self.draws.items()]

    def add_data(self, data: list[Any]) -> None:
        """Add the draws of another run."""
        for path, is_message, count in data:
            self.draws[CoverageTarget(tuple(path), is_message)] += count

    def _missing_share(self, message: str) -> float:
        everything = sum(self._all_payload[name] for name in self._inside[message])
        return sum(self._payload[name] for name in self._inside[message]) / everything if everything else 0.0

    def _draw(
        self, targets: list[tuple[CoverageTarget, float]], excluded: Collection[CoverageTarget]
    ) -> CoverageTarget | None:
        options: list[CoverageTarget] = []
        weights: list[float] = []
        for target, weight in targets:
            if weight and target not in excluded and self.draws[target] < MAX_DRAWS_OF_TARGET:
                options.append(target)
                weights.append(weight / (self.draws[target] + 1))
        if not options:
            return None
        (drawn,) = self._chance.stream.choices(options, weights)
        self.draws[drawn] += 1
        return drawn
