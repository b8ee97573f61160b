"""A recorded session goes the same way again, byte for byte; with another spec, it is told where it does not."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_
from amounts import few
from palaver.recording.run_writer import record
from palaver.replaying.live_replay import LiveTarget
from palaver.replaying.offline_replay import replay_offline
from palaver.session.findings import FindingKind

sys.path.insert(0, str(Path(__file__).parent.parent / "navigation"))
from guided import campaign

ECHO = """
<start> ::= <exchange>{3}
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\\n"
<answer> ::= <word> "\\n"
<word> ::= r"[a-z]{1,8}"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""
# The peer may speak at any time, and messages cross.
CHATTY = """
<start> ::= <step>{4,9} <Client:bye>
<step> ::= <Client:ask> <Server:answer> | <Server:news> | <Client:tick>
<ask> ::= "ask " <number> "\\n"
<answer> ::= "got " <number> "\\n"
<news> ::= "news " r"[a-z]{3}" "\\n"
<tick> ::= "tick\\n"
<bye> ::= "bye\\n"
<number> ::= <digit>{1,3}
where forall <s> in <step>: <s>.<ask>.<number> == <s>.<answer>.<number>
"""


def kept(folder: Path, program: list[str], **options: Any) -> palaver_.Run:
    """A run of the echo spec with a program, and its findings."""
    (folder / "echo.fan").write_text(ECHO)
    given: dict[str, Any] = {"program": program, "seed": 1, "sessions": 4, **options}
    with palaver_.talk(folder / "echo.fan", **given) as running:
        record(running, folder / "run", given)
        running.run()
    return palaver_.open_run(folder / "run")


def test_a_live_replay_knows_what_the_session_knew_unless_the_spec_has_changed(tmp_path: Path) -> None:
    run = kept(tmp_path, ["sed", "-u", "s/[m-p]/-/"])
    known = run.recoveries_before(run.findings[-1].session)
    assert known is not None
    assert known["held"]
    same = LiveTarget(run, run.findings[-1])
    assert json.loads(json.dumps(same.campaign.setup.recoveries.as_data())) == known
    other = LiveTarget(run, run.findings[-1], palaver_.loads(ECHO.replace("{1,8}", "{1,9}")))
    assert not other.campaign.setup.recoveries.as_data()["held"]
    for target in (same, other):
        target.campaign.close()


def test_the_recorded_inputs_give_the_recorded_actions_and_finding(tmp_path: Path) -> None:
    run = kept(tmp_path, ["sed", "-u", "s/[m-p]/-/"])
    assert len(run.findings) >= 2
    for finding in run.findings:
        result = replay_offline(run, finding)
        assert (result.parting, result.is_found) == ("", True)
        assert result.actions >= 3
        assert result.finding is not None
        assert result.finding.message == finding.message


def test_silences_and_crashes_are_replayed_without_waiting(tmp_path: Path) -> None:
    code = "import os, sys; sys.stdin.readline(); os.abort()"
    run = kept(tmp_path, [sys.executable, "-c", code])
    assert replay_offline(run, run.findings[0]).is_found
    (tmp_path / "silent").mkdir()
    run = kept(tmp_path / "silent", ["sleep", "60"], timeout=0.05, sessions=1)
    assert run.findings[0].kind is FindingKind.SILENCE
    assert replay_offline(run, run.findings[0]).is_found


@pytest.mark.parametrize("seed", few(range(6), 2))
def test_whatever_was_said_in_whatever_order_is_said_again(tmp_path: Path, seed: int) -> None:
    wrong = CHATTY.replace('"got " <number>', '"got " r"[0-4]{1,3}"').split("where")[0]
    world = campaign(CHATTY, seed, other=wrong)
    record(world, tmp_path / "run", {"client": ["2525"]})
    world.run()
    run = palaver_.open_run(tmp_path / "run")
    assert run.findings
    for finding in run.findings[:20]:
        result = replay_offline(run, finding)
        assert (result.parting, result.is_found) == ("", True)


def test_a_changed_spec_tells_whether_it_would_still_be_a_finding(tmp_path: Path) -> None:
    run = kept(tmp_path, ["sed", "-u", "s/[m-p]/-/"])
    finding = run.findings[0]
    tolerant = palaver_.loads(ECHO.replace("[a-z]", "[-a-z]").partition("where")[0])
    result = replay_offline(run, finding, tolerant)
    assert (result.is_found, result.finding) == (False, None)
    stricter = palaver_.loads(ECHO.replace("[a-z]", "[-a-z]"))
    result = replay_offline(run, finding, stricter)
    assert not result.is_found
    assert result.finding is not None
    assert result.finding.kind is FindingKind.CONSTRAINT


def test_the_place_is_told_where_a_changed_spec_parts_from_the_record(tmp_path: Path) -> None:
    run = kept(tmp_path, ["sed", "-u", "s/[m-p]/-/"])
    short = palaver_.loads(ECHO.replace("{1,8}", "{1,2}"))
    result = replay_offline(run, run.findings[0], short)
    assert result.parting.startswith("after 0 messages of ours: <ask> ('ukbcbxzt\\n') cannot be sent now")
    other = palaver_.loads(ECHO.replace("{3}", "{1}"))
    assert "after 1 message of ours: " in replay_offline(run, run.findings[0], other).parting


def test_a_session_that_was_not_kept_is_told(tmp_path: Path) -> None:
    run = kept(tmp_path, ["sed", "-u", "s/[m-p]/-/"])
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as file:
        file.execute("UPDATE sessions SET has_details = 0")
    with pytest.raises(palaver_.RunError, match="session 1 was not kept"):
        replay_offline(run, run.findings[0])


def test_the_command_says_which_it_is(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO, more_fan=ECHO.replace("[a-z]", "[-a-z]").partition("where")[0])
    palaver("talk", "echo.fan", "--seed", "1", "-n", "1", "--run", "kept", "sed", "-u", "s/[m-p]/-/")
    same = palaver("replay", "kept", "1", "--offline")
    assert (same.code, same.text.splitlines()[1]) == (
        1,
        "replayed offline: the same finding, and the same 5 actions before it",
    )
    other = palaver("replay", "kept", "1", "--offline", "-f", "more.fan")
    assert (other.code, other.text.splitlines()[-1]) == (0, "now: no finding")
    assert palaver("replay", "kept", "9").code == 2


# Its client asks by a way of its own: here it is a file, but it may be a library with connections.
OWN_WAY = """
<start> ::= <exchange>{3}
<exchange> ::= <Client:Server:ask> <Server:Client:answer>
<ask> ::= "ask " <digit> "\\n"
<answer> ::= "well " <digit> "\\n"
where forall <e> in <exchange>: <e>.<ask>.<digit> == <e>.<answer>.<digit>

class Client(FandangoParty):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.CONNECT)

    def send(self, message, recipient):
        with open(FILE, "a") as file:
            file.write(str(message))
        if "7" in str(message):
            raise TimeoutError("no answer")
        self.receive(str(message).replace("ask", "well").replace("3", "4"), "Server")

class Server(FandangoParty):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
"""


def test_a_party_that_goes_its_own_way_is_not_sent_there_again(tmp_path: Path) -> None:
    file = tmp_path / "asked"
    (tmp_path / "own.fan").write_text(f"FILE = {str(file)!r}\n{OWN_WAY}")
    with palaver_.talk(tmp_path / "own.fan", seed=1, sessions=20) as running:
        record(running, tmp_path / "run", {"sessions": 20})
        running.run()
    asked = file.read_text()
    run = palaver_.open_run(tmp_path / "run")
    assert {finding.kind for finding in run.findings} == {FindingKind.CONSTRAINT, FindingKind.SILENCE}
    for finding in run.findings:
        result = replay_offline(run, finding)
        assert (result.parting, result.is_found) == ("", True)
    assert file.read_text() == asked


# Wherever the topic ends, the rest may be the text: only the size tells.
NOTES = """
<start> ::= <exchange>{2}
<exchange> ::= <In:note> <Out:answer>
<note> ::= <size> ":" <topic> <text> "\\n"
<size> ::= r"[0-9]+"
<topic> ::= r"[a-z]{1,90}" := random.choice(["ab", "abcde"])
<text> ::= r"[a-z]*" := "hello" * 30
<answer> ::= "yes\\n"
import random
where forall <n> in <note>: int(<n>.<size>) == len(str(<n>.<topic>))
"""


def test_a_message_with_many_derivations_is_said_again_by_the_right_one(tmp_path: Path) -> None:
    options: dict[str, Any] = {"program": ["sed", "-u", "s/.*/no/"], "seed": 1, "sessions": 2}
    with palaver_.talk(palaver_.loads(NOTES), **options) as running:
        record(running, tmp_path / "run", options)
        running.run()
    with palaver_.open_run(tmp_path / "run") as run:
        assert run.findings
        for finding in run.findings:
            replayed = replay_offline(run, finding)
            assert replayed.is_found, replayed.parting
