"""What a run of conversations tells in the end: what was said, what was covered, why it ended, and what is missing."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palaver.campaign.run import Budget, Campaign, Until
from palaver.cli.main import FINDINGS, INTERRUPTED
from palaver.cli.tally import Tally
from palaver.navigation.goals import Goal, Goals
from palaver.navigation.kpaths import KPaths
from palaver.transport.memory import MemoryWorld
from palaver.transport.timed import LOOK_UP_EVERY, Timed

sys.path.insert(0, str(Path(__file__).parent.parent / "navigation"))
from guided import campaign, play

SPEC = """
<start> ::= <Client:ask> <Server:answer> <start> | <Client:bye>
<ask> ::= "ask " <what> "\\n"
<what> ::= "a" | "b"
<answer> ::= <yes> | <no>
<yes> ::= "yes\\n"
<no> ::= "no\\n"
<bye> ::= "bye\\n"
"""

# A server that knows fewer answers, and one that knows others.
STERN = SPEC.replace("<answer> ::= <yes> | <no>", "<answer> ::= <no>")
ODD = SPEC.replace('"yes\\n"', '"perhaps\\n"')

ECHO = """
<start> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\\n"
<answer> ::= <word> "\\n"
<word> ::= r"[a-z]{1,8}"
where <ask>.<word> == <answer>.<word>
"""


@pytest.fixture
def concluded(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[list[str], str, int]]:
    """What a run prints: lines of the summary, what is on standard error, and the exit code."""

    def conclude(run: Campaign, *, console: str = "none", **options: Any) -> tuple[list[str], str, int]:
        appear = run.on_session
        tally = Tally(run, console=console)
        watch = run.on_session
        run.on_session = lambda session: (appear(session), watch(session))[0]
        with tally:
            run.run()
        code = tally.conclude(**options)
        printed = capsys.readouterr()
        return printed.out.splitlines(), printed.err, code

    return conclude


# --- What was covered -------------------------------------------------------------------------------------------------


def test_there_is_a_line_for_each_goal_and_one_for_plain_views(concluded: Any) -> None:
    run = campaign(SPEC, 1, k=3)
    lines, _, code = concluded(run)
    goals = Goals(KPaths(play(SPEC).spec.grammar, 3), run.guidance.dialogue, ["Client"])
    inputs, states, everything = (goals.count(goal) for goal in Goal)
    progress = run.progress
    assert lines == [
        f"{progress.sessions} sessions, {progress.sent} messages sent, {progress.received} received, no findings",
        f"covered {inputs} of {inputs} 3-paths of inputs",
        f"covered {states} of {states} 3-paths of states",
        f"covered {everything} of {everything} 3-paths",
        "messages 3 of 3, states 3 of 3, transitions 3 of 3, alternatives 6 of 6",
        f"ended: goal reached after {progress.messages} messages in {progress.sessions} sessions: "
        f"all {everything} paths are covered",
    ]
    assert code == 0


@pytest.mark.parametrize("is_guided", [True, False])
def test_the_plain_views_count_what_was_said(is_guided: bool) -> None:
    run = campaign(SPEC, 3, Budget(Until.FOREVER, sessions=7), k=3, is_guided=is_guided)
    run.run()
    views = run.guidance.views
    assert sum(views.message_counts.values()) == run.progress.messages
    assert sum(views.transition_counts.values()) == run.progress.messages
    assert views.state_counts[views.states.states[-1]] > 0


def test_what_was_said_in_a_place_that_is_not_certain_yet_counts_there_once_it_is() -> None:
    spec = """
    <start> ::= <left> | <right>
    <left> ::= <Client:a> <Client:b>
    <right> ::= <Client:a> <Server:c>
    <a> ::= "a"
    <b> ::= "b"
    <c> ::= "c"
    """
    run = campaign(spec, 1, k=3)
    run.run()
    views = run.guidance.views
    summary = {name: (reached, total) for name, reached, total in views.summary()}
    assert summary["messages"] == (3, 3)
    assert summary["transitions"][0] == summary["transitions"][1]
    assert summary["alternatives"] == (2, 2)


def test_a_constraint_counts_that_had_something_to_say_also_if_it_binds_names(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO.replace("where ", "where forall <w> in <ask>.<word>: <w> == <answer>.<word>\nwhere "))
    talked = palaver("talk", "-f", "echo.fan", "-n", "1", "--seed", "1", "cat")
    assert talked.text.splitlines()[4].endswith(", constraints 2 of 2")


def test_the_views_are_kept_in_the_coverage_file_and_added_up(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    counts = []
    for _ in range(2):
        talked = palaver("talk", "-f", "echo.fan", "-n", "3", "--seed", "1", "--coverage-file", "c.json", "cat")
        assert talked.code == 0
        views = json.loads((palaver.folder / "c.json").read_text())["views"]
        counts.append(views["messages"])
    assert counts == [{"<In:ask>": 3, "<Out:answer>": 3}, {"<In:ask>": 6, "<Out:answer>": 6}]
    assert palaver("graph", "echo.fan", "--coverage-file", "c.json").code == 0


def test_a_coverage_file_of_an_earlier_version_of_the_spec_still_counts(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    arguments = ("talk", "-f", "echo.fan", "-n", "2", "--seed", "1", "--coverage-file", "c.json", "cat")
    assert palaver(*arguments).code == 0
    palaver.write(echo_fan=ECHO.replace("<Out:answer>\n", "<Out:answer> <In:bye>?\n") + '<bye> ::= "bye\\n"\n')
    assert palaver(*arguments).code == 0
    views = json.loads((palaver.folder / "c.json").read_text())["views"]
    assert views["messages"]["<In:ask>"] == 4


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("ours", [["Client"], ["Server"]])
def test_goals_are_counted_without_making_their_paths(k: int, ours: list[str]) -> None:
    nested = SPEC.replace('"ask " <what>', '"ask " <what> <more>?') + '<more> ::= "," <what> <more>?\n'
    client = play(nested)
    paths = KPaths(client.spec.grammar, k)
    goals = Goals(paths, client.forecaster.dialogue, ours)
    for goal in Goal:
        assert goals.count(goal) == sum(goals.contains(goal, path) for path in paths)


def test_what_is_counted_as_it_is_covered_is_what_is_covered() -> None:
    run = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=1), k=3)
    run.run()
    guidance = run.guidance
    for goal, reached, _ in guidance.standing:
        assert 0 < reached == sum(guidance.goals.contains(goal, path) for path in guidance.coverage.covered())


# --- What is missing --------------------------------------------------------------------------------------------------


def test_what_was_not_reached_is_told_with_its_reason(concluded: Any) -> None:
    lines, _, _ = concluded(campaign(SPEC, 1, k=3, other=STERN))
    reasons = [line for line in lines if line.startswith("not reached: ")]
    assert any(
        re.search(r"^not reached: \d+ paths? needs? .*<yes>.*; \d+ attempts; got <no>", line) for line in reasons
    )
    assert lines.index(reasons[0]) > next(at for at, line in enumerate(lines) if line.startswith("ended: plateau"))


def test_who_stops_earlier_is_not_told_what_is_missing(concluded: Any) -> None:
    lines, _, _ = concluded(campaign(SPEC, 1, Budget(Until.FOREVER, sessions=1), k=3))
    assert not any(line.startswith("not reached") for line in lines)


# --- Findings and exit codes ------------------------------------------------------------------------------------------


def test_findings_are_told_as_they_come_and_counted_by_kind(concluded: Any) -> None:
    lines, told, code = concluded(campaign(SPEC, 1, Budget(Until.FOREVER, sessions=9), k=3, other=ODD))
    assert told.count("unparseable: what Server said cannot go on at offset 0\n") == 2
    (more,) = re.findall(r"^(\d+) more findings like this one: unparseable: what Server said", told, re.MULTILINE)
    assert lines[0].endswith(f" received, {int(more) + 1} unparseable")
    assert code == FINDINGS


def test_what_was_said_counts_also_in_a_conversation_that_is_interrupted(capsys: Any) -> None:
    run = campaign(SPEC, 1, Budget(Until.FOREVER), k=3)
    appear, tally, said = run.on_session, Tally(run, console="none"), []
    begin = run.on_session

    def interrupt(message: Any) -> None:
        said.append(message)
        if message.symbol == "<answer>" and len(said) > 20:
            raise KeyboardInterrupt

    def on_session(session: Any) -> None:
        appear(session)
        begin(session)
        session.watch = interrupt

    run.on_session = on_session
    with pytest.raises(KeyboardInterrupt), tally:
        run.run()
    assert tally.conclude(is_interrupted=True) == INTERRUPTED
    sessions = sum(message.symbol == "<bye>" for message in said) + 1
    sent = sum(message.is_ours for message in said)
    counted = f"{sessions} sessions, {sent} messages sent, {len(said) - sent} received, no findings"
    assert capsys.readouterr().out.splitlines()[0] == counted


def test_who_interrupts_gets_a_summary_and_an_exit_code_of_its_own(
    palaver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    palaver.write(echo_fan=ECHO)
    waited = 0

    def interrupted(self: Timed, until: float | None) -> Any:
        nonlocal waited
        waited += 1
        if waited == 6:
            raise KeyboardInterrupt
        return self._carrier.wait(until)

    monkeypatch.setattr(Timed, "wait", interrupted)
    talked = palaver("talk", "-f", "echo.fan", "--until", "forever", "--seed", "1", "cat")
    lines = talked.text.splitlines()
    assert talked.code == INTERRUPTED
    assert re.match(r"\d+ sessions?, [1-9]\d* messages? sent, \d+ received, no findings", lines[0])
    assert "ended: it was interrupted" in lines


# --- Time -------------------------------------------------------------------------------------------------------------


def test_how_long_the_peer_was_waited_for_is_told_on_demand(concluded: Any) -> None:
    def delayed(_: str, data: bytes) -> list[tuple[float, bytes]]:
        return [(2.0, data)]

    run = campaign(SPEC, 1, k=3, wire=delayed)
    _, told, _ = concluded(run, console="plain")
    assert told.splitlines()[-1] == f"waited for the peer 100 % of {run.seconds:.1f} s"
    assert run.seconds >= 2 * run.progress.received


def test_nothing_is_told_of_time_where_nothing_is_shown(concluded: Any) -> None:
    _, told, _ = concluded(campaign(SPEC, 1, k=3), console="none")
    assert told == ""


class Slow:
    """A carrier for which nothing happens for a while."""

    def __init__(self, silence: float) -> None:
        self.loop = MemoryWorld().loop()
        self.clock = self.loop.clock
        self.waits: list[float | None] = []
        self.carry_out, self.poll, self.port_of = self.loop.carry_out, self.loop.poll, self.loop.port_of
        self._silence = silence

    def wait(self, until: float | None) -> list[Any]:
        self.waits.append(until)
        return self.loop.wait(self._silence if until is None else until)


def test_a_carrier_by_the_clock_waits_as_long_as_it_was_told_and_looks_up_meanwhile() -> None:
    timed = Timed(slow := Slow(9.0))
    looks: list[float] = []
    timed.look_up = lambda: looks.append(timed.clock.now())
    (passed,) = timed.wait(1.1)
    assert passed.at == pytest.approx(1.1)
    assert looks == pytest.approx([LOOK_UP_EVERY * count for count in range(1, 5)])
    assert timed.waited == pytest.approx(1.1)
    assert len(slow.waits) == 5


def test_who_waits_without_a_limit_waits_in_one_piece() -> None:
    timed = Timed(slow := Slow(9.0))
    timed.look_up = lambda: None
    timed.wait(None)
    assert slow.waits == [None]
    assert timed.waited == 9.0
