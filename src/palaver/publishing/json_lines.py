"""A run as lines of JSON: what happened, in order. `docs/report.schema.json` says what a line holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from palaver.publishing.finding_groups import FindingGroup
from palaver.publishing.run_report import RunReport
from palaver.recording.run_reader import RecordedFinding

# Raised whenever a reader of the version before would misunderstand a line. New fields may be added without that.
FORMAT: Final = "palaver-report/1"


def json_lines(report: RunReport) -> str:
    """All lines."""
    return "".join(f"{json.dumps(line)}\n" for line in _lines(report))


def _lines(report: RunReport) -> Iterator[dict[str, Any]]:
    run = report.run
    yield {
        "type": "run",
        "format": FORMAT,
        "run": str(run.folder),
        "spec": report.spec_names,
        "started": run.fact("started"),
        "seed": run.seed,
        "parties": list(run.parties),
        "palaver": run.fact("version of palaver"),
    }
    groups = {group.digest: group for group in report.groups}
    firsts = {group.first.number for group in report.groups}
    findings: dict[int, list[RecordedFinding]] = {}
    for finding in run.findings:
        findings.setdefault(finding.session, []).append(finding)
    for session in report.sessions:
        yield {
            "type": "session",
            "session": session.number,
            "started": round(session.started, 6),
            "ended": None if session.ended is None else round(session.ended, 6),
            "guided": session.is_guided,
            "verdict": session.verdict.value if session.verdict else None,
            "cut_off": session.cut_off or None,
            "sent": session.sent,
            "received": session.received,
            "covered": session.covered,
            "total": session.total,
        }
        for finding in findings.pop(session.number, ()):
            yield _finding(finding, groups[finding.digest], is_first=finding.number in firsts)
    for finding in (each for rest in findings.values() for each in rest):  # those that belong to no session
        yield _finding(finding, groups[finding.digest], is_first=finding.number in firsts)
    yield from _coverage(report)
    yield {
        "type": "end",
        "verdict": report.verdict.value,
        "reason": run.ending,
        "sessions": len(report.sessions),
        "new": len(report.with_status("new", "error")),
        "known": len(report.with_status("known")),
    }


def _finding(finding: RecordedFinding, group: FindingGroup, *, is_first: bool) -> dict[str, Any]:
    place = group.place
    line: dict[str, Any] = {
        "type": "finding",
        "finding": finding.number,
        "session": finding.session,
        "at": round(finding.at, 6),
        "kind": finding.kind.label,
        "status": group.status,
        "fingerprint": finding.digest,
        "party": finding.party,
        "message": finding.message,
        "expected": list(finding.expected),
        "got": finding.got.hex(),
        "offset": finding.offset,
        "constraint": finding.constraint or None,
        "known": finding.known or None,
        "place": place and {"file": place.file, "line": place.line, "column": place.column},
    }
    if is_first:  # the others tell nothing new
        line["conversation"] = [
            {
                **{"sender": said.sender, "symbol": said.symbol, "data": said.data.hex(), "is_ours": said.is_ours},
                **({"aside": said.aside} if said.aside else {}),
            }
            for said in group.said
        ]
        line["replay"] = group.commands[0][1]
    return line


def _coverage(report: RunReport) -> Iterator[dict[str, Any]]:
    for name, reached, total in report.goals:
        yield {"type": "coverage", "of": name, "covered": reached, "total": total}
    for text, held, failed in report.constraints:
        yield {"type": "constraint", "constraint": text, "held": held, "broken": failed}
    for reason in report.reasons:
        yield {"type": "missing", "paths": reason["paths"], "reason": reason["text"]}
