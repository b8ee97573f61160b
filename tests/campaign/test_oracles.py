"""Oracles check what a grammar cannot say; a violation fails the session, a note does not."""

from __future__ import annotations

from collections.abc import Iterable

from guided import campaign

import palaver
from palaver.campaign.events import Event, FindingReported, MessageReceived, SessionEnded, TargetOutput, TargetStarted
from palaver.campaign.oracles import ForbiddenBytes, ForbiddenOutput, MaxLatency, Observation
from palaver.campaign.run import Budget, Campaign, Until
from palaver.session.findings import Severity, Verdict

SPEC = """
<start> ::= <Client:ask> <Server:answer> <start> | <Client:bye>
<ask> ::= "ask\\n"
<answer> ::= "yes\\n" | "no\\n"
<bye> ::= "bye\\n"
"""


def run(*oracles: palaver.Oracle, delay: float = 0.0) -> Campaign:
    made = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=4), k=3, wire=lambda _, data: [(delay, data)])
    made._oracles = oracles
    return made.run()


def test_a_slow_answer_is_a_violation() -> None:
    slow = run(MaxLatency(1.0), delay=0.6)  # there and back
    assert slow.verdict is Verdict.FAIL
    assert slow.findings[0].party == "Server"
    assert "Server took 1.200 s to send <answer>, more than 1 s" in slow.findings[0].message
    assert run(MaxLatency(1.0), delay=0.5).findings == []
    assert run(MaxLatency(1.0), delay=0.4).findings == []


def test_a_note_is_told_and_fails_nothing() -> None:
    noted = run(ForbiddenBytes(rb"no\n", Severity.NOTE))
    assert noted.findings
    assert all(finding.label == "note" for finding in noted.findings)
    assert noted.verdict is Verdict.PASS


def test_an_oracle_may_end_the_session() -> None:
    class EndsAtFirstAnswer:
        def observe(self, event: Event) -> Iterable[Observation]:
            if isinstance(event, MessageReceived):
                yield Observation("enough", party="Server", ends_session=True)

    made = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=3), k=3)
    made._oracles = (EndsAtFirstAnswer(),)
    ended = [event for event in made if isinstance(event, SessionEnded)]
    assert len(ended) == 3
    assert all(sum(not message.is_ours for message in event.messages) <= 1 for event in ended)
    assert any(event.verdict is Verdict.FAIL for event in ended)
    assert made.findings[0].messages[-1].symbol == "<answer>"


def test_oracles_see_every_event() -> None:
    class Witness:
        def __init__(self) -> None:
            self.seen: list[Event] = []

        def observe(self, event: Event) -> Iterable[Observation]:
            self.seen.append(event)
            return ()

    witness = Witness()
    made = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=2), k=3)
    made._oracles = (witness,)
    events = list(made)
    assert witness.seen == [event for event in events[:-1] if not isinstance(event, FindingReported)]


def test_forbidden_output_is_found_also_in_pieces() -> None:
    oracle = ForbiddenOutput(rb"\bERROR\b", Severity.NOTE)
    events: list[Event] = [
        TargetStarted(0.0, 1, ("server",)),
        TargetOutput(0.1, 1, b"ready\n12:01 ERR"),
        TargetOutput(0.2, 1, b"OR disk full\nmore\n"),
        TargetOutput(0.3, 1, b"ERRORS: none\n"),
    ]
    found = [seen for event in events for seen in oracle.observe(event)]
    assert [(seen.text, seen.severity) for seen in found] == [
        ("the system under test wrote: 12:01 ERROR disk full", Severity.NOTE)
    ]


def test_findings_of_oracles_count_with_the_others() -> None:
    class NotesEveryAnswer:
        def observe(self, event: Event) -> Iterable[Observation]:
            if isinstance(event, MessageReceived):
                yield Observation("an answer", Severity.VIOLATION, "Server")

    strict = SPEC.replace(' | "no\\n"', "")
    made = campaign(strict, 1, Budget(Until.FOREVER, sessions=6), k=3, other=SPEC)
    made._oracles = [NotesEveryAnswer()]
    done = made.run()
    assert {finding.kind.label for finding in done.findings} == {"oracle", "unexpected response"}
    assert done.progress.findings == len(done.findings)
    assert max(len(finding.messages) for finding in done.findings) > 3  # the sessions went on


def test_what_the_tester_wrote_tells_the_findings_of_two_oracles_apart() -> None:
    found = run(ForbiddenBytes(rb"no\n"), ForbiddenBytes(rb"o\n")).findings
    assert {finding.fingerprint.constraint for finding in found} == {
        r"ForbiddenBytes(b'no\\n')",
        r"ForbiddenBytes(b'o\\n')",
    }
    assert len({finding.fingerprint.cause for finding in found}) == 1  # what was quoted is left out there


def test_the_same_oracle_finds_the_same_problem_with_other_bytes() -> None:
    found = run(ForbiddenBytes(rb"(yes|no)\n")).findings
    assert len({finding.message for finding in found}) == 2
    assert len({finding.fingerprint for finding in found}) == 1
