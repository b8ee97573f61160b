"""The incremental chart: every way to read the input so far, shared where ways agree.

How it works
------------
The chart knows three kinds of things.

Context   somebody wants a certain nonterminal at a certain position. Whoever wants it too shares the context. It keeps
          its *waiters*, the items that go on when it is done.
Item      a step of a right-hand side, reached at a position within a context: so far so good.
Result    a context is done at a certain position.

Positions are worked off in rising order, each through a list of items and results (its column). An item that wants a
nonterminal waits in its context; one that wants a terminal looks at the buffer, and each end of a match puts a new
item into a later column. A result moves all waiters on. A result that is empty is remembered in its context and
replayed to waiters that come later; that, and the rule that equal items are made once, is all that left recursion,
cycles and empty rules need. Items and results remember by which predecessor and child they came about (`prev`,
`child`, and `more` for further ways), and from these links the trees are read.

An ambiguous grammar has far more links than anything else. Nearly all lead to a known result once more, by an item
whose last step is a call (a *tail*). Of these the chart notes only where there are some. Should someone want the trees,
`ways` finds them again, because a tail has a link for every result of the context it waits in.

Data comes in pieces. A terminal that reaches the end of the buffer is kept, with its state, and goes on with the next
piece. Columns before the end never change again, so only the last one is kept.

Computed repetition. An *environment* says, for each path that some bound follows, which node was the last it
selected. It travels through the items from left to right, and contexts in which it matters are told apart by it.
Without computed bounds all environments are the same empty tuple.

Three shortcuts keep the chart small; none changes an answer. Nothing starts, moves on or is completed if the next
character does not fit what can come then. A pattern does not end where the next character cannot follow it. And a
pattern that goes round in one state runs ahead in compiled code. What was left out at the last position is kept, so
that a message about a bad input can name everything that could have stood there.

The chart may be given *tokens* (`tokens`): what it calls then is read at once, as if it were a terminal, wherever that
is sure to come to the same. Without them it is what everything else is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import Final, TypeAlias

from palaver.grammar.automaton import State
from palaver.grammar.code import SPEC_CODE_RAISES, raised
from palaver.matching.collector import CollectorPaused
from palaver.matching.matching_limits import MAX_SHARED_TEXT, MAX_TAILS_ONE_BY_ONE
from palaver.matching.steps import (
    BIT,
    HEAD,
    LITERAL,
    PERMUTATION,
    REPETITION,
    Computed,
    GrammarSlot,
    NextInput,
    Nonterminal,
)
from palaver.matching.tables import BoundEvaluator, GrammarTables
from palaver.matching.tokens import NEVER, UNSURE, CharacterRun, RuleToken, TokenTable
from palaver.matching.trails import NO_PATH_STATE, PathState
from palaver.trees.node import Node


class NoChild:
    """In place of a child: a link that adds none."""


NO_CHILD: Final = NoChild()


class Binding:
    """The node that a path selected last: one of the history, or else what was read from `start` to `end`."""

    __slots__ = ("end", "node", "origin", "start")

    def __init__(self, start: int, end: int, node: Node | None = None) -> None:
        self.start = start
        self.end = end
        self.node = node  # otherwise made when it is needed
        self.origin: CompletedGoal | RuleToken | None = None


Environment: TypeAlias = tuple[Binding | None, ...]


class ParseGoal:
    __slots__ = (
        "bounds",
        "empty_results",
        "env",
        "nonterminal",
        "path_state",
        "pos",
        "selected",
        "tail_goals",
        "tails",
        "waiters",
    )

    def __init__(self, nonterminal: Nonterminal, pos: int, env: Environment, path_state: PathState) -> None:
        self.nonterminal = nonterminal
        self.pos = pos
        self.env = env
        self.path_state = path_state  # below the node that this context is about
        self.selected: tuple[int, ...] = ()  # the paths that select this node
        self.bounds: tuple[int, int | None] = (1, 1)  # of a repetition
        self.waiters: list[EarleyItem] = []
        self.tails: list[EarleyItem] = []  # waiters for which this is the last step, see `GrammarSlot.is_tail`
        self.tail_goals: set[ParseGoal] | None = None  # those of the tails, once there are many and no more to come
        self.empty_results: list[CompletedGoal] = []


class EarleyItem:
    """Made by `_item`."""

    __slots__ = ("child", "count", "env", "goal", "more", "pos", "prev", "slot")

    slot: GrammarSlot
    goal: ParseGoal
    pos: int
    count: int  # iterations of a repetition, or the used parts of a permutation as a bit set
    env: Environment
    prev: EarleyItem | None  # None: the first step of an alternative
    child: ItemChild
    more: list[tuple[EarleyItem, ItemChild]] | None


class CompletedGoal:
    """Made by `_result`."""

    __slots__ = ("child", "end", "env", "goal", "graph", "more", "prev")

    goal: ParseGoal
    end: int
    env: Environment
    prev: EarleyItem
    child: ItemChild
    more: list[tuple[EarleyItem, ItemChild]] | None  # without those that end with a tail, see `EarleyParser.ways`
    graph: object  # kept here by those who read the trees


# These do what constructors would, in two thirds of the time, and there is nothing that is done more often.


def _item(
    slot: GrammarSlot,
    goal: ParseGoal,
    pos: int,
    count: int,
    env: Environment,
    prev: EarleyItem | None,
    child: ItemChild,
) -> EarleyItem:
    item = EarleyItem()
    item.slot = slot
    item.goal = goal
    item.pos = pos
    item.count = count
    item.env = env
    item.prev = prev
    item.child = child
    item.more = None
    return item


def _result(goal: ParseGoal, end: int, env: Environment, prev: EarleyItem, child: ItemChild) -> CompletedGoal:
    result = CompletedGoal()
    result.goal = goal
    result.end = end
    result.env = env
    result.prev = prev
    result.child = child
    result.more = None
    result.graph = None
    return result


# What an item was moved on by: a nonterminal, a terminal or token (None; its text is what lies between), or nothing.
ItemChild: TypeAlias = CompletedGoal | NoChild | None


class StateSet:
    __slots__ = ("done", "goals", "key", "pos", "results", "seen", "skipped", "todo")

    def __init__(self, pos: int, key: NextInput) -> None:
        self.pos = pos
        self.key = key  # what comes next
        self.todo: list[EarleyItem | CompletedGoal] = []
        self.done = 0  # how much of `todo` has been worked off
        self.seen: dict[object, EarleyItem] = {}
        self.results: dict[object, CompletedGoal] = {}  # by their context, and the environment if there is one
        self.goals: dict[object, ParseGoal] = {}
        # What did not fit the key, and was left out: moves of an item, or completions of the item's context.
        self.skipped: list[tuple[bool, EarleyItem, ItemChild, Environment]] = []


class EarleyParser:
    """One reading of one input. `extend` it piece by piece and look at `ends`, `is_alive` and `frontier`."""

    def __init__(
        self,
        tables: GrammarTables,
        bound: BoundEvaluator,
        first_tree: Callable[[EarleyParser, CompletedGoal], Node],
        history: Sequence[Node] = (),
        *,
        prune: bool = True,
        tokens: TokenTable | None = None,
        lazy: bool = True,
    ) -> None:
        self.tables = tables
        self.buffer = ""
        self.limit = 0  # the position at the end of the buffer
        self.ends: dict[int, list[CompletedGoal]] = {}  # where the start symbol is complete
        self.end_positions: list[int] = []  # the keys of `ends`, rising
        self.crashes: list[str] = []
        self._unit = tables.unit
        self._bound = bound
        self._first_tree = first_tree
        self._prune = prune
        self.tokens = tokens  # what is read at once, if something is
        self.tracks_expected = tokens is None  # if not, neither what is open nor what was expected
        self.lazy = lazy  # whether the nodes of tokens may make their children later
        self._bounds: dict[tuple[Computed, Binding | None], int | None] = {}
        self._bindings: dict[tuple[int, int, int], Binding] = {}
        self._state_sets: dict[int, StateSet] = {}
        self._goals: list[ParseGoal] = []
        self.shared: dict[
            int, dict[object, CompletedGoal]
        ] = {}  # the results that end where tails have led to some again
        self._tails: dict[ParseGoal, list[tuple[EarleyItem, ParseGoal]]] = {}  # see `_find_tails`
        self._positions: list[int] = []
        self._unmatched: list[EarleyItem] = []  # terminals that begin at the end of the buffer
        self._partly_matched: list[tuple[EarleyItem, State | int]] = []  # terminals that began before it
        # What was in progress where the reading got furthest, for the sake of messages.
        self._failed_at = -1
        self._failed: list[GrammarSlot] = []
        self._pruned_at = -1
        self._pruned: list[EarleyItem] = []
        self._last = self._state_set(0)
        self._begin(history)
        self._run()

    # --- What is known ----------------------------------------------------------------------------------------------

    @property
    def is_alive(self) -> bool:
        """Whether more input could be read."""
        return bool(self._unmatched or self._partly_matched)

    @property
    def frontier(self) -> list[EarleyItem]:
        """The items whose terminal has not been seen to its end."""
        return self._unmatched + [item for item, _ in self._partly_matched]

    @property
    def unfinished(self) -> list[EarleyItem]:
        """Those of the frontier whose terminal cannot end where the input does."""
        partly_matched = (item for item, state in self._partly_matched if isinstance(state, int) or not state.accepts)
        return [*self._unmatched, *partly_matched]

    @property
    def furthest(self) -> int:
        """How far the input is the beginning of something that conforms."""
        return max(self._last.pos, self._failed_at, self._pruned_at)

    def expected_at_furthest(self) -> tuple[list[GrammarSlot], bool]:
        """The terminals that could stand or go on at `furthest`, in the order of the spec; whether the end could."""
        pos = self.furthest
        if self._prune:
            self._stop_pruning(pos)
        slots = dict.fromkeys(item.slot for item, _ in self._partly_matched)
        if self._failed_at == pos:
            slots.update(dict.fromkeys(self._failed))
        if self._last.pos == pos:
            for entry in self._last.todo:
                if isinstance(entry, EarleyItem):
                    slots.update(dict.fromkeys(self._wanted(entry)))
        return sorted(slots, key=lambda slot: slot.order), pos in self.ends and pos % self._unit == 0

    def _wanted(self, item: EarleyItem) -> Iterator[GrammarSlot]:
        slot = item.slot
        if slot.kind == HEAD:
            return
        if slot.mode == REPETITION:
            most = item.goal.bounds[1]
            if most is not None and item.count >= most:
                return
        if slot.target is None:
            if self._can_stand(slot, item.pos):
                yield slot
        else:
            for terminal in self.tables.first_follow.members(slot.target.certain_first_set):
                if self._can_stand(terminal, item.pos):
                    yield terminal

    def _can_stand(self, slot: GrammarSlot, pos: int) -> bool:
        if slot.kind == BIT:
            return True
        if slot.kind == LITERAL:
            return slot.text != "" and pos % self._unit == 0
        return slot.start is not None and slot.start.can_go_on and pos % self._unit == 0

    def ways(self, result: CompletedGoal) -> list[tuple[EarleyItem, ItemChild]]:
        """All ways in which a result came about: the last item of each, and the child after it."""
        ways = [] if result.more is None else result.more.copy()
        end = result.end
        results = self.shared.get(end)
        if results is None or not _is_tail(result.prev, result.child):
            ways.append((result.prev, result.child))
        if results is not None:
            for item, inner in (self._tails or self._find_tails()).get(result.goal, ()):
                if item.pos > end:
                    break
                child = results.get(inner)
                if child is not None:
                    ways.append((item, child))
        return ways

    def _find_tails(self) -> dict[ParseGoal, list[tuple[EarleyItem, ParseGoal]]]:
        """For each context the tails that complete it, by rising positions, and what they wait for."""
        for inner in self._goals:
            for item in inner.tails:
                self._tails.setdefault(item.goal, []).append((item, inner))
        return self._tails

    def release(self) -> None:
        """Forget all that only more input, or a message about a bad one, could ask for.

        Contexts and those who wait in them hold each other. Without that, Python can throw a chart away at once.
        """
        for goal in self._goals:
            goal.waiters.clear()
            goal.empty_results.clear()
        if not self.shared:
            self._goals.clear()  # otherwise `ways` needs them
        self._unmatched.clear()
        self._partly_matched.clear()
        self.tracks_expected = False

    # --- Reading ----------------------------------------------------------------------------------------------------

    def extend(self, text: str) -> None:
        """Read a further piece of the input."""
        if not text:
            return
        self.buffer += text
        self.limit = len(self.buffer) * self._unit
        with CollectorPaused():
            self._read_on(len(text))

    def _read_on(self, added: int) -> None:
        unmatched, self._unmatched = self._unmatched, []
        partly_matched, self._partly_matched = self._partly_matched, []
        for item, state in partly_matched:
            if isinstance(state, int):
                self._resume_literal(item, state)
            else:
                self._run_pattern(item, state, (self.limit // self._unit) - added)
        for item in unmatched:
            self._scan(item, is_new=False)
        self._run()

    def _begin(self, history: Sequence[Node]) -> None:
        tables = self.tables
        bindings: list[Binding | None] = [None] * len(tables.bound_paths.paths)
        for number, message in enumerate(history):
            for path, node in tables.bound_paths.selected_in(message):
                bindings[path] = Binding(number - len(history), 0, node)
        env = tuple(bindings)
        self.root = self._new_goal(self._last, tables.start, env, NO_PATH_STATE)

    def _state_set(self, pos: int) -> StateSet:
        state_set = self._state_sets.get(pos)
        if state_set is None:
            state_set = self._state_sets[pos] = StateSet(pos, self._key(pos))
            heappush(self._positions, pos)
        return state_set

    def _run(self) -> None:
        positions = self._positions
        self._tails.clear()
        while positions:
            pos = heappop(positions)
            self._last = self._state_sets[pos]
            self._process(self._last)
            del self._state_sets[pos]

    def _process(self, state_set: StateSet) -> None:
        pos = state_set.pos
        todo = state_set.todo
        goals = state_set.goals
        key = state_set.key
        tokens = self.tokens
        # The list grows while it is read.
        for entry in islice(todo, state_set.done, None):
            if isinstance(entry, CompletedGoal):
                self._advance_waiters(entry, state_set)
                continue
            slot = entry.slot
            if slot.mode == REPETITION:
                least, most = entry.goal.bounds
                if entry.count >= least:
                    self._complete(entry, NO_CHILD, entry.env, state_set)
                if most is not None and entry.count >= most:
                    continue
            target = slot.target
            if target is not None:
                if target.is_tracked:
                    env, path_state = entry.env, entry.goal.path_state
                    goal = goals.get((target, env, path_state))
                else:
                    env, path_state = (), NO_PATH_STATE
                    goal = goals.get(target)
                if goal is None:
                    token = tokens[target] if tokens is not None else None
                    if token is not None and self._read_at_once(entry, token, target):
                        continue
                    if target.is_static and not target.starts[key]:
                        continue
                    goal = self._new_goal(state_set, target, env, path_state)
                if slot.is_tail:
                    goal.tails.append(entry)
                else:
                    goal.waiters.append(entry)
                for result in goal.empty_results:
                    self._advance(entry, pos, result, result.env if target.is_tracked else entry.env, state_set)
            elif slot.kind == HEAD:
                self._choose_part(entry, state_set)
            else:
                self._scan(entry, is_new=True)
        state_set.done = len(todo)

    def _advance_waiters(self, result: CompletedGoal, state_set: StateSet) -> None:
        """Move all on who wait for what is done now."""
        goal = result.goal
        pos = state_set.pos
        if goal.pos == pos:
            goal.empty_results.append(result)
        if goal is self.root:
            self._note_end(result)
        is_tracked = goal.nonterminal.is_tracked
        for waiter in goal.waiters:
            self._advance(waiter, pos, result, result.env if is_tracked else waiter.env, state_set)
        tails = goal.tails
        results = state_set.results
        if len(tails) > MAX_TAILS_ONE_BY_ONE and goal.pos < pos:
            # In ambiguous grammars most tails only find once more what is known. That is left to compiled code.
            if goal.tail_goals is None:
                goal.tail_goals = {item.goal for item in tails}
            if not goal.tail_goals.difference(results):
                self.shared[pos] = results
                return
        for item in tails:
            goal = item.goal
            if goal in results:
                self.shared[pos] = results
            elif goal.nonterminal.may_end[state_set.key]:
                results[goal] = new = _result(goal, pos, (), item, result)
                state_set.todo.append(new)
            else:
                state_set.skipped.append((True, item, result, ()))

    def _note_end(self, result: CompletedGoal) -> None:
        if result.end not in self.ends:
            self.ends[result.end] = []
            self.end_positions.append(result.end)
        self.ends[result.end].append(result)

    def _key(self, pos: int) -> NextInput:
        """What comes next at `pos`: a character, a bit if `pos` is inside a byte, None at the end of the buffer."""
        if pos == self.limit or not self._prune:
            return None
        index, bits = divmod(pos, self._unit)
        return ord(self.buffer[index]) >> (7 - bits) & 1 if bits else self.buffer[index]

    def _new_goal(self, state_set: StateSet, target: Nonterminal, env: Environment, path_state: PathState) -> ParseGoal:
        pos = state_set.pos
        goal = ParseGoal(target, pos, env, path_state)
        self._goals.append(goal)
        state_set.goals[(target, env, path_state) if target.is_tracked else target] = goal
        if target.is_tracked and target.symbol is not None:
            goal.path_state, goal.selected = self.tables.bound_paths.descend(path_state, target.symbol)
        if target.is_repetition:
            bounds = target.bounds or self._computed_bounds(target, env)
            if bounds is None:
                return goal
            goal.bounds = bounds
        todo = state_set.todo
        for start in target.starts[state_set.key if target.is_static else None]:
            todo.append(_item(start, goal, pos, 0, env, None, NO_CHILD))
        return goal

    def _advance(self, item: EarleyItem, pos: int, child: ItemChild, env: Environment, state_set: StateSet) -> None:
        """Move `item` on to `pos`, where `state_set` is, over `child`."""
        slot = item.slot
        following = slot.following
        if following is None:
            self._complete(item, child, env, state_set)
            return
        if slot.is_opening:
            # Nothing else leads to the second step, and the first has each child once.
            if following.fits[state_set.key]:
                new = _item(following, item.goal, pos, 0, env, item, child)
                known_goal = state_set.goals.get(following.target) if following.is_tail else None
                if known_goal is None or known_goal.empty_results:
                    state_set.todo.append(new)
                else:
                    known_goal.tails.append(new)
            else:
                state_set.skipped.append((False, item, child, env))
            return
        count = 0
        if slot.mode == REPETITION:
            least, most = item.goal.bounds
            count = item.count
            # Only the iterations that must be there may be empty; an empty one more would go on for ever.
            if count >= least:
                if pos == item.pos:
                    return
                if most is not None:
                    count += 1
            else:
                count += 1
        elif slot.mode == PERMUTATION:
            count = item.count | slot.bit
        if not following.fits[state_set.key]:
            state_set.skipped.append((False, item, child, env))
            return
        goal = item.goal
        key = (following, goal, count, env) if count or env else (following, goal)
        known = state_set.seen.get(key)
        if known is None:
            state_set.seen[key] = new = _item(following, goal, pos, count, env, item, child)
            state_set.todo.append(new)
        elif known.more is None:
            known.more = [(item, child)]
        else:
            known.more.append((item, child))

    def _complete(self, item: EarleyItem, child: ItemChild, env: Environment, state_set: StateSet) -> None:
        """The context of `item` is done, by `item` and then `child`."""
        goal = item.goal
        if not goal.nonterminal.may_end[state_set.key]:
            state_set.skipped.append((True, item, child, env))
            return
        if goal.selected:
            env = self._select(goal.selected, goal.pos, state_set.pos, env)
        key = (goal, env) if env else goal
        known = state_set.results.get(key)
        if known is None:
            state_set.results[key] = result = _result(goal, state_set.pos, env, item, child)
            state_set.todo.append(result)
            for path in goal.selected:
                binding = env[path]
                if binding is not None and binding.origin is None:
                    binding.origin = result
        elif _is_tail(item, child):
            self.shared[state_set.pos] = state_set.results
        elif known.more is None:
            known.more = [(item, child)]
        else:
            known.more.append((item, child))

    def _choose_part(self, head: EarleyItem, state_set: StateSet) -> None:
        """Go on with each part of a permutation that has not been used; without any left, the permutation is done."""
        used = head.count
        left = [part for part in head.slot.owner.parts if not used & part.bit]
        for part in left:
            state_set.todo.append(_item(part, head.goal, head.pos, used, head.env, head, NO_CHILD))
        if not left:
            self._complete(head, NO_CHILD, head.env, state_set)

    def _read_at_once(self, item: EarleyItem, token: RuleToken | CharacterRun, target: Nonterminal) -> bool:
        """Move `item` on over a token. If not even that it cannot be here is certain, False."""
        index, bits = divmod(item.pos, self._unit)
        if bits:
            return False
        env = item.env
        if isinstance(token, CharacterRun):
            limits = target.bounds or self._computed_bounds(target, env)
            end = NEVER if limits is None else token.end(self.buffer, index, limits)
        else:
            end = token.end(self.buffer, index)
            if end >= 0 and target.is_tracked:
                env = self._select_token(item, token, end)
        if end >= 0:
            pos = end * self._unit
            self._advance(item, pos, None, env, self._state_set(pos))
        return end != UNSURE

    # --- Terminals --------------------------------------------------------------------------------------------------

    def _scan(self, item: EarleyItem, *, is_new: bool) -> None:
        """Match the terminal that `item` wants. `is_new` is false on the second attempt, with a longer buffer."""
        slot = item.slot
        index, bits = divmod(item.pos, self._unit)
        if slot.kind == BIT:
            if item.pos == self.limit:
                self._unmatched.append(item)
                return
            code = ord(self.buffer[index])
            if code < 0x100 and code >> (7 - bits) & 1 == slot.bit:
                self._end_terminal(item, item.pos + 1)
        elif bits:
            return  # whole characters stand at byte borders only
        elif slot.kind == LITERAL:
            self._scan_literal(item, index)
        else:
            state = slot.start
            assert state is not None  # every pattern has its automaton
            if is_new and state.accepts:
                self._end_pattern(item, index)
            if item.pos < self.limit:
                self._run_pattern(item, state, index)
            elif state.can_go_on:
                self._unmatched.append(item)

    def _end_terminal(self, item: EarleyItem, pos: int) -> None:
        self._advance(item, pos, None, item.env, self._state_set(pos))

    def _scan_literal(self, item: EarleyItem, index: int) -> None:
        text = item.slot.text
        if self.buffer.startswith(text, index):
            pos = item.pos + len(text) * self._unit
            self._end_terminal(item, pos)
        elif item.pos == self.limit:
            self._unmatched.append(item)
        elif self.buffer[index] == text[0]:
            self._resume_literal(item, 1)

    def _resume_literal(self, item: EarleyItem, matched: int) -> None:
        """Go on with a literal of which `matched` characters have been seen."""
        text = item.slot.text
        index = item.pos // self._unit
        seen = self.buffer[index + matched : index + len(text)]
        if text.startswith(seen, matched):
            matched += len(seen)
            if matched == len(text):
                self._end_terminal(item, item.pos + matched * self._unit)
            else:
                self._partly_matched.append((item, matched))
            return
        while text[matched] == self.buffer[index + matched]:
            matched += 1
        self._fail(item.slot, item.pos + matched * self._unit)

    def _run_pattern(self, item: EarleyItem, state: State, at: int) -> None:
        """Go on with a pattern that stands in `state` before the character number `at`."""
        slot = item.slot
        buffer = self.buffer
        size = len(buffer)
        while at < size:
            following = state[buffer[at]]
            if following is None:
                if state.can_go_on and at * self._unit > item.pos:
                    self._fail(slot, at * self._unit)
                return
            if following is not state:
                state = following
                at += 1
            elif self._prune and (ahead := slot.run_ahead(state, buffer, at)) > at:
                at = ahead
            else:
                at += 1
            if state.accepts:
                self._end_pattern(item, at)
        if state.can_go_on:
            self._partly_matched.append((item, state))

    def _end_pattern(self, item: EarleyItem, at: int) -> None:
        """A match of a pattern may end before the character number `at`."""
        slot = item.slot
        pos = at * self._unit
        if slot.verify is not None and not slot.verify(self.buffer[item.pos // self._unit : at]):
            return
        if pos == self.limit or not self._prune or slot.follow[self.buffer[at]]:
            self._end_terminal(item, pos)
        elif pos >= self._pruned_at:
            if pos > self._pruned_at:
                self._pruned_at = pos
                self._pruned = []
            self._pruned.append(item)

    def _fail(self, slot: GrammarSlot, pos: int) -> None:
        if pos > self._failed_at:
            self._failed_at = pos
            self._failed = []
        if pos == self._failed_at:
            self._failed.append(slot)

    def _stop_pruning(self, pos: int) -> None:
        """Do all that was left out at `pos`, the furthest position, to learn what could have stood there."""
        self._prune = False
        if self._last.pos == pos:
            self._state_sets[pos] = self._last
            heappush(self._positions, pos)
        state_set = self._state_set(pos)
        state_set.key = None
        skipped, state_set.skipped = state_set.skipped, []
        for is_complete, item, child, env in skipped:
            if is_complete:
                self._complete(item, child, env, state_set)
            else:
                self._advance(item, pos, child, env, state_set)
        if self._pruned_at == pos:
            for item in self._pruned:
                self._end_pattern(item, pos // self._unit)
        self._run()

    # --- Computed repetition ----------------------------------------------------------------------------------------

    def _select(self, paths: tuple[int, ...], start: int, end: int, env: Environment) -> Environment:
        """The environment once a node that these paths select has ended."""
        bindings = list(env)
        for path in paths:
            key = path, start, end
            if key not in self._bindings:
                self._bindings[key] = Binding(start, end)
            bindings[path] = self._bindings[key]
        return tuple(bindings)

    def _select_token(self, item: EarleyItem, token: RuleToken, end: int) -> Environment:
        """The environment once the token that `item` calls has ended before the character number `end`."""
        _, selected = self.tables.bound_paths.descend(item.goal.path_state, token.symbol)
        env = self._select(selected, item.pos, end * self._unit, item.env)
        for path in selected:
            binding = env[path]
            if binding is not None:
                binding.origin = token
        return env

    def _computed_bounds(self, target: Nonterminal, env: Environment) -> tuple[int, int | None] | None:
        least = self._evaluate(target.least, env)
        most = None
        if target.most is not None:
            most = least if target.most is target.least else self._evaluate(target.most, env)
            if most is None or most < 0:
                return None
        if least is None or (most is not None and least > most):
            return None
        return max(0, least), most

    def _evaluate(self, bound: int | Computed, env: Environment) -> int | None:
        """The value of a bound; None if it has none."""
        if isinstance(bound, int):
            return bound
        binding = None
        if bound.path is not None:
            binding = env[bound.path]
            if binding is None:
                return None
        key = bound, binding
        if key not in self._bounds:
            self._bounds[key] = self._ask(bound, binding)
        return self._bounds[key]

    def _ask(self, bound: Computed, binding: Binding | None) -> int | None:
        text = self._short_text(binding) if bound.is_pure and binding is not None else None
        if text is not None and text in bound.known:
            return bound.known[text]
        node = None if binding is None else self._node_of(binding)
        try:
            value = int(self._bound(bound.expression, node))
        except SPEC_CODE_RAISES as error:
            crash = f"the bound {{{bound.expression.text}}} {raised(error)}"
            if crash not in self.crashes:
                self.crashes.append(crash)
            return None
        if text is not None:
            bound.known[text] = value
        return value

    def _short_text(self, binding: Binding) -> str | None:
        """What was read there, if it was in this input, and is no more than a few whole characters."""
        start, bits = divmod(binding.start, self._unit)
        end, more_bits = divmod(binding.end, self._unit)
        return None if bits or more_bits or start < 0 or end - start > MAX_SHARED_TEXT else self.buffer[start:end]

    def _node_of(self, binding: Binding) -> Node:
        if binding.node is None:
            origin = binding.origin
            assert origin is not None  # set as soon as the binding is made
            if isinstance(origin, CompletedGoal):
                binding.node = self._first_tree(self, origin)
            else:
                text = self.buffer[binding.start // self._unit : binding.end // self._unit]
                binding.node = origin.node(text, None, lazy=self.lazy)
        return binding.node


def _is_tail(item: EarleyItem, child: ItemChild) -> bool:
    """Whether a link is one of those that are found again. If the item has moved on over a token, it is not."""
    return item.slot.is_tail and child is not None
