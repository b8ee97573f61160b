"""Certificates made for the occasion: signed by themselves, for this machine, and not for long."""

from __future__ import annotations

import ipaddress
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from palaver.transport.pipe import Broken

# All that `openssl req` is to know; whatever configuration the machine has is left out of it.
CONFIGURATION = """\
[req]
distinguished_name = subject
x509_extensions = extensions
prompt = no
[subject]
CN = {name}
[extensions]
subjectAltName = {names}
basicConstraints = critical,CA:TRUE
"""
DAYS = 30
TIME_LIMIT_S = 30


@contextmanager
def make_certificate(server_name: str = "") -> Iterator[str]:
    """The path of a new certificate with its key, for as long as it takes to load it.

    :raises Broken: the program that would make it is missing or does not work
    """
    program = shutil.which("openssl")
    if program is None:
        raise Broken("tls", "no certificate was given, and the program openssl is missing, which would make one")
    with tempfile.TemporaryDirectory(prefix="palaver-") as folder:
        yield _made(program, Path(folder), server_name or "localhost")


def _made(program: str, folder: Path, name: str) -> str:
    configuration, path = folder / "configuration", folder / "both.pem"
    configuration.write_text(CONFIGURATION.format(name=name[:64], names=_names(name)))
    command = [program, "req", "-x509", "-config", str(configuration), "-days", str(DAYS), "-nodes"]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-keyout", str(path), "-out", str(folder / "public")]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIME_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Broken("tls", f"no certificate could be made: {error}") from None
    if done.returncode:
        raise Broken("tls", f"no certificate could be made: {done.stderr.decode(errors='replace').strip()}")
    path.write_bytes(path.read_bytes() + (folder / "public").read_bytes())
    return str(path)


def _names(name: str) -> str:
    names = ["IP:127.0.0.1", "IP:::1", "DNS:localhost"]
    try:
        ipaddress.ip_address(name)
    except ValueError:
        names.append(f"DNS:{name}")
    else:
        names.append(f"IP:{name}")
    return ",".join(dict.fromkeys(names))
