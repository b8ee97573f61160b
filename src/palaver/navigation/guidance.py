"""All that guided conversations of a spec share, put together."""

from __future__ import annotations

from typing import Any

from palaver.chance import Chance
from palaver.errors import PalaverError
from palaver.navigation.atlas import Atlas
from palaver.navigation.coverage import Coverage
from palaver.navigation.goals import Aim, Goal, Goals, Standing
from palaver.navigation.guide import Guide, Scheme
from palaver.navigation.kpaths import KPaths
from palaver.navigation.navigator import Navigator
from palaver.navigation.paper import PaperScheme
from palaver.navigation.peer import Peer
from palaver.navigation.planner import Planner
from palaver.navigation.potential import Potential
from palaver.navigation.reasons import Reason, Reasons
from palaver.navigation.statemap import StateMap
from palaver.navigation.steering import PayloadSteering
from palaver.navigation.store import add_paths, paths_as_data
from palaver.navigation.superposition import Superposition
from palaver.navigation.targets import TargetSelector
from palaver.navigation.views import Views
from palaver.navigation.walker import Walker
from palaver.session.play import Play


class Guidance:
    """What has been covered, what is aimed at, and the players that go for it."""

    def __init__(
        self, play: Play, chance: Chance, *, k: int = 5, goal: Goal = Goal.ALL, follows_the_paper: bool = False
    ) -> None:
        forecaster, grammar = play.forecaster, play.spec.grammar
        self.dialogue = forecaster.dialogue
        self.paths = KPaths(grammar, k)
        self.coverage = Coverage(self.paths)
        self.goals = Goals(self.paths, self.dialogue, play.ours)
        self.aim = Aim(self.coverage, self.goals, goal)
        self.standing = Standing(self.coverage, self.goals)
        self.views = Views(play.spec.analysis, StateMap(forecaster))
        self.potential = Potential(self.aim)
        self.atlas = Atlas(forecaster, self.coverage, play.ours)
        self.ours, self.peer = Peer(self.paths), Peer(self.paths)
        self.planner = Planner(self.atlas, self.aim, self.potential, self.ours, self.peer)
        self.scheme: Scheme = self.planner
        self._selector: TargetSelector | None = None
        if follows_the_paper:
            self._selector = selector = TargetSelector(self.aim, self.dialogue, chance / "targets")
            navigator = Navigator(self.atlas, self.planner, forecaster, lambda short: KPaths(grammar, short))
            self.scheme = PaperScheme(selector, navigator, self.planner)
        everything = self.potential
        if goal is not Goal.ALL:
            everything = Potential(Aim(self.coverage, self.goals, Goal.ALL))
        superposition = Superposition(forecaster, self.atlas, everything, self.views)
        steering = PayloadSteering(self.aim, chance / "steering")
        self.guide = Guide(
            self.atlas,
            self.scheme,
            superposition,
            self.potential,
            self.ours,
            self.peer,
            steering,
            chance / "guide",
        )
        self.walker = Walker(superposition, chance / "walker")

    def ask_again(self) -> None:
        """What was given up is tried again, with more patience."""
        self.ours.patience *= 2
        self.planner.ask_again()
        self.guide.is_done = False

    def reasons(self) -> list[Reason]:
        """Why what is missing is missing."""
        return Reasons(self.atlas, self.aim, self.potential, self.planner, self.ours, self.peer).all()

    # --- Between runs -------------------------------------------------------------------------------------------------

    def as_data(self) -> dict[str, Any]:
        """What is known, for a coverage file."""
        return {
            "coverage": paths_as_data(self.coverage),
            "ours": self.ours.as_data(),
            "peer": self.peer.as_data(),
            "tries": self.planner.as_data(),
            "draws": [] if self._selector is None else self._selector.as_data(),
            "views": self.views.as_data(),
        }

    def go_on_from(self, data: dict[str, Any]) -> None:
        """Start from what another run has found out.

        :raises PalaverError: that is not what it should be
        """
        try:
            add_paths(self.coverage, data["coverage"])
            self.ours.add_data(data["ours"])
            self.peer.add_data(data["peer"])
            self.planner.add_data(data["tries"])
            if self._selector is not None:
                self._selector.add_data(data["draws"])
            self.views.add_data(data["views"], of_any_version=True)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise PalaverError("the coverage file is damaged: what is in it is not as it should be") from error
