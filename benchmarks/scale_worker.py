"""Measures one side for `scale.py`, in a process of its own: requests and answers are lines of JSON.

CPU times are those of this process, user and system together; the calibration is a loop that never changes, so that a
figure divided by it means the same on every machine.
"""

from __future__ import annotations

import gc
import json
import resource
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from palaver.cli.main import COLLECTOR_THRESHOLDS
from palaver.compiled import load, loads
from palaver.party import ConnectionMode
from palaver.random_source import RandomSource
from palaver.session.engine import Session, Timeouts
from palaver.session.interface import Opened, Received, Send, TimePassed
from palaver.session.setup import RoleAssignment, SessionSetup
from palaver.session.strategy import RandomStrategy
from palaver.transport.driver import drive
from palaver.transport.event_loop import SelectorEventLoop

TIMEOUTS = Timeouts(max_messages=1_000_000)
MESSAGES = """
<exchange> ::= <Client:ask> <Server:answer>
<ask>      ::= "ASK " <digit> "\\n"
<answer>   ::= "SAY " <digit> "\\n"
<quit>     ::= "QUIT\\n"
<bye>      ::= "BYE\\n"
"""

gc.set_threshold(*COLLECTOR_THRESHOLDS)  # as the command does
event_loop = SelectorEventLoop()
setups: dict[tuple[str, str], SessionSetup] = {}


def setup_of(spec: str, uri: str) -> SessionSetup:
    if (spec, uri) not in setups:
        networks = {"Client": (uri, ConnectionMode.CONNECT), "Server": (uri, ConnectionMode.EXTERNAL)}
        loaded = loads(spec) if "::=" in spec else load(Path(spec))
        setups[spec, uri] = setup = SessionSetup(loaded, RoleAssignment(networks))
        setup.prepare()
    return setups[spec, uri]


def new_session(setup: SessionSetup, seed: int, number: int) -> Session:
    stream = RandomSource(seed) / "session" / number
    return Session(setup, RandomStrategy(stream / "player"), stream, TIMEOUTS)


def calibrate() -> dict[str, Any]:
    """The CPU seconds of a loop over dictionary look-ups and calls, the best of some."""

    def once() -> float:
        table: dict[int, int] = {}

        def look(number: int) -> int:
            return table.get(number & 1023, number)

        began = time.process_time()
        for number in range(100_000):
            table[number & 1023] = look(number)
        return time.process_time() - began

    return {"seconds": min(once() for _ in range(7))}


def talk(spec: str, uri: str, sessions: int, seed: int) -> dict[str, Any]:
    """Have sessions with a server: the wall and CPU seconds they take, and everything that was said."""
    setup = setup_of(spec, uri)
    finished: list[Session] = []
    gc.freeze()  # as the command does
    with SelectorEventLoop() as loop:
        wall, cpu = time.perf_counter(), time.process_time()
        for number in range(sessions):
            session = new_session(setup, seed, number)
            drive(session, loop)
            finished.append(session)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    gc.unfreeze()
    findings = [finding.show() for session in finished for finding in session.findings]
    said = [[(each.is_ours, each.data.decode("latin-1")) for each in session.said] for session in finished]
    return {"wall": wall, "cpu": cpu, "sessions": said, "findings": findings}


def replay(port: int, sessions: list[list[tuple[bool, str]]], is_udp: bool) -> dict[str, Any]:
    """Have the same sessions again by plain sockets, which know what to send and how many bytes will come."""
    encoded = [[(is_ours, data.encode("latin-1")) for is_ours, data in session] for session in sessions]
    wall, cpu = time.perf_counter(), time.process_time()
    for session in encoded:
        replay_one(port, session, is_udp)
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def replay_one(port: int, session: list[tuple[bool, bytes]], is_udp: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if is_udp else socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(("127.0.0.1", port))
        if not is_udp:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for is_ours, data in session:
            if is_ours:
                connection.sendall(data)
                continue
            if is_udp:
                connection.recv(65536)  # its length is another one where parties rewrite messages
                continue
            missing = len(data)
            while missing > 0:
                received = connection.recv(65536)
                if not received:
                    raise ConnectionError("the server has closed the connection")
                missing -= len(received)


def grow(start: str, messages: int) -> dict[str, Any]:
    """Have the first messages of a session in memory; the CPU seconds of a message."""
    session = new_session(setup_of(start + MESSAGES, "tcp://127.0.0.1:1"), 1, 0)
    session.handle(TimePassed(0.0))
    session.handle(Opened(0.0, "Client"))
    gc.collect()
    count = 0
    began = time.process_time()
    while not session.is_over and count < messages:
        session.speak(0.0)
        data = b"".join(action.data for action in session.commit(0.0) if isinstance(action, Send))
        session.handle(Received(0.0, "Client", b"BYE\n" if data == b"QUIT\n" else data.replace(b"ASK", b"SAY")))
        count += 2
    return {"seconds": (time.process_time() - began) / count, "messages": count}


def tree(spec: str, data: str) -> dict[str, Any]:
    """The CPU seconds to parse a text, and to visit every node of the tree with its symbol; the number of nodes."""
    loaded = load(Path(spec))
    loaded.parse(data)

    def once() -> tuple[float, float, int]:
        gc.collect()
        began = time.process_time()
        whole = loaded.parse(data)
        parsed = time.process_time()
        count, stack = 0, [whole]
        while stack:
            top = stack.pop()
            count += 1
            if top.is_non_terminal:
                stack.extend(top.children)
        return parsed - began, time.process_time() - parsed, count

    runs = [once() for _ in range(5)]
    return {"parse": min(run[0] for run in runs), "walk": min(run[1] for run in runs), "nodes": runs[0][2]}


def memory(spec: str, uri: str, sessions: int) -> dict[str, Any]:
    """The most memory this process has had so far, in bytes, after some more sessions."""
    for number in range(sessions):
        drive(new_session(setup_of(spec, uri), 1, number), event_loop)
    return {"bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "calibrate": calibrate, "grow": grow, "memory": memory, "replay": replay, "talk": talk, "tree": tree,
}  # fmt: skip


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(ACTIONS[request.pop("action")](**request)), flush=True)


if __name__ == "__main__":
    main()
