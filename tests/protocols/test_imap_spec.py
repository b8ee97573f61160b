"""The spec of IMAP against servers, and as the server of real clients."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers import imap
from servers.imap import needs_dovecot

SPEC = Path(library.__file__).parent / "specs" / "imap.fan"

# A client that reads everything, deletes a letter, and leaves another.
IMAPLIB = r"""
import imaplib, sys
box = imaplib.IMAP4("127.0.0.1", int(sys.argv[1]), timeout=20)
box.login("the_user", "the_password")
count = int(box.select("INBOX")[1][0])
found = box.search(None, "ALL")[1][0].split()
assert found == [b"%d" % number for number in range(1, count + 1)], found
for number in found:
    head, text = box.fetch(number, "(UID RFC822.SIZE BODY[])")[1][0]
    assert b"RFC822.SIZE %d " % len(text) in head, head
box.store("1", "+FLAGS", "(\\Deleted)")
box.append("INBOX", "(\\Seen)", None, b"Subject: five\r\n\r\nNew.\r\n")
box.expunge()
box.close()
box.logout()
"""
CLIENTS = {
    "imaplib": shlex.join([sys.executable, "-c", IMAPLIB, "{port}"]),
    "curl": "curl -sS -m 20 -o /dev/null -u the_user:the_password imap://127.0.0.1:{port}/INBOX;MAILINDEX=1",
}


def talk(palaver: Any, port: int, sessions: int) -> Any:
    return palaver("talk", "imap", "--client", str(port), "-n", str(sessions), "--unguided", "--seed", "1")


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "2880 5-paths" in checked.text


def test_conversations_that_are_made_up_can_be_read_again(palaver: Any) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "3", "--seed", "1", "--validate")
    assert (made.code, made.said) == (0, "")


def test_a_small_server_is_talked_to_without_findings(palaver: Any) -> None:
    with imap.small() as server:
        talked = talk(palaver, server.port, 3)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_dovecot
@pytest.mark.timeout(300)  # Dovecot thinks two seconds about a wrong password
def test_dovecot_is_talked_to_without_findings(palaver: Any) -> None:
    with imap.dovecot() as server:
        talked = talk(palaver, server.port, 10)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize("name", ["imaplib", pytest.param("curl", marks=pytest.mark.servers("curl"))])
def test_a_real_client_talks_to_a_server_of_the_spec(palaver: Any, name: str) -> None:
    talked = palaver("talk", "imap", "--server", "{port}", "--target", CLIENTS[name], "-n", "3", "--seed", "1")
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
