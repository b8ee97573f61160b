"""A run that was recorded: its spec, options, sessions, messages and findings, read from its directory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self

from palaver.compiled import Spec, SpecOrigin, load_again
from palaver.lean_dataclasses import dataclass
from palaver.printable import printable
from palaver.recording.disk_reserve import noted_facts
from palaver.recording.records import WireEvent, WireRow, events_of
from palaver.recording.run_folders import find, is_written
from palaver.recording.schema import FILE_NAME, RunError, bring_up_to_date, connect, connect_to_read
from palaver.session.findings import FindingKind, Fingerprint, Severity, Verdict, kind_shown
from palaver.source import Source

__all__ = ["RecordedFinding", "RecordedMessage", "RecordedSession", "Run", "RunError", "open_run"]


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A message of a recorded session."""

    number: int  # in its session, from 1
    at: float  # seconds since the run began
    sender: str
    recipient: str | None
    symbol: str
    data: bytes
    is_ours: bool
    aside: str = ""  # if it is no part of the dialogue: what is wrong about it, or "answer"


@dataclass(frozen=True, slots=True)
class TargetRecord:
    """Something that the system under test did: it started, wrote output, or ended."""

    at: float  # seconds since the run began
    kind: str  # "started", "output" or "ended"
    data: bytes
    exit_code: int | None = None
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """A session of a run; one that was interrupted has no verdict."""

    number: int
    started: float  # seconds since the run began
    ended: float | None
    is_guided: bool
    verdict: Verdict | None
    cut_off: str  # the limit that has ended it; "" if none has
    ends_at: float | None
    watched: float
    sent: int
    received: int
    covered: int
    total: int
    has_details: bool  # False if its messages were not kept


@dataclass(frozen=True, slots=True)
class RecordedFinding:
    """A finding of a run."""

    number: int
    session: int
    at: float  # seconds since the run began
    kind: FindingKind
    label: str
    severity: Severity
    party: str
    message: str
    expected: tuple[str, ...]
    got: bytes
    offset: int | None
    constraint: str
    cause: str
    symbols: tuple[str, ...]
    messages: int  # of its session, up to the finding
    has_before: bool  # the session before may have caused it
    output: bytes = field(repr=False)  # the end of what the system under test wrote in the session
    fingerprint: Fingerprint
    digest: str
    explanation: str = field(repr=False)  # what came where it is wrong, and what was expected there
    known: str = ""  # the reason, if it was known; then it was only counted

    @property
    def verdict(self) -> Verdict:
        """The verdict on the session that the finding gives."""
        return Verdict.PASS if self.known or self.severity is Severity.NOTE else self.kind.verdict

    @property
    def shown_as(self) -> FindingKind:
        """The kind of findings that show themselves in the same way, where nothing is wrong on purpose."""
        return kind_shown(self.kind, self.cause, self.got)

    @property
    def headline(self) -> str:
        """The finding in one line."""
        reason = self.message.partition("\n")[0]
        text = reason if reason.startswith(self.label) else f"{self.label}: {reason}"
        return printable(f"finding {self.number} in session {self.session}, {text}")


@dataclass(frozen=True, slots=True)
class Shrinking:
    """A finding made small: the conversation that is left, and how it was found."""

    finding: int
    messages: tuple[RecordedMessage, ...]
    attempts: int
    reproduced: int  # so many of the last
    of: int  # so many attempts
    reason: str  # why shrinking has stopped
    headline: str
    explanation: str
    got: bytes = b""  # what came where it is wrong
    offset: int | None = None  # the byte of it that is wrong


# The columns of a finding that need no conversion.
_AS_STORED = (
    *("label", "party", "message", "got", "constraint", "cause", "messages", "output", "digest", "explanation"),
)


class Run:
    """A recorded run, or one that is written just now. Times are in seconds since it began."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = connect_to_read(folder / FILE_NAME)
        self._file.row_factory = sqlite3.Row
        self._facts = {row["name"]: row["value"] or "" for row in self._rows("SELECT * FROM run")}
        if self._facts.get("how") == "running":
            self._facts |= noted_facts(folder)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, statement: str, *values: object) -> list[sqlite3.Row]:
        try:
            return self._file.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise RunError(f"the run {self.folder} is damaged: {error}") from error

    def fact(self, name: str) -> str:
        """A value of the table `run`; "" if it has none. If the disk was full at its end, that was noted elsewhere."""
        return self._facts.get(name, "")

    @property
    def seed(self) -> int:
        return int(self.fact("seed") or 0)

    @property
    def options(self) -> dict[str, Any]:
        """The options that the run was made with, by the names that they have in `palaver.talk`."""
        options: dict[str, Any] = json.loads(self.fact("options") or "{}")
        return options

    @property
    def parties(self) -> tuple[str, ...]:
        """The parties that palaver played."""
        return tuple(json.loads(self.fact("parties") or "[]"))

    @property
    def ending(self) -> str:
        """The end of the run, in words."""
        how = self.fact("how")
        if how in ("", "running"):
            return "still running" if is_written(self.folder) else "killed before it ended"
        return self.fact("reason") or how

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of all sessions; None if the run has not come to its end."""
        return Verdict(self.fact("verdict")) if self.fact("verdict") else None

    @cached_property
    def began(self) -> float:
        """The time on the monotonic clock when the run began; those of `wire` are on the same clock."""
        return float(self.fact("clock") or 0.0)

    @property
    def origin(self) -> SpecOrigin:
        """The files and options that the spec was made of."""
        rows = self._rows("SELECT * FROM sources ORDER BY number")
        sources = tuple(Source(row["name"], row["text"], is_included=bool(row["is_included"])) for row in rows)
        constraints = tuple(json.loads(self.fact("constraints") or "[]"))
        start, has_library = self.fact("start") or "<start>", self.fact("has_library") != "0"
        return SpecOrigin(sources, constraints, start, has_library, tuple(self.parameters.items()))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the spec that were set, with their values."""
        given: dict[str, Any] = json.loads(self.fact("parameters") or "{}")
        return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}

    @cached_property
    def spec(self) -> Spec:
        """The spec of the run, from its own copy. :raises SpecError: this palaver does not accept it"""
        return load_again(self.origin)

    @property
    def sessions(self) -> list[RecordedSession]:
        """All sessions, in their order."""
        return [self._session(row) for row in self._rows("SELECT * FROM sessions ORDER BY number")]

    def session(self, number: int) -> RecordedSession:
        """A session by its number. :raises RunError: there is none"""
        rows = self._rows("SELECT * FROM sessions WHERE number = ?", number)
        if not rows:
            count = self._rows("SELECT count(*) FROM sessions")[0][0]
            raise RunError(f"the run {self.folder} has no session {number}; it has {count}")
        return self._session(rows[0])

    def _session(self, row: sqlite3.Row) -> RecordedSession:
        return RecordedSession(
            row["number"],
            row["started"] - self.began,
            None if row["ended"] is None else row["ended"] - self.began,
            bool(row["is_guided"]),
            None if row["verdict"] is None else Verdict(row["verdict"]),
            row["cut_off"] or "",
            *(row["ends_at"], row["watched"], row["sent"], row["received"], row["covered"], row["total"]),
            bool(row["has_details"]),
        )

    def messages(self, session: int) -> list[RecordedMessage]:
        """The messages of a session; [] if they were not kept."""
        rows = self._rows("SELECT * FROM messages WHERE session = ? ORDER BY number", session)
        return [
            RecordedMessage(
                *(row["number"] + 1, row["at"] - self.began, row["sender"], row["recipient"], row["symbol"]),
                *(row["data"], bool(row["is_ours"]), _aside(row)),
            )
            for row in rows
        ]

    def traffic(self) -> Iterator[tuple[int, float, str, bool]]:
        """Every message that was kept, without its data: session, seconds since the run began, symbol, is it ours."""
        cursor = self._file.execute("SELECT session, at, symbol, is_ours FROM messages ORDER BY session, number")
        try:
            for session, at, symbol, is_ours in cursor:
                yield session, at - self.began, symbol, bool(is_ours)
        except sqlite3.Error as error:
            raise RunError(f"the run {self.folder} is damaged: {error}") from error

    def target_ends(self) -> list[tuple[int, int | None]]:
        """The number of ends of the system under test with each exit code, in the order of first ends; None: by us."""
        counts: dict[int | None, int] = {}
        for row in self._rows("SELECT detail FROM target WHERE kind = 'ended' ORDER BY session, number"):
            code = json.loads(row["detail"] or "{}").get("exit_code")
            counts[code] = counts.get(code, 0) + 1
        return [(count, code) for code, count in counts.items()]

    @property
    def target_starts(self) -> int:
        """The number of times that the system under test was started."""
        return int(self._rows("SELECT count(*) FROM target WHERE kind = 'started'")[0][0])

    def wire(self, session: int) -> list[WireEvent]:
        """Every input, action and turn of a session, in order, with the times of the clock of the run."""
        rows = self._rows("SELECT at, kind, link, data, detail FROM wire WHERE session = ? ORDER BY number", session)
        try:
            return [event for row in rows for event in events_of(WireRow(*row))]
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"the run {self.folder} is damaged: {error}") from error

    def target(self, session: int) -> list[TargetRecord]:
        """The starts, outputs and exits of the system under test in a session."""
        found = []
        for row in self._rows("SELECT * FROM target WHERE session = ? ORDER BY number", session):
            detail: Any = json.loads(row["detail"] or "null")
            is_end = row["kind"] == "ended"
            found.append(
                TargetRecord(
                    *(row["at"] - self.began, row["kind"], row["data"] or b""),
                    exit_code=detail["exit_code"] if is_end else None,
                    command=tuple(detail) if row["kind"] == "started" else (),
                )
            )
        return found

    def output(self, session: int) -> bytes:
        """Everything that the system under test wrote in a session."""
        return b"".join(each.data for each in self.target(session))

    @property
    def findings(self) -> list[RecordedFinding]:
        """All findings, in their order."""
        return [self._finding(row) for row in self._rows("SELECT * FROM findings ORDER BY number")]

    def finding(self, number: int) -> RecordedFinding:
        """A finding by its number. :raises RunError: there is none"""
        rows = self._rows("SELECT * FROM findings WHERE number = ?", number)
        if not rows:
            count = self._rows("SELECT count(*) FROM findings")[0][0]
            raise RunError(f"the run {self.folder} has no finding {number}; it has {count}")
        return self._finding(rows[0])

    def _finding(self, row: sqlite3.Row) -> RecordedFinding:
        fingerprint = json.loads(row["fingerprint"])
        return RecordedFinding(
            number=row["number"],
            session=row["session"],
            at=row["at"] - self.began,
            kind=FindingKind[row["kind"]],
            severity=Severity(row["severity"]),
            expected=tuple(json.loads(row["expected"])),
            offset=row["got_offset"],
            symbols=tuple(json.loads(row["symbols"])),
            has_before=bool(row["has_before"]),
            known=_column(row, "known") or "",
            fingerprint=Fingerprint(**{**fingerprint, "expected": tuple(fingerprint["expected"])}),
            **{name: row[name] for name in _AS_STORED},
        )

    @property
    def coverage(self) -> dict[str, Any]:
        """The coverage at the end, by goals and views; {} if the run did not come to its end."""
        figures: dict[str, Any] = json.loads(self.fact("coverage") or "{}")
        return figures

    def snapshot(self) -> tuple[int, dict[str, Any]]:
        """The state that a resumed run needs, and the number of sessions before it was written."""
        rows = self._rows("SELECT session, data FROM state WHERE name = 'campaign'")
        return (rows[0]["session"], json.loads(rows[0]["data"])) if rows else (0, {})

    def recoveries_before(self, session: int) -> dict[str, list[Any]] | None:
        """The knowledge about constraints from earlier sessions when a session began; None if there was none."""
        rows = self._rows(
            "SELECT recoveries FROM sessions WHERE number < ? AND recoveries IS NOT NULL "
            "AND ended <= coalesce((SELECT started FROM sessions WHERE number = ?), ended) "
            "ORDER BY ended DESC, number DESC LIMIT 1",
            session,
            session,
        )
        found: dict[str, list[Any]] | None = json.loads(rows[0][0]) if rows else None
        return found

    def shrinking(self, finding: int) -> Shrinking | None:
        """A finding made small, if that was done."""
        rows = self._rows("SELECT * FROM shrinkings WHERE finding = ?", finding)
        if not rows:
            return None
        said = self._rows("SELECT * FROM shrunk WHERE finding = ? ORDER BY number", finding)
        messages = tuple(
            RecordedMessage(
                *(row["number"] + 1, 0.0, row["sender"], row["recipient"], row["symbol"], row["data"]),
                *(bool(row["is_ours"]), _aside(row)),
            )
            for row in said
        )
        row = rows[0]
        figures = (row["attempts"], row["reproduced"], row["of"], row["reason"], row["headline"], row["explanation"])
        return Shrinking(finding, messages, *figures, _column(row, "got") or b"", _column(row, "got_offset"))

    def check_writable(self) -> None:
        """Find out if something can be kept. :raises RunError: the run cannot be written"""
        try:
            with closing(connect(self.folder / FILE_NAME)) as file:
                file.execute("BEGIN IMMEDIATE")
                file.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise RunError(f"cannot write the run {self.folder}: {error}") from error

    def keep_shrinking(self, result: Shrinking, seconds: float) -> None:
        """Write a finding made small beside the original. :raises RunError: the run cannot be written"""
        figures = (result.attempts, result.reproduced, result.of, seconds, result.reason)
        rows = [
            (
                result.finding,
                number,
                said.sender,
                said.recipient,
                said.symbol,
                said.data,
                said.is_ours,
                said.aside,
            )
            for number, said in enumerate(result.messages)
        ]
        try:
            with closing(connect(self.folder / FILE_NAME)) as file:
                bring_up_to_date(file)
                file.execute("BEGIN")
                file.execute("DELETE FROM shrunk WHERE finding = ?", (result.finding,))
                file.execute(
                    "INSERT OR REPLACE INTO shrinkings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (result.finding, *figures, result.headline, result.explanation, result.got, result.offset),
                )
                file.executemany("INSERT INTO shrunk VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
                file.execute("COMMIT")
        except sqlite3.Error as error:
            raise RunError(f"cannot write the run {self.folder}: {error}") from error


def _aside(row: sqlite3.Row) -> str:
    """The reason why a message is no part of the dialogue; runs of earlier versions have no such messages."""
    return _column(row, "aside") or ""


def _column(row: sqlite3.Row, name: str) -> Any:
    """A value that runs of earlier versions do not have."""
    return row[name] if name in row.keys() else None  # noqa: SIM118  # a row is no mapping


def open_run(path: str | PathLike[str]) -> Run:
    """Open a run by its folder, by its name in the usual place, or as `latest`. :raises RunError: there is none"""
    return Run(find(str(path)))
