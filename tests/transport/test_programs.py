"""Programs as peers, and our own standard input and output."""

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from palaver.addresses import Address
from palaver.session.interface import Close, Closed, Failed, Finish, Open, Opened, Received, Send, Tls
from palaver.transport.channel import EndOfStream, OpenOptions
from palaver.transport.clock import ManualClock
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.process import PROGRAM, TARGET
from palaver.transport.transport_limits import EXIT_POLL_SECONDS, EXIT_WAIT_SECONDS, SILENT_POLL_SECONDS
from transport.recorder import Recorder

TOLD, LOOKED_FOR = "the system tells when a program ends", "we have to look"


@pytest.fixture(params=[TOLD, LOOKED_FOR])
def ways_to_know_the_end(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == LOOKED_FOR:
        monkeypatch.delattr(os, "pidfd_open", raising=False)


pytestmark = pytest.mark.usefixtures("ways_to_know_the_end")


def run(*command: str) -> Open:
    return Open("program", Address("program", command=command), "connect")


def shell(script: str) -> Open:
    return run("sh", "-c", script)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_program_reads_and_writes(loop: SelectorEventLoop) -> None:
    loop.carry_out([run("cat"), Send("program", b"\x00\xff\n")])
    recorder = Recorder(loop)
    assert recorder.wait_for(Opened, "program")
    assert recorder.bytes_on("program", 3) == b"\x00\xff\n"
    loop.carry_out([Finish("program")])
    assert recorder.wait_for(Closed, "program").exit_code == 0


def test_plenty_of_data_goes_through_a_program(loop: SelectorEventLoop) -> None:
    plenty = bytes(range(256)) * 8192
    loop.carry_out([run("cat"), Send("program", plenty), Finish("program")])
    recorder = Recorder(loop)
    assert recorder.bytes_on("program", len(plenty)) == plenty
    assert recorder.wait_for(Closed, "program").exit_code == 0


@pytest.mark.parametrize("script, code", [("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV), ("true", 0)])
def test_the_exit_code_of_a_program_is_reported(loop: SelectorEventLoop, script: str, code: int) -> None:
    loop.carry_out([shell(f"echo said; {script}")])
    recorder = Recorder(loop)
    closed = recorder.wait_for(Closed, "program")
    assert (closed.exit_code, closed.cause) == (code, None)
    assert [happened.data for happened in recorder.unread if isinstance(happened, Received)] == [b"said\n"]


def test_sending_to_a_program_that_has_ended_is_harmless(loop: SelectorEventLoop) -> None:
    loop.carry_out([shell("exit 0")])
    Recorder(loop).wait_for(Closed, "program")
    loop.carry_out([Send("program", b"hello?"), Finish("program"), Close("program")])
    assert loop.poll() == []


def test_a_program_that_has_closed_its_input_may_still_write(loop: SelectorEventLoop, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go on")
    loop.carry_out([shell(f"exec <&-; echo deaf; cat '{tmp_path}/go on'")])
    recorder = Recorder(loop)
    assert recorder.bytes_on("program", 5) == b"deaf\n"
    loop.carry_out([Send("program", bytes(1_000_000))])
    assert loop.poll() == []
    (tmp_path / "go on").write_text("but not dumb")
    assert recorder.bytes_on("program", 12) == b"but not dumb"
    assert recorder.wait_for(Closed, "program").exit_code == 0


def test_a_program_that_never_reads_does_not_block() -> None:
    with SelectorEventLoop(close_grace=0.05) as loop:
        loop.carry_out([shell("echo $$; exec sleep 60"), Send("program", bytes(10_000_000))])
        pid = int(Recorder(loop).wait_for(Received, "program").data)
        assert loop.poll() == []
    assert not is_alive(pid)


def test_a_program_that_does_not_end_is_killed() -> None:
    with SelectorEventLoop(close_grace=0.05) as loop:
        loop.carry_out([shell("trap '' TERM; echo $$; while true; do sleep 60; done")])
        pid = int(Recorder(loop).wait_for(Received, "program").data)
        loop.carry_out([Close("program")])
    assert not is_alive(pid)


def test_a_program_that_ends_by_itself_is_not_killed(tmp_path: Path) -> None:
    with SelectorEventLoop(close_grace=10.0) as loop:
        loop.carry_out([shell(f"cat >{tmp_path}/heard; echo done >{tmp_path}/end"), Send("program", b"that is all")])
        loop.carry_out([Close("program")])
    assert (tmp_path / "heard").read_text() == "that is all"
    assert (tmp_path / "end").read_text() == "done\n"


def test_a_program_that_writes_without_end_can_be_closed() -> None:
    with SelectorEventLoop(close_grace=0.05) as loop:
        loop.carry_out([run("yes")])
        Recorder(loop).wait_for(Received, "program")
        loop.carry_out([Close("program")])


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_no_program_survives_an_exception(error: type[BaseException]) -> None:
    pids: list[int] = []

    def interrupted() -> None:
        with SelectorEventLoop(close_grace=0.05) as loop:
            loop.carry_out([shell("echo $$; exec sleep 60")])
            pids.append(int(Recorder(loop).wait_for(Received, "program").data))
            raise error

    with pytest.raises(error):
        interrupted()
    assert not is_alive(pids[0])


def test_processes_started_by_a_program_end_with_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held open")
    held = os.open(tmp_path / "held open", os.O_RDONLY | os.O_NONBLOCK)
    with SelectorEventLoop(close_grace=0.05) as loop:
        loop.carry_out([shell(f"exec 3>'{tmp_path}/held open'; sleep 60 & echo started; wait")])
        assert Recorder(loop).wait_for(Received, "program").data == b"started\n"
    # When the last one who could write has gone there is an end to be read.
    assert select.select([held], [], [], 10)[0]
    assert os.read(held, 1) == b""
    os.close(held)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only the system knows that it has ended")
@pytest.mark.parametrize("ways_to_know_the_end", [TOLD], indirect=True)
def test_a_program_ends_although_others_hold_its_output(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "end")
    with SelectorEventLoop() as loop:
        loop.carry_out([shell(f"cat '{tmp_path}/end' & echo started; exit 4")])
        assert Recorder(loop).wait_for(Closed, "program").exit_code == 4
        (tmp_path / "end").write_text("")


def test_a_missing_program_is_not_found(loop: SelectorEventLoop) -> None:
    loop.carry_out([run("/no/such/program")])
    failed = Recorder(loop).wait_for(Failed, "program")
    assert (failed.cause, failed.reason) == ("not found", "/no/such/program: No such file or directory")


def test_a_file_that_cannot_be_run_fails(loop: SelectorEventLoop, tmp_path: Path) -> None:
    for command in [(), ("",), (str(tmp_path),), ("a\0b",)]:
        loop.carry_out([run(*command)])
        assert Recorder(loop).wait_for(Failed, "program").cause in ("not found", "other")


@pytest.mark.parametrize("ways_to_know_the_end", [LOOKED_FOR], indirect=True)
def test_a_target_that_has_closed_its_output_is_looked_at_now_and_then() -> None:
    options = OpenOptions(now=0.0, timeout=1.0, patience=0.0, grace=0.05, standard=(0, 1))
    channel = TARGET.connect(Address("target", command=("sh", "-c", "exec >&- 2>&-; exec sleep 60")), options).advance(
        0.0
    )
    try:
        give_up_at = time.monotonic() + 20
        while channel.deadline is None and time.monotonic() < give_up_at:
            assert channel.receive(7.0, 100) is None
        assert channel.deadline == 7.0 + SILENT_POLL_SECONDS
    finally:
        channel.abandon()


def test_a_program_that_has_closed_its_output_has_a_second_to_end() -> None:
    options = OpenOptions(now=0.0, timeout=1.0, patience=0.0, grace=0.05, standard=(0, 1))
    silent = Address("program", command=("sh", "-c", "exec >&-; exec sleep 60"))
    channel = PROGRAM.connect(silent, options).advance(0.0)
    try:
        give_up_at = time.monotonic() + 20
        while channel.deadline is None and time.monotonic() < give_up_at:
            assert channel.receive(7.0, 100) is None
        looked_for = EXIT_WAIT_SECONDS if hasattr(os, "pidfd_open") else EXIT_POLL_SECONDS
        assert channel.deadline == 7.0 + looked_for
        assert channel.receive(7.0 + EXIT_WAIT_SECONDS - 0.001, 100) is None
        assert channel.receive(7.0 + EXIT_WAIT_SECONDS, 100) == EndOfStream()
    finally:
        channel.abandon()


def test_a_program_that_closes_its_output_counts_as_closed() -> None:
    clock = ManualClock()
    with SelectorEventLoop(clock, close_grace=0.05) as loop:
        loop.carry_out([shell("echo last words; exec >&-; exec sleep 60")])
        recorder = Recorder(loop)
        assert recorder.bytes_on("program", 11) == b"last words\n"
        # Its output has ended, or will soon; its exit code is worth a second.
        while loop.poll() == []:
            clock.advance(0.25)
        loop.carry_out([Close("program")])


def test_tls_works_over_a_program(loop: SelectorEventLoop) -> None:
    loop.carry_out([Open("program", Address("program", command=("cat",)), "connect", Tls())])
    # It echoes our greeting, which is not what a server would say.
    assert Recorder(loop).wait_for(Failed, "program").cause == "tls"


# --- Targets ----------------------------------------------------------------------------------------------------------


def target(script: str) -> Open:
    return Open("target", Address("target", command=("sh", "-c", script)), "connect")


def test_the_errors_of_a_program_are_shown_with_escapes(
    loop: SelectorEventLoop, capsys: pytest.CaptureFixture[str]
) -> None:
    loop.carry_out([shell(r"printf '\033]52;c;aGk=\007\nrest' >&2; echo done; cat")])
    recorder = Recorder(loop)
    assert recorder.bytes_on("program", 5) == b"done\n"
    loop.carry_out([Finish("program")])
    recorder.wait_for(Closed, "program")
    assert capsys.readouterr().err == "\\x1b]52;c;aGk=\\x07\nrest\n"


def test_errors_without_end_do_not_keep_a_program_from_answering(
    loop: SelectorEventLoop, capsys: pytest.CaptureFixture[str]
) -> None:
    loop.carry_out([shell("yes >&2 & exec cat"), Send("program", b"hello\n")])
    assert Recorder(loop).bytes_on("program", 6) == b"hello\n"
    loop.carry_out([Close("program")])
    assert set(capsys.readouterr().err) <= set("y\n")


def test_the_errors_of_a_target_are_a_part_of_its_output(loop: SelectorEventLoop) -> None:
    loop.carry_out([target("cat; echo out; echo error >&2; exit 5")])
    recorder = Recorder(loop)
    assert recorder.bytes_on("target", 10) == b"out\nerror\n"
    assert recorder.wait_for(Closed, "target").exit_code == 5


def test_the_end_of_a_target_is_reported_long_after_it_closed_its_output() -> None:
    clock = ManualClock()
    with SelectorEventLoop(clock, close_grace=0.05) as loop:
        loop.carry_out([target("echo $$; exec >&- 2>&-; exec sleep 60")])
        pid = int(Recorder(loop).wait_for(Received, "target").data)
        for _ in range(8):
            clock.advance(1.0)
            assert loop.poll() == []
        os.kill(pid, signal.SIGKILL)
        heard: list[object] = []
        while not heard:
            clock.advance(0.25)
            heard += loop.poll()
        assert [each.exit_code for each in heard if isinstance(each, Closed)] == [-signal.SIGKILL]


def test_processes_started_by_a_target_end_with_it(loop: SelectorEventLoop, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "held open")
    held = os.open(tmp_path / "held open", os.O_RDONLY | os.O_NONBLOCK)
    # Its child has an output of its own, or where the system does not tell its end nobody would know of it.
    loop.carry_out([target(f"exec 3>'{tmp_path}/held open'; sleep 60 >/dev/null 2>&1 & exit 4")])
    assert Recorder(loop).wait_for(Closed, "target").exit_code == 4
    assert select.select([held], [], [], 10)[0]
    assert os.read(held, 1) == b""
    os.close(held)


def test_a_target_is_asked_to_end_at_once(tmp_path: Path) -> None:
    # There is nothing that it could have read, and so nothing that would have told it before.
    with SelectorEventLoop(close_grace=30.0) as patient:
        patient.carry_out(
            [target(f"trap 'echo asked >{tmp_path}/end; exit' TERM; echo up; while :; do sleep 0.1; done")]
        )
        assert Recorder(patient).bytes_on("target", 3) == b"up\n"
    assert (tmp_path / "end").read_text() == "asked\n"


# --- Standard input and output ----------------------------------------------------------------------------------------

STANDARD = Open("user", Address("stdio"), "connect")


@pytest.fixture
def pipes() -> Iterator[tuple[int, int, int, int]]:
    """Input and output as we see them, then as the user does."""
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    fds = {in_read, in_write, out_read, out_write}
    yield in_read, out_write, in_write, out_read
    for fd in fds:
        try:
            os.close(fd)
        except OSError:
            continue


def test_standard_input_and_output_are_a_peer(pipes: tuple[int, int, int, int]) -> None:
    our_input, our_output, keyboard, screen = pipes
    with SelectorEventLoop(standard=(our_input, our_output)) as loop:
        loop.carry_out([STANDARD, Send("user", b"name? ")])
        recorder = Recorder(loop)
        assert recorder.wait_for(Opened, "user")
        assert os.read(screen, 100) == b"name? "
        os.write(keyboard, b"Ada\n")
        assert recorder.bytes_on("user", 4) == b"Ada\n"
        os.close(keyboard)
        assert recorder.wait_for(Closed, "user")
        loop.carry_out([Close("user")])
    # They are not ours to close, nor to change.
    assert os.get_blocking(our_input)
    os.write(our_output, b"still open")


def test_plenty_of_output_does_not_block(pipes: tuple[int, int, int, int]) -> None:
    our_input, our_output, _, screen = pipes
    plenty = bytes(range(256)) * 4096
    seen = b""
    with SelectorEventLoop(standard=(our_input, our_output)) as loop:
        loop.carry_out([STANDARD, Send("user", plenty)])
        while len(seen) < len(plenty):
            loop.poll()
            seen += os.read(screen, 65536)
    assert seen == plenty


def test_a_reader_that_is_gone_is_harmless(pipes: tuple[int, int, int, int]) -> None:
    our_input, our_output, _, screen = pipes
    os.close(screen)
    with SelectorEventLoop(standard=(our_input, our_output)) as loop:
        loop.carry_out([STANDARD, Send("user", b"hello?")])
        assert [type(happened) for happened in loop.poll()] == [Opened]


def test_a_file_may_be_the_input(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"line\n" * 20_000)
    with (
        open(tmp_path / "input", "rb") as source,
        open(tmp_path / "output", "wb") as target,
        SelectorEventLoop(standard=(source.fileno(), target.fileno())) as loop,
    ):
        loop.carry_out([STANDARD, Send("user", b"x" * 10_000)])
        assert Recorder(loop).rest_of("user") == b"line\n" * 20_000
        loop.carry_out([Close("user")])
    assert (tmp_path / "output").stat().st_size == 10_000


def test_a_python_program_answers_at_once(loop: SelectorEventLoop) -> None:
    loop.carry_out([run(sys.executable, "-c", "print(input()[::-1])"), Send("program", b"stressed\n")])
    recorder = Recorder(loop)
    assert recorder.bytes_on("program", 9) == b"desserts\n"
    assert recorder.wait_for(Closed, "program").exit_code == 0


def test_the_process_of_a_program_is_known_while_it_runs() -> None:
    with SelectorEventLoop(close_grace=0.05) as loop:
        loop.carry_out([shell("echo $$; exec sleep 60")])
        recorder = Recorder(loop)
        said = b""
        while not said.endswith(b"\n"):
            said += recorder.bytes_on("program", 1)
        assert loop.pid_of("program") == int(said)
