"""Dovecot, the server of POP3 and IMAP, with some letters for the user `the_user`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from servers.common import PLACES, free_port, greets, started, written
from servers.ftp import NOBODY
from servers.web import WebServer


@contextmanager
def dovecot(spec: str, greeting: bytes) -> Iterator[WebServer]:
    """Dovecot 2.3 with a Maildir. Needs root; a path that is too long for its sockets is no good."""
    with tempfile.TemporaryDirectory(prefix="dovecot") as name:
        folder = Path(name)
        folder.chmod(0o755)
        port = free_port()
        written(spec, folder, port)
        for path in (folder / "home", *(folder / "home").rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        command = [shutil.which("dovecot", path=PLACES) or "dovecot", "-F", "-c", str(folder / "dovecot.conf")]
        with started(command, is_ready=partial(greets, port, greeting), log=folder / "log"):
            yield WebServer(port)
