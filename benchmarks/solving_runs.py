"""Runs of either tool with one spec, whether what they found is right, and how the tools compare."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from common import HERE

import palaver
from palaver import Tree
from palaver.compiled import Spec
from palaver.errors import Rejected

SPECS = HERE / "solving"
STOPPED = 3  # the exit status of a worker that has spent all it may
KILLED = -9


@dataclass(frozen=True)
class Run:
    """What one process found, and how many CPU seconds it had spent when it found each."""

    wanted: int
    outputs: tuple[bytes, ...]
    seconds: tuple[float, ...]
    end: str | None  # what was said at the end; None if it was stopped before
    end_seconds: float | None
    is_refused: bool  # it was said that there is no solution
    load: float = 0.0
    crash: str | None = None

    @property
    def is_complete(self) -> bool:
        return len(self.outputs) >= self.wanted

    @property
    def per_solution(self) -> float:
        return self.seconds[-1] / len(self.seconds)

    @property
    def per_further_solution(self) -> float:
        if len(self.seconds) == 1:
            return self.seconds[0]
        return (self.seconds[-1] - self.seconds[0]) / (len(self.seconds) - 1)


def run(python: str, tool: str, path: Path, *, count: int, seed: int, cap: float) -> Run:
    command = [python, str(HERE / "solving_worker.py"), tool, str(path), str(count), str(seed), str(cap)]
    # The reference needs this, too, to do the same for the same seed.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        # It stops itself when its CPU time is spent. It cannot while it is inside one long call, nor if it only waits.
        written, complaints = process.communicate(timeout=30 + 3 * cap)
    except subprocess.TimeoutExpired:
        process.kill()
        written, complaints = process.communicate()
    told = [json.loads(line) for line in written.splitlines(keepends=True) if line.endswith(b"\n")]
    found = [each for each in told if "output" in each]
    last = next((each for each in told if "end" in each), None)
    crash = None
    if process.returncode not in (0, STOPPED, KILLED):
        crash = (complaints.decode(errors="replace").strip().splitlines() or ["no word why"])[-1]
    return Run(
        count,
        tuple(each["output"].encode("latin-1") for each in found),
        tuple(each["seconds"] for each in found),
        None if last is None else last["end"],
        None if last is None else last["seconds"],
        last is not None and "is_refused" in last,
        next((each["load"] for each in told if "load" in each), 0.0),
        crash,
    )


def is_valid(name: str, output: bytes) -> bool:
    if name == "04_tlv":  # any bytes may be raw: it has too many derivations to read
        return _is_tlv(output)
    return tree_of(name, output) is not None


def tree_of(name: str, output: bytes) -> Tree | None:
    """An output, read again; None if it does not conform."""
    spec = load(name)
    try:
        return spec.parse(output if spec.is_binary else output.decode())
    except Rejected:
        return None


def _is_tlv(data: bytes) -> bool:
    if len(data) < 2 or not 1 <= data[0] <= 0x20 or data[1] != len(data) - 2:
        return False
    return len(data) <= 2 + 8 or _are_tlvs(data[2:], 3)


def _are_tlvs(data: bytes, most: int) -> bool:
    parts = []
    while data:
        size = 2 + data[1] if len(data) > 1 else 2
        parts.append(data[:size])
        data = data[size:]
    return len(parts) <= most and all(map(_is_tlv, parts))


@cache
def load(name: str) -> Spec:
    return palaver.load(path_of(name))


def path_of(name: str) -> Path:
    return SPECS / f"{name}.fan"


@dataclass(frozen=True)
class Comparison:
    """All runs of both tools with one spec."""

    name: str
    ours: Sequence[Run]
    theirs: Sequence[Run]

    @cached_property
    def our_failings(self) -> tuple[str, ...]:
        return tuple(self._failings("palaver", self.ours))

    @cached_property
    def their_failings(self) -> tuple[str, ...]:
        return tuple(self._failings("reference", self.theirs))

    def _failings(self, tool: str, runs: Sequence[Run]) -> Iterator[str]:
        if not all(run.is_complete for run in runs):
            yield f"{tool} found {', '.join(str(len(run.outputs)) for run in runs)} of {runs[0].wanted}"
        outputs = [output for run in runs for output in run.outputs]
        invalid = sum(not is_valid(self.name, output) for output in outputs)
        if invalid:
            yield f"{tool}: {invalid} of {len(outputs)} outputs invalid"
        repeated = sum(len(run.outputs) - len(set(run.outputs)) for run in runs)
        if repeated:
            yield f"{tool}: {repeated} of {len(outputs)} outputs repeated"
        yield from dict.fromkeys(f"{tool} crashed: {run.crash}" for run in runs if run.crash)

    @property
    def is_solved(self) -> bool:
        return not self.our_failings

    @property
    def our_time(self) -> float | None:
        return _median(run.per_solution for run in self.ours if run.is_complete)

    @property
    def their_time(self) -> float | None:
        return _median(run.per_solution for run in self.theirs if run.is_complete)

    @property
    def ratio(self) -> float | None:
        return _ratio(self.their_time, self.our_time)

    @property
    def steady(self) -> float | None:
        return _ratio(_median(run.per_further_solution for run in self.theirs if run.is_complete), self.our_time)


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return statistics.median(known) if known else None


def _ratio(theirs: float | None, ours: float | None) -> float | None:
    return None if theirs is None or ours is None else theirs / ours
