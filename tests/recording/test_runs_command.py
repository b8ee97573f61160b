"""`palaver runs` lists the runs that were kept, and removes those that it is told to, and no others."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

import pytest

import palaver as palaver_
from palaver.recording.run_writer import record

ECHO = """
<start> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\\n"
<answer> ::= <word> "\\n"
<word> ::= r"[a-z]{1,8}"
where <ask>.<word> == <answer>.<word>
"""
WRONG = ("tr", "-u", "a-z", "-")


@pytest.fixture
def talk(palaver: Any) -> Any:
    palaver.write(echo_fan=ECHO)

    def talked(*arguments: str, program: tuple[str, ...] = ("cat",)) -> Any:
        return palaver("talk", "echo.fan", "--seed", "1", *arguments, *program)

    return talked


def test_runs_are_listed_and_pruned(palaver: Any, talk: Any) -> None:
    for name, program in (("a", ("cat",)), ("b", WRONG), ("c", ("cat",))):
        talk("--run", f"all/{name}", "-n", "1", program=program)
    listed = palaver("runs", "--in", "all").text.splitlines()
    assert [line.split(":")[0] for line in listed] == ["a", "b", "c"]
    assert ", 1 finding, " in listed[1]
    would = palaver("runs", "--in", "all", "prune", "--without-findings", "--keep-last", "1", "--dry-run").text
    assert would == "would remove all/a\n"
    assert palaver("runs", "--in", "all", "prune", "--without-findings").text == "removed all/a\nremoved all/c\n"
    assert os.listdir(palaver.folder / "all") == ["b"]
    assert palaver("runs", "--in", "all", "prune").code == 2
    assert palaver("runs", "prune", "--in", "all", "--keep-last", "0").text == "removed all/b\n"


def test_runs_that_are_looked_for_where_no_folder_is_are_wrong_use(
    palaver: Any, talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    palaver.write(file_txt="")
    for place in ("nowhere", "file.txt"):
        for arguments in (("--in", place), ("--in", place, "prune", "--keep-last", "0")):
            listed = palaver("runs", *arguments)
            assert (listed.code, listed.text, f"'{place}' " in listed.said) == (2, "", True)
    monkeypatch.setenv("PALAVER_RUNS", "file.txt")
    assert palaver("runs").said.endswith("Error: cannot read file.txt: Not a directory\n")
    assert palaver("runs").code == 2
    monkeypatch.setenv("PALAVER_RUNS", "later")  # the first run makes it
    assert (palaver("runs").code, palaver("runs").said) == (0, "there are no runs in later\n")


def test_a_run_that_cannot_be_read_is_not_taken_for_one_without_findings(palaver: Any, talk: Any) -> None:
    for name in ("first", "other"):
        talk("--run", f"all/{name}", "-n", "1")
    with sqlite3.connect(palaver.folder / "all" / "first" / "run.sqlite") as file:
        file.execute("UPDATE run SET value = '99' WHERE name = 'schema'")
    pruned = palaver("runs", "prune", "--in", "all", "--without-findings")
    assert (pruned.code, pruned.text) == (2, "removed all/other\n")
    assert "first/run.sqlite has version 99 of the tables" in pruned.said
    assert os.listdir(palaver.folder / "all") == ["first"]
    assert palaver("runs", "prune", "--in", "all", "--keep-last", "0").code == 0


def test_a_run_that_is_still_written_is_not_pruned(palaver: Any) -> None:
    campaign = palaver_.talk(palaver_.loads(ECHO), program=["cat"], sessions=1)
    record(campaign, palaver.folder / "all" / "now", {})
    with campaign:
        for given in ([], ["--dry-run"]):
            pruned = palaver("runs", "prune", "--in", "all", "--keep-last", "0", *given)
            assert (pruned.code, pruned.text) == (0, "kept all/now, which is still written\n")
        assert (palaver.folder / "all" / "now" / "run.sqlite").exists()


def test_a_campaign_that_is_closed_before_it_began_leaves_no_run(palaver: Any) -> None:
    for _ in range(2):  # nor the lock of one
        campaign = palaver_.talk(palaver_.loads(ECHO), program=["cat"], sessions=1)
        record(campaign, palaver.folder / "all" / "now", {})
        campaign.close()
        assert not (palaver.folder / "all" / "now").exists()


def test_runs_that_nobody_may_read_are_told(palaver: Any, talk: Any) -> None:
    for name in ("secret", "plain"):
        talk("--run", f"all/{name}", "-n", "1")
    secret = palaver.folder / "all" / "secret"
    secret.chmod(0)
    refusal = "cannot read the run all/secret: Permission denied\n"
    try:
        listed = palaver.without_rights("runs", "--in", "all")
        assert (listed.code, f"secret: {refusal}" in listed.text) == (0, True)
        assert "plain: 1 session" in listed.text
        shown = palaver.without_rights("show", "all/secret")
        assert (shown.code, shown.said.endswith(f"Error: {refusal}")) == (2, True)
        pruned = palaver.without_rights("runs", "prune", "--in", "all", "--without-findings")
        assert (pruned.code, pruned.text, pruned.said) == (2, "removed all/plain\n", f"palaver: {refusal}")
        secret.chmod(0o755)
        secret.parent.chmod(0o555)
        pruned = palaver.without_rights("runs", "prune", "--in", "all", "--keep-last", "0")
        assert (pruned.code, pruned.text) == (2, "")
        assert pruned.said == "palaver: cannot remove the run all/secret: Permission denied\n"
    finally:
        secret.parent.chmod(0o755)


def test_the_newest_run_stays_whatever_its_name(palaver: Any, talk: Any) -> None:
    for day, name in enumerate(("newest", "middle", "alone"), 1):
        talk("-n", "1", "--run", f"mine/{name}")
        with sqlite3.connect(palaver.folder / "mine" / name / "run.sqlite") as file:
            file.execute("UPDATE run SET value = ? WHERE name = 'started'", (f"2026-01-{31 - day}T00:00:00+00:00",))
    assert [line.split(":")[0] for line in palaver("runs", "--in", "mine").text.splitlines()] == [
        "alone",
        "middle",
        "newest",
    ]
    assert "removed mine/middle" in palaver("runs", "prune", "--in", "mine", "--keep-last", "1").text
    assert [folder.name for folder in (palaver.folder / "mine").iterdir()] == ["newest"]
