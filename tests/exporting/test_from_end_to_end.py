"""Servers with a bug each, from the session that shows it to the script that shows it without palaver."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from typing import Any

import pytest

from conftest import Outcome

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
import socket, sys
defect = sys.argv[2] if len(sys.argv) > 2 else ""
served = 0
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        with connection:
            for number, line in enumerate(connection.makefile("rb"), 1):
                word = line.split()[1]
                if defect == "traceback" and number == 2:
                    {}[word]
                is_wrong = defect == "patient" and number == 31
                connection.sendall(b"wall " + word + b"\n" if is_wrong else b"well " + word + b"\n")
        while defect == "hang":
            pass
"""


def script(palaver: Any, *arguments: str) -> int:
    command = [sys.executable, "-ISE", "it.py", "--timeout", "2", *arguments]
    done = subprocess.run(command, cwd=palaver.folder, capture_output=True, check=False, timeout=120)
    assert done.stderr == b"", done.stderr.decode()
    return done.returncode


def talk(palaver: Any, target: str, spec: str = SPEC, *options: str) -> Outcome:
    palaver.write(talk_fan=spec)
    arguments = ["talk", "talk.fan", "--target", target, "--seed", "1", "--run", "kept", "-n", "3", *options]
    done = subprocess.run(palaver.argv(*arguments), cwd=palaver.folder, capture_output=True, check=False)
    talked = Outcome(done.returncode, done.stdout, done.stderr)
    assert talked.code == 1
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    assert palaver("export", "kept", "1", "--pcapng", "-o", "it.pcapng").code == 0
    return talked


def python_target(palaver: Any, defect: str = "") -> str:
    palaver.write(server_py=SERVER)
    return f"{shlex.join([sys.executable, '-SE', 'server.py'])} {{port}} {defect}"


@pytest.mark.skipif(shutil.which("cc") is None, reason="missing: cc")
def test_a_heap_overflow_in_c(palaver: Any) -> None:
    palaver.write(server_c=C_SERVER)
    for name, room in (("wrong", "8"), ("right", "strlen(word) + 1")):
        flags = ["-g", "-fsanitize=address", f"-DROOM={room}", "-o", name, "server.c"]
        subprocess.run(["cc", *flags], cwd=palaver.folder, check=True)
    talked = talk(palaver, "./wrong {port}")
    told = "crash: the system under test exited with code 1: AddressSanitizer: heap-buffer-overflow in answer "
    assert told in talked.text
    assert "\n  from its output:\n  | ==" in talked.text
    assert script(palaver) == 0
    assert script(palaver, "--target", "./right {port}") == 1
    quiet = palaver("talk", "talk.fan", "--target", "./right {port}", "--seed", "1", "-n", "3", "--no-run")
    assert quiet.code == 0


def test_a_traceback(palaver: Any) -> None:
    talked = talk(palaver, python_target(palaver, "traceback"))
    assert "crash: the system under test exited with code 1: Python: KeyError: in <module> (" in talked.text
    assert script(palaver) == 0
    assert script(palaver, "--target", python_target(palaver)) == 1


def test_a_wrong_answer_after_thirty_messages(palaver: Any) -> None:
    spec = SPEC.replace("{2,5}", "{32}")
    talked = talk(palaver, python_target(palaver, "patient"), spec)
    assert "(unexpected response: 3)" in talked.summary
    assert script(palaver) == 0
    assert script(palaver, "--target", python_target(palaver)) == 1


def test_a_server_that_hangs_after_a_session(palaver: Any) -> None:
    talked = talk(palaver, python_target(palaver, "hang"), SPEC, "--probe", "dialogue", "--timeout", "1")
    assert "(hang: 3)" in talked.summary
    assert script(palaver) == 0
    assert script(palaver, "--target", python_target(palaver)) == 1
