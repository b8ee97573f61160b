"""What may follow in a dialogue: stacks of positions, and the steps from one to the next.

How it works
============

A *future* is a position on top of the future that follows it. Equal futures are one object: to ask whether two
histories can go on in the same way is to compare two pointers, and what was found out about a future is found out for
all histories and all sessions. A position with nothing left to say is never on the stack, so that of a
right-recursive dialogue does not grow.

A *step* from a future is a route from its position, or, if the position can end without another message, a step from
the future that follows. Each future takes the answers of the following one as its own, so every question costs the same
however high the stack is. Only a future that is *asking*, because a computed repetition may be reached from it before
the next message, is looked at anew for each history: its own position, and those that it can come to by ending.

A step is not needed if another one leads to a future that can become this one's by ending: whatever may follow this
one may follow that one too. Where symbols are distinguished, the difference may matter, and all steps are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from palaver.matching.dialogue_grammar import DialogueGrammar, MessageType
from palaver.matching.dialogue_rules import AnyFields, DialogueRules, Fields
from palaver.matching.dialogue_terms import (
    ChoiceTerm, ComputedLoopTerm, DialogueTerm, EmptyTextTerm, LeftCornerTerm, LoopTerm, MessageTerm, PermutationTerm,
    RoundEndTerm, RuleEndTerm, SequenceTerm, StateTerm, computed_loops,
)  # fmt: skip
from palaver.matching.dotted_rules import DottedRule, Route
from palaver.matching.matching_limits import MAX_ENDINGS_COMPARED, MAX_KEPT_STATES, MAX_STATES_AHEAD, MOST_HYPOTHESES
from palaver.matching.open_tree import AddAction, CloseAction, OpenAction, TreeAction, WrapAction
from palaver.matching.tables import BoundEvaluator


__all__ = [
    "AddAction", "AnyFields", "ChoiceTerm", "CloseAction", "ComputedLoopTerm", "DialogueAutomaton", "DialogueRules",
    "DialogueState", "DialogueTerm", "DottedRule", "EmptyTextTerm", "Fields", "LeftCornerTerm", "LoopTerm",
    "MessageTerm", "OpenAction", "PermutationTerm", "RoundEndTerm", "RuleEndTerm", "SequenceTerm", "StateTerm",
    "TreeAction", "WrapAction", "computed_loops",
]  # fmt: skip


class DialogueState:
    """A position, and what follows it (None: nothing, and the position is that of the whole dialogue)."""

    __slots__ = ("__weakref__", "can_end", "following", "is_asking", "moves", "position", "steps")

    def __init__(self, position: DottedRule, following: DialogueState | None, *, is_asking: bool) -> None:
        self.position = position
        self.following = following
        self.is_asking = is_asking
        # Once known, unless the future is asking:
        self.moves: tuple[MessageType, ...] | None = None
        self.can_end = False
        self.steps: dict[MessageType, tuple[MessageTransition, ...]] = {}


class MessageTransition:
    """A message from some future on: some positions end, then a route is taken.

    With `then`, the position ends as `ending` says, and that is the step to take from there. In the end `route` is
    taken from `level`, and `closing` is how its rule ends if the message is the last of it.
    """

    __slots__ = ("closing", "ending", "future", "level", "route", "then")

    def __init__(
        self,
        level: DialogueState,
        route: Route,
        future: DialogueState,
        *,
        closing: tuple[TreeAction, ...] | None = None,
        ending: tuple[TreeAction, ...] = (),
        then: MessageTransition | None = None,
    ) -> None:
        self.level = level  # where the route begins
        self.route = route
        # Only a hint: futures know their steps, so a step that held its future would hold all there ever were.
        self.future = ref(future)
        self.closing = closing
        self.ending = ending
        self.then = then


class DialogueAutomaton:
    """All that can be known of a dialogue before it is held. It grows as more is asked, and all sessions share it.

    `distinguished` symbols are those whose nodes matter: histories that differ in them are kept apart even if they can
    go on in the same way.
    """

    def __init__(self, dialogue: DialogueGrammar, bound: BoundEvaluator, distinguished: Collection[str]) -> None:
        self.positions = DialogueRules(dialogue, bound, distinguished)
        self._order = {move: number for number, move in enumerate(dialogue.messages)}
        self._states: WeakValueDictionary[tuple[DottedRule, DialogueState | None], DialogueState] = (
            WeakValueDictionary()
        )
        self._kept: deque[DialogueState] = deque(maxlen=MAX_KEPT_STATES)
        self._ahead: WeakKeyDictionary[DialogueState, frozenset[str]] = WeakKeyDictionary()
        self.beginning = self._state(self.positions.beginning, None)

    def _state(self, position: DottedRule, following: DialogueState | None) -> DialogueState:
        key = (position, following)
        future = self._states.get(key)
        if future is None:
            is_asking = self.positions.is_asking(position) or (
                following is not None and following.is_asking and position.ending is not None
            )
            future = self._states[key] = DialogueState(position, following, is_asking=is_asking)
            self._kept.append(future)
        return future

    def prepare(self) -> None:
        """Find out now what would be found out when it is first asked, about all that is not too far ahead."""
        self.ahead(self.beginning)

    # --- Questions ----------------------------------------------------------------------------------------------------

    def moves(self, future: DialogueState, fields: Fields | None) -> tuple[MessageType, ...]:
        """What may be said next, in the order of the spec."""
        if future.is_asking:
            return self.in_order(
                move for level in self._levels(future, fields) for move in self._moves_at(level, fields)
            )
        if future.moves is None:
            self._find_out(future)
        return future.moves or ()

    def can_end(self, future: DialogueState, fields: Fields | None) -> bool:
        """Whether the dialogue may be over."""
        if future.is_asking:
            *_, last = self._levels(future, fields)
            if last.is_asking:
                return last.following is None and self.positions.ending(last.position, fields) is not None
            return self.can_end(last, None)
        if future.moves is None:
            self._find_out(future)
        return future.can_end

    def steps(self, future: DialogueState, move: MessageType, fields: Fields | None) -> tuple[MessageTransition, ...]:
        """All ways to say a message now, the preferred first."""
        if not future.is_asking:
            return self._known_steps(future, move)
        found: tuple[MessageTransition, ...] = ()
        for level in reversed(list(self._levels(future, fields))):
            if level.is_asking:
                routes = self.positions.routes(level.position, fields).get(move, [])
                found = self._merged(level, routes, self.positions.ending(level.position, fields), found)
            else:
                found = self._known_steps(level, move)
        return found

    def future_after(self, step: MessageTransition) -> DialogueState:
        """Where a step leads."""
        future = step.future()
        return future if future is not None else self.lead(step.level, step.route)

    def covers(self, one: DialogueState, other: DialogueState) -> bool:
        """Whether `one` can go on in all ways that `other` can, because it can become `other` by ending."""
        future: DialogueState | None = one
        for _ in range(MAX_ENDINGS_COMPARED):
            if future is other:
                return True
            if future is None or future.is_asking or future.position.ending is None:
                return False
            future = future.following
        return False

    def ahead(self, future: DialogueState) -> frozenset[str]:
        """The symbols of the messages that may still come; of all there are, if there is too much to look at."""
        ahead = self._ahead.get(future)
        if ahead is None:
            ahead = self._ahead[future] = self._look_ahead(future)
        return ahead

    def _look_ahead(self, future: DialogueState) -> frozenset[str]:
        fields = AnyFields(self.positions) if self.positions.has_computed_loops else None
        symbols: set[str] = set()
        todo = [future]
        found = {future: None}
        for here in todo:
            for move in self.moves(here, fields):
                symbols.add(move.symbol)
                for step in self.steps(here, move, fields):
                    after = self.future_after(step)
                    if after not in found:
                        if len(found) == MAX_STATES_AHEAD:
                            return frozenset(move.symbol for move in self._order)
                        found[after] = None
                        todo.append(after)
        return frozenset(symbols)

    # --- Futures that are not asking ----------------------------------------------------------------------------------

    def _find_out(self, future: DialogueState) -> None:
        """The moves from a future and whether it can end, after those of all that it comes to by ending."""
        levels: list[DialogueState] = []
        level: DialogueState | None = future
        while level is not None and level.moves is None:
            levels.append(level)
            level = level.following if level.position.ending is not None else None
        for level in reversed(levels):
            following = level.following if level.position.ending is not None else None
            level.can_end = level.position.ending is not None and (following is None or following.can_end)
            more = () if following is None else following.moves or ()
            level.moves = self.in_order((*self.positions.routes(level.position, None), *more))

    def _known_steps(self, future: DialogueState, move: MessageType) -> tuple[MessageTransition, ...]:
        levels: list[DialogueState] = []
        level: DialogueState | None = future
        while level is not None and move not in level.steps and move in self.moves(level, None):
            levels.append(level)
            level = level.following if level.position.ending is not None else None
        for level in reversed(levels):
            later = () if level.following is None else level.following.steps.get(move, ())
            routes = self.positions.routes(level.position, None).get(move, [])
            level.steps[move] = self._merged(level, routes, level.position.ending, later)
        return future.steps.get(move, ())

    # --- Futures that are asking --------------------------------------------------------------------------------------

    def _levels(self, future: DialogueState, fields: Fields | None) -> Iterator[DialogueState]:
        """This future, and those it comes to by ending, up to the first that is not asking."""
        level: DialogueState | None = future
        while level is not None:
            yield level
            if not level.is_asking or self.positions.ending(level.position, fields) is None:
                return
            level = level.following

    def _moves_at(self, level: DialogueState, fields: Fields | None) -> Iterable[MessageType]:
        """From this very level; if it is not asking, also from all below it."""
        return self.positions.routes(level.position, fields) if level.is_asking else self.moves(level, None)

    # --- Steps --------------------------------------------------------------------------------------------------------

    def in_order(self, moves: Iterable[MessageType]) -> tuple[MessageType, ...]:
        """Each once, in the order of the spec."""
        return tuple(sorted(dict.fromkeys(moves), key=self._order.__getitem__))

    def _merged(
        self,
        level: DialogueState,
        routes: list[Route],
        ending: tuple[TreeAction, ...] | None,
        later: tuple[MessageTransition, ...],
    ) -> tuple[MessageTransition, ...]:
        """The steps by the routes of a level, and those after its end, without those that nobody needs."""
        found = [(self.lead(level, route), self._step(level, route)) for route in routes]
        if ending is not None:
            for then in later:
                future = self.future_after(then)
                found.append(
                    (
                        future,
                        MessageTransition(
                            then.level, then.route, future, closing=then.closing, ending=ending, then=then
                        ),
                    )
                )
        if not self.positions.distinguished:
            kept: list[tuple[DialogueState, MessageTransition]] = []
            for future, step in found:
                if not any(self.covers(other, future) for other, _ in kept):
                    kept.append((future, step))
            found = kept
        return tuple(step for _, step in found[:MOST_HYPOTHESES])

    def _step(self, level: DialogueState, route: Route) -> MessageTransition:
        closing = route.after.ending if route.after.is_over else None
        return MessageTransition(level, route, self.lead(level, route), closing=closing)

    def lead(self, level: DialogueState, route: Route) -> DialogueState:
        """The future at the end of a route."""
        future = level.following
        for position in route.pushed:
            future = self._state(position, future)
        if not route.after.is_over:
            return self._state(route.after, future)
        assert future is not None, "the end of the whole is never over"
        return future
