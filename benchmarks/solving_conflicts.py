"""The specs that have no solution, and what can be said against the answer that one gets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from solving_runs import Run, path_of


@dataclass(frozen=True)
class Conflict:
    """The conditions that cannot hold together; all others in the spec are innocent."""

    conditions: tuple[str, ...]
    is_provable: bool = False


CONFLICTS = {
    "15_unsat": Conflict(("int(<number>) > 50", "int(<number>) < 40"), is_provable=True),
    "26_unsat2": Conflict(("int(<len>) == len(str(<payload>))", "int(<len>) > 40"), is_provable=True),
    "unsat/prime": Conflict(("is_prime(int(<number>))", "int(<number>) % 4 == 0")),
    "unsat/crc_zero": Conflict(
        (
            'bytes(<crc>) == zlib.crc32(bytes(<payload>)).to_bytes(4, "big")',
            r'bytes(<crc>) == b"\x00\x00\x00\x00"',
        )
    ),
    "unsat/small_field": Conflict(("sum(int(i) for i in *<item>) == int(<total>)",)),
    "unsat/circle": Conflict(("int(<a>) == int(<b>) + 1", "int(<b>) == int(<a>) + 1")),
}


def objections(name: str, conflict: Conflict, runs: Sequence[Run], *, is_proved: bool) -> Iterator[str]:
    """What is wrong with the answers: each names the conditions in conflict, and no others."""
    lines = path_of(name).read_text().splitlines()
    conditions = [line.removeprefix("where ") for line in lines if line.startswith("where ")]
    assert set(conflict.conditions) <= set(conditions), f"{name} has changed"
    if any(run.outputs for run in runs):
        yield "it has a solution!"
    elif not all(run.is_refused for run in runs):
        yield "ended without Unsolvable"
    if conflict.is_provable and not is_proved:
        yield "should be proved"
    ends = [run.end or "" for run in runs]
    for condition in conditions:
        if condition in conflict.conditions and not all(condition in end for end in ends):
            yield f"does not name {condition}"
        if condition not in conflict.conditions and any(condition in end for end in ends):
            yield f"names {condition}"
    status = _exit_status(name)
    if status != 1:
        yield f"exit status {status}"


def _exit_status(name: str) -> int | str:
    command = [str(Path(sys.executable).parent / "palaver"), "fuzz", "-f", str(path_of(name)), "-n", "1", "--seed", "1"]
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "none within a minute"
    return done.returncode
