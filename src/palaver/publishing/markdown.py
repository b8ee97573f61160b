"""A run as Markdown, for a comment on a change or the summary of a step; and as annotations of GitHub's actions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from palaver.printable import counted, printable
from palaver.publishing.finding_groups import FindingGroup
from palaver.publishing.publishing_limits import MAX_FINDINGS_IN_SUMMARY
from palaver.publishing.run_report import RunReport
from palaver.publishing.sarif import relative

_MARKS = {"new": "❌", "error": "❌", "known": "➖", "inconclusive": "❔", "note": "ℹ️"}


def markdown(report: RunReport) -> str:
    """The summary."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: RunReport) -> Iterator[str]:
    sent, received = report.messages
    names = ", ".join(_code(PurePath(name).name) for name in report.spec_names)
    new = report.with_status("new", "error")
    yield f"### palaver: {report.verdict.value}, {len(new)} new, {len(report.with_status('known'))} known"
    yield ""
    size = f"{counted(len(report.sessions), 'session')}, {counted(sent, 'message')} sent, {received} received"
    yield f"{names}: {size}, seed {report.run.seed}; ended: {_plain(report.run.ending)}"
    yield ""
    if report.groups:
        yield "| | problem | times | place |"
        yield "|---|---|---:|---|"
        for group in report.groups[:MAX_FINDINGS_IN_SUMMARY]:
            place = _code(group.place.name) if group.place else ""
            title = _in_cell(_code(group.title))
            yield f"| {_MARKS[group.status]} {group.status} | {title} | {len(group.members)} | {_in_cell(place)} |"
        left = len(report.groups) - MAX_FINDINGS_IN_SUMMARY
        if left > 0:
            yield f"| | … {left} more | | |"
        yield ""
    for group in new[:1]:
        yield from _conversation(group)
    yield "| coverage | covered | of |"
    yield "|---|---:|---:|"
    for name, reached, total in report.goals:
        yield f"| {_plain(name)} | {reached} | {total} |"
    for comparison in report.comparisons:
        yield ""
        gone, gained = len(comparison.gone), len(comparison.gained)
        found = f"{len(comparison.new)} new, {gone} fixed or not met again, {len(comparison.still_there)} still there"
        paths = f"{counted(gained, 'path')} gained, {len(comparison.lost)} lost"
        yield f"Since {_code(str(comparison.before.run.folder))}: {found}; {paths}."


def _conversation(group: FindingGroup) -> Iterator[str]:
    text = [step.line for step in group.steps]
    said = printable("\n".join(text))
    fence = _fence(said, 3)
    yield "The first new one:"
    yield ""
    yield f"{fence}text"
    yield said
    yield fence
    yield ""
    yield f"Again: {_code(group.commands[0][1])}"
    yield ""


def _fence(text: str, least: int) -> str:
    """Backticks that do not occur in the text."""
    return "`" * max(least, 1 + max((len(found) for found in re.findall("`+", text)), default=0))


def _code(text: str) -> str:
    """Text that Markdown leaves alone."""
    text = " ".join(printable(text).split())
    fence = _fence(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str) -> str:
    """Text with what Markdown and HTML would obey taken literally."""
    return re.sub(r"([\\`*_{}\[\]<>#|!&~])", r"\\\1", " ".join(printable(text).split()))


def github_annotations(report: RunReport) -> str:
    """Commands that make GitHub show each problem at its place in the spec."""
    lines = []
    for group in report.groups:
        command = {"new": "error", "error": "error", "inconclusive": "warning"}.get(group.status, "notice")
        place = group.place
        where: dict[str, object] = {"file": relative(report.spec_names[-1]), "line": 1}
        if place is not None:
            where = {"file": relative(place.file), "line": place.line}
            where |= {"col": place.column, "endColumn": place.end_column}
        where |= {"title": f"palaver: {group.first.label} ({group.status})"}
        told = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in where.items())
        lines.append(f"::{command} {told}::{_escaped(printable(group.title), '')}\n")
    return "".join(lines)


def _escaped(text: str, more: str) -> str:
    """The text as commands of GitHub have it."""
    for char in "%\r\n" + more:
        text = text.replace(char, f"%{ord(char):02X}")
    return text
