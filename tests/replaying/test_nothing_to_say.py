"""After an answer that leaves us nothing to say, a replay tries to say something, too, or else nothing is found."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import pytest

SPEC = """
<start>  ::= <Client:ask> <Server:offer> <Client:bid> <Server:done>
<ask>    ::= r"[a-z]{3}" "\\n"
<offer>  ::= <digit> "\\n"
<bid>    ::= <digit> "\\n"
<done>   ::= "done\\n"
where int(<bid>.<digit>) > int(<offer>.<digit>)
"""

SERVER = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        with connection:
            for line in connection.makefile("rb"):
                connection.sendall(sys.argv[2].encode() + b"\\n" if line[:1].isalpha() else b"done\\n")
"""


def offering(digit: int) -> tuple[str, str]:
    return "--target", f"{shlex.join([sys.executable, '-SEc', SERVER])} {{port}} {digit}"


@pytest.fixture
def kept(palaver: Any) -> str:
    palaver.write(spec_fan=SPEC)
    talked = palaver("talk", "spec.fan", *offering(9), "--seed", "1", "-n", "2", "--run", "kept")
    assert "finding 1 in session 1, no valid message" in talked.text
    return "kept"


def test_it_is_reproduced_and_made_small(palaver: Any, kept: str) -> None:
    assert palaver("replay", kept, "1", "-n", "2").text.endswith("reproduced 2 of 2\n")
    assert "reproduced 3 of 3" in palaver("shrink", kept, "1").text
    assert palaver("replay", kept, "1", *offering(3)).text.endswith("not the same: no finding\nreproduced 0 of 1\n")


def test_the_next_run_tells_if_it_is_still_there(palaver: Any, kept: str) -> None:
    how = ("--again", kept, "--seed", "2", "-n", "2", "--no-run")
    told = "finding 1 in session 1, no valid message"
    assert f"still there: {told}" in palaver("talk", "spec.fan", *offering(9), *how).text
    assert f"fixed: {told}" in palaver("talk", "spec.fan", *offering(3), *how).text


def test_it_is_no_mere_note_where_other_sessions_go_on(palaver: Any) -> None:
    palaver.write(spec_fan=SPEC)
    talked = palaver("talk", "spec.fan", *offering(9), "--seed", "1", "-n", "8", "-j", "4", "--no-run")
    assert "8 findings (no valid message: 8)" in talked.summary
