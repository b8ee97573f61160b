"""Dialogue automaton: a nondeterministic pushdown automaton over messages, with shared stacks (Tomita 1985).

A *state* is a dotted rule on top of the state that follows it. Equal states are one object: two histories that can go
on in the same way are compared by identity, and answers about a state serve all histories and sessions. A dotted rule
in which no message can come is never on the stack, so the stack of a right-recursive dialogue does not grow.

A *transition* from a state is a route of its dotted rule or, if that can end without another message, a transition from
the state that follows. Each state caches the answers of the following one as its own, so every question costs the same
at any stack height. Only a state that is *asking*, because a computed repetition may be reached from it before the next
message, is looked at anew for each history, with those that it can become when rules end.

A transition is dropped if another one leads to a state that can become its own by ending: whatever may follow the one
may follow the other. Where symbols are distinguished, the difference may matter, and all transitions are kept.

This module is a door of the room: it also exports the dotted rules and tree actions of the automaton.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from palaver.lean_dataclasses import dataclass
from palaver.matching.dialogue_grammar import DialogueGrammar, MessageType
from palaver.matching.dialogue_rules import AnyFields, DialogueRules, LoopFields
from palaver.matching.dotted_rules import DottedRule, Route
from palaver.matching.grammar_tables import BoundEvaluator
from palaver.matching.matching_limits import MAX_ENDINGS_COMPARED, MAX_HYPOTHESES, MAX_KEPT_STATES, MAX_STATES_AHEAD
from palaver.matching.open_tree import AddAction, CloseAction, OpenAction, TreeAction, WrapAction

__all__ = [
    "AddAction", "AnyFields", "CloseAction", "DialogueAutomaton", "DialogueRules", "DialogueState", "DottedRule",
    "LoopFields", "OpenAction", "Route", "TreeAction", "WrapAction",
]  # fmt: skip


class DialogueState:
    """A stack: a dotted rule on top of the state that follows (None: the rule is that of the whole dialogue)."""

    __slots__ = ("__weakref__", "can_end", "depends_on_fields", "following", "moves", "position", "steps")

    def __init__(self, position: DottedRule, following: DialogueState | None, *, depends_on_fields: bool) -> None:
        self.position = position
        self.following = following
        self.depends_on_fields = depends_on_fields
        # Cached, unless the state is asking:
        self.moves: tuple[MessageType, ...] | None = None
        self.can_end = False
        self.steps: dict[MessageType, tuple[MessageTransition, ...]] = {}


@dataclass(slots=True, eq=False)
class MessageTransition:
    """A transition by a message: some dotted rules end, then a route is taken.

    With `then`, the dotted rule on top ends by `ending`, and `then` is the transition from there. In the end `route` is
    taken from `level`; `closing` ends its rule if the message is the last of it.
    """

    level: DialogueState  # the state where the route begins
    route: Route
    # A weak reference: states cache their transitions, so a strong one would keep all states alive.
    future: ref[DialogueState]
    closing: tuple[TreeAction, ...] | None = None
    ending: tuple[TreeAction, ...] = ()
    then: MessageTransition | None = None


class DialogueAutomaton:
    """The automaton of a dialogue grammar, built as it is asked and shared by all sessions.

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
        state = self._states.get(key)
        if state is None:
            depends_on_fields = self.positions.depends_on_fields(position) or (
                following is not None and following.depends_on_fields and position.ending is not None
            )
            state = self._states[key] = DialogueState(position, following, depends_on_fields=depends_on_fields)
            self._kept.append(state)
        return state

    def prepare(self) -> None:
        """Build the states that are not too far ahead now."""
        self.ahead(self.beginning)

    def moves(self, state: DialogueState, fields: LoopFields | None) -> tuple[MessageType, ...]:
        """The message types that may come next, in the order of the spec."""
        if state.depends_on_fields:
            return self.in_order(
                move for level in self._levels(state, fields) for move in self._moves_at(level, fields)
            )
        if state.moves is None:
            self._find_out(state)
        return state.moves or ()

    def can_end(self, state: DialogueState, fields: LoopFields | None) -> bool:
        """Return True if the session may end here."""
        if state.depends_on_fields:
            *_, last = self._levels(state, fields)
            if last.depends_on_fields:
                return last.following is None and self.positions.ending(last.position, fields) is not None
            return self.can_end(last, None)
        if state.moves is None:
            self._find_out(state)
        return state.can_end

    def steps(
        self, state: DialogueState, move: MessageType, fields: LoopFields | None
    ) -> tuple[MessageTransition, ...]:
        """All transitions by a message, the preferred first."""
        if not state.depends_on_fields:
            return self._known_steps(state, move)
        found: tuple[MessageTransition, ...] = ()
        for level in reversed(list(self._levels(state, fields))):
            if level.depends_on_fields:
                routes = self.positions.routes(level.position, fields).get(move, [])
                found = self._merged(level, routes, self.positions.ending(level.position, fields), found)
            else:
                found = self._known_steps(level, move)
        return found

    def state_after(self, step: MessageTransition) -> DialogueState:
        """The state after a transition."""
        state = step.future()
        return state if state is not None else self.state_along(step.level, step.route)

    def covers(self, one: DialogueState, other: DialogueState) -> bool:
        """Return True if `one` can go on in all ways that `other` can, because it becomes `other` when rules end."""
        state: DialogueState | None = one
        for _ in range(MAX_ENDINGS_COMPARED):
            if state is other:
                return True
            if state is None or state.depends_on_fields or state.position.ending is None:
                return False
            state = state.following
        return False

    def ahead(self, state: DialogueState) -> frozenset[str]:
        """The symbols of the messages that may still come; of all messages, if there are too many states ahead."""
        ahead = self._ahead.get(state)
        if ahead is None:
            ahead = self._ahead[state] = self._look_ahead(state)
        return ahead

    def _look_ahead(self, state: DialogueState) -> frozenset[str]:
        fields = AnyFields(self.positions) if self.positions.has_computed_loops else None
        symbols: set[str] = set()
        todo = [state]
        found = {state: None}
        for here in todo:
            for move in self.moves(here, fields):
                symbols.add(move.symbol)
                for step in self.steps(here, move, fields):
                    after = self.state_after(step)
                    if after not in found:
                        if len(found) >= MAX_STATES_AHEAD:
                            MAX_STATES_AHEAD.reached()
                            return frozenset(move.symbol for move in self._order)
                        found[after] = None
                        todo.append(after)
        return frozenset(symbols)

    def _find_out(self, state: DialogueState) -> None:
        """Cache the moves from a state and whether it can end, after those of all that it becomes when rules end."""
        levels: list[DialogueState] = []
        level: DialogueState | None = state
        while level is not None and level.moves is None:
            levels.append(level)
            level = level.following if level.position.ending is not None else None
        for level in reversed(levels):
            following = level.following if level.position.ending is not None else None
            level.can_end = level.position.ending is not None and (following is None or following.can_end)
            more = () if following is None else following.moves or ()
            level.moves = self.in_order((*self.positions.routes(level.position, None), *more))

    def _known_steps(self, state: DialogueState, move: MessageType) -> tuple[MessageTransition, ...]:
        levels: list[DialogueState] = []
        level: DialogueState | None = state
        while level is not None and move not in level.steps and move in self.moves(level, None):
            levels.append(level)
            level = level.following if level.position.ending is not None else None
        for level in reversed(levels):
            later = () if level.following is None else level.following.steps.get(move, ())
            routes = self.positions.routes(level.position, None).get(move, [])
            level.steps[move] = self._merged(level, routes, level.position.ending, later)
        return state.steps.setdefault(move, ())

    def _levels(self, state: DialogueState, fields: LoopFields | None) -> Iterator[DialogueState]:
        """This state, and those it becomes when rules end, up to the first that is not asking."""
        level: DialogueState | None = state
        while level is not None:
            yield level
            if not level.depends_on_fields or self.positions.ending(level.position, fields) is None:
                return
            level = level.following

    def _moves_at(self, level: DialogueState, fields: LoopFields | None) -> Iterable[MessageType]:
        """The moves of this level alone; if it is not asking, also of all below it."""
        return self.positions.routes(level.position, fields) if level.depends_on_fields else self.moves(level, None)

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
        """The transitions by the routes of a level, and after its end, without those that others cover."""
        found: list[tuple[DialogueState, MessageTransition]] = []
        for route in routes:
            state = self.state_along(level, route)
            closing = route.after.ending if route.after.is_over else None
            found.append((state, MessageTransition(level, route, ref(state), closing)))
        if ending is not None:
            for then in later:
                state = self.state_after(then)
                step = MessageTransition(then.level, then.route, ref(state), then.closing, ending, then)
                found.append((state, step))
        if not self.positions.distinguished:
            kept: list[tuple[DialogueState, MessageTransition]] = []
            for state, step in found:
                if not any(self.covers(other, state) for other, _ in kept):
                    kept.append((state, step))
            found = kept
        if len(found) > MAX_HYPOTHESES:
            MAX_HYPOTHESES.reached()
        return tuple(step for _, step in found[:MAX_HYPOTHESES])

    def state_along(self, level: DialogueState, route: Route) -> DialogueState:
        """The state at the end of a route."""
        state = level.following
        for position in route.pushed:
            state = self._state(position, state)
        if not route.after.is_over:
            return self._state(route.after, state)
        assert state is not None, "the end of the whole is never over"
        return state
