"""The program of a worker that is a process: `python -m palaver.workers.worker_process FD NUMBER ENTRY`."""

from __future__ import annotations

import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from palaver.workers.carrier import entry_of


class PipeMailbox:
    """A mailbox over a pipe. A message that is None is the last one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def receive(self) -> Any:
        message = self._connection.recv()
        if message is None:
            raise EOFError
        return message

    def send(self, message: object) -> None:
        self._connection.send(message)


def main(arguments: list[str]) -> None:
    """Run a worker until nobody has work for it."""
    place, number, entry = arguments
    # Ctrl-C is for whoever coordinates the workers, and lets them end in good order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(int(place)) as connection:
        entry_of(entry)(int(number), PipeMailbox(connection))


if __name__ == "__main__":
    main(sys.argv[1:])
