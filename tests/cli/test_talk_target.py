"""`palaver talk --target`: the program under test is started, watched and stopped."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest

SPEC = """
<start>  ::= <Client:ask> <Server:answer> <Client:bye>
<ask>    ::= "ask " r"[a-z]{1,3}" "\\n"
<answer> ::= "well\\n"
<bye>    ::= "bye\\n"
"""

SERVER = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        for line in connection.makefile("rb"):
            if line.startswith(b"ask"):
                if "crash" in sys.argv:
                    sys.exit("I do not know")
                connection.sendall(b"well\\n")
"""

CLIENT = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"ask me\\n")
connection.makefile("rb").readline()
connection.sendall(b"bye\\n" if "rude" not in sys.argv else b"never\\n")
"""


@pytest.fixture
def talk(palaver: Any) -> Any:
    palaver.write(talk_fan=SPEC, server_py=SERVER, client_py=CLIENT)

    def run(program: str, *arguments: str, words: str = "") -> Any:
        command = f"{shlex.join([sys.executable, str(palaver.folder / program)])} {{port}} {words}"
        return palaver("talk", "talk.fan", "--target", command, "--seed", "1", "-n", "2", *arguments)

    return run


def test_a_server_is_started_at_a_free_port_and_talked_to(talk: Any) -> None:
    talked = talk("server.py")
    assert (talked.code, talked.summary) == (0, "2 sessions, 4 messages sent, 2 received, no findings")


def test_a_server_that_crashes_is_a_finding_with_its_last_words_and_is_started_again(talk: Any) -> None:
    talked = talk("server.py", words="crash")
    assert talked.code == 1
    assert "crash: 2" in talked.summary
    assert "the system under test exited with code 1\n  its last output:\n  | I do not know" in talked.text


def test_a_client_is_started_for_each_session(talk: Any) -> None:
    talked = talk("client.py", "--server", "{port}")
    assert (talked.code, talked.summary) == (0, "2 sessions, 2 messages sent, 4 received, no findings")


def test_what_a_client_does_wrong_is_found_the_same_way(talk: Any) -> None:
    talked = talk("client.py", "--server", "{port}", words="rude")
    assert talked.code == 1
    assert talked.summary.endswith("2 findings (unexpected response: 2)")


def test_a_client_that_never_comes_was_not_tested(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC)
    talked = palaver("talk", "talk.fan", "--target", "true", "--server", "{port}", "-n", "1")
    assert talked.code == 1
    assert talked.summary.endswith("1 finding (unreachable: 1)")
    assert "the system under test never connected and exited with code 0" in talked.text


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("no-such-program {port}", "no-such-program"),
        ("false", "false exited with code 1 before it listened at tcp port "),
        ("'", "no closing quotation"),
    ],
)
def test_a_program_that_cannot_be_started_is_told(palaver: Any, command: str, complaint: str) -> None:
    palaver.write(talk_fan=SPEC)
    talked = palaver("talk", "talk.fan", "--target", command, "-n", "1")
    assert talked.code == 2
    assert complaint in talked.said
