"""The page: everything about a run in one file of HTML, which needs no network and no server.

Whatever comes from the peer, the spec or the command line is data for the template, which escapes it; the policy of the
page lets a browser run its one script and use its one style sheet, and load nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from palaver.errors import PalaverError
from palaver.exporting.conversation import conversation_of
from palaver.exporting.pcapng import capture
from palaver.exporting.reproducer import script
from palaver.printable import counted, printable
from palaver.publishing.curves import coverage_curve, session_strip
from palaver.publishing.finding_groups import FindingGroup
from palaver.publishing.publishing_limits import (
    MAX_FINDINGS_EXPORTED,
    MAX_FINDINGS_LISTED,
    MAX_FINDINGS_SHOWN,
    MAX_TABLE_ROWS,
    REFRESH_S,
)
from palaver.publishing.run_report import RunReport
from palaver.session.findings import Verdict

# The width of a diagram, and that of the column for it on a wide screen.
_WIDTH = re.compile(r'<svg [^>]*\bwidth="(\d+)"')
_ROOM_FOR_STATES = 1080
# So many findings can be read without a click.
_OPEN_FINDINGS = 8

_TONES = {Verdict.PASS: "good", Verdict.FAIL: "bad", Verdict.ERROR: "bad", Verdict.INCONCLUSIVE: "warn"}
_HEADLINES = {
    Verdict.PASS: "Passed",
    Verdict.FAIL: "Failed",
    Verdict.ERROR: "The spec or the set-up is wrong",
    Verdict.INCONCLUSIVE: "Inconclusive",
}


def page(report: RunReport, *, is_live: bool = False) -> str:
    """The page of a run; a live one asks the browser to read it again, as long as the run lasts."""
    environment = _environment()
    css, code = _part("page.css"), _part("page.js")
    new, known = report.with_status("new", "error"), report.with_status("known")
    shown = report.groups[:MAX_FINDINGS_SHOWN]
    listed = report.groups[MAX_FINDINGS_SHOWN : MAX_FINDINGS_SHOWN + MAX_FINDINGS_LISTED]
    ours, theirs = _parties(report)
    exported = {group.digest for group in shown[:MAX_FINDINGS_EXPORTED]}
    html: str = environment.get_template("page.html").render(
        report=report,
        policy=_policy(css, code),
        css=Markup(css),
        script=Markup(code),
        is_live=is_live and report.is_running,
        refresh=REFRESH_S,
        tone=_TONES[report.verdict],
        headline=headline(report),
        summary=summary(report),
        new=new,
        known=known,
        notes=report.with_status("note"),
        inconclusive=report.with_status("inconclusive"),
        statuses=list(dict.fromkeys(group.status for group in report.groups)),
        shown=shown,
        listed=listed,
        unlisted=len(report.groups) - len(shown) - len(listed),
        open_findings=_OPEN_FINDINGS,
        rows=MAX_TABLE_ROWS,
        curves=_curves(report),
        states=Markup(report.state_diagram),
        is_large=int((_WIDTH.search(report.state_diagram) or [0, 0])[1]) > _ROOM_FOR_STATES,
        strip=Markup(session_strip(report.sessions)),
        reasons=_by_kind(report.reasons),
        ours=ours,
        theirs=theirs,
        command=_command(report),
        attachments=lambda group: list(_attachments(group)) if group.digest in exported else [],
    )
    return html


def headline(report: RunReport) -> str:
    """The answer in a line."""
    new = len(report.with_status("new"))
    if report.is_running:
        return f"Running: {counted(new, 'new finding')} so far"
    text = _HEADLINES[report.verdict]
    return f"{text}: {counted(new, 'new finding')}" if new and report.verdict is Verdict.FAIL else text


def summary(report: RunReport) -> str:
    """The size of the run in a line."""
    sent, received = report.messages
    names = ", ".join(PurePath(name).name for name in report.spec_names)
    size = f"{counted(len(report.sessions), 'session')}, {counted(sent, 'message')} sent, {received} received"
    return f"{names}: {size}, in {_seconds(report.seconds)}. Ended: {report.run.ending}."


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("palaver.publishing", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=_shown,
    )
    environment.filters["milliseconds"] = lambda seconds: f"{seconds * 1000:.1f}"
    environment.filters["seconds"] = _seconds
    environment.filters["word"] = lambda name: shlex.quote(str(name))
    environment.filters["file_name"] = lambda name: PurePath(name).name
    return environment


def _shown(value: object) -> object:
    """The values for the template, without characters that cannot be seen, or that turn the direction of writing."""
    text = str(value) if isinstance(value, PurePath) else value
    return printable(text) if type(text) is str else value  # markup is a kind of text, and ready


def _seconds(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f} min {rest:.0f} s" if minutes else f"{seconds:.1f} s"


@cache
def _part(name: str) -> str:
    return files("palaver.publishing").joinpath("templates", name).read_text(encoding="utf-8").strip()


def _policy(css: str, code: str) -> str:
    """The content security policy: what is in the page itself, and nothing else."""
    style, script_ = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, code))
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script_}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _curves(report: RunReport) -> list[tuple[str, Markup]]:
    total = report.covered[1]
    drawn = (
        ("Paths over messages", coverage_curve(report.sessions, total, by_time=False)),
        ("Paths over time", coverage_curve(report.sessions, total, by_time=True)),
    )
    return [(title, Markup(curve)) for title, curve in drawn if curve]


# The beginning of a reason, which says what kind it is.
_KIND = re.compile(r"(the peer never \w+|we never \w+|no valid|a known finding|no way|not looked)")
_KINDS = {
    "no valid": "no valid message was found",
    "a known finding": "behind a known finding",
    "no way": "no way to them was found",
    "not looked": "not looked at one by one",
}


def _by_kind(reasons: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for reason in reasons:
        kind = _KIND.match(reason["what"])
        name = kind[0] if kind else "other reasons"
        found.setdefault(_KINDS.get(name, name), []).append(reason)
    return list(found.items())


def _parties(report: RunReport) -> tuple[str, str]:
    """The names of both sides of a conversation."""
    ours = list(report.run.parties)
    known = () if report.spec is None else report.spec.analysis.messages
    names = dict.fromkeys(name for each in known for name in (each.sender, each.recipient) if name)
    theirs = [name for name in names if name not in ours]
    return ", ".join(ours) or "we", ", ".join(theirs) or "the peer"


def _command(report: RunReport) -> str:
    words = json.loads(report.run.fact("command") or "[]")
    return shlex.join(["palaver", *words[1:]]) if words else ""


def _attachments(group: FindingGroup) -> Iterator[tuple[str, str, str]]:
    """The script and the capture of a finding: name, type and data of each; fewer if it cannot be exported."""
    number = group.first.number
    try:
        conversation = conversation_of(group.run, number)
        made = (
            (f"finding-{number}.py", "text/x-python", script(conversation).encode()),
            (f"finding-{number}.pcapng", "application/octet-stream", capture(conversation)),
        )
    except PalaverError:
        return
    for name, kind, data in made:
        yield name, kind, base64.b64encode(data).decode()
