"""Mail servers to talk SMTP to: aiosmtpd, OpenSMTPD and Exim, each on a free port of the loopback interface.

aiosmtpd and Exim take letters from `the_user` with `the_password`; OpenSMTPD takes them from everybody. The latter two
are started as root in a mount namespace of their own, where the files that they insist on can be replaced without
anything being installed or changed on the machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from servers.common import free_port, greets, program, started, written

HERE = Path(__file__).parent

# Where tools/servers.sh has unpacked Exim.
EXIM = Path(os.environ.get("PALAVER_SERVERS", HERE.parent.parent / ".servers")) / "exim"
LIBRARIES = [str(path) for path in sorted(EXIM.glob("**/*-linux-gnu*")) if path.is_dir()]

NOBODY = 65534
PATIENT_EXIM = """\
smtp_max_synprot_errors = 1000000
smtp_max_unknown_commands = 1000000
smtp_accept_max_nonmail = 1000000
"""

needs_opensmtpd = pytest.mark.servers("unshare", "smtpd", root=True)
needs_exim = pytest.mark.servers("unshare", "setpriv", str(EXIM / "usr/sbin/exim4"), root=True)


@dataclass(frozen=True)
class MailServer:
    """A server that has greeted once already."""

    port: int
    log: Path


@contextmanager
def aiosmtpd(certificate: Path | None = None, *, python: Sequence[str] = (sys.executable,)) -> Iterator[MailServer]:
    """aiosmtpd, run by a Python; with a certificate, one that asks for STARTTLS before it lets anybody log in."""
    with _folder() as folder:
        port = free_port()
        command = [
            *python,
            str(HERE / "aiosmtpd_server.py"),
            str(port),
            *([str(certificate)] if certificate else []),
        ]
        with _running(command, port, folder) as server:
            yield server


@contextmanager
def aiosmtpd_without_accounts() -> Iterator[MailServer]:
    """aiosmtpd as its own command starts it: whoever comes may send, and there is no login."""
    with _folder() as folder:
        port = free_port()
        command = [sys.executable, "-m", "aiosmtpd", "-n", "-l", f"127.0.0.1:{port}"]
        with _running(command, port, folder) as server:
            yield server


@contextmanager
def opensmtpd() -> Iterator[MailServer]:
    """OpenSMTPD with a queue and a control socket of its own, and without DNS."""
    with _folder() as folder:
        port = free_port()
        written("smtp", folder, port)
        os.chown(folder / "letters", NOBODY, NOBODY)
        configuration = folder / "smtpd.conf"
        setup = """
            mount -t tmpfs tmpfs /var/spool
            mkdir -m 711 /var/spool/smtpd
            mount -t tmpfs tmpfs /run
            echo lookup file >/run/resolv.conf
            mount --bind /run/resolv.conf /etc/resolv.conf
        """
        command = _in_namespace(setup, program("smtpd") or "smtpd", "-d", "-f", str(configuration))
        with _running(command, port, folder) as server:
            yield server


@contextmanager
def exim() -> Iterator[MailServer]:
    """Exim, under the name of a user that is nobody: Debian's is compiled into it, and need not exist."""
    with _folder() as folder:
        port = free_port()
        written("smtp", folder, port)
        for name in ("spool", "log"):
            os.chown(folder / name, NOBODY, NOBODY)
        os.chown(folder, NOBODY, NOBODY)
        _extended("/etc/passwd", f"Debian-exim:x:{NOBODY}:{NOBODY}::/:/bin/false", folder / "passwd")
        _extended("/etc/group", f"Debian-exim:x:{NOBODY}:", folder / "group")
        # Seen from inside, the program lies where everybody may go, wherever it was unpacked.
        inside = "/mnt/usr/sbin/exim4"
        configuration = folder / "exim.conf"
        text = configuration.read_text().replace("/usr/sbin/exim4", inside)
        # A fuzzer makes more mistakes than a server likes to see in one session.
        configuration.write_text(text.replace("smtp_accept_max = 0\n", f"smtp_accept_max = 0\n{PATIENT_EXIM}"))
        setup = f"""
            mount --bind {folder}/passwd /etc/passwd
            mount --bind {folder}/group /etc/group
            mount --bind '{EXIM}' /mnt
        """
        libraries = ":".join(path.replace(str(EXIM), "/mnt") for path in LIBRARIES)
        as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        exim = ["env", f"LD_LIBRARY_PATH={libraries}", inside, "-C", str(configuration), "-bdf"]
        with _running(_in_namespace(setup, *as_nobody, *exim), port, folder) as server:
            yield server


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="palaver-", ignore_cleanup_errors=True) as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path


@contextmanager
def _running(command: list[str], port: int, folder: Path) -> Iterator[MailServer]:
    log = folder / "output"
    with started(command, is_ready=lambda: greets(port, b"220 "), log=log):
        yield MailServer(port, log)


def _in_namespace(setup: str, *command: str) -> list[str]:
    """A command that sees the machine as the setup leaves it, and it alone."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", f'{setup}\nexec "$@"', "sh", *command]


def _extended(source: str, line: str, target: Path) -> None:
    target.write_text(f"{Path(source).read_text()}{line}\n")
