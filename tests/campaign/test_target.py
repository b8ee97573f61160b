"""The program under test is started, watched, started again, and always ended."""

from __future__ import annotations

import os
import select
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from palaver.addresses import Address
from palaver.campaign.events import TargetOutput
from palaver.campaign.system_under_test import TARGET_LINK, SystemUnderTest
from palaver.campaign.target_care import TargetCare, TargetError, command_of
from palaver.campaign.target_findings import TargetNews
from palaver.session.findings import Finding, FindingKind
from palaver.session.interface import Action, Close, Closed, Failed, Input, Open, Opened, Received, Send, TimePassed
from palaver.transport.clock import ManualClock
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.registry import free_port, is_listening

# Long enough never to be reached unless something is wrong.
LIMIT_S = 20.0

# The peer has hung up.
CUT = [Finding(FindingKind.CLOSED, 0.0, "closed")]

SERVER = Path(__file__).with_name("target_server.py")


def at(port: int, scheme: str = "tcp") -> Address:
    return Address(scheme, "127.0.0.1", port)


@pytest.fixture
def loop() -> Iterator[SelectorEventLoop]:
    with SelectorEventLoop(close_grace=1.0) as loop:
        yield loop


class Talk:
    """One conversation with the target."""

    def __init__(self, target: SystemUnderTest, port: int, kind: str = "tcp") -> None:
        assert kind in ("tcp", "udp")
        self._target = target
        address = Address("tcp" if kind == "tcp" else "udp", "127.0.0.1", port)
        target.carry_out([Open("peer", address, "connect")])

    def tell(self, text: str) -> None:
        self._target.carry_out([Send("peer", text.encode())])

    def ask(self, text: str) -> str:
        self.tell(text)
        received = self.hear(Received)
        assert isinstance(received, Received)
        return received.data.decode()

    def hear(self, kind: type[Input]) -> Input:
        give_up_at = self._target.clock.now() + LIMIT_S
        while True:
            for happened in self._target.wait(give_up_at):
                assert not isinstance(happened, TimePassed | Failed), happened
                assert happened.link == "peer"
                if isinstance(happened, kind):
                    return happened

    def end(self) -> None:
        self._target.carry_out([Close("peer")])


Protocol: TypeAlias = Literal["tcp", "udp"]


def server(
    loop: SelectorEventLoop, *, kind: Protocol = "tcp", patience: float = LIMIT_S
) -> tuple[SystemUnderTest, int]:
    port = free_port(kind)
    command = (sys.executable, "-SE", str(SERVER), kind, str(port))
    target = SystemUnderTest(
        loop, command, at(port, kind), role="server", care=TargetCare(start_timeout=patience), end_patience=LIMIT_S
    )
    return target, port


def shell(loop: SelectorEventLoop, script: str, *, patience: float = LIMIT_S) -> SystemUnderTest:
    return SystemUnderTest(
        loop, ("sh", "-c", script), at(free_port("tcp")), role="server", care=TargetCare(start_timeout=patience)
    )


class Others:
    """Processes whose end is waited for, though they are not ours: it is told by the system a moment later."""

    def __init__(self, *pids: int) -> None:
        self._ends = [os.pidfd_open(pid) for pid in pids]

    def have_ended(self) -> bool:
        ended = [bool(select.select([end], [], [], LIMIT_S)[0]) for end in self._ends]
        for end in self._ends:
            os.close(end)
        return all(ended)


def converse(target: SystemUnderTest, port: int, *told: str, cut: bool = False) -> None:
    target.before_session()
    talk = Talk(target, port)
    for text in told[:-1] if cut else told:
        assert talk.ask(text) == text
    if cut:
        talk.tell(told[-1])
        talk.hear(Closed)
    talk.end()


def happened(news: TargetNews) -> list[object]:
    """What a target did in a session that it should not have done."""
    return [*news.exits, *news.reports]


# --- servers ----------------------------------------------------------------------------------------------------------


def test_a_server_listens_before_the_first_session_and_lives_through_all(loop: SelectorEventLoop) -> None:
    target, port = server(loop)
    pids = []
    for _ in range(3):
        target.before_session()
        talk = Talk(target, port)
        assert talk.ask("hello") == "hello"
        pids.append(talk.ask("pid"))
        talk.end()
        assert happened(target.after_session()) == []
    assert len(set(pids)) == target.starts == 1


@pytest.mark.parametrize(
    ("told", "exit_code", "how", "wrote"),
    [
        ("crash", -signal.SIGSEGV, "was killed by SIGSEGV", "about to crash"),
        ("exit 3", 3, "exited with code 3", "about to exit with 3"),
    ],
)
def test_a_crash_is_found_with_how_it_came_and_what_was_written_last(
    loop: SelectorEventLoop, told: str, exit_code: int, how: str, wrote: str
) -> None:
    target, port = server(loop)
    converse(target, port, "hello", told, cut=True)
    (death,) = target.after_session(CUT).exits
    assert (death.exit_code, death.how) == (exit_code, how)
    assert death.last_output == f"ready\n{wrote}"
    finding = death.finding(())
    assert finding.kind is FindingKind.CRASH
    assert finding.message == f"the system under test {how}\n  its last output:\n  | ready\n  | {wrote}"


def test_who_has_ended_is_started_again_and_only_then(loop: SelectorEventLoop) -> None:
    target, port = server(loop)
    converse(target, port, "crash", cut=True)
    assert len(target.after_session(CUT).exits) == 1
    converse(target, port, "hello")
    assert happened(target.after_session()) == []
    converse(target, port, "exit 0", cut=True)
    (death,) = target.after_session(CUT).exits
    assert death.finding(()).kind is FindingKind.EXIT
    converse(target, port, "hello")
    assert happened(target.after_session()) == []
    assert target.starts == 3


def test_an_end_between_two_sessions_is_told_before_the_next(loop: SelectorEventLoop) -> None:
    target, port = server(loop)
    target.before_session()
    talk = Talk(target, port)
    pid = int(talk.ask("pid"))
    talk.end()
    assert happened(target.after_session()) == []
    os.kill(pid, signal.SIGKILL)
    until = target.clock.now() + LIMIT_S
    while is_listening("tcp", port) is not False and target.clock.now() < until:
        target.wait(target.clock.now() + 0.01)
    assert [death.exit_code for death in target.before_session().exits] == [-signal.SIGKILL]
    converse(target, port, "hello")
    assert happened(target.after_session()) == []
    assert target.starts == 2


def test_what_a_crashed_server_has_started_is_ended_so_that_the_port_is_free(loop: SelectorEventLoop) -> None:
    target, port = server(loop)
    target.before_session()
    talk = Talk(target, port)
    child = Others(int(talk.ask("child")))
    talk.tell("crash")
    talk.hear(Closed)
    talk.end()
    assert len(target.after_session(CUT).exits) == 1
    converse(target, port, "hello")
    assert child.have_ended()


def test_a_server_may_write_more_than_anybody_wants_to_read(loop: SelectorEventLoop) -> None:
    target, port = server(loop)
    target.before_session()
    talk = Talk(target, port)
    assert talk.ask("chat 100000") == "done"
    talk.tell("crash")
    talk.hear(Closed)
    talk.end()
    (death,) = target.after_session(CUT).exits
    assert len(death.output) == 8192
    assert death.output.endswith(b"about to crash\n")


def test_a_server_that_has_closed_its_output_is_still_watched(loop: SelectorEventLoop) -> None:
    target, port = server(loop)
    target.before_session()
    talk = Talk(target, port)
    assert talk.ask("hush") == "quiet"
    # It is left alone for longer than a program that we talk to would be.
    until = target.clock.now() + 1.2
    while target.clock.now() < until:
        assert [type(happened) for happened in target.wait(until)] == [TimePassed]
    assert happened(target.after_session()) == []
    pid = int(talk.ask("pid"))
    os.kill(pid, signal.SIGKILL)
    talk.hear(Closed)
    assert [death.exit_code for death in target.after_session(CUT).exits] == [-signal.SIGKILL]


def test_a_server_of_datagrams_is_waited_for(loop: SelectorEventLoop) -> None:
    target, port = server(loop, kind="udp")
    target.before_session()
    assert is_listening("udp", port) is not False
    talk = Talk(target, port, "udp")
    assert talk.ask("hello") == "hello"
    talk.end()
    assert happened(target.after_session()) == []


# --- servers that do not start ----------------------------------------------------------------------------------------


def test_there_is_no_such_program(loop: SelectorEventLoop) -> None:
    target = SystemUnderTest(loop, ("/no/such/program",), at(free_port("tcp")), role="server")
    with pytest.raises(TargetError, match=r"cannot start the system under test: /no/such/program: No such file"):
        target.before_session()


def test_a_server_that_ends_before_it_listens(loop: SelectorEventLoop) -> None:
    with pytest.raises(TargetError) as raised:
        shell(loop, "echo bad configuration >&2; exit 2").before_session()
    assert "sh exited with code 2 before it listened at tcp port" in str(raised.value)
    assert str(raised.value).endswith("\n  | bad configuration")


def test_a_server_that_goes_into_the_background(loop: SelectorEventLoop) -> None:
    with pytest.raises(TargetError, match="start it in the foreground"):
        shell(loop, "exit 0").before_session()


def test_a_server_that_never_listens_is_ended(loop: SelectorEventLoop, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held open")
    held = os.open(tmp_path / "held open", os.O_RDONLY | os.O_NONBLOCK)
    target = shell(loop, f"exec 3>'{tmp_path}/held open'; exec sleep 60", patience=1.0)
    with pytest.raises(TargetError, match=r"did not listen at tcp port \d+ within 1 s"):
        target.before_session()
    loop.close()
    # When the last one who could write has gone there is an end to be read.
    assert select.select([held], [], [], LIMIT_S)[0]
    assert os.read(held, 1) == b""
    os.close(held)


def test_somebody_else_listens_there(loop: SelectorEventLoop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        target = SystemUnderTest(loop, ("sleep", "60"), at(other.getsockname()[1]), role="server")
        with pytest.raises(TargetError, match="is already in use"):
            target.before_session()
    assert target.starts == 0


# --- clients ----------------------------------------------------------------------------------------------------------

CLIENT = """
import os, signal, socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    connection.sendall(b"hello")
    what = connection.recv(100)
    if what == b"crash":
        print("about to crash", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == b"stay":
        connection.close()
        signal.pause()
    if what == b"complain":
        try:
            raise OSError("nobody has answered")
        except OSError:
            sys.excepthook(*sys.exc_info())
        connection.close()
        signal.pause()
"""


def client(loop: SelectorEventLoop, end_patience: float = LIMIT_S) -> tuple[SystemUnderTest, int]:
    port = free_port("tcp")
    command = (sys.executable, "-SEc", CLIENT, str(port))
    return SystemUnderTest(loop, command, at(port), role="client", end_patience=end_patience), port


def serve(target: SystemUnderTest, port: int, answer: str) -> None:
    target.before_session()
    target.carry_out([Open("peer", Address("tcp", "127.0.0.1", port), "listen")])
    give_up_at = target.clock.now() + LIMIT_S
    heard: list[Input] = []
    while not any(isinstance(happened, Received) for happened in heard):
        assert target.clock.now() < give_up_at, heard
        heard += target.wait(give_up_at)
    assert any(isinstance(happened, Opened) for happened in heard)
    target.carry_out([Send("peer", answer.encode())])
    while not any(isinstance(happened, Closed) for happened in heard):
        assert target.clock.now() < give_up_at, heard
        heard += target.wait(give_up_at)
    target.carry_out([Close("peer")])


def test_a_client_is_started_in_every_session_as_soon_as_we_listen(loop: SelectorEventLoop) -> None:
    target, port = client(loop)
    for number in (1, 2):
        serve(target, port, "bye")
        assert happened(target.after_session()) == []
        assert target.starts == number


def test_a_client_that_crashes_is_found(loop: SelectorEventLoop) -> None:
    target, port = client(loop)
    serve(target, port, "crash")
    (death,) = target.after_session().exits
    assert death.exit_code == -signal.SIGSEGV
    assert death.last_output == "about to crash"


@pytest.mark.parametrize(
    "found, complaints",
    [([], 1), ([Finding(FindingKind.CLOSED, 0.0, "gone")], 1), ([Finding(FindingKind.UNPARSEABLE, 0.0, "wrong")], 0)],
)
def test_what_a_client_complains_of_when_it_was_left_is_not_told(
    loop: SelectorEventLoop, found: list[Finding], complaints: int
) -> None:
    target, port = client(loop, end_patience=0.1)
    serve(target, port, "complain")
    assert len(target.after_session(found).reports) == complaints


def test_a_client_that_does_not_end_is_ended_and_that_is_no_finding(loop: SelectorEventLoop) -> None:
    target, port = client(loop, end_patience=0.1)
    for _ in range(2):
        serve(target, port, "stay")
        assert happened(target.after_session()) == []
        assert not target.may_be_alive
    assert target.starts == 2


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, RuntimeError])
def test_nothing_of_a_target_survives_the_loop(error: type[BaseException] | None) -> None:
    started: list[Others] = []

    def run() -> None:
        with SelectorEventLoop(close_grace=1.0) as loop:
            target, port = server(loop)
            target.before_session()
            talk = Talk(target, port)
            started.append(Others(int(talk.ask("pid")), int(talk.ask("child"))))
            if error is not None:
                raise error

    if error is None:
        run()
    else:
        with pytest.raises(error):
            run()
    assert started[0].have_ended()


def test_a_target_that_ignores_to_be_asked_is_made_to_end() -> None:
    port = free_port("tcp")
    script = f"trap '' TERM; {shlex.join([sys.executable, '-SE', str(SERVER)])} tcp {port}"
    with SelectorEventLoop(close_grace=0.05) as loop:
        target = SystemUnderTest(
            loop, ("sh", "-c", script), at(port), role="server", care=TargetCare(start_timeout=LIMIT_S)
        )
        target.before_session()
        talk = Talk(target, port)
        server_itself = Others(int(talk.ask("pid")))
    assert server_itself.have_ended()


# --- commands and ports -----------------------------------------------------------------------------------------------


def test_the_port_is_put_where_the_command_says() -> None:
    assert command_of("serve -p {port} --at=127.0.0.1:{port} 'two words'", 25) == (
        "serve",
        "-p",
        "25",
        "--at=127.0.0.1:25",
        "two words",
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [("serve 'open", "no closing quotation"), ("  ", "empty"), ("serve {prt}", r"\{prt\}: did you mean \{port\}\?")],
)
def test_a_command_that_is_none(text: str, reason: str) -> None:
    with pytest.raises(TargetError, match=reason):
        command_of(text, 25)


def test_other_words_in_braces_belong_to_the_command() -> None:
    assert command_of("awk {print} {prt} {port}", 25) == ("awk", "{print}", "{prt}", "25")
    assert command_of("find . -exec {} {name}", 25)[-2:] == ("{}", "{name}")


def test_a_free_port_is_free_and_one_where_somebody_listens_is_not() -> None:
    makers: dict[Protocol, Callable[[int], socket.socket]] = {
        "tcp": lambda port: socket.create_server(("127.0.0.1", port)),
        "udp": _datagrams,
    }
    for kind, maker in makers.items():
        port = free_port(kind)
        assert is_listening(kind, port) is not True
        with maker(port):
            assert is_listening(kind, port) is not False


def _datagrams(port: int) -> socket.socket:
    endpoint = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    endpoint.bind(("127.0.0.1", port))
    return endpoint


class ScriptedLoop(SelectorEventLoop):
    """An event loop whose inputs the test says, and that does nothing."""

    def __init__(self) -> None:
        super().__init__(ManualClock())
        self.close()
        self.inputs: list[Input] = []
        self.done: list[Action] = []

    def carry_out(self, actions: Iterable[Action]) -> None:
        self.done += actions

    def poll(self) -> list[Input]:
        inputs, self.inputs = self.inputs, []
        return inputs

    def wait(self, until: float | None) -> list[Input]:
        return self.poll() or [TimePassed(0.0 if until is None else until)]

    def pid_of(self, link: str) -> int:
        return 0


def test_sessions_see_only_what_is_theirs() -> None:
    loop = ScriptedLoop()
    target = SystemUnderTest(loop, ["server"], at(1), role="server")
    loop.inputs = [Received(0.0, TARGET_LINK, b"log"), Received(0.0, "Client", b"data")]
    assert target.poll() == [Received(0.0, "Client", b"data")]
    loop.inputs = [Received(0.0, TARGET_LINK, b"log"), Received(0.0, "Client", b"more")]
    assert target.wait(1.0) == [Received(0.0, "Client", b"more")]
    assert [event.data for event in target.take_events(1) if isinstance(event, TargetOutput)] == [b"log", b"log"]


def test_a_client_is_started_when_we_listen_and_not_before() -> None:
    loop = ScriptedLoop()
    target = SystemUnderTest(loop, ["client"], at(1), role="client")
    target.before_session()
    target.carry_out([Open("Other", at(2), "connect")])
    assert target.starts == 0
    target.carry_out([Open("Server", at(1), "listen")])
    assert target.starts == 1
    target.carry_out([Open("Second", at(3), "listen")])
    assert target.starts == 1
    assert loop.done[-2].link == TARGET_LINK


def test_a_target_that_writes_without_pause_does_not_stop_the_clock() -> None:
    loop, clock = ScriptedLoop(), ManualClock()
    loop.clock = clock
    target = SystemUnderTest(loop, ["server"], at(1), role="server")

    def write(until: float | None) -> list[Input]:
        clock.advance(0.3)
        return [Received(clock.now(), TARGET_LINK, b"log\n")]

    loop.wait = write  # type: ignore[method-assign]
    assert target.wait(1.0) == [TimePassed(loop.clock.now())]
    assert 1.0 <= loop.clock.now() < 1.5


def test_a_client_that_ends_before_it_has_connected_is_not_waited_for() -> None:
    loop = ScriptedLoop()
    target = SystemUnderTest(loop, ["client"], at(1), role="client")
    target.before_session()
    target.carry_out([Open("Server", at(1), "listen")])
    loop.inputs = [Closed(0.0, TARGET_LINK, None, 3)]
    (failed,) = target.wait(None)
    assert isinstance(failed, Failed)
    assert (failed.link, failed.reason) == (
        "Server",
        "the system under test never connected and exited with code 3",
    )


def test_a_server_that_has_ended_leaves_the_session_its_inputs() -> None:
    loop = ScriptedLoop()
    target = SystemUnderTest(loop, ["server"], at(1), role="server")
    assert target.wait(2.0) == [TimePassed(2.0)]
