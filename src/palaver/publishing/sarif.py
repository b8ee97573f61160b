"""A run as SARIF 2.1.0 (OASIS), as code hosts read it: each problem at its place in the spec, with what was said."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from palaver.printable import printable
from palaver.publishing.finding_groups import FindingGroup
from palaver.publishing.run_report import RunReport
from palaver.session.findings import FindingKind, Verdict

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# What the levels of SARIF say of the statuses of problems; known ones are suppressed.
_LEVELS = {"new": "error", "error": "error", "known": "error", "inconclusive": "warning", "note": "note"}
_FULL = {
    Verdict.FAIL: "The peer broke the protocol.",
    Verdict.INCONCLUSIVE: "Nothing is said about the peer.",
    Verdict.ERROR: "The spec, or something on our side, failed.",
}


def sarif(report: RunReport) -> str:
    """The log file."""
    gone = [(comparison.before, group) for comparison in report.comparisons for group in comparison.gone]
    found = {group.first.kind for group in (*report.groups, *(group for _, group in gone))}
    rules = [kind for kind in FindingKind if kind in found]
    results = [_result(report, group, rules.index(group.first.kind)) for group in report.groups]
    results += _absent(gone, rules)
    driver = {
        "name": "palaver",
        "version": report.run.fact("version of palaver") or "unknown",
        "rules": [_rule(kind) for kind in rules],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": report.verdict is not Verdict.ERROR}],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"seed": report.run.seed, "run": str(report.run.folder), "verdict": report.verdict.value},
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule_id(kind: FindingKind) -> str:
    return kind.label.lower().replace(" ", "-")


def _rule(kind: FindingKind) -> dict[str, Any]:
    words = kind.label.split()
    return {
        "id": _rule_id(kind),
        "name": "".join(word.capitalize() for word in words),
        "shortDescription": {"text": kind.label},
        "fullDescription": {"text": f"{kind.label}. {_FULL[kind.verdict]}"},
        "defaultConfiguration": {"level": "error" if kind.verdict is not Verdict.INCONCLUSIVE else "warning"},
    }


def _result(report: RunReport, group: FindingGroup, rule: int) -> dict[str, Any]:
    first = group.first
    result: dict[str, Any] = {
        "ruleId": _rule_id(first.kind),
        "ruleIndex": rule,
        "level": _LEVELS[group.status],
        "message": {"text": printable(group.title)},
        "locations": [location_of(report, group)],
        "partialFingerprints": {"palaver/v1": group.digest},
        "occurrenceCount": len(group.members),
        "codeFlows": [_flow(report, group)],
        "properties": {"session": first.session, "finding": first.number, "replay": group.commands[0][1]},
    }
    if group.is_known:
        result["suppressions"] = [{"kind": "external", "justification": printable(group.members[0].known)}]
    if report.earlier:
        result["baselineState"] = "unchanged" if group.is_old else "new"
    return result


def _absent(gone: list[tuple[RunReport, FindingGroup]], rules: list[FindingKind]) -> list[dict[str, Any]]:
    """The problems of earlier runs that were not found this time."""
    found: dict[str, dict[str, Any]] = {}
    for before, group in gone:
        result = _result(before, group, rules.index(group.first.kind))
        found.setdefault(group.digest, {**result, "baselineState": "absent"})
    return list(found.values())


def relative(file: str) -> str:
    """The name of a file as code hosts know it: from the root of its repository, or else from where palaver was called.

    A job may have gone into a folder of the repository before it called palaver.
    """
    path = Path(os.path.normpath(Path.cwd() / file))
    if not path.exists():
        return Path(file).as_posix()
    root = next((folder for folder in path.parents if (folder / ".git").exists()), Path.cwd())
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def uri_of(file: str) -> str:
    """The name of a file as SARIF wants it."""
    path = Path(relative(file))
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def location_of(report: RunReport, group: FindingGroup) -> dict[str, Any]:
    """The place in the spec; its first line if there is no better one."""
    place = group.place
    if place is None:
        file = report.spec_names[-1] if report.spec_names else "spec"
        return _location(file, {"startLine": 1})
    region = {"startLine": place.line, "startColumn": place.column, "endColumn": place.end_column}
    return _location(place.file, region | {"snippet": {"text": place.source.line(place.line)}})


def _location(file: str, region: dict[str, Any]) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": uri_of(file)}, "region": region}}


def _flow(report: RunReport, group: FindingGroup) -> dict[str, Any]:
    """The conversation as the steps of a thread; each stands where the spec has its message."""
    place = location_of(report, group)
    steps = []
    for step in group.steps:
        location = {"location": {**place, "message": {"text": printable(step.line)}}}
        importance = {"importance": "essential"} if step.is_offending else {}
        steps.append({**location, **importance})
    return {"threadFlows": [{"locations": steps}]}
