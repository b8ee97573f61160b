"""Guidance of a run: coverage, the goal, the peer model, and the strategies that use them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from palaver.navigation.belief_state import BeliefState
from palaver.navigation.coverage import Coverage, KPaths
from palaver.navigation.coverage_file import add_paths, check_spec, paths_as_data
from palaver.navigation.coverage_views import CoverageViews
from palaver.navigation.dead_ends import DeadEnds
from palaver.navigation.dialogue_map import DialogueMap
from palaver.navigation.goals import CoverageGoal, GoalCounts, GoalMembership, GoalProgress, MissingPaths
from palaver.navigation.guided_strategy import GuidedStrategy
from palaver.navigation.knowledge_exchange import GuidanceNews as GuidanceNews
from palaver.navigation.knowledge_exchange import KnowledgeExchange
from palaver.navigation.knowledge_exchange import joined as joined
from palaver.navigation.learnt_values import LearntValues
from palaver.navigation.message_pairs import MessagePairs
from palaver.navigation.navigator import TargetNavigator, TargetSelector
from palaver.navigation.peer_model import PeerModel
from palaver.navigation.random_walk import RandomWalk
from palaver.navigation.reasons import Reason, ReasonFinder
from palaver.navigation.refusal_cells import CellsAt, RefusalCells, places_of
from palaver.navigation.route_planner import RoutePlanner
from palaver.navigation.steering import PayloadSteering
from palaver.navigation.tours import Reservations, TourPlanner
from palaver.navigation.tours import Tour as Tour
from palaver.navigation.value_classes import ValueClasses
from palaver.random_source import RandomSource
from palaver.session.setup import SessionSetup


class GuidanceLane(NamedTuple):
    """The strategies of one session after another; with several lanes, several sessions go on at the same time."""

    guided_strategy: GuidedStrategy
    random_walk: RandomWalk
    dead_ends: DeadEnds


class Guidance:
    """Everything that the sessions of one run share.

    If `covers_pairs` is None, pairs of messages are a goal as far as they are affordable.
    """

    def __init__(
        self,
        setup: SessionSetup,
        chance: RandomSource,
        k: int = 5,
        goal: CoverageGoal = CoverageGoal.ALL,
        *,
        follows_the_paper: bool = False,
        learns_values: bool = True,
        covers_pairs: bool | None = False,
        covers_values: bool = False,
    ) -> None:
        forecaster, grammar = setup.forecaster, setup.spec.grammar
        self._forecaster = forecaster
        self.spec = setup.spec
        self.dialogue = forecaster.dialogue
        self.paths = KPaths(grammar, k)
        self.coverage = Coverage(self.paths)
        self.goals = GoalMembership(self.paths, self.dialogue, setup.ours)
        self.goal_progress = GoalProgress(self.coverage, self.goals, goal)
        self.goal_counts = GoalCounts(self.coverage, self.goals)
        self.views = CoverageViews(setup.spec.analysis, forecaster)
        missing_paths = MissingPaths(self.goal_progress)
        self.dialogue_map = DialogueMap(forecaster, self.coverage, setup.ours)
        self.ours, self.peer = PeerModel(self.paths), PeerModel(self.paths)
        self.planner = RoutePlanner(
            self.dialogue_map, self.goal_progress, missing_paths, self.ours, self.peer, chance / "ties"
        )
        self.scheme: RoutePlanner | TargetNavigator = self.planner
        self._selector: TargetSelector | None = None
        if follows_the_paper:
            self._selector = selector = TargetSelector(self.goal_progress, self.dialogue, chance / "targets")
            self.scheme = TargetNavigator(selector, self.planner, forecaster, grammar)
        if goal is not CoverageGoal.ALL:
            missing_paths = MissingPaths(GoalProgress(self.coverage, self.goals, CoverageGoal.ALL))
        belief = BeliefState(forecaster, self.dialogue_map, missing_paths, self.views)
        self.dead_ends = self.planner.dead_ends = belief.dead_ends
        steering = PayloadSteering(self.goal_progress, chance / "steering")
        self.values: LearntValues | None = None
        if learns_values:
            analysis = setup.spec.analysis
            self.values = LearntValues(
                analysis.value_symbols, analysis.tied_symbols, analysis.above, setup.spec.read_as, chance / "values"
            )
        self.pairs: MessagePairs | None = None
        if covers_pairs:
            self.pairs = MessagePairs(self.dialogue_map, self.planner.possible_edges)
        elif covers_pairs is None:
            count = len(forecaster.messages)
            self.pairs = MessagePairs.affordable(self.dialogue_map, self.planner.possible_edges, count)
        self.views.pairs = self.pairs
        if self.pairs is not None:
            belief.pursue(self.pairs)
        self.value_classes: ValueClasses | None = None
        if covers_values:
            ours = [move for move in forecaster.messages if move.sender in setup.ours]
            self.value_classes = belief.value_classes = self.views.value_classes = ValueClasses(
                setup.spec, ours, self.dialogue_map, self.planner.possible_edges, chance / "classes"
            )
        self.guided_strategy = GuidedStrategy(
            self.planner, self.scheme, belief, steering, self.values, chance / "guide"
        )
        self._reasons: tuple[tuple[int, ...], list[Reason]] | None = None
        self.random_walk = RandomWalk(belief, self.dialogue_map, self.peer, self.values, chance / "walker")
        self._chance = chance
        self.retries = 0  # how often what was given up was tried again
        self.reservations = Reservations()
        self.lanes = [GuidanceLane(self.guided_strategy, self.random_walk, self.dead_ends)]

    def make_lanes(self, count: int, *, is_assigned: bool = False) -> None:
        """Let so many sessions go on at the same time: all learn from each other, and no two plan for the same goal.

        If it `is_assigned`, others are held elsewhere, and goals are assigned to those that are held here.

        :raises ValueError: the scheme is that of the paper, which plans for one target at a time
        """
        if (count > 1 or is_assigned) and self.scheme is not self.planner:
            raise ValueError("the scheme of the paper draws one target at a time")
        self.reservations = reservations = Reservations()
        for number in range(len(self.lanes), count):
            self.lanes.append(self._lane_beside(self._chance / "lane" / number))
        for number, lane in enumerate(self.lanes if count > 1 or is_assigned else ()):
            strategy = lane.guided_strategy
            strategy.tours = TourPlanner(strategy.planner, reservations, number)

    def _lane_beside(self, chance: RandomSource) -> GuidanceLane:
        strategy = self.guided_strategy
        belief = strategy.belief.beside()
        values = None if self.values is None else self.values.beside(chance / "values")
        planner = self.planner.beside(belief.dead_ends, chance / "ties")
        guided = strategy.beside(planner, belief, values, chance / "guide")
        return GuidanceLane(guided, self.random_walk.beside(belief, values), belief.dead_ends)

    def assign(self, tours: Sequence[Tour]) -> None:
        """Let the next sessions, one in each lane, follow these tours, and cover only what these are for.

        Without tours they may plan for everything.
        """
        self.plan_again()
        goals = [self.coverage.state(path) for tour in tours for path in tour.goals]
        self.reservations.only = frozenset(goals) if tours else None
        for lane, tour in zip_longest(self.lanes, tours[: len(self.lanes)]):
            lane.guided_strategy.follow(tour)

    def tour_planner(self, number: int) -> TourPlanner:
        """A planner for a session that is held elsewhere; what it reserves has this number."""
        return TourPlanner(self.planner, self.reservations, number)

    def exchange(self) -> KnowledgeExchange:
        """A way to tell others what is learnt here, and to add what they have learnt."""
        return KnowledgeExchange(self)

    @property
    def is_done(self) -> bool:
        """True if nothing is left to plan for."""
        return any(lane.guided_strategy.is_done for lane in self.lanes)

    def plan_again(self) -> None:
        """Look for plans again, although there were none."""
        for lane in self.lanes:
            lane.guided_strategy.is_done = False

    def retry_given_up(self) -> None:
        """Try again what was given up, with more patience."""
        self.retries += 1
        self.ours.retry_given_up()
        self.planner.retry_given_up()
        if self.pairs is not None:
            self.pairs.retry_given_up()
        if self.value_classes is not None:
            self.value_classes.retry_given_up()
        if self.views.refusals is not None:
            self.views.refusals.retry_given_up()
        self.plan_again()

    def count_refusals(self, closing: Collection[str], cells_at: CellsAt, *, is_goal: bool) -> RefusalCells:
        """Count the places where wrong messages were judged; if that is the goal, plan for them, too."""
        places = places_of(self._forecaster, self.dialogue_map.ours, closing)
        refusals = RefusalCells(self.dialogue_map, self.planner.possible_edges, places, cells_at)
        self.views.refusals = refusals
        refusals.is_goal = is_goal
        for lane in self.lanes if is_goal else ():
            lane.guided_strategy.belief.refusals = refusals
        return refusals

    @property
    def further_goals(self) -> list[tuple[str, int, int]]:
        """The goals beside paths: their names, the number of items that were reached, and of all."""
        refusals = self.guided_strategy.belief.refusals
        goals = (("pairs", self.pairs), ("value classes", self.value_classes), ("refusals", refusals))
        return [(name, goal.reached, goal.total) for name, goal in goals if goal is not None]

    @property
    def reached(self) -> int:
        """The number of all paths, pairs and value classes that were covered, whatever the goal."""
        return self.guided_strategy.belief.reached

    @property
    def messages_in_vain(self) -> int:
        """The number of messages since something was reached."""
        return self.guided_strategy.belief.messages_in_vain

    @property
    def size(self) -> int:
        """The number of objects that were made of the spec for plans: nodes of the map, and paths."""
        return len(self.dialogue_map) + len(self.coverage.walks)

    @property
    def is_complete(self) -> bool:
        """True if the goal is reached."""
        has_pairs = self.pairs is None or self.pairs.is_over
        others = (self.value_classes, self.guided_strategy.belief.refusals)
        has_others = all(goal is None or goal.reached >= goal.total for goal in others)
        return has_pairs and has_others and self.goal_progress.reached >= self.goal_progress.total

    def reasons(self) -> list[Reason]:
        """The reasons why paths are missing, found once for the same observations."""
        seen = (self.reached, self.peer.situations.total(), self.ours.situations.total())
        if self._reasons is None or self._reasons[0] != seen:
            self._reasons = (seen, ReasonFinder(self.planner).all())
        return self._reasons[1]

    def missing_values(self) -> list[str]:
        """The value classes that were not covered, in words."""
        return [] if self.value_classes is None else list(map(self.value_classes.told, self.value_classes.missing()))

    def missing_refusals(self) -> list[str]:
        """The wrong messages that were not judged, by their reasons, if they are a goal."""
        refusals = self.guided_strategy.belief.refusals
        return [] if refusals is None else refusals.reasons()

    def as_data(self) -> dict[str, Any]:
        """All observations, as JSON can hold them, for a coverage file."""
        return {
            "coverage": paths_as_data(self.coverage),
            "ours": self.ours.as_data(),
            "peer": self.peer.as_data(),
            "tries": self.planner.as_data(),
            "draws": [] if self._selector is None else self._selector.as_data(),
            "views": self.views.as_data(),
            "message pairs": None if self.pairs is None else self.pairs.as_data(),
            "missing values": None if self.value_classes is None else self.value_classes.as_data(),
            "refusals": None if self.views.refusals is None else self.views.refusals.as_data(),
            "learnt": self.learnt(),
        }

    def resume_from(self, data: dict[str, Any]) -> None:
        """Continue from the observations of another run, read from a coverage file."""
        add_paths(self.coverage, data["coverage"])
        self.ours.add_data(data["ours"])
        self.peer.add_data(data["peer"])
        self.planner.add_data(data["tries"])
        if self._selector is not None:
            self._selector.add_data(data["draws"])
        self.views.add_data(data["views"], of_any_version=True)
        if self.pairs is not None and data.get("message pairs") is not None:
            self.pairs.add_data(data["message pairs"])
        if self.value_classes is not None and data.get("missing values") is not None:
            self.value_classes.add_data(data["missing values"])
        if self.views.refusals is not None and data.get("refusals") is not None:
            self.views.refusals.add_data(data["refusals"])
        self.add_learnt(data.get("learnt"))

    def learn_from(self, data: dict[str, Any]) -> None:
        """Use the observations of another run about the peer, but not what that has covered, or tried in vain.

        :raises PalaverError: it is a run of another spec
        """
        check_spec(self.coverage, data["coverage"])
        self.peer.add_data(data["peer"], as_hint=True)
        self.add_learnt(data.get("learnt"))

    def learnt(self) -> dict[str, Any]:
        """Learnt values, preparations that worked, and messages that cannot be made, as JSON can hold them."""
        strategy = self.guided_strategy
        return {
            "values": None if self.values is None else self.values.as_data(),
            "preparations": None if strategy.preparations is None else strategy.preparations.as_data(),
            "refusals": [list(each) for each in strategy.refusals.items()],
        }

    def add_learnt(self, learnt: dict[str, Any] | None) -> None:
        """Add what another run has learnt; files of earlier versions lack it."""
        strategy = self.guided_strategy
        if learnt is None:
            return
        if self.values is not None and learnt["values"] is not None:
            self.values.add_data(learnt["values"])
        if strategy.preparations is not None and learnt["preparations"] is not None:
            strategy.preparations.add_data(learnt["preparations"])
        strategy.refusals.update(dict(learnt["refusals"]))
