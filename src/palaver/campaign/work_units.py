"""Units of work for workers elsewhere, and what comes back; everything here can be sent to another process.

A unit is a batch of sessions, with their numbers, which also name their streams of random numbers, and with tours whose
goals are reserved for them. A worker reports each session when it has ended, and at last that the unit is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, fields
from typing import Any, TypeAlias

from palaver.campaign.events import Event, FindingReported, MessageReceived, MessageSent, SessionEnded
from palaver.campaign.stopping import Phase
from palaver.compiled import Spec, SpecOrigin
from palaver.known_findings import KnownFindings
from palaver.lean_dataclasses import dataclass, replace
from palaver.limits import Limit
from palaver.navigation.guidance import GuidanceNews, Tour
from palaver.session.findings import Finding, SessionMessage
from palaver.session.interface import (
    Action,
    Close,
    Closed,
    Connected,
    Failed,
    Finish,
    Input,
    Listening,
    Open,
    Opened,
    Received,
    Secure,
    Secured,
    Send,
    TimePassed,
    Turn,
)
from palaver.trees.lazy import LazyNode
from palaver.trees.node import Node, NonTerminal, Part, Parties, new

# An input, an action or a turn: when it was seen, its class by number, and its fields.
WireTuple: TypeAlias = tuple[Any, ...]

_WIRE: tuple[type[Input | Action | Turn], ...] = (
    *(Received, Send, TimePassed, Turn, Opened, Closed, Listening, Failed, Connected, Secured),
    *(Open, Secure, Finish, Close),
)
_WIRE_NUMBERS = {kind: number for number, kind in enumerate(_WIRE)}
# What a session asks when a datagram comes cannot be sent elsewhere, and nobody asks it there.
_WIRE_FIELDS = [tuple(each.name for each in fields(kind) if each.name != "begins_session") for kind in _WIRE]


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """The first message to a worker: everything that its campaign is made of."""

    origin: SpecOrigin
    options: dict[str, Any]  # of `palaver.talk`
    seed: int
    known: KnownFindings
    knowledge: dict[str, Any]  # what the run has learnt so far
    recoveries: dict[str, list[Any]]
    modules: tuple[str, ...]  # places where the spec's Python looks for modules
    seconds: float | None  # until the run is over
    collector: tuple[int, int, int]  # the thresholds of Python's collector
    is_traced: bool  # somebody wants to see inputs and actions


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """A batch of sessions, and what others have learnt since the unit before."""

    number: int
    sessions: tuple[int, ...]  # their numbers
    phase: Phase
    tours: tuple[Tour, ...] = ()  # one for each session; without, sessions plan for everything
    most_messages: int | None = None  # of a session at random
    retries: int = 0  # how often what was given up is to be tried again
    news: tuple[GuidanceNews, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionReport:
    """A session that has ended, or what the system under test did outside of sessions (session 0)."""

    unit: int
    session: int
    events: list[Any]  # messages as tuples
    wire: list[WireTuple]
    news: GuidanceNews
    limits: list[tuple[int, str, str, int]]  # limits that were reached: the limit, and how often
    recoveries: dict[str, list[Any]] | None  # if they have changed
    waited: float  # seconds since the last report in which there was nothing to do


@dataclass(frozen=True, slots=True)
class UnitReport:
    """A unit is done."""

    unit: int
    news: GuidanceNews
    is_done: bool  # nothing is left to plan for


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """A worker cannot go on: the system under test cannot be started, or the spec cannot be loaded."""

    message: str


@dataclass(frozen=True, slots=True)
class WorkerLeft:
    """The last message of a worker: what it has learnt, and has not told yet."""

    knowledge: dict[str, Any] = field(repr=False)
    news: GuidanceNews


def wire_tuple(at: float, each: Input | Action | Turn) -> WireTuple:
    """Something that happened between a session and its transport, to be sent elsewhere."""
    number = _WIRE_NUMBERS[type(each)]
    return (at, number, *[getattr(each, name) for name in _WIRE_FIELDS[number]])


def wire_of(sent: Iterable[WireTuple]) -> Iterator[tuple[float, Input | Action | Turn]]:
    """An event, and when it was seen."""
    for at, number, *values in sent:
        yield at, _WIRE[number](*values)


def limits_reached(count: Iterable[tuple[Limit, int]]) -> list[tuple[int, str, str, int]]:
    """Limits and how often each was reached, to be sent elsewhere."""
    return [(int(limit), limit.what, limit.consequence, times) for limit, times in count]


class EventPacker:
    """Makes events small: messages are sent once, and without their trees."""

    def __init__(self) -> None:
        self._events: list[Any] = []

    def add(self, event: Event) -> None:
        """Add the next event of a session."""
        match event:
            case MessageSent(message=said) | MessageReceived(message=said):
                row = (event.at, said.at, said.sender, said.recipient, said.symbol, said.data, said.is_ours, said.aside)
                self._events.append(row)
            case FindingReported(finding=finding):
                messages = len(finding.messages)
                before = tuple(map(_without_tree, finding.before))
                node = None if finding.node is None else Node(finding.node.symbol, ())
                kept = replace(finding, messages=(), before=before, node=node)
                self._events.append((replace(event, finding=kept), messages))
            case SessionEnded():
                self._events.append(replace(event, messages=()))
            case _:
                self._events.append(event)

    def take(self) -> list[Any]:
        """The events so far."""
        taken, self._events = self._events, []
        return taken


def _without_tree(said: SessionMessage) -> SessionMessage:
    return replace(said, node=Node(said.node.symbol, ()))


class EventUnpacker:
    """Makes events of what was sent. The tree of a message is read again when somebody looks at it."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    def events(self, packed: Sequence[Any]) -> Iterator[Event]:
        """The events of one session, in order."""
        said: list[SessionMessage] = []
        session = next((each.session for each in packed if not isinstance(each, tuple)), 0)
        for each in packed:
            if isinstance(each, tuple) and isinstance(each[0], FindingReported):
                yield replace(each[0], finding=self._finding(each[0].finding, said[: each[1]]))
            elif isinstance(each, tuple):
                seen, *row, is_ours, aside = each
                message = self._message(*row, is_ours=is_ours, aside=aside)
                said.append(message)
                yield (MessageSent if is_ours else MessageReceived)(seen, session, message)
            elif isinstance(each, SessionEnded):
                yield replace(each, messages=tuple(said))
            else:
                yield each

    def _finding(self, finding: Finding, messages: Sequence[SessionMessage]) -> Finding:
        before = tuple(replace(said, node=self._node(said.symbol, said.data)) for said in finding.before)
        node = None if finding.node is None else self._node(finding.node.symbol, finding.got)
        return replace(finding, messages=tuple(messages), before=before, node=node)

    def _message(
        self, at: float, sender: str, recipient: str | None, symbol: str, data: bytes, *, is_ours: bool, aside: str
    ) -> SessionMessage:
        node = self._node(symbol, data, Parties(sender, recipient))
        return SessionMessage(at, sender, recipient, symbol, data, node, is_ours, aside)

    def _node(self, symbol: str, data: bytes, parties: Parties | None = None) -> Node:
        name = NonTerminal(symbol)
        if not data:
            return Node(name, (), parties=parties)
        whole = data if self._spec.is_binary else data.decode("utf-8", "surrogateescape")
        return new(LazyNode, (name, (whole, self._reader(name)), (), parties))

    def _reader(self, symbol: NonTerminal) -> Callable[[str | bytes], tuple[Part, ...]]:
        def read(whole: str | bytes) -> tuple[Part, ...]:
            node = self._spec.read_as(symbol, whole) if symbol in self._spec.grammar.rules else None
            return (whole,) if node is None else node.children

        return read
