"""Findings are found, kept, replayed with the target, and made small: whole stories, each with a server of its own."""

from __future__ import annotations

import shlex
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_
from palaver.recording.run_reader import RecordedFinding, RunError
from palaver.recording.run_writer import record
from palaver.replaying.live_replay import LiveTarget, recorded_script, replay_live
from palaver.replaying.offline_replay import replay_offline
from palaver.replaying.shrinking import ShrinkLimits, shrink
from palaver.session.findings import FindingKind
from servers.common import free_port, greets, started

SERVERS = Path(__file__).parent / "small_servers.py"

SPEC = """
<start> ::= <Server:hello> <exchange>* <Client:quit> <Server:bye>
<hello> ::= "hello\\n"
<exchange> ::= <put> | <get> | <note>
<put> ::= <Client:put_request> <Server:done>
<put_request> ::= "put " <key> " " <text> "\\n"
<get> ::= <Client:get_request> <Server:done>
<get_request> ::= "get " <key> "\\n"
<note> ::= <Client:note_request> <Server:done>
<note_request> ::= "note " <text> "\\n"
<done> ::= "ok\\n" | "none\\n"
<quit> ::= "quit\\n"
<bye> ::= "bye\\n"
<key> ::= r"[a-c]"
<text> ::= r"[a-z0-9]{1,120}"
"""


class Story:
    """A server with a defect: found, kept, replayed offline and live, and made small."""

    def __init__(self, folder: Path, spec: str, target: str | None, **options: Any) -> None:
        (folder / "spec.fan").write_text(spec)
        given = {"target": target, "seed": 1, "sessions": 60, "timeout": 1.0, **options}
        with palaver_.talk(folder / "spec.fan", **given) as campaign:
            record(campaign, folder / "run", given)
            campaign.run()
        self.run = palaver_.open_run(folder / "run")

    def finding(self, kind: FindingKind) -> RecordedFinding:
        return next(each for each in self.run.findings if each.kind is kind)

    def made_small(self, kind: FindingKind, times: int = 3, **limits: Any) -> list[bytes]:
        """What we say at last; on the way, everything else is checked."""
        finding = self.finding(kind)
        assert replay_offline(self.run, finding).is_found
        attempts = replay_live(LiveTarget(self.run, finding), recorded_script(self.run, finding), times)
        assert [each.is_reproduced for each in attempts] == [True] * times
        small = shrink(self.run, finding, ShrinkLimits(**limits))
        assert small is not None
        assert (small.reproduced, small.of) == (3, 3)
        assert self.run.shrinking(finding.number) == small
        return [said.data for said in small.messages if said.is_ours]


def server(name: str) -> str:
    return shlex.join([sys.executable, "-S", str(SERVERS), name, "{port}"])


def running(name: str, port: int, log: Path) -> AbstractContextManager[object]:
    """A server that palaver does not start, and so does not start again."""
    command = shlex.split(server(name).format(port=port))
    return started(command, is_ready=lambda: greets(port, b"hello\n"), log=log)


@pytest.mark.slow
def test_a_server_that_hangs_is_found_and_made_small(tmp_path: Path) -> None:
    story = Story(tmp_path, SPEC, server("hangs"), timeout=0.4, sessions=30)
    assert story.made_small(FindingKind.SILENCE, runs=60) in ([b"note a\n", b"get b\n"], [b"note 0\n", b"get b\n"])


def test_a_traceback_that_ends_a_server_is_found_and_made_small(tmp_path: Path) -> None:
    story = Story(tmp_path, SPEC, server("raises"), sessions=3)
    finding = story.finding(FindingKind.CRASH)
    assert "ZeroDivisionError" in finding.cause
    assert story.made_small(FindingKind.CRASH) == [b"get c\n"]


def test_a_client_is_replayed_by_the_server_that_it_talks_to(tmp_path: Path) -> None:
    spec = SPEC.replace("<exchange>*", "<Client:note_request> <Server:done>")
    client = shlex.join([sys.executable, "-S", str(SERVERS), "client", "{port}"])
    story = Story(tmp_path, spec, client, server="{port}", sessions=3)
    finding = story.finding(FindingKind.UNPARSEABLE)
    assert replay_offline(story.run, finding).is_found
    attempts = replay_live(LiveTarget(story.run, finding), recorded_script(story.run, finding), 2)
    assert [each.is_reproduced for each in attempts] == [True, True]


def test_a_finding_that_does_not_come_again_is_not_made_small(palaver: Any) -> None:
    palaver.write(spec_fan=SPEC)
    palaver("talk", "spec.fan", "--seed", "1", "-n", "3", "--run", "kept", "--target", server("wrong"))
    again = palaver("shrink", "kept", "1", "--target", server("right"))
    assert again.code == 0
    assert "the finding did not come again" in again.text
    assert "  Server: 'hello\\n'\n" in again.text  # what was said instead
    replayed = palaver("replay", "kept", "1", "-n", "2", "--target", server("right"))
    assert (replayed.code, replayed.text.splitlines()[-1]) == (0, "reproduced 0 of 2")
    assert "'hello" not in replayed.text
    replayed = palaver("replay", "kept", "1", "-v", "--target", server("right"))
    assert "  Server: 'hello\\n'\n" in replayed.text
    assert replayed.text.endswith("not the same: no finding\nreproduced 0 of 1\n")


def test_what_earlier_sessions_left_in_the_target_may_be_needed_and_that_is_told(palaver: Any) -> None:
    palaver.write(spec_fan=SPEC)
    how = ("--seed", "1", "-n", "30", "--until", "forever", "--target", server("remembers"))
    assert palaver("talk", "spec.fan", *how, "--run", "kept").code == 1
    told = "and may need what those before it left in the target: palaver talk with --restart session"
    for command in (("replay", "kept", "1"), ("shrink", "kept", "1")):
        again = palaver(*command)
        assert (again.code, told in again.text) == (0, True)
    assert told not in palaver("replay", "kept", "1", "--target", server("right")).text
    assert palaver("talk", "spec.fan", *how, "--restart", "session", "--run", "alone").code == 0


def test_a_finding_is_not_called_gone_if_nobody_answers(palaver: Any) -> None:
    palaver.write(spec_fan=SPEC)
    at_once = ("--wait-for-server", "0")
    palaver("talk", "spec.fan", "--seed", "1", "-n", "3", "--run", "kept", "--target", server("wrong"), *at_once)
    nowhere = ("--client", str(free_port()))
    replayed = palaver("replay", "kept", "1", "-n", "2", *nowhere)
    assert replayed.code == 2
    assert replayed.text.endswith("reproduced 0 of 2\nnot tried: 2 of 2, as nobody answered\n")
    shrunk = palaver("shrink", "kept", "1", *nowhere)
    assert (shrunk.code, shrunk.text.splitlines()[-1]) == (2, "not tried, as nobody answered")
    again = palaver("talk", "spec.fan", "-n", "1", "--again", "kept", *nowhere, *at_once)
    assert "not tried, as nobody answered: finding 1 " in again.text
    assert "fixed: " not in again.text


def test_shrinking_stops_when_the_server_is_gone(tmp_path: Path) -> None:
    first, second = free_port(), free_port()
    with running("raises", first, tmp_path / "log"):
        story = Story(tmp_path, SPEC, None, client=[str(first)], sessions=3, wait_for_server=0.0)
    with running("raises", second, tmp_path / "log"):
        small = shrink(story.run, story.finding(FindingKind.CLOSED), client=[str(second)])
    assert small is not None
    # The first ended the server, which may still be listening for a moment while it writes its traceback.
    assert small.of == 0
    assert small.attempts <= 5
    assert small.reason.startswith("nobody answered any more")


def test_a_server_that_palaver_has_not_started_is_reset_for_each_attempt(tmp_path: Path) -> None:
    port, resets = free_port(), tmp_path / "resets"
    with running("wrong", port, tmp_path / "log"):
        reset = f"echo >> {shlex.quote(str(resets))}"
        story = Story(tmp_path, SPEC, None, client=[str(port)], sessions=10, reset=reset)
        resets.unlink()
        small = shrink(story.run, story.finding(FindingKind.UNPARSEABLE), ShrinkLimits(runs=5))
    assert small is not None
    assert len(resets.read_text()) == small.attempts - 1  # a session follows on the one before


def test_a_finding_made_small_is_shown_first_and_replayed(palaver: Any) -> None:
    palaver.write(spec_fan=SPEC)
    palaver("talk", "spec.fan", "--seed", "1", "-n", "3", "--run", "kept", "--target", server("wrong"))
    made = palaver("shrink", "kept", "1")
    assert made.code == 1
    assert "finding 1 made small, 2 messages: " in made.text
    assert palaver("show", "kept", "1").text.startswith("finding 1 made small, 2 messages: ")
    assert "(made small)" in palaver("show", "kept").text
    replayed = palaver("replay", "kept", "1", "-n", "2")
    assert (replayed.code, replayed.text.splitlines()[-1]) == (1, "reproduced 2 of 2")


def test_a_finding_that_comes_sometimes_needs_some_of_several_tries(tmp_path: Path) -> None:
    story = Story(tmp_path, SPEC, server("sometimes"), sessions=3, cwd=str(tmp_path))
    finding = story.finding(FindingKind.UNPARSEABLE)
    small = shrink(story.run, finding, ShrinkLimits(needed=1, tries=3))
    assert small is not None
    assert [said.data for said in small.messages if said.is_ours] == [b"get a\n"]


def test_a_run_that_cannot_be_written_is_told_before_anything_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(tmp_path, SPEC, server("wrong"))
    finding = story.finding(FindingKind.UNPARSEABLE)
    (tmp_path / "run" / "run.sqlite").rename(tmp_path / "run.sqlite")
    (tmp_path / "run" / "run.sqlite").mkdir()  # where nothing can be written
    monkeypatch.setattr("palaver.replaying.shrinking.LiveTarget", None)
    with pytest.raises(RunError, match=r"cannot write the run .*run: "):
        shrink(story.run, finding)


def test_shrinking_ends_at_its_limits(tmp_path: Path) -> None:
    story = Story(tmp_path, SPEC, server("raises"), sessions=3)
    small = shrink(story.run, story.finding(FindingKind.CRASH), ShrinkLimits(runs=2))
    assert small is not None
    assert small.reason == "stopped after 2 runs (--runs)"


@pytest.mark.slow
def test_what_was_reached_before_the_server_could_not_be_started_is_kept_and_says_so(tmp_path: Path) -> None:
    story = Story(tmp_path, SPEC, server("tires"), sessions=5, cwd=str(tmp_path), start_timeout=2.0)
    finding = story.finding(FindingKind.CRASH)
    small = shrink(story.run, finding)
    assert small is not None
    assert " listen" in small.reason, small.reason


def test_the_same_seed_makes_it_small_in_the_same_way(tmp_path: Path) -> None:
    story = Story(tmp_path, SPEC, server("raises"), sessions=3)
    finding = story.finding(FindingKind.CRASH)
    one, two = shrink(story.run, finding), shrink(story.run, finding)
    assert one is not None
    assert two is not None
    assert (one.attempts, one.messages) == (two.attempts, two.messages)


TICKET = """
<start> ::= <Server:hello> <Client:take> <Server:done>
<hello> ::= "ticket " <ticket> "\\n"
<take> ::= "take " <ticket> " " <name> "\\n"
<ticket> ::= r"[0-9a-f]{40}"
<name> ::= r"[a-z]{2,9}"
<done> ::= "ok\\n"
where <take>.<ticket> == <hello>.<ticket>
"""


def test_what_must_be_repeated_is_not_tried_again_and_again(tmp_path: Path) -> None:
    story = Story(tmp_path, TICKET, server("asks"), sessions=1)
    (said,) = story.made_small(FindingKind.UNPARSEABLE, times=1, runs=20)
    assert said.endswith(b" aa\n"), said


# We tell the port where we wait; a generator with state knows it. The client comes there, and says what it must not.
PORTS = """
<start> ::= <Server:Client:told> <Client:Server:thanks>
<told> ::= "port " <port> "\\n"
<port> ::= r"[0-9]+" := where_we_wait(str(<seen>))
<seen> ::= r"[0-9]+" := where_we_wait(str(<port>))
<thanks> ::= "thanks\\n"
WAITS = []

def where_we_wait(_):
    WAITS.append(1)
    return str(40000 + len(WAITS))
"""


def test_what_a_generator_with_state_makes_is_made_anew(tmp_path: Path) -> None:
    client = shlex.join([sys.executable, "-S", str(SERVERS), "client", "{port}"])
    story = Story(tmp_path, PORTS, client, server="{port}", sessions=2)
    finding = story.finding(FindingKind.UNPARSEABLE)
    attempts = replay_live(LiveTarget(story.run, finding), recorded_script(story.run, finding), 3)
    assert [each.is_reproduced for each in attempts] == [True] * 3
    told = [each.messages[0].data for each in attempts]
    assert len({story.run.messages(finding.session)[0].data, *told}) == 4
