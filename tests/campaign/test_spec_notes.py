"""What a spec only notes is told once, and fails nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.recording.run_writer import record
from palaver.replaying.live_replay import LiveTarget, recorded_script, replay_live
from palaver.session.findings import Severity, Verdict

SPEC = """
<start> ::= <In:ask> (<Out:answer> | <sulking>)
<ask> ::= "?\\n"
<answer> ::= <word> "\\n" | <shouted>
<word> ::= r"[a-z]+"

# [note] manual (3): the program shouts
<shouted> ::= r"[A-Z]+\\n"

# [note] manual (4): the program sulks
<sulking> ::= <Out:dots>
<dots> ::= "...\\n"

# [note] manual (5): answers should be short
where len(str(<word>)) < 9
"""


def talked(answer: str, sessions: int = 3) -> Any:
    program = [sys.executable, "-S", "-c", f"input(); print({answer!r})"]
    campaign = palaver.talk(palaver.loads(SPEC), program=program, sessions=sessions, seed=1)
    campaign.run()
    return campaign


@pytest.mark.parametrize(
    "answer, note",
    [
        ("YES", "manual (3): the program shouts"),
        ("...", "manual (4): the program sulks"),
        ("certainly", "manual (5): answers should be short"),
    ],
)
def test_what_matches_a_note_is_told_once_and_fails_nothing(answer: str, note: str) -> None:
    campaign = talked(answer)
    assert campaign.verdict is Verdict.PASS
    assert {finding.severity for finding in campaign.findings} == {Severity.NOTE}
    assert len({finding.fingerprint for finding in campaign.findings}) == 1
    assert note in campaign.findings[0].message


def test_nothing_is_told_of_a_peer_that_does_what_is_expected() -> None:
    assert talked("yes").findings == []


def test_what_is_neither_expected_nor_noted_still_fails() -> None:
    assert talked("?!", sessions=1).verdict is Verdict.FAIL


def test_paths_through_notes_are_no_goal() -> None:
    without = palaver.loads(SPEC.replace("| <sulking>", "").replace("| <shouted>", ""))
    paths = [palaver.talk(spec, program=["true"]).coverage.total for spec in (palaver.loads(SPEC), without)]
    assert paths[0] == paths[1]
    expected, shouted = talked("yes").coverage, talked("YES").coverage
    assert expected.covered == expected.total
    assert shouted.covered < shouted.total


def test_a_note_is_told_again_in_each_session_that_repeats_it(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "program": [sys.executable, "-S", "-c", "input(); print('HELLO')"],
        "seed": 1,
        "sessions": 1,
    }
    with palaver.talk(palaver.loads(SPEC), **options) as campaign:
        record(campaign, tmp_path / "run", options)
        campaign.run()
    with palaver.open_run(tmp_path / "run") as run:
        (note,) = run.findings
        attempts = replay_live(LiveTarget(run, note), recorded_script(run, note), 3)
    assert [each.is_reproduced for each in attempts] == [True] * 3
