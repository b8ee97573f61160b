"""Real FTP servers: pyftpdlib and vsftpd, each with the user `the_user` and the folders that the bundled spec expects."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from servers.common import PLACES, free_port, greets, started

HERE = Path(__file__).parent

# uid and gid of those who own nothing, on Debian; vsftpd lets the_user be one of them.
NOBODY = 65534

FILES = {
    "readme.txt": "Everything there is to know.\n",
    "docs/notes.txt": "One line.\nAnother line.\n",
    "docs/old/notes.txt": "Nothing of interest.\n",
}
FOLDERS = ("empty", "upload")


@dataclass(frozen=True)
class FtpServer:
    """A server that runs."""

    port: int
    home: Path  # what its user sees as /


@contextmanager
def pyftpdlib(
    folder: Path,
    *,
    certificate: Path | None = None,
    delay_s: float = 0,
    most_failures: int = 1_000_000,
    keeps_encrypting: bool = False,
) -> Iterator[FtpServer]:
    """pyftpdlib, with everything it needs in `folder`. It speaks TLS if it gets a certificate with its key.

    A failed login takes `delay_s`, and after `most_failures` of them it hangs up. With `keeps_encrypting` it has a
    defect: it acknowledges `PROT C` and goes on encrypting.
    """
    server = FtpServer(free_port(), furnished(folder / "home"))
    command = [sys.executable, str(HERE / "ftp_pyftpdlib.py"), str(server.port), str(server.home)]
    command += ["--delay", str(delay_s), "--failures", str(most_failures)]
    command += ["--certificate", str(certificate)] if certificate else []
    command += ["--keeps-encrypting"] if keeps_encrypting else []
    with started(command, is_ready=partial(greets, server.port, b"220 "), log=folder / "log"):
        yield server


@contextmanager
def vsftpd(
    folder: Path, *, certificate: Path | None = None, delay_s: int = 0, most_failures: int = 1_000_000
) -> Iterator[FtpServer]:
    """vsftpd, likewise. Needs root, for a user that exists for this process only."""
    server = FtpServer(free_port(), furnished(folder / "home"))
    settings = {"port": server.port, "folder": folder, "delay": delay_s, "failures": most_failures}
    text = filled("ftp_vsftpd.conf.in", **settings)
    if certificate is not None:
        text += filled("ftp_vsftpd_tls.conf.in", certificate=certificate)
    configuration = folder / "vsftpd.conf"
    configuration.write_text(text)
    for path in (server.home, *server.home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    command = ["sh", str(HERE / "ftp_vsftpd.sh"), str(folder), str(configuration)]
    ready = partial(greets, server.port, b"220 ")
    with started(command, is_ready=ready, log=folder / "log", env={**os.environ, "PATH": PLACES}):
        yield server


def furnished(home: Path) -> Path:
    """The folder, with what the spec expects to be there."""
    for name in FOLDERS:
        (home / name).mkdir(parents=True)
    for name, text in FILES.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return home


def filled(template: str, **values: object) -> str:
    """The text of a template beside this file, with its names replaced."""
    text = (HERE / template).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text
