"""Crash reports of programs about errors of their own: from sanitizers, panics, tracebacks, failed assertions.

A report is *sure* if a program that works never writes such a line. Others, such as a traceback, may belong to an error
that was handled: they tell where a program was when it crashed, and are a note otherwise.
"""

from __future__ import annotations

import re

from palaver.campaign.campaign_limits import MAX_OUTPUT_LINE, MAX_REPORT_LINES, MAX_REPORTS
from palaver.lean_dataclasses import dataclass, replace
from palaver.printable import without_colours


@dataclass(frozen=True, slots=True)
class CrashReport:
    """One report: who wrote it, what is wrong, and where."""

    tool: str
    summary: str
    frame: str = ""  # the top frame of the stack, if it was written: function and place
    is_sure: bool = True

    @property
    def cause(self) -> str:
        """The part that tells reports apart: the kind of error, and the place if it is known."""
        what = self.summary.partition(" ")[0] if self.frame else self.summary
        return f"{self.tool}: {what}" + (f" in {self.frame}" if self.frame else "")


@dataclass(frozen=True, slots=True)
class _Format:
    """The format of a tool's reports: the first line, the lines of the stack, and the last line."""

    tool: str  # "" if the first line names it
    head: re.Pattern[str]
    frame: re.Pattern[str] | None = None
    end: re.Pattern[str] | None = None  # None: the first line is all of it
    is_sure: bool = True
    last_frame_counts: bool = False  # the stack is written with its top at the end


# Frames of the runtime, which are on top of many stacks.
_RUNTIME = re.compile(
    r"_*(?:interceptor_|asan_|sanitizer_|msan_|tsan_|ubsan_|GI_|pthread_kill|libc_message|assert_fail|memcpy|memmove"
    r"|memset|str[a-z]+|malloc|calloc|realloc|free|abort|raise|operator (?:new|delete))|panic\(|runtime\."
)

_FORMATS = (
    _Format(
        "",
        re.compile(r"(?:==\d+==)?\s*(?:ERROR|WARNING): (?P<tool>\w+Sanitizer|libFuzzer): (?P<summary>.+)"),
        re.compile(r"\s*#\d+ (?:0x[0-9a-f]+ )?(?:in )?(?P<frame>.+)"),
        re.compile(r"SUMMARY: \w+Sanitizer|==\d+==\s*ABORTING"),
    ),
    _Format("UndefinedBehaviorSanitizer", re.compile(r"(?P<frame>\S+:\d+:\d+): runtime error: (?P<summary>.+)")),
    _Format(
        "Valgrind",
        re.compile(
            r"==\d+== (?P<summary>Invalid (?:read|write|free).*|Use of uninitialised value.*|Conditional jump .*)"
        ),
        re.compile(r"==\d+==\s+(?:at|by) 0x[0-9A-F]+: (?P<frame>.+)"),
        re.compile(r"==\d+== *$"),
    ),
    _Format(
        "Go",
        re.compile(r"WARNING: (?P<summary>DATA RACE)"),
        re.compile(r"  (?P<frame>[\w./*()]+\.[\w.*()]+\(.*\))"),
        re.compile(r"=+$"),
    ),
    _Format("C", re.compile(r"(?:[^:]*: )?(?P<frame>\S+:\d+: [^:]+: )?(?P<summary>Assertion [`'].+' failed)")),
    _Format(
        "C",
        re.compile(
            r"(?:.*: )?(?P<summary>\*\*\* .+ \*\*\*: terminated|double free or corruption.*|munmap_chunk\(\): .+"
            r"|(?:free|malloc|realloc)\(\): (?:invalid|corrupted|double|unaligned|memory|mismatching).*"
            r"|corrupted size vs\. prev_size.*)"
        ),
    ),
    _Format(
        "Go",
        re.compile(r"(?P<summary>(?:panic|fatal error): .+)"),
        re.compile(r"(?P<frame>[\w./*()]+\.[\w.*()]+\(.*\))"),
        re.compile(r"exit status \d+"),
        is_sure=False,
    ),
    _Format(
        "Python",
        re.compile(r"(?P<summary>Traceback) \(most recent call last\):"),
        re.compile(r"  File \"(?P<file>.+)\", line (?P<line>\d+), in (?P<function>.+)"),
        re.compile(r"(?P<summary>[A-Za-z_][\w.]*(?::.*)?)$"),
        is_sure=False,
        last_frame_counts=True,
    ),
    _Format("Rust", re.compile(r"(?P<summary>thread '.*'.* panicked) at (?P<frame>.+)"), is_sure=False),
    _Format(
        "Java",
        re.compile(r"(?P<summary>Exception in thread .+)"),
        re.compile(r"\s+at (?P<frame>.+)"),
        re.compile(r"(?!\s+at |Caused by|\s*\.\.\.)"),
        is_sure=False,
    ),
)


def _plain_text(line: bytes) -> str:
    """A line as text. Sanitizers colour what they write, if they take us for a terminal."""
    return without_colours(line.decode("utf-8", "replace"))


class ReportReader:
    """Reads the output of a program, in pieces, and collects the reports in it."""

    def __init__(self) -> None:
        self._line = b""  # the last one, which may go on
        self._reports: list[CrashReport] = []
        self._format: _Format | None = None  # of the report that goes on
        self._lines = 0  # of that

    @property
    def is_inside(self) -> bool:
        """True if a report has begun and not ended."""
        return self._format is not None

    def feed(self, data: bytes) -> None:
        """Read more output."""
        *lines, rest = (self._line + data).split(b"\n")
        for line in lines:
            self._read(_plain_text(line[:MAX_OUTPUT_LINE]).rstrip("\r"))
        self._line = rest[:MAX_OUTPUT_LINE]

    def take(self) -> list[CrashReport]:
        """Return the reports since the last call. One that has not ended is taken as it is."""
        if self._line:
            line, self._line = self._line, b""
            self._read(_plain_text(line))
        self._format = None
        reports, self._reports = self._reports, []
        return reports

    def _read(self, line: str) -> None:
        if self._format is not None:
            self._go_on(self._format, line)
        for form in _FORMATS:
            if found := form.head.match(line):
                self._begin(form, found)
                return

    def _begin(self, form: _Format, found: re.Match[str]) -> None:
        named = found.groupdict()
        frame = (named.get("frame") or "").rstrip(": ")
        report = CrashReport(form.tool or named["tool"], named["summary"].strip(), frame, form.is_sure)
        if len(self._reports) < MAX_REPORTS:
            self._reports.append(report)
            self._format, self._lines = (None if form.end is None else form), 0

    def _go_on(self, form: _Format, line: str) -> None:
        report = self._reports[-1]
        self._lines += 1
        assert form.end is not None, "a report of one line does not go on"
        if form.frame is not None and (found := form.frame.match(line)):
            named = found.groupdict()
            frame = named["frame"].strip() if "frame" in named else "{function} ({file}:{line})".format(**named)
            if form.last_frame_counts or (not report.frame and not _RUNTIME.match(frame)):
                self._reports[-1] = replace(report, frame=frame)
        elif ended := form.end.match(line):
            if summary := ended.groupdict().get("summary"):
                self._reports[-1] = replace(report, summary=summary)
            self._format = None
        if self._lines >= MAX_REPORT_LINES:
            self._format = None
