"""What takes time tells how far it has come, on a terminal and nowhere else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from typing import Any

import pytest

SPEC = """
<start> ::= <exchange>{3}
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= r"[a-z]{4}" "\\n"
<answer> ::= r"[a-z]{4}" "\\n"
"""


@pytest.fixture
def kept(palaver: Any) -> str:
    palaver.write(spec_fan=SPEC)
    talked = palaver("talk", "spec.fan", "-n", "3", "--seed", "1", "--run", "kept", "sed", "-u", "s/[a-m]/-/")
    assert talked.code == 1
    return "kept"


def seen(palaver: Any, *arguments: str) -> tuple[bytes, bytes]:
    """What a command writes to its output, and to a terminal."""
    ours, theirs = pty.openpty()
    with palaver.start(*arguments, stdout=subprocess.PIPE, stderr=theirs) as running:
        os.close(theirs)
        screen = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
        return running.stdout.read(), screen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""  # Linux reports the other side's end so


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("replay", "-n", "3"), rb"\rreproduced 2 of 2, 1 to go "),
        (("shrink",), rb"\r[a-z ]+: \d+ sessions, \d+ messages?, \d+ bytes? of ours "),
    ],
)
def test_progress_is_told_on_a_terminal_and_leaves_nothing_behind(
    palaver: Any, kept: str, command: tuple[str, ...], told: bytes
) -> None:
    name, *options = command
    out, screen = seen(palaver, name, kept, "1", *options)
    assert re.search(told, screen)
    assert screen.endswith(b"\r" + b" " * 78 + b"\r")
    assert b"\r" not in out
    assert palaver(name, kept, "1", *options).said == ""
