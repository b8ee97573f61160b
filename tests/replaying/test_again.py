"""A run begins with the findings of another one, and tells which are fixed."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest

SPEC = r"""
<start>  ::= <Server:hello> <round>{1,4} <Client:bye>
<hello>  ::= "hello " <token> "\n"
<round>  ::= <Client:ask> <Server:answer>
<ask>    ::= <verb> " " <token> "\n"
<verb>   ::= "give" | "take" | "make"
<answer> ::= "done " <verb> "\n"
<bye>    ::= "bye\n"
<token>  ::= r"[a-f0-9]{8}"
where forall <ask> in <start>..<ask>: <ask>.<token> == <hello>.<token>
"""

# The words are the verbs that it does wrong: crash=, wrong=.
SERVER = r"""
import os, secrets, socket, sys
crash, wrong = sys.argv[2].encode(), sys.argv[3].encode()
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        with connection:
            token = secrets.token_hex(4).encode()
            connection.sendall(b"hello " + token + b"\n")
            for line in connection.makefile("rb"):
                if line == b"bye\n":
                    break
                verb, said = line.split()
                if said != token:
                    connection.sendall(b"who?\n")
                    break
                if verb == crash:
                    os.abort()
                connection.sendall(b"gone\n" if verb == wrong else b"done " + verb + b"\n")
"""


@pytest.fixture
def talk(palaver: Any) -> Any:
    palaver.write(talk_fan=SPEC, server_py=SERVER)

    def run(crash: str, wrong: str, *arguments: str) -> Any:
        command = f"{shlex.join([sys.executable, '-SE', 'server.py'])} {{port}} {crash} {wrong}"
        return palaver("talk", "talk.fan", "--target", command, "--seed", "1", *arguments)

    return run


def told(text: str) -> list[str]:
    """What was said of the findings of the other run, in short."""
    lines = [line for line in text.splitlines() if line.endswith(", of one")]
    parts = [line.partition(": finding ") for line in lines]
    return sorted(f"{outcome}: {rest.split(', ')[1].partition(':')[0]}" for outcome, _, rest in parts)


def test_what_is_fixed_is_told_and_what_is_not_is_found_first(talk: Any) -> None:
    assert talk("give", "take", "-n", "12", "--run", "one").code == 1
    again = talk("give", "none", "-n", "12", "--run", "two", "--again", "one")
    assert again.code == 1
    assert told(again.text) == ["fixed: unexpected response from Server at byte 0", "still there: crash"]
    assert "finding 1 in session 1, crash" in again.text or "finding 1 in session 2, crash" in again.text
    fixed = talk("none", "none", "-n", "12", "--run", "three", "--again", "one")
    assert fixed.code == 0
    assert told(fixed.text) == ["fixed: crash", "fixed: unexpected response from Server at byte 0"]


def test_the_run_goes_on_after_the_findings(talk: Any) -> None:
    assert talk("give", "none", "-n", "3", "--run", "one").code == 1
    again = talk("none", "none", "--again", "one", "--run", "two")
    assert again.code == 0
    assert "stopped: goal reached" in again.text
    again = talk("none", "none", "--again", "one", "-n", "1")
    assert "stopped: reached the limit of 1 session (-n 1) after 2\n" in again.text


def test_messages_that_are_not_possible_any_more_are_told(palaver: Any, talk: Any) -> None:
    assert talk("make", "none", "-n", "12", "--run", "one").code == 1
    palaver.write(talk_fan=SPEC.replace("<Client:ask>", "<Client:please>").replace("<ask>", "<please>"))
    again = talk("none", "none", "-n", "2", "--again", "one", "--run", "two")
    assert told(again.text) == ["not tried, as its messages are not possible any more: crash"]


def test_the_latest_run_is_the_one_before(palaver: Any, talk: Any) -> None:
    assert talk("give", "none", "-n", "3").code == 1
    again = talk("none", "none", "-n", "3", "--again", "latest")
    runs = sorted(path.name for path in (palaver.folder / ".palaver" / "runs").iterdir())
    (line,) = [line for line in again.text.splitlines() if line.startswith("fixed: finding 1 in session ")]
    assert line.endswith(f", crash: the system under test was killed by SIGABRT, of {runs[0]}")


def test_there_is_no_such_run(talk: Any) -> None:
    asked = talk("none", "none", "--again", "nowhere")
    assert (asked.code, "there is no run nowhere" in asked.said) == (2, True)
