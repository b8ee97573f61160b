"""The errors of the programs that sessions talk to (COMMAND): what sanitizers report there are findings."""

from __future__ import annotations

from collections.abc import Sequence

from palaver.campaign.campaign_limits import MAX_OUTPUT_BYTES
from palaver.campaign.crash_reports import ReportReader
from palaver.campaign.target_findings import TargetNews, explained
from palaver.lean_dataclasses import replace
from palaver.session.findings import Finding, FindingKind, SessionMessage


class CommandErrors:
    """Reads what such programs write as errors."""

    def __init__(self) -> None:
        self._reader = ReportReader()
        self._written = bytearray()  # the end of it

    def feed(self, data: bytes) -> None:
        """Read more of it."""
        self._reader.feed(data)
        self._written += data
        del self._written[:-MAX_OUTPUT_BYTES]

    def explain(self, findings: Sequence[Finding], said: Sequence[SessionMessage], at: float) -> list[Finding]:
        """The findings of a session, with those in what was written since the last one.

        A report explains a crash: that is one finding.
        """
        reports = tuple(report for report in self._reader.take() if report.is_sure)
        written = bytes(self._written)
        self._written.clear()
        if not reports:
            return list(findings)
        crash = next((finding for finding in findings if finding.kind is FindingKind.CRASH), None)
        if crash is None:
            return explained(findings, TargetNews(at, reports=reports, output=written), said)
        cause = reports[-1].cause
        told = replace(crash, message=f"{crash.message}: {cause}", cause=f"{crash.cause}; {cause}", output=written)
        return [told if finding is crash else finding for finding in findings]
