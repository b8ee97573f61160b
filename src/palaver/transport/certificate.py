"""Self-signed certificates for this machine, made by OpenSSL and valid for a short time."""

from __future__ import annotations

import ipaddress
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from palaver.transport.channel import ChannelError
from palaver.transport.transport_limits import CERTIFICATE_SECONDS

# The whole configuration of `openssl req`, so that the machine's own is not used.
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


@contextmanager
def make_certificate(server_name: str = "") -> Iterator[str]:
    """Make a certificate; its path, key included, is valid in the `with` block. :raises ChannelError: it fails"""
    program = shutil.which("openssl")
    if program is None:
        raise ChannelError(
            "tls", "no certificate was given, and the program openssl, which would make one, is not installed"
        )
    with tempfile.TemporaryDirectory(prefix="palaver-") as folder:
        yield _made(program, Path(folder), server_name or "localhost")


def _made(program: str, folder: Path, name: str) -> str:
    configuration, path = folder / "configuration", folder / "both.pem"
    configuration.write_text(CONFIGURATION.format(name=name[:64], names=_names(name)))
    command = [program, "req", "-x509", "-config", str(configuration), "-days", str(DAYS), "-nodes"]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-keyout", str(path), "-out", str(folder / "public")]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=CERTIFICATE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ChannelError("tls", f"cannot make a certificate: {error}") from None
    if done.returncode:
        raise ChannelError("tls", f"cannot make a certificate: {done.stderr.decode(errors='replace').strip()}")
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
