"""With several connections, the same problem is noticed sooner or later, or after messages in another order."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

import pytest

import palaver
from palaver.lean_dataclasses import replace
from palaver.recording.run_reader import Run
from palaver.recording.run_writer import record
from palaver.replaying.again import AgainOutcome, try_first
from palaver.replaying.live_replay import LiveTarget, recorded_script, replay_live
from palaver.replaying.shrinking import ShrinkLimits, shrink
from palaver.session.findings import Finding, FindingKind, SessionMessage, is_seen_otherwise
from palaver.trees.node import Node, NonTerminal

SPEC = r"""
<start>    ::= <Client:hello> <Server:Client:welcome> <Watcher:watch> <Server:Watcher:watching> <exchange>{1,6}
<hello>    ::= "hello\n"
<welcome>  ::= "welcome\n"
<watch>    ::= "watch\n"
<watching> ::= "watching\n"
<exchange> ::= <Client:ask> <Server:Client:answer>
<ask>      ::= r"ask [a-z]{1,8}\n"
<answer>   ::= "well\n"

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1883", connection_mode=ConnectionMode.CONNECT)
        self.start()

    def receive(self, message, sender):
        watcher = Watcher.instance()
        if not watcher.is_started:
            watcher.ip, watcher.port = self.ip, self.port
            watcher.start()
        super().receive(message, sender)

class Watcher(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1883", connection_mode=ConnectionMode.CONNECT)

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1883", connection_mode=ConnectionMode.EXTERNAL)
"""


class Server(ThreadingTCPServer):
    """Tells the watcher something unasked once so many questions were answered; never if it is 0."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Session)
        self.told_after = 0
        self.watcher: socket.socket | None = None


class Session(StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        answers = {b"hello\n": b"welcome\n", b"watch\n": b"watching\n"}
        asked = 0
        for line in self.rfile:
            if line == b"watch\n":
                self.server.watcher = self.connection
            asked += line.startswith(b"ask")
            self.wfile.write(answers.get(line, b"well\n"))
            if asked and asked == self.server.told_after and self.server.watcher is not None:
                self.server.watcher.sendall(b"boo %d\n" % asked)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        Thread(target=server.serve_forever).start()
        yield server
        server.shutdown()


def found_late(server: Server, folder: Path) -> Run:
    (folder / "watch.fan").write_text(SPEC)
    server.told_after = 3
    options: dict[str, Any] = {"seed": 1, "guided": False, "sessions": 20, "until": "forever"}
    options |= {"client": f"tcp:127.0.0.1:{server.server_address[1]}", "timeout": 5.0}
    with palaver.talk(folder / "watch.fan", **options) as campaign:
        record(campaign, folder / "run", options)
        campaign.run()
    return palaver.open_run(folder / "run")


def test_what_is_noticed_sooner_is_the_same_finding_and_is_made_small(server: Server, tmp_path: Path) -> None:
    with found_late(server, tmp_path) as run:
        finding = run.findings[0]
        server.told_after = 1
        attempts = replay_live(LiveTarget(run, finding), recorded_script(run, finding), 3)
        assert [each.is_reproduced for each in attempts] == [True] * 3
        assert all(len(each.messages) < finding.messages for each in attempts)
        small = shrink(run, finding, ShrinkLimits(runs=60))
        assert small is not None
        assert len(small.messages) == 6  # with one exchange


@pytest.mark.parametrize(("told_after", "outcome"), [(1, AgainOutcome.STILL_THERE), (0, AgainOutcome.FIXED)])
def test_it_is_not_called_fixed_in_the_next_run(
    server: Server, tmp_path: Path, told_after: int, outcome: AgainOutcome
) -> None:
    with found_late(server, tmp_path) as run:
        server.told_after = told_after
        options: dict[str, Any] = {"seed": 2, "sessions": len(run.findings)}
        options |= {"client": f"tcp:127.0.0.1:{server.server_address[1]}"}
        with palaver.talk(tmp_path / "watch.fan", **options) as campaign:
            again = try_first(campaign, run)
            campaign.run()
    assert {told for _, told in again.outcomes} == {outcome}


def test_what_is_noticed_later_or_elsewhere_is_another_finding(server: Server, tmp_path: Path) -> None:
    with found_late(server, tmp_path) as run:
        finding = run.findings[0]
        symbols = [each.symbol for each in run.messages(finding.session)[: finding.messages]]
    now = Finding(FindingKind.UNEXPECTED, 0.0, "", "Server")
    assert is_seen_otherwise(now, finding, symbols)
    assert not is_seen_otherwise(replace(now, party="Client"), finding, symbols)
    assert not is_seen_otherwise(replace(now, kind=FindingKind.UNPARSEABLE), finding, symbols)
    assert not is_seen_otherwise(now, finding, [])


def test_what_was_taken_for_an_answer_may_come_before_the_question() -> None:
    before = Finding(FindingKind.CONSTRAINT, 0.0, "", "Server", got=b"boo 1\n")
    now = Finding(FindingKind.UNEXPECTED, 0.0, "", "Server", got=b"boo 1\n")
    assert is_seen_otherwise(now, before, ["<ask>"])
    assert not is_seen_otherwise(replace(now, got=b"boo 2\n"), before, ["<ask>"])
    assert not is_seen_otherwise(replace(now, got=b""), replace(before, got=b""), ["<ask>"])


def after(*symbols: str, expected: tuple[str, ...], kind: FindingKind = FindingKind.SILENCE) -> Finding:
    node = Node(NonTerminal("<it>"), ())
    said = tuple(SessionMessage(0.0, "Server", "Client", symbol, b"", node) for symbol in symbols)
    return Finding(kind, 0.0, "", " or ".join(each.strip("<>").title() for each in expected), expected, messages=said)


def test_a_silence_after_the_same_messages_in_another_order_is_the_same() -> None:
    before = after("<file>", "<complete>", expected=("<closed>", "<file>"))
    symbols = ["<file>", "<complete>"]
    now = after("<complete>", "<file>", expected=("<closed>",))
    assert is_seen_otherwise(now, before, symbols)
    assert is_seen_otherwise(before, now, symbols[::-1])
    assert not is_seen_otherwise(after("<complete>", expected=("<closed>",)), before, symbols)
    assert not is_seen_otherwise(after(*symbols[::-1], expected=("<file>", "<error>")), before, symbols)
    assert not is_seen_otherwise(after(*symbols[::-1], expected=("<closed>",), kind=FindingKind.LATE), before, symbols)
