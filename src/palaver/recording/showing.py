"""Recorded conversations as text, JSON lines, annotated hexdump and Mermaid sequence diagram; nothing is left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass
from palaver.printable import counted, printable
from palaver.recording.run_reader import RecordedFinding, RecordedMessage, Run, TargetRecord
from palaver.session.findings import beside, show_all, show_fields

_BYTES_PER_ROW = 16


@dataclass(frozen=True)
class Conversation:
    """A part of a run to be shown: the messages of a session, and what is to be said about them."""

    title: str
    messages: Sequence[RecordedMessage]
    began: float = 0.0  # times are shown from here on
    findings: Sequence[RecordedFinding] = ()
    remarks: Sequence[str] = ()  # about the end of it
    target: Sequence[TargetRecord] = ()
    facts: tuple[tuple[str, Any], ...] = ()  # for programs
    below: Mapping[int, Sequence[str]] = field(default_factory=dict)  # lines about messages, by their places


def conversations(run: Run, *, finding: int | None = None, session: int | None = None) -> list[Conversation]:
    """The conversations to show for a finding or a session. Of a finding that was made small, that comes first.

    :raises RunError: there is no such finding or session, or its messages were not kept
    """
    if finding is not None:
        return [*_shrunk(run, finding), *_before(run, finding), _of_finding(run, run.finding(finding))]
    assert session is not None, "a finding or a session is shown"
    return [_of_session(run, session)]


def _shrunk(run: Run, number: int) -> Iterator[Conversation]:
    small = run.shrinking(number)
    if small is not None:
        title = f"finding {number} made small, {counted(len(small.messages), 'message')}: {small.headline}"
        again = f"reproduced {small.reproduced} of {small.of}" if small.of else "not tried once more"
        remarks = [*small.explanation.splitlines(), f"{again}; {small.reason}"]
        facts = (("finding", number), ("shrunk", True), ("reproduced", small.reproduced), ("of", small.of))
        yield Conversation(title, small.messages, remarks=remarks, facts=facts)


def _before(run: Run, number: int) -> Iterator[Conversation]:
    finding = run.finding(number)
    if finding.has_before and finding.session > 1:
        before = _of_session(run, finding.session - 1)
        yield Conversation("the session before, which may be the cause", before.messages, before.began)


def _of_finding(run: Run, finding: RecordedFinding) -> Conversation:
    session = run.session(finding.session)
    remarks = [*finding.message.splitlines()[1:], *finding.explanation.splitlines(), *_missing_details(run, session)]
    remarks += [f"known: {finding.known}"] if finding.known else []
    messages = run.messages(finding.session)[: finding.messages]
    facts = (("finding", finding.number), ("session", finding.session))
    target = run.target(finding.session)
    return Conversation(finding.headline, messages, session.started, [finding], remarks, target, facts)


def _of_session(run: Run, number: int) -> Conversation:
    session = run.session(number)
    how = session.verdict.value if session.verdict else "interrupted"
    findings = [finding for finding in run.findings if finding.session == number]
    title = f"session {number}: {how}, {counted(session.sent, 'message')} sent, {session.received} received"
    messages = run.messages(number)
    # What is said of a message stands below it: the session may have gone on.
    below = {
        finding.messages: finding.explanation.splitlines()
        for finding in findings
        if finding.got and finding.messages < len(messages) and messages[finding.messages].data == finding.got
    }
    remarks = []
    for finding in findings:
        remarks += [finding.headline, *([] if finding.messages in below else finding.explanation.splitlines())]
    remarks += [f"cut off by {session.cut_off}"] if session.cut_off else []
    remarks += _missing_details(run, session)
    facts = (("session", number), ("verdict", how))
    target = run.target(number)
    return Conversation(title, messages, session.started, findings, remarks, target, facts, below)


def _missing_details(run: Run, session: Any) -> list[str]:
    return [] if session.has_details else ["(its messages were not kept: see --keep and --run-size)"]


def as_text(run: Run, shown: Conversation) -> Iterator[str]:
    """A line for each message, with the time since the session began."""
    yield shown.title
    for at, said in enumerate(shown.messages):
        what = show_all(said.data) if said.data else said.symbol
        yield f"{_time(said.at - shown.began)}  {_who(said)}: {what}{beside(said)}"
        yield from shown.below.get(at, ())
    yield from shown.remarks
    if any(each.data or each.exit_code is not None for each in shown.target):
        yield "the system under test:"
        yield from _target_lines(shown)


def _target_lines(shown: Conversation) -> Iterator[str]:
    for each in shown.target:
        if each.kind == "ended":
            how = "was ended by palaver" if each.exit_code is None else f"ended with exit code {each.exit_code}"
            yield f"{_time(each.at - shown.began)}  {how}"
        for line in each.data.decode("utf-8", "replace").splitlines():
            yield f"{_time(each.at - shown.began)}  | {line}"


def _time(seconds: float) -> str:
    return f"{max(0.0, seconds):9.4f}"


def _who(said: RecordedMessage) -> str:
    return f"{said.sender} -> {said.recipient}" if said.recipient else said.sender


def as_json(run: Run, shown: Conversation) -> Iterator[str]:
    """An object in each line: the conversation, its messages, its findings, and what the system under test did.

    Bytes are hexadecimal digits; `text` has the same as text, if it is UTF-8.
    """
    yield _line(type="conversation", title=shown.title, **dict(shown.facts))
    for said in shown.messages:
        facts = {"sender": said.sender, "recipient": said.recipient, "symbol": said.symbol, "is_ours": said.is_ours}
        facts |= {"aside": said.aside} if said.aside else {}
        yield _line(type="message", number=said.number, at=_rounded(said.at - shown.began), **facts, **_data(said.data))
    for finding in shown.findings:
        where = {"number": finding.number, "session": finding.session, "kind": finding.label, "party": finding.party}
        what = {"message": finding.message, "expected": finding.expected, "constraint": finding.constraint}
        yield _line(
            type="finding",
            **where,
            severity=finding.severity.value,
            **what,
            cause=finding.cause,
            got=finding.got.hex(),
            offset=finding.offset,
            fingerprint=finding.digest,
            known=finding.known or None,
        )
    for each in shown.target:
        at = _rounded(each.at - shown.began)
        yield _line(type="target", what=each.kind, at=at, exit_code=each.exit_code, **_data(each.data))


def _data(data: bytes) -> dict[str, str]:
    try:
        return {"data": data.hex(), "text": data.decode()}
    except UnicodeDecodeError:
        return {"data": data.hex()}


def _rounded(seconds: float) -> float:
    return round(seconds, 6)


def _line(**values: Any) -> str:
    return json.dumps({name: value for name, value in values.items() if value is not None})


def as_hexdump(run: Run, shown: Conversation) -> Iterator[str]:
    """Each message as its fields beside their bytes, or as plain rows of bytes if the spec cannot read it."""
    yield shown.title
    spec = _spec_of(run)
    for at, said in enumerate(shown.messages):
        size = counted(len(said.data), "byte")
        yield f"{_time(said.at - shown.began)}  {_who(said)}: {said.symbol}, {size}{beside(said)}"
        is_known = spec is not None and said.symbol in spec.grammar.bodies_with_beyond
        node = None if spec is None or not is_known else next(spec.readings(said.symbol, said.data), None)
        rows = list(_plain_rows(said.data)) if node is None else show_fields(said.data, node, most=None)
        yield from (f"  {row}" for row in rows)
        yield from shown.below.get(at, ())
    yield from shown.remarks


def _spec_of(run: Run) -> Spec | None:
    try:
        return run.spec
    except PalaverError:  # it needs modules that are not here, say; bytes can be shown without it
        return None


def _plain_rows(data: bytes) -> Iterator[str]:
    for at in range(0, len(data), _BYTES_PER_ROW):
        piece = data[at : at + _BYTES_PER_ROW]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        yield f"{at:04x}  {piece.hex(' '):{3 * _BYTES_PER_ROW}} {text}"


def as_mermaid(run: Run, shown: Conversation) -> Iterator[str]:
    """A sequence diagram in the language of Mermaid."""
    yield "sequenceDiagram"
    yield f"    %% {shown.title}"
    parties = _two_parties(run)
    ends = [_ends(said, parties) for said in shown.messages]
    for party in dict.fromkeys(name for pair in ends for name in pair):
        yield f"    participant {party}"
    for said, (sender, recipient) in zip(shown.messages, ends, strict=True):
        yield f"    {sender}->>{recipient}: {_safe(said.symbol)} {_safe(show_all(said.data) + beside(said))}"
    over = ",".join(dict.fromkeys(name for pair in ends[-1:] for name in pair))
    for remark in [shown.title, *shown.remarks] if over else []:
        yield f"    Note over {over}: {_safe(remark.strip())}"


def _two_parties(run: Run) -> dict[str, str]:
    """Each party with the other one, if the spec has two; {} if it has more, or cannot be read."""
    spec = _spec_of(run)
    messages = () if spec is None else spec.analysis.messages
    names = list(dict.fromkeys(name for each in messages for name in (each.sender, each.recipient) if name))
    return dict(zip(names, reversed(names), strict=True)) if len(names) == 2 else {}


def _ends(said: RecordedMessage, parties: Mapping[str, str]) -> tuple[str, str]:
    other = parties.get(said.sender) or {"In": "Out", "Out": "In"}.get(said.sender, "Peer")
    return said.sender, said.recipient or other


# Characters that mean something in a line of a diagram, as Mermaid wants them.
_MERMAID_ESCAPES: Final = str.maketrans({"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", ":": "#58;"})


def _safe(text: str) -> str:
    return text.translate(_MERMAID_ESCAPES)


FORMS: Final[dict[str, Callable[[Run, Conversation], Iterable[str]]]] = {
    "text": as_text,
    "json": as_json,
    "hex": as_hexdump,
    "mermaid": as_mermaid,
}


def shown_lines(run: Run, parts: Iterable[Conversation], form: str) -> Iterator[str]:
    """The lines of all parts in a form, safe for a terminal."""
    for number, part in enumerate(parts):
        if number and form != "json":
            yield ""
        yield from (printable(line) for line in FORMS[form](run, part))


def summary_lines(run: Run) -> Iterator[str]:
    """The run at a glance: what it was, how it ended, and its findings."""
    sessions = run.sessions
    sent, received = sum(each.sent for each in sessions), sum(each.received for each in sessions)
    yield f"run {run.folder}"
    yield f"spec {', '.join(source.name for source in run.origin.sources if not source.is_included)}"
    if run.parameters:
        yield f"parameters {', '.join(f'{name}={value}' for name, value in run.parameters.items())}"
    yield f"started {run.fact('started')}, seed {run.seed}, palaver {run.fact('version of palaver')}"
    yield f"{counted(len(sessions), 'session')}, {counted(sent, 'message')} sent, {received} received"
    for goal, covered, total in run.coverage.get("goals", ()):
        yield f"covered {covered} of {counted(total, 'path')} of {goal}"
    yield f"ended: {run.ending}"
    findings = run.findings
    yield f"{counted(len(findings), 'finding')}" if findings else "no findings"
    small = {each.number for each in findings if run.shrinking(each.number)}
    for finding in findings:
        marks = ["made small"] * (finding.number in small) + [f"known: {finding.known}"] * bool(finding.known)
        yield f"  {finding.headline}{''.join(f' ({mark})' for mark in marks)}"
