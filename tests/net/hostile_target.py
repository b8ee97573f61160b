"""A system under test that misbehaves: python hostile_target.py BEHAVIOUR PORT. Run by `test_hostile_peers.py`.

Unless its behaviour says otherwise, it is a server that answers whatever it is asked by `OK`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

OSC = b"\x1b]52;c;cm0gLXJmIH4=\x07\x1b[2J\x9b31m\r"


def nothing(*_: object) -> None:
    pass


def serve(port: int, before: Callable[[int], object] = nothing, after: Callable[[], object] = nothing) -> None:
    """Answer each client once; `before` is called with the number of the question, `after` after the answer."""
    with socket.create_server(("127.0.0.1", port)) as server:
        number = 0
        while True:
            client, _ = server.accept()
            with client, contextlib.suppress(OSError):
                number += 1
                if client.recv(100):
                    before(number)
                    client.sendall(b"OK\n")
                    after()


def sleep_for_ever(*_: object) -> None:
    while True:
        time.sleep(60)


def sleep_after_the_first(number: int) -> None:
    if number > 1:
        sleep_for_ever()


def die_by(name: str, *_: object) -> None:
    os.kill(os.getpid(), signal.Signals[name])


def exit_with(code: int, *_: object) -> None:
    os._exit(code)


def leave_a_child(*_: object) -> None:
    """Start a child in a session of its own, which ignores what it is asked."""
    command = "import signal, time; [signal.signal(each, signal.SIG_IGN) for each in (1, 2, 15)]; time.sleep(60)"
    subprocess.Popen([sys.executable, "-S", "-c", command], start_new_session=True)


def write_much(*_: object) -> None:
    for _count in range(1600):
        os.write(2, b"e" * 65535 + b"\n")


def write_for_ever(*_: object) -> None:
    while True:
        os.write(1, b"o" * 65535 + b"\n")


def write_to_the_terminal(*_: object) -> None:
    os.write(2, OSC)
    os.abort()


def eat_memory(*_: object) -> None:
    held = bytearray(300_000_000)
    held[::4096] = b"x" * len(held[::4096])  # so that it is really there
    os.abort()


def report_without_end(*_: object) -> None:
    os.write(2, b"==1==ERROR: AddressSanitizer: heap-use-after-free\n" + b"    #0 0x1 in free\n" * 10_000)


def ignore_sigterm(port: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve(port)


def respawn(port: int) -> None:
    """Start a child in a session of its own whenever asked to end."""

    def again(*_: object) -> None:
        if os.fork() == 0:
            os.setsid()
            sleep_for_ever()

    signal.signal(signal.SIGTERM, again)
    serve(port)


def go_to_the_background(port: int) -> None:
    if os.fork() == 0:
        os.setsid()
        serve(port)
    os._exit(0)


def close_output(port: int) -> None:
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    serve(port)


def connect_often(port: int) -> None:
    """As a client: connect again and again, and never say anything."""
    held = []
    while True:
        with contextlib.suppress(OSError):
            held.append(socket.create_connection(("127.0.0.1", port)))
        time.sleep(0.01 if len(held) < 50 else 60)


# As programs that are talked to by their standard streams.


def flood_output(_: int) -> None:
    while True:
        os.write(1, b"OK\n" * 1000)


def close_stdout_and_stay(_: int) -> None:
    for descriptor in (1, 2):
        os.close(descriptor)
    sleep_for_ever()


def never_end(_: int) -> None:
    """Answer once, and go on when the input has ended and when asked to end."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.read(0, 100)
    os.write(1, b"OK\n")
    sleep_for_ever()


BEHAVIOURS: dict[str, Callable[[int], object]] = {
    "exits with 0 at once": nothing,
    "exits with 1 at once": partial(exit_with, 1),
    "never listens": sleep_for_ever,
    "goes to the background": go_to_the_background,
    "stops itself": partial(serve, before=partial(die_by, "SIGSTOP")),
    "hangs at the second question": partial(serve, before=sleep_after_the_first),
    "exits with 0 instead of an answer": partial(serve, before=partial(exit_with, 0)),
    "exits with 7 instead of an answer": partial(serve, before=partial(exit_with, 7)),
    "exits with 0 after an answer": partial(serve, after=partial(exit_with, 0)),
    "leaves children behind": partial(serve, before=leave_a_child),
    "ignores SIGTERM": ignore_sigterm,
    "starts a child when asked to end": respawn,
    "closes its output": close_output,
    "writes 100 MB": partial(serve, before=write_much),
    "writes for ever": partial(serve, before=write_for_ever),
    "writes to the terminal": partial(serve, before=write_to_the_terminal),
    "eats memory": partial(serve, before=eat_memory),
    "reports an error without end": partial(serve, before=report_without_end),
    "connects again and again": connect_often,
    "floods its output": flood_output,
    "closes its standard output and stays": close_stdout_and_stay,
    "never ends": never_end,
}
BEHAVIOURS |= {
    f"dies by {name}": partial(serve, before=partial(die_by, name))
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGKILL", "SIGTERM", "SIGHUP", "SIGXCPU")
}

if __name__ == "__main__":
    BEHAVIOURS[sys.argv[1]](int(sys.argv[2]))
