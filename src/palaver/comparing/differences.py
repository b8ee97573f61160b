"""Differences between the answers of implementations: told by the grammar, and grouped.

An answer is the types of its messages, and the fields that the spec calls comparable (`COMPARABLE_FIELDS`). Texts and
numbers beside that do not count: every server has its own. After a wrong message an answer is a class: refused,
accepted, unreadable, silence, or the end of the connection. Differences are notes: what the grammar or `<beyond>`
forbids is a finding of the one that did it, and comes from its own session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from statistics import median_low
from typing import NamedTuple

from palaver.comparing.comparing_limits import LATENCY_CLASSES, MAX_SHOWN_MESSAGES
from palaver.lean_dataclasses import dataclass
from palaver.printable import counted
from palaver.session.findings import Finding, FindingKind, SessionMessage, Severity, Verdict, said_lines

LATENCY = "latency"

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
    wrong = "" if finding is None else _class_of(finding)
    if exchange.asked.aside:
        kinds = {answer.symbol for answer in exchange.answers}
        yield Aspect("class", wrong or ("answered" if kinds == {"<beyond>"} else "refused" if kinds else "silence"))
    else:
        # What comes over several connections comes in any order.
        answers = sorted(exchange.answers, key=lambda answer: answer.sender)
        types = " ".join(answer.symbol for answer in answers)
        yield Aspect("answer", " ".join(filter(None, (types, wrong))) or "nothing")
        told = "; ".join(filter(None, map(fields, exchange.answers)))
        if told:
            yield Aspect("fields", told)
    if exchange.answers:
        seconds = exchange.answers[0].at - exchange.asked.at
        yield Aspect(LATENCY, f"class {sum(seconds >= bound for bound in LATENCY_CLASSES)}")


def _class_of(finding: Finding) -> str:
    """The answer that a finding is about, in a word or two; empty if it is about no answer."""
    if finding.kind in _CLASSES:
        return _CLASSES[finding.kind]
    if finding.severity is not Severity.VIOLATION or finding.kind.verdict is not Verdict.FAIL:
        return ""
    names = " or ".join(finding.symbols)
    return f"{names} ({finding.kind.label})" if names else finding.kind.label


@dataclass
class DifferenceGroup:
    """Differences of one kind: after such a message, the implementations answer so."""

    name: str
    aspect: str
    answers: tuple[str, ...]  # of each implementation
    forbidden: tuple[bool, ...]  # for each, True if the spec forbids its answer
    count: int = 0
    example: Sequence[SessionMessage] = field(default_factory=tuple)  # the shortest conversation until there

    @property
    def minority(self) -> tuple[int, ...]:
        """The implementations that answer otherwise than most; none if there is no answer that most give."""
        answer, count = Counter(self.answers).most_common(1)[0]
        if 2 * count <= len(self.answers):
            return ()
        return tuple(at for at, each in enumerate(self.answers) if each != answer)


class Differences:
    """The differences of all conversations so far, in groups."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.compared = 0  # exchanges
        self.equal = 0
        self._groups: dict[tuple[str, str, tuple[str, ...], tuple[bool, ...]], DifferenceGroup] = {}
        # Of each message, the classes that it was answered in, and the conversation until there.
        self._latencies: dict[str, list[tuple[tuple[str, ...], Sequence[SessionMessage]]]] = {}

    def add(
        self,
        exchanges: Sequence[ComparedExchange],
        aspects: Sequence[dict[str, str]],
        findings: Sequence[Finding | None],
        said: Sequence[SessionMessage],
    ) -> bool:
        """Compare one exchange of all implementations; `said` is the conversation. Return True if all are equal."""
        forbidden = tuple(each is not None and each.severity is Severity.VIOLATION for each in findings)
        self.compared += 1
        is_equal = True
        until = said[: exchanges[0].at]
        for name in dict.fromkeys(name for each in aspects for name in each):
            answers = tuple(each.get(name, "nothing") for each in aspects)
            if name == LATENCY:
                if "nothing" not in answers:
                    self._latencies.setdefault(_operator(exchanges[0].name), []).append((answers, until))
                continue
            if len(set(answers)) == 1:
                continue
            if name == "fields" and not is_equal:  # those of other messages
                continue
            is_equal = False
            key = (_operator(exchanges[0].name), name, answers, forbidden)
            group = self._groups.setdefault(key, DifferenceGroup(*key))
            group.count += 1
            if not group.example or len(until) < len(group.example):
                group.example = until
        self.equal += is_equal
        return is_equal

    @property
    def groups(self) -> list[DifferenceGroup]:
        """All groups: those in which fewest differ from the others first, then the most frequent."""
        everybody = len(self.names)
        found = [*self._groups.values(), *self._slow_groups()]
        return sorted(found, key=lambda each: (len(each.minority) or everybody, -each.count, each.name))

    def _slow_groups(self) -> Iterator[DifferenceGroup]:
        """One for each message that some are usually slower to answer than others: once alone may be chance."""
        for name, seen in self._latencies.items():
            usual = tuple(median_low(classes) for classes in zip(*(answers for answers, _ in seen), strict=True))
            examples = [until for answers, until in seen if _is_far(answers)]
            if len(examples) > 1 and _is_far(usual):
                example = min(examples, key=len)
                yield DifferenceGroup(name, LATENCY, usual, (False,) * len(usual), len(examples), example)

    def lines(self) -> Iterator[str]:
        """The differences as text."""
        yield f"{self.compared} exchanges compared, {self.equal} equal, {len(self.groups)} kinds of differences"
        for group in self.groups:
            minority = ", ".join(self.names[at] for at in group.minority)
            ending = f"; minority: {minority}" if minority else ""
            yield f"difference, {counted(group.count, 'time')}: {group.aspect} after {group.name}{ending}"
            for name, answer, is_forbidden in zip(self.names, group.answers, group.forbidden, strict=True):
                yield f"  {name}: {answer}{' (a finding)' if is_forbidden else ''}"
            yield from said_lines(group.example[-MAX_SHOWN_MESSAGES:], "    ")


def _is_far(answers: Sequence[str]) -> bool:
    """Return True if latencies differ by more than one class."""
    classes = [int(answer.rpartition(" ")[2]) for answer in answers if answer.startswith("class")]
    return bool(classes) and max(classes) - min(classes) > 1


def _operator(name: str) -> str:
    """A fault without the values of its parts, so that alike ones are one group."""
    kind, colon, rest = name.partition(": ")
    if not colon:
        return name
    message, _, what = rest.partition(", ")
    return f"{kind}: {message}, {what.partition(' in ')[0]}"
