"""Real FTP servers: pyftpdlib and vsftpd, each with the user `the_user` and the files that the bundled spec expects."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from servers.common import PLACES, free_port, greets, started, written

HERE = Path(__file__).parent

# Only root can give it a user of its own.
needs_vsftpd = pytest.mark.servers("vsftpd", "unshare", root=True)

NO_LIMIT = 1_000_000


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
    most_failures: int = NO_LIMIT,
    keeps_encrypting: bool = False,
    python: Sequence[str] = (sys.executable,),
) -> Iterator[FtpServer]:
    """pyftpdlib, with everything it needs in `folder`. It speaks TLS if it gets a certificate with its key.

    A failed login takes `delay_s`, and after `most_failures` of them it hangs up. With `keeps_encrypting` it has a
    defect: it acknowledges `PROT C` and goes on encrypting. `python` is the command that runs it.
    """
    server = FtpServer(free_port(), furnished(folder))
    command = [*python, str(HERE / "ftp_pyftpdlib.py"), str(server.port), str(server.home)]
    command += ["--delay", str(delay_s), "--failures", str(most_failures)]
    command += ["--certificate", str(certificate)] if certificate else []
    command += ["--keeps-encrypting"] if keeps_encrypting else []
    with started(command, is_ready=partial(greets, server.port, b"220 "), log=folder / "log"):
        yield server


# --- vsftpd -----------------------------------------------------------------------------------------------------------
#
# It asks the machine who its users are. So the machine is told, in a mount namespace that ends with the process: the
# files laid over its own know root, nobody and the_user. The user's files are in /mnt there, where it can get to.

USERS = """\
root:x:0:0::/:/bin/sh
nobody:x:65534:65534::/nonexistent:/bin/sh
the_user:x:65534:65534::/mnt:/bin/sh
"""
NOBODY = 65534

# Of `the_password`, by `openssl passwd -6 -salt palaver`.
PASSWORDS = """\
the_user:$6$palaver$CkOL5fnIhxcTc/hRBOSUVFJ7vZar.6.1W4UVEDrMqwPxZPI1J6rPV5rmyVyOnELTg09OoQUY8xP2xBNyifEFC/:19000::::::
"""

# Without nodelay a wrong password takes two seconds.
AUTHENTICATION = """\
auth required pam_unix.so nodelay
account required pam_permit.so
"""

START = """\
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/shadow" /etc/shadow
mount --bind "$1/pam.d" /etc/pam.d
mount --bind "$1/home" /mnt
exec vsftpd "$1/vsftpd.conf"
"""


@contextmanager
def vsftpd(
    folder: Path, *, certificate: Path | None = None, delay_s: int = 0, most_failures: int = NO_LIMIT
) -> Iterator[FtpServer]:
    """vsftpd, likewise. Needs root."""
    server = FtpServer(port := free_port(), furnished(folder, port))
    for path in (server.home, *server.home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    (folder / "pam.d").mkdir()
    (folder / "passwd").write_text(USERS)
    (folder / "shadow").write_text(PASSWORDS)
    (folder / "pam.d" / "palaver").write_text(AUTHENTICATION)
    settings = (folder / "vsftpd.conf").read_text()
    settings += filled("ftp_vsftpd.conf.in", delay=delay_s, failures=most_failures)
    if certificate is not None:
        settings += filled("ftp_vsftpd_tls.conf.in", certificate=certificate)
    (folder / "vsftpd.conf").write_text(settings)
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-e", "-c", START, "sh", str(folder)]
    ready = partial(greets, server.port, b"220 ")
    with started(command, is_ready=ready, log=folder / "log", env={**os.environ, "PATH": PLACES}):
        yield server


def filled(template: str, **values: object) -> str:
    """The text of a template beside this file, with its names replaced."""
    text = (HERE / template).read_text()
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def furnished(folder: Path, port: int | None = None) -> Path:
    """The home of the user in a folder, with what the spec expects to be there."""
    return written("ftp", folder, port) / "home"
