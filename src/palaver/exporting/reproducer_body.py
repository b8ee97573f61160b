"""The code of an exported script: it sends what was sent, and tells if the finding comes again.

A script is this text below the recorded conversation. So only the standard library is used here.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import selectors
import shlex
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from palaver.exporting.reproducer_fields import MendedMessage

REPRODUCED, NOT_REPRODUCED, NOT_TRIED = 0, 1, 2

# The system under test may take so long to start, and to end once it was told all.
START_SECONDS = 30.0
END_SECONDS = 2.0

# Words of replies, coarse and fine. Where a reply has others than the recorded one, our messages get those, too.
WORDS = (re.compile(rb"[A-Za-z0-9_+/=.-]{3,}"), re.compile(rb"[A-Za-z0-9]{3,}"))
VARYING = re.compile(rb"[0-9]+|(?=[0-9A-Za-z]*[0-9])[0-9A-Za-z]{8,}")

# How a finding shows itself, by its kind.
ENDS = ("CRASH", "EXIT")
CUTS = ("CLOSED", "RESET", "UNREACHABLE", "REFUSED")
REPLIES = ("UNPARSEABLE", "UNEXPECTED", "CONSTRAINT", "UNDECIDED", "LIMIT")


# Memory grows only in many conversations. The first quarter of them is left out; of four blocks of the rest, the least
# counts: from each to the next it must have grown, by so much in all, and at the end nearly as fast as before.
CONVERSATIONS = 200
LEAST_GROWTH = 1 << 20


class Tried(Exception):
    """The conversation could not be held as far as the finding."""


class Target:
    """The system under test, if the script starts it."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: str | None) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `end`
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **environment},
            cwd=folder,
        )

    def output(self) -> bytes:
        self.log.seek(0)
        return self.log.read()

    def memory(self) -> int:
        """The bytes of its memory that are in use."""
        try:
            return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            raise Tried("the system does not tell how much memory a program uses") from None

    def exit_code(self, seconds: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(seconds)
        return None

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()


class Link:
    """A connection to the peer, or a program that is talked to by its standard streams."""

    def __init__(self, about: dict[str, Any], timeout: float, patience: float) -> None:
        self.about = about
        self.timeout = timeout
        self.patience = patience  # while the peer starts
        self.has_ended = False
        self.program: subprocess.Popen[bytes] | None = None
        self.socket: socket.socket | None = None
        self.is_datagram = about["scheme"] == "udp"

    def open(self) -> None:
        about = self.about
        if about["command"]:
            self.program = subprocess.Popen(about["command"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        elif about["is_listening"]:
            self.socket = self._accepted()
        else:
            self.socket = self._connected()
        if about["is_encrypted"]:
            self.encrypt()

    def _place(self) -> tuple[int, Any]:
        if self.about["scheme"] == "unix":
            return socket.AF_UNIX, self.about["path"]
        family = socket.AF_INET6 if ":" in self.about["host"] else socket.AF_INET
        return family, (self.about["host"] or "127.0.0.1", self.about["port"])

    def _connected(self) -> socket.socket:
        family, place = self._place()
        until = time.monotonic() + self.patience
        while self.is_datagram and self.patience > self.timeout and not _is_bound(place[1]):
            if time.monotonic() >= until:
                raise Tried(f"nobody listens at {place}")
            time.sleep(0.02)
        while True:
            made = socket.socket(family, socket.SOCK_DGRAM if self.is_datagram else socket.SOCK_STREAM)
            made.settimeout(self.timeout)
            try:
                made.connect(place)
            except (ConnectionRefusedError, FileNotFoundError) as error:
                made.close()
                if time.monotonic() >= until:
                    raise Tried(f"cannot connect to {place}: {error.strerror}") from None
                time.sleep(0.02)
            except OSError as error:
                raise Tried(f"cannot connect to {place}: {error}") from None
            else:
                return made

    def _accepted(self) -> socket.socket:
        family, place = self._place()
        made = self.about.get("listener") or socket.socket(
            family, socket.SOCK_DGRAM if self.is_datagram else socket.SOCK_STREAM
        )
        if "listener" not in self.about:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(place)
        made.settimeout(START_SECONDS)
        try:
            if self.is_datagram:
                made.connect(made.recvfrom(1, socket.MSG_PEEK)[1])
                return made
            if "listener" not in self.about:
                made.listen()
            accepted: socket.socket = made.accept()[0]
        except TimeoutError:
            raise Tried(f"nobody has connected to {place}") from None
        accepted.settimeout(self.timeout)
        return accepted

    def encrypt(self) -> None:
        """Encrypt the connection, whatever certificate the peer has."""
        assert self.socket is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.socket = context.wrap_socket(self.socket)

    def send(self, data: bytes) -> None:
        try:
            if self.program is not None and self.program.stdin is not None:
                self.program.stdin.write(data)
            elif self.socket is not None:
                self.socket.sendall(data)
        except OSError:
            self.has_ended = True

    def receive(self, recorded: bytes) -> bytes:
        """Read a reply that ends as the recorded one does: with as many lines, or as many bytes."""
        lines = recorded.count(b"\n") if recorded.endswith(b"\n") else 0
        data = b""
        until = time.monotonic() + self.timeout
        while not self.has_ended:
            if data and (self.is_datagram or _is_complete(data, lines, len(recorded))):
                break
            piece = self._piece(until - time.monotonic())
            if piece is None:
                break
            self.has_ended = not piece and not self.is_datagram
            data += piece
        return data

    def _piece(self, seconds: float) -> bytes | None:
        """The data that has come; None if nothing has in that time."""
        if isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
            return self.socket.recv(65536)
        source = self.socket if self.program is None else self.program.stdout
        assert source is not None
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            if not selector.select(max(0.0, seconds)):
                return None
        try:
            return os.read(source.fileno(), 65536) if self.socket is None else self.socket.recv(65536)
        except OSError:
            return b""

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            if self.program is not None and self.program.stdin is not None:
                self.program.stdin.close()
            elif self.socket is not None and not self.is_datagram:
                self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        if self.program is not None:
            self.program.kill()
            self.program.wait()


def _is_bound(port: int) -> bool:
    """Return True if some program receives datagrams at a port, or if the system does not tell."""
    try:
        text = Path("/proc/net/udp").read_text() + Path("/proc/net/udp6").read_text()
        rows = [line.split()[1] for line in text.splitlines()]
    except OSError:
        return True
    return any(row.endswith(f":{port:04X}") for row in rows)


def _is_complete(data: bytes, lines: int, size: int) -> bool:
    return data.endswith(b"\n") and data.count(b"\n") >= lines if lines else len(data) >= size


class RepeatedConversation:
    """The conversation, held once more."""

    def __init__(self, recorded: dict[str, Any], target: Target | None, timeout: float) -> None:
        self.recorded = recorded
        self.target = target
        self.timeout = timeout
        self.links: dict[str, Link] = {}
        self.replaced: list[dict[bytes, bytes]] = [{} for _ in WORDS]
        self.names: dict[str, Any] = {}  # the functions of the spec that messages need
        exec(recorded["code"], self.names)
        self.heard: list[tuple[bytes, bytes]] = []  # the recorded replies, and the real ones
        self.expected = b""  # the last reply, as it was recorded, with the words of this time
        self.seconds = 0.0  # until the last reply

    def hold(self) -> None:
        for name, kind, data, *fields in self.recorded["steps"]:
            if kind == "opened":
                self._open(name)
            elif name not in self.links:
                continue
            elif kind == "sent":
                self.links[name].send(self._message(data, *fields))
            elif kind == "received":
                self._receive(self.links[name], data)
            elif kind == "secured":
                self.links[name].encrypt()
            elif kind == "finished":
                self.links[name].finish()
            elif kind in ("ended", "broken"):
                self.links[name].receive(b"")

    def _open(self, name: str) -> None:
        about = dict(self.recorded["links"][name])
        for said, heard in self.heard:  # a port that a reply has named
            high_and_low = b"%d,%d" % divmod(about["port"], 256)
            if said.count(high_and_low) == 1 and (found := re.search(rb"(\d+),(\d+)\D*$", heard)):
                about["port"] = int(found[1]) * 256 + int(found[2])
        about["port"] = int(self.replaced[1].get(b"%d" % about["port"], b"%d" % about["port"]))
        is_starting = self.target is not None and not self.links
        link = self.links[name] = Link(about, self.timeout, START_SECONDS if is_starting else self.timeout)
        link.open()

    def _message(self, data: bytes, fields: tuple[dict[str, Any], ...] = ()) -> bytes:
        """A message with the words of this time, and with what a constraint computes from them."""
        adapted = self._adapted(data)
        if adapted == data or not fields:
            return adapted
        return MendedMessage(data, list(fields), self.names, self._adapted).mended()

    def _adapted(self, data: bytes) -> bytes:
        for words, replaced in zip(WORDS, self.replaced, strict=True):
            pieces, end = [], 0
            for word in words.finditer(data):
                pieces += [data[end : word.start()], replaced.get(word[0], word[0])]
                end = word.end()
            data = b"".join([*pieces, data[end:]])
        return data

    def _receive(self, link: Link, recorded: bytes) -> None:
        began = time.monotonic()
        data = link.receive(recorded)
        self.seconds = time.monotonic() - began
        self.heard.append((recorded, data))
        self.expected = self._adapted(recorded)  # with what the replies before have shown
        for words, replaced in zip(WORDS, self.replaced, strict=True):
            before, now = words.findall(recorded), words.findall(data)
            if len(before) == len(now):
                replaced.update((a, b) for a, b in zip(before, now, strict=True) if a != b)

    def result(self) -> tuple[bool | None, str]:
        """Tell if the finding has come again, and what has come; None if the script cannot tell."""
        shown, told = self._shown()
        if shown and self.recorded["cut_short"] and self.heard:
            return self._is_cut_short(*self.heard[-1], told)
        return shown, told

    def _shown(self) -> tuple[bool | None, str]:
        """What the kind of the finding shows itself by."""
        kind = self.recorded["kind"]
        if kind in ENDS and self.target is not None:
            code = self.target.exit_code(END_SECONDS)
            if code is None:
                return False, "it still runs"
            return self.recorded["exit_code"] in (code, None), f"it ended with {code}"
        if kind in ENDS or kind in CUTS:
            has_ended = any(link.has_ended or self._ends(link) for link in self.links.values())
            return has_ended, "the connection has ended" if has_ended else "the connection is still there"
        if kind == "REPORT" and self.target is not None:
            wanted = self.recorded["cause"].split(": ", 1)[-1].split(" in ")[0].encode()
            self.target.exit_code(0.2)
            return wanted in self.target.output(), f"its output was searched for {wanted!r}"
        if kind == "SILENCE":
            silent = [link for link in self.links.values() if not link.has_ended]
            heard = b"".join(link.receive(b"") for link in silent)
            return not heard, f"it sent {heard[:200]!r}" if heard else "nothing has come"
        if kind == "LATE":
            return self.seconds >= 0.8 * self.recorded["seconds"], f"the reply took {self.seconds:.3f} s"
        if kind == "HANG":
            return self._is_hung()
        if kind in REPLIES and not self.recorded["ends_with_blame"]:
            return None, "the record does not tell where the reply ends that was wrong"
        if kind in REPLIES and self.heard:
            return self._same_reply(*self.heard[-1])
        return None, "a script cannot tell this kind of finding"

    def _is_cut_short(self, recorded: bytes, data: bytes, told: str) -> tuple[bool | None, str]:
        """Tell if the last reply stops where it did: what is whole may be followed by an end or a silence, too."""
        if data in (recorded, self.expected) or data.endswith(self.recorded["cut_short"]):
            return True, told
        is_alike = VARYING.sub(b"0", recorded) == VARYING.sub(b"0", data)
        return None if is_alike else False, f"{told} after {data[:200]!r}, which may be whole"

    def _same_reply(self, recorded: bytes, data: bytes) -> tuple[bool | None, str]:
        """Compare the last replies. Whether other values violate a constraint as well, only palaver can tell."""
        told = f"the reply was {data[:200]!r}"
        is_alike = VARYING.sub(b"0", recorded) == VARYING.sub(b"0", data)
        if data in (recorded, self.expected) or (is_alike and self.recorded["kind"] != "CONSTRAINT"):
            return True, told
        return (None, f"{told}, and has other values than the recorded one") if is_alike else (False, told)

    def _ends(self, link: Link) -> bool:
        link.receive(b"")
        return link.has_ended

    def _is_hung(self) -> tuple[bool, str]:
        """Say the first message once more, on a fresh connection."""
        again = RepeatedConversation({**self.recorded, "kind": ""}, None, self.timeout)
        for link in self.links.values():
            link.close()
        try:
            again.hold()
        except Tried as error:
            return True, str(error)
        finally:
            again.close()
        heard = any(data for _, data in again.heard)
        return not heard, "it answered a second conversation" if heard else "nothing has come in a second conversation"

    def close(self) -> None:
        for link in self.links.values():
            link.close()


def grows(recorded: dict[str, Any], target: Target | None, timeout: float) -> tuple[bool | None, str]:
    """Hold the conversation many times, and look at the memory of the system under test."""
    if target is None:
        return None, "the memory of a program that the script does not start cannot be seen"
    used: list[int] = []
    for _ in range(CONVERSATIONS):
        conversation = RepeatedConversation(recorded, target if not used else None, timeout)
        try:
            conversation.hold()
        finally:
            conversation.close()
        used.append(target.memory())
    size = len(used) * 3 // 16
    least = [min(used[len(used) - size * block :][:size]) for block in (4, 3, 2, 1)]
    steps = [after - before for before, after in zip(least, least[1:])]  # noqa: B905, RUF007  # also for old Pythons
    average = sum(steps) / len(steps)
    is_steady = min(steps) >= 0.5 * average and steps[-1] >= 0.7 * average
    figures = f"{used[0] // 1024} KiB after one conversation, {used[-1] // 1024} KiB after {len(used)}"
    return sum(steps) >= LEAST_GROWTH and is_steady, figures


def free_port(*, is_datagram: bool) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if is_datagram else socket.SOCK_STREAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def start(recorded: dict[str, Any], command: str, port: int) -> Target:
    """Start the system under test, and wait until it is ready if it says so."""
    words = [word.replace("{port}", str(port)) for word in shlex.split(command)]
    try:
        target = Target(words, recorded["env"], recorded["cwd"])
    except OSError as error:
        where = "" if recorded["cwd"] is None else f" in {recorded['cwd']}"
        raise Tried(f"cannot start {words[0]}{where}: {error.strerror}") from None
    until = time.monotonic() + START_SECONDS
    while recorded["ready"] and not re.search(recorded["ready"].encode(), target.output(), re.MULTILINE):
        if time.monotonic() >= until or target.process.poll() is not None:
            break
        time.sleep(0.02)
    return target


def options(recorded: dict[str, Any], arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=recorded["finding"])
    parser.add_argument("--host", help="talk to this host instead of the recorded one")
    parser.add_argument("--port", type=int, help="use this port instead of the recorded one")
    parser.add_argument("--target", default=recorded["target"], help="start this command first; {port} is its port")
    parser.add_argument("--no-target", action="store_true", help="start nothing: the peer runs already")
    parser.add_argument("--timeout", type=float, default=5.0, help="wait so many seconds for a reply; default: 5")
    return parser.parse_args(arguments)


def main(recorded: dict[str, Any], arguments: list[str] | None = None) -> int:
    given = options(recorded, arguments)
    command = None if given.no_target else given.target
    links = recorded["links"].values()
    first = next(iter(links))
    new = given.port
    if new is None and command and "{port}" in command:
        new = free_port(is_datagram=first["scheme"] == "udp")
    old = first["port"]
    for link in links:
        link["port"] = new if new is not None and link["port"] == old else link["port"]
        link["host"] = given.host or link["host"]
    target = attempt = None
    try:
        if first["is_listening"] and first["scheme"] == "tcp":  # before the client comes
            first["listener"] = socket.create_server((first["host"] or "127.0.0.1", first["port"]))
        target = start(recorded, command, first["port"]) if command else None
        if recorded["kind"] == "MEMORY":
            is_reproduced, what = grows(recorded, target, given.timeout)
        else:
            attempt = RepeatedConversation(recorded, target, given.timeout)
            attempt.hold()
            is_reproduced, what = attempt.result()
    except Tried as error:
        print(f"not tried: {error}")
        return NOT_TRIED
    finally:
        if attempt is not None:
            attempt.close()
        if target is not None:
            target.end()
    if is_reproduced is None:
        print(f"not known: {what}; the messages were sent")
        return NOT_TRIED
    print(f"{'reproduced' if is_reproduced else 'not reproduced'}: {recorded['finding']}\n({what})")
    return REPRODUCED if is_reproduced else NOT_REPRODUCED
