"""Clients that are answered wrongly on purpose: they must not crash, nor take it for success."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.campaign.events import MessageSent
from palaver.session.findings import FindingKind, Severity

SPEC = r"""
<start> ::= <Server:ready> <Client:login> <Server:welcome> <step>{2,4} <Client:bye> <Server:gone>
<step> ::= <Client:ask> <Server:answer>
<login> ::= "login\n"
<ask> ::= r"ask [a-z]+" "\n"
<bye> ::= "bye\n"
<ready> ::= "200 ready\n"
<welcome> ::= "210 welcome\n"
<answer> ::= "220 " <word> "\n"
<word> ::= r"[a-z]{1,8}"
<gone> ::= "230 gone\n"

<beyond> ::= <reply> | <no_reply>
<reply> ::= <Server:any_reply>
<no_reply> ::= <Server:any_words> (<Client:retreat> | <Client:hung_up>)
<any_reply> ::= r"2[0-9]{2} [^\n]*" "\n"
<any_words> ::= r"[^\n]*" "\n"
<retreat> ::= "bye\n"
<hung_up> ::= ""
"""

# A client: what it does with an answer that it cannot read is its last argument.
CLIENT = r"""
import os, re, socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) as connection:
    file = connection.makefile("rwb")
    for line in (b"", b"login", b"ask me", b"ask you", b"ask them", b"bye"):
        if line:
            file.write(line + b"\n")
            file.flush()
        heard = file.readline()
        if not re.fullmatch(rb"2[0-9]{2} [a-z]*\n", heard):
            if sys.argv[2] == "crashes" and heard:
                os.abort()
            if sys.argv[2] != "believes" or not heard:
                break
"""


def findings(tmp_path: Path, what: str, sessions: int) -> list[tuple[FindingKind, Severity]]:
    program = tmp_path / "client.py"
    program.write_text(CLIENT)
    target = shlex.join([sys.executable, str(program), "{port}", what])
    options: dict[str, Any] = {"sessions": sessions, "seed": 1, "beyond": 0.5, "timeout": 2.0, "guided": False}
    campaign = palaver.talk(palaver.loads(SPEC), server="{port}", target=target, **options)
    said = [event.message.aside for event in campaign if isinstance(event, MessageSent)]
    assert any(said)
    return [(finding.kind, finding.severity) for finding in campaign.findings]


def test_a_client_that_leaves_is_not_suspected(tmp_path: Path) -> None:
    assert findings(tmp_path, "leaves", 12) == []


@pytest.mark.parametrize(("what", "kind"), [("believes", FindingKind.ACCEPTED), ("crashes", FindingKind.CRASH)])
def test_a_client_that_takes_it_for_success_or_dies_of_it_is_found(
    tmp_path: Path, what: str, kind: FindingKind
) -> None:
    found = findings(tmp_path, what, 12)
    assert (kind, Severity.VIOLATION) in found, found
