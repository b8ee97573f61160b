"""Runs that reports are made of: real ones of small programs, and large ones by copies of their rows."""

from __future__ import annotations

import shlex
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import palaver
from palaver.recording.run_reader import Run, open_run
from palaver.recording.run_writer import record

SHOUT = r"""<start> ::= <exchange>{3}
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\n"
<answer> ::= <word> "\n"
<word> ::= r"[a-z]{1,8}"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""
# A program that answers as the spec says, one that breaks the constraint, and one that is not understood.
RIGHT = ("cat",)
WRONG_WORD = ("sed", "-u", "s/[m-p]/q/")
WRONG_BYTE = ("sed", "-u", "s/[m-p]/-/")
# One whose answers would be markup, script and control characters if they were believed.
HOSTILE_TEXT = r"<script>alert(1)</script>\x1b]0;x\x07</pre></style><img src=x onerror=alert(2)>{{7*7}}\xe2\x80\xae"
HOSTILE = ("sed", "-u", f"s|^|{HOSTILE_TEXT}|")

# A spec whose every text would be markup, and a server whose output and answers would be; it dies once.
HOSTILE_SPEC = r"""WORD = "hello"  # [parameter] a word
<start> ::= <Client:ask> <Server:answer>
<ask> ::= <word> "<script>alert('ours')</script>\n"
<answer> ::= r"[^\n]*\n"
# [set by WORD]
<word> ::= "hello"
def judge(text):
    raise ValueError("<script>alert('exception')</script>\x1b]0;x\x07\n::error file=theirs::\u202e" + text)
where str(<answer>) != "<script>alert('constraint')</script>"
where judge(str(<answer>))
"""
HOSTILE_SERVER = r"""import os, socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        with server.accept()[0] as client, client.makefile("rwb") as file:
            line = file.readline()
            print("<script>alert('output')</script></pre>\x1b]0;x\x07\n::error file=theirs::", flush=True)
            if not os.path.exists("died"):
                open("died", "w").close()
                os.abort()
            file.write(b"TEXT" + line)
""".replace("TEXT", HOSTILE_TEXT)


def hostile_everywhere(folder: Path) -> Run:
    """A run with markup in its spec, its output, its parameters, its command, and the names of its files."""
    place = folder / "<img src=x onerror=alert('folder')>" / "<b onclick=alert('run')>"
    place.parent.mkdir(parents=True)
    (folder / "server.py").write_text(HOSTILE_SERVER)
    known = folder / "known.toml"
    known.write_text('[[known]]\nkind = "crash"\nreason = "</p><script>alert(\'known\')</script>"\n')
    return run_of(
        place,
        None,
        spec=HOSTILE_SPEC,
        name="<svg onload=alert('file')>.fan",
        target=f"{shlex.quote(sys.executable)} server.py {{port}} '<script>alert(\"command\")</script>'",
        client=["{port}"],
        cwd=str(folder),
        sessions=4,
        known=known,
        parameters={"WORD": "<script>alert('parameter')</script>"},
    )


def run_of(
    folder: Path,
    program: tuple[str, ...] | None,
    *,
    sessions: int = 8,
    spec: str = SHOUT,
    name: str = "shout.fan",
    **options: Any,
) -> Run:
    """A run that was made just now, in a folder of its own; the spec stands beside it."""
    file = folder.parent / name
    file.write_text(spec)
    given: dict[str, Any] = {"program": program, "seed": 1, "sessions": sessions, **options}
    given = {name: value for name, value in given.items() if value is not None}
    campaign = palaver.talk(str(file), **given)
    record(campaign, folder, given)
    campaign.run()
    return open_run(folder)


def multiply(run: Run, times: int) -> Run:
    """The run with its sessions, messages and findings so many times."""
    with closing(sqlite3.connect(run.folder / "run.sqlite")) as file, file:
        count = file.execute("SELECT max(number) FROM sessions").fetchone()[0]
        most = file.execute("SELECT coalesce(max(number), 0) FROM findings").fetchone()[0]
        for number in range(1, times):
            for table, key in (("sessions", "number"), ("messages", "session")):
                names = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
                wanted = ", ".join(f"{key} + {number * count}" if name == key else f'"{name}"' for name in names)
                file.execute(f"INSERT INTO {table} SELECT {wanted} FROM {table} WHERE {key} <= {count}")
            names = [row[1] for row in file.execute("PRAGMA table_info(findings)")]
            changed = {
                "number": f"number + {number * most}",
                "session": f"session + {number * count}",
                "digest": f"digest || {number}",
            }
            wanted = ", ".join(changed.get(name, f'"{name}"') for name in names)
            file.execute(f"INSERT INTO findings SELECT {wanted} FROM findings WHERE number <= {most}")
    run.close()
    return open_run(run.folder)
