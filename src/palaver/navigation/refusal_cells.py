"""Coverage of refusals, in places found by the subset construction (Rabin & Scott 1959).

A *place* is what we may say there: all points of the dialogue where the same messages may be said are one. A *cell* is
a place with a kind of wrongness and a message. It is covered when such a message was sent, and its answer judged.

How it works
============

The places are sets of futures of the dialogue automaton, because several hypotheses may be left where we speak. Who
makes wrong messages says which cells a place has. A plan leads to a place with cells that are missing; what is said
there is not planned. A cell that was tried in vain some times is given up, and so is a place that plans do not lead to.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from palaver.matching.dialogue_automaton import AnyFields, DialogueState
from palaver.matching.dialogue_grammar import MessageType
from palaver.matching.forecaster import Forecaster
from palaver.navigation.dialogue_map import DialogueMap, Edge, MapNode
from palaver.navigation.navigation_limits import (
    MAX_NODES_FOR_REFUSALS,
    MAX_PLACES,
    MAX_PLANS_FOR_PLACE,
    MAX_TRIES_OF_CELL,
)
from palaver.navigation.plan_search import AStar, PlanningContext, PossibleEdges, RoutePlan
from palaver.printable import counted

# The messages that may be said, without order.
WrongPlace: TypeAlias = tuple[str, ...]
# The kinds of wrongness at a place, each with the message that it is about.
CellsAt: TypeAlias = Callable[[Sequence[MessageType]], Iterable[tuple[str, str]]]


class RefusalCell(NamedTuple):
    """A place, a kind of wrongness, and a message."""

    place: WrongPlace
    kind: str
    message: str


def place_of(moves: Iterable[MessageType]) -> WrongPlace:
    """The place where these messages of ours may be said."""
    return tuple(sorted({move.symbol for move in moves}))


def places_of(
    forecaster: Forecaster, ours: Collection[str], closing: Collection[str]
) -> dict[WrongPlace, tuple[MessageType, ...]]:
    """The places of a dialogue where only one party, of ours, can send, in the order of the search."""
    compiled = forecaster.compiled
    fields = AnyFields(forecaster.positions) if forecaster.positions.has_computed_loops else None
    found: dict[WrongPlace, tuple[MessageType, ...]] = {}
    first: tuple[DialogueState, ...] = (compiled.beginning,)
    seen, todo = {frozenset(first)}, deque([first])
    while todo:
        futures = todo.popleft()
        after: dict[MessageType, dict[DialogueState, None]] = {}
        for future in futures:
            for move in compiled.moves(future, fields):
                states = after.setdefault(move, {})
                states.update((compiled.state_after(step), None) for step in compiled.steps(future, move, fields))
        moves = tuple(move for move in after if move.symbol not in closing)
        if len({move.sender for move in moves}) == 1 and moves[0].sender in ours:
            found.setdefault(place_of(moves), moves)
        for states in after.values():
            if len(seen) >= MAX_PLACES:
                MAX_PLACES.reached()
                return found
            if frozenset(states) not in seen:
                seen.add(frozenset(states))
                todo.append(tuple(states))
    return found


class RefusalCells:
    """The cells of a dialogue, those that were covered, and plans for the others."""

    def __init__(
        self,
        dialogue_map: DialogueMap,
        edges: PossibleEdges,
        places: dict[WrongPlace, tuple[MessageType, ...]],
        cells_at: CellsAt,
    ) -> None:
        self.is_goal = False
        self._map = dialogue_map
        self._search = AStar(dialogue_map, edges, MAX_NODES_FOR_REFUSALS, counts_messages=True)
        self._places = places
        self._cells_at = cells_at
        self._judged: Counter[RefusalCell] = Counter()
        self._tries: Counter[RefusalCell] = Counter()
        self._causes: dict[RefusalCell, Counter[str]] = {}
        self._visits: Counter[WrongPlace] = Counter()
        self._plans: Counter[WrongPlace] = Counter()  # since a session was there

    @cached_property
    def _cells(self) -> dict[WrongPlace, tuple[RefusalCell, ...]]:
        found = {}
        for place, moves in self._places.items():
            cells = dict.fromkeys(RefusalCell(place, *each) for each in self._cells_at(moves))
            found[place] = tuple(cells)
        return found

    @property
    def total(self) -> int:
        """The number of all cells."""
        return sum(map(len, self._cells.values()))

    @property
    def reached(self) -> int:
        """The number of cells that were covered."""
        return sum(1 for cells in self._cells.values() for cell in cells if self._judged[cell])

    def missing_at(self, place: WrongPlace) -> list[tuple[str, str]]:
        """The kinds and messages at a place that are missing, and were tried least; a session is there."""
        self._visits[place] += 1
        self._plans[place] = 0
        left = [cell for cell in self._cells.get(place, ()) if self._is_open(cell)]
        least = min((self._tries[cell] for cell in left), default=0)
        return [(cell.kind, cell.message) for cell in left if self._tries[cell] == least]

    def _is_open(self, cell: RefusalCell) -> bool:
        return not self._judged[cell] and self._tries[cell] < MAX_TRIES_OF_CELL

    def note(self, place: WrongPlace, kind: str, message: str, cause: str) -> None:
        """Note that a wrong message was tried: "" if it was sent and will be judged, else why it will not."""
        cell = RefusalCell(place, kind, message)
        self._tries[cell] += 1
        if cause:
            self._causes.setdefault(cell, Counter())[cause] += 1
        else:
            self._judged[cell] += 1

    def missing(self) -> Iterator[RefusalCell]:
        """The cells that were not covered."""
        return (cell for cells in self._cells.values() for cell in cells if not self._judged[cell])

    def reasons(self) -> list[str]:
        """The reasons why cells are missing, with their number, the most important first."""
        found: Counter[str] = Counter()
        for cell in self.missing():
            found[self._reason(cell)] += 1
        return [f"{counted(count, 'refusal')}: {reason}" for reason, count in found.most_common()]

    def _reason(self, cell: RefusalCell) -> str:
        causes = self._causes.get(cell)
        if causes:
            return f"{cell.kind}: {causes.most_common(1)[0][0]}"
        if not self._visits[cell.place]:
            return f"no session has come where only {' or '.join(cell.place)} may be said"
        return f"{cell.kind}: not tried"

    def retry_given_up(self) -> None:
        """Try again what was given up."""
        self._tries.clear()
        self._plans.clear()

    def plan(self, starts: Sequence[MapNode], context: PlanningContext) -> RoutePlan | None:
        """A plan to a place with cells that are missing; None if none is left."""
        places = [
            place
            for place, cells in self._cells.items()
            if self._plans[place] < MAX_PLANS_FOR_PLACE and any(map(self._is_open, cells))
        ]
        wanted = [(place, frozenset(place)) for place in places]
        if not wanted:
            return None

        def is_goal(edge: Edge) -> bool:
            return edge.is_ours and self._place_at(edge.source, wanted) is not None

        found = self._search.search(starts, context, is_goal, lambda _node: 0.0)
        if found is None:
            return None
        steps, goal, cost = found
        place = self._place_at(goal.source, wanted)
        assert place is not None, "it was found by that"
        self._plans[place] += 1
        return RoutePlan(steps, goal.state, 1.0, cost)

    def _place_at(self, node: MapNode, wanted: Sequence[tuple[WrongPlace, frozenset[str]]]) -> WrongPlace | None:
        """One of the wanted places that a node of the map may belong to: there may be other hypotheses beside it."""
        symbols = frozenset(edge.move.symbol for edge in self._map.edges(node) if edge.is_ours)
        return next((place for place, messages in wanted if symbols and symbols <= messages), None)

    def counts(self) -> Iterator[tuple[tuple[Any, ...], int]]:
        """All that was noted, as rows of tables with their counts, for others that try cells of the same spec."""
        for name, table in (("judged", self._judged), ("tries", self._tries)):
            yield from (((name, *cell), count) for cell, count in table.items())
        yield from ((("visits", place), count) for place, count in self._visits.items())
        for cell, causes in self._causes.items():
            yield from ((("causes", *cell, cause), count) for cause, count in causes.items())

    def add_counts(self, rows: Iterable[tuple[Sequence[Any], int]]) -> None:
        """Add what others have noted since they last told it."""
        for (table, *row), more in rows:
            match table:
                case "judged":
                    self._judged[RefusalCell(*row)] += more
                case "tries":
                    self._tries[RefusalCell(*row)] += more
                case "visits":
                    self._visits[row[0]] += more
                case _:
                    *cell, cause = row
                    self._causes.setdefault(RefusalCell(*cell), Counter())[cause] += more

    def as_data(self) -> list[list[Any]]:
        """The cells that were covered, as JSON can hold them."""
        return [[list(cell.place), cell.kind, cell.message, count] for cell, count in self._judged.items()]

    def add_data(self, data: Sequence[Sequence[Any]]) -> None:
        """Add the cells of another run."""
        for place, kind, message, count in data:
            self._judged[RefusalCell(tuple(place), kind, message)] += count
