"""Differences between the answers of implementations: told by the grammar, and grouped.

An answer is the types of its messages, and the fields that the spec calls comparable (`COMPARABLE_FIELDS`). Texts and
numbers beside that do not count: every server has its own. After a wrong message an answer is a class: refused,
accepted, unreadable, silence, or the end of the connection. Differences are notes: what the grammar or `<beyond>`
forbids is a finding of the one that did it, and comes from its own session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from palaver.comparing.comparing_limits import LATENCY_CLASSES, MAX_SHOWN_MESSAGES
from palaver.printable import counted
from palaver.session.findings import Finding, FindingKind, SessionMessage, said_lines

_CLASSES = {
    FindingKind.ACCEPTED: "accepted",
    FindingKind.REFUSAL: "unreadable",
    FindingKind.CLOSED: "closed",
    FindingKind.RESET: "closed",
    FindingKind.SILENCE: "silence",
    FindingKind.UNPARSEABLE: "unreadable",
}


class ComparedExchange(NamedTuple):
    """A message of ours, and what has answered it."""

    asked: SessionMessage
    answers: tuple[SessionMessage, ...]
    at: int  # the number of messages of the conversation until here

    @property
    def name(self) -> str:
        """The message, or what was wrong about it on purpose."""
        return self.asked.aside or self.asked.symbol


def exchanges_of(messages: Sequence[SessionMessage]) -> list[ComparedExchange]:
    """The exchanges of a conversation; what the peer says first answers nothing."""
    starts = [at for at, said in enumerate(messages) if said.is_ours]
    ends = [*starts[1:], len(messages)]
    return [
        ComparedExchange(messages[at], tuple(messages[at + 1 : end]), end) for at, end in zip(starts, ends, strict=True)
    ]


class Aspect(NamedTuple):
    """A way in which answers can differ, and the answer of one implementation in that respect."""

    name: str
    value: str


# The fields of a message that the spec calls comparable, in words.
FieldReader = Callable[[SessionMessage], str]


def aspects_of(exchange: ComparedExchange, finding: Finding | None, fields: FieldReader) -> Iterator[Aspect]:
    """The answer in an exchange, in every respect that is compared; the finding if it is the last of its session."""
    wrong = finding is not None and _CLASSES.get(finding.kind)
    if exchange.asked.aside:
        kinds = {answer.symbol for answer in exchange.answers}
        yield Aspect("class", wrong or ("answered" if kinds == {"<beyond>"} else "refused" if kinds else "silence"))
    else:
        types = " ".join(answer.symbol for answer in exchange.answers)
        yield Aspect("answer", " ".join(filter(None, (types, wrong or ""))) or "nothing")
        told = "; ".join(filter(None, map(fields, exchange.answers)))
        if told:
            yield Aspect("fields", told)
    if exchange.answers:
        seconds = exchange.answers[0].at - exchange.asked.at
        yield Aspect("latency", f"class {sum(seconds >= bound for bound in LATENCY_CLASSES)}")


@dataclass
class DifferenceGroup:
    """Differences of one kind: after such a message, the implementations answer so."""

    name: str
    aspect: str
    answers: tuple[str, ...]  # of each implementation
    count: int = 0
    example: Sequence[SessionMessage] = field(default_factory=tuple)  # the shortest conversation until there

    @property
    def minority(self) -> tuple[int, ...]:
        """The implementations that answer as few others do."""
        counts = Counter(self.answers)
        least = min(counts.values())
        return tuple(at for at, answer in enumerate(self.answers) if counts[answer] == least)


class Differences:
    """The differences of all conversations so far, in groups."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.compared = 0  # exchanges
        self.equal = 0
        self._groups: dict[tuple[str, str, tuple[str, ...]], DifferenceGroup] = {}

    def add(
        self, exchanges: Sequence[ComparedExchange], aspects: Sequence[dict[str, str]], said: Sequence[SessionMessage]
    ) -> bool:
        """Compare one exchange of all implementations; `said` is the conversation. Return True if all are equal."""
        self.compared += 1
        is_equal = True
        for name in dict.fromkeys(name for each in aspects for name in each):
            answers = tuple(each.get(name, "nothing") for each in aspects)
            if len(set(answers)) == 1 or (name == "latency" and not _is_far(answers)):
                continue
            is_equal = is_equal and name == "latency"
            key = (_operator(exchanges[0].name), name, answers)
            group = self._groups.setdefault(key, DifferenceGroup(*key))
            group.count += 1
            until = said[: exchanges[0].at]
            if not group.example or len(until) < len(group.example):
                group.example = until
        self.equal += is_equal
        return is_equal

    @property
    def groups(self) -> list[DifferenceGroup]:
        """All groups: those in which one differs from all others first, then the most frequent."""
        return sorted(self._groups.values(), key=lambda each: (len(each.minority), -each.count, each.name))

    def lines(self) -> Iterator[str]:
        """The differences as text."""
        yield f"{self.compared} exchanges compared, {self.equal} equal, {len(self._groups)} kinds of differences"
        for group in self.groups:
            minority = ", ".join(self.names[at] for at in group.minority)
            yield f"difference, {counted(group.count, 'time')}: {group.aspect} after {group.name}; minority: {minority}"
            for name, answer in zip(self.names, group.answers, strict=True):
                yield f"  {name}: {answer}"
            yield from said_lines(group.example[-MAX_SHOWN_MESSAGES:], "    ")


def _is_far(answers: Sequence[str]) -> bool:
    """Return True if latencies differ by more than one class: one alone may be chance."""
    classes = [int(answer.rpartition(" ")[2]) for answer in answers if answer.startswith("class")]
    return bool(classes) and max(classes) - min(classes) > 1


def _operator(name: str) -> str:
    """A fault without the values of its parts, so that alike ones are one group."""
    kind, colon, rest = name.partition(": ")
    if not colon:
        return name
    message, _, what = rest.partition(", ")
    return f"{kind}: {message}, {what.partition(' in ')[0]}"
