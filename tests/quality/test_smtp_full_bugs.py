"""Mail servers whose defects lie beyond `smtp` are found out by `smtp_full`, and the right one is not suspected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import smtp_full_bugs
from catalogue import Bug, kinds
from mail_servers import ports_of

from amounts import few


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where all the servers are, by their names."""
    with ports_of(smtp_full_bugs.__file__, tmp_path_factory.mktemp("servers")) as ports:
        yield ports


def talk(palaver: Any, spec: str, port: str, sessions: int) -> Any:
    return palaver("talk", spec, "--client", port, "-n", str(sessions), "--seed", "1", "--until", "forever")


@pytest.mark.parametrize("bug", few(smtp_full_bugs.BUGS, 3), ids=lambda bug: bug.name)
def test_a_wrong_server_is_found_out(palaver: Any, ports: dict[str, str], bug: Bug) -> None:
    talked = talk(palaver, "smtp_full", ports[bug.name], bug.sessions)
    assert talked.code == 1, talked.said
    assert bug.finding in kinds(talked.summary), talked.said


@pytest.mark.parametrize("bug", few(smtp_full_bugs.BUGS, 2), ids=lambda bug: bug.name)
def test_the_small_spec_knows_nothing_of_it(palaver: Any, ports: dict[str, str], bug: Bug) -> None:
    talked = talk(palaver, "smtp", ports[bug.name], bug.sessions)
    assert talked.code == 0, talked.said


@pytest.mark.slow
def test_the_right_server_is_not_suspected(palaver: Any, ports: dict[str, str]) -> None:
    talked = talk(palaver, "smtp_full", ports["FullSession"], 100)
    assert (talked.code, set(kinds(talked.summary)) - {"note"}) == (0, set()), talked.said
