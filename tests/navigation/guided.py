"""Guided runs in memory: the spec plays both sides, and the other side answers at random."""

from __future__ import annotations

from collections.abc import Callable

import palaver
from palaver.campaign.events import Event, SessionStarted
from palaver.campaign.run import Budget, Campaign
from palaver.navigation.goals import CoverageGoal
from palaver.navigation.guidance import Guidance
from palaver.party import ConnectionMode
from palaver.random_source import RandomSource
from palaver.session.engine import Session, Timeouts
from palaver.session.setup import RoleAssignment, SessionSetup
from palaver.session.strategy import RandomStrategy, Strategy
from palaver.transport.memory_network import MemoryNetwork, Wire, in_one_piece

ADDRESS = "tcp://127.0.0.1:2525"


def setup_of(spec: str, *, as_client: bool = True) -> SessionSetup:
    """One side of a spec whose parties are Client and Server."""
    sides = {"Client": ConnectionMode.CONNECT, "Server": ConnectionMode.OPEN}
    ours = "Client" if as_client else "Server"
    networks = {name: (ADDRESS, mode if name == ours else ConnectionMode.EXTERNAL) for name, mode in sides.items()}
    return SessionSetup(palaver.loads(spec), RoleAssignment(networks))


def guidance(spec: str, seed: int = 0, **options: object) -> Guidance:
    return Guidance(setup_of(spec), RandomSource(seed), **options)  # type: ignore[arg-type]  # as the test has it


def campaign(
    spec: str,
    seed: int = 0,
    budget: Budget | None = None,
    *,
    k: int = 5,
    goal: CoverageGoal = CoverageGoal.ALL,
    is_guided: bool = True,
    follows_the_paper: bool = False,
    covers_pairs: bool | None = False,
    covers_values: bool = False,
    other: str | None = None,
    answering: Callable[[RandomSource], Strategy] = RandomStrategy,
    wire: Wire = in_one_piece,
    plans: bool = False,
    jobs: int = 1,
) -> Campaign:
    """A run that was not begun. The other side is played by the same spec, or an `other` one, which knows less."""
    world = MemoryNetwork(wire=wire)
    ours, theirs = setup_of(spec), setup_of(other or spec, as_client=False)
    chance = RandomSource(seed)
    guided = Guidance(
        ours,
        chance,
        k=k,
        goal=goal,
        follows_the_paper=follows_the_paper,
        covers_pairs=covers_pairs,
        covers_values=covers_values,
    )
    guided.make_lanes(jobs)
    timeouts = Timeouts()
    limits = budget or Budget()
    run = Campaign(ours, guided, seed, timeouts, limits, world.loop(), is_guided=is_guided, plans=plans)
    count = 0

    def appear(event: Event) -> None:
        nonlocal count
        if not isinstance(event, SessionStarted):
            return
        count += 1
        stream = chance / "other" / count
        world.add(Session(theirs, answering(stream / "player"), stream, timeouts)).step()

    return run.attach(appear)


def covered(run: Campaign) -> tuple[int, int]:
    """How many paths of the aim were covered, and how many there are; once the run is over."""
    run.run()
    return run.guidance.goal_progress.reached, run.guidance.goal_progress.total
