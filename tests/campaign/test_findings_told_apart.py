"""Findings of different problems are all shown, and those of one problem once."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver
from palaver.campaign.campaign_limits import MAX_REPORT_LINES
from palaver.campaign.crash_reports import CrashReport, ReportReader
from palaver.campaign.run import Campaign
from palaver.reporting.console import ConsoleReport
from palaver.session.findings import Finding, FindingKind

CASES = Path(__file__).parents[1] / "cases"


def campaign(server: str, *words: str, sessions: int = 12, **options: object) -> Campaign:
    command = shlex.join([sys.executable, "-SE", str(CASES / server), "{port}", *words])
    return palaver.talk(CASES / "ask.fan", target=command, seed=1, sessions=sessions, **options)  # type: ignore[arg-type]


def different(found: Campaign) -> list[Finding]:
    return list({finding.fingerprint: finding for finding in reversed(found.findings)}.values())[::-1]


def test_two_different_crashes_are_two_findings_and_each_session_has_one() -> None:
    ran = campaign("ask.py").run()
    assert {finding.kind for finding in ran.findings} == {FindingKind.CRASH}
    assert len({finding.session for finding in ran.findings}) == len(ran.findings)
    assert sorted(finding.cause for finding in different(ran))[0] == "exited with code 1"
    assert len(different(ran)) == 2


def test_two_different_answers_are_both_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ran = campaign("wrong.py", sessions=6)
    ran.attach(ConsoleReport(ran, console="none")).run()
    shown = capsys.readouterr().out
    assert "'ERR busy\\n'" in shown
    assert "LEAKED SECRET" in shown
    assert len(different(ran)) == 2


def finding(got: bytes, **others: object) -> Finding:
    return Finding(FindingKind.UNPARSEABLE, 0.0, "unexpected", "Server", got=got, **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"ERR 17 busy\n", b"ERR 4711 busy\n"),
        (b"550 id 3f2a9c01 failed\n", b"550 id 77b0aa2e failed\n"),
        (b"at 12:01:07\n", b"at 23:59:59\n"),
    ],
)
def test_numbers_and_random_identifiers_do_not_tell_findings_apart(one: bytes, other: bytes) -> None:
    assert finding(one).fingerprint == finding(other).fingerprint


def test_words_and_the_first_wrong_bytes_tell_findings_apart() -> None:
    assert finding(b"ERR busy\n").fingerprint != finding(b"ERR full\n").fingerprint
    assert finding(b"\x01\xff\x02", offset=1).fingerprint != finding(b"\x01\xfe\x02", offset=1).fingerprint
    assert finding(b"\x01\xff\x02", offset=1).fingerprint == finding(b"\x09\xff\x02", offset=1).fingerprint


# --- reports of errors ------------------------------------------------------------------------------------------------

ASAN = b"""\
=================================================================
==4711==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x4f4b2e bp 0x7ffc sp 0x7ffb
READ of size 1 at 0x602000000010 thread T0
    #0 0x4a1b2e in __interceptor_strlen (/srv/server+0x4a1b2e)
    #1 0x4f4b2e in parse_header /src/http.c:42:7
    #2 0x4f5000 in main /src/main.c:10:3
freed by thread T0 here:
    #0 0x4b1b2e in free (/srv/server+0x4b1b2e)
SUMMARY: AddressSanitizer: heap-use-after-free /src/http.c:42:7 in parse_header
==4711==ABORTING
"""
TRACEBACK = b"""\
Traceback (most recent call last):
  File "/srv/app.py", line 3, in <module>
    serve()
  File "/srv/app.py", line 9, in serve
    raise ValueError("17")
ValueError: 17
"""
GO = b"""\
panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.parse(0x1, {0xc000012080, 0x3})
\t/src/main.go:12 +0x1d
exit status 2
"""
REPORTS = [
    (ASAN, CrashReport("AddressSanitizer", "heap-use-after-free on", "parse_header /src/http.c:42:7")),
    (b"a.c:1:2: runtime error: x\n", CrashReport("UndefinedBehaviorSanitizer", "x", "a.c:1:2")),
    (b"WARNING: ThreadSanitizer: data race (pid=1)\n  #0 f a.c:1\n", CrashReport("ThreadSanitizer", "data", "f a.c:1")),
    (b"WARNING: DATA RACE\n  main.f()\n", CrashReport("Go", "DATA RACE", "main.f()")),
    (b"srv: a.c:9: f: Assertion `x' failed.\n", CrashReport("C", "Assertion `x' failed", "a.c:9: f")),
    (b"*** stack smashing detected ***: terminated\n", CrashReport("C", "*** stack smashing")),
    (TRACEBACK, CrashReport("Python", "ValueError: 17", "serve (/srv/app.py:9)", is_sure=False)),
    (GO, CrashReport("Go", "panic: runtime error", "main.parse(0x1, {0xc000012080, 0x3})", is_sure=False)),
    (b"thread 'main' panicked at a.rs:1:2:\n", CrashReport("Rust", "thread", "a.rs:1:2:", is_sure=False)),
]


@pytest.mark.parametrize(("output", "expected"), REPORTS, ids=[report.tool for _, report in REPORTS])
def test_reports_of_errors_are_read_with_their_top_frame(output: bytes, expected: CrashReport) -> None:
    reader = ReportReader()
    reader.feed(b"ready\n" + output)
    (report,) = reader.take()
    assert (report.tool, report.is_sure) == (expected.tool, expected.is_sure)
    assert report.summary.startswith(expected.summary)
    assert report.frame.rstrip(":") == expected.frame.rstrip(":")


@given(st.lists(st.integers(1, 30), max_size=60), st.permutations([output for output, _ in REPORTS]))
def test_reports_are_the_same_in_whatever_pieces_they_come(sizes: list[int], outputs: list[bytes]) -> None:
    whole, pieces = ReportReader(), ReportReader()
    data = b"".join(outputs)
    whole.feed(data)
    for size in sizes:
        pieces.feed(data[:size])
        data = data[size:]
    pieces.feed(data)
    assert whole.take() == pieces.take()


@pytest.mark.parametrize(
    "line",
    [
        b"[error] upstream panic: no\n",
        b"server.go:12: runtime error in request\n",
        b"AddressSanitizer is on\n",
        b"WARNING: no certificate\n",
        b"GET /ERROR: x\n",
    ],
)
def test_other_lines_are_no_reports(line: bytes) -> None:
    reader = ReportReader()
    reader.feed(line)
    assert reader.take() == []


@pytest.mark.parametrize(("line", "frame"), [(MAX_REPORT_LINES, "parse"), (MAX_REPORT_LINES + 1, "")])
def test_a_report_ends_after_so_many_lines(line: int, frame: str) -> None:
    reader = ReportReader()
    reader.feed(
        b"==1==ERROR: AddressSanitizer: heap-use-after-free\n" + b"...\n" * (line - 1) + b"    #0 0x1 in parse\n"
    )
    (report,) = reader.take()
    assert report.frame == frame


def test_the_next_report_has_as_many_lines_again() -> None:
    reader = ReportReader()
    head, filler = b"==1==ERROR: AddressSanitizer: heap-use-after-free\n", b"...\n" * (MAX_REPORT_LINES - 1)
    reader.feed((head + filler) + (head + filler + b"    #0 0x1 in parse\n"))
    assert [report.frame for report in reader.take()] == ["", "parse"]
