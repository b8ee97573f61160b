"""Talks with one tool, in a process of its own: `talking_worker.py TOOL`; requests and answers are lines of JSON.

"palaver" has conversations with a server at a port, or one in memory; "sockets" has them again with plain sockets: it
sends the same bytes and waits for as many as came the first time.
"""

from __future__ import annotations

import gc
import json
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Whether we said it, and what.
Message = tuple[bool, str]

MOST_MESSAGES = 1_000_000


def palaver() -> dict[str, Callable[..., Any]]:
    from palaver.compiled import load
    from palaver.party import ConnectionMode
    from palaver.random_source import RandomSource
    from palaver.session.engine import Session, Timeouts
    from palaver.session.interface import Opened, Received, Send, TimePassed
    from palaver.session.setup import RoleAssignment, SessionSetup
    from palaver.session.strategy import RandomStrategy
    from palaver.transport.driver import drive
    from palaver.transport.event_loop import SelectorEventLoop

    timeouts = Timeouts(max_messages=MOST_MESSAGES)
    setups: dict[tuple[str, int], SessionSetup] = {}

    def setup_of(spec: str, port: int) -> SessionSetup:
        if (spec, port) not in setups:
            uri = f"tcp://127.0.0.1:{port}"
            networks = {"Client": (uri, ConnectionMode.CONNECT), "Server": (uri, ConnectionMode.EXTERNAL)}
            setups[spec, port] = SessionSetup(load(Path(spec)), RoleAssignment(networks))
        return setups[spec, port]

    def new_session(spec: str, port: int, seed: int, number: int) -> Session:
        stream = RandomSource(seed) / "session" / number
        return Session(setup_of(spec, port), RandomStrategy(stream / "player"), stream, timeouts)

    def talk(spec: str, port: int, sessions: int, seed: int) -> dict[str, Any]:
        """Have conversations with a server; how long they took, and what was said."""
        setup_of(spec, port)
        gc.freeze()  # as the command does
        with SelectorEventLoop() as loop:
            finished: list[Session] = []
            began = time.perf_counter()
            for number in range(sessions):
                session = new_session(spec, port, seed, number)
                drive(session, loop)
                finished.append(session)
            seconds = time.perf_counter() - began
        gc.unfreeze()
        findings = [finding.show() for session in finished for finding in session.findings]
        said = [[(each.is_ours, each.data.decode("latin-1")) for each in session.said] for session in finished]
        return {"seconds": seconds, "sessions": said, "findings": findings}

    def grow(spec: str, seed: int) -> dict[str, Any]:
        """Have a conversation of `echo.fan` in memory; the CPU seconds of each exchange."""
        session = new_session(spec, 1, seed, 0)
        session.handle(TimePassed(0.0))
        session.handle(Opened(0.0, "Client"))
        times: list[float] = []
        # As before the next program: what this conversation leaves behind is its own.
        gc.collect()
        while not session.is_over:
            began = time.process_time()
            session.speak(0.0)
            data = b"".join(action.data for action in session.commit(0.0) if isinstance(action, Send))
            answer = b"BYE\n" if data == b"QUIT\n" else data.replace(b"ASK", b"SAY")
            session.handle(Received(0.0, "Client", answer))
            times.append(time.process_time() - began)
        return {"times": times, "findings": [finding.show() for finding in session.findings]}

    return {"talk": talk, "grow": grow}


def sockets() -> dict[str, Callable[..., Any]]:
    def replay(port: int, sessions: list[list[Message]]) -> dict[str, Any]:
        encoded = [[(is_ours, data.encode("latin-1")) for is_ours, data in session] for session in sessions]
        began = time.perf_counter()
        for session in encoded:
            replay_one(port, session)
        return {"seconds": time.perf_counter() - began}

    def replay_one(port: int, session: list[tuple[bool, bytes]]) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for is_ours, data in session:
                if is_ours:
                    connection.sendall(data)
                    continue
                missing = len(data)
                while missing > 0:
                    received = connection.recv(65536)
                    if not received:
                        raise ConnectionError("the server has closed the connection")
                    missing -= len(received)

    return {"replay": replay}


TOOLS = {"palaver": palaver, "sockets": sockets}


def main() -> None:
    actions = TOOLS[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(actions[request.pop("action")](**request)), flush=True)


main()
