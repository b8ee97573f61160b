"""`palaver talk --target`: the program under test is started, watched and stopped."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_

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
line = connection.makefile("rb").readline()
if "raise" in sys.argv:
    print({b"yes\\n": 1}[line])
if "exit" in sys.argv:
    sys.exit(3)
connection.sendall(b"bye\\n" if "rude" not in sys.argv else b"never\\n")
"""


@pytest.fixture
def talk(palaver: Any) -> Any:
    palaver.write(talk_fan=SPEC, server_py=SERVER, client_py=CLIENT)

    def run(program: str, *arguments: str, words: str = "") -> Any:
        command = f"{shlex.join([sys.executable, str(palaver.folder / program)])} {{port}} {words}"
        return palaver("talk", "talk.fan", "--target", command, "--seed", "1", "-n", "2", *arguments)

    run.folder = palaver.folder  # type: ignore[attr-defined]
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


def test_a_client_that_dies_is_one_finding_with_its_exit_code_and_its_traceback(talk: Any) -> None:
    program = str(Path(talk.folder, "client.py"))
    command = f"{shlex.join([sys.executable, program])} {{port}} raise"
    campaign = palaver_.talk(Path(talk.folder, "talk.fan"), target=command, server="{port}", sessions=1).run()
    (finding,) = campaign.findings
    assert finding.headline.partition("crash: ")[2].startswith("the system under test exited with code 1: Python: KeyE")
    assert "  | KeyError: b'well\\n'" in finding.show()
    talked = talk("client.py", "--server", "{port}", words="exit")
    assert talked.summary.endswith("2 findings (crash: 2)")
    assert "crash: the system under test exited with code 3" in talked.text
    assert "expected <bye>" in talked.text


def test_the_exit_code_of_a_client_that_has_said_all_is_its_own(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC, client_py=CLIENT + "sys.exit(4)\n")
    command = f"{shlex.join([sys.executable, str(palaver.folder / 'client.py')])} {{port}}"
    talked = palaver("talk", "talk.fan", "--target", command, "--server", "{port}", "-n", "2")
    assert talked.summary.endswith("no findings")


def test_a_client_that_never_comes_was_not_tested(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC)
    talked = palaver("talk", "talk.fan", "--target", "true", "--server", "{port}", "-n", "1")
    assert talked.code == 4
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
    # What has held no session is not the latest run.
    assert not list(palaver.folder.glob(".palaver/runs/*"))


@pytest.mark.parametrize("word", ["{port}", "1"])
def test_a_command_that_is_not_told_its_port_is_named(palaver: Any, word: str) -> None:
    palaver.write(talk_fan=SPEC, idle_py="import time\ntime.sleep(60)\n")
    command = f"{shlex.join([sys.executable, '-SE', 'idle.py'])} {word}"
    talked = palaver("talk", "talk.fan", "--target", command, "--start-timeout", "0.3", "-n", "1")
    assert talked.code == 2
    assert ("its command has no {port}, which stands for the port" in talked.said) is (word == "1")


def test_a_folder_with_other_files_is_left_if_no_session_began(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC)
    (palaver.folder / "kept").mkdir()
    (palaver.folder / "kept" / "mine").write_text("mine")
    assert palaver("talk", "talk.fan", "--target", "false", "--run", "kept").code == 2
    assert [path.name for path in (palaver.folder / "kept").iterdir()] == ["mine"]
