"""The spec of POP3 against servers, and as the server of real clients."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as library
from servers import pop3
from servers.pop3 import needs_dovecot

SPEC = Path(library.__file__).parent / "specs" / "pop3.fan"

# A client that looks at everything, and deletes.
POPLIB = """
import poplib, sys
box = poplib.POP3("127.0.0.1", int(sys.argv[1]), timeout=20)
try:
    box.capa()
except poplib.error_proto:
    pass
box.user("the_user")
try:
    box.pass_("the_password")
    count, _ = box.stat()
    sizes = box.list()[1]
    assert len(sizes) == count
    for number in range(1, count + 1):
        _, lines, size = box.retr(number)
        assert sizes[number - 1].decode().split()[:2] == [str(number), str(size)], (sizes, size)
        box.dele(number)
except poplib.error_proto as error:
    assert b"-ERR" in error.args[0], error
box.quit()
"""
CLIENTS = {
    "poplib": shlex.join([sys.executable, "-c", POPLIB, "{port}"]),
    "curl": "curl -sS -m 20 -o /dev/null -u the_user:the_password pop3://127.0.0.1:{port}/1",
    "mpop": "mpop -C /dev/null --host=127.0.0.1 --port={port} --timeout=20 --auth=user --tls=off --user=the_user "
    "--passwordeval='echo the_password' --keep=off --uidls-file=mpop_uidls --delivery=mbox,mpop_mbox",
}


def talk(palaver: Any, port: int, sessions: int, *options: str) -> Any:
    how_long = ("-n", str(sessions), "--unguided", "--seed", "1", *options)
    return palaver("talk", "pop3", "--client", str(port), *how_long)


def test_the_spec_is_without_objections(palaver: Any) -> None:
    checked = palaver("check", "--strict", "--k", "5", str(SPEC))
    assert (checked.code, checked.said) == (0, "")
    assert "1278 5-paths" in checked.text


def test_conversations_that_are_made_up_can_be_read_again(palaver: Any) -> None:
    made = palaver("fuzz", "-f", str(SPEC), "-n", "3", "--seed", "1", "--validate")
    assert (made.code, made.said) == (0, "")


def test_a_small_server_is_talked_to_without_findings(palaver: Any) -> None:
    with pop3.small() as server:
        talked = talk(palaver, server.port, 20)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


def test_a_number_in_what_is_no_command_says_nothing_about_letters(palaver: Any, tmp_path: Path) -> None:
    asks = tmp_path / "asks.fan"
    begin = "<Server:greeting> <Client:user> <Server:done> <Client:password> <Server:admitted>"
    asked = "<Client:strange> <Server:refused>", "<Client:top> <Server:top_answer>"
    asks.write_text(
        f"<start> ::= {begin} <asks> <leaving>\n<asks> ::= <exchange>{{2}}\n<exchange> ::= {' | '.join(asked)}\n"
        "<strange> ::= 'HELP 1\\r\\n'\n<top> ::= 'TOP 1 0\\r\\n'\n"
    )
    with pop3.small() as server:
        files = ("-f", str(SPEC), "-f", str(asks))
        talked = palaver("talk", *files, "--client", str(server.port), "-n", "10", "--unguided", "--seed", "1")
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@needs_dovecot
@pytest.mark.timeout(300)  # Dovecot thinks two seconds about a wrong password
def test_dovecot_is_talked_to_without_findings(palaver: Any) -> None:
    with pop3.dovecot() as server:
        talked = talk(palaver, server.port, 20)
    assert talked.code == 0, talked.text
    assert talked.summary.endswith("no findings")


@pytest.mark.parametrize(
    "name", ["poplib", *(pytest.param(name, marks=pytest.mark.servers(name)) for name in ("curl", "mpop"))]
)
def test_a_real_client_talks_to_a_server_of_the_spec(palaver: Any, name: str) -> None:
    talked = palaver("talk", "pop3", "--server", "{port}", "--target", CLIENTS[name], "-n", "10", "--seed", "1")
    assert talked.code == 0, talked.text + talked.said
    assert talked.summary.endswith("no findings")
