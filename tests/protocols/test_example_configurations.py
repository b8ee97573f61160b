"""Servers that are started as `palaver specs NAME --about` says, from what `--fixture` has written, hold sessions."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from palaver.transport.registry import is_listening
from servers import stock
from servers.common import free_port, greets, program, started, written
from servers.dns import free_port_of_both
from servers.ntp import CHRONYD

# The commands that start them, as they stand in the text about the spec.
WEB = {"nginx": "nginx ", "lighttpd": "lighttpd ", "apache2": "apache2 "}


@contextmanager
def fixture(palaver: Any, spec: str, beginning: str, port: int) -> Iterator[tuple[Path, list[str]]]:
    """A folder that other users may read, with the fixture in it, and the command that starts a server for it."""
    with tempfile.TemporaryDirectory(prefix="palaver-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        folder = Path(name) / "fixture"
        told = palaver("specs", spec, "--fixture", str(folder), "--port", str(port)).text
        (line,) = re.findall(rf"^    ({beginning}.*)$", told, re.MULTILINE)
        words = shlex.split(line)
        yield folder, [program(words[0]) or words[0], *words[1:]]


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.servers(name, root=True)) for name in WEB])
def test_a_web_server_is_started_from_its_example(palaver: Any, name: str) -> None:
    port = free_port()
    with (
        fixture(palaver, "http", WEB[name], port) as (folder, command),
        started(command, is_ready=partial(greets, port), log=folder / "log"),
    ):
        talked = palaver("talk", "http", "--client", str(port), "-n", "3", "--seed", "1", "--unguided")
    assert talked.code == 0, talked.text


@pytest.mark.servers(CHRONYD, root=True)
def test_chrony_is_started_from_its_example(palaver: Any) -> None:
    port = free_port_of_both()
    with fixture(palaver, "ntp", "chronyd ", port) as (folder, command):
        ready = lambda: is_listening("udp", port) is not False  # noqa: E731
        with started([CHRONYD, *command[1:]], is_ready=ready, log=folder / "log"):
            talked = palaver("talk", "ntp", "--client", str(port), "-n", "3", "--seed", "1", "--unguided")
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


PROFTPD = """
where=$(cat /mnt/where)
mkdir -p "$where" && mount --bind /mnt "$where"
useradd --no-create-home --home-dir "$where/fixture/home" --shell /bin/sh the_user
echo the_user:the_password | chpasswd
chown the_user "$where/fixture/home/upload"
sed -i 's/^Port 2121$/Port @PORT@/' "$where/fixture/proftpd.conf"
exec proftpd --nodaemon --config "$where/fixture/proftpd.conf"
"""


def furnish(folder: Path) -> None:
    (folder / "where").write_text(str(folder))
    written("ftp", folder / "fixture")


@stock.needs("proftpd")
def test_proftpd_is_started_from_its_example(palaver: Any) -> None:
    ready = partial(greets, first=b"220 ")
    with stock.running(PROFTPD, "proftpd", is_ready=ready, furnish=furnish) as server:
        talked = palaver("talk", "ftp", "--client", str(server.port), "-n", "3", "--seed", "1", "--unguided")
    assert talked.code == 0, talked.text
