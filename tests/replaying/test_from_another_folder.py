"""A run is tried again from whatever folder: its files, and the folder of its target, are those of the run."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from servers.common import free_port, greets, started

SERVER = [sys.executable, "-S", str(Path(__file__).parent / "small_servers.py"), "raises"]
SPEC = """
<start> ::= <Server:hello> <exchange>{3} <Client:quit> <Server:bye>
<hello> ::= "hello\\n"
<exchange> ::= <Client:get> <Server:done>
<get> ::= "get " r"[a-c]" "\\n"
<done> ::= "ok\\n"
<quit> ::= "quit\\n"
<bye> ::= "bye\\n"
"""


@pytest.fixture
def run(palaver: Any) -> Path:
    """A run with a finding, by a target that is named from the folder inside; palaver is somewhere else now."""
    home = palaver.folder
    palaver.write(spec_fan=SPEC, start=f"exec {shlex.join(SERVER)} $1\n", known_toml="")
    for name in ("inside", "elsewhere"):
        (home / name).mkdir()
    target = ("--target", "sh ../start {port}", "--cwd", "inside", "--env", "WORD=x", "--known", "known.toml")
    assert palaver("talk", "spec.fan", "--seed", "1", "-n", "3", "--run", "kept", *target).code == 1
    palaver.folder = home / "elsewhere"
    return Path(home / "kept")


def test_a_run_is_replayed_made_small_and_resumed(palaver: Any, run: Path) -> None:
    assert "reproduced 1 of 1" in palaver("replay", str(run), "1").text
    assert "reproduced 3 of 3" in palaver("shrink", str(run), "1").text
    resumed = palaver("talk", "--resume", str(run), "-n", "4")
    assert (resumed.code, "stopped: reached the limit of 4 sessions" in resumed.text) == (1, True)
    assert "reproduced 1 of 1" in palaver("replay", str(run), "1").text


def test_a_target_without_a_folder_is_started_where_the_run_was_made(palaver: Any, run: Path) -> None:
    palaver.folder = run.parent
    how = ("--seed", "1", "-n", "3", "--run", "plain", "--target", "sh ./start {port}")
    assert palaver("talk", "spec.fan", *how).code == 1
    palaver.folder = run.parent / "elsewhere"
    assert "reproduced 1 of 1" in palaver("replay", "../plain", "1").text
    # Another target is named from here.
    shutil.copy(run.parent / "start", palaver.folder / "mine")
    assert "reproduced 1 of 1" in palaver("replay", "../plain", "1", "--target", "sh ./mine {port}").text


def test_a_run_from_another_machine_is_replayed_where_its_files_are(palaver: Any, run: Path) -> None:
    home = run.parent.rename(run.parent.with_name("moved"))
    palaver.folder = home
    assert "reproduced 1 of 1" in palaver("replay", "kept", "1").text


def test_where_the_target_was_started_means_nothing_to_one_that_runs(palaver: Any) -> None:
    palaver.write(spec_fan=SPEC)
    wrong, port = [*SERVER[:-1], "wrong"], free_port()
    surroundings = ("--target", f"{shlex.join(wrong)} {{port}}", "--cwd", ".", "--env", "WORD=x")
    assert palaver("talk", "spec.fan", "--seed", "1", "-n", "3", "--run", "kept", *surroundings).code == 1

    def is_there() -> bool:
        return greets(port, b"hello\n")

    with started([*wrong, str(port)], is_ready=is_there, log=palaver.folder / "log"):
        replayed = palaver("replay", "kept", "1", "--client", str(port))
    assert (replayed.code, "reproduced 1 of 1" in replayed.text) == (1, True), replayed.said
