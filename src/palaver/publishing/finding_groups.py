"""The findings of a run by their fingerprints: each problem once, with an example that can be looked at."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import cached_property
from textwrap import dedent

from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass, replace
from palaver.printable import counted, printable
from palaver.publishing.publishing_limits import (
    MAX_BYTES_SHOWN,
    MAX_FIELDS_SHOWN,
    MAX_MESSAGES_AT_ENDS,
    MAX_OUTPUT_SHOWN,
)
from palaver.publishing.spec_places import SpecPlace, place_of, without_place
from palaver.recording.run_reader import RecordedFinding, RecordedMessage, Run, Shrinking
from palaver.session.findings import FindingKind, Severity, Verdict, beside, show_data, show_fields

_BYTES_PER_ROW = 16


@dataclass(frozen=True)
class TalkStep:
    """A message of a conversation as it is shown; or a remark in its place, if there is no sender."""

    sender: str
    recipient: str
    symbol: str
    text: str
    data: bytes = b""
    is_ours: bool = False
    is_offending: bool = False
    offset: int | None = None  # the first byte that is wrong
    fields: tuple[str, ...] = ()  # the decoded tree
    aside: str = ""  # what is wrong with it on purpose

    @property
    def line(self) -> str:
        """The step as a line of text."""
        said = f"{self.sender}: {self.text}" if self.sender else self.text
        return f"{said}  {self.aside}" if self.aside else said

    @cached_property
    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Rows of bytes: the position; the digits before, at and behind the wrong byte; and the characters."""
        found = []
        for at in range(0, min(len(self.data), MAX_BYTES_SHOWN), _BYTES_PER_ROW):
            piece = self.data[at : at + _BYTES_PER_ROW]
            column = -1 if self.offset is None else self.offset - at
            is_here = 0 <= column < len(piece)
            split = column if is_here else len(piece)
            text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
            digits = (
                piece[:split].hex(" "),
                piece[split : split + is_here].hex(" "),
                piece[split + is_here :].hex(" "),
            )
            found.append((f"{at:04x}", *digits, text))
        return found

    @property
    def left_out(self) -> int:
        """The number of bytes that are not in `rows`."""
        return max(0, len(self.data) - MAX_BYTES_SHOWN)


@dataclass(frozen=True)
class FindingGroup:
    """A problem: the findings with one fingerprint."""

    run: Run
    spec: Spec | None
    members: tuple[RecordedFinding, ...]  # in their order
    is_regression: bool = False  # there is an earlier run to compare with, which has not found it
    is_old: bool = False  # an earlier run has found it, too

    @property
    def first(self) -> RecordedFinding:
        """The one that is shown: the first that was made small, or else the first."""
        return next((each for each in self.members if self.run.shrinking(each.number)), self.members[0])

    @property
    def digest(self) -> str:
        return self.members[0].digest

    @property
    def is_known(self) -> bool:
        return bool(self.members[0].known)

    @property
    def is_note(self) -> bool:
        return self.members[0].severity is Severity.NOTE

    @property
    def status(self) -> str:
        """The thing to be done about it, in a word."""
        if self.is_known:
            return "known"
        if self.is_note:
            return "note"
        return {Verdict.FAIL: "new", Verdict.ERROR: "error"}.get(self.members[0].verdict, "inconclusive")

    @property
    def title(self) -> str:
        """The problem in a line, without the place in the run; of one that was made small, with its values."""
        reason = self._message.partition("\n")[0]
        label = self.first.label
        return reason if reason.startswith(label) else f"{label}: {reason}"

    @property
    def heading(self) -> str:
        """The title, without the place and without the words that were expected if these are told below it."""
        if not self.expected or self.first.kind is not FindingKind.UNPARSEABLE:
            return self.title if self.place is None else without_place(self.title)
        return f"{self.first.label} from {self.first.party}: {show_data(self._got)}"

    @property
    def expected(self) -> tuple[str, ...]:
        """The words that were expected where the conversation ends that is shown."""
        words, small = self.first.expected, self.shrinking
        return words if small is None or all(word in small.explanation for word in words) else ()

    @property
    def offset(self) -> int | None:
        """The first byte that is wrong in the message that is shown."""
        return self.first.offset if self.shrinking is None else self.shrinking.offset

    @property
    def detail(self) -> str:
        """The rest of what the finding says of itself; one that was made small says it where it is wrong."""
        if self.shrinking is not None and self.shrinking.explanation and not self.shrinking.got:
            return ""
        return dedent(self.first.message.partition("\n")[2])

    @property
    def _message(self) -> str:
        return self.first.message if self.shrinking is None else self.shrinking.headline

    @property
    def _got(self) -> bytes:
        return self.first.got if self.shrinking is None else self.shrinking.got

    @cached_property
    def said(self) -> list[RecordedMessage]:
        """The messages before the finding; of one that was made small, those that are left."""
        small = self.shrinking
        if small is not None:
            return list(small.messages)
        return self.run.messages(self.first.session)[: self.first.messages]

    @cached_property
    def shrinking(self) -> Shrinking | None:
        return self.run.shrinking(self.first.number)

    @cached_property
    def place(self) -> SpecPlace | None:
        return place_of(self.spec, self.first, self.said)

    @property
    def output(self) -> str:
        """The end of what the system under test wrote in the session."""
        return self.first.output.decode("utf-8", "replace")[-MAX_OUTPUT_SHOWN:]

    @cached_property
    def steps(self) -> list[TalkStep]:
        """The conversation, without the middle of a long one, and with what is wrong at its end."""
        steps = [self._step(said) for said in _without_middle(self.said)]
        finding, small = self.first, self.shrinking
        if small is not None and small.got:
            steps.append(self._offending(replace(finding, got=small.got, offset=small.offset)))
        elif small is not None:
            steps.append(_remark("\n".join([finding.label, *dedent(small.explanation).splitlines()])))
        elif finding.got:
            steps.append(self._offending(finding))
        else:
            steps.append(_remark(finding.label))
        return steps

    def _offending(self, finding: RecordedFinding) -> TalkStep:
        symbol = finding.symbols[0] if len(finding.symbols) == 1 else ""
        said = RecordedMessage(0, 0.0, finding.party, None, symbol, finding.got, False)
        return replace(self._step(said), is_offending=True, offset=finding.offset)

    def _step(self, said: RecordedMessage | int) -> TalkStep:
        if isinstance(said, int):
            return TalkStep("", "", "", f"… {counted(said, 'message')} …")
        text = show_data(said.data) if said.data else said.symbol
        fields = self._fields(said)
        return TalkStep(
            *(said.sender, said.recipient or "", said.symbol, text, said.data),
            is_ours=said.is_ours,
            fields=fields,
            aside=beside(said).strip(),
        )

    def _fields(self, said: RecordedMessage) -> tuple[str, ...]:
        if self.spec is None or not said.symbol or len(said.data) > MAX_BYTES_SHOWN:
            return ()
        try:
            node = next(self.spec.readings(said.symbol, said.data), None)
        except (PalaverError, KeyError):
            return ()
        return () if node is None else tuple(show_fields(said.data, node, most=MAX_FIELDS_SHOWN, is_narrow=True))

    @property
    def told(self) -> str:
        """The problem in lines of text: what is wrong, what was said, and how to see it again."""
        said = [f"  {step.line}" for step in self.steps]
        where = f"{self.place.name}: " if self.place else ""
        again = f"try it again: {self.commands[0][1]}"
        return printable("\n".join([f"{where}{self.title}", *said, again]))

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The commands that show it again, each with what it does."""
        run, number = shlex.quote(str(self.run.folder)), self.first.number
        commands = [
            ("try it again", f"palaver replay {run} {number}"),
            ("read it once more, without the target", f"palaver replay {run} {number} --offline"),
            ("make a script that needs no palaver", f"palaver export {run} {number} --script -o finding-{number}.py"),
            ("make a capture for Wireshark", f"palaver export {run} {number} --pcapng -o finding-{number}.pcapng"),
        ]
        if self.shrinking is None:
            commands.insert(1, ("make its conversation small", f"palaver shrink {run} {number}"))
        if self.status == "new":
            known = f"palaver known add {run} {number} --reason '…'"
            commands.append(("report it no more", known))
        return commands


def _remark(text: str) -> TalkStep:
    return TalkStep("", "", "", text, is_offending=True)


def _without_middle(said: Sequence[RecordedMessage]) -> list[RecordedMessage | int]:
    """The messages, with a number in the place of those in the middle of many."""
    left_out = len(said) - 2 * MAX_MESSAGES_AT_ENDS
    if left_out <= 1:
        return list(said)
    return [*said[:MAX_MESSAGES_AT_ENDS], left_out, *said[-MAX_MESSAGES_AT_ENDS:]]


def groups_of(run: Run, spec: Spec | None, earlier: Sequence[Run] = ()) -> list[FindingGroup]:
    """The problems of a run: new ones first, then by their numbers."""
    before = {finding.digest for other in earlier for finding in other.findings}
    members: dict[str, list[RecordedFinding]] = {}
    for finding in run.findings:
        members.setdefault(finding.digest, []).append(finding)
    groups = [
        FindingGroup(run, spec, tuple(found), bool(earlier) and digest not in before, digest in before)
        for digest, found in members.items()
    ]
    order = ("error", "new", "inconclusive", "note", "known")
    return sorted(groups, key=lambda group: (order.index(group.status), group.is_old, group.first.number))
