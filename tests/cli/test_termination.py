"""However palaver is ended, it leaves nothing behind, and says what it has found."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amounts import few

SPEC = """
<start> ::= <Client:ask> <Server:answer>
<ask> ::= "ask\\n"
<answer> ::= "well\\n"
"""

# A server with a child in a session of its own. Both hold the file "alive" open. It answers once, and then no more.
SERVER = """
import os, signal, socket, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN if "deaf" in sys.argv else signal.SIG_DFL)
alive = os.open("alive", os.O_WRONLY)
subprocess.Popen(["sleep", "60"], start_new_session=True, pass_fds=[alive])
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    connection, _ = server.accept()
    connection.recv(100)
    connection.sendall(b"well\\n")
    connection, _ = server.accept()
    connection.recv(100)
    with open("ready", "w"):
        pass
    signal.pause()
"""


class Run:
    """A run of palaver that goes on, with its server waiting for the end."""

    def __init__(self, palaver: Any, *words: str) -> None:
        palaver.write(talk_fan=SPEC, server_py=SERVER)
        self.folder: Path = palaver.folder
        for name in ("alive", "ready"):
            os.mkfifo(self.folder / name)
        # Opened for reading and writing it waits for nobody; the end is seen once we do not write any more.
        both = os.open(self.folder / "alive", os.O_RDWR)
        self._alive = os.open(self.folder / "alive", os.O_RDONLY)
        target = f"{shlex.join([sys.executable, 'server.py'])} {{port}} {' '.join(words)}"
        arguments = ("talk", "talk.fan", "--target", target, "--seed", "1", "--timeout", "60", "--coverage-file", "c")
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process: subprocess.Popen[bytes] = palaver.start(*arguments, "-n", "9", **pipes)
        (self.folder / "ready").open().close()  # returns when the server waits
        os.close(both)

    def end(self, number: int) -> tuple[int, str]:
        """Send a signal, and wait until palaver and everything that it has started are gone."""
        self.process.send_signal(number)
        out, err = self.process.communicate()
        assert os.read(self._alive, 1) == b""  # when the last one who could write has gone
        os.close(self._alive)
        assert b"Traceback" not in err
        return self.process.returncode, out.decode()


@pytest.mark.parametrize(("number", "code"), few([(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]))
def test_a_signal_ends_a_run_in_good_order(palaver: Any, number: int, code: int) -> None:
    run = Run(palaver)
    ended = run.end(number)
    assert ended[0] == code
    assert ended[1].startswith("2 sessions, 2 messages sent, 1 received, no findings\nseed 1\n")
    why = "interrupted" if number == signal.SIGINT else f"terminated by {signal.Signals(number).name}"
    assert f"stopped: {why}\n" in ended[1]
    assert (run.folder / "c").exists()


def test_a_target_that_ignores_being_asked_is_ended_too(palaver: Any) -> None:
    assert Run(palaver, "deaf").end(signal.SIGTERM)[0] == 143


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system does not show environments")
def test_the_target_and_its_children_end_although_palaver_was_killed(palaver: Any) -> None:
    assert Run(palaver).end(signal.SIGKILL)[0] == -signal.SIGKILL


def test_sighup_is_ignored_if_whoever_started_palaver_wants_that(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= 'x'\nimport os, signal\nos.kill(os.getpid(), signal.SIGHUP)\n")
    command = palaver.argv("fuzz", "-f", "spec.fan", "-n", "1")
    ignoring = (
        f"import os, signal, sys\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nos.execvp({command[0]!r}, {command!r})"
    )
    as_nohup_does = [sys.executable, "-c", ignoring]
    done = subprocess.run(as_nohup_does, cwd=palaver.folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"x\n")


@pytest.mark.parametrize(
    "number, told, code", [(signal.SIGTERM, "terminated by SIGTERM", 143), (2, "interrupted", 130)]
)
def test_other_commands_end_the_same_way(palaver: Any, number: int, told: str, code: int) -> None:
    palaver.write(spec_fan=f"<start> ::= 'x'\nimport os, signal\nos.kill(os.getpid(), {int(number)})\n")
    done = palaver.process("fuzz", "-f", "spec.fan", "-n", "1")
    assert (done.code, done.said.strip()) == (code, f"palaver: {told}")


# Says yes to three words out of four. Its third process tells that it is there, and answers nobody.
STUCK_LATER = """
import os, socket, sys
with open("count", "a") as file:
    file.write("x")
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    connection, _ = server.accept()
    for line in connection.makefile("rb"):
        if os.path.getsize("count") == 3 and os.path.exists("stuck"):
            open("stuck", "w").close()
            connection.recv(1)
        connection.sendall(b"no\\n" if line == b"ask d\\n" else b"yes\\n")
    server.accept()  # it does not end by itself, which would be a note
"""
ASK = """
<start> ::= <round>{4,8}
<round> ::= <Client:ask> <Server:yes>
<ask> ::= "ask " r"[a-d]" "\\n"
<yes> ::= "yes\\n"
"""


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["shrink", "kept", "1"], "\nnot tried once more; interrupted\n"),
        (["replay", "kept", "1", "-n", "9"], "reproduced 1 of 1; interrupted\n"),
    ],
    ids=["shrink", "replay"],
)
def test_what_was_reached_is_told_when_a_finding_is_tried_again(palaver: Any, command: list[str], told: str) -> None:
    palaver.write(ask_fan=ASK, server_py=STUCK_LATER)
    target = f"{shlex.join([sys.executable, '-S', 'server.py'])} {{port}}"
    options = ("-n", "1", "--seed", "1", "--timeout", "60", "--run", "kept", "--target", target)
    assert palaver("talk", "ask.fan", *options).code == 1
    os.mkfifo(palaver.folder / "stuck")
    with palaver.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        (palaver.folder / "stuck").open().close()  # returns when the server waits
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, told in out.decode(), err) == (130, True, b""), out.decode()
    if command[0] == "shrink":
        assert "not tried once more; interrupted" in palaver("show", "kept", "1").text


def test_ctrl_c_while_palaver_is_being_loaded_is_no_traceback(palaver: Any) -> None:
    # The interrupt comes while the first module behind the entry point is imported.
    script = (
        "import sys\n"
        "from palaver.cli.main import run\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.endswith('command_line'):\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "run(['--help'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"palaver: interrupted\n")


def test_only_the_entry_point_is_loaded_before_ctrl_c_is_caught() -> None:
    script = "import sys; known = {*sys.modules}\nimport palaver.cli.main\n"
    script += "print(*sorted(sys.modules.keys() - known - {*sys.builtin_module_names}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["__future__", "palaver", "palaver.cli", "palaver.cli.main"]


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["check", "wrong.fan"], 2),
        (["parse", "-f", "right.fan", "--format", "tree", "bad", "good", "bad"], 1),
        (["talk", "-f", "talk.fan", "-n", "3", "--seed", "1", "cat"], 1),
        (["specs"], 0),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else str(value),
)
def test_a_reader_that_has_seen_enough_does_not_change_the_exit_code(
    palaver: Any, arguments: list[str], code: int
) -> None:
    palaver.write(
        wrong_fan="<start> ::= <x>\n" * 9,
        right_fan="<start> ::= 'x'+\n",
        good="x",
        bad="y",
        talk_fan="<start> ::= <In:a> <Out:b>\n<a> ::= 'a\\n'\n<b> ::= 'b\\n'\n",
    )
    gone, ours = os.pipe()
    os.close(gone)  # nobody reads
    process = palaver.start(*arguments, stdout=ours, stderr=subprocess.PIPE)
    os.close(ours)
    _, err = process.communicate()
    assert process.returncode == code
    assert b"Broken pipe" not in err
