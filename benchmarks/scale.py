"""How much work a message is, and how that grows: palaver against plain sockets, and against itself.

`make bench-scale` prints one table; a bar that is missed is shown as MISSED, and then the exit status is 1.

- "against plain sockets" has random sessions with a fast server, one after the other in one process, and has the same
  sessions again by plain sockets, which know what to send and how many bytes to expect: messages per second, both
  directions, in wall time. On a machine that does other things too, the CPU times below it say more.
- "units" are CPU time, too, by a fixed loop that runs before: a unit is about a microsecond on a machine of 2020.
- "growth" compares what a message costs in long and in short sessions, and at the beginning of repetitions of
  different length; the exponent is that of the cost of a session against its length.
- "tree" compares visiting every node of a parsed text with parsing it.
- "memory" has session after session in one process.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from common import HERE, Process, Row, command_line, compile_bytecode, print_table

ROOT = HERE.parent
SPECS = ROOT / "src" / "palaver" / "specs"
SMTP, DNS, ECHO = str(SPECS / "smtp.fan"), str(SPECS / "dns.fan"), str(HERE / "scale" / "udp_echo.fan")

ROUNDS = 5
LENGTHS = (1000, 20_000)  # messages
SHAPES = {
    "{N}": "<start> ::= <exchange>{20000} <Client:quit> <Server:bye>",
    # The server, which could end these, never does.
    "*": "<start> ::= <exchange>* <Server:bye>",
    "recursion": "<start> ::= <visit>\n<visit> ::= <exchange> <visit> | <Server:bye>",
}
COPIES = (100, 20_000)
CALIBRATION = 10_000  # units in the fixed loop of the worker
MEMORY_SESSIONS = 20_000
SHORT = '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= <word>\n<answer> ::= <word>\n<word> ::= r"[a-z]+"\n'


def worker() -> Process:
    return Process(sys.executable, str(HERE / "scale_worker.py"))


@contextmanager
def server(*command: str) -> Iterator[int]:
    """A server that prints its port."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, *command], **pipes) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()


MAIL = (str(HERE / "scale_server.py"), "mail")
NAMES = (str(ROOT / "tests" / "servers" / "dns_small.py"),)
DATAGRAMS = (str(HERE / "scale_server.py"), "echo")


def messages() -> Iterator[Row]:
    """The share of plain sockets, and CPU time per message in calibration loops."""
    yield from _messages("smtp", SMTP, MAIL, "tcp", 150, at_least=0.4, at_most=90)
    yield from _messages("dns", DNS, NAMES, "udp", 100, at_least=0.1)
    yield from _messages("echo of datagrams", ECHO, DATAGRAMS, "udp", 100, at_least=0.3)


def _messages(
    name: str,
    spec: str,
    command: tuple[str, ...],
    scheme: str,
    sessions: int,
    at_least: float,
    at_most: float | None = None,
) -> Iterator[Row]:
    with server(*command) as port, worker() as ours, worker() as theirs:
        uri = f"{scheme}://127.0.0.1:{port}"
        runs: list[tuple[float, ...]] = []
        for seed in range(ROUNDS + 1):
            talked = ours.ask(action="talk", spec=spec, uri=uri, sessions=sessions, seed=seed)
            again = theirs.ask(action="replay", port=port, sessions=talked["sessions"], is_udp=scheme == "udp")
            count = sum(map(len, talked["sessions"]))
            runs.append((count / talked["wall"], count / again["wall"], talked["cpu"] / count, again["cpu"] / count))
        unit = ours.ask(action="calibrate")["seconds"] / CALIBRATION
    del runs[0]  # in which things are prepared for all
    rate, possible = (statistics.median(run[at] for run in runs) for at in (0, 1))
    share = statistics.median(run[0] / run[1] for run in runs)
    yield Row(f"{name}, messages against plain sockets", "/s", rate, possible, share, at_least=at_least)
    cpu, least = (min(run[at] for run in runs) / unit for at in (2, 3))
    yield Row("  CPU time of a message, in units; against plain sockets", "", cpu, least, cpu / least)
    if at_most is not None:
        yield Row(f"  the same, against the bar of {at_most}", "", cpu, at_most, cpu / at_most, at_most=1.0)


def growth() -> Iterator[Row]:
    """The cost of a message in sessions of different shapes and lengths."""
    short, long = LENGTHS
    for shape, start in SHAPES.items():
        costs = [min(_grown(start, length) for _ in range(3)) * length for length in LENGTHS]
        exponent = math.log(costs[1] / costs[0]) / math.log(long / short)
        work = f"{shape}: CPU of a session of {long} messages against {short}; exponent"
        yield Row(work, "ms", costs[1] * 1e3, costs[0] * 1e3, exponent, at_most=1.05)
    few, many = (min(_grown(_copies(count), 80) for _ in range(5)) * 1e6 for count in COPIES)
    work = f"the first 80 messages of <x>{{{COPIES[1]}}} against <x>{{{COPIES[0]}}}"
    yield Row(work, "us", many, few, many / few, at_most=1.5)


def _copies(count: int) -> str:
    return f"<start> ::= <exchange>{{{count}}} <Client:quit> <Server:bye>"


def _grown(start: str, length: int) -> float:
    with worker() as ours:
        grown = ours.ask(action="grow", start=start, messages=length)
    assert grown["messages"] == length, "a session has ended too early"
    return float(grown["seconds"])


def trees() -> Iterator[Row]:
    """A visit of every node against the parse."""
    item = '{"name": "alpha", "values": [1, 22, 333, true, null], "more": {"a": "b"}}'
    data = "[" + ",".join([item] * 1000) + "]"
    with worker() as ours:
        told = ours.ask(action="tree", spec=str(HERE / "json.fan"), data=data)
    work = f"a visit of {told['nodes']} nodes against the parse, JSON, {len(data) / 1000:.0f} KB"
    yield Row(work, "ms", told["walk"] * 1e3, told["parse"] * 1e3, told["walk"] / told["parse"], at_most=3.0)


def memory() -> Iterator[Row]:
    """The memory of a process that has session after session."""
    with server(*DATAGRAMS) as port, worker() as ours:
        asked = {"action": "memory", "spec": SHORT, "uri": f"udp://127.0.0.1:{port}"}
        first = ours.ask(**asked, sessions=MEMORY_SESSIONS // 10)["bytes"]
        last = ours.ask(**asked, sessions=MEMORY_SESSIONS)["bytes"]
    work = f"memory after {MEMORY_SESSIONS} more sessions, against {MEMORY_SESSIONS // 10}"
    yield Row(work, "MB", last / 1e6, first / 1e6, last / first, at_most=1.1)


# In the order of the table, by the name that `--only` knows them by.
WORKS = {"messages": messages, "growth": growth, "trees": trees, "memory": memory}


def main() -> int:
    arguments = command_line(__doc__, WORKS, "no time").parse_args()
    compile_bytecode()
    works = {name: WORKS[name] for name in arguments.only or WORKS}
    return print_table(works, [], arguments.json)


if __name__ == "__main__":
    sys.exit(main())
