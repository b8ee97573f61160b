"""What a COMMAND that we talk to writes as its errors: the reports of sanitizers are findings, other lines are not."""

from __future__ import annotations

import sys

import pytest

import palaver
from palaver.campaign.run import Campaign
from palaver.session.findings import FindingKind, Severity

SPEC = """
<start> ::= <In:ask> <Out:answer>
<ask> ::= "GET " r"[a-z]{3}" "\\n"
<answer> ::= "OK\\n"
"""
ANSWERS = """
import os, sys
for line in sys.stdin:
    print(WRITTEN, file=sys.stderr, flush=True)
    THEN
    print("OK", flush=True)
"""


def talked(written: str, then: str = "pass") -> Campaign:
    code = ANSWERS.replace("WRITTEN", repr(written)).replace("THEN", then)
    command = (sys.executable, "-SE", "-c", code)
    return palaver.talk(palaver.loads(SPEC), program=command, seed=1, sessions=2).run()


def test_a_report_without_a_crash_is_a_finding_of_its_session(capfd: pytest.CaptureFixture[str]) -> None:
    ran = talked("parse.c:12:3: runtime error: signed integer overflow")
    assert [(finding.kind, finding.session) for finding in ran.findings] == [
        (FindingKind.REPORT, 1),
        (FindingKind.REPORT, 2),
    ]
    assert len({finding.fingerprint for finding in ran.findings}) == 1
    assert "runtime error" in capfd.readouterr().err  # it is still shown as it comes


def test_a_crash_with_a_report_is_one_finding() -> None:
    ran = talked("==9==ERROR: AddressSanitizer: heap-use-after-free in handle()", "os.abort()")
    assert [finding.kind for finding in ran.findings] == [FindingKind.CRASH] * 2
    assert "SIGABRT: AddressSanitizer: heap-use-after-free" in ran.findings[0].message


@pytest.mark.parametrize("line", ["listening", "Traceback (most recent call last):\n  ...\nValueError: handled"])
def test_other_lines_are_no_findings(line: str) -> None:
    assert [each for each in talked(line).findings if each.severity is Severity.VIOLATION] == []
