"""Parties that call `start_tls()` in the middle of a session, as either side."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_
from net.processes import HERE, smtp_server
from palaver.session.findings import FindingKind, Verdict
from palaver.testing import (
    Expect,
    MemoryNetwork,
    ScriptedPeer,
    ScriptStep,
    SocketNetwork,
    StartTls,
    Write,
    in_pieces,
    run_pair,
)
from palaver.transport.certificate import make_certificate
from servers.common import needs_openssl

pytestmark = needs_openssl

SPEC = HERE / "starttls.fan"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("certificates") / "server.pem"
    with make_certificate() as made:
        shutil.copy(made, path)
    return str(path)


def test_two_sessions_encrypt_in_the_middle(world: SocketNetwork) -> None:
    pair = run_pair(palaver_.load(SPEC), world=world, seed=1)
    assert [session.verdict for session in pair] == [Verdict.PASS, Verdict.PASS]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_two_sessions_agree_on_it_in_memory(size: int) -> None:
    pair = run_pair(palaver_.load(SPEC), world=MemoryNetwork(wire=in_pieces(size, 0.01)), seed=1)
    assert [session.verdict for session in pair] == [Verdict.PASS, Verdict.PASS]


BRINGS = """
class {name}(NetworkParty):
    def __init__(self):
        super().__init__("tls://127.0.0.1:1")
        self.tls = {{"{option}": {path!r}}}
        self.start()
"""
SECRET = "<start> ::= <Client:ask> <Server:answer>\n<ask> ::= 'ASK\\n'\n<answer> ::= 'SAY\\n'\n"


def test_parties_may_bring_certificates_and_authorities(world: SocketNetwork, certificate: str) -> None:
    classes = BRINGS.format(name="Server", option="certificate", path=certificate)
    classes += BRINGS.format(name="Client", option="authority", path=certificate)
    pair = run_pair(palaver_.loads(SECRET + classes), world=world, address="tls://127.0.0.1:0")
    assert [session.verdict for session in pair] == [Verdict.PASS, Verdict.PASS]


def test_a_party_does_not_talk_to_an_untrusted_peer(world: SocketNetwork, certificate: str) -> None:
    classes = BRINGS.format(name="Client", option="authority", path=certificate)
    pair = run_pair(palaver_.loads(SECRET + classes), world=world, address="tls://127.0.0.1:0")
    (finding,) = pair.caller.findings
    assert finding.kind is FindingKind.TLS
    assert "the certificate is not trusted" in finding.message


def test_the_client_encrypts(talk_to: Callable[..., Any]) -> None:
    script: list[ScriptStep] = [
        Write(b"220 \r\n"),
        Expect(b"\r\n"),
        Write(b"250 \r\n"),
        Expect(b"STARTTLS\r\n"),
        Write(b"220 go\r\n"),
        StartTls(),
    ]
    script += [
        Expect(b"EHLO"),
        Write(b"250 \r\n"),
        Expect(b"MAIL"),
        Write(b"250 \r\n"),
        Expect(b"QUIT\r\n"),
        Write(b"221 \r\n"),
    ]
    talked = talk_to(ScriptedPeer(script, times=2), SPEC.read_text(), "-n", "2")
    assert (talked.code, talked.said) == (0, "")


def test_the_server_encrypts(talk: Callable[..., Any], world: SocketNetwork, tmp_path: Path) -> None:
    script: list[ScriptStep] = [
        Expect(b"\r\n"),
        Write(b"EHLO a.example\r\n"),
        Expect(b"\r\n"),
        Write(b"STARTTLS\r\n"),
        Expect(b"\r\n"),
        StartTls(),
    ]
    script += [Write(b"EHLO a.example\r\n"), Expect(b"\r\n"), Write(b"MAIL FROM:<a@a.example>\r\n"), Expect(b"\r\n")]
    address = f"unix:{tmp_path / 'socket'}"
    client = ScriptedPeer([*script, Write(b"QUIT\r\n")], role="connect", address=address, times=2)
    world.add(client)
    # One line is all the features there are, so that the script can tell where they end.
    talked = talk(SPEC.read_text(), "--server", address, "-n", "2", "-c", "len(*<more>) == 0")
    assert (talked.code, talked.said) == (0, "")
    assert not client.failed


def test_a_server_that_does_not_encrypt_after_all_gives_a_finding(talk_to: Callable[..., Any]) -> None:
    script: list[ScriptStep] = [Write(b"220 \r\n"), Expect(b"\r\n"), Write(b"250 \r\n"), Expect(b"STARTTLS\r\n")]
    script += [Write(b"220 go\r\n"), Expect(), Write(b"502 what is this?\r\n")]
    talked = talk_to(ScriptedPeer(script, times=2), SPEC.read_text(), "-n", "2")
    assert talked.code == 1
    assert talked.summary.endswith("2 findings (TLS failure: 2)")


def test_a_real_server_takes_mails_only_over_tls(palaver: Any, certificate: str) -> None:
    with smtp_server(certificate) as port:
        talked = palaver("talk", "-f", str(SPEC), "--unguided", "--client", str(port), "-n", "3", "--seed", "1")
    assert (talked.code, talked.said) == (0, "")
