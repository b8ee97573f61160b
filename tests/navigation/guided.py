"""Guided runs in memory: the spec plays both sides, and the other side answers at random."""

from __future__ import annotations

from collections.abc import Callable

import palaver
from palaver.campaign.events import Event, SessionStarted
from palaver.campaign.run import Budget, Campaign
from palaver.chance import Chance
from palaver.navigation.goals import Goal
from palaver.navigation.guidance import Guidance
from palaver.party import ConnectionMode
from palaver.session.cast import Casting
from palaver.session.engine import Patience, Session
from palaver.session.play import Play
from palaver.session.player import Player, RandomPlayer
from palaver.transport.memory import MemoryWorld, Wire, straight

ADDRESS = "tcp://127.0.0.1:2525"


def play(spec: str, *, as_client: bool = True) -> Play:
    """One side of a spec whose parties are Client and Server."""
    sides = {"Client": ConnectionMode.CONNECT, "Server": ConnectionMode.OPEN}
    ours = "Client" if as_client else "Server"
    networks = {name: (ADDRESS, mode if name == ours else ConnectionMode.EXTERNAL) for name, mode in sides.items()}
    return Play(palaver.loads(spec), Casting(networks))


def guidance(spec: str, seed: int = 0, **options: object) -> Guidance:
    return Guidance(play(spec), Chance(seed), **options)  # type: ignore[arg-type]  # as the test has it


def campaign(
    spec: str,
    seed: int = 0,
    budget: Budget | None = None,
    *,
    k: int = 5,
    goal: Goal = Goal.ALL,
    is_guided: bool = True,
    follows_the_paper: bool = False,
    other: str | None = None,
    answering: Callable[[Chance], Player] = RandomPlayer,
    wire: Wire = straight,
    plans: bool = False,
) -> Campaign:
    """A run that was not begun. The other side is played by the same spec, or an `other` one, which knows less."""
    world = MemoryWorld(wire=wire)
    ours, theirs = play(spec), play(other or spec, as_client=False)
    chance = Chance(seed)
    guided = Guidance(ours, chance, k=k, goal=goal, follows_the_paper=follows_the_paper)
    patience = Patience()
    limits = budget or Budget()
    run = Campaign(ours, guided, seed, patience, limits, world.loop(), is_guided=is_guided, plans=plans)
    count = 0

    def appear(event: Event) -> None:
        nonlocal count
        if not isinstance(event, SessionStarted):
            return
        count += 1
        stream = chance / "other" / count
        world.add(Session(theirs, answering(stream / "player"), stream, patience)).step()

    return run.attach(appear)


def covered(run: Campaign) -> tuple[int, int]:
    """How many paths of the aim were covered, and how many there are; once the run is over."""
    run.run()
    return run.guidance.aim.reached, run.guidance.aim.total
