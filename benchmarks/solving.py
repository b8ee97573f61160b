"""How fast constraints are solved, against the reference implementation, and what is said when they cannot be.

`make bench-solving` prints one table. Both tools solve the same files, each run in a process of its own; for each spec
and seed one runs after the other. Times are CPU time. Importing a tool and loading a spec, which for both includes all
that is compiled from it before the first tree is made, are not part of them; a row of its own compares the loading. A
bar that is missed is shown as MISSED, and then the exit status is 1.

- "ratio" compares whole runs, per solution. "steady" leaves the reference's first solution out, but not ours.
- Runs that are short are repeated, for both tools, and the fastest counts: some last no longer than what disturbs them.
- Where some of the reference's runs found everything and others not, only those count that did.
- Outputs of both tools are read again by palaver; a spec is solved if all runs found everything, valid and distinct.
- `solving/friendly` has some specs again in the form that the reference repairs directly: `bytes(<field>) == value`.
- The specs in `solving/unsat`, and two others, have no solution. Only palaver is asked: the reference never says so.
- "spread" counts the different values of a field among the first outputs.

The whole table takes most of an hour, nearly all of it in the reference. REFERENCE_PYTHON names the Python of a
reference that is installed already.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from common import compile_bytecode, reference_python
from solving_conflicts import CONFLICTS, objections
from solving_runs import SPECS, Comparison, Run, path_of, run, tree_of

from palaver import Tree

# How often a short run is repeated, and what is short.
REPEATS = 3
LONG_SECONDS = 2.0

MEAN_RATIO, MEAN_STEADY = 30, 20
WORST_STEADY = 2
FRIENDLY_STEADY = 8
SHARE_SOLVED = 29 / 30
PROVED_SECONDS, NOT_FOUND_SECONDS = 0.05, 2.0
SPREAD_OUTPUTS = 60


# --- spread ----------------------------------------------------------------------------------------------------------


def lengths(symbol: str) -> Callable[[Tree], Iterable[int]]:
    return lambda tree: [len(bytes(part)) for part in tree.find_all_trees(symbol)]


def numbers(symbol: str) -> Callable[[Tree], Iterable[int]]:
    return lambda tree: [int(part) for part in tree.find_all_trees(symbol)]


def occurrences(symbol: str) -> Callable[[Tree], Iterable[int]]:
    return lambda tree: [len(tree.find_all_trees(symbol))]


SPREAD: dict[str, dict[str, Callable[[Tree], Iterable[int]]]] = {
    "01_frame": {"payload lengths": lengths("<payload>")},
    "02_textlen": {"payload lengths": lengths("<payload>")},
    "03_age": {"ages": numbers("<age>")},
    "10_sorted": {"numbers of items": occurrences("<num>")},
    "13_date": {"months": numbers("<month>"), "days": numbers("<day>")},
    "14_evenprime": {"digits of <even>": lengths("<even>"), "digits of <prime>": lengths("<prime>")},
    "21_unpack": {"payload lengths": lengths("<payload>")},
}


# --- rows ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One line of the table. Times are in seconds; what is no time is a count."""

    work: str
    ours: float | None = None
    theirs: float | None = None
    ratio: float | None = None
    steady: float | None = None
    must: str = ""
    is_missed: bool = False
    remarks: tuple[str, ...] = ()
    is_time: bool = True

    @property
    def shown(self) -> str:
        amount = _time if self.is_time else _count
        verdict = "  MISSED" if self.is_missed else ""
        cells = (amount(self.ours), amount(self.theirs), _times(self.ratio), _times(self.steady), self.must)
        remarks = "  " + "; ".join(self.remarks) if self.remarks else ""
        return (_line(self.work, *cells) + verdict + remarks).rstrip()


def _line(work: str, *cells: str) -> str:
    return f"{work:36}" + "".join(f"{cell:>12}" for cell in cells)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}x"


HEADER = _line("CPU per solution", "palaver", "reference", "ratio", "steady", "must")


# --- the table -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """What the command line asked for, and what has been found so far."""

    has_reference: bool
    solutions: int
    seeds: int
    cap: float
    comparisons: list[Comparison] = field(default_factory=list)
    runs: list[dict[str, object]] = field(default_factory=list)

    def compare(self, name: str, count: int) -> Comparison:
        ours, theirs = [], []
        for seed in range(1, self.seeds + 1):
            mine, other = [], []
            for _ in range(REPEATS):
                mine.append(self._run(sys.executable, "palaver", name, count, seed))
                # What takes long does not need to be repeated: what disturbs it for a moment does not matter.
                if self.has_reference and (not other or _took(other[0]) < LONG_SECONDS):
                    other.append(self._run(reference_python(), "reference", name, count, seed))
            ours.append(min(mine, key=_took))
            theirs += [min(other, key=_took)] if other else []
        return Comparison(name, ours, theirs)

    def _run(self, python: str, tool: str, name: str, count: int, seed: int) -> Run:
        result = run(python, tool, path_of(name), count=count, seed=seed, cap=self.cap)
        self.runs.append(
            {"spec": name, "tool": tool, "seed": seed, "wanted": count, "seconds": result.seconds, "end": result.end}
        )
        return result

    def solve(self, name: str) -> Iterator[Row]:
        comparison = self.compare(name, self.solutions)
        self.comparisons.append(comparison)
        yield self._row(comparison)

    def solve_friendly(self, name: str) -> Iterator[Row]:
        comparison = self.compare(name, self.solutions)
        steady = comparison.steady
        # Where the reference found nothing there is nothing to compare, but we must have solved it.
        is_missed = not comparison.is_solved or (steady is not None and steady < FRIENDLY_STEADY)
        yield self._row(comparison, must=f"{FRIENDLY_STEADY}x steady", is_missed=is_missed)

    def _row(self, comparison: Comparison, *, must: str = "", is_missed: bool = False) -> Row:
        times = comparison.our_time, comparison.their_time, comparison.ratio, comparison.steady
        return Row(comparison.name, *times, must, is_missed, comparison.our_failings + comparison.their_failings)

    def refuse(self, name: str) -> Iterator[Row]:
        """The spec has no solution: whether that is said in time, and with the right reasons."""
        conflict = CONFLICTS[name]
        runs = [self._run(sys.executable, "palaver", name, self.solutions, seed) for seed in range(1, self.seeds + 1)]
        ends = [run.end or "" for run in runs]
        is_proved = all("proved" in end.lower() for end in ends)
        most = PROVED_SECONDS if is_proved or conflict.is_provable else NOT_FOUND_SECONDS
        # What is proved is proved while the constraints are planned, so here that counts.
        seconds = max(math.inf if run.end_seconds is None else run.load + run.end_seconds for run in runs)
        problems = list(objections(name, conflict, runs, is_proved=is_proved))
        if math.isinf(seconds):
            problems.append("no answer")
        is_missed = bool(problems) or seconds > most
        remarks = ("proved" if is_proved else "not found", *problems)
        shown = None if math.isinf(seconds) else seconds
        yield Row(f"{name}: no solution", shown, must=_time(most), is_missed=is_missed, remarks=remarks)

    def spread(self, name: str) -> Iterator[Row]:
        comparison = self.compare(name.removeprefix("spread/"), SPREAD_OUTPUTS)
        for what, values in SPREAD[comparison.name].items():
            ours = statistics.median(_distinct(comparison.name, run, values) for run in comparison.ours)
            if not comparison.theirs:
                yield Row(f"{name}: {what}", ours, is_time=False)
                continue
            # What the reference did not find in time could have been different, so we count no more than it found.
            pairs = zip(comparison.ours, comparison.theirs, strict=True)
            fair = [_distinct(comparison.name, run, values, most=len(other.outputs)) for run, other in pairs]
            theirs = statistics.median(_distinct(comparison.name, run, values) for run in comparison.theirs)
            is_missed = statistics.median(fair) < theirs
            found = ", ".join(str(len(run.outputs)) for run in comparison.theirs)
            is_whole = all(run.is_complete for run in comparison.theirs)
            remarks = () if is_whole else (f"reference found {found}; ours among as many: {statistics.median(fair):g}",)
            yield Row(
                f"{name}: {what}",
                ours,
                theirs,
                must=f">= {theirs:g}",
                is_missed=is_missed,
                remarks=remarks,
                is_time=False,
            )

    def summary(self) -> Iterator[Row]:
        if not self.comparisons:
            return
        both = [(each.name, each.ratio, each.steady) for each in self.comparisons if each.ratio and each.steady]
        if both:
            ratio = statistics.geometric_mean(ratio for _, ratio, _ in both)
            steady = statistics.geometric_mean(steady for _, _, steady in both)
            remarks = (f"{len(both)} specs that both solve",)
            yield Row(
                "geometric mean, start-up included",
                None,
                None,
                ratio,
                None,
                f"{MEAN_RATIO}x",
                ratio < MEAN_RATIO,
                remarks,
            )
            yield Row(
                "geometric mean, steady", None, None, None, steady, f"{MEAN_STEADY}x", steady < MEAN_STEADY, remarks
            )
            worst = min(both, key=lambda each: each[2])
            yield Row(
                "worst spec, steady",
                None,
                None,
                None,
                worst[2],
                f"{WORST_STEADY}x",
                worst[2] < WORST_STEADY,
                (worst[0],),
            )
        ours = statistics.median(run.load for each in self.comparisons for run in each.ours)
        loads = [run.load for each in self.comparisons for run in each.theirs]
        theirs_loading = statistics.median(loads) if loads else None
        ratio_of_loading = theirs_loading / ours if theirs_loading else None
        yield Row("loading and planning, median", ours, theirs_loading, ratio_of_loading)
        solved = sum(each.is_solved for each in self.comparisons)
        theirs = sum(all(run.is_complete for run in each.theirs) for each in self.comparisons) if both else None
        must = math.ceil(len(self.comparisons) * SHARE_SOLVED - 1e-9)
        unsolved = [each.name for each in self.comparisons if not each.is_solved]
        yield Row(
            f"solved on every seed, of {len(self.comparisons)}",
            solved,
            theirs,
            must=f">= {must}",
            is_missed=solved < must,
            remarks=(f"not {', '.join(unsolved)}",) if unsolved else (),
            is_time=False,
        )


def _took(run: Run) -> float:
    return run.seconds[-1] if run.is_complete else math.inf


def _distinct(name: str, run: Run, values: Callable[[Tree], Iterable[int]], most: int | None = None) -> int:
    trees = (tree_of(name, output) for output in run.outputs[:most])
    return len({value for tree in trees if tree is not None for value in values(tree)})


def works() -> dict[str, Callable[[Bench, str], Iterator[Row]]]:
    """In the order of the table, by the name that `--only` knows them by."""
    names = sorted(path.relative_to(SPECS).with_suffix("").as_posix() for path in SPECS.rglob("*.fan"))
    main = [name for name in names if "/" not in name and name not in CONFLICTS]
    friendly = [name for name in names if name.startswith("friendly/")]
    return {
        **dict.fromkeys(main, Bench.solve),
        **dict.fromkeys(friendly, Bench.solve_friendly),
        **dict.fromkeys(CONFLICTS, Bench.refuse),
        **dict.fromkeys((f"spread/{name}" for name in SPREAD), Bench.spread),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these specs: 03_age 'friendly/*' 'spread/*'")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="how many runs of each (3)")
    parser.add_argument("--solutions", type=int, default=30, metavar="N", help="how many solutions of each run (30)")
    parser.add_argument("--no-reference", action="store_true", help="do not ask the reference, which takes long")
    parser.add_argument("--cap", type=float, default=60, metavar="SECONDS", help="CPU time of one run at most (60)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows and all runs into this file, too")
    arguments = parser.parse_args()
    chosen = {
        name: work
        for name, work in works().items()
        if arguments.only is None or any(fnmatchcase(name, pattern) for pattern in arguments.only)
    }
    if not chosen:
        parser.error("there is no such spec")
    compile_bytecode()
    bench = Bench(not arguments.no_reference, arguments.solutions, arguments.seeds, arguments.cap)
    rows: list[Row] = []
    print(HEADER)
    for name, work in chosen.items():
        for row in work(bench, name):
            print(row.shown, flush=True)
            rows.append(row)
    for row in bench.summary():
        print(row.shown)
        rows.append(row)
    if arguments.json:
        data = {"rows": [asdict(row) for row in rows], "runs": bench.runs}
        arguments.json.write_text(json.dumps(data, indent=2) + "\n")
    return 1 if any(row.is_missed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
