"""How well conversations are guided: with real servers, against the paper's scheme, random walks and the reference.

`make bench-guiding` prints one table; a bar that is missed is shown as MISSED, and then the exit status is 1.

- "with" a server compares how many messages it takes until all paths of up to five symbols are covered: medians over
  seeds, each run in a process of its own. The reference is asked through its API, with the same spec and the same
  server. Messages are what both tools list as such: what is said on all connections, and in FTP, that the data
  connection is closed. What the reference covers is counted by palaver, from the reference's trees. A random walk is
  stopped after five times the messages; then the comparison is a bound.
- CPU time and wall time are taken from when the spec is loaded, and of palaver also compiled, which `talk` does before
  it connects, to the end of the run. The row "with loading" has it all. The server's own delay is what palaver spent
  waiting, per message; it is taken off both.
- "never answers" compares runs in memory with a peer that gives all answers to runs with one that never gives some.
- "costs" are CPU time in memory, in units of a plain loop that is timed in the same run, because machines differ; one
  unit (u) is about a microsecond on the machine where the bars were set.
- "depth" climbs a ladder of thirty rungs, each with a trap that leads back to the ground.
- "hashes" compares plans, and the numbers of paths, under two values of PYTHONHASHSEED.

aiosmtpd and pyftpdlib come with palaver's development tools. Exim and vsftpd take part if they are there and the user
is root. REFERENCE_PYTHON names the Python of a reference that is installed already.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
from common import HERE, NoAnswer, Process, Row, command_line, compile_bytecode, print_table, reference_python
from guiding_specs import BUNDLED, SMTP_PARTIES

from palaver.compiled import load
from palaver.navigation.coverage import Coverage, KPaths
from palaver.trees.node import Node, NonTerminal, Part

sys.path.insert(0, str(HERE.parent / "tests"))
from servers import ftp, mail
from servers.common import ServerDidNotStart, missing

K = 5
REFERENCE_SECONDS = 900.0  # for one run
SHORT = 5  # times the messages of a guided run, and a random walk may still be short of what that covered

LEAST_CPU_RATIO = 20.0
MOST_WALL = 1 / 3
MOST_OF_WILLING = 1.25
MOST_FORECAST, MOST_GROWTH = 30.0, 1.2
MOST_COVERAGE, MOST_PER_NODE = 15.0, 1.5
MOST_PLANNING = {"ftp": 200.0, "large": 600.0, "rules": 1000.0, "ways": 1000.0}
LEAST_EARLY = 100  # messages in the first second
MOST_OF_LADDER = 0.5

Answer = dict[str, Any]


class Running(Protocol):
    """A server that runs."""

    @property
    def port(self) -> int: ...


@dataclass(frozen=True)
class Subject:
    """A spec and a server, and how much of the messages of others a run may take."""

    name: str
    spec: Path
    needs: tuple[pytest.Mark, ...]
    start: Callable[[], AbstractContextManager[Running]]
    more: str  # what the reference must be told besides the spec; {port} is that of the server
    most_of_paper: float
    most_of_reference: float
    most_of_random: float | None  # unless a random walk does not come to an end at all

    @property
    def why_not(self) -> str:
        """Why the server cannot take part; empty if it can."""
        absent = missing(self.needs)
        return f"missing: {', '.join(absent)}" if absent else ""


@contextmanager
def started(subject: Subject) -> Iterator[int]:
    """The port of a server that runs."""
    with ExitStack() as stack:
        for is_last in (False, False, True):
            try:
                server = stack.enter_context(subject.start())
                break
            except ServerDidNotStart as error:  # somebody else may have taken its port
                if is_last:
                    raise NoAnswer(str(error)) from error
        yield server.port


@contextmanager
def _in_folder(server: Callable[[Path], AbstractContextManager[Running]]) -> Iterator[Running]:
    with tempfile.TemporaryDirectory(prefix="palaver-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with server(Path(folder)) as running:
            yield running


smtp_subject = partial(
    Subject,
    spec=BUNDLED / "smtp.fan",
    more=SMTP_PARTIES,
    most_of_paper=0.75,
    most_of_reference=0.9,
    most_of_random=0.25,
)
ftp_subject = partial(
    Subject,
    spec=BUNDLED / "ftp.fan",
    more="PORT = {port}\n",
    most_of_paper=0.5,
    most_of_reference=0.65,
    most_of_random=None,
)

SUBJECTS = {
    "aiosmtpd": smtp_subject("SMTP with aiosmtpd", needs=(), start=mail.aiosmtpd),
    "exim": smtp_subject("SMTP with Exim", needs=(mail.needs_exim.mark,), start=mail.exim),
    "pyftpdlib": ftp_subject("FTP with pyftpdlib", needs=(), start=partial(_in_folder, ftp.pyftpdlib)),
    "vsftpd": ftp_subject("FTP with vsftpd", needs=(ftp.needs_vsftpd.mark,), start=partial(_in_folder, ftp.vsftpd)),
}


# --- with servers ----------------------------------------------------------------------------------------------------


def ask(*, hash_seed: str = "0", **request: Any) -> Answer:
    """Let palaver do something in a process of its own."""
    with Process(sys.executable, str(HERE / "guiding_worker.py"), PYTHONHASHSEED=hash_seed) as process:
        return process.ask(**request)


def ask_reference(**request: Any) -> Answer:
    with Process(reference_python(), str(HERE / "guiding_reference.py"), PYTHONHASHSEED="0") as process:
        return process.ask(**request)


class Runs(NamedTuple):
    """Runs of one kind with one server, one for each seed."""

    answers: list[Answer]

    def median(self, what: Callable[[Answer], float]) -> float:
        return statistics.median(map(what, self.answers))

    @property
    def messages(self) -> float:
        return self.median(lambda run: run["messages"])

    def per_message(self, what: str) -> float:
        return self.median(lambda run: run[what] / run["messages"])

    @property
    def full(self) -> int:
        return sum(run["covered"] == run["total"] for run in self.answers)


def run_of_reference(subject: Subject, port: int, seed: int) -> Answer:
    more = subject.more.format(port=port)
    run = ask_reference(action="talk", spec=str(subject.spec), more=more, seed=seed, seconds=REFERENCE_SECONDS)
    coverage = Coverage(KPaths(load(subject.spec).grammar, K))
    for parts in run.pop("trees"):
        coverage.add(_tree(parts))
    return {**run, "covered": len(coverage), "total": coverage.total}


def _tree(parts: list[tuple[int, str, bool]]) -> Node:
    """A tree from its parts, from the top to the bottom, each with its depth."""
    levels: dict[int, list[Part]] = {}
    for depth, text, is_symbol in reversed(parts):
        part: Part = Node(NonTerminal(text), tuple(reversed(levels.pop(depth + 1, [])))) if is_symbol else text
        levels.setdefault(depth, []).append(part)
    (root,) = levels[0]
    assert isinstance(root, Node), "the start symbol is one"
    return root


@dataclass(frozen=True)
class Bench:
    """What the command line asked for."""

    seeds: int
    reference_seeds: int
    subjects: list[Subject]
    notes: list[str] = field(default_factory=list)

    def compare_with_servers(self) -> Iterator[Row]:
        for subject in self.subjects:
            if subject.why_not:
                print(f"{subject.name}: skipped, {subject.why_not}")
            else:
                yield from self._compare_with(subject)

    def _compare_with(self, subject: Subject) -> Iterator[Row]:
        seeds = range(1, self.seeds + 1)
        guided = Runs([self._run(subject, seed, "gain") for seed in seeds])
        drawn = Runs([self._run(subject, seed, "paper") for seed in seeds])
        full = guided.full
        yield Row(f"{subject.name}, runs to 100 %", "runs", full, len(seeds), full / len(seeds), at_least=1)
        yield Row(f"{subject.name}, by the paper's scheme", "runs", drawn.full, len(seeds), drawn.full / len(seeds))
        yield self._messages(subject, "the paper's scheme", guided, drawn, subject.most_of_paper)
        limits = [SHORT * run["messages"] for run in guided.answers]
        walks = Runs([self._run(subject, seed, "random", most) for seed, most in zip(seeds, limits, strict=True)])
        yield self._random(subject, guided, walks)
        if self.reference_seeds:
            yield from self._compare_with_reference(subject, guided)

    def _run(self, subject: Subject, seed: int, scheme: str, most_messages: int | None = None) -> Answer:
        with started(subject) as port:
            spec = str(subject.spec)
            return ask(action="talk", spec=spec, port=port, seed=seed, scheme=scheme, most_messages=most_messages)

    def _messages(self, subject: Subject, other: str, ours: Runs, theirs: Runs, most: float | None) -> Row:
        compared = ours.messages / theirs.messages
        work = f"{subject.name}, messages against {other}"
        return Row(work, "", ours.messages, theirs.messages, compared, at_most=most)

    def _random(self, subject: Subject, guided: Runs, walks: Runs) -> Row:
        if subject.most_of_random is not None:
            stopped = len(walks.answers) - walks.full
            other = f"random walks ({stopped} of {len(walks.answers)} stopped)"
            return self._messages(subject, other, guided, walks, subject.most_of_random)
        lacking = walks.median(lambda run: run["total"] - run["covered"])
        short = len(walks.answers) - walks.full
        work = f"{subject.name}, random walks after {SHORT}x the messages lack {lacking:.0f}"
        return Row(work, "runs", None, short, short / len(walks.answers), at_least=1)

    def _compare_with_reference(self, subject: Subject, guided: Runs) -> Iterator[Row]:
        answers = []
        for seed in range(1, self.reference_seeds + 1):
            with started(subject) as port:
                answers.append(run_of_reference(subject, port, seed))
        theirs = Runs(answers)
        work = f"{subject.name}, the reference's runs to 100 %"
        yield Row(work, "runs", None, theirs.full, theirs.full / len(answers))
        yield self._messages(subject, "the reference", guided, theirs, subject.most_of_reference)
        for what, work, bar in (
            ("cpu", "CPU per message", LEAST_CPU_RATIO),
            ("whole_cpu", "the same with loading", None),
        ):
            cpu, other = (runs.per_message(what) * 1e6 for runs in (guided, theirs))
            yield Row(f"{subject.name}, {work}", "us", cpu, other, other / cpu, at_least=bar)
        delay = guided.per_message("waited")
        above, others = (runs.median(lambda run: run["wall"] - delay * run["messages"]) for runs in (guided, theirs))
        yield Row(
            f"{subject.name}, wall time above the server's", "s", above, others, above / others, at_most=MOST_WALL
        )
        for whose, runs in (("palaver's", guided), ("the reference's", theirs)):
            waited, wall = runs.median(lambda run: delay * run["messages"]), runs.median(lambda run: run["wall"])
            yield Row(f"{subject.name}, the server's share of {whose}", "s", waited, wall, waited / wall)

    # --- in memory ---------------------------------------------------------------------------------------------------

    def never_answer(self) -> Iterator[Row]:
        for name, spec, other in (("SMTP", "moody", "curt"), ("FTP", "ftp", "empty")):
            seeds = range(1, self.seeds + 1)
            willing = Runs([ask(action="cover", spec=spec, seed=seed) for seed in seeds])
            deaf = Runs([ask(action="cover", spec=spec, other=other, seed=seed) for seed in seeds])
            reached = sum(run["covered"] == run["ceiling"] and bool(run["reasons"]) for run in deaf.answers)
            work = f"{name}, a peer that never answers some: runs to the ceiling, and why"
            yield Row(work, "runs", reached, len(seeds), reached / len(seeds), at_least=1)
            compared = deaf.messages / willing.messages
            work = f"{name}, messages until it stops, against a willing peer"
            yield Row(work, "", deaf.messages, willing.messages, compared, at_most=MOST_OF_WILLING)
            for reason in deaf.answers[0]["reasons"]:
                print(f"  not reached: {reason}")

    def weigh_costs(self) -> Iterator[Row]:
        for spec, never in (("smtp", ["<quit>", "<helo>"]), ("ftp", ["<quit>"])):
            cost = ask(action="forecast", spec=spec, never=never)
            work = f"{spec}.fan, forecast per message"
            yield Row(work, "u", cost["all"], MOST_FORECAST, cost["all"] / MOST_FORECAST, at_most=1)
            work = f"{spec}.fan, forecast around message 2000 against 100"
            yield Row(work, "u", cost["late"], cost["early"], cost["late"] / cost["early"], at_most=MOST_GROWTH)
            cost = ask(action="coverage", spec=spec, never=never)
            allowed = MOST_COVERAGE + MOST_PER_NODE * cost["nodes"]
            work = f"{spec}.fan, coverage per message with {cost['nodes']:.1f} new nodes"
            yield Row(work, "u", cost["all"], allowed, cost["all"] / allowed, at_most=1)
        for spec, most_messages in (("ftp", None), ("large", 3000), ("rules", 3000), ("ways", 3000)):
            cost = ask(action="planning", spec=spec, seed=1, most_messages=most_messages)
            work = f"{spec}, {cost['total']} paths, planning per message of {cost['messages']}"
            allowed = MOST_PLANNING[spec]
            yield Row(work, "u", cost["planning"], allowed, cost["planning"] / allowed, at_most=1)
            if "early_messages" in cost:
                early = cost["early_messages"]
                work = f"{spec}, messages in the first second (1 000 000 u), {cost['early_paths']} paths"
                yield Row(work, "", early, LEAST_EARLY, early / LEAST_EARLY, at_least=1)

    def count_paths(self) -> Iterator[Row]:
        if not self.reference_seeds:
            return
        specs = [str(path) for folder in (BUNDLED, HERE) for path in sorted(folder.glob("*.fan"))]
        theirs = ask_reference(action="count", specs=specs, k=K)["counts"]
        ours = ask(action="count", specs=list(theirs), k=K)["counts"]
        same = sum(ours[spec] == count for spec, count in theirs.items())
        work = "numbers of paths as the reference counts them"
        yield Row(work, "specs", same, len(theirs), same / len(theirs), at_least=1)

    def climb(self) -> Iterator[Row]:
        guided = ask(action="cover", spec="ladder", seed=1, k=3)
        covered, total = guided["covered"], guided["total"]
        yield Row("a ladder of 30 rungs, guided", "paths", covered, total, covered / total, at_least=1)
        most = 3 * guided["messages"]
        walk = ask(action="cover", spec="ladder", seed=1, k=3, is_guided=False, most_messages=most)
        work = f"  at random, after 3x the messages ({guided['messages']})"
        yield Row(work, "paths", total, walk["covered"], walk["covered"] / total, at_most=MOST_OF_LADDER)

    def compare_hashes(self) -> Iterator[Row]:
        for spec, k in (("smtp", K), ("ladder", 3), ("large", K)):
            request = {"action": "plans", "spec": spec, "seed": 1, "k": k, "most_messages": 1000}
            one, other = (ask(hash_seed=seed, **request) for seed in ("1", "2"))
            same = one == other
            work = f"{spec}, plans and numbers of paths for two hash seeds"
            yield Row(work, "plans", one["plans"], other["plans"], float(same), at_least=1)


# In the order of the table, by the name that `--only` knows them by.
WORKS: Mapping[str, Callable[[Bench], Iterator[Row]]] = {
    "depth": Bench.climb,
    "hashes": Bench.compare_hashes,
    "never": Bench.never_answer,
    "costs": Bench.weigh_costs,
    "paths": Bench.count_paths,
    "servers": Bench.compare_with_servers,
}


def main() -> int:
    parser = command_line(__doc__, WORKS, "most of the time")
    parser.add_argument("--server", action="append", choices=SUBJECTS, help="only this server; may be repeated")
    parser.add_argument("--seeds", type=int, default=5, help="how many runs of each kind (default: 5)")
    parser.add_argument("--reference-seeds", type=int, default=3, help="and how many of the reference (default: 3)")
    arguments = parser.parse_args()
    compile_bytecode()
    subjects = [SUBJECTS[name] for name in arguments.server or SUBJECTS]
    bench = Bench(arguments.seeds, 0 if arguments.no_reference else arguments.reference_seeds, subjects)
    works = {name: partial(WORKS[name], bench) for name in arguments.only or WORKS}
    return print_table(works, bench.notes, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
