"""Incremental Earley parser (Earley 1970) with one character of lookahead, and links for a parse forest (Scott 2008).

ParseGoal       a nonterminal predicted at a position. It keeps its *waiters*, the items that go on when it is complete.
EarleyItem      a dotted rule at a position, within the goal whose rule it is.
CompletedGoal   a goal completed at a position.

State sets are processed in rising order of positions, each through a list that grows. The *predictor* turns an item
before a nonterminal into a goal, or lets it wait in the one that is there; the *scanner* (`earley_scanner`) matches
terminals, and each end of a match puts an item into a later state set; the *completer* moves all waiters on. A goal
completed without reading anything is remembered and replayed to waiters that come later; that, and making equal items
once, is all that left recursion, cycles and empty rules need. Items and completed goals remember their predecessor and
child (`prev`, `child`, and `more` for further ways), and the trees are read from these links (`parse_forest`).

In an ambiguous grammar nearly all links lead to a known completed goal once more, by an item whose last slot is a call
(a *tail*). Of these the parser only notes where there are some. `ways` finds them again when trees are wanted, because
a tail has a link for every completion of the goal it waits in.

State sets before the end of the buffer never change again, so only the last one is kept. Lookahead keeps the state sets
small and changes no answer: nothing is predicted, moved on or completed if the next character does not fit what can
come then. What was left out at the last position is kept, so that a message about a bad input can name everything that
could have stood there.

The parser may be given *tokens* (`token_rules`): rules that it reads at once, like terminals, wherever that is sure to
come to the same. Without them it is the reference that every other reader is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice

from palaver import interruption
from palaver.errors import Undecided
from palaver.matching.bound_paths import NO_PATH_STATE, PathState
from palaver.matching.collector_pause import CollectorPaused
from palaver.matching.earley_bounds import ComputedBounds
from palaver.matching.earley_items import (
    NO_CHILD,
    Binding,
    CompletedGoal,
    EarleyItem,
    Environment,
    GoalLimits,
    ItemChild,
    ParseGoal,
    StateSet,
    is_tail_link,
    new_item,
    new_result,
)
from palaver.matching.earley_scanner import EarleyScanner
from palaver.matching.grammar_slots import HEAD, PERMUTATION, REPETITION, GrammarSlot, Nonterminal
from palaver.matching.grammar_tables import BoundEvaluator, GrammarTables
from palaver.matching.matching_limits import MAX_TAILS_ONE_BY_ONE, WORK_BETWEEN_CHECKS
from palaver.matching.reading_budget import ReadingBudget
from palaver.matching.token_rules import NEVER, UNSURE, CharacterRun, RuleToken, TokenTable
from palaver.trees.node import Node


class EarleyParser(EarleyScanner):
    """A parse of one input. `extend` it piece by piece and look at `ends`, `is_alive` and `frontier`."""

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
        budget: ReadingBudget | None = None,
    ) -> None:
        super().__init__(tables.unit, prune=prune, budget=budget)
        self.tables = tables
        self.ends: dict[int, list[CompletedGoal]] = {}  # by position, where the start symbol is complete
        self.end_positions: list[int] = []  # the keys of `ends`, rising
        self.tokens = tokens
        self.tracks_expected = tokens is None  # with tokens it knows neither open nodes nor expected terminals
        self.lazy = lazy  # True if the nodes of tokens may make their children later
        self._bounds = ComputedBounds(tables, bound, first_tree)
        self.crashes = self._bounds.crashes  # the errors that computed bounds raised
        self._state_sets: dict[int, StateSet] = {}
        self._goals: list[ParseGoal] = []
        # Where tails have led to known completed goals again, all completed goals of the position.
        self.shared: dict[int, dict[object, CompletedGoal]] = {}
        self._tails: dict[ParseGoal, list[tuple[EarleyItem, ParseGoal]]] = {}  # see `_find_tails`
        self._positions: list[int] = []
        self._last = self._state_set(0)
        self._begin(history)
        self._run()

    @property
    def furthest(self) -> int:
        """The length of the longest prefix of the input that can be continued to a sentence."""
        return max(self._last.pos, self._failed_at, self._pruned_at)

    def expected_at_furthest(self) -> tuple[list[GrammarSlot], bool]:
        """The terminals that could stand or go on at `furthest`, in the order of the spec; True if the end could."""
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

    def ways(self, result: CompletedGoal) -> list[tuple[EarleyItem, ItemChild]]:
        """All derivations of a completed goal: the last item of each, and the child after it."""
        ways = [] if result.more is None else result.more.copy()
        end = result.end
        results = self.shared.get(end)
        if results is None or not is_tail_link(result.prev, result.child):
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
        """The tails that complete each goal, by rising positions, and the goals they wait for."""
        for inner in self._goals:
            for item in inner.tails:
                self._tails.setdefault(item.goal, []).append((item, inner))
        return self._tails

    def release(self) -> None:
        """Drop what only more input, or a message about it, needs: without the cycles Python frees a parser at once."""
        for goal in self._goals:
            goal.waiters.clear()
            goal.empty_results = ()
        if not self.shared:
            self._goals.clear()  # otherwise `ways` needs them
        self._unmatched.clear()
        self._partly_matched.clear()
        self.tracks_expected = False

    def _forget(self) -> None:
        self.release()
        for kept in (self._goals, self._state_sets, self._positions, self._tails, self.shared, self.ends):
            kept.clear()
        self._last = StateSet(self._last.pos, None)

    def extend(self, text: str) -> None:
        """Read a further piece of the input."""
        if not text:
            return
        self.buffer += text
        self.limit = len(self.buffer) * self._unit
        try:
            with CollectorPaused():
                self._rescan(len(text))
                self._run()
        except Undecided:
            self._forget()  # it may be much, and is of no use
            raise

    def _begin(self, history: Sequence[Node]) -> None:
        tables = self.tables
        bindings: list[Binding | None] = [None] * len(tables.bound_paths.paths)
        for number, message in enumerate(history):
            for path, node in tables.bound_paths.selected_in(message):
                bindings[path] = Binding(number - len(history), 0, node)
        self.root = self._new_goal(self._last, tables.start, tuple(bindings), NO_PATH_STATE)

    def _end_terminal(self, item: EarleyItem, pos: int) -> None:
        if item.goal.limits is not None and not item.goal.limits.allow(pos):
            return
        if self._budget is not None:
            self._spend_budget(1)
        self._advance(item, pos, None, item.env, self._state_set(pos))

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
            if self._uncounted > WORK_BETWEEN_CHECKS:
                self.spend(0)
                interruption.check()
            pos = heappop(positions)
            self._last = self._state_sets[pos]
            self._process(self._last)
            del self._state_sets[pos]
        self.spend(0)

    def _process(self, state_set: StateSet) -> None:
        pos = state_set.pos
        todo = state_set.todo
        goals = state_set.goals
        key = state_set.key
        tokens = self.tokens
        has_limits = self.tables.has_limits
        made_ahead = len(todo)
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
                if has_limits and (target.length is not None or entry.goal.limits is not None):
                    self._predict_limited(entry, target, state_set)
                    continue
                if target.is_tracked:
                    env, path_state = entry.env, entry.goal.path_state
                    goal = goals.get((target, env, path_state))
                else:
                    env, path_state = (), NO_PATH_STATE
                    goal = goals.get(target)
                if goal is None:
                    token = tokens[target] if tokens is not None else None
                    if token is not None and self._scan_token(entry, token, target):
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
        # All moves of a state set are at most as many as items were made: so it is enough to count them at its end.
        self._uncounted += len(todo) + len(state_set.skipped)
        if self._budget is not None:
            self._spend_budget(len(todo) + len(state_set.skipped) - (state_set.done or made_ahead))
        state_set.done = len(todo)

    def _predict_limited(self, entry: EarleyItem, target: Nonterminal, state_set: StateSet) -> None:
        """Predictor for what must not go beyond a position: the limit of its goal, or one of its own."""
        pos, around = state_set.pos, entry.goal.limits
        limit = None if around is None else around.last
        start = pos
        if target.is_total:
            start = entry.goal.pos if around is None else around.start
        ends = self._bounds.ends(target, start, entry.env, self)
        if ends is not None:
            limit = ends.greatest if limit is None else min(limit, ends.greatest)
            if limit < pos or limit < ends.least:
                return
        env, path_state = (entry.env, entry.goal.path_state) if target.is_tracked else ((), NO_PATH_STATE)
        key = target, env, path_state, limit, ends, start
        goal = state_set.goals.get(key)
        if goal is None:
            token = self.tokens[target] if self.tokens is not None and target.length is None else None
            if token is not None and self._scan_token(entry, token, target):
                return
            if target.is_static and not target.starts[state_set.key]:
                return
            goal = self._new_goal(state_set, target, env, path_state, key)
            goal.limits = GoalLimits(limit, ends, start)
        goal.waiters.append(entry)
        for result in goal.empty_results:
            self._advance(entry, pos, result, result.env if target.is_tracked else entry.env, state_set)

    def _advance_waiters(self, result: CompletedGoal, state_set: StateSet) -> None:
        """Completer: move all items on that wait for a completed goal."""
        goal = result.goal
        pos = state_set.pos
        if goal.pos == pos:
            goal.empty_results += (result,)
        if goal is self.root:
            self._note_end(result)
        is_tracked = goal.nonterminal.is_tracked
        for waiter in goal.waiters:
            self._advance(waiter, pos, result, result.env if is_tracked else waiter.env, state_set)
        tails = goal.tails
        results = state_set.results
        if len(tails) > MAX_TAILS_ONE_BY_ONE and goal.pos < pos:
            # In ambiguous grammars most tails only find once more what is known. Set operations do that in C.
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
                results[goal] = new = new_result(goal, pos, (), item, result)
                state_set.todo.append(new)
            else:
                state_set.skipped.append((True, item, result, ()))

    def _note_end(self, result: CompletedGoal) -> None:
        if result.end not in self.ends:
            self.ends[result.end] = []
            self.end_positions.append(result.end)
        self.ends[result.end].append(result)

    def _new_goal(
        self,
        state_set: StateSet,
        target: Nonterminal,
        env: Environment,
        path_state: PathState,
        key: tuple[object, ...] | None = None,
    ) -> ParseGoal:
        """A new goal; `key` is that of one that must not go beyond a position."""
        pos = state_set.pos
        goal = ParseGoal(target, pos, env, path_state)
        self._goals.append(goal)
        state_set.goals[key or ((target, env, path_state) if target.is_tracked else target)] = goal
        if target.is_tracked and target.symbol is not None:
            goal.path_state, goal.selected = self.tables.bound_paths.descend(path_state, target.symbol)
        if target.is_repetition:
            bounds = target.bounds or self._bounds.of(target, env, self)
            if bounds is None:
                return goal
            goal.bounds = bounds
        todo = state_set.todo
        for start in target.starts[state_set.key if target.is_static else None]:
            todo.append(new_item(start, goal, pos, 0, env, None, NO_CHILD))
        return goal

    def _advance(self, item: EarleyItem, pos: int, child: ItemChild, env: Environment, state_set: StateSet) -> None:
        """Move `item` on over `child` to `pos`, the position of `state_set`."""
        slot = item.slot
        following = slot.following
        if following is None:
            self._complete(item, child, env, state_set)
            return
        if slot.is_opening:
            # Nothing else leads to the second step, and the first has each child once.
            if following.fits[state_set.key]:
                new = new_item(following, item.goal, pos, 0, env, item, child)
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
            state_set.seen[key] = new = new_item(following, goal, pos, count, env, item, child)
            state_set.todo.append(new)
        else:
            self._add_way(known, item, child)

    def _complete(self, item: EarleyItem, child: ItemChild, env: Environment, state_set: StateSet) -> None:
        """Complete the goal of `item`, by `item` and then `child`."""
        goal = item.goal
        nonterminal = goal.nonterminal
        if goal.limits is not None and not goal.limits.allow_end(state_set.pos, self.buffer):
            return
        if not nonterminal.may_end[state_set.key]:
            state_set.skipped.append((True, item, child, env))
            return
        key: object = goal
        if env:
            if goal.selected:
                env = self._bounds.select(goal.selected, goal.pos, state_set.pos, env)
            if nonterminal.own_paths:
                env = self._bounds.forget(nonterminal.own_paths, env, goal.env)
            key = (goal, env)
        known = state_set.results.get(key)
        if known is None:
            state_set.results[key] = result = new_result(goal, state_set.pos, env, item, child)
            state_set.todo.append(result)
            for path in goal.selected:
                binding = env[path]
                if binding is not None and binding.origin is None:
                    binding.origin = result
        elif is_tail_link(item, child):
            self.shared[state_set.pos] = state_set.results
        else:
            self._add_way(known, item, child)

    def _add_way(self, known: EarleyItem | CompletedGoal, item: EarleyItem, child: ItemChild) -> None:
        """Keep a further way to an item or a completed goal."""
        self._uncounted += 1
        self._spend_budget(1)
        if known.more is None:
            known.more = [(item, child)]
        else:
            known.more.append((item, child))

    def _choose_part(self, head: EarleyItem, state_set: StateSet) -> None:
        """Go on with each part of a permutation that has not been used; without any left, the permutation is done."""
        used = head.count
        left = [part for part in head.slot.owner.parts if not used & part.bit]
        for part in left:
            state_set.todo.append(new_item(part, head.goal, head.pos, used, head.env, head, NO_CHILD))
        if not left:
            self._complete(head, NO_CHILD, head.env, state_set)

    def _scan_token(self, item: EarleyItem, token: RuleToken | CharacterRun, target: Nonterminal) -> bool:
        """Move `item` on over a token; False if it is uncertain whether the token is here."""
        index = item.pos
        if self._unit > 1:
            index, bits = divmod(index, self._unit)
            if bits:
                return False
        env = item.env
        limit = None
        if item.goal.limits is not None:
            last = item.goal.limits.last
            limit = None if last is None or last > self.limit else last // self._unit
        if isinstance(token, CharacterRun):
            bounds = target.bounds or self._bounds.of(target, env, self)
            end = NEVER if bounds is None else token.end(self.buffer, index, bounds, limit)
        else:
            end = token.end(self.buffer, index, limit)
            if end >= 0 and target.is_tracked:
                env = self._bounds.select_token(item, token, end)
        if end >= 0:
            pos = end * self._unit
            if self._budget is not None:
                self._spend_budget(1)  # a long pattern makes many items before one is looked at
            self._advance(item, pos, None, env, self._state_set(pos))
        return end != UNSURE

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
