"""How fast conversations are: with real servers, against plain sockets and against the reference implementation.

`make bench-talking` prints one table; a bar that is missed is shown as MISSED, and then the exit status is 1.

- "one session" is a conversation of a thousand messages with a constraint between every two of them, with a peer in
  memory. It compares the CPU time of messages around the 1000th with that of messages around the 10th. Of the
  reference, which is given a peer on the loopback interface, it is the time that it lets its peer wait.
- "with a server" compares messages per second, both directions, in wall time, of conversations at random, one after the
  other in one process, with those of a client that has the same conversations again with plain sockets. That client
  knows what to say and how many bytes to expect, so it shows what the server can do.
- "on the command line" has both tools talk to the same server, which counts messages itself, from the start of a
  command to its end. The reference has one conversation at a time; palaver is asked for many. "While connected" leaves
  out what a tool does before and between conversations.

aiosmtpd and the reference go into venvs of their own; OpenSMTPD takes part if it is installed and the user is root.
REFERENCE_PYTHON names the Python of a reference that is installed already.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from common import (
    HERE,
    NoAnswer,
    Process,
    Row,
    command_line,
    compile_bytecode,
    print_table,
    python_with,
    reference_python,
)

AIOSMTPD = "aiosmtpd==1.4.6"
SMTP, ECHO = (str(HERE / "talking" / name) for name in ("smtp.fan", "echo.fan"))

ROUNDS = 9
SESSIONS = 50  # in one round
EARLY, LATE = 10, 1000  # messages
AROUND = 20  # so many exchanges are looked at to know what a message costs
COMMAND_LINE_ROUNDS = 3
COMMAND_LINE_SESSIONS = 300  # of palaver, in one round
REFERENCE_SECONDS = 60.0

MOST_GROWTH = 1.5
LEAST_SHARE = 0.25
LEAST_RATIO = 30.0


# --- processes -------------------------------------------------------------------------------------------------------


def worker(tool: str) -> Process:
    return Process(sys.executable, str(HERE / "talking_worker.py"), tool)


def counting_server() -> Process:
    """aiosmtpd; the first thing to read is its port."""
    return Process(python_with(AIOSMTPD), str(HERE / "talking_server.py"))


@contextmanager
def aiosmtpd() -> Iterator[int]:
    with counting_server() as server:
        yield server.read()


# --- OpenSMTPD -------------------------------------------------------------------------------------------------------

OPENSMTPD = """
listen on 127.0.0.1 port {port} hostname localhost
action "sink" maildir "{home}/mail" virtual {{ "@" = nobody }}
match from any for any action "sink"
"""

# A queue, a control socket and a resolver of its own, which nobody else on this machine sees.
START_OPENSMTPD = """
mount -t tmpfs tmpfs /var/spool && mkdir -m 711 /var/spool/smtpd || exit 1
mount -t tmpfs tmpfs /run
printf 'lookup file\\n' >/run/resolv.conf && mount --bind /run/resolv.conf /etc/resolv.conf
exec smtpd -d -f "$1"
"""


def no_opensmtpd() -> str:
    """Why OpenSMTPD cannot take part; empty if it can."""
    if shutil.which("smtpd") is None:
        return "not installed"
    return "" if os.geteuid() == 0 else "only root can start it"


@contextmanager
def opensmtpd() -> Iterator[int]:
    with tempfile.TemporaryDirectory() as directory:
        home, port = Path(directory), _free_port()
        home.chmod(0o755)
        (home / "mail").mkdir()
        (home / "mail").chmod(0o777)
        (home / "conf").write_text(OPENSMTPD.format(home=home, port=port))
        (home / "conf").chmod(0o600)
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", START_OPENSMTPD, "sh", home / "conf"]
        with (home / "log").open("w") as log:
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
            try:
                if not _greets(port, server):
                    raise NoAnswer(f"OpenSMTPD: {(home / 'log').read_text()}")
                yield port
            finally:
                server.terminate()
                server.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _greets(port: int, server: subprocess.Popen[bytes]) -> bool:
    """Whether a server that is just starting begins to talk, in good time."""
    give_up_at = time.monotonic() + 10
    while time.monotonic() < give_up_at and server.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                return bool(connection.recv(1024))
        except ConnectionRefusedError:
            continue
    return False


# --- what is measured ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """What the command line asked for."""

    has_reference: bool
    notes: list[str] = field(default_factory=list)

    def grow(self) -> Iterator[Row]:
        with worker("palaver") as ours:
            runs = [ours.ask(action="grow", spec=ECHO, seed=seed)["times"] for seed in range(ROUNDS + 1)]
        # Each exchange is two messages. In the first conversation things are prepared for all.
        early = statistics.median(_around(times, EARLY) for times in runs[1:]) / 2 * 1e6
        late = statistics.median(_around(times, LATE) for times in runs[1:]) / 2 * 1e6
        work = f"one session, CPU per message, around message {LATE} against {EARLY}"
        yield Row(work, "us", late, early, late / early, at_most=MOST_GROWTH)
        if self.has_reference:
            times = reference_waits()
            if len(times) < 2 * AROUND:
                self.notes.append(f"the reference has sent only {len(times)} messages of {ECHO}")
                return
            last = 2 * (len(times) - AROUND // 2)
            early, late = _around(times, EARLY) / 2 * 1e6, _around(times, last) / 2 * 1e6
            yield Row(
                f"  the reference, wall time, around message {last} against {EARLY}", "us", None, late, late / early
            )

    def compare_with_sockets(self) -> Iterator[Row]:
        yield self._with_server("aiosmtpd", aiosmtpd())
        reason = no_opensmtpd()
        if reason:
            print(f"with OpenSMTPD: skipped, {reason}")
        else:
            yield self._with_server("OpenSMTPD", opensmtpd())

    def _with_server(self, name: str, server: AbstractContextManager[int]) -> Row:
        with ExitStack() as stack:
            port = stack.enter_context(server)
            ours, theirs = stack.enter_context(worker("palaver")), stack.enter_context(worker("sockets"))
            rates: list[tuple[float, float]] = []
            for seed in range(ROUNDS + 1):
                talked = ours.ask(action="talk", spec=SMTP, port=port, sessions=SESSIONS, seed=seed)
                replayed = theirs.ask(action="replay", port=port, sessions=talked["sessions"])
                messages = sum(map(len, talked["sessions"]))
                rates.append((messages / talked["seconds"], messages / replayed["seconds"]))
        # In the first round things are prepared for all.
        rate, possible = (statistics.median(column) for column in zip(*rates[1:], strict=True))
        share = statistics.median(one / other for one, other in rates[1:])
        return Row(f"with {name}, against plain sockets", "/s", rate, possible, share, at_least=LEAST_SHARE)

    def compare_with_reference(self) -> Iterator[Row]:
        if not self.has_reference:
            return
        ours, theirs = Counted(), Counted()
        with counting_server() as server:
            uri = f"tcp://localhost:{server.read()}"
            for seed in range(COMMAND_LINE_ROUNDS):
                began = time.monotonic()
                palaver_talks(uri, seed)
                ours.add(server.ask(), time.monotonic() - began)
                began = time.monotonic()
                while (left := began + REFERENCE_SECONDS / COMMAND_LINE_ROUNDS - time.monotonic()) > 0:
                    reference_talks(uri, left)
                theirs.add(server.ask(), time.monotonic() - began)
        if not theirs.messages:
            self.notes.append("the reference has not talked to the server")
            return
        rate, other = ours.messages / ours.seconds, theirs.messages / theirs.seconds
        yield Row("on the command line, against the reference", "/s", rate, other, rate / other, at_least=LEAST_RATIO)
        rate, other = ours.messages / ours.open_seconds, theirs.messages / theirs.open_seconds
        yield Row(f"  while connected ({_lengths(ours, theirs)})", "/s", rate, other, rate / other)


@dataclass
class Counted:
    """What the server has counted of one tool."""

    messages: int = 0
    sessions: int = 0
    seconds: float = 0.0  # from the start of a command to its end
    open_seconds: float = 0.0  # while it was connected

    def add(self, counted: dict[str, Any], seconds: float) -> None:
        self.messages += counted["messages"]
        self.sessions += counted["sessions"]
        self.open_seconds += counted["open_seconds"]
        self.seconds += seconds


def _lengths(*counted: Counted) -> str:
    lengths = " and ".join(f"{each.messages / each.sessions:.0f}" for each in counted)
    return f"{lengths} messages in a conversation"


def _around(times: list[float], message: int) -> float:
    """What an exchange costs, in the middle of those around a message."""
    first = max(0, message // 2 - AROUND // 2)
    return statistics.median(times[first : first + AROUND])


# --- the command line ------------------------------------------------------------------------------------------------


def palaver_talks(uri: str, seed: int) -> None:
    """Let palaver have conversations."""
    command = [sys.executable, "-m", "palaver", "talk", "--unguided", "-f", SMTP, "--client", uri]
    command += ["-n", str(COMMAND_LINE_SESSIONS), "--seed", str(seed)]
    if subprocess.run(command, stdout=subprocess.DEVNULL, timeout=REFERENCE_SECONDS).returncode != 0:
        raise NoAnswer("palaver talk")


def reference_talks(uri: str, seconds: float) -> None:
    """Let the reference have a conversation; it is stopped when the time is over."""
    command = [Path(reference_python()).with_name("fandango"), "talk", "-f", SMTP, "--client", uri, "-n", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()


def reference_waits() -> list[float]:
    """How long the reference lets its peer wait for each message of `echo.fan`, as far as it comes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(REFERENCE_SECONDS)
        command = [Path(reference_python()).with_name("fandango"), "talk", "-f", ECHO, "-n", "1"]
        command += ["--client", f"tcp://localhost:{listening.getsockname()[1]}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                with listening.accept()[0] as connection:
                    return _answered(connection)
            finally:
                process.kill()


def _answered(connection: socket.socket) -> list[float]:
    """Answer everything, for a limited time; how long each message was waited for."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waited: list[float] = []
    began = said = time.monotonic()
    unread = b""
    while (left := began + REFERENCE_SECONDS - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            unread += (received := connection.recv(4096))
        except TimeoutError:
            break
        if not received:
            break
        if unread.endswith(b"\n"):
            waited.append(time.monotonic() - said)
            connection.sendall(b"BYE\n" if unread == b"QUIT\n" else unread.replace(b"ASK", b"SAY"))
            unread, said = b"", time.monotonic()
    return waited


# In the order of the table, by the name that `--only` knows them by.
WORKS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "growth": Bench.grow,
    "servers": Bench.compare_with_sockets,
    "reference": Bench.compare_with_reference,
}


def main() -> int:
    arguments = command_line(__doc__, WORKS, "two minutes").parse_args()
    compile_bytecode()
    bench = Bench(has_reference=not arguments.no_reference)
    works = {name: partial(WORKS[name], bench) for name in arguments.only or WORKS}
    return print_table(works, bench.notes, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
