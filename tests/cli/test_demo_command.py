"""`palaver demo`: what it shows, and that it is content only with all of it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pictures import shortened, shown_terminal

from palaver.reporting.planted_defects import PLANTED
from palaver.transport.registry import is_listening

DEMO = "palaver.cli.commands.demo"


@dataclass(frozen=True)
class Demo:
    """A demo that was shown, and the folder in which it was."""

    folder: Path
    code: int
    text: str


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "palaver", "demo"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    return Demo(folder, done.returncode, done.stdout)


def test_all_is_covered_and_all_that_was_planted_is_found(shown: Demo) -> None:
    assert shown.code == 0, shown.text
    covered = re.search(r"covered (\d+) of (\d+) 5-paths", shown.text)
    assert covered
    assert covered[1] == covered[2]
    assert f"found {len(PLANTED)} of {len(PLANTED)} planted defects" in shown.text
    for planted in PLANTED:
        assert planted.description in shown.text
    # The conversation in which RSET did not help, shortly.
    assert re.search(r"Client: 'RSET\\r\\n'\n +Server: '250 .*\n +Client: 'MAIL .*\n +Server: '503 ", shown.text)


def test_the_commands_to_try_next_work(palaver: Any, shown: Demo) -> None:
    palaver.folder = shown.folder
    commands = re.findall(r"^  palaver (.*?)(?:   .*)?$", shown.text, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert palaver(*shlex.split(command)).code == 0


def test_it_ends_with_the_shortest_conversation_its_report_and_how_to_replay_it(palaver: Any, shown: Demo) -> None:
    palaver.folder = shown.folder
    small = shown.text.partition("The shortest conversation that shows finding ")[2]
    said = re.findall(r"^   +[\d.]+  Client: '(\w+)", small, re.MULTILINE)
    assert said[-3:] == ["MAIL", "RSET", "MAIL"]
    assert len(said) <= 8
    report = re.search(r"The report of all this: (.*)", shown.text)
    assert report is not None
    assert "<!doctype html>" in (palaver.folder / report[1]).read_text()
    again = re.search(r"This finding once more: palaver (.*)", shown.text)
    assert again is not None
    replayed = palaver(*shlex.split(again[1]))
    assert (replayed.code, "reproduced 1 of 1" in replayed.text) == (1, True)


def without_times(text: str) -> str:
    reason = re.sub(r"(?<=reproduced 3 of 3; ).*", "why it ended", text)  # on a busy machine its time is over sooner
    return re.sub(r"\d{8}-\d{6}|\d+\.\d s", "0", reason)


def test_readme_shows_the_terminal_as_it_is(shown: Demo) -> None:
    assert without_times(shown_terminal()) == without_times(shortened(shown.text))


def test_the_server_is_gone_afterwards(shown: Demo) -> None:
    port = re.search(r"palaver\.demo\.server (\d+)", shown.text)
    assert port
    assert not is_listening("tcp", int(port[1]))


def test_with_too_little_time_it_says_what_is_missing(palaver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{DEMO}.SESSIONS", 1)
    shown = palaver("demo")
    assert shown.code == 1
    assert f"found 0 of {len(PLANTED)} planted defects" in shown.text
    assert shown.text.count("not found") == len(PLANTED)


def test_what_nobody_has_planted_is_no_success(palaver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "palaver.reporting.planted_defects.PLANTED", tuple(replace(each, answers=()) for each in PLANTED)
    )
    shown = palaver("demo")
    assert shown.code == 1
    assert "not explained by a planted defect: finding " in shown.text


def test_nothing_but_the_few_words_it_needs(palaver: Any) -> None:
    assert palaver("demo", "more").code == 2
