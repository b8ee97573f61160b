"""Servers with a bug each, from the session that shows it to the script that shows it without palaver."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from palaver import open_run
from servers.common import program

SPEC = r"""
<start>  ::= <round>{2,5}
<round>  ::= <Client:ask> <Server:answer>
<ask>    ::= "ask " r"[a-z]{1,30}" "\n"
<answer> ::= "well " r"[a-z]*" "\n"
"""

# A copy of a word, into a buffer that is too short for some.
C_SERVER = r"""
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void answer(FILE *peer, const char *word) {
    char *copy = malloc(ROOM);
    strcpy(copy, word);
    fprintf(peer, "well %s\n", copy);
    fflush(peer);
    free(copy);
}

int main(int count, char **words) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    int server = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(server, (struct sockaddr *)&place, sizeof place) || listen(server, 5)) return 2;
    for (;;) {
        int connection = accept(server, 0, 0);
        FILE *peer = fdopen(connection, "r"), *reply = fdopen(dup(connection), "w");
        char line[100], word[100];
        while (fgets(line, sizeof line, peer))
            if (sscanf(line, "ask %99s", word) == 1) answer(reply, word);
        fclose(peer);
        fclose(reply);
    }
}
"""

SERVER = r"""
import secrets, socket, sys
defect = sys.argv[2] if len(sys.argv) > 2 else ""
kept = []
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        with connection:
            token = secrets.token_hex(2 + secrets.randbelow(11)).encode()
            if defect.startswith("token"):
                connection.sendall(b"hello " + token + b"\n")
            for number, line in enumerate(connection.makefile("rb"), 1):
                length, _, line = line.rpartition(b":")
                verb, word, *rest = line.split()
                if defect == "traceback" and number == 2:
                    {}[word]
                if defect == "leak" and verb == b"keep":
                    kept.append(bytearray(b"x") * 60_000)
                is_wrong = defect == "patient" and number == 31
                if defect.startswith("token"):
                    is_wrong = rest[0] != token or int(length) != len(line) or (defect == "token-z" and b"z" in word)
                connection.sendall(b"wall " + word + b"\n" if is_wrong else b"well " + word + b"\n")
        while defect == "hang":
            pass
"""

LEAK = r"""
<start>  ::= <round>{2,5}
<round>  ::= (<Client:ask> | <Client:keep>) <Server:answer>
<ask>    ::= "ask " r"[a-z]{1,30}" "\n"
<keep>   ::= "keep " r"[a-z]{1,30}" "\n"
<answer> ::= "well " r"[a-z]*" "\n"
"""

TOKENS = r"""
<start>  ::= <Server:hello> <round>{2,5}
<hello>  ::= "hello " <token> "\n"
<round>  ::= <Client:ask> <Server:answer>
<ask>    ::= <length> ":" <line>
<length> ::= r"[0-9]+"
<line>   ::= "ask " r"[a-z]{1,30}" " " <token> "\n"
<answer> ::= "well " r"[a-z]*" "\n"
<token>  ::= r"[a-f0-9]{4,24}"
where forall <a> in <ask>: <a>.<line>.<token> == <hello>.<token>
where forall <a> in <ask>: int(<a>.<length>) == len(str(<a>.<line>))
"""


@dataclass(frozen=True)
class Told:
    """What a command has told, which may be the traceback of a server."""

    code: int
    text: str


class Story:
    """A server with a bug: found, attributed, kept, replayed, made small, and exported."""

    def __init__(self, palaver: Any, wrong: str, right: str, spec: str, *options: str, sessions: int = 3) -> None:
        self.palaver, self.wrong, self.right = palaver, wrong, right
        palaver.write(talk_fan=spec)
        arguments = ("--target", wrong, "--seed", "1", "--run", "kept", "-n", str(sessions), *options)
        self.talked = self.command("talk", "talk.fan", *arguments)

    def command(self, *arguments: str) -> Told:
        argv = self.palaver.argv(*arguments)
        done = subprocess.run(argv, cwd=self.palaver.folder, capture_output=True, check=False, text=True)
        return Told(done.returncode, done.stdout)

    def survives(self, *shrinking: str) -> list[str]:
        """What we say, and the peer, when the first finding was made small; on the way, all else is checked."""
        offline = self.command("replay", "kept", "1", "--offline").text
        assert offline.splitlines()[1].startswith("replayed offline: the same"), offline
        assert self.command("replay", "kept", "1", "-n", "3").text.endswith("reproduced 3 of 3\n")
        made = self.command("shrink", "kept", "1", *shrinking)
        assert "\nreproduced 3 of 3; " in made.text, made.text
        assert self.command("replay", "kept", "1", "-n", "3").text.endswith("reproduced 3 of 3\n")
        self.is_exported()
        with open_run(self.palaver.folder / "kept") as run:
            small = run.shrinking(1)
            assert small is not None
            return [said.data.decode() for said in small.messages]

    def is_exported(self) -> None:
        """As a script that tells right from wrong without palaver, and as a capture that others read."""
        assert self.command("export", "kept", "1", "--script", "-o", "it.py").code == 0
        assert self._script() == 0
        assert self._script("--target", self.right) == 1
        assert self.command("export", "kept", "1", "--pcapng", "-o", "it.pcapng").code == 0
        if (tshark := program("tshark")) is not None:
            shown = subprocess.run(
                [tshark, "-r", "it.pcapng", "-T", "fields", "-e", "frame.comment", "-e", "tcp.payload"],
                cwd=self.palaver.folder,
                capture_output=True,
                check=True,
                text=True,
            ).stdout
            assert "finding 1 in session " in shown
            assert b"ask ".hex() in shown or b"keep ".hex() in shown

    def _script(self, *arguments: str) -> int:
        command = [sys.executable, "-ISE", "it.py", "--timeout", "2", *arguments]
        done = subprocess.run(command, cwd=self.palaver.folder, capture_output=True, check=False, timeout=120)
        assert done.stderr == b"", done.stderr.decode()
        return done.returncode


def python_target(palaver: Any, defect: str = "") -> str:
    palaver.write(server_py=SERVER)
    return f"{shlex.join([sys.executable, '-SE', 'server.py'])} {{port}} {defect}"


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.skipif(shutil.which("cc") is None, reason="missing: cc")
def test_a_heap_overflow_in_c(palaver: Any) -> None:
    palaver.write(server_c=C_SERVER)
    for name, room in (("wrong", "8"), ("right", "strlen(word) + 1")):
        flags = ["-g", "-fsanitize=address", f"-DROOM={room}", "-o", name, "server.c"]
        subprocess.run(["cc", *flags], cwd=palaver.folder, check=True)
    story = Story(palaver, "./wrong {port}", "./right {port}", SPEC)
    told = "crash: the system under test exited with code 1: AddressSanitizer: heap-buffer-overflow in answer "
    assert told in story.talked.text
    assert "\n  from its output:\n  | ==" in story.talked.text
    assert story.survives() == ["ask aaaaaaaa\n"]
    quiet = palaver("talk", "talk.fan", "--target", "./right {port}", "--seed", "1", "-n", "3", "--no-run")
    assert quiet.code == 0


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_traceback(palaver: Any) -> None:
    story = Story(palaver, python_target(palaver, "traceback"), python_target(palaver), SPEC)
    assert "crash: the system under test exited with code 1: Python: KeyError: in <module> (" in story.talked.text
    assert story.survives() == ["ask a\n", "well a\n", "ask a\n"]


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_wrong_answer_after_thirty_messages(palaver: Any) -> None:
    spec = SPEC.replace("{2,5}", "{31,40}")
    story = Story(palaver, python_target(palaver, "patient"), python_target(palaver), spec)
    assert "(unexpected response: 3)" in story.talked.text
    said = story.survives("--runs", "60")
    assert [line.split()[0] for line in said] == ["ask", "well"] * 30 + ["ask"]  # all of it is needed


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_server_that_hangs_after_a_session(palaver: Any) -> None:
    options = ("--probe", "dialogue", "--timeout", "0.5")
    story = Story(palaver, python_target(palaver, "hang"), python_target(palaver), SPEC, *options, sessions=1)
    assert "(hang: 1)" in story.talked.text
    assert story.survives("--runs", "40") == ["ask a\n", "well a\n"]


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_server_that_leaks(palaver: Any) -> None:
    story = Story(palaver, python_target(palaver, "leak"), python_target(palaver), LEAK, sessions=100)
    assert re.search(r"memory growth \(note\): .* most in sessions with <keep>, such as session \d+", story.talked.text)
    assert story.talked.code == 0
    assert story.survives("--runs", "40") == ["keep a\n", "well a\n"]


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_server_with_random_tokens_and_lengths(palaver: Any) -> None:
    story = Story(palaver, python_target(palaver, "token-z"), python_target(palaver, "token"), TOKENS)
    assert "unexpected response" in story.talked.text
    hello, ask = story.survives()
    token = hello.split()[1]
    assert ask == f"{len(token) + 7}:ask z {token}\n"
