"""Instructions of two checkouts for the same work, which do not depend on what else the machine does.

    python tools/instructions.py [--counts FEW MANY] [--input FILE] OLD NEW SCRIPT [ARGUMENT...]

Each checkout has a `.venv`, runs the script with its Python, in its folder, and is counted by cachegrind (Debian:
valgrind), twice: with FEW and with MANY in the place of {count}. The difference is the work, the rest is the start.
The lines of --input are written to the script, for workers that wait for requests: all of them {count} times, with
{number} counted up; or once, if {count} stands in them. What the script prints is compared, but for its seconds:

    python tools/instructions.py OLD NEW benchmarks/solving_worker.py palaver benchmarks/solving/05_csv.fan {count} 1 99
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_INSTRUCTIONS = re.compile(r"I\s+refs:\s+([\d,]+)")
_TIMES = re.compile(r'"(seconds|load)": [-+.\de]+(, )?|"times": \[[^]]*\]')


@dataclass(frozen=True)
class Counted:
    """The instructions of a process, and what it printed."""

    instructions: int
    printed: str


def counted(checkout: Path, words: list[str], lines: list[str], count: int) -> Counted:
    """Run a script of a checkout under cachegrind."""
    filled = [word.replace("{count}", str(count)) for word in words]
    times = 1 if any("{count}" in line for line in lines) else count
    given = "".join(
        line.replace("{count}", str(count)).replace("{number}", str(number)) + "\n"
        for number in range(times)
        for line in lines
    )
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(checkout / "tests")}
    done = subprocess.run(
        [*valgrind, _python_of(checkout), *filled],
        cwd=checkout,
        input=given,
        capture_output=True,
        text=True,
        env=environment,
    )
    found = _INSTRUCTIONS.search(done.stderr)
    if done.returncode or found is None:
        sys.exit(f"{checkout}: {done.stderr[-2000:]}")
    return Counted(int(found[1].replace(",", "")), _TIMES.sub("", done.stdout))


def _python_of(checkout: Path) -> str:
    return str((checkout / ".venv" / "bin" / "python").absolute())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--counts", type=int, nargs=2, default=(5, 25), metavar=("FEW", "MANY"))
    parser.add_argument("--input", type=Path, metavar="FILE")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="SCRIPT [ARGUMENT...]")
    options = parser.parse_args()
    few, many = options.counts
    lines = options.input.read_text().splitlines() if options.input else []
    works, starts, prints = [], [], []
    for checkout in (options.old, options.new):
        subprocess.run([_python_of(checkout), "-m", "compileall", "-q", "src"], cwd=checkout, check=True)
        less, more = (counted(checkout, options.words, lines, count) for count in (few, many))
        works.append((more.instructions - less.instructions) / (many - few))
        starts.append(less.instructions - few * works[-1])
        prints.append(more.printed)
    same = "the same output" if prints[0] == prints[1] else "other output"
    for name, (old, new) in (("each", works), ("start", starts)):
        print(f"{name:6}{old / 1000:14,.0f} k{new / 1000:14,.0f} k{(new / old - 1) * 100:+8.1f} %  {same}")


if __name__ == "__main__":
    main()
