"""What a run of conversations tells in the end: what was said, what was covered, why it ended, and what is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guided import campaign, setup_of

import golden
from palaver.campaign.campaign_limits import WAITING_EVENT_EVERY
from palaver.campaign.events import Event, MessageReceived, MessageSent, StillWaiting
from palaver.campaign.run import Budget, Campaign, Until
from palaver.cli.exit_codes import INTERRUPTED
from palaver.matching.matching_limits import MAX_HYPOTHESES, MAX_STATES_AHEAD
from palaver.navigation.coverage import KPaths
from palaver.navigation.goals import CoverageGoal, GoalMembership
from palaver.reporting.console import ConsoleReport
from palaver.session.findings import SessionMessage, Verdict
from palaver.transport.event_loop import SelectorEventLoop

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
def concluded(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[list[str], str]]:
    """What a campaign prints: lines on standard output, and what is on standard error."""

    def conclude(run: Campaign, *, console: str = "none") -> tuple[list[str], str]:
        run.attach(ConsoleReport(run, console=console)).run()
        printed = capsys.readouterr()
        return printed.out.splitlines(), printed.err

    return conclude


# --- Word by word -----------------------------------------------------------------------------------------------------

SUMMARIES = Path(__file__).parent / "summaries.txt"


def test_every_line_of_a_summary(concluded: Any) -> None:
    """The golden file is written anew as `golden` tells."""
    runs = {
        "all is covered": campaign(SPEC, 1, k=3),
        "the peer knows fewer answers": campaign(SPEC, 1, k=3, other=STERN),
        "some paths are tried again": campaign(SPEC, 1, Budget(Until.COVERAGE), k=3, other=STERN),
        "the peer knows other answers": campaign(SPEC, 1, Budget(Until.FOREVER, sessions=9), k=3, other=ODD),
        "a limit of time": campaign(SPEC, 1, Budget(seconds=0.0), k=3),
        "a limit is reached": campaign(SPEC, 1, Budget(sessions=1), k=3),
    }
    runs["a limit is reached"].limits[MAX_HYPOTHESES] = 3
    runs["a limit is reached"].limits[MAX_STATES_AHEAD] = 1
    shown = []
    for title, run in runs.items():
        lines, remarks = concluded(run)
        lines += [f"(standard error) {line}" for line in remarks.splitlines()]
        shown.append("\n".join([f"=== {title}", *lines]))
    golden.check(SUMMARIES, "\n\n".join(shown) + "\n")


def test_every_line_about_a_plan(capsys: Any) -> None:
    run = campaign(SPEC, 1, Budget(sessions=4), k=2, other=ODD, plans=True)
    run.attach(ConsoleReport(run, verbose=True, console="none")).run()
    golden.check(Path(__file__).parent / "plans.txt", capsys.readouterr().out)


# --- What was covered -------------------------------------------------------------------------------------------------


def test_there_is_a_line_for_each_goal_and_one_for_plain_views(concluded: Any) -> None:
    run = campaign(SPEC, 1, k=3)
    lines, _ = concluded(run)
    goals = GoalMembership(KPaths(setup_of(SPEC).spec.grammar, 3), run.guidance.dialogue, ["Client"])
    inputs, states, everything = (goals.count(goal) for goal in CoverageGoal)
    progress = run.progress
    assert lines == [
        f"{progress.sessions} sessions, {progress.sent} messages sent, {progress.received} received, no findings",
        "seed 1",
        f"covered {inputs} of {inputs} 3-paths of inputs",
        f"covered {states} of {states} 3-paths of states",
        f"covered {everything} of {everything} 3-paths",
        "messages 3 of 3, states 3 of 3, transitions 3 of 3, alternatives 6 of 6",
        f"stopped: goal reached after {progress.messages} messages in {progress.sessions} sessions: "
        f"all {everything} paths are covered",
    ]
    assert run.verdict is Verdict.PASS


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
    assert talked.text.splitlines()[5].endswith(", constraints 2 of 2")


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
    palaver.write(
        echo_fan=ECHO.replace("<Out:answer>\n", "<Out:answer> (<In:bye> <Out:bye>)?\n") + '<bye> ::= "bye\\n"\n'
    )
    assert palaver(*arguments).code == 0
    views = json.loads((palaver.folder / "c.json").read_text())["views"]
    assert views["messages"]["<In:ask>"] == 4


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("ours", [["Client"], ["Server"]])
def test_goals_are_counted_without_making_their_paths(k: int, ours: list[str]) -> None:
    nested = SPEC.replace('"ask " <what>', '"ask " <what> <more>?') + '<more> ::= "," <what> <more>?\n'
    client = setup_of(nested)
    paths = KPaths(client.spec.grammar, k)
    goals = GoalMembership(paths, client.forecaster.dialogue, ours)
    for goal in CoverageGoal:
        assert goals.count(goal) == sum(goals.contains(goal, path) for path in paths)


def test_what_is_counted_as_it_is_covered_is_what_is_covered() -> None:
    run = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=1), k=3)
    run.run()
    guidance = run.guidance
    for goal, reached, _ in guidance.goal_counts:
        assert 0 < reached == sum(guidance.goals.contains(goal, path) for path in guidance.coverage.covered())


# --- What is missing --------------------------------------------------------------------------------------------------


def test_what_was_not_reached_is_told_with_its_reason(concluded: Any) -> None:
    lines, _ = concluded(campaign(SPEC, 1, k=3, other=STERN))
    reasons = [line for line in lines if line.startswith("not covered: ")]
    missing = r"^not covered: \d+ paths?; the peer never .*<yes>.* \(not seen in \d+ attempts.*; got <no>"
    assert any(re.search(missing, line) for line in reasons)
    assert lines.index(reasons[0]) > next(at for at, line in enumerate(lines) if line.startswith("stopped: plateau"))


def test_who_stops_earlier_is_not_told_what_is_missing(concluded: Any) -> None:
    lines, _ = concluded(campaign(SPEC, 1, Budget(Until.FOREVER, sessions=1), k=3))
    assert not any(line.startswith("not covered") for line in lines)


# --- Findings and exit codes ------------------------------------------------------------------------------------------


def test_findings_are_told_as_they_come_and_counted_by_kind(concluded: Any) -> None:
    run = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=9), k=3, other=ODD)
    lines, told = concluded(run)
    headlines = [line for line in lines if line.startswith("finding ")]
    (more,) = re.findall(r"^(\d+) more findings like (finding 1 in .*)$", "\n".join(lines), re.MULTILINE)
    assert headlines == [more[1]]
    count = int(more[0]) + 1
    assert any(line.endswith(f" received, {count} findings (unexpected response: {count})") for line in lines)
    assert [finding.number for finding in run.findings] == list(range(1, int(more[0]) + 2))
    assert all(1 <= finding.session <= 9 for finding in run.findings)
    assert run.verdict is Verdict.FAIL
    assert told == ""


def test_what_was_said_counts_also_in_a_conversation_that_is_interrupted(capsys: Any) -> None:
    run = campaign(SPEC, 1, Budget(Until.FOREVER), k=3)
    said: list[SessionMessage] = []

    def interrupt(event: Event) -> None:
        if isinstance(event, MessageSent | MessageReceived):
            said.append(event.message)
            if event.message.symbol == "<answer>" and len(said) > 20:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.attach(ConsoleReport(run, console="none"), interrupt).run()
    sessions = sum(message.symbol == "<bye>" for message in said) + 1
    sent = sum(message.is_ours for message in said)
    counted = f"{sessions} sessions, {sent} messages sent, {len(said) - sent} received, no findings"
    assert capsys.readouterr().out.splitlines()[0] == counted


def test_who_interrupts_gets_a_summary_and_an_exit_code_of_its_own(
    palaver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    palaver.write(echo_fan=ECHO)
    waited = 0

    wait = SelectorEventLoop.wait

    def interrupted(self: SelectorEventLoop, until: float | None) -> Any:
        nonlocal waited
        waited += 1
        if waited == 6:
            raise KeyboardInterrupt
        return wait(self, until)

    monkeypatch.setattr(SelectorEventLoop, "wait", interrupted)
    talked = palaver("talk", "-f", "echo.fan", "--until", "forever", "--seed", "1", "cat")
    lines = talked.text.splitlines()
    assert talked.code == INTERRUPTED
    assert re.match(r"\d+ sessions?, [1-9]\d* messages? sent, \d+ received, no findings", lines[0])
    assert "stopped: interrupted" in lines


# --- Time -------------------------------------------------------------------------------------------------------------


def test_how_long_the_peer_was_waited_for_is_told_on_demand(concluded: Any) -> None:
    def delayed(_: str, data: bytes) -> list[tuple[float, bytes]]:
        return [(2.0, data)]

    run = campaign(SPEC, 1, k=3, wire=delayed)
    _, told = concluded(run, console="plain")
    assert told.splitlines()[-1] == f"100 % of {run.seconds:.1f} s was spent waiting for the peer"
    assert run.seconds >= 2 * run.progress.received


def test_nothing_is_told_of_time_where_nothing_is_shown(concluded: Any) -> None:
    _, told = concluded(campaign(SPEC, 1, k=3), console="none")
    assert told == ""


def test_a_campaign_tells_now_and_then_that_it_still_waits() -> None:
    run = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=1), k=3, wire=lambda _, data: [(1.1, data)])
    waits: list[float] = []
    run.attach(lambda event: waits.append(event.at) if isinstance(event, StillWaiting) else None).run()
    assert waits[:4] == pytest.approx([WAITING_EVENT_EVERY * count for count in range(1, 5)])
    assert run.waited == pytest.approx(run.seconds)
