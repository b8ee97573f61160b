"""The spec of TFTP against servers, and as the server of real clients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers import tftp
from servers.tftp import needs_atftpd, needs_tftpd

SPEC = Path(library.__file__).parent / "specs" / "tftp.fan"

CLIENTS = {
    "curl reads": "curl -sS -m 20 --tftp-blksize 1024 -o /dev/null tftp://127.0.0.1:{port}/palaver-a",
    "curl writes": "curl -sS -m 20 -T {file} tftp://127.0.0.1:{port}/palaver-a",
    "atftp reads": "atftp --get -r palaver-a -l /dev/null 127.0.0.1 {port}",
    "atftp writes": "atftp --option 'blksize 100' --put -l {file} -r palaver-a 127.0.0.1 {port}",
    "tftp reads": "tftp 127.0.0.1 {port} -m binary -c get palaver-a /dev/null",
    "tftp writes": "tftp 127.0.0.1 {port} -c put {file} palaver-a",
}


def talk(palaver: Any, port: int, sessions: int, *more: str) -> Any:
    options = ("-n", str(sessions), "--seed", "1", "--unguided")
    return palaver("talk", "tftp", *more, "--client", f"udp:{port}", *options)


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "1162 5-paths" in checked.text


@pytest.mark.parametrize("only", [(), ("--party", "Client"), ("--party", "Server")])
def test_conversations_are_made_up(palaver: Any, only: tuple[str, ...]) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "2", "--seed", "1", *(only or ["--validate"]))
    assert (made.code, made.said) == (0, "")


def test_a_small_server_is_talked_to_without_findings(palaver: Any) -> None:
    with tftp.small() as server:
        talked = talk(palaver, server.port, 2)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_tftpd
def test_tftpd_is_talked_to_without_findings(palaver: Any) -> None:
    with tftp.tftpd_hpa() as server:
        talked = talk(palaver, server.port, 10)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_atftpd
def test_atftpd_is_a_sorcerers_apprentice_and_right_otherwise(palaver: Any, tmp_path: Path) -> None:
    also = tmp_path / "also.fan"
    also.write_text("REPEATS = 0  # it breaks RFC 1123 (4.2.3.1)\n")
    with tftp.atftpd() as server:
        found = talk(palaver, server.port, 20)
        talked = talk(palaver, server.port, 10, str(also))
    assert found.code == 1, found.text
    assert "out of turn: Server sent data when only Client may send" in found.text
    assert talked.code == 0, talked.text
    assert "violated" not in talked.summary


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.servers(name.split()[0])) for name in CLIENTS])
def test_a_real_client_talks_to_a_server_of_the_spec(palaver: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"hello, world\n" * 80)
    command = CLIENTS[name].replace("{file}", str(file))
    talked = palaver("talk", "tftp", "--server", "udp:{port}", "--target", command, "-n", "3", "--seed", "1")
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
