"""IMAP servers: Dovecot, and a small one, each with a mailbox for the user `the_user`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from servers import dovecot as dovecot_server
from servers.web import WebServer, web_server

SMALL = Path(__file__).parent / "imap_small.py"

# Only root can let it serve the letters of somebody else.
needs_dovecot = pytest.mark.servers("dovecot", "/usr/lib/dovecot/imap", root=True)


def dovecot() -> AbstractContextManager[WebServer]:
    return dovecot_server.dovecot("imap", b"* OK ")


def small() -> AbstractContextManager[WebServer]:
    """The one that is made wrong elsewhere."""
    return web_server(SMALL)
