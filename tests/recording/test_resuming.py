"""A run that was killed is whole up to its last session, and a resumed run goes on where it was."""

from __future__ import annotations

import multiprocessing
import os
import random
import shlex
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_
from amounts import few
from palaver.campaign.events import SessionEnded
from palaver.recording.run_writer import record
from palaver.replaying.resuming import resumed_campaign, resumed_options

ECHO = """
<start> ::= <exchange>{3}
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\\n"
<answer> ::= <word> "\\n"
<word> ::= r"[a-z]{1,8}"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""
SERVER = shlex.join([sys.executable, "-m", "palaver.demo.server", "{port}"])


def sessions_in(file: Path) -> int:
    """How many sessions there are, as another program sees it."""
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as reading:
            return int(reading.execute("SELECT count(*) FROM sessions").fetchone()[0])
    except sqlite3.OperationalError:  # it is just being made
        return 0


@pytest.mark.timeout(240)
@pytest.mark.parametrize("moment", few([random.Random(at).uniform(0, 6) for at in range(2)]))
def test_a_run_that_is_killed_is_whole_and_goes_on(palaver: Any, moment: float) -> None:
    palaver.write(echo_fan=ECHO)
    kept = palaver.folder / "kept"
    arguments = ("talk", "echo.fan", "--unguided", "-n", "12", "--seed", "1", "--run", "kept", "cat")
    with palaver.start(*arguments, stdout=-3, stderr=-3) as process:
        while process.poll() is None and sessions_in(kept / "run.sqlite") < moment:
            os.sched_yield()
        process.kill()
    with palaver_.open_run(kept) as run:
        before = run.sessions
        assert len(before) >= moment
        assert [session.number for session in before] == list(range(1, len(before) + 1))
        assert all(len(run.messages(each.number)) == each.sent + each.received == 6 for each in before)
        assert run.ending in ("killed before it ended", "reached the limit of 12 sessions (-n 12)")
    resumed = palaver("talk", "--resume", "kept", "-n", "14")
    assert resumed.code == 0
    assert resumed.summary.startswith("14 sessions, 42 messages sent, 42 received")
    with palaver_.open_run(kept) as run:
        assert [session.number for session in run.sessions] == list(range(1, 15))
        assert run.ending == "reached the limit of 14 sessions (-n 14)"
        assert len({run.messages(each.number)[0].data for each in run.sessions}) > 10  # and not the same again


def talk_for_ever(spec: Path, folder: Path) -> None:
    """Hold sessions with an echo, and keep them, until somebody ends this process."""
    with palaver_.talk(spec, program=["cat"], seed=1, sessions=100_000, guided=False) as campaign:
        record(campaign, folder, {"program": ["cat"], "sessions": 100_000, "guided": False})
        campaign.run()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_finished_session_is_missing_at_whatever_moment_a_run_is_killed(tmp_path: Path) -> None:
    chance, processes = random.Random(1), multiprocessing.get_context("fork")
    (tmp_path / "echo.fan").write_text(ECHO)
    for number in range(50):
        kept, moment, later = tmp_path / str(number), chance.randrange(30), chance.uniform(0, 0.02)
        process = processes.Process(target=talk_for_ever, args=(tmp_path / "echo.fan", kept))
        process.start()
        while sessions_in(kept / "run.sqlite") < moment:
            assert process.is_alive()
        seen, until = sessions_in(kept / "run.sqlite"), time.monotonic() + later
        while time.monotonic() < until:
            seen = max(seen, sessions_in(kept / "run.sqlite"))
        process.kill()
        process.join()
        if not (kept / "run.sqlite").exists():  # it was about to be made
            assert moment == seen == 0
            continue
        with palaver_.open_run(kept) as run:
            before = run.sessions
            assert run.ending == "killed before it ended"
            assert len(before) >= seen
            assert [session.number for session in before] == list(range(1, len(before) + 1))
            assert all(len(run.messages(each.number)) == each.sent + each.received == 6 for each in before)
            if not run.fact("seed"):  # the run itself had not begun
                continue
            options = resumed_options(run, {"sessions": len(before) + 2})
            with resumed_campaign(run, options) as again:
                record(again, kept, options, resumes=True)
                again.run()
        with palaver_.open_run(kept) as run:
            assert [session.number for session in run.sessions] == list(range(1, len(before) + 3))


@pytest.mark.timeout(240)
def test_a_resumed_run_knows_what_was_covered(tmp_path: Path) -> None:
    options: dict[str, Any] = {"target": SERVER, "seed": 1, "sessions": 8}
    with palaver_.talk("smtp", **options) as first:
        record(first, tmp_path / "run", options)
        first.run()
    covered = first.coverage.covered
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as file:  # as if it had been killed before the last snapshot
        file.execute("DELETE FROM state")
    with (
        palaver_.open_run(tmp_path / "run") as run,
        resumed_campaign(run, resumed_options(run, {"sessions": 20})) as again,
    ):
        assert again.coverage.covered == covered
        again.run()
    assert again.coverage.covered > covered


def test_a_resumed_run_knows_refusals_plans_and_known_findings(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text('[[known]]\nreason = "ticket 7"\nkind = "unexpected response"\n')
    (tmp_path / "echo.fan").write_text(ECHO)
    wrong = ["sed", "-u", "s/[m-p]/-/"]
    options: dict[str, Any] = {"program": wrong, "seed": 1, "sessions": 6, "known": str(tmp_path / "known.toml")}
    with palaver_.talk(tmp_path / "echo.fan", **options) as first:
        record(first, tmp_path / "run", options)
        first.run()
    assert first.known_findings
    before = first.guidance.as_data()
    with (
        palaver_.open_run(tmp_path / "run") as run,
        resumed_campaign(run, resumed_options(run, {"sessions": 16})) as again,
    ):
        assert again.guidance.as_data() == before
        again.run()
        assert [finding.number for finding in again.known_findings] == list(
            range(len(first.known_findings) + 1, len(first.known_findings) + len(again.known_findings) + 1)
        )
        assert again.known_findings
        assert not again.findings


def test_a_run_that_keeps_only_findings_knows_what_was_covered_when_it_is_killed(tmp_path: Path) -> None:
    options: dict[str, Any] = {"target": SERVER, "seed": 1, "sessions": 6}
    with palaver_.talk("smtp", **options) as first:
        writer = record(first, tmp_path / "run", options, keep="findings")
        covered = []
        for event in first:
            if isinstance(event, SessionEnded) and event.session == 2:
                writer._snapshot_at = inf  # the one after the first session is the last
            if isinstance(event, SessionEnded) and event.session == 5:
                shutil.copytree(tmp_path / "run", tmp_path / "killed")  # what `kill -9` would leave
                covered.append(first.coverage.covered)
    with (
        palaver_.open_run(tmp_path / "killed") as run,
        resumed_campaign(run, resumed_options(run, {"sessions": 20})) as again,
    ):
        assert [again.coverage.covered] == covered
    with palaver_.open_run(tmp_path / "run") as run:
        assert not any(each.has_details or run.messages(each.number) for each in run.sessions)


def test_findings_of_a_resumed_run_get_the_next_numbers(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    palaver("talk", "echo.fan", "-n", "2", "--seed", "1", "--run", "kept", "sed", "-u", "s/[m-p]/-/")
    resumed = palaver("talk", "--resume", "kept", "-n", "4")
    assert resumed.code == 1
    with palaver_.open_run(palaver.folder / "kept") as run:
        assert [(finding.number, finding.session) for finding in run.findings] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert "finding 3 in session 3, " in resumed.text


def test_a_run_with_enough_sessions_is_not_resumed(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    palaver("talk", "echo.fan", "-n", "2", "--seed", "1", "--run", "kept", "cat")
    resumed = palaver("talk", "--resume", "kept")
    assert resumed.code == 2
    assert "has 2 sessions already; give a larger -n" in resumed.said


def test_a_run_in_a_folder_that_is_only_read_can_be_looked_at_and_goes_on_when_it_can_be_written(
    palaver: Any,
) -> None:
    palaver.write(echo_fan=ECHO)
    palaver("talk", "echo.fan", "-n", "2", "--seed", "1", "--run", "kept", "sed", "-u", "s/[m-p]/-/")
    kept = palaver.folder / "kept"
    for file in (*kept.iterdir(), kept):
        file.chmod(0o555 if file.is_dir() else 0o444)
    try:
        command = palaver.without_rights
        assert command("show", "kept", "1").text.startswith("finding 1 in session 1, ")
        assert command("replay", "kept", "1").text.endswith("reproduced 1 of 1\n")
        resumed = command("talk", "--resume", "kept", "-n", "3")
        told = "cannot write the run kept: Permission denied; go on with a copy of it"
        assert (resumed.code, told in resumed.said) == (2, True)
        shrunk = command("shrink", "kept", "1")
        assert (shrunk.code, "cannot write the run kept: " in shrunk.said) == (2, True)
        inside = command("talk", "echo.fan", "--run", "kept/other", "cat")
        assert (inside.code, inside.text) == (2, "")
        assert "cannot write the run kept/other: Permission denied" in inside.said
    finally:
        for file in (kept, *kept.iterdir()):
            file.chmod(0o755 if file.is_dir() else 0o644)
    assert palaver("talk", "--resume", "kept", "-n", "3").code == 1
    with palaver_.open_run(kept) as run:
        assert [session.number for session in run.sessions] == [1, 2, 3]


def test_a_run_of_another_spec_is_not_resumed(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO, other_fan='<start> ::= <In:a> <Out:b>\n<a> ::= "1\\n"\n<b> ::= "1\\n"\n')
    palaver("talk", "echo.fan", "-n", "2", "--seed", "1", "--run", "kept", "cat")
    resumed = palaver("talk", "-f", "other.fan", "--resume", "kept", "-n", "3")
    assert resumed.code == 2
    assert "the run kept cannot be resumed: this is the coverage of another spec" in resumed.said


# Whoever has said something three times is known, and greeted.
REMEMBERS = """\
<start> ::= <talk>{1,6}
<talk> ::= <In:ask> (<Out:no> | <Out:yes>)
<ask> ::= "ask " <name> "\\n"
<name> ::= r"[a-z]{6}"
<no> ::= "no\\n"
<yes> ::= "yes\\n"
"""
GREETS = """\
import sys
asked = []
for line in sys.stdin:
    asked.append(line)
    print("yes" if asked.count(line) > 2 else "no", flush=True)
"""


@pytest.mark.parametrize("source", ["kept", "covered.json"])
def test_a_run_begins_with_what_another_has_learnt_but_not_with_what_it_has_covered(palaver: Any, source: str) -> None:
    palaver.write(asks_fan=REMEMBERS, echo_fan=ECHO)
    peer = (sys.executable, "-c", GREETS)
    first = ("-n", "4", "--seed", "1", "--run", "kept", "--coverage-file", "covered.json")
    assert palaver("talk", "asks.fan", *first, *peer).code == 0
    second = palaver("talk", "asks.fan", "-n", "1", "--seed", "2", "-v", "--learn-from", source, *peer)
    assert second.code == 0
    assert "of an earlier session" in second.text
    assert second.summary.startswith("1 session, ")
    other = palaver("talk", "echo.fan", "-n", "1", "--learn-from", source, "cat")
    assert (other.code, "this is the coverage of another spec" in other.said) == (2, True)


def test_a_run_that_is_resumed_learns_from_no_other(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    palaver("talk", "echo.fan", "-n", "2", "--seed", "1", "--run", "kept", "cat")
    resumed = palaver("talk", "--resume", "kept", "-n", "3", "--learn-from", "kept")
    assert (resumed.code, "--learn-from is for a run that begins" in resumed.said) == (2, True)
    nothing = palaver("talk", "echo.fan", "-n", "1", "--learn-from", "no-such-run", "cat")
    assert (nothing.code, "no-such-run" in nothing.said) == (2, True)


def test_findings_are_made_small_when_the_run_is_over(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    talked = palaver(
        "talk", "echo.fan", "-n", "2", "--seed", "1", "--shrink", "--run", "kept", "sed", "-u", "s/[m-p]/-/"
    )
    assert talked.code == 1
    assert "finding 1 made small, 1 message: " in talked.text
    with palaver_.open_run(palaver.folder / "kept") as run:
        assert run.shrinking(1) is not None
