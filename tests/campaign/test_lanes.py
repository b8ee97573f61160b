"""With several jobs, sessions go on at the same time: they share what they learn, and each finding is tried alone."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

import palaver
from amounts import AT_LENGTH
from palaver.campaign.events import (
    CoverageChanged,
    Event,
    FindingReported,
    MessageReceived,
    MessageSent,
    SessionEnded,
    SessionStarted,
)
from palaver.campaign.run import Budget, Campaign, Phase, Progress, Until
from palaver.campaign.stopping import StopRule
from palaver.navigation.guidance import Guidance
from palaver.navigation.random_walk import WalkCounts
from palaver.random_source import RandomSource
from palaver.recording.run_reader import open_run
from palaver.recording.run_writer import record
from palaver.replaying.resuming import resumed_campaign, resumed_options
from palaver.session.engine import Session, Timeouts
from palaver.session.findings import FindingKind, Severity, Verdict
from palaver.session.interface import Action, Input, Open
from palaver.session.strategy import RandomStrategy
from palaver.transport.memory_network import MemoryEventLoop, MemoryNetwork

sys.path.insert(0, str(Path(__file__).parent.parent / "navigation"))
from guided import setup_of

# A login comes first in every session, so that to begin one has its price.
SHOP = """
<start> ::= <Client:hello> <Server:welcome> <visit>
<visit> ::= <Client:ask> <answer> <visit> | <Client:buy> <Server:sold> <visit> | <Client:bye> <Server:farewell>
<answer> ::= <Server:yes> | <Server:no>
<hello> ::= "hello\\n"
<welcome> ::= "welcome\\n"
<ask> ::= "ask " <thing> <colour>? "\\n"
<buy> ::= "buy " <thing> " for " <price> "\\n"
<thing> ::= "tea" | "milk" | "bread" | "salt"
<colour> ::= ", red" | ", green" | ", blue"
<price> ::= "1" | "2" | "3" | "4"
<yes> ::= "yes\\n"
<no> ::= "no\\n"
<sold> ::= "sold " <thing> "\\n"
<bye> ::= "bye\\n"
<farewell> ::= "farewell\\n"
where str(<sold>.<thing>) in ("tea", "milk", "bread", "salt")
"""
WRONG = SHOP.replace('"farewell\\n"', '"get out\\n"')
ANSWERS = ("<welcome>", "<yes>", "<no>", "<sold>", "<answer>", "<farewell>")
LATENCY = 0.05


class Shops:
    """The loop of a network in memory in which somebody listens whenever we connect, as `spec_of` says."""

    def __init__(self, spec_of: Callable[[Shops], str], pauses: Iterable[float] = ()) -> None:
        self.world = MemoryNetwork(wire=lambda link, data: [(LATENCY * link.startswith("Server"), data)])
        self.open: set[str] = set()  # the links of sessions that go on
        self._loop: MemoryEventLoop = self.world.loop()
        self._spec_of = spec_of
        self._setups: dict[str, object] = {}
        self._count = 0
        self.clock = self._loop.clock
        self.port_of = self._loop.port_of
        self._pauses = iter(pauses)  # how long we are busy before each poll

    def poll(self) -> list[Input]:
        self.world.clock.advance(next(self._pauses, 0.0))
        return self._loop.poll()

    def wait(self, until: float | None) -> list[Input]:
        return self._loop.wait(until)

    def carry_out(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Open):
                self.open.add(action.link)
                self._appear()
            elif type(action).__name__ == "Close":
                self.open.discard(action.link)
            self._loop.carry_out([action])

    def _appear(self) -> None:
        self._count += 1
        chance = RandomSource(7) / self._count
        theirs = setup_of(self._spec_of(self), as_client=False)
        self.world.add(Session(theirs, RandomStrategy(chance / "strategy"), chance)).step()


def shopping(
    jobs: int,
    budget: Budget | None = None,
    *,
    spec_of: Callable[[Shops], str] = lambda _shops: SHOP,
    is_guided: bool = True,
    timeout: float = 5.0,
    pauses: Iterable[float] = (),
) -> Campaign:
    setup = setup_of(SHOP)
    guidance = Guidance(setup, RandomSource(1), k=4)
    guidance.make_lanes(jobs)
    timeouts = Timeouts(timeout)
    return Campaign(
        setup, guidance, 1, timeouts, budget or Budget(), Shops(spec_of, pauses), is_guided=is_guided, trace=True
    )


def covered_after(run: Campaign) -> tuple[float, int]:
    """The seconds, and the messages, until all is covered."""
    began, messages = None, 0
    for event in run:
        began = event.at if began is None else began
        messages += isinstance(event, MessageSent | MessageReceived)
        if isinstance(event, CoverageChanged) and event.covered == event.total:
            return event.at - began, messages
    raise AssertionError(f"not all is covered: {run.coverage}")


def test_many_sessions_at_once_cover_the_same_in_less_time_with_few_more_messages() -> None:
    seconds, messages = covered_after(shopping(1))
    fewer_seconds, more_messages = covered_after(shopping(4))
    assert fewer_seconds < seconds / 2
    assert more_messages < 1.5 * messages


@pytest.mark.parametrize("is_guided", [True, False], ids=["guided", "unguided"])
def test_sessions_go_on_at_the_same_time_and_all_of_them_end(is_guided: bool) -> None:
    run = shopping(3, Budget(Until.FOREVER, sessions=20), is_guided=is_guided)
    most, begun, ended = 0, [], []
    for event in run:
        if isinstance(event, SessionStarted):
            begun.append(event.session)
        elif isinstance(event, SessionEnded):
            ended.append(event.session)
            assert event.verdict is Verdict.PASS
        most = max(most, len(begun) - len(ended))
    assert most == 3
    assert begun == sorted(ended) == list(range(1, 21))
    assert run.progress.sessions == 20
    assert not run.findings


def test_messages_belong_to_their_session() -> None:
    said: dict[int, list[object]] = {}
    for event in shopping(4, Budget(Until.FOREVER, sessions=12)):
        if isinstance(event, MessageSent | MessageReceived):
            said.setdefault(event.session, []).append(event.message)
        elif isinstance(event, SessionEnded):
            assert said.get(event.session, []) == list(event.messages)


def test_the_same_order_of_events_gives_the_same_run() -> None:
    first, again = ([repr(event) for event in shopping(4)] for _ in range(2))
    assert first == again


def test_no_two_sessions_plan_for_the_same_state() -> None:
    run = shopping(4)
    lanes = run.guidance.lanes
    reserved = lanes[0].guided_strategy.tours.reservations  # type: ignore[union-attr]  # there are several lanes
    for event in run:
        if isinstance(event, MessageSent):
            of_lanes = [reserved.of(number) for number in range(len(lanes))]
            for number, states in enumerate(of_lanes):
                for others in of_lanes[number + 1 :]:
                    # Three sessions may wait for the same answer, as answers differ.
                    shared = {state for state in states & others if not run.guidance.coverage.is_covered[state]}
                    walks = [run.guidance.coverage.walks[state] for state in shared]
                    assert all(walk[-1] in ANSWERS for walk in walks), walks


def test_what_only_comes_while_others_go_on_is_a_note() -> None:
    run = shopping(3, Budget(Until.FOREVER, sessions=8), spec_of=lambda shops: WRONG if len(shops.open) > 1 else SHOP)
    run.run()
    together = [finding for finding in run.findings if " went on, but not when it was tried alone)" in finding.message]
    assert together
    assert all(finding.severity is Severity.NOTE for finding in run.findings)
    assert run.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(3.0, "and there was no time to try it once more"), (5.0, "the same when it was tried once more")],
)
def test_a_silence_that_the_end_of_the_run_keeps_from_being_tried_again_is_not_said_to_be_the_same(
    seconds: float, told: str
) -> None:
    waits = SHOP.replace("<Client:hello> <Server:welcome>", "<Client:hello> <Client:hello> <Server:welcome>")
    run = shopping(1, Budget(Until.FOREVER, seconds=seconds, sessions=1), spec_of=lambda _shops: waits, timeout=2.0)
    (finding,) = run.run().findings
    assert (finding.kind, finding.severity) == (FindingKind.SILENCE, Severity.VIOLATION)
    assert finding.message.endswith(f"({told})")


HANGS_UP = """
<start> ::= <Client:hello> <Server:welcome> <Server:connection_closed>
<connection_closed> ::= ""
<hello> ::= "hello\\n"
<welcome> ::= "welcome\\n"
"""


@pytest.mark.parametrize(
    ("pauses", "specs", "severity", "told"),
    [
        ([5.0] * 4, [HANGS_UP], Severity.NOTE, "(after a pause of ours of 5.0 s, but not when it was tried once more)"),
        ([5.0] * 4, [HANGS_UP] * 2, Severity.VIOLATION, ""),
        ([], [HANGS_UP], Severity.VIOLATION, ""),
    ],
    ids=["it does not come again", "it comes again", "there was no pause"],
)
def test_who_hangs_up_after_a_long_pause_of_ours_is_accused_only_if_it_comes_again(
    pauses: list[float], specs: list[str], severity: Severity, told: str
) -> None:
    answering = iter(specs)
    run = shopping(
        1, Budget(Until.FOREVER, sessions=1), spec_of=lambda _shops: next(answering, SHOP), pauses=pauses
    ).run()
    (finding,) = run.findings
    assert (finding.kind, finding.severity) == (FindingKind.CLOSED, severity)
    assert told in finding.message
    assert ("pause" in finding.message) == bool(told)


def test_what_comes_once_from_a_server_that_other_workers_share_is_a_note() -> None:
    specs = iter([WRONG])  # only the first session
    run = shopping(1, Budget(Until.FOREVER, sessions=3), spec_of=lambda _shops: next(specs, SHOP))
    run.second_look.shares_server = True
    (finding,) = run.run().findings
    assert finding.severity is Severity.NOTE
    assert "(while sessions of other workers went on, but not when it was tried alone)" in finding.message


def test_what_comes_again_alone_is_a_finding_of_its_session() -> None:
    run = shopping(3, Budget(Until.FOREVER, sessions=6), spec_of=lambda _shops: WRONG)
    found = [event.finding for event in run if isinstance(event, FindingReported)]
    assert found
    assert all(finding.severity is Severity.VIOLATION for finding in found)
    assert all(" alone" not in finding.message for finding in found)
    assert len({finding.session for finding in found}) == len(found)


TICKETS = """
import os, secrets, socketserver
def is_first():
    try:
        os.mkdir("sold")
    except FileExistsError:
        return False
    return True
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        self.rfile.readline()
        ticket = secrets.token_hex(6).encode()
        self.wfile.write(b"ticket " + ticket + b"\\n")
        for line in self.rfile:
            if line.split()[1] != ticket:
                self.wfile.write(b"denied\\n")
            elif line.startswith(b"sell"):
                self.wfile.write(SOLD)
            else:
                self.wfile.write(b"ok\\n")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 64
    def handle_error(self, request, client_address):
        pass  # who was reset has nothing to tell
Server(("127.0.0.1", int(__import__("sys").argv[1])), Handler).serve_forever()
"""
TICKET = """
<start> ::= <Client:hello> <Server:given> <visit>
<visit> ::= <Client:look> <Server:ok> <visit> | <Client:sell> <Server:ok> <visit> | <Client:bye> <Server:ok>
<hello> ::= "hello\\n"
<given> ::= "ticket " <ticket> "\\n"
<ticket> ::= r"[0-9a-f]{12}"
<look> ::= "look " <ticket> "\\n"
<sell> ::= "sell " <ticket> "\\n"
<bye> ::= "bye " <ticket> "\\n"
<ok> ::= "ok\\n"
where forall <t> in <look>: str(<t>.<ticket>) == str(<given>.<ticket>)
where forall <t> in <sell>: str(<t>.<ticket>) == str(<given>.<ticket>)
where forall <t> in <bye>: str(<t>.<ticket>) == str(<given>.<ticket>)
"""


def ticket_server(folder: Path, sold: str) -> str:
    """The command of a server that gives everybody a ticket, and answers this expression when something is sold."""
    (folder / "server.py").write_text(TICKETS.replace("SOLD", sold))
    return f"{shlex.join([sys.executable, str(folder / 'server.py')])} {{port}}"


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [('b"sold %d\\n" % os.getpid()', FindingKind.UNPARSEABLE), ('b""', FindingKind.SILENCE)],
    ids=["a wrong answer", "silence"],
)
def test_a_finding_behind_a_random_ticket_comes_again_alone(tmp_path: Path, wrong: str, kind: FindingKind) -> None:
    target = ticket_server(tmp_path, wrong)
    run = palaver.talk(
        palaver.loads(TICKET), target=target, seed=1, jobs=4, sessions=8 if AT_LENGTH else 4, timeout=0.5
    ).run()
    found = [finding for finding in run.findings if finding.kind is kind]
    assert found
    assert run.findings == found
    for finding in found:
        assert finding.severity is Severity.VIOLATION, finding.message
        assert finding.messages[-1].symbol == "<sell>"
        assert "could not" not in finding.message
    assert run.verdict is Verdict.FAIL


def test_a_silence_behind_a_random_ticket_that_is_not_repeated_is_a_note(tmp_path: Path) -> None:
    once = 'b"" if is_first() else b"ok\\n"'
    target = ticket_server(tmp_path, once)
    options = {"jobs": 2, "sessions": 6, "timeout": 0.5, "cwd": str(tmp_path)}
    run = palaver.talk(palaver.loads(TICKET), target=target, seed=1, **options).run()  # type: ignore[arg-type]
    assert [finding.kind for finding in run.findings] == [FindingKind.SILENCE]
    assert run.findings[0].message.endswith("(but not when it was tried once more)")
    assert run.verdict is Verdict.PASS


def test_who_stops_reading_ends_all_sessions() -> None:
    run = shopping(3)
    begun: list[Event] = []
    for event in run:
        begun += [event] * isinstance(event, SessionStarted)
        if len(begun) == 3 and isinstance(event, MessageReceived):
            break
    run.close()
    assert run.progress.sessions == len(begun)


def test_a_run_directory_has_every_session_and_can_be_resumed(tmp_path: Path) -> None:
    run = shopping(3, Budget(Until.FOREVER, sessions=9))
    record(run, tmp_path / "run", {"jobs": 3, "client": ["tcp://127.0.0.1:1"], "k": 4})
    said = {event.session: len(event.messages) for event in run if isinstance(event, SessionEnded)}
    with open_run(tmp_path / "run") as read:
        assert {session.number: session.sent + session.received for session in read.sessions} == said
        assert {number: len(read.messages(number)) for number in said} == said
        resumed = resumed_campaign(read, resumed_options(read, {"sessions": 12}))
        assert resumed.progress.sessions == 9
        assert resumed.guidance.reached == run.guidance.reached
        resumed.close()


class Gaining:
    """Guidance that has no plan, and has covered something some messages ago."""

    is_complete = is_done = False
    reached = messages_in_vain = 0
    further_goals = ()

    def __init__(self) -> None:
        self.random_walk = SimpleNamespace(walks=WalkCounts())
        self.goal_progress = SimpleNamespace(reached=0, total=9)

    def plan_again(self) -> None:
        self.is_done = False


def test_a_gain_is_noticed_whatever_other_sessions_have_said_since() -> None:
    guidance, progress = Gaining(), Progress(sessions=1, sent=10)
    rule = StopRule(Budget(), guidance)  # type: ignore[arg-type]  # as much of it as is needed
    guidance.is_done = True
    rule.check(progress, 1.0)
    phase = progress.phase
    assert phase is Phase.CHECKING
    # A session at random has covered something, and others that go on have said fifty messages since.
    progress.sessions, progress.sent, progress.open_messages = 2, 30, 60
    guidance.reached, guidance.messages_in_vain = 1, 50
    assert rule.check(progress, 2.0) == ("", "")
    progress.sessions, progress.sent, progress.open_messages = 20, 300, 0
    guidance.messages_in_vain = 260
    assert rule.check(progress, 3.0) == ("", "")
    assert progress.phase is Phase.GUIDED  # plans follow once more


CRASHING = """
import os, socketserver
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            if line == b"boom\\n":
                os.abort()
            self.wfile.write(b"ok\\n")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 64
    def handle_error(self, request, client_address):
        pass  # who was reset has nothing to tell
Server(("127.0.0.1", {port}), Handler).serve_forever()
"""
FRAGILE = """
<start> ::= <Client:ping> <Server:ok> <start> | <Client:boom> <Server:ok> | <Client:bye> <Server:ok>
<ping> ::= "ping " <number> "\\n"
<number> ::= "1" | "2" | "3"
<boom> ::= "boom\\n"
<bye> ::= "bye\\n"
<ok> ::= "ok\\n"
"""


def fragile_server(folder: Path, *changes: tuple[str, str]) -> str:
    code = CRASHING.replace("{port}", "int(__import__('sys').argv[1])")
    for old, new in changes:
        code = code.replace(old, new)
    (folder / "server.py").write_text(code)
    return f"{shlex.join([sys.executable, str(folder / 'server.py')])} {{port}}"


def test_a_crash_is_told_once_with_the_session_that_causes_it_alone(tmp_path: Path) -> None:
    target = fragile_server(tmp_path)
    run = palaver.talk(palaver.loads(FRAGILE), target=target, seed=3, jobs=4, sessions=8).run()
    crashes = [finding for finding in run.findings if finding.kind is FindingKind.CRASH]
    assert crashes
    assert all(finding.messages[-1].symbol == "<boom>" for finding in crashes)
    assert len({finding.session for finding in crashes}) == len(crashes)
    assert [finding for finding in run.findings if finding.kind is not FindingKind.CRASH] == []


REPORT = "==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\\n    #0 0x1 in store a.c:1\\n==1==ABORTING"


def test_an_end_is_told_with_the_report_that_another_session_was_told(tmp_path: Path) -> None:
    # As of a server that forks: one connection ends, and the others go on.
    target = fragile_server(tmp_path, ("os.abort()", f'print("{REPORT}", flush=True); return'))
    run = palaver.talk(palaver.loads(FRAGILE), target=target, seed=3, jobs=4, sessions=8).run()
    reports = [finding for finding in run.findings if finding.severity is Severity.VIOLATION]
    assert reports
    assert {finding.cause for finding in reports} == {"AddressSanitizer: heap-buffer-overflow in store a.c:1"}
    assert all(finding.messages[-1].symbol == "<boom>" for finding in reports)
    assert [each for each in run.findings if each.messages[-1].symbol == "<boom>"] == reports


@pytest.mark.slow
def test_a_server_that_answers_when_it_is_asked_again_does_not_end_the_run(tmp_path: Path) -> None:
    # One session hangs, and those beside it are in the queue of a server that serves one after the other.
    greeted = ("for line", 'self.wfile.write(b"ok\\n")\n        for line')
    target = fragile_server(tmp_path, ("Threading", ""), ("os.abort()", "continue"), greeted)
    spec = palaver.loads("<start> ::= <Server:ok> <go>" + FRAGILE.replace("<start>", "<go>"))
    options = {"jobs": 4, "sessions": 8, "until": "forever", "timeout": 0.3}
    run = palaver.talk(spec, target=target, seed=3, **options).run()  # type: ignore[arg-type]
    assert run.progress.ended.startswith("reached the limit of 8 sessions"), run.progress.ended


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"client": 1, "jobs": 0}, "the number of sessions at the same time is at least 1, and not 0"),
        ({"server": 1, "jobs": 2}, "where it listens, it cannot know which session a client is for"),
        ({"client": 1, "jobs": 2, "schedule": "paper"}, "-j does not go with --schedule paper"),
        ({"target": "x", "jobs": 2, "restart": "session"}, "-j does not go with --restart session"),
        ({"client": 1, "jobs": 2, "reset": "true"}, "-j does not go with --reset"),
    ],
    ids=["number", "server", "paper", "restart", "reset"],
)
def test_what_cannot_go_on_at_the_same_time_is_told(options: dict[str, object], reason: str) -> None:
    with pytest.raises(palaver.SetupError, match=reason):
        palaver.talk(palaver.loads(FRAGILE), **options)  # type: ignore[arg-type]
