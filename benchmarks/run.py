"""palaver against the reference implementation: both in one run, CPU time, ratios.

`python benchmarks/run.py` installs the reference into a venv of its own beside this file; REFERENCE_PYTHON names the
Python of one that is there already. Times on a shared machine are worth little by themselves; the runs of the two
tools alternate, and only their ratio is compared with a bar. `--full` makes as many messages with the reference as
with palaver (it takes minutes).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

from common import HERE, alternate, compile_bytecode, reference_python

ROUNDS = 5


def cpu_of(command: list[str]) -> float:
    """The CPU seconds that a command takes, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def worker(python: str, tool: str, job: str, spec: str, count: int) -> dict[str, float]:
    """What one job, in a process of its own, measured; times are CPU seconds per item."""
    command = [python, str(HERE / "worker.py"), tool, job, str(HERE / spec), str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="as many messages with the reference as with palaver")
    full = parser.parse_args().full
    there, here = reference_python(), sys.executable
    compile_bytecode()
    fandango, palaver = str(Path(there).parent / "fandango"), str(Path(here).parent / "palaver")
    trivial = str(HERE / "trivial.fan")

    sizes: dict[tuple[str, str], float] = {}

    def fuzz(python: str, tool: str, spec: str, count: int) -> float:
        result = worker(python, tool, "fuzz", spec, count)
        sizes[spec, tool] = result["bytes"]
        return result["per_item"]

    def generate(spec: str, few: int) -> list[float]:
        return alternate(
            1 if full else 3,
            lambda: fuzz(here, "palaver", spec, 10_000),
            lambda: fuzz(there, "reference", spec, 10_000 if full else few),
        )

    rows = [
        (
            "start-up: fuzz -n 1, trivial spec",
            3,
            alternate(
                ROUNDS,
                lambda: cpu_of([palaver, "fuzz", "-f", trivial, "-n", "1"]),
                lambda: cpu_of([fandango, "fuzz", "-f", trivial, "-n", "1"]),
            ),
        ),
        (
            "loading an FTP-sized spec",
            20,
            alternate(
                3,
                lambda: worker(here, "palaver", "load", "ftp.fan", 5)["per_item"],
                lambda: worker(there, "reference", "load", "ftp.fan", 3)["per_item"],
            ),
        ),
        ("a line-based message", 100, generate("lines.fan", 500)),
        ("a DNS-like message", 100, generate("dns.fan", 200)),
    ]
    print(f"{'CPU time':34} {'palaver':>12} {'reference':>12} {'ratio':>8}   must")
    missed = 0
    for name, bar, (ours, theirs) in rows:
        ratio = theirs / ours
        missed += ratio < bar
        verdict = "" if ratio >= bar else "MISSED"
        print(f"{name:34} {ours * 1e3:9.3f} ms {theirs * 1e3:9.3f} ms {ratio:7.1f}x {bar:5}x {verdict}")
    # Each tool chooses by itself how often it repeats, so a message here is not as long as a message there.
    for (spec, tool), size in sizes.items():
        print(f"{tool}'s messages of {spec} have {size:.0f} bytes on average")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
