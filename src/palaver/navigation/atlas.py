"""The dialogue as a map: places, and the messages that lead from one to the next, with the k-paths met on the way.

How it works
============

A *place* is a future of the forecaster together with the coverage states of the nodes that are open there: two
histories are at the same place if they can go on in the same ways and will cover the same paths by that. An *edge* is a
message that may be said at a place. It knows the states of all nodes that come into being before the message (states
of the dialogue that are entered, parts that are empty) and the state of the message itself, so to follow an edge tells
what is covered without looking at any tree. Places are found when they are first asked for and kept, for all sessions.

A node that begins with itself, over and over, grows from the bottom, and how many will be above it in the end is known
only then. So its place comes in as many forms as there are chains of symbols that may be around it, up to the
length that makes a difference, and each time that the tree is put into another one, only those forms go on that
expected it.

How often a computed repetition goes round is not known before it is reached: on the map it goes round any number of
times. Whoever is in a conversation asks with the fields of that one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from palaver.matching.cut import MessageType
from palaver.matching.dialogue import Future
from palaver.matching.forecaster import Forecaster
from palaver.matching.positions import AnyFields, Fields
from palaver.matching.spine import Adding, Closing, Growth, Opening, Wrapping
from palaver.navigation.coverage import NOTHING, Coverage
from palaver.trees.node import Node, NonTerminal, Part

# What comes if nothing does, where we may speak as well.
SILENCE = ""
# What comes if the others leave, where only they may speak, and the conversation may as well be over.
LEAVING = "(end)"

# More ways than this to go on from one place, or to grow one tree from the bottom, are not followed.
_MOST_EDGES = 1_000
_MOST_CHAINS = 200

_Chain = tuple[NonTerminal, ...]


class Place:
    """A point of the dialogue."""

    __slots__ = ("answers", "by_move", "chain", "edges", "ending", "following", "future", "is_known", "number", "state")

    def __init__(self, future: Future, state: int, chain: _Chain, following: Place | None, number: int) -> None:
        self.future = future
        self.state = state  # of the innermost open node; where a tree grows from the bottom, of the node above it
        self.chain = chain  # the symbols around what grows from the bottom, if something does
        self.following = following
        self.number = number  # in the order in which places were found
        # Once they are known:
        self.is_known = False
        self.edges: tuple[Edge, ...] = ()
        self.by_move: dict[MessageType, tuple[Edge, ...]] = {}
        # The symbols that others may say, sorted; SILENCE if we may speak, else LEAVING if the dialogue may end.
        self.answers: tuple[str, ...] = ()
        self.ending: tuple[int, ...] | None = None  # the states met if the dialogue ends here, if it can


class Edge:
    """A message that may be said at a place."""

    __slots__ = ("above", "is_ours", "is_spent", "marks", "move", "source", "state", "states", "to")

    def __init__(
        self, source: Place, move: MessageType, marks: tuple[int, ...], above: int, state: int, to: Place, is_ours: bool
    ) -> None:
        self.source = source
        self.move = move
        self.marks = marks  # the states of the nodes that come into being with the message, in order
        self.above = above  # the state of the node that the message stands in
        self.state = state  # that of the message
        self.states = (*marks, state)  # all of them
        self.to = to
        self.is_ours = is_ours
        self.is_spent = False  # whether all is covered that it can ever cover

    def is_like(self, other: Edge) -> bool:
        """Whether both are the same way; where computed repetitions count, edges are made anew."""
        return self is other or (
            self.source is other.source
            and self.to is other.to
            and self.state == other.state
            and self.marks == other.marks
        )


class _Frame(NamedTuple):
    """A level of a place that is on its way to another."""

    state: int
    chain: _Chain = ()


class _Way(NamedTuple):
    """What growth has led to: the levels that came in place of the first one, and the states met."""

    frames: tuple[_Frame, ...]
    marks: tuple[int, ...]

    @property
    def top(self) -> _Frame:
        return self.frames[-1]

    def on(self, *frames: _Frame, dropped: int = 0, marks: tuple[int, ...] = ()) -> _Way:
        kept = self.frames[: len(self.frames) - dropped]
        return _Way((*kept, *frames), _joined(self.marks, marks))


class Atlas:
    """All places of a dialogue, for whoever plays the parties `ours`."""

    def __init__(self, forecaster: Forecaster, coverage: Coverage, ours: Collection[str]) -> None:
        self.coverage = coverage
        self._dialogue = forecaster.compiled
        self._positions = forecaster.positions
        self.ours = frozenset(ours)
        self._anything = AnyFields(self._positions) if self._positions.has_computed_loops else None
        self._places: dict[tuple[Future, int, _Chain, Place | None], Place] = {}
        self._chains: dict[tuple[NonTerminal, NonTerminal], tuple[_Chain, ...]] = {}
        self._answers: dict[tuple[tuple[MessageType, ...], bool], tuple[str, ...]] = {}
        self.beginning = self._place(self._dialogue.beginning, _Frame(NOTHING), None)

    def __len__(self) -> int:
        return len(self._places)

    def _place(self, future: Future, frame: _Frame, following: Place | None) -> Place:
        key = (future, frame.state, frame.chain, following)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = Place(*key, len(self._places))
        return place

    def edges(self, place: Place) -> tuple[Edge, ...]:
        """The ways on from a place, the preferred first."""
        if not place.is_known:
            self._find_out(place)
        return place.edges

    def ending(self, place: Place) -> tuple[int, ...] | None:
        """The states of the nodes that come into being if the dialogue ends at a place; None if it cannot."""
        if not place.is_known:
            self._find_out(place)
        return place.ending

    def _find_out(self, place: Place) -> None:
        edges: list[Edge] = []
        for edge in self._look(place, self._anything):
            edges.append(edge)
            if len(edges) == _MOST_EDGES:
                break
        place.edges = tuple(edges)
        place.ending = self._end(place, self._anything)
        place.answers = self.answers(tuple([edge.move for edge in edges]), can_end=place.ending is not None)
        place.is_known = True

    def answers(self, moves: tuple[MessageType, ...], *, can_end: bool) -> tuple[str, ...]:
        """What may come where these messages may be said, as a place has it."""
        key = (moves, can_end)
        if key not in self._answers:
            names = {SILENCE if move.sender in self.ours else move.symbol for move in moves}
            if can_end and SILENCE not in names:
                names.add(LEAVING)
            self._answers[key] = tuple(sorted(names))
        return self._answers[key]

    # --- In a conversation --------------------------------------------------------------------------------------------

    def all_edges(self, place: Place, fields: Fields | None) -> tuple[Edge, ...]:
        """The ways on in a conversation with these fields."""
        if place.future.is_asking and fields is not None:
            return tuple(self._look(place, fields))
        return self.edges(place)

    def edges_by(self, place: Place, move: MessageType, fields: Fields | None) -> tuple[Edge, ...]:
        """The ways on by one message, likewise."""
        if place.future.is_asking and fields is not None:
            return tuple([edge for edge in self._look(place, fields) if edge.move == move])
        edges = place.by_move.get(move)
        if edges is None:
            edges = place.by_move[move] = tuple([edge for edge in self.edges(place) if edge.move == move])
        return edges

    def ending_by(self, place: Place, fields: Fields | None) -> tuple[int, ...] | None:
        """As `ending`, likewise."""
        return self.ending(place) if fields is None else self._end(place, fields)

    # --- Levels -------------------------------------------------------------------------------------------------------

    def _look(self, place: Place, fields: Fields | None) -> Iterator[Edge]:
        for level, way in self._levels(place, fields):
            after = _Way((_Frame(level.state, level.chain),), way.marks)
            for routes in self._positions.routes(level.future.position, fields).values():
                for route in routes:
                    future = self._dialogue.lead(level.future, route)
                    # What ends with the message, ends with parts that are empty.
                    growth = route.growth + (route.after.ending or () if route.after.is_over else ())
                    for grown in self._grown(after, growth):
                        yield self._edge(place, level, route.move, route.after.is_over, future, grown)

    def _levels(self, place: Place, fields: Fields | None) -> Iterator[tuple[Place, _Way]]:
        """This level, and those that it comes to by ending, each with what was met until there."""
        todo = [(place, _Way((), ()))]
        while todo:
            level, way = todo.pop()
            yield level, way
            ending = self._positions.ending(level.future.position, fields)
            if level.following is not None and ending is not None:
                start = _Way((_Frame(level.state, level.chain),), way.marks)
                ends = [end for end in self._grown(start, ending) if _is_complete(end.top, level)]
                todo += [(level.following, _Way((), end.marks)) for end in reversed(ends)]

    def _end(self, place: Place, fields: Fields | None) -> tuple[int, ...] | None:
        for level, way in self._levels(place, fields):
            ending = self._positions.ending(level.future.position, fields)
            if level.following is None and ending is not None:
                start = _Way((_Frame(level.state, level.chain),), way.marks)
                return next((end.marks for end in self._grown(start, ending)), None)
        return None

    def _edge(self, source: Place, level: Place, move: MessageType, is_over: bool, future: Future, way: _Way) -> Edge:
        above = way.top.state
        # Futures know the positions that were put on the stack, ways the frames of the same levels.
        frames = way.frames[:-1] if is_over else way.frames
        futures: list[Future] = []
        each: Future | None = future
        while len(futures) < len(frames):
            assert each is not None, "each frame has its future"
            futures.append(each)
            each = each.following
        place = level.following
        for frame, each in zip(frames, reversed(futures), strict=True):
            place = self._place(each, frame, place)
        assert place is not None, "the end of the whole is never over"
        state = self.coverage.step(above, move.symbol)
        return Edge(source, move, way.marks, above, state, place, move.sender in self.ours)

    # --- Growth -------------------------------------------------------------------------------------------------------

    def _grown(self, way: _Way, growth: tuple[Growth, ...]) -> list[_Way]:
        """All that growth may lead to; more than one thing only where a tree grows from the bottom."""
        plain = self._grown_plainly(way, growth)
        if plain is not None:
            return [plain]
        ways = [way]
        for each in growth:
            ways = [further for way in ways for further in self._grow(way, each)]
        return ways

    def _grown_plainly(self, way: _Way, growth: tuple[Growth, ...]) -> _Way | None:
        """The same where nothing grows from the bottom, which is nearly everywhere; None if something does."""
        (frame,) = way.frames
        if frame.chain:
            return None
        frames, marks, step = [frame], list(way.marks), self.coverage.step
        for each in growth:
            if isinstance(each, Opening) and each.symbol is not None:
                above = frames[-1].state
                state = step(above, each.symbol)
                marks.append(state)
                if each.tail:
                    marks += self._states_in(each.tail, above)
                if each.is_last:
                    frames[-1] = _Frame(state)
                else:
                    frames.append(_Frame(state))
            elif isinstance(each, Adding):
                marks += self._states_in(each.parts, frames[-1].state)
            else:
                return None
        return _Way(tuple(frames), tuple(dict.fromkeys(marks)))

    def _grow(self, way: _Way, growth: Growth) -> Iterator[_Way]:
        top, step = way.top, self.coverage.step
        match growth:
            case Adding(parts=parts):
                yield way.on(marks=tuple(self._states_in(parts, top.state)))
            case Closing():
                yield way.on(dropped=1)
            case Opening(symbol=None, goal=goal, is_last=is_last, tail=tail):
                # Its seed is opened next, and only then the chains are known that lead there.
                marks = tuple(self._states_in(tail, top.state))
                yield way.on(_Frame(top.state, (goal,)), dropped=int(is_last), marks=marks)
            case Opening(symbol=NonTerminal() as symbol, is_last=is_last, tail=tail) if not top.chain:
                state = step(top.state, symbol)
                marks = (state, *self._states_in(tail, top.state))
                yield way.on(_Frame(state), dropped=int(is_last), marks=marks)
            case Opening(symbol=NonTerminal() as seed):
                for chain in self._chains_to(top.chain[0], seed):
                    states = self._states_along(top.state, chain)
                    yield way.on(_Frame(top.state, chain), _Frame(states[-1]), dropped=1, marks=states)
            case Wrapping(opening=opening, before=before):
                for chain in self._chains_around(top.chain, opening.goal):
                    state = self._states_along(top.state, chain)[-1]
                    marks = (state, *self._states_in(before.parts, state))
                    yield way.on(_Frame(top.state, chain), _Frame(state), dropped=1, marks=marks)

    def _states_in(self, parts: tuple[Part, ...], state: int) -> Iterator[int]:
        todo = [(part, state) for part in reversed(parts)]
        while todo:
            part, above = todo.pop()
            if isinstance(part, Node):
                here = self.coverage.step(above, part.symbol)
                todo += [(child, here) for child in reversed(part.children)]
            else:
                here = self.coverage.step(above, self.coverage.paths.label(self.coverage.walks[above][-1], part))
            yield here

    def _states_along(self, state: int, chain: _Chain) -> tuple[int, ...]:
        states = []
        for symbol in chain:
            state = self.coverage.step(state, symbol)
            states.append(state)
        return tuple(states)

    def _chains_to(self, goal: NonTerminal, seed: NonTerminal) -> tuple[_Chain, ...]:
        """The chains of symbols, from the goal to the seed, of which each can begin with the next.

        One that is longer than any path stands for all that are longer and end so.
        """
        key = (goal, seed)
        if key not in self._chains:
            found: dict[_Chain, None] = {}
            todo: list[_Chain] = [(seed,)]
            for chain in todo:
                if chain[0] == goal or len(chain) > self.coverage.paths.k:
                    found[chain] = None
                if len(chain) <= self.coverage.paths.k and len(todo) < _MOST_CHAINS:
                    todo += [(outer, *chain) for outer in self._outers(chain[0])]
            self._chains[key] = tuple(found)
        return self._chains[key]

    def _outers(self, symbol: NonTerminal) -> tuple[NonTerminal, ...]:
        """The symbols that can begin with this one."""
        growing = self._positions.growing(self._positions.circles[symbol], self._anything)
        return tuple(dict.fromkeys(corner.outer for corner in growing.corners(symbol)))

    def _chains_around(self, chain: _Chain, outer: NonTerminal) -> Iterator[_Chain]:
        """What is left of a chain once the innermost node of it is in the next."""
        if len(chain) > 1 and chain[-2] == outer:
            rest = chain[:-1]
            if len(chain) > self.coverage.paths.k:
                for symbol in self._outers(rest[0]):
                    yield (symbol, *rest)
            yield rest


def _is_complete(frame: _Frame, level: Place) -> bool:
    """Whether nothing more is expected around a tree that ends."""
    return not level.chain or len(frame.chain) == 1


def _joined(marks: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*marks, *more))) if more else marks
