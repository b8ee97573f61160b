"""How guidance copes with real servers that remember: a key-value server and a cache, guided and at random.

`benchmarks/stateful_servers.py` starts redis-server and memcached, if they are there, each anew for every run, and
prints how many paths of up to five symbols were covered after 50, 200 and 1000 messages sent: medians over the seeds,
the least and the most, and in how many seeds a guided run was not below the random walk of the same seed. There are two
random walks: the one of `--unguided`, which makes every name afresh, and one that uses learnt values as guided runs do;
the bars are those against the latter. A bar that is missed is shown as MISSED, and then the exit status is 1.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import palaver
from palaver.campaign.events import MessageSent
from palaver.campaign.stopping import Phase

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from servers.common import free_port

HERE = Path(__file__).parent

POINTS = (50, 200, 1000)
ABOVE = (50, 200)  # where the median of guided runs must be above
LEAST_NOT_BELOW = 0.8  # of the seeds, at each point

COMMANDS: dict[str, Callable[[int, str], list[str]]] = {
    "redis": lambda port, folder: [
        *("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder),
        *("--logfile", f"{folder}/log"),
    ],
    "memcached": lambda port, folder: ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port), "-U", "0"],
}


@contextmanager
def started(name: str) -> Iterator[int]:
    """The port of a server that runs, and has heard nothing yet."""
    with tempfile.TemporaryDirectory(prefix="palaver-") as folder:
        port = free_port()
        process = subprocess.Popen(COMMANDS[name](port, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield port
        finally:
            process.terminate()
            process.wait()


def covered(name: str, seed: int, *, is_guided: bool, learns: bool = True) -> list[int]:
    """The number of paths that were covered at each point."""
    spec = palaver.load(HERE / "stateful" / f"{name}.fan")
    found: list[int] = []
    with started(name) as port:
        options = {"guided": is_guided or learns, "until": "coverage", "wait_for_server": 10.0}
        campaign = palaver.talk(spec, client=f"tcp://127.0.0.1:{port}", seed=seed, **options)  # type: ignore[arg-type]
        if not is_guided:
            campaign.progress.phase = Phase.UNGUIDED  # without guidance `talk` learns no values
        sent = 0
        for event in campaign:
            if isinstance(event, MessageSent):
                sent += 1
                if sent in POINTS:
                    found.append(campaign.guidance.goal_progress.reached)
            if len(found) == len(POINTS):
                break
        campaign.close()
        if campaign.findings:
            print(campaign.findings[0].show(), file=sys.stderr)
        return [*found, *[campaign.guidance.goal_progress.reached] * (len(POINTS) - len(found))]


def shown(numbers: Sequence[int]) -> str:
    return f"{statistics.median(numbers):.0f} ({min(numbers)}-{max(numbers)})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="how many runs of each kind (default: 10)")
    parser.add_argument("--only", choices=COMMANDS, help="only this server")
    arguments = parser.parse_args()
    is_missed = False
    for name in [arguments.only] if arguments.only else COMMANDS:
        if shutil.which(COMMANDS[name](0, "")[0]) is None:
            print(f"{name}: skipped, it is not installed")
            continue
        began = time.process_time()
        runs = [
            (
                covered(name, seed, is_guided=True),
                covered(name, seed, is_guided=False),
                covered(name, seed, is_guided=False, learns=False),
            )
            for seed in range(1, arguments.seeds + 1)
        ]
        for at, point in enumerate(POINTS):
            guided, walks, plain = ([run[kind][at] for run in runs] for kind in range(3))
            not_below = sum(one >= other for one, other in zip(guided, walks, strict=True))
            median, other = statistics.median(guided), statistics.median(walks)
            is_good = (median > other if point in ABOVE else median >= other) and (
                not_below >= LEAST_NOT_BELOW * len(runs)
            )
            is_missed = is_missed or not is_good
            print(
                f"{name:10} {point:5} sent: guided {shown(guided):>15}, at random {shown(walks):>15}, "
                f"not below in {not_below} of {len(runs)}, names afresh {shown(plain):>15}"
                f"{'' if is_good else '  MISSED'}",
                flush=True,
            )
        print(f"{name:10} CPU {time.process_time() - began:.0f} s", flush=True)
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
