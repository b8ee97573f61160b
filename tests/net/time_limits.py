"""How far runs go beyond their limits of time: python tests/net/time_limits.py [SECONDS]

Each row is a peer, a spec or a target that does not end by itself, and a limit of time. The command runs in a fork of
this process, which has loaded it, and the table tells how long it took after its limit, and the time of the processor
that it used meanwhile: on a machine that does other things, too, only that says something about palaver.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from net.hostile_peers import Peer, drips, endlessly, says, serving

TARGET = str(Path(__file__).parent / "hostile_target.py")

ASK = '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "GET\\n"\n'
LINES = ASK.replace("<Server:answer>", "<Server:line>+ <Server:end>") + '<line> ::= r"[a-z]+" "\\n"\n<end> ::= ".\\n"\n'
NOT_FOUND = """
import hashlib
<start> ::= <Client:ask>+ <Server:answer>
<ask> ::= r"[a-z]{8,80}" "\\n"
<answer> ::= "OK\\n"
where hashlib.sha256(bytes(<ask>)).hexdigest().startswith("0000000000")
"""
# 20 ways in each of 30 states: millions of paths of five symbols.
STATES, WAYS = 30, 20
MANY_PATHS = "<start> ::= <s0>\n" + "".join(
    f"<s{state}> ::= "
    + " | ".join(f"<Client:m{state}_{way}> <Server:ok> <s{(state * 7 + way + 1) % STATES}>" for way in range(WAYS))
    + " | <Client:quit>\n"
    + "".join(f'<m{state}_{way}> ::= "{state} {way} " <w> "\\n"\n' for way in range(WAYS))
    for state in range(STATES)
)
MANY_PATHS += '<w> ::= "a" <v> | "b" <v>\n<v> ::= "x" | "y" | "z"\n<ok> ::= "OK\\n"\n<quit> ::= "QUIT\\n"\n'
ENDLESS_PYTHON = ASK + '<answer> ::= "OK\\n"\ndef spin(tree):\n    while True:\n        pass\nwhere spin(<ask>)\n'
HALF_A_BODY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999999\r\n\r\n{}"


@dataclass(frozen=True)
class Case:
    """Something that does not end by itself: a peer, or a command for a target."""

    spec: str  # its text, or the name of a bundled one
    peer: Peer | None = None
    target: str = ""
    options: str = ""
    scheme: str = "tcp"


def answers(connection: object) -> None:
    """Answer every line by OK."""
    assert hasattr(connection, "makefile")
    with connection.makefile("rwb", buffering=0) as stream:
        for _ in iter(stream.readline, b""):
            stream.write(b"OK\n")


CASES: dict[str, Case] = {
    "says nothing": Case(ASK + '<answer> ::= "OK\\n"\n', says()),
    "sends a byte at a time": Case(LINES, drips(b"a", every=0.02)),
    "sends lines without end": Case(LINES, endlessly(b"ab\n" * 10_000), options="--max-messages 1000000000"),
    "says nothing in a TLS handshake": Case(ASK + '<answer> ::= "OK\\n"\n', says(), scheme="tls"),
    "no message is found": Case(NOT_FOUND, says(), options="--budget 1000000000"),
    "Python of the spec never ends": Case(ENDLESS_PYTHON, says()),
    "millions of paths": Case(MANY_PATHS, answers, options="-k 5 --max-messages 1000000"),
    "a library waits for a body": Case("rest", says(HALF_A_BODY)),
    "a library waits for an answer": Case("rest", says()),
    "the target ignores SIGTERM": Case(
        ASK + '<answer> ::= "OK\\n"\n', target=shlex.join([sys.executable, "-S", TARGET, "ignores SIGTERM"])
    ),
}


# The time of a session begins when its connection is open: until then --timeout says how long.
_LATER = ("says nothing in a TLS handshake", "the target ignores SIGTERM")
OPTIONS = {"--time": list(CASES), "--session-time": [name for name in CASES if name not in _LATER]}


class Measured(NamedTuple):
    """The seconds that a run took, those that the processor worked for it, and its exit code."""

    seconds: float
    cpu: float
    code: int


@contextmanager
def _address(case: Case) -> Iterator[list[str]]:
    with nullcontext(0) if case.peer is None else serving(case.peer) as port:
        if case.peer is None:
            yield ["--target", f"{case.target} {{port}}"]
        else:
            yield ["--client", f"{case.scheme}://127.0.0.1:{port}"]


def measured(case: Case, limit: list[str], run: Callable[[list[str]], object]) -> Measured:
    """Run the command in a fork of this process, and in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, _address(case) as address:
        spec = case.spec
        if "\n" in spec:
            spec = str(Path(folder, "spec.fan"))
            Path(spec).write_text(case.spec)
        waits = ["--timeout", "1000", "--patience", "1000", "--wait-for-server", "0", "--console", "none"]
        command = ["talk", spec, *waits, "--seed", "1", "--no-run", *shlex.split(case.options), *limit, *address]
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _run_silently(folder, command, run)
        _, status, used = os.wait4(child, 0)
        return Measured(time.monotonic() - began, used.ru_utime + used.ru_stime, os.waitstatus_to_exitcode(status))


def _run_silently(folder: str, command: list[str], run: Callable[[list[str]], object]) -> None:
    code = 70
    try:
        os.chdir(folder)
        silent = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silent, descriptor)
        run(command)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        os._exit(code)


def load() -> Callable[[list[str]], object]:
    """The command, with everything loaded that it needs, so that a fork need not do that within its time."""
    from palaver.cli.main import run

    with tempfile.TemporaryDirectory() as folder, serving(answers) as port:
        spec = Path(folder, "spec.fan")
        spec.write_text(ASK + '<answer> ::= "OK\\n"\n')
        with suppress(SystemExit), open(os.devnull, "w") as silent, redirect_stdout(silent), redirect_stderr(silent):
            run(["talk", str(spec), "-n", "1", "--no-run", "--console", "none", "--client", str(port)])
    return run


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    run = load()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; limit {seconds:g} s; each is over by:")
    for option, names in OPTIONS.items():
        for name in names:
            limit = [option, f"{seconds:g}", *(["-n", "1"] if option == "--session-time" else [])]
            done = measured(CASES[name], limit, run)
            over, used = done.seconds - seconds, f"processor {done.cpu:.2f} s, exit code {done.code}"
            print(f"{option:15} {name:32} {over:6.2f} s  ({used})", flush=True)


if __name__ == "__main__":
    main()
