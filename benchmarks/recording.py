"""The cost of the run directory: CPU with it and without it, its size for each message, and the growth of memory.

    python benchmarks/recording.py [SESSIONS]        the ratio of CPU time, and bytes for each message
    python benchmarks/recording.py --memory MESSAGES  the memory above that at the start, with so many messages

CPU time is that of palaver alone; the server is a process of its own. The same seed gives the same sessions.
"""

from __future__ import annotations

import resource
import shlex
import sys
import tempfile
import time
from pathlib import Path

import palaver
from palaver.campaign.events import SessionEnded
from palaver.recording.run_writer import record

SERVER = shlex.join([sys.executable, "-m", "palaver.demo.server", "{port}"])
ROUNDS = 3

ECHO = """
<start> ::= <exchange>{400}
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\\n"
<answer> ::= <word> "\\n"
<word> ::= r"[a-z]{1,8}"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""


def cpu_seconds(sessions: int, folder: Path | None) -> tuple[float, int]:
    """The CPU time of a run, and the number of its messages."""
    options = {"target": SERVER, "seed": 1, "sessions": sessions}
    with palaver.talk("smtp", target=SERVER, seed=1, sessions=sessions) as campaign:
        if folder is not None:
            record(campaign, folder, options)
        began = time.process_time()
        campaign.run()
        return time.process_time() - began, campaign.progress.messages


def measure_cpu(sessions: int) -> None:
    without, with_run = [], []
    size = messages = 0
    with tempfile.TemporaryDirectory() as place:
        for number in range(ROUNDS):
            without.append(cpu_seconds(sessions, None)[0])
            seconds, messages = cpu_seconds(sessions, Path(place) / str(number))
            with_run.append(seconds)
            size = (Path(place) / str(number) / "run.sqlite").stat().st_size
    best, best_with = min(without), min(with_run)
    print(f"{sessions} sessions, {messages} messages, the best of {ROUNDS}:")
    print(f"CPU without a run {best:.3f} s, with one {best_with:.3f} s: {best_with / best - 1:+.1%}")
    print(f"{size / messages:.0f} bytes for each message, {size / 1024:.0f} KiB in all")


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
        measure_cpu(int(sys.argv[1]) if sys.argv[1:] else 100)
