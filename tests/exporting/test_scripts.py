"""An exported script reproduces a finding without palaver, and tells if it is gone."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import sys
from typing import Any

import pytest

from palaver import loads
from palaver.exporting.computed_fields import ComputedFields
from palaver.exporting.reproducer import _as_data
from palaver.exporting.reproducer_fields import MendedMessage
from palaver.recording import run_reader as palaver_run

SPEC = r"""
<start>  ::= <Server:hello> <Client:login> <Server:ok> <Client:work> <Server:done> <Client:bye>
<hello>  ::= "hello " <token> "\n"
<token>  ::= r"[a-f0-9]{12}"
<login>  ::= "login " <token> "\n"
<ok>     ::= "ok\n" "welcome\n"
<work>   ::= "work " r"[a-z]{1,5}" "\n"
<done>   ::= "done\n"
<bye>    ::= "bye\n"
where <login>.<token> == <hello>.<token>
"""

# Who does not repeat the token is sent away. The word in the command line is the defect.
SERVER = r"""
import os, secrets, socket, sys
defect = sys.argv[2] if len(sys.argv) > 2 else ""
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        with connection:
            token = secrets.token_hex(6).encode()
            connection.sendall(b"hello " + token + b"\n")
            for line in connection.makefile("rb"):
                verb, *words = line.split()
                if verb == b"login":
                    connection.sendall(b"ok\nwelcome\n" if words == [token] else b"who?\n")
                elif verb == b"work":
                    if defect == "crash":
                        os.abort()
                    if defect == "exit":
                        sys.exit(3)
                    if defect == "report":
                        print("server.c:7:9: runtime error: signed integer overflow", flush=True)
                    if defect == "close":
                        break
                    if defect == "hush":
                        continue
                    if defect == "stop":
                        connection.sendall(b"do")
                        continue
                    if defect == "cut":
                        connection.sendall(b"do")
                        break
                    connection.sendall(b"dune\n" if defect == "wrong" else b"done\n")
"""

FINDINGS = {
    "crash": "crash",
    "exit": "crash",
    "report": "error report",
    "close": "connection closed",
    "cut": "connection closed",
    "hush": "no response",
    "stop": "no response",
    "wrong": "unexpected response",
}


def run_script(folder: Any, *arguments: str) -> tuple[int, str]:
    """The script with nothing but the standard library."""
    command = [sys.executable, "-ISE", "it.py", "--timeout", "2", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    assert done.stderr == b"", done.stderr.decode()
    return done.returncode, done.stdout.decode()


def target(program: str, *words: str) -> str:
    return f"{shlex.join([sys.executable, '-SE', program])} {{port}} {shlex.join(words)}"


@pytest.mark.parametrize("defect", FINDINGS)
def test_a_script_reproduces_what_a_server_does_wrong_and_tells_if_it_is_fixed(palaver: Any, defect: str) -> None:
    palaver.write(talk_fan=SPEC, server_py=SERVER)
    options = ["-n", "1", "--seed", "1", "--timeout", "1", "--run", "kept"]
    talked = palaver("talk", "talk.fan", "--target", target("server.py", defect), *options)
    assert f"({FINDINGS[defect]}: 1" in talked.summary
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    code, text = run_script(palaver.folder)
    assert (code, text.startswith("reproduced: finding 1 in session 1, ")) == (0, True), text
    code, text = run_script(palaver.folder, "--target", target("server.py"))
    assert (code, text.startswith("not reproduced: finding 1 in session 1, ")) == (1, True), text


@pytest.mark.parametrize("defect", ["crash", "exit"])
def test_a_script_reproduces_a_crash_that_another_session_was_told_of(palaver: Any, defect: str) -> None:
    palaver.write(talk_fan=SPEC, server_py=SERVER)
    options = ["-n", "1", "--seed", "1", "--run", "kept"]
    assert palaver("talk", "talk.fan", "--target", target("server.py", defect), *options).code == 1
    with sqlite3.connect(palaver.folder / "kept" / "run.sqlite") as file:  # as it may be if several go on at once
        file.execute("UPDATE target SET session = 2 WHERE kind = 'ended'")
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    code, text = run_script(palaver.folder)
    assert (code, text.startswith("reproduced: ")) == (0, True), text
    code, text = run_script(palaver.folder, "--target", target("server.py"))
    assert (code, text.startswith("not reproduced: ")) == (1, True), text


COUNTED = r"""
<start>  ::= <Client:ask> <Server:answer>
<ask>    ::= "ask\n"
<answer> ::= <length> ":" <text>
<length> ::= r"[0-9]+"
<text>   ::= r"[a-z]*"
where int(<length>) == len(str(<text>))
"""

COUNTING = r"""
import socket, sys
told = int(sys.argv[2])
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        connection.makefile("rb").readline()
        connection.sendall(b"%d:hello" % told)
        connection.recv(1)
        connection.close()
"""


def test_a_script_does_not_take_a_whole_reply_for_one_that_is_cut_short(palaver: Any) -> None:
    palaver.write(talk_fan=COUNTED, server_py=COUNTING)
    options = ["-n", "1", "--seed", "1", "--timeout", "1", "--patience", "1", "--run", "kept"]
    assert palaver("talk", "talk.fan", "--target", target("server.py", "6"), *options).code == 1
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    assert run_script(palaver.folder)[0] == 0
    code, text = run_script(palaver.folder, "--target", target("server.py", "5"))
    assert (code, "b'5:hello', which may be whole" in text) == (2, True), text


# Tokens are as long as the server likes. With another one, the length before the body and the checksum change, too.
FRAMES = r"""
import zlib
<start>  ::= <Server:hello> <Client:login> <Server:done>
<hello>  ::= "hello " <token> "\n"
<token>  ::= r"[a-f0-9]{4,24}"
<login>  ::= <length> ":" <body> <sum> "\n"
<length> ::= r"[0-9]+"
<body>   ::= "login " <token> " " <word> ";"
<word>   ::= r"[g-z]{1,9}"
<sum>    ::= r"[0-9a-f]{8}"
<done>   ::= "done\n"
HEADER = 3
def checksum(*parts):
    return f"{zlib.crc32(b'|'.join(bytes(part) for part in parts)):08x}"
where <login>..<token> == <hello>.<token>
where int(<length>) + HEADER == len(bytes(<body>)) + 3
where str(<sum>) == checksum(<length>, <body>)
"""
FRAMES_SERVER = r"""
import secrets, socket, sys, zlib
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        with connection:
            token = secrets.token_hex(2 + secrets.randbelow(11)).encode()
            connection.sendall(b"hello " + token + b"\n")
            length, _, rest = connection.makefile("rb").readline().rstrip().partition(b":")
            body, found = rest[: int(length)], rest[int(length) :]
            is_right = found == b"%08x" % zlib.crc32(length + b"|" + body) and body.split()[1] == token
            connection.sendall((b"dune\n" if "wrong" in sys.argv else b"done\n") if is_right else b"what?\n")
"""


def test_a_script_computes_lengths_and_checksums_that_depend_on_a_reply(palaver: Any) -> None:
    palaver.write(talk_fan=FRAMES, server_py=FRAMES_SERVER)
    options = ["-n", "1", "--seed", "1", "--run", "kept"]
    assert palaver("talk", "talk.fan", "--target", target("server.py", "wrong"), *options).code == 1
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    for _ in range(3):  # each with a token of its own
        code, text = run_script(palaver.folder)
        assert (code, "the reply was b'dune\\n'" in text) == (0, True), text
    code, text = run_script(palaver.folder, "--target", target("server.py"))
    assert (code, "the reply was b'done\\n'" in text) == (1, True), text


@pytest.mark.parametrize(
    ("constraint", "data"),
    [
        ("int(<l>) == len(bytes(<b>))", b"12|abcdefghijkl"),
        ("int(<l>) == len(bytes(<b>)) + 5", b"17|abcdefghijkl"),
        ("int(str(<l>), 16) == len(bytes(<b>))", b"0c|abcdefghijkl"),
        ("int.from_bytes(bytes(<l>), 'big') == len(bytes(<b>))", b"\0\x0c|abcdefghijkl"),
        ("int.from_bytes(bytes(<l>), 'little') == len(str(<b>))", b"\x0c\0|abcdefghijkl"),
        ("bytes(<l>) == bytes(<b>)[:2]", b"ab|abcdefghijkl"),
        ("<l> == str(<b>)[-2:]", b"kl|abcdefghijkl"),
        ("int(<l>) == len(bytes(<m>))", b"15|abcdefghijkl"),
        ("forall <x> in <m>: int(<x>.<l>) == len(str(<x>.<b>))", b"12|abcdefghijkl"),
    ],
)
def test_a_computed_field_is_mended_when_what_it_depends_on_has_changed(constraint: str, data: bytes) -> None:
    spec = loads(f"<start> ::= <m>\n<m> ::= <l> b'|' <b>\n<l> ::= rb'[^|]+'\n<b> ::= rb'[a-z]+'\nwhere {constraint}")
    assert spec.parse(data)
    fields = [_as_data(field) for field in ComputedFields(spec).of("<m>", data)]
    changed = MendedMessage(data, fields, {}, lambda piece: piece.replace(b"cdef", b"no")).mended()
    assert changed.endswith(b"|abnoghijkl")
    assert spec.parse(changed)  # or it raises


@pytest.mark.parametrize(
    "constraint",
    ["len(<b>) == len(<l>)", "int(<l>) < len(str(<b>))", "unknown(<l>) == 12", "'1' in str(<l>) or 1 == 2"],
)
def test_what_a_script_cannot_evaluate_is_left_as_it_was(constraint: str) -> None:
    code = "from palaver import errors as unknown_module\ndef unknown(x): return 12 if unknown_module else 0\n"
    spec = loads(f"{code}<start> ::= <l> '|' <b>\n<l> ::= r'[0-9]+'\n<b> ::= r'[a-z]+'\nwhere {constraint}")
    assert ComputedFields(spec).of("<start>", b"12|abcdefghijklmnop") == []


# The third answer of each connection is wrong, and that shows only once the session is over.
BACKWARDS = r"""
from functools import reduce
<start>    ::= <exchange>{8} <Client:quit>
<exchange> ::= <Client:ask> <Server:answer>
<ask>      ::= <word> "\n"
<answer>   ::= <word> "\n"
<word>     ::= r"[a-z]{6}"
<quit>     ::= "QUIT\n"
def follow(wrong, exchange):
    asked, answered = str(exchange).split("\n")[:2]
    return wrong or (f"{answered} is not {asked} reversed" if answered != asked[::-1] else "")
where reduce(follow, *<exchange>, "") == ""
"""
BACKWARDS_SERVER = r"""
import socketserver, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for number, line in enumerate(self.rfile):
            if line == b"QUIT\n":
                break
            self.wfile.write(b"wrongs\n" if number == 2 and "wrong" in sys.argv else line.strip()[::-1] + b"\n")
socketserver.TCPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_script_ends_with_the_reply_that_is_blamed(palaver: Any) -> None:
    palaver.write(talk_fan=BACKWARDS, server_py=BACKWARDS_SERVER)
    options = ["-n", "1", "--seed", "1", "--run", "kept"]
    assert palaver("talk", "talk.fan", "--target", target("server.py", "wrong"), *options).code == 1
    with palaver_run.open_run(palaver.folder / "kept") as run:
        finding = run.finding(1)
        assert (finding.kind.name, finding.got) == ("CONSTRAINT", b"wrongs\n")
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    code, text = run_script(palaver.folder)
    assert (code, "the reply was b'wrongs\\n'" in text) == (0, True), text
    code, text = run_script(palaver.folder, "--target", target("server.py"))
    assert (code, text.startswith("not reproduced: ")) == (1, True), text


def test_a_script_cannot_tell_if_it_is_not_known_which_reply_is_blamed(palaver: Any) -> None:
    palaver.write(talk_fan=BACKWARDS, server_py=BACKWARDS_SERVER)
    options = ["-n", "1", "--seed", "1", "--run", "kept"]
    assert palaver("talk", "talk.fan", "--target", target("server.py", "wrong"), *options).code == 1
    with sqlite3.connect(palaver.folder / "kept" / "run.sqlite") as file:
        file.execute("UPDATE findings SET got = x'00'")
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    code, text = run_script(palaver.folder)
    assert (code, text.startswith("not known: the record does not tell where the reply ends")) == (2, True), text


def test_a_finding_that_was_made_small_is_exported_so(palaver: Any) -> None:
    spec = SPEC.replace("<Client:work> <Server:done>", "(<Client:work> <Server:done>){5}")
    server = SERVER.replace('defect == "crash"', 'defect == "crash" and words[0] < b"h"')
    palaver.write(talk_fan=spec, server_py=server)
    options = ["-n", "3", "--seed", "1", "--run", "kept"]
    assert palaver("talk", "talk.fan", "--target", target("server.py", "crash"), *options).code == 1
    assert "reproduced 3 of 3" in palaver("shrink", "kept", "1").text
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    small = (palaver.folder / "it.py").read_text()
    assert run_script(palaver.folder)[0] == 0
    assert palaver("export", "kept", "1", "--script", "--original", "-o", "it.py").code == 0
    assert run_script(palaver.folder)[0] == 0
    original = (palaver.folder / "it.py").read_text()
    assert small.count("'sent'") <= original.count("'sent'")
    assert small != original


def test_a_wrong_reply_that_was_made_small_is_exported_so(palaver: Any) -> None:
    spec = SPEC.replace("<Client:work> <Server:done>", "(<Client:work> <Server:done>){5}")
    server = SERVER.replace('defect == "wrong"', 'defect == "wrong" and words[0] < b"h"')
    palaver.write(talk_fan=spec, server_py=server)
    options = ["-n", "3", "--seed", "1", "--run", "kept"]
    assert palaver("talk", "talk.fan", "--target", target("server.py", "wrong"), *options).code == 1
    assert "reproduced 3 of 3" in palaver("shrink", "kept", "1").text
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    assert (palaver.folder / "it.py").read_text().count("'sent'") == 2
    assert "b'work a\\n'" in (palaver.folder / "it.py").read_text()
    assert run_script(palaver.folder)[0] == 0
    code, text = run_script(palaver.folder, "--target", target("server.py"))
    assert (code, "the reply was b'done\\n'" in text) == (1, True), text
    assert palaver("export", "kept", "1", "--pcapng", "-o", "it.pcapng").code == 0
    assert b"dune\n" in (palaver.folder / "it.pcapng").read_bytes()


UDP_SERVER = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as endpoint:
    endpoint.bind(("127.0.0.1", int(sys.argv[1])))
    while True:
        data, sender = endpoint.recvfrom(100)
        endpoint.sendto(b"wall" if "wrong" in sys.argv else b"well", sender)
"""


def test_a_script_talks_by_datagrams(palaver: Any) -> None:
    spec = '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "ask"\n<answer> ::= "well"\n'
    palaver.write(talk_fan=spec, server_py=UDP_SERVER)
    options = ["-n", "1", "--client", "udp:{port}", "--run", "kept"]
    assert palaver("talk", "talk.fan", "--target", target("server.py", "wrong"), *options).code == 1
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    assert run_script(palaver.folder)[0] == 0
    assert run_script(palaver.folder, "--target", target("server.py"))[0] == 1


CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    lines = connection.makefile("rb")
    token = lines.readline().split()[1]
    connection.sendall(b"login " + (b"0" * 12 if "wrong" in sys.argv else token) + b"\\n")
    lines.readline(), lines.readline()
    connection.sendall(b"work hard\\n")
    lines.readline()
    connection.sendall(b"bye\\n")
"""


def test_a_script_plays_the_server_of_a_client(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC, client_py=CLIENT)
    options = ["-n", "1", "--seed", "1", "--server", "{port}", "--run", "kept"]
    talked = palaver("talk", "talk.fan", "--target", target("client.py", "wrong"), *options)
    assert "(constraint violated: 1)" in talked.summary
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    assert run_script(palaver.folder)[0] == 0
    # The token is another one now; if that is right, only the constraint could tell.
    code, text = run_script(palaver.folder, "--target", target("client.py"))
    assert (code, text.endswith("and has other values than the recorded one; the messages were sent\n")) == (2, True)


def test_a_script_talks_to_a_program(palaver: Any) -> None:
    spec = '<start> ::= <In:ask> <Out:answer>\n<ask> ::= r"[a-z]{5}" "\\n"\n<answer> ::= r"[a-z]{5}" "\\n"\n'
    palaver.write(talk_fan=spec)
    assert palaver("talk", "-f", "talk.fan", "-n", "1", "--run", "kept", "sed", "-u", "s/./-/").code == 1
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    assert run_script(palaver.folder)[0] == 0


def test_a_script_says_so_if_there_is_nobody(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC, server_py=SERVER)
    options = ["-n", "1", "--seed", "1", "--run", "kept"]
    palaver("talk", "talk.fan", "--target", target("server.py", "crash"), *options)
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    code, text = run_script(palaver.folder, "--no-target")
    assert (code, text.startswith("not tried: cannot connect to ")) == (2, True)
    code, text = run_script(palaver.folder, "--target", "no-such-program {port}")
    assert (code, text) == (2, "not tried: cannot start no-such-program: No such file or directory\n")


def test_a_script_names_the_folder_in_which_it_cannot_start_the_target(palaver: Any) -> None:
    (palaver.folder / "inside").mkdir()
    palaver.write(talk_fan=SPEC, server_py=SERVER)
    options = ["-n", "1", "--seed", "1", "--run", "kept", "--cwd", "inside"]
    assert palaver("talk", "talk.fan", "--target", target("../server.py", "crash"), *options).code == 1
    assert palaver("export", "kept", "1", "--script", "-o", "it.py").code == 0
    assert run_script(palaver.folder)[0] == 0
    (palaver.folder / "inside").rmdir()
    code, text = run_script(palaver.folder)
    assert (code, text) == (2, f"not tried: cannot start {sys.executable} in inside: No such file or directory\n")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere", "1", "--script"], "there is no run nowhere"),
        (["kept", "7", "--pcapng"], "has no finding 7"),
        (["kept", "1"], "which? give --script or --pcapng"),
        (["kept", "1", "--script", "--pcapng"], "--script and --pcapng exclude each other"),
        (["kept", "1", "--script", "-o", "no/such/folder"], "cannot write no/such/folder"),
    ],
)
def test_wrong_use_is_told(palaver: Any, arguments: list[str], complaint: str) -> None:
    palaver.write(talk_fan=SPEC, server_py=SERVER)
    options = ["-n", "1", "--seed", "1", "--run", "kept"]
    palaver("talk", "talk.fan", "--target", target("server.py", "crash"), *options)
    asked = palaver("export", *arguments)
    assert (asked.code, complaint in asked.said) == (2, True), asked.said
