"""Trouble below messages: segments that are cut anywhere are right; a server must survive connections that break."""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, ClassVar

import pytest
from beyond_peers import first_violation, served, talked

import palaver
from palaver.beyond.digressing_session import TROUBLE
from palaver.beyond.transport_faults import Delivery, OutgoingPieces
from palaver.campaign.events import FindingReported, MessageSent
from palaver.campaign.run import Campaign
from palaver.recording.run_reader import open_run
from palaver.recording.run_writer import record
from palaver.replaying.live_replay import LiveTarget, recorded_script, replay_live
from palaver.replaying.offline_replay import replay_offline
from palaver.session.findings import FindingKind, Severity

SPEC = r"""
<start> ::= <Server:ready> <visit>{1,4} <Client:bye> <Server:gone>
<visit> ::= <Client:key> <Client:value> <Server:stored>
<ready> ::= "ready\n"
<key> ::= "key " <name> "\n"
<value> ::= "value " <name> "\n"
<bye> ::= "bye\n"
<name> ::= r"[a-z]{1,8}"
<stored> ::= "stored\n"
<gone> ::= "gone\n"
"""
# Without two messages of ours in a row, which may arrive together.
ALTERNATING = SPEC.replace("<Client:key> ", "").replace('<key> ::= "key " <name> "\\n"\n', "")


class Store:
    """Reads lines, however they come."""

    def __init__(self) -> None:
        self.is_over = False
        self.buffer = b""

    def greet(self) -> bytes:
        return b"ready\n"

    def hear(self, data: bytes) -> bytes:
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        return b"".join(self.answer(line) for line in lines)

    def answer(self, line: bytes) -> bytes:
        """The answer to a line."""
        self.is_over = self.is_over or line == b"bye"
        if re.fullmatch(rb"key [a-z]+", line):
            return b""
        return b"gone\n" if self.is_over else b"stored\n" if re.fullmatch(rb"value [a-z]+", line) else b"error\n"


class OneReadOneLine(Store):
    """Takes whatever it reads at once for a line."""

    def hear(self, data: bytes) -> bytes:
        return self.answer(data.removesuffix(b"\n"))


class FirstLineOnly(Store):
    """Forgets what comes behind a line."""

    def hear(self, data: bytes) -> bytes:
        line, end, _ = (self.buffer + data).partition(b"\n")
        self.buffer = b"" if end else line
        return self.answer(line) if end else b""


class Crowded(Store):
    """Does not answer while there is another connection."""

    open: ClassVar[list[Store]] = []

    def __init__(self) -> None:
        super().__init__()
        self.open.append(self)

    def answer(self, line: bytes) -> bytes:
        return super().answer(line) if self.open[-1] is self else b""


@pytest.fixture(scope="module")
def store() -> palaver.Spec:
    return palaver.loads(SPEC)


def test_a_server_that_reads_lines_is_not_suspected(store: palaver.Spec) -> None:
    campaign = talked(store, Store, 60, beyond=0.6)
    assert campaign.findings == []


def test_every_trouble_has_its_turn(store: palaver.Spec) -> None:
    with one_at_a_time() as port:
        campaign = palaver.talk(store, client=port, sessions=200, seed=1, beyond=0.7)
        told = [event.message.aside for event in campaign if isinstance(event, MessageSent)]
    assert campaign.findings == []
    troubles = Counter(each.partition(", ")[2] for each in told if each.startswith(TROUBLE))
    assert len(troubles) == 12, troubles
    assert {each.value for each in Delivery} < set(troubles)


@pytest.mark.parametrize(("server", "what"), [(OneReadOneLine, "pieces|one byte"), (Crowded, "second")])
def test_a_server_that_minds_how_a_stream_is_cut_is_found(server: type[Store], what: str) -> None:
    found = first_violation(palaver.loads(ALTERNATING), server, 100, timeout=0.2, patience=0.2)
    assert found is not None
    assert found.kind in (FindingKind.UNPARSEABLE, FindingKind.SILENCE)
    assert re.search(rf"\(after transport: .*({what}).*without that, it does not\)", found.message), found.message


def test_a_server_that_forgets_the_rest_of_a_segment_is_found(store: palaver.Spec) -> None:
    found = first_violation(store, FirstLineOnly, 100, timeout=0.2, patience=0.2)
    assert found is not None
    assert found.kind in (FindingKind.UNPARSEABLE, FindingKind.SILENCE)


@contextmanager
def one_at_a_time(*, spins: bool = False) -> Iterator[int]:
    """A server that serves one connection after the other, and may wait for ever for the rest of a line."""
    is_over = Event()

    def serve(connection: socket.socket) -> None:
        session, line = Store(), b""
        connection.settimeout(10)
        connection.sendall(session.greet())
        while not session.is_over and not is_over.is_set():
            data = connection.recv(4096)
            if not data and not (spins and line):
                return
            line = (line + data).rpartition(b"\n")[2]
            connection.sendall(session.hear(data))

    def serve_all() -> None:
        while not is_over.is_set():
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        thread = Thread(target=serve_all, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        is_over.set()
        thread.join()


def violations(campaign: Campaign) -> list[str]:
    """The kinds of the findings that are no notes, until the first."""
    with campaign:
        for event in campaign:
            if isinstance(event, FindingReported) and event.finding.severity is Severity.VIOLATION:
                return [event.finding.kind.label]
    return []


def test_a_server_that_waits_for_ever_for_the_rest_of_a_line_is_found(store: palaver.Spec) -> None:
    with one_at_a_time(spins=True) as port:
        campaign = palaver.talk(store, client=port, sessions=100, seed=1, beyond=0.7, timeout=0.3)
        assert violations(campaign) == ["no response"]


@pytest.mark.parametrize(
    ("how", "pieces"),
    [
        (Delivery.TWO_PIECES, [b"ab", b"cd"]),
        (Delivery.BYTES, [b"a", b"b", b"c", b"d"]),
        (Delivery.JOINED, [b"abcdef"]),
    ],
)
def test_pieces_are_sent_one_after_the_other(how: Delivery, pieces: list[bytes]) -> None:
    sent: list[bytes] = []
    outgoing = OutgoingPieces(lambda _link, data: sent.append(data))
    outgoing.how = how
    outgoing.take(0.0, "Client", b"abcd", may_join=True)
    for tick in range(1, 9):
        assert outgoing.go_on(0.0) is False
        outgoing.go_on(float(tick))
    if outgoing.is_waiting:
        outgoing.take(9.0, "Client", b"ef", may_join=False)
    assert sent == pieces


def test_a_finding_about_pieces_is_replayed_with_them(tmp_path: Path) -> None:
    with served(OneReadOneLine) as port:
        options: dict[str, Any] = {"client": [str(port)], "sessions": 20, "seed": 1, "beyond": 0.7, "timeout": 0.3}
        campaign = palaver.talk(palaver.loads(ALTERNATING), **options)
        record(campaign, tmp_path / "run", options)
        campaign.run()
        with open_run(tmp_path / "run") as run:
            finding = next(each for each in run.findings if "(after transport: " in each.message)
            assert replay_offline(run, finding).is_found
            # The system decides which pieces are read together, so one attempt in five is enough.
            attempts = replay_live(LiveTarget(run, finding), recorded_script(run, finding), 5)
            assert any(each.is_reproduced for each in attempts)
