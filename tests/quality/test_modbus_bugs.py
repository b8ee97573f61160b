"""Devices of Modbus TCP that are wrong in one thing are found out, and the right one is not suspected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import modbus_bugs
import pytest
from catalogue import PEERS_FAULTS, Bug, kinds

from servers.in_process import ports_of

pytestmark = pytest.mark.slow

MOST = max(bug.sessions for bug in modbus_bugs.BUGS)


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with ports_of(Path(modbus_bugs.__file__), tmp_path_factory.mktemp("servers")) as ports:
        yield ports


def talk(palaver: Any, port: str, sessions: int) -> Any:
    options = ("--seed", "1", "--unguided", "--timeout", "1")
    return palaver("talk", "modbus", "--client", port, "-n", str(sessions), *options)


@pytest.mark.parametrize("bug", modbus_bugs.BUGS, ids=lambda bug: bug.name)
def test_a_wrong_device_is_found_out(palaver: Any, ports: dict[str, str], bug: Bug) -> None:
    talked = talk(palaver, ports[bug.name], bug.sessions)
    assert talked.code == 1, talked.text
    assert kinds(talked.summary) == [bug.finding]
    assert PEERS_FAULTS.issuperset(kinds(talked.summary))


def test_the_right_device_is_not_suspected(palaver: Any, ports: dict[str, str]) -> None:
    talked = talk(palaver, ports["Device"], MOST)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")
