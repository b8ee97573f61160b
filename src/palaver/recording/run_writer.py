"""Writes a run directory while the run goes on: a reader of the events of a campaign.

How it works
============

What happens in a session is collected, and written in one transaction when the session has ended; findings that come
later are written at once. So whatever happens to palaver, the file holds every session that had ended, whole. A write
that fails, as on a full disk, stops the campaign after its session.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, field, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeAlias, assert_never

from palaver.campaign.events import (
    ActionTaken,
    CampaignEnded,
    CampaignStarted,
    CoverageChanged,
    Event,
    FindingReported,
    InputHandled,
    MessageReceived,
    MessageSent,
    PhaseChanged,
    PlanMade,
    PortBound,
    SessionEnded,
    SessionStarted,
    SilenceRetried,
    StillWaiting,
    TargetEnded,
    TargetOutput,
    TargetStarted,
    TurnTaken,
)
from palaver.campaign.run import Campaign
from palaver.compiled import Spec
from palaver.lean_dataclasses import dataclass
from palaver.limits import recorded
from palaver.recording.disk_reserve import DiskReserve
from palaver.recording.recording_limits import (
    BYTES_PER_ROW,
    MAX_RUN_BYTES,
    SESSIONS_AT_A_TIME,
    SHARE_LEFT,
    SHARE_MEASURED,
    SNAPSHOT_SHARE,
)
from palaver.recording.records import WireEvent, made_at, row_of
from palaver.recording.run_folders import lock, remove_files, unlock
from palaver.recording.schema import FILE_NAME, RunError, bring_up_to_date, connect, create
from palaver.session.findings import Finding, SessionMessage
from palaver.session.interface import Received, Send, Turn

# The sessions whose conversations are kept: all of them, or those with findings.
Keep: TypeAlias = Literal["all", "findings"]


@dataclass(eq=False, slots=True)
class _OpenSession:
    """A session that goes on. What happens in it is only collected; to make rows of all of it at once is faster."""

    started: SessionStarted
    messages: list[SessionMessage] = field(default_factory=list)
    wire: list[tuple[float, WireEvent]] = field(default_factory=list)
    silence: str | None = None


class RunWriter:
    """A reader of events that writes a run. `failure` says why it could not go on; empty if it could."""

    def __init__(
        self,
        campaign: Campaign,
        folder: Path,
        options: Mapping[str, Any],
        *,
        command: Sequence[str] = (),
        keep: Keep = "all",
        max_bytes: int = MAX_RUN_BYTES,
        resumes: bool = False,
    ) -> None:
        self.folder = folder
        self.failure = ""
        self._campaign = campaign
        self._is_new = not resumes
        self._keep = keep
        self._max_bytes = max_bytes
        self._open: dict[int, _OpenSession] = {}  # those that go on, by number
        self._target: list[tuple[object, ...]] = []
        self._target_rows = 0
        self._findings: list[tuple[object, ...]] = []
        self._recoveries: tuple[int, ...] = ()
        self._unmeasured = 0  # rows since the size was last looked at
        self._is_full = False
        self._is_over = False
        self._lock = lock(folder)
        self._snapshot_at = 0.0  # when the next one may be made
        try:
            self._file = self._opened(resumes)
        except RunError:
            unlock(self.folder, self._lock)
            raise
        self._note_beginning(campaign.spec, options, command)

    def _opened(self, resumes: bool) -> sqlite3.Connection:
        """The file, empty or with what was written before."""
        place = self.folder / FILE_NAME
        if not resumes:
            if place.exists():
                raise RunError(f"there is a run in {self.folder} already; go on with --resume, or give another place")
            self._reserve = DiskReserve(self.folder)
            return create(place)
        self._reserve = DiskReserve(self.folder)
        try:
            file = connect(place)
            bring_up_to_date(file)
            self._target_rows = file.execute("SELECT coalesce(max(number), 0) FROM target").fetchone()[0]
        except sqlite3.Error as error:
            raise RunError(f"cannot write the run {self.folder}: {error}") from error
        return file

    def _note_beginning(self, spec: Spec, options: Mapping[str, Any], command: Sequence[str]) -> None:
        origin = spec.origin
        rows: list[tuple[object, ...]] = [
            (number, _storable(source.name), source.text, source.is_included)
            for number, source in enumerate(origin.sources, 1)
        ]
        self._transact([("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)", rows)])
        self._note(
            options=json.dumps(options, default=_as_json),
            command=json.dumps(list(command)),
            constraints=json.dumps(origin.constraints),
            start=origin.start,
            has_library=str(int(origin.has_library)),
            parameters=json.dumps(dict(origin.parameters)),
            keep=self._keep,
            max_bytes=str(self._max_bytes),
            pid=str(os.getpid()),
            folder=str(_storable(os.getcwd())),
            how="running",
        )

    def __call__(self, event: Event) -> None:
        if isinstance(event, _MESSAGES):  # most of them
            self._open[event.session].messages.append(event.message)
            return
        match event:
            case InputHandled() | ActionTaken() | TurnTaken():
                pass  # they are traced
            case SessionStarted():
                self._open[event.session] = _OpenSession(event)
            case SilenceRetried(session=session, is_confirmed=is_confirmed):
                self._open[session].silence = "confirmed" if is_confirmed else "not repeated"
            case FindingReported(finding=finding):
                self._findings.append(_finding_row(finding))
                if finding.session not in self._open:
                    self._write([])
            case SessionEnded():
                self._write_session(event)
            case TargetStarted(at, session, words):
                self._add_target(session, at, "started", None, json.dumps(words))
            case TargetOutput(at, session, data):
                self._add_target(session, at, "output", data, None)
            case TargetEnded(at, session, exit_code):
                self._add_target(session, at, "ended", None, json.dumps({"exit_code": exit_code}))
            case CampaignStarted():
                self._note_start(event)
            case CampaignEnded():
                self._note_end(event)
            case PortBound() | PlanMade() | CoverageChanged() | PhaseChanged() | StillWaiting():
                pass
            case _:
                assert_never(event)

    def trace(self, at: float, session: int, each: WireEvent) -> None:
        """Note an input, an action or a turn of the session that goes on."""
        self._open[session].wire.append((at, each))

    def _add_target(self, session: int, at: float, kind: str, data: bytes | None, detail: str | None) -> None:
        self._target_rows += 1
        self._target.append((session, self._target_rows, at, kind, data, detail))

    def _note_start(self, event: CampaignStarted) -> None:
        versions = {f"version of {name}": version for name, version in event.versions}
        self._note(
            seed=str(event.seed),
            parties=json.dumps(event.parties),
            **versions,
        )
        # A run that is resumed goes on with the clock, which is that of the machine.
        beginning: list[tuple[object, ...]] = [("started", _now()), ("clock", repr(event.at))]
        self._transact([("INSERT OR IGNORE INTO run VALUES (?, ?)", beginning)])

    def _note_end(self, event: CampaignEnded) -> None:
        """Write what is left, also of a session that was interrupted, and how the run has ended.

        If no session began, as the system under test could not be started, there is nothing to keep.
        """
        if self._is_new and not self._open and not self._campaign.progress.sessions:
            self.close()
            remove_files(self.folder)
            return
        if self._open or self._findings or self._target:
            self._write([(each, None) for each in self._open.values()])
        limit = f"; details of sessions without findings were dropped at {self._max_bytes} bytes" * self._is_full
        how = "interrupted" if event.reason == "interrupted" or event.reason.startswith("terminated ") else "ended"
        self._is_over = True
        facts = {"how": how, "reason": event.reason + limit, "verdict": event.verdict.value, "ended": _now()}
        facts["seconds"] = repr(self._campaign.seconds)
        if not self.failure:
            self._write_snapshot()
            self._note(**facts, coverage=json.dumps(self._coverage()))
        if self.failure and not self._note(**facts):
            self._reserve.note(facts)
        self.close()

    def _coverage(self) -> dict[str, Any]:
        """The figures at the end, and why something is missing if there was time to find out."""
        campaign = self._campaign
        figures = campaign.coverage
        found: dict[str, Any] = {"goals": figures.goals, "views": figures.views, "reasons": [], "missing_values": []}
        if campaign.progress.goal_after:
            if figures.covered < figures.total:
                with recorded(campaign.limits):
                    reasons = campaign.guidance.reasons()
                found["reasons"] = [
                    {"paths": each.paths, "what": each.need.what, "text": str(each), "examples": each.examples}
                    for each in reasons
                ]
            found["missing_values"] = campaign.guidance.missing_values()
            found["missing_refusals"] = campaign.guidance.missing_refusals()
        return found

    def close(self) -> None:
        """Write no more."""
        with suppress(sqlite3.Error):
            self._file.close()
        self._reserve.remove()
        unlock(self.folder, self._lock)

    def _write_session(self, event: SessionEnded) -> None:
        self._write([(self._open[event.session], event)])
        self._make_room()
        if perf_counter() >= self._snapshot_at:
            self._write_snapshot()

    def _write_snapshot(self) -> None:
        """Write what a resumed run needs, and not so often that it would take much of the time."""
        began = perf_counter()
        guidance = self._campaign.guidance
        state: dict[str, Any] = {"guidance": guidance.as_data(), "walks": guidance.random_walk.walks.sessions}
        if self._open:
            state["open"] = list(self._open)
        begun = self._campaign.progress.sessions + len(self._open)
        row = ("campaign", begun, json.dumps(state, separators=(",", ":")))
        self._transact([("INSERT OR REPLACE INTO state VALUES (?, ?, ?)", [row])])
        if self._keep == "findings":
            self._drop_all_details()
        now = perf_counter()
        self._snapshot_at = now + (now - began) / SNAPSHOT_SHARE

    def _session_row(self, session: _OpenSession, ended: SessionEnded | None) -> tuple[object, ...]:
        """The row of a session; one that was interrupted has no end."""
        started, messages = session.started, session.messages
        ours = sum(1 for said in messages if said.is_ours)
        aim = self._campaign.guidance.goal_progress
        recoveries = self._campaign.setup.recoveries
        changed = None
        if recoveries.count != self._recoveries:
            self._recoveries = recoveries.count
            changed = json.dumps(recoveries.as_data(), separators=(",", ":"))
        return (
            *(started.session, started.at, None if ended is None else ended.at, started.is_guided),
            None if ended is None else ended.verdict.value,
            None if ended is None or ended.cut_off is None else str(ended.cut_off),
            *(started.ends_at, 0.0 if ended is None else ended.watched, ours, len(messages) - ours),
            *(aim.reached, aim.total, session.silence, True, changed),
        )

    def _write(self, sessions: Sequence[tuple[_OpenSession, SessionEnded | None]]) -> None:
        """Write these sessions and all else that was collected, in one transaction."""
        rows = [self._session_row(*each) for each in sessions]
        numbered = [(session.started.session, session) for session, _ in sessions]
        messages = [row for number, session in numbered for row in _message_rows(number, session.messages)]
        wire = [row for number, session in numbered for row in _wire_rows(number, session.wire)]
        work = [
            (f"INSERT INTO sessions VALUES ({_MARKS[15]})", rows),
            (f"INSERT INTO messages VALUES ({_MARKS[9]})", messages),
            (f"INSERT INTO wire VALUES ({_MARKS[7]})", wire),
            (f"INSERT INTO target VALUES ({_MARKS[6]})", self._target),
            (f"INSERT INTO findings VALUES ({_MARKS[21]})", self._findings),
        ]
        self._transact(work)
        self._unmeasured += sum(len(rows) for _, rows in work)
        self._target, self._findings = [], []
        for number, _ in numbered:
            del self._open[number]

    def _transact(self, work: Sequence[tuple[str, list[tuple[object, ...]]]]) -> bool:
        """Write all of this or nothing; if the disk is full, into the room that was kept for that."""
        try:
            self._apply(work)
        except sqlite3.Error as error:
            self._fail(error)
            return self._reserve.give_back() and self._transact(work)
        return True

    def _apply(self, work: Sequence[tuple[str, list[tuple[object, ...]]]]) -> None:
        try:
            self._file.execute("BEGIN")
            for statement, rows in work:
                if rows:
                    self._file.executemany(statement, rows)
            self._file.execute("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")
            raise

    def _note(self, **values: str) -> bool:
        rows: list[tuple[object, ...]] = [(name, _storable(value)) for name, value in values.items()]
        return self._transact([("INSERT OR REPLACE INTO run VALUES (?, ?)", rows)])

    def _fail(self, error: sqlite3.Error) -> None:
        self.failure = self.failure or f"the run {self.folder} cannot be written any more: {error}"
        with suppress(sqlite3.Error):  # the room that is left is for what was not yet written at all
            self._file.execute("PRAGMA wal_autocheckpoint = 0")
        self._campaign.stop(self.failure)

    def _make_room(self) -> None:
        """Drop the details of sessions without findings, the oldest first, if the run is too large."""
        if self.failure or self._unmeasured * BYTES_PER_ROW < SHARE_MEASURED * self._max_bytes:
            return
        self._unmeasured = 0
        if self._size <= self._max_bytes:
            return
        self._is_full = True
        try:
            while self._size > SHARE_LEFT * self._max_bytes and self._drop_details():
                pass
        except sqlite3.Error as error:
            self._fail(error)
            return
        if self._size > self._max_bytes:
            self._campaign.stop(f"the run {self.folder} has reached its limit of {self._max_bytes} bytes (--run-size)")

    @property
    def _size(self) -> int:
        """The size of what is written, without pages that are free again."""
        pages = self._pragma("page_count") - self._pragma("freelist_count")
        return pages * self._pragma("page_size")

    def _pragma(self, name: str) -> int:
        return int(self._file.execute(f"PRAGMA {name}").fetchone()[0])

    def _drop_all_details(self) -> None:
        """Drop the details of all sessions without findings; until a snapshot, a resumed run would need them."""
        try:
            while not self.failure and self._drop_details():
                pass
        except sqlite3.Error as error:
            self._fail(error)

    def _blamable(self) -> list[int]:
        """The sessions that may have a finding yet, by what the system under test does later."""
        target = self._campaign.target
        if target is None or self._is_over:
            return []
        return [self._campaign.progress.sessions, *self._open, *target.suspected_sessions]

    def _drop_details(self) -> bool:
        """Drop the details of some sessions; False if there are none left."""
        found = self._file.execute(
            "SELECT number FROM sessions WHERE has_details AND number NOT IN (SELECT session FROM findings) "
            "AND number NOT IN (SELECT session - 1 FROM findings WHERE has_before) "
            "AND number NOT IN (SELECT value FROM json_each(?)) ORDER BY number LIMIT ?",
            (json.dumps(self._blamable()), SESSIONS_AT_A_TIME),
        ).fetchall()
        self._file.execute("BEGIN")
        for table in ("messages", "wire", "target"):
            self._file.executemany(f"DELETE FROM {table} WHERE session = ?", found)
        self._file.executemany("UPDATE sessions SET has_details = 0 WHERE number = ?", found)
        self._file.execute("COMMIT")
        return bool(found)


_MESSAGES = (MessageSent, MessageReceived)

# The places of values in a statement, by their number.
_MARKS = {count: ", ".join("?" * count) for count in (6, 7, 9, 15, 21)}


def record(
    campaign: Campaign,
    folder: Path,
    options: Mapping[str, Any] | None = None,
    *,
    command: Sequence[str] = (),
    keep: Keep = "all",
    max_bytes: int = MAX_RUN_BYTES,
    resumes: bool = False,
) -> RunWriter:
    """Let a campaign write a run; `options` are those of `palaver.talk` that it was made with.

    With `resumes`, it goes on with a run that was written before.

    :raises RunError: it cannot be written there
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot write the run {folder}: {error.strerror}; give another place with --run") from error
    writer = RunWriter(
        campaign, folder, options or {}, command=command, keep=keep, max_bytes=max_bytes, resumes=resumes
    )
    if writer.failure:
        writer.close()
        raise RunError(writer.failure)
    campaign.tracers.append(writer.trace)
    campaign.attach(writer)
    return writer


def _message_rows(session: int, messages: Sequence[SessionMessage]) -> list[tuple[object, ...]]:
    return [
        (session, *(number, said.at, said.sender, said.recipient, said.symbol, said.data, said.is_ours, said.aside))
        for number, said in enumerate(messages)
    ]


def _wire_rows(session: int, happened: Sequence[tuple[float, WireEvent]]) -> list[tuple[object, ...]]:
    """The rows of what happened. What comes with every message is written by hand, as that is several times faster."""
    rows: list[tuple[object, ...]] = []
    turn: Turn | None = None  # whose message is sent next
    for at, each in happened:
        if isinstance(each, Send):
            if turn is None:
                rows.append((session, len(rows), at, "send", each.link, each.data, None))
            else:
                rows.append((session, len(rows), turn.at, "said", each.link, each.data, made_at(turn)))
                turn = None
            continue
        if turn is not None:
            rows.append((session, len(rows), *row_of(turn, at)))
            turn = None
        if isinstance(each, Received) and not each.is_whole:
            rows.append((session, len(rows), each.at, "received", each.link, each.data, None))
        elif isinstance(each, Turn) and each.outcome == "taken":
            turn = each
        else:
            rows.append((session, len(rows), *row_of(each, at)))
    if turn is not None:
        rows.append((session, len(rows), *row_of(turn, turn.at)))
    return rows


def _finding_row(finding: Finding) -> tuple[object, ...]:
    fingerprint = finding.fingerprint
    row = (
        *(finding.number, finding.session, finding.at, finding.kind.name, finding.label, finding.severity.value),
        *(finding.party, finding.message, json.dumps(finding.expected), finding.got, finding.offset),
        *(finding.constraint, finding.cause, json.dumps(finding.symbols), len(finding.messages), bool(finding.before)),
        *(finding.output, json.dumps(asdict(fingerprint)), fingerprint.digest, "\n".join(finding.explanation)),
        finding.known or None,
    )
    return tuple(map(_storable, row))


def _storable(value: object) -> object:
    """The value, without characters that UTF-8 has no form for."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _as_json(value: object) -> object:
    """Values that JSON has no form for: dataclasses, enumerations, paths."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return getattr(value, "value", str(value))
