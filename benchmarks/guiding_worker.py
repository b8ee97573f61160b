"""Guided conversations of palaver, and what their parts cost; requests and answers are lines of JSON.

With a server, or in memory, where another session answers at random. What is measured in memory is told in units of a
loop that is timed before and after, so that neither a slow machine nor a busy one matters much.
"""

from __future__ import annotations

import gc
import hashlib
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import guiding_specs

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "navigation"))
from guided import campaign, setup_of

from palaver.campaign.events import Event, MessageReceived, MessageSent, PlanMade, SessionEnded
from palaver.campaign.run import Budget, Campaign, Until
from palaver.compiled import load, loads
from palaver.matching.forecaster import Forecast, MessageType
from palaver.navigation.coverage import KPaths
from palaver.navigation.dialogue_map import Edge
from palaver.navigation.guidance import Guidance
from palaver.party import ConnectionMode
from palaver.random_source import RandomSource
from palaver.session.engine import Timeouts
from palaver.session.setup import RoleAssignment, SessionSetup
from palaver.transport.event_loop import SelectorEventLoop
from palaver.trees.node import Node, Part


def run(made: Campaign, most_messages: int | None = None) -> list[str]:
    """Run until it ends by itself, or after the conversation in which it has had so many messages; what was found."""
    for event in made:
        is_at_end = isinstance(event, SessionEnded) and most_messages is not None
        if is_at_end and made.progress.messages >= most_messages:
            break
    made.close()
    return [finding.show() for finding in made.findings]


def result(made: Campaign) -> dict[str, Any]:
    aim, progress = made.guidance.goal_progress, made.progress
    return {
        "messages": progress.messages,
        "sessions": progress.sessions,
        "covered": aim.reached,
        "total": aim.total,
        "ended": progress.ended,
    }


# --- With a server ----------------------------------------------------------------------------------------------------


def talk(spec: str, port: int, seed: int, scheme: str, most_messages: int | None) -> dict[str, Any]:
    """Talk until all is covered; what that took once the spec was loaded and compiled, as `talk` does it first."""
    uri = f"tcp://127.0.0.1:{port}"
    networks = {"Client": (uri, ConnectionMode.CONNECT), "Server": (uri, ConnectionMode.EXTERNAL)}
    ours, chance = SessionSetup(load(Path(spec)), RoleAssignment(networks)), RandomSource(seed)
    ours.prepare()
    cpu, wall = time.process_time(), time.perf_counter()
    guidance = Guidance(ours, chance, follows_the_paper=scheme == "paper")
    budget = Budget(Until.COVERAGE if scheme == "random" else Until.PLATEAU)
    with SelectorEventLoop() as loop:
        made = Campaign(ours, guidance, seed, Timeouts(), budget, loop, is_guided=scheme != "random")
        findings = run(made, most_messages)
    whole = time.process_time()
    return {
        **result(made),
        "cpu": whole - cpu,
        "whole_cpu": whole,
        "wall": time.perf_counter() - wall,
        "waited": made.waited,
        "findings": findings,
    }


# --- In memory --------------------------------------------------------------------------------------------------------

SPECS: dict[str, Callable[[], str]] = {
    "smtp": lambda: guiding_specs.bundled("smtp"),
    "ftp": guiding_specs.ftp,
    "ladder": lambda: guiding_specs.ladder(30),
    "large": guiding_specs.large,
    "rules": guiding_specs.many_rules,
    "ways": guiding_specs.many_ways,
    "moody": guiding_specs.smtp_with_moody_server,
    "curt": guiding_specs.smtp_with_curt_server,
    "empty": guiding_specs.ftp_without_listings,
}


def cover(
    spec: str, seed: int, k: int = 5, other: str | None = None, is_guided: bool = True, most_messages: int | None = None
) -> dict[str, Any]:
    """Cover a spec; the other side may be played by another one."""
    budget = Budget() if is_guided else Budget(Until.COVERAGE)
    answering = None if other is None else SPECS[other]()
    made = campaign(SPECS[spec](), seed, budget, k=k, is_guided=is_guided, other=answering)
    run(made, most_messages)
    reasons = [str(reason) for reason in made.guidance.reasons()] if is_guided else []
    # All paths of a spec that knows less are paths of the one that knows more.
    ceiling = KPaths(loads(answering or SPECS[spec]()).grammar, k).count()
    return {**result(made), "ceiling": ceiling, "reasons": reasons}


def plans(spec: str, seed: int, k: int, most_messages: int) -> dict[str, Any]:
    """What was planned in a run, and the numbers of all paths it has met, each as one number."""
    made = campaign(SPECS[spec](), seed, k=k, plans=True)
    told: list[str] = []
    made.attach(lambda event: told.append(event.text) if isinstance(event, PlanMade) else None)
    run(made, most_messages)
    return {"plans": len(told), "told": _digest(told), "paths": _digest(made.guidance.coverage.walks)}


def _digest(what: Sequence[object]) -> str:
    return hashlib.sha256("\n".join(map(str, what)).encode()).hexdigest()


def count(specs: list[str], k: int) -> dict[str, Any]:
    """How many k-paths each spec has."""
    return {"counts": {spec: KPaths(load(Path(spec)).grammar, k).count() for spec in specs}}


# --- Costs ------------------------------------------------------------------------------------------------------------

# So many rounds of the loop are one unit: about a microsecond on the machine on which the bars were set.
ROUNDS_IN_A_UNIT = 20
ROUNDS = 10_000

EARLY, LATE = 100, 2000  # messages
AROUND = 100  # so many before and after them are looked at
REPETITIONS = 9
MESSAGES_PER_CALIBRATION = 20
UNITS_IN_A_SECOND = 1_000_000


class Stopwatch:
    """CPU time in units of the loop, which is timed again and again between what is measured."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._units: list[float] = []

    def __enter__(self) -> None:
        self._began = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._began

    def calibrate(self) -> None:
        table = list(range(256))
        total = 0
        began = time.process_time()
        for number in range(ROUNDS):
            total += table[number & 255]
        self._units.append((time.process_time() - began) / ROUNDS * ROUNDS_IN_A_UNIT)

    @property
    def units(self) -> float:
        return self.seconds / statistics.mean(self._units)

    @property
    def units_since_entered(self) -> float:
        """The units since what is measured now has begun."""
        return (time.process_time() - self._began) / statistics.mean(self._units)


class Moment(NamedTuple):
    """A message, with what was to be expected before and after it."""

    move: MessageType
    node: Node
    before: Forecast
    after: Forecast


def conversation(spec: str, messages: int, never: Sequence[str]) -> tuple[SessionSetup, list[Moment]]:
    """A conversation of so many messages, in which nobody says what would lead to its end."""
    examples: dict[str, list[Node]] = {}
    made = campaign(SPECS[spec](), 0)
    note = made.guidance.guided_strategy.belief.advance

    def advance(move: MessageType, node: Node, *more: Any) -> Any:
        examples.setdefault(move.symbol, []).append(node)
        return note(move, node, *more)

    made.guidance.guided_strategy.belief.advance = advance  # type: ignore[method-assign]  # to see what is said
    made.run()
    ours = setup_of(SPECS[spec]())
    chance = random.Random(0)
    forecast = ours.forecaster.begin()
    moments: list[Moment] = []
    while len(moments) < messages:
        move = chance.choice([move for move in forecast.moves if move.symbol not in never])
        node = chance.choice(examples[move.symbol])
        after = forecast.after(move, node)
        moments.append(Moment(move, node, forecast, after))
        forecast = after
    gc.collect()
    gc.freeze()  # what was prepared is not looked through for garbage while something is measured
    return ours, moments


def forecast(spec: str, never: Sequence[str]) -> dict[str, Any]:
    """What it costs to go on by a message and to know what may come next: in all, and around early and late ones."""
    _, moments = conversation(spec, LATE + AROUND, never)
    stopwatch = Stopwatch()
    here = setup_of(SPECS[spec]()).forecaster.begin()  # one that has prepared nothing yet
    for some in _pieces(moments):
        stopwatch.calibrate()
        with stopwatch:
            for move, node, _, _ in some:
                here = here.after(move, node)
                here.moves  # noqa: B018  # they are found out when they are asked for
    windows = {around: Stopwatch() for around in (EARLY, LATE)}
    for _ in range(REPETITIONS):
        for around, each in windows.items():
            each.calibrate()
            with each:
                for move, node, before, _ in moments[around - AROUND : around + AROUND]:
                    before.after(move, node).moves  # noqa: B018
    early, late = (each.units / REPETITIONS / AROUND / 2 for each in windows.values())
    return {"all": stopwatch.units / len(moments), "early": early, "late": late}


def coverage(spec: str, never: Sequence[str]) -> dict[str, Any]:
    """What it costs to count what messages cover; and how many nodes are new with each.

    The map of the dialogue is there: in guided runs it is made by who plans, and counted there.
    """
    ours, moments = conversation(spec, LATE, never)
    guidance = Guidance(ours, RandomSource(0))
    found = {guidance.dialogue_map.beginning: None}
    todo = list(found)
    for place in todo:
        new = [edge.to for edge in guidance.dialogue_map.edges(place) if edge.to not in found]
        found.update(dict.fromkeys(new))
        todo += dict.fromkeys(new)
    superposition = guidance.guided_strategy.belief
    superposition.begin()
    stopwatch = Stopwatch()
    edges: list[tuple[Edge, ...]] = []
    for some in _pieces(moments):
        stopwatch.calibrate()
        with stopwatch:
            for move, node, before, after in some:
                edges.append(superposition.advance(move, node, before, after, None))
    nodes = sum(_size(moment.node) + len(found[0].marks) for moment, found in zip(moments, edges, strict=True))
    return {"all": stopwatch.units / len(moments), "nodes": nodes / len(moments)}


def _pieces(moments: list[Moment]) -> Iterator[list[Moment]]:
    return (moments[start : start + AROUND] for start in range(0, len(moments), AROUND))


def _size(part: Part) -> int:
    """How many nodes and leaves there are."""
    count = 0
    todo = [part]
    while todo:
        part = todo.pop()
        count += 1
        if isinstance(part, Node):
            todo.extend(part.children)
    return count


def planning(spec: str, seed: int, most_messages: int | None = None) -> dict[str, Any]:
    """What plans cost in a run, for each message of it; and how many messages and paths its first second has."""
    made = campaign(SPECS[spec](), seed)
    make = made.guidance.planner.plan
    stopwatch, whole = Stopwatch(), Stopwatch()
    messages = 0
    early: dict[str, int] = {}

    def plan(*situation: Any) -> Any:
        with stopwatch:
            return make(*situation)

    def note(event: Event) -> None:
        nonlocal messages
        if not isinstance(event, MessageSent | MessageReceived):
            return
        messages += 1
        if messages % MESSAGES_PER_CALIBRATION == 1:
            stopwatch.calibrate()
            whole.calibrate()
        if not early and whole.units_since_entered >= UNITS_IN_A_SECOND:
            early.update(early_messages=messages, early_paths=made.guidance.goal_progress.reached)

    made.guidance.planner.plan = plan  # type: ignore[method-assign]  # to see how long it takes
    made.attach(note)
    with whole:
        run(made, most_messages)
    return {**result(made), "planning": stopwatch.units / made.progress.messages, **early}


ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each for each in (talk, cover, plans, count, forecast, coverage, planning)
}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(ACTIONS[request.pop("action")](**request)), flush=True)


main()
