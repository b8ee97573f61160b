"""The spec of NTP against servers, and as the server of real clients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers import ntp
from servers.ntp import needs_chrony, needs_ntpsec

SPEC = Path(library.__file__).parent / "specs" / "ntp.fan"
CLIENTS = {"ntplib": ntp.NTPLIB, "chrony": ntp.CHRONY_CLIENT}


def talk(palaver: Any, port: int, sessions: int) -> Any:
    return palaver("talk", "ntp", "--client", f"udp:{port}", "-n", str(sessions), "--seed", "1", "--unguided")


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "246 5-paths" in checked.text


@pytest.mark.parametrize("only", [(), ("--party", "Client"), ("--party", "Server")])
def test_conversations_are_made_up(palaver: Any, only: tuple[str, ...]) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "3", "--seed", "1", *(only or ["--validate"]))
    assert (made.code, made.said) == (0, "")


def test_a_small_server_is_talked_to_without_findings(palaver: Any) -> None:
    with ntp.small() as server:
        talked = talk(palaver, server.port, 5)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_chrony
def test_chrony_is_talked_to_without_findings(palaver: Any) -> None:
    with ntp.chrony() as server:
        talked = talk(palaver, server.port, 50)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_ntpsec
def test_ntpsec_is_talked_to_without_findings(tmp_path: Path) -> None:
    options = ("--client", "udp:123", "-n", "20", "--seed", "1", "--unguided")
    talked = ntp.with_ntpsec(tmp_path, sys.executable, "-m", "palaver", "talk", "ntp", *options)
    assert talked.returncode == 0, talked.stdout + talked.stderr
    assert "20 sessions" in talked.stdout
    assert "received, no findings" in talked.stdout


@pytest.mark.parametrize("name", ["ntplib", pytest.param("chrony", marks=needs_chrony)])
def test_a_real_client_talks_to_a_server_of_the_spec(palaver: Any, name: str) -> None:
    talked = palaver("talk", "ntp", "--server", "udp:{port}", "--target", CLIENTS[name], "-n", "3", "--seed", "1")
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
