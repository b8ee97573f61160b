"""A campaign is a stream of frozen events, for as many readers as want them."""

from __future__ import annotations

import dataclasses
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import palaver
from palaver.campaign.events import (
    ActionTaken,
    CampaignEnded,
    CampaignStarted,
    CoverageChanged,
    Event,
    FindingReported,
    InputHandled,
    MessageReceived,
    MessageSent,
    PlanMade,
    SessionEnded,
    SessionStarted,
    TargetEnded,
    TargetStarted,
)
from palaver.campaign.oracles import ForbiddenBytes
from palaver.campaign.run import Budget, Campaign, Until
from palaver.navigation import coverage_file
from palaver.session.findings import Verdict

sys.path.insert(0, str(Path(__file__).parent.parent / "navigation"))
from guided import campaign

SPEC = """
<start> ::= <Client:ask> <Server:answer> <start> | <Client:bye>
<ask> ::= "ask " <what> "\\n"
<what> ::= "a" | "b"
<answer> ::= "yes\\n" | "no\\n"
<bye> ::= "bye\\n"
"""
ODD = SPEC.replace('"yes\\n"', '"perhaps\\n"')

SERVER = shlex.join([sys.executable, "-m", "palaver.demo.server", "{port}"])


def run(sessions: int = 5, other: str | None = None, **options: bool) -> Campaign:
    return campaign(SPEC, 1, Budget(Until.FOREVER, sessions=sessions), k=3, other=other, **options)  # type: ignore[arg-type]


def test_the_first_event_has_the_seed_and_the_versions_and_the_last_one_the_reason() -> None:
    first, *_, last = run()
    assert isinstance(first, CampaignStarted)
    assert first.seed == 1
    assert first.parties == ("Client",)
    assert dict(first.versions)["Python"].startswith("3.")
    assert isinstance(last, CampaignEnded)
    assert last.reason == "reached the limit of 5 sessions (-n 5)"
    assert last.verdict is Verdict.PASS


def test_every_session_starts_has_its_messages_and_ends() -> None:
    events = list(run(sessions=3))
    for number in (1, 2, 3):
        own = [event for event in events if event.session == number]
        assert isinstance(own[0], SessionStarted)
        assert isinstance(own[-1], SessionEnded)
        messages = [event for event in own if isinstance(event, MessageSent | MessageReceived)]
        assert tuple(event.message for event in messages) == own[-1].messages
        assert all(event.message.is_ours == isinstance(event, MessageSent) for event in messages)


def test_events_come_in_the_order_of_time() -> None:
    times = [event.at for event in run()]
    assert times == sorted(times)


def test_events_are_frozen() -> None:
    for event in run(sessions=1):
        with pytest.raises(dataclasses.FrozenInstanceError):
            event.at = 0.0  # type: ignore[misc]


def test_coverage_changes_up_to_what_is_covered_in_the_end() -> None:
    made = run()
    covered = [event.covered for event in made if isinstance(event, CoverageChanged)]
    assert covered == sorted(set(covered))
    assert covered[-1] == made.coverage.covered
    assert made.coverage.total == made.guidance.goal_progress.total


def test_several_readers_see_the_same_events_and_so_does_who_iterates() -> None:
    made = run()
    one: list[Event] = []
    two: list[Event] = []
    made.attach(one.append).attach(two.append)
    assert list(made) == one == two


def test_plans_and_the_trace_come_only_if_they_are_asked_for() -> None:
    wanted = PlanMade | InputHandled | ActionTaken
    assert not any(isinstance(event, wanted) for event in run())
    assert any(isinstance(event, PlanMade) for event in run(plans=True))


def test_findings_have_numbers_and_the_number_of_their_session() -> None:
    made = run(sessions=9, other=ODD)
    reported = [event for event in made if isinstance(event, FindingReported)]
    assert [event.finding for event in reported] == made.findings
    assert [finding.number for finding in made.findings] == list(range(1, len(made.findings) + 1))
    assert all(event.finding.session == event.session for event in reported)
    assert made.verdict is Verdict.FAIL


def test_who_stops_reading_stops_the_campaign() -> None:
    made = run(sessions=1000)
    last: list[Event] = []
    with made.attach(last.append):
        next(event for event in made if isinstance(event, MessageReceived))
    assert isinstance(last[-1], CampaignEnded)
    assert last[-1].reason == "interrupted"
    assert list(made) == []


# --- palaver.talk -----------------------------------------------------------------------------------------------------


def test_talk_is_the_campaign_of_the_command_line() -> None:
    made = palaver.talk(SMTP, target=SERVER, seed=1, sessions=2, trace=True)
    events = list(made)
    assert made.verdict is Verdict.PASS
    assert made.findings == []
    assert sum(isinstance(event, TargetStarted) for event in events) == 1
    assert any(isinstance(event, InputHandled) for event in events)
    assert any(isinstance(event, ActionTaken) for event in events)


SMTP = Path(palaver.__file__).parent / "specs" / "smtp.fan"


def test_each_start_of_a_target_has_an_end() -> None:
    made = palaver.talk(SMTP, target=SERVER, seed=1, sessions=3, restart="session")
    seen = [event for event in made if isinstance(event, TargetStarted | TargetEnded)]
    assert [type(event) for event in seen] == [TargetStarted, TargetEnded] * 3
    assert [event.exit_code for event in seen if isinstance(event, TargetEnded)] == [None] * 3


def test_campaigns_in_threads_do_not_disturb_each_other() -> None:
    def talk(results: dict[int, list[bytes]], seed: int) -> None:
        made = palaver.talk(SMTP, target=SERVER, seed=seed, sessions=2)
        results[seed] = [event.message.data for event in made if isinstance(event, MessageSent)]

    alone: dict[int, list[bytes]] = {}
    for seed in (1, 2):
        talk(alone, seed)
    together: dict[int, list[bytes]] = {}
    threads = [threading.Thread(target=talk, args=(together, seed)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"client": "Nobody=tcp://127.0.0.1:1"}, "the spec has no party Nobody"),
        ({"client": "tcp://127.0.0.1:1", "guided": False}, "--unguided needs a limit"),
        ({"target": "'", "client": "{port}"}, "the command of --target cannot be parsed"),
        ({"client": 1, "until": "covrage"}, "until is one of 'coverage', .*, and not 'covrage'"),
        ({"client": 1, "goal": "everything"}, "goal is one of .*, and not 'everything'"),
        ({"client": 1, "sessions": 0}, "the number of sessions is at least 1, and not 0"),
        ({"client": 1, "seed": "seven"}, "seed is a whole number, and not 'seven'"),
        ({"client": 1, "oracles": [ForbiddenBytes]}, r"ForbiddenBytes is a class: write ForbiddenBytes\(\)"),
        ({"client": 1, "oracles": ["no oracle"]}, "an oracle has a method observe"),
        ({"client": 1, "coverage_file": "/no/such/folder/file"}, "there is no folder /no/such/folder"),
    ],
    ids=["party", "end", "target", "until", "goal", "sessions", "seed", "class", "no oracle", "file"],
)
def test_what_does_not_fit_is_told_before_anything_is_opened(options: dict[str, object], reason: str) -> None:
    with pytest.raises(palaver.SetupError, match=reason):
        palaver.talk(SMTP, **options)  # type: ignore[arg-type]


def test_the_coverage_of_another_spec_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "covered.json"
    coverage_file.write(file, **run().run().guidance.as_data())
    before = file.read_bytes()
    with pytest.raises(palaver.SetupError, match="this is the coverage of another spec"):
        palaver.talk(SMTP, client=1, coverage_file=file)
    assert file.read_bytes() == before


def test_a_campaign_that_has_not_tested_anything_has_passed_nothing() -> None:
    made = run()
    assert made.verdict is Verdict.INCONCLUSIVE
    assert made.run().verdict is Verdict.PASS


class Raises:
    """A reader, and an oracle, that raises at the first message."""

    def __call__(self, event: Event) -> None:
        if isinstance(event, MessageSent):
            raise ValueError("not this one")

    def observe(self, event: Event) -> list[palaver.Observation]:
        self(event)
        return []


@pytest.mark.parametrize("which", ["reader", "oracle"])
def test_what_raises_ends_the_campaign_with_its_last_event(which: str) -> None:
    seen: list[Event] = []
    made = palaver.talk(SMTP, target=SERVER, seed=1, sessions=2, oracles=[Raises()] if which == "oracle" else [])
    made.attach(seen.append, *([Raises()] if which == "reader" else []))
    with pytest.raises(ValueError, match="not this one"):
        made.run()
    assert isinstance(seen[-1], CampaignEnded)
    assert seen[-1].reason == "ValueError: not this one"
    assert [type(event) for event in seen].count(CampaignEnded) == 1


def test_a_program_that_stops_reading_leaves_no_target_behind(tmp_path: Path) -> None:
    program = f"""
import palaver
for event in palaver.talk({str(SMTP)!r}, target={SERVER!r}, seed=1, sessions=50):
    if type(event).__name__ == "MessageReceived":
        break
target = next(iter(open("/proc/thread-self/children").read().split()))
print(target)
"""
    if not Path("/proc/thread-self/children").exists():
        pytest.skip("the system does not tell the children of a process")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not Path("/proc", done.stdout.strip()).exists()


def test_a_target_that_crashes_is_an_event_and_a_finding() -> None:
    program = "import socket; socket.create_server(('127.0.0.1', {port})).accept(); exit(3)"
    made = palaver.talk(SMTP, target=shlex.join([sys.executable, "-c", program]), seed=1, sessions=1)
    ended = [event for event in made if isinstance(event, TargetEnded)]
    assert [event.exit_code for event in ended] == [3]
    assert [finding.kind.label for finding in made.findings][:1] == ["crash"]


def test_campaigns_in_threads_leave_the_recursion_limit_as_it_was() -> None:
    before = sys.getrecursionlimit()
    threads = [threading.Thread(target=run(sessions=20).run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sys.getrecursionlimit() == before


def test_a_run_that_nobody_finishes_is_closed_at_the_end_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[object] = []
    monkeypatch.setattr("palaver.campaign.run.atexit.register", registered.append)
    monkeypatch.setattr("palaver.campaign.run.atexit.unregister", registered.remove)
    left = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=2))
    next(iter(left))
    assert registered == [left.close]
    left.close()
    assert registered == []


def test_a_campaign_that_is_closed_before_it_began_tells_its_readers_so() -> None:
    seen: list[Event] = []
    left = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=2)).attach(seen.append)
    left.close()
    left.close()
    assert [type(event) for event in seen] == [CampaignStarted, CampaignEnded]
    assert list(left) == []
