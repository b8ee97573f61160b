"""Servers of NTP: two of Debian, and a small one; and a client."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from palaver.transport.registry import is_listening
from servers.common import LIMIT_S, started
from servers.dns import free_port_of_both
from servers.stock import INSTALLED
from servers.web import WebServer, web_server

HERE = Path(__file__).parent
SMALL = HERE / "ntp_small.py"
CHRONYD = str(INSTALLED / "chrony/upper/usr/sbin/chronyd")
NTPD = str(INSTALLED / "ntpsec/upper/usr/sbin/ntpd")

needs_chrony = pytest.mark.servers(CHRONYD, root=True)
needs_ntpsec = pytest.mark.servers(NTPD, "unshare", "ip", root=True)

CHRONY_CONF = """\
port {port}
bindaddress 127.0.0.1
cmdport 0
bindcmdaddress /
local
allow 127.0.0.0/8
pidfile {folder}/pid
"""

# It serves port 123 only, so it gets a network of its own. Debian's configuration limits how often anybody may ask.
NTPSEC_CONF = "interface ignore wildcard\ninterface listen 127.0.0.1\nrefclock local\nrestrict 127.0.0.1\n"
ALONE = """
ip link set lo up
"$1" -n -c "$2" -l "$3" &
for _ in $(seq 200); do grep -q ':007B ' /proc/net/udp && break; sleep 0.05; done
shift 3
"$@"
code=$?
kill $!
exit $code
"""

_ASK = """
import sys, ntplib
told = ntplib.NTPClient().request("127.0.0.1", port=int(sys.argv[1]), version=int(sys.argv[2]), timeout=20)
assert (told.mode, told.version) == (4, int(sys.argv[2]))
"""
NTPLIB = shlex.join([sys.executable, "-c", _ASK, "{port}", "3"])
_SOURCE = "'server 127.0.0.1 port {port} iburst maxsamples 1'"
CHRONY_CLIENT = f"{CHRONYD} -Q -u root -t 10 {_SOURCE} 'cmdport 0' 'bindcmdaddress /'"


@contextmanager
def chrony() -> Iterator[WebServer]:
    """At another port, with nothing to set its clock by, and nothing that it may set."""
    port = free_port_of_both()
    with tempfile.TemporaryDirectory(prefix="chrony") as name:
        conf = Path(name) / "conf"
        conf.write_text(CHRONY_CONF.format(port=port, folder=name))
        command = [CHRONYD, "-x", "-d", "-u", "root", "-f", str(conf)]
        with started(command, is_ready=partial(_listens, port), log=Path(name) / "log"):
            yield WebServer(port)


def _listens(port: int) -> bool:
    return is_listening("udp", port) is not False


def with_ntpsec(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command where ntpd of NTPsec serves 127.0.0.1:123."""
    conf = folder / "ntp.conf"
    conf.write_text(NTPSEC_CONF)
    where = ["unshare", "--net", "sh", "-c", ALONE, "sh", NTPD, str(conf), str(folder / "log")]
    return subprocess.run(
        [*where, *command], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S * 2, check=False
    )


@contextmanager
def small() -> Iterator[WebServer]:
    """The one that is made wrong elsewhere."""
    with web_server(SMALL) as server:
        yield server
