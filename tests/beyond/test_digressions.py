"""Wrong messages in sessions with real connections: refused, and gone on; or answered as they must not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from beyond_peers import served, talked

import palaver
from palaver.campaign.events import MessageSent, SessionEnded
from palaver.recording.run_reader import open_run
from palaver.recording.run_writer import record
from palaver.replaying.live_replay import LiveTarget, recorded_script, replay_live
from palaver.replaying.offline_replay import replay_offline
from palaver.session.findings import FindingKind, Severity
from servers.mail_strict import MAIL, StrictMail, reply


class SkipsNul(StrictMail):
    """Takes no notice of NUL."""

    def take(self, line: bytes) -> bytes:
        return super().take(line.replace(b"\0", b""))


class RepeatsWhatItHears(StrictMail):
    """Puts into its refusal what cannot stand there."""

    def unreadable(self, line: bytes) -> bytes:
        return b"500 what is " + line + b"\r\n"


class SaysNothing(StrictMail):
    """Does not answer what it cannot read."""

    def unreadable(self, line: bytes) -> bytes:
        return b""


class HangsUp(StrictMail):
    """Closes the connection at what it cannot read."""

    def unreadable(self, line: bytes) -> bytes:
        self.is_over = True
        return b""


class ForgetsTheLogin(StrictMail):
    """Refuses what it does not know, and logs out."""

    def unknown(self, line: bytes) -> bytes:
        self.is_known = False
        return super().unknown(line)


class LeavesAfterRefusal(StrictMail):
    """Refuses, and leaves, which is allowed if it says so."""

    def unknown(self, line: bytes) -> bytes:
        self.is_over = True
        return reply(421, "that is too much")


class Relay(StrictMail):
    """Takes mail from everybody, also before the hello."""

    def ehlo(self, line: bytes) -> bytes:
        return super().ehlo(line).replace(b"250-AUTH LOGIN\r\n", b"")

    helo = ehlo

    def auth(self, line: bytes) -> bytes:
        return self.out_of_order(line)

    def mail(self, line: bytes) -> bytes:
        if self.sender is None and MAIL.fullmatch(line):
            self.sender = line
            return reply(250)
        return super().mail(line)


def test_a_strict_server_is_not_suspected() -> None:
    campaign = talked("smtp", StrictMail, 35)
    assert campaign.findings == []
    wrong = campaign.sessions.wrong
    assert wrong is not None
    assert wrong.tally.judged > 20
    assert wrong.tally.refused == wrong.tally.judged


@pytest.mark.parametrize("seed", [2, 3])
def test_nobody_is_accused_for_what_follows_from_an_answer_that_is_only_noted(seed: int) -> None:
    campaign = talked("smtp_relay", Relay, 40, seed=seed)
    assert [finding.message for finding in campaign.findings if finding.severity is Severity.VIOLATION] == []
    assert any("<mail_before_hello>" in finding.message for finding in campaign.findings)
    wrong = campaign.sessions.wrong
    assert wrong is not None
    assert wrong.tally.judged > 5


def test_sessions_go_on_after_a_refusal() -> None:
    with served(StrictMail) as port:
        campaign = palaver.talk("smtp", client=port, sessions=20, seed=1, beyond=0.5)
        held = [event.messages for event in campaign if isinstance(event, SessionEnded)]
    ends = [tuple(said.is_aside for said in messages) for messages in held]
    assert any(True in end and not end[-1] and end.index(True) < len(end) - 4 for end in ends)


def test_the_same_seed_gives_the_same_wrong_messages() -> None:
    said = []
    for _ in range(2):
        with served(StrictMail) as port:
            campaign = palaver.talk("smtp", client=port, sessions=5, seed=7, beyond=0.5)
            said.append([event.message.data for event in campaign if isinstance(event, MessageSent)])
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("kind", "sessions", "seed", "found"),
    [
        pytest.param(SkipsNul, 100, 1, FindingKind.ACCEPTED, marks=pytest.mark.slow),
        (RepeatsWhatItHears, 30, 1, FindingKind.REFUSAL),
        (ForgetsTheLogin, 100, 4, FindingKind.STATE_CHANGED),  # two of six seeds do not find it in 200
    ],
)
def test_a_wrong_answer_is_found(kind: type[StrictMail], sessions: int, seed: int, found: FindingKind) -> None:
    campaign = talked("smtp", kind, sessions, seed=seed)
    assert {finding.kind for finding in campaign.findings} == {found}


def test_silence_is_found() -> None:
    campaign = talked("smtp", SaysNothing, 10, timeout=0.3)
    assert {finding.kind for finding in campaign.findings} == {FindingKind.REFUSAL}
    assert "was not answered" in campaign.findings[0].message


def test_the_end_of_the_connection_is_only_a_note_if_nobody_watches_the_server() -> None:
    campaign = talked("smtp", HangsUp, 20)
    assert {(finding.kind, finding.severity) for finding in campaign.findings} == {(FindingKind.CLOSED, Severity.NOTE)}


def test_a_server_may_leave_where_the_spec_allows_it() -> None:
    assert talked("smtp", LeavesAfterRefusal, 20).findings == []


def test_without_rules_nobody_is_accused() -> None:
    text = (Path(palaver.__file__).parent / "specs" / "smtp.fan").read_text()
    before, _, rest = text.partition("# --- What is no part of the session")
    campaign = talked(palaver.loads(before + rest[rest.index("# --- What is computed") :]), RepeatsWhatItHears, 20)
    assert campaign.findings == []
    wrong = campaign.sessions.wrong
    assert wrong is not None
    assert (wrong.tally.judged, wrong.tally.unjudged > 0) == (0, True)


def test_a_finding_is_recorded_and_replayed_with_its_wrong_message(tmp_path: Path) -> None:
    with served(RepeatsWhatItHears) as port:
        options: dict[str, Any] = {"client": [str(port)], "sessions": 30, "seed": 1, "beyond": 0.35}
        campaign = palaver.talk("smtp", **options)
        record(campaign, tmp_path / "run", options)
        campaign.run()
        with open_run(tmp_path / "run") as run:
            finding = run.findings[0]
            said = run.messages(finding.session)[: finding.messages]
            assert said[-1].aside.startswith("terminal: ")
            assert replay_offline(run, finding).is_found
            target = LiveTarget(run, finding)
            (attempt,) = replay_live(target, recorded_script(run, finding), 1)
            assert attempt.is_reproduced
