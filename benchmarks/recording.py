"""The cost of the run directory: CPU with it and without it, its size for each message, and the growth of memory.

    python benchmarks/recording.py [SESSIONS]         the ratio of CPU time, and bytes for each message
    python benchmarks/recording.py --memory MESSAGES  the memory above that at the start, with so many messages

CPU time is that of palaver alone; the server is a process of its own. The same seed gives the same sessions.
"""

from __future__ import annotations

import resource
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import palaver
from palaver.campaign.events import SessionEnded
from palaver.recording.run_writer import record

SERVER = shlex.join([sys.executable, "-m", "palaver.demo.server", "{port}"])

ECHO = """
<start> ::= <exchange>{400}
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\\n"
<answer> ::= <word> "\\n"
<word> ::= r"[a-z]{1,8}"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""


class Stopwatch:
    """Counts the CPU time that is spent in some functions, without that of reading the clock."""

    def __init__(self) -> None:
        self.seconds = 0.0
        began = time.thread_time()
        for _ in range(10_000):
            time.thread_time()
        self._reading = (time.thread_time() - began) / 10_000

    def timed(self, function: Callable[..., None]) -> Callable[..., None]:
        """The function, with its time counted."""

        def counted(*arguments: object) -> None:
            began = time.thread_time()
            function(*arguments)
            self.seconds += time.thread_time() - began - self._reading

        return counted


def measure_cpu(sessions: int) -> None:
    """Print the share of the writer, measured inside of one run: what else the machine does matters least so."""
    with tempfile.TemporaryDirectory() as place:
        campaign = palaver.talk("smtp", target=SERVER, seed=1, sessions=sessions)
        writer = record(campaign, Path(place) / "run", {"target": SERVER})
        watch = Stopwatch()
        campaign.tracers[:] = [watch.timed(writer.trace)]
        others = Stopwatch()
        campaign._readers[:] = [watch.timed(writer)]
        others.timed(lambda: _run(campaign))()
        size, messages = (Path(place) / "run" / "run.sqlite").stat().st_size, campaign.progress.messages
    rest = others.seconds - watch.seconds
    print(f"{sessions} sessions, {messages} messages: {rest:.3f} s of CPU without the run directory")
    print(f"{watch.seconds:.3f} s more to write it: {watch.seconds / rest:+.1%}")
    print(f"{size / messages:.0f} bytes for each message, {size / 1024:.0f} KiB in all")


def _run(campaign: palaver.Campaign) -> None:
    campaign.run()


def measure_memory(messages: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        sessions = max(1, messages // 800)
        campaign = palaver.talk(palaver.loads(ECHO), program=["cat"], seed=1, sessions=sessions, guided=False)
        record(campaign, Path(place) / "run", max_bytes=1 << 34)
        start = said = 0
        for event in campaign:
            if isinstance(event, SessionEnded):
                said += len(event.messages)
                start = start or _memory()
        file = Path(place) / "run" / "run.sqlite"
        print(f"{said} messages: {(_memory() - start) / 1024:.1f} MiB more at the peak than after the first session")
        print(
            f"{file.stat().st_size / said:.0f} bytes for each message, {file.stat().st_size / (1 << 20):.0f} MiB in all"
        )


def _memory() -> int:
    """The peak so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        measure_memory(int(sys.argv[2]))
    else:
        measure_cpu(int(sys.argv[1]) if sys.argv[1:] else 600)
