"""Hostile peers and targets: with each, palaver ends within its limits, blames the right one, and leaves nothing.

Each row of the table is run by the command `palaver` as a process of its own. Its exit code, the kind of its findings
and what they say are checked, how long it took, how much memory it had at most, and that nothing that it has started
runs on; nothing that a peer or a target writes reaches the terminal as a control character.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from net.hostile_peers import (
    HELLO_REQUEST,
    OSC,
    Peer,
    answers_from_elsewhere,
    answers_in_a_flood,
    answers_in_large,
    answers_without_end,
    breaks_encryption,
    closes,
    drips,
    encrypted,
    endlessly,
    half_closes,
    never_reads,
    resets,
    says,
    serving,
    serving_datagrams,
)
from palaver.session.findings import FindingKind, Verdict
from palaver.transport.certificate import make_certificate
from servers.common import needs_openssl

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured by /proc")

TARGET = str(Path(__file__).parent / "hostile_target.py")
CASES = Path(__file__).parent.parent / "cases"

MAX_MEGABYTES = 200
# How much longer a run may take than its limits say, on a machine that does other things, too.
SLACK_S = 35.0

ASK = '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "GET\\n"\n'
SPECS = {
    "ok": ASK + '<answer> ::= "OK\\n"\n',
    "words": ASK + '<answer> ::= r"[a-z ]*" "\\n"\n',
    "lines": ASK.replace("<Server:answer>", "<Server:line>+ <Server:end>")
    + '<line> ::= r"[a-z]+" "\\n"\n<end> ::= ".\\n"\n',
    "body": ASK + '<answer> ::= <line>* ".\\n"\n<line> ::= r"[a-z]+" "\\n"\n',
    "brackets": ASK + '<answer> ::= <list> "\\n"\n<list> ::= "(" <list>* ")" | "x"\n',
    "number": ASK + '<answer> ::= <number> "\\n"\n<number> ::= r"[0-9]+"\nwhere int(<number>) > 5\n',
    "blob": ASK
    + "<answer> ::= <length> <data>\n<length> ::= <byte>{4}\n<data> ::= <byte>*\n"
    + 'where int.from_bytes(bytes(<answer>.<length>), "big") == len(bytes(<answer>.<data>))\n',
    "large": '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= r"x+" := "x" * 8000000\n<answer> ::= "OK\\n"\n',
    "program": '<start> ::= <In:ask> <Out:answer>\n<ask> ::= "GET\\n"\n<answer> ::= "OK\\n"\n',
    "endless": ASK + '<answer> ::= "OK\\n"\ndef spin(tree):\n    while True:\n        pass\nwhere spin(<answer>)\n',
}

Blamed = Literal["peer", "nobody", "spec"]
_VERDICTS = {"peer": Verdict.FAIL, "nobody": Verdict.INCONCLUSIVE, "spec": Verdict.ERROR}


@dataclass(frozen=True)
class Row:
    """A run, and what must come of it. Unless `options` say otherwise it has one session, and waits 0.3 s."""

    options: str = ""
    spec: str = "ok"
    kind: FindingKind | None = None  # None: no findings
    says: str = ""  # is in the output, or in the error
    code: int = 1
    blamed: Blamed = "peer"
    is_note: bool = False
    within: float = 3.0  # seconds, that the limits add up to


CLOSED, RESET, SILENCE, LIMIT = FindingKind.CLOSED, FindingKind.RESET, FindingKind.SILENCE, FindingKind.LIMIT
GARBAGE, EARLY, TLS = FindingKind.UNPARSEABLE, FindingKind.UNEXPECTED, FindingKind.TLS
CRASH, EXIT, REPORT = FindingKind.CRASH, FindingKind.EXIT, FindingKind.REPORT

PEERS: dict[str, tuple[Peer, Row]] = {
    "sends garbage for ever": (endlessly(b"\xff\x00" * 8000), Row(kind=GARBAGE, says="at byte 0: expected 'OK\\n'")),
    "sends a line for ever": (
        endlessly(b"a" * 65536),
        Row(spec="lines", kind=LIMIT, says="Server sent more than 1048576 bytes without completing a message"),
    ),
    "sends lines for ever": (
        endlessly(b"ab\n" * 10_000),
        Row("--max-messages 100", spec="lines", kind=LIMIT, says="Server sent more than 100 messages in a row"),
    ),
    "sends a byte at a time, for ever": (
        drips(b"a", every=0.02),
        Row("--session-time 1", spec="lines", says="1 session cut off by --session-time 1", code=4, blamed="nobody"),
    ),
    "sends a byte at a time, too many": (
        drips(b"a", every=0.005),
        Row("--max-message-bytes 50", spec="lines", kind=LIMIT, says="Server sent more than 50 bytes"),
    ),
    "sends short lines, for ever": (
        drips(b"a\n", every=0.02),
        Row("--time 1", spec="lines", says="1 session cut off by --time", code=0, blamed="nobody"),
    ),
    "says nothing": (says(), Row(kind=SILENCE, says="no <answer> from Server in 0.3 s; see --timeout")),
    "says half a line": (says(b"O"), Row(kind=SILENCE, says="Server stopped in the middle of a message for 0.3 s")),
    "answers twice": (says(b"OK\nOK\n"), Row(kind=EARLY, says="Server sent data when the session must end")),
    "answers for ever": (endlessly(b"OK\n"), Row(kind=EARLY, says="Server sent data when the session must end")),
    "closes when asked": (closes(), Row(kind=CLOSED, says="Server closed the connection before it sent <")),
    "closes in a message": (closes(b"O"), Row(kind=CLOSED, says="Server closed the connection in the middle")),
    "closes its half": (half_closes, Row(kind=CLOSED, says="Server closed the connection before it sent <")),
    "resets at once": (resets(), Row(kind=RESET, says="Server reset the connection before it sent <")),
    "resets in a message": (resets(b"O"), Row(kind=RESET, says="Server reset the connection in the middle")),
    "never reads": (never_reads, Row(spec="large", kind=SILENCE, says="no <answer> from Server in 0.3 s")),
    "is ambiguous, 20 kB": (
        says(b"a=b;" * 5_000 + b"\n"),
        Row(spec="amb2", kind=FindingKind.UNDECIDED, says="in too many ways", code=4, blamed="nobody", within=20),
    ),
    "is ambiguous, 800 kB": (
        says(b"a=b;" * 200_000 + b"\n"),
        Row(spec="amb2", kind=FindingKind.UNDECIDED, says="in too many ways", code=4, blamed="nobody", within=20),
    ),
    "makes patterns backtrack": (
        says(b"a" * 40 + b"\n"),
        Row(spec="redos2", kind=GARBAGE, says="unexpected response from Server at byte 40"),
    ),
    "nests deeply": (says(b"(" * 20_000 + b"x" + b")" * 20_000 + b"\n"), Row(spec="brackets", code=0, within=10)),
    "opens brackets for ever": (
        endlessly(b"(" * 65536),
        Row(
            spec="brackets",
            kind=FindingKind.UNDECIDED,
            says="it is nested deeper than 100000 rules",
            code=4,
            blamed="nobody",
            within=10,
        ),
    ),
    "is wrong after 900 kB": (
        says(b"ab\n" * 300_000 + b"!\n"),
        Row(spec="body", kind=GARBAGE, says="unexpected response from Server at byte 900000", within=15),
    ),
    "sends a number of 10 000 digits": (
        says(b"9" * 10_000 + b"\n"),
        Row(spec="number", kind=FindingKind.SPEC_CRASH, says="int(<number>) > 5 raised", code=2, blamed="spec"),
    ),
    "announces 4 GB": (says(b"\xff" * 4 + b"a" * 999), Row(spec="blob", kind=SILENCE, says="see --patience")),
    "announces 4 GB, and sends them": (
        endlessly(b"a" * 65536, b"\xff" * 4),
        Row(spec="blob", kind=LIMIT, says="more than 1048576 bytes"),
    ),
    "sends NUL": (says(b"\0" * 1000), Row(spec="words", kind=GARBAGE, says="expected r'[a-z ]*' or '\\n', got 00 00")),
    "speaks to the terminal": (says(b"abc" + OSC), Row(spec="words", kind=GARBAGE, says=r"got '\x1b]52;c;cm0gLXJmIH4")),
    "sends what is no UTF-8": (says(b"abc\xff\xfe\xc3(\n"), Row(spec="words", kind=GARBAGE, says="at byte 3")),
    "is answered by Python that never ends": (
        says(b"OK\n"),
        Row("--time 1", "endless", says="cut off by --time in the Python of the spec", code=124, blamed="nobody"),
    ),
    "announces an endless body": (
        says(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999999999999\r\n\r\n{}"),
        Row("--session-time 1", spec="rest", says="cut off by --session-time 1", code=4, blamed="nobody"),
    ),
    "sends an endless body": (
        endlessly(b"x" * 65536, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"),
        Row(spec="rest", kind=LIMIT, says="Server sent more than 1048576 bytes without completing a message"),
    ),
    "sends an endless header": (
        endlessly(b"X-Long: " + b"x" * 60_000 + b"\r\n", b"HTTP/1.1 200 OK\r\n"),
        Row(spec="rest", kind=GARBAGE, says="unexpected response"),
    ),
}

TLS_PEERS: dict[str, tuple[Peer, Row]] = {
    "asks for a new handshake, for ever": (
        endlessly(HELLO_REQUEST * 1000),
        Row(kind=TLS, says="the peer sent more than 1048576 bytes in the TLS handshake"),
    ),
    "asks for a new handshake, slowly": (
        drips(HELLO_REQUEST, every=0.005),
        Row(kind=TLS, says="the TLS handshake did not complete in time (--timeout)"),
    ),
    "does not encrypt": (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Row(kind=TLS, says="wrong version number")),
    "says nothing in the handshake": (says(), Row(kind=TLS, says="did not complete in time (--timeout)")),
    "sends too long a record": (says(b"\x16\x03\x03\xff\xff" + b"a" * 70_000), Row(kind=TLS, says="too long")),
    "resets in the handshake": (resets(), Row(kind=TLS, says="during the TLS handshake")),
}
SECURE_PEERS: dict[str, tuple[Callable[[str], Peer], Row]] = {
    "sends garbage past the encryption": (
        lambda file: breaks_encryption(file, b"garbage" * 100),
        Row(kind=TLS, says="wrong version number"),
    ),
    "sends alerts past the encryption, for ever": (
        lambda file: breaks_encryption(file, b"\x15\x03\x03\x00\x02\x01\x00", for_ever=True),
        Row(kind=TLS, says="bad record type"),
    ),
    "sends garbage for ever, encrypted": (
        lambda file: encrypted(file, endlessly(b"\xff" * 60_000)),
        Row(kind=GARBAGE, says="at byte 0: expected 'OK\\n'"),
    ),
    "says nothing, encrypted": (lambda file: encrypted(file, says()), Row(kind=SILENCE, says="see --timeout")),
}

DATAGRAMS: dict[str, tuple[Callable[..., None], Row]] = {
    "answers from another address": (answers_from_elsewhere, Row(kind=SILENCE, says="no <answer> from Server")),
    "answers amid a flood from another address": (answers_in_a_flood, Row(code=0)),
    "answers without end": (answers_without_end, Row(kind=EARLY, says="Server sent data when the session must end")),
    "answers in large": (answers_in_large, Row(kind=GARBAGE, says="at byte 0: expected 'OK\\n'")),
}

TARGETS: dict[str, Row] = {
    "exits with 0 at once": Row(code=2, says="exited with code 0 before it listened", blamed="nobody"),
    "exits with 1 at once": Row(code=2, says="exited with code 1 before it listened", blamed="nobody"),
    "never listens": Row("--start-timeout 0.5", code=2, says="did not listen at tcp port", blamed="nobody"),
    "goes to the background": Row(code=2, says="if it runs on in the background", blamed="nobody"),
    "stops itself": Row(kind=SILENCE, says="the system under test was started again"),
    "hangs at the second question": Row("-n 3", kind=SILENCE, says="3 messages sent, 2 received, 1 finding"),
    "exits with 0 instead of an answer": Row(kind=EXIT, says="exited with code 0, although nothing had asked it to"),
    "exits with 7 instead of an answer": Row(kind=CRASH, says="the system under test exited with code 7"),
    "exits with 0 after an answer": Row(kind=EXIT, says="exited with code 0", code=0, is_note=True),
    "leaves children behind": Row(code=0),
    "ignores SIGTERM": Row(code=0),
    "starts a child when asked to end": Row(code=0),
    "closes its output": Row(code=0),
    "writes 100 MB": Row("--timeout 30", code=0, within=15),
    "writes for ever": Row(kind=SILENCE, says="no <answer> from Server in 0.3 s", within=5),
    "writes to the terminal": Row(kind=CRASH, says=r"| \x1b]52;c;cm0gLXJmIH4=\x07\x1b[2J"),
    "eats memory": Row("--timeout 30", kind=CRASH, says="was killed by SIGABRT", within=10),
    "reports an error without end": Row(kind=REPORT, says="AddressSanitizer: heap-use-after-free"),
    **{
        f"dies by {name}": Row(kind=CRASH, says=f"the system under test was killed by {name}")
        for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGKILL", "SIGTERM", "SIGHUP", "SIGXCPU")
    },
}

PROGRAMS: dict[str, Row] = {
    "floods its output": Row(spec="program", kind=EARLY, says="Out sent data when"),
    "closes its standard output and stays": Row("--timeout 5", spec="program", kind=CLOSED, says="connection closed"),
    "exits with 1 at once": Row(spec="program", kind=CRASH, says="exited with code 1"),
    "never ends": Row(spec="program", code=0, within=8),
}

CLIENTS: dict[str, Row] = {
    "connects again and again": Row(kind=SILENCE, says="no <ask> from Client"),
    "exits with 1 at once": Row(kind=FindingKind.UNREACHABLE, says="never connected", code=4, blamed="nobody"),
    "never listens": Row("--time 1", code=124, blamed="nobody"),
}


# One of each kind; the others take long, or are much like these.
FAST = {
    "sends garbage for ever",
    "says half a line",
    "closes when asked",
    "resets at once",
    "makes patterns backtrack",
    "speaks to the terminal",
    "is answered by Python that never ends",
    "announces an endless body",
    "asks for a new handshake, for ever",
    "says nothing in the handshake",
    "sends garbage past the encryption",
    "exits with 1 at once",
    "hangs at the second question",
    "ignores SIGTERM",
    "dies by SIGSEGV",
    "connects again and again",
    "answers without end",
    "floods its output",
}


def named(rows: Iterable[str]) -> pytest.MarkDecorator:
    """A test for each row."""
    marks = {True: (), False: (pytest.mark.slow,)}
    return pytest.mark.parametrize("name", [pytest.param(row, marks=marks[row in FAST], id=row) for row in rows])


# --- running ----------------------------------------------------------------------------------------------------------

# The command `palaver`, which writes at its end how much memory it had at most, its children not counted.
MEASURED = """
import atexit, sys
def tell():
    with open("/proc/self/status") as status, open("peak", "w") as file:
        file.write(next(line for line in status if line.startswith("VmHWM:")).split()[1])
atexit.register(tell)
from palaver.cli.main import run
run(sys.argv[1:])
"""
MARK = "HOSTILE_PEERS_TEST"


def _left_behind(mark: str) -> list[str]:
    """The commands of the processes that a run has started and that have not ended."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def _check(palaver: Any, row: Row, *arguments: str) -> None:
    """Run it, and compare with the row."""
    spec = SPECS.get(row.spec)
    known = CASES / f"{row.spec}.fan"
    if spec is not None or known.exists():
        palaver.write(spec_fan=spec or known.read_bytes())
    mark = f"{MARK}-{os.getpid()}-{time.monotonic_ns()}"
    patience = ("-n", "1", "--timeout", "0.3", "--patience", "0.3", "--console", "none", "--seed", "1")
    file = "spec.fan" if spec is not None or known.exists() else row.spec
    command = ("talk", file, *patience, *shlex.split(row.options), *arguments)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command],
        cwd=palaver.folder,
        env={**os.environ, MARK: mark},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=row.within + SLACK_S,
        check=False,
    )
    took = time.monotonic() - began
    output = (done.stdout + done.stderr).decode()
    assert took < row.within + SLACK_S
    assert done.returncode == row.code, output
    assert row.says in output
    _check_findings(row, output)
    assert not [char for char in output if not char.isprintable() and char != "\n"]
    assert "Traceback" not in output
    assert int((palaver.folder / "peak").read_text()) < MAX_MEGABYTES * 1024
    assert _left_behind(mark) == []


def _check_findings(row: Row, output: str) -> None:
    """All findings are of the kind of the row, which says who is blamed."""
    summary = next((line for line in output.splitlines() if " received, " in line), "")
    if row.kind is None:
        assert "finding" not in summary or "no findings" in summary
        return
    label = f"{row.kind.label} (note)" if row.is_note else row.kind.label
    assert f"({label}: " in summary, output
    assert "; " not in summary
    assert row.kind.verdict is _VERDICTS[row.blamed]


@pytest.fixture(scope="module")
def certificate() -> Iterator[str]:
    with make_certificate("localhost") as path:
        yield str(path)


def test_there_are_many_hostile_peers_and_targets() -> None:
    tables: list[Collection[str]] = [PEERS, TLS_PEERS, SECURE_PEERS, DATAGRAMS, TARGETS, CLIENTS, PROGRAMS]
    assert sum(map(len, tables)) >= 80
    assert {row for table in tables for row in table} >= FAST


@named(PEERS)
def test_a_server_that(name: str, palaver: Any) -> None:
    peer, row = PEERS[name]
    with serving(peer) as port:
        _check(palaver, row, "--client", str(port))


@named(TLS_PEERS)
def test_a_server_with_tls_that(name: str, palaver: Any) -> None:
    peer, row = TLS_PEERS[name]
    with serving(peer) as port:
        _check(palaver, row, "--client", f"tls://127.0.0.1:{port}")


@needs_openssl
@named(SECURE_PEERS)
def test_a_server_that_encrypts_and(name: str, palaver: Any, certificate: str) -> None:
    peer, row = SECURE_PEERS[name]
    with serving(peer(certificate)) as port:
        _check(palaver, row, "--client", f"tls://127.0.0.1:{port}")


@named(TARGETS)
def test_a_target_that(name: str, palaver: Any) -> None:
    command = shlex.join([sys.executable, "-S", TARGET, name])
    _check(palaver, TARGETS[name], "--target", f"{command} {{port}}")


@named(CLIENTS)
def test_a_client_that(name: str, palaver: Any) -> None:
    command = shlex.join([sys.executable, "-S", TARGET, name])
    _check(palaver, CLIENTS[name], "--target", f"{command} {{port}}", "--server", "{port}")


@named(DATAGRAMS)
def test_a_server_for_datagrams_that(name: str, palaver: Any) -> None:
    answer, row = DATAGRAMS[name]
    with serving_datagrams(answer) as port:
        _check(palaver, row, "--client", f"udp://127.0.0.1:{port}")


def test_a_server_that_is_not_there(palaver: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    row = Row("--wait-for-server 0.1", kind=FindingKind.REFUSED, says="connection refused", code=4, blamed="nobody")
    _check(palaver, row, "--client", str(port))


def test_a_server_that_never_accepts(palaver: Any) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=128) as server:
        row = Row(kind=SILENCE, says="no <answer> from Server in 0.3 s")
        _check(palaver, row, "--client", str(server.getsockname()[1]))


@named(PROGRAMS)
def test_a_program_that(name: str, palaver: Any) -> None:
    _check(palaver, PROGRAMS[name], "--", sys.executable, "-S", TARGET, name, "0")
