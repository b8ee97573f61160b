"""A finding's conversation as it went over the wire: connections that were opened, data in both directions, ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from datetime import datetime
from enum import Enum
from itertools import accumulate

from palaver.addresses import Address, scheme_named
from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass, replace
from palaver.recording.run_reader import RecordedFinding, RecordedMessage, Run, Shrinking
from palaver.session.findings import FindingKind, exit_code_told
from palaver.session.interface import Close, Closed, Failed, Finish, Listening, Open, Opened, Received, Secure, Send


class ExportError(PalaverError):
    """A finding cannot be exported."""


class StepKind(Enum):
    """Something that happened on a connection."""

    OPENED = "opened"
    SECURED = "secured"  # it is encrypted from here on
    SENT = "sent"  # by us
    RECEIVED = "received"
    FINISHED = "finished"  # we send no more
    CLOSED = "closed"  # by us
    ENDED = "ended"  # by the peer
    BROKEN = "broken"  # by the peer, and not in good order


@dataclass(frozen=True, slots=True)
class WireLink:
    """A connection: the address that we connected to, or listened at."""

    name: str
    address: Address
    is_listening: bool
    is_encrypted: bool = False  # from the start

    @property
    def is_datagram(self) -> bool:
        return scheme_named(self.address.scheme).is_datagram


@dataclass(frozen=True, slots=True)
class WireStep:
    """Something that happened on a connection, with the names of the messages that ended in it."""

    at: float  # seconds since the epoch
    link: WireLink
    kind: StepKind
    data: bytes = b""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WireConversation:
    """All that was said until a finding, and in the session before if that may be the cause."""

    finding: RecordedFinding
    steps: tuple[WireStep, ...]
    exit_code: int | None = None  # of the system under test, if it ended
    ends_with_blame: bool = True  # False if it is not known where the reply ends that a finding of a reply blames
    options: dict[str, object] = field(default_factory=dict)  # of the run
    spec: Spec | None = field(default=None, repr=False)  # None: it cannot be loaded any more


# Findings that show by an end, a silence or an output: what exactly was received last does not matter.
_SHOWN_BY_AN_END = frozenset(
    (
        *(FindingKind.CRASH, FindingKind.EXIT, FindingKind.CLOSED, FindingKind.RESET),
        *(FindingKind.SILENCE, FindingKind.REPORT, FindingKind.HANG, FindingKind.MEMORY),
    )
)
# Findings that show by a reply: the last one of the conversation must be the one that is wrong.
_SHOWN_BY_A_REPLY = frozenset(
    (FindingKind.UNPARSEABLE, FindingKind.UNEXPECTED, FindingKind.CONSTRAINT, FindingKind.UNDECIDED, FindingKind.LIMIT)
)
_ENDS = (StepKind.CLOSED, StepKind.ENDED, StepKind.BROKEN)


def conversation_of(run: Run, number: int, *, is_original: bool = False) -> WireConversation:
    """Read the conversation of a finding, made small if that was done and can be told.

    :raises RunError, ExportError: there is none, or it was not kept
    """
    finding = run.finding(number)
    sessions = [finding.session - 1, finding.session] if finding.has_before else [finding.session]
    clock = float(run.fact("clock") or 0.0)
    offset = datetime.fromisoformat(run.fact("started")).timestamp() - clock if run.fact("started") else 0.0
    steps: list[WireStep] = []
    ends_with_blame = True
    for session in sessions:
        found = list(_steps(run, session))
        messages = run.messages(session)
        if session == finding.session:
            found = _until(found, finding.at + clock)
            if finding.shown_as in _SHOWN_BY_A_REPLY:
                found, messages = _until_blamed(found, messages, finding)
                ends_with_blame = _ends_with(found, finding)
        steps += _named(found, messages, clock)
    if not any(step.kind in (StepKind.SENT, StepKind.RECEIVED, StepKind.ENDED) for step in steps):
        raise ExportError(f"nothing that was said in session {finding.session} of {run.folder} was kept")
    small = None if is_original else run.shrinking(number)
    if small is not None and (
        finding.shown_as in _SHOWN_BY_AN_END or (finding.shown_as in _SHOWN_BY_A_REPLY and small.got)
    ):
        fewer = _made_small(steps, small)
        if fewer is not None:
            steps, ends_with_blame = fewer, True
            finding = replace(finding, message=small.headline, got=small.got, offset=small.offset)
    timed = tuple(replace(step, at=step.at + offset) for step in steps)
    # Not from what the program did in the session: another one that went on with it may have been told.
    exit_code = exit_code_told(finding.cause)
    return WireConversation(finding, timed, exit_code, ends_with_blame, run.options, _spec_of(run))


def _spec_of(run: Run) -> Spec | None:
    try:
        return run.spec
    except PalaverError:
        return None


def _steps(run: Run, session: int) -> Iterator[WireStep]:
    """The steps of a session, with the times of the clock of the run."""
    links: dict[str, WireLink] = {}
    now = 0.0
    for event in run.wire(session):
        now = getattr(event, "at", now)  # an action happens when the input before it has
        match event:
            case Open(name, address, role, tls):
                links[name] = WireLink(name, address, role == "listen", tls is not None)
            case Listening(link=name, port=port):
                links[name] = replace(links[name], address=replace(links[name].address, port=port))
            case Opened(link=name, port=port):
                if port and links[name].is_listening:
                    links[name] = replace(links[name], address=replace(links[name].address, port=port))
                yield WireStep(now, links[name], StepKind.OPENED)
            case Secure(link=name):
                yield WireStep(now, links[name], StepKind.SECURED)
            case Send(name, data):
                yield WireStep(now, links[name], StepKind.SENT, data)
            case Received(link=name, data=data):
                yield WireStep(now, links[name], StepKind.RECEIVED, data)
            case Finish(name):
                yield WireStep(now, links[name], StepKind.FINISHED)
            case Close(link=name):
                yield WireStep(now, links[name], StepKind.CLOSED)
            case Closed(link=name, cause=cause):
                yield WireStep(now, links[name], StepKind.ENDED if cause is None else StepKind.BROKEN)
            case Failed(link=name):
                yield WireStep(now, links[name], StepKind.BROKEN)
            case _:  # time that has passed, turns, and the end of a handshake
                pass


def _until(steps: Sequence[WireStep], at: float) -> list[WireStep]:
    """The steps until a finding; the end of a connection may be noticed a moment later."""
    return [step for step in steps if step.at <= at or step.kind in _ENDS]


def _until_blamed(
    steps: list[WireStep], messages: list[RecordedMessage], finding: RecordedFinding
) -> tuple[list[WireStep], list[RecordedMessage]]:
    """The steps and messages until the message that a finding blames, if the session went on after it."""
    later = messages[finding.messages :]
    if not later or later[0].is_ours or later[0].data != finding.got:
        return steps, messages
    until = messages[: finding.messages + 1]
    left = sum(len(message.data) for message in until if not message.is_ours)
    for number, step in enumerate(steps):
        if step.kind is StepKind.RECEIVED and len(step.data) >= left:
            return [*steps[:number], replace(step, data=step.data[:left])], until
        left -= len(step.data) if step.kind is StepKind.RECEIVED else 0
    return steps, messages


def _ends_with(steps: Sequence[WireStep], finding: RecordedFinding) -> bool:
    """Tell if the last reply is what a finding blames."""
    received = [step for step in steps if step.kind is StepKind.RECEIVED]
    if not received or not finding.got:
        return bool(received) and finding.shown_as is not FindingKind.CONSTRAINT
    link = received[-1].link.name
    heard = b"".join(step.data for step in received if step.link.name == link)
    # What came at the same moment may be more than what was read.
    return finding.got in heard[-len(received[-1].data) - len(finding.got) :]


def _made_small(steps: list[WireStep], small: Shrinking) -> list[WireStep] | None:
    """The steps with fewer messages, of which only the bytes are known; None if there are several connections."""
    if len({step.link.name for step in steps}) > 1 or any(step.kind is StepKind.SECURED for step in steps):
        return None
    opened = next((step for step in steps if step.kind is StepKind.OPENED), steps[0])
    said = [
        replace(
            opened,
            at=opened.at + message.number / 1000,
            kind=StepKind.SENT if message.is_ours else StepKind.RECEIVED,
            data=message.data,
            names=(message.symbol,),
        )
        for message in small.messages
    ]
    last = said[-1].at if said else opened.at
    if small.got:  # the message that is blamed
        said.append(replace(opened, at=last, kind=StepKind.RECEIVED, data=small.got))
    return [opened, *said, *(replace(step, at=last + 0.001) for step in steps if step.kind in _ENDS)]


def _named(steps: Sequence[WireStep], messages: Sequence[RecordedMessage], clock: float) -> list[WireStep]:
    """The steps with the names of the messages that end in them: by their lengths, and by time if they have none."""
    named = list(steps)
    for is_ours, kind in ((True, StepKind.SENT), (False, StepKind.RECEIVED)):
        places = [number for number, step in enumerate(named) if step.kind is kind]
        ends = list(accumulate(len(named[place].data) for place in places))
        said = 0
        for message in messages:
            if message.is_ours is not is_ours or not places:
                continue
            said += len(message.data)
            by_length = next((place for place, end in zip(places, ends, strict=True) if end >= said), None)
            by_time = next((place for place in reversed(places) if named[place].at <= message.at + clock), places[0])
            place = by_time if by_length is None or not message.data else by_length
            named[place] = replace(named[place], names=(*named[place].names, message.symbol))
    return named
