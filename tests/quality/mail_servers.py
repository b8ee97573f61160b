"""Small mail servers, right and wrong ones, all in one program; and where each of them is."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from palaver.demo.server import MailSession, server_of
from servers.common import started


def serve(sessions: Iterable[type[MailSession]]) -> None:
    """Serve all of them until the program is ended."""
    threads = []
    for kind in sessions:
        server = server_of(kind, 0)
        print(kind.__name__, server.server_address[1])
        threads.append(Thread(target=server.serve_forever))
        threads[-1].start()
    print("ready", flush=True)
    # The servers start a thread for each session, and may not do so while Python shuts down.
    for thread in threads:
        thread.join()


@contextmanager
def ports_of(program: str, folder: Path) -> Iterator[dict[str, str]]:
    """Where all the servers of a program are, by their names."""
    log, environment = folder / "log", {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with started([sys.executable, program], is_ready=lambda: "ready" in log.read_text(), log=log, env=environment):
        yield dict(re.findall(r"^(\w+) (\d+)$", log.read_text(), re.MULTILINE))
