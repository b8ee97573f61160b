"""The care for a system under test: starting it again, commands around it, when it is ready, its limits."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.campaign.campaign_factory import TargetError
from palaver.campaign.events import MessageReceived, TargetStarted
from palaver.campaign.run import Campaign
from palaver.session.findings import FindingKind
from palaver.transport.registry import free_port

SPEC = """
<start>  ::= <Client:ask> <Server:answer>
<ask>    ::= "ask\\n"
<answer> ::= r"[^\\n]*" "\\n"
"""

# Answers with the result of an expression; `first` is done before it listens, `later` between that and being ready.
SERVER = """
import os, select, socket, sys
where, expression, first, later = sys.argv[1:]
exec(first)
if where.isdigit():
    server = socket.create_server(("127.0.0.1", int(where)))
else:
    server = socket.socket(socket.AF_UNIX)
    server.bind(where)
    server.listen()
exec(later)
while True:
    connection, _ = server.accept()
    with connection:
        for line in connection.makefile("rb"):
            connection.sendall(str(eval(expression)).encode() + b"\\n")
"""


def server(expression: str, *, first: str = "", later: str = "", where: str = "{port}") -> str:
    return shlex.join([sys.executable, "-SEc", SERVER, where, expression, first, later])


def talk(target: str | None, **options: Any) -> Campaign:
    return palaver.talk(palaver.loads(SPEC), target=target, **{"seed": 1, "sessions": 3, **options})


def answers(campaign: Campaign) -> list[str]:
    """What the server has answered in all sessions."""
    received = [event.message.data for event in campaign if isinstance(event, MessageReceived)]
    assert campaign.findings == []
    return [data.decode().strip() for data in received]


# --- starting it again ------------------------------------------------------------------------------------------------


def test_a_server_lives_through_all_sessions_unless_it_is_to_be_started_for_each() -> None:
    assert len(set(answers(talk(server("os.getpid()"))))) == 1
    assert len(set(answers(talk(server("os.getpid()"), restart="session")))) == 3


def test_a_server_that_is_never_started_again_ends_the_run_with_what_was_found() -> None:
    campaign = talk(server("sys.exit(3)"), restart="never")
    started = [event for event in campaign if isinstance(event, TargetStarted)]
    assert len(started) == 1
    assert [finding.kind for finding in campaign.findings] == [FindingKind.CRASH]
    assert campaign.progress.ended == (
        "the system under test, which exited with code 3, is not started again (--restart never)"
    )


# --- commands around it -----------------------------------------------------------------------------------------------


def test_commands_are_run_before_between_and_after(tmp_path: Path) -> None:
    log = tmp_path / "log"
    options = {name: f"echo {name} $WORD {{port}} >> log" for name in ("setup", "reset", "teardown")}
    campaign = talk(server("open('log').read().count('setup')"), cwd=tmp_path, env={"WORD": "at"}, **options)
    assert answers(campaign) == ["1", "1", "1"]
    (port,) = {line.split()[-1] for line in log.read_text().splitlines()}
    assert int(port) > 0
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["setup", "reset", "reset", "teardown"]


def test_a_server_that_is_started_for_each_session_is_reset_while_it_does_not_run(tmp_path: Path) -> None:
    first = "import atexit, signal; signal.signal(signal.SIGTERM, lambda *_: sys.exit()); open('log', 'a').write('up ')"
    campaign = talk(
        server("1", first=first),
        cwd=tmp_path,
        restart="session",
        reset="printf 'reset ' >> log",
        teardown="printf down >> log",
    )
    assert answers(campaign) == ["1", "1", "1"]
    assert (tmp_path / "log").read_text() == "up reset up reset up down"


def test_commands_are_run_around_a_server_that_is_started_by_somebody_else(tmp_path: Path) -> None:
    log, port = tmp_path / "log", free_port("tcp")
    commands = {name: f"echo {name} >> {log}" for name in ("setup", "reset", "teardown")}
    with subprocess.Popen(shlex.split(server("1", where=str(port)))) as running:
        try:
            assert answers(talk(None, client=port, sessions=2, wait_for_server=20, **commands)) == ["1", "1"]
        finally:
            running.kill()
    assert log.read_text().split() == ["setup", "reset", "teardown"]


def test_what_a_command_has_started_goes_on() -> None:
    port = free_port("tcp")
    command = f"{server('2', where=str(port))} & echo begun"
    assert answers(talk(None, client=port, setup=command, wait_for_server=20, sessions=2)) == ["2", "2"]


@pytest.mark.parametrize("name", ["setup", "reset"])
def test_a_command_that_fails_ends_the_run_and_is_told(name: str) -> None:
    campaign = talk(server("1"), **{name: "echo no such table; exit 5"})
    if name == "setup":
        with pytest.raises(TargetError, match=r"the command of --setup exited with code 5\n  \| no such table"):
            campaign.run()
    else:
        assert campaign.run().progress.ended == "the command of --reset exited with code 5\n  | no such table"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--reset", "exit 5"], "stopped: the command of --reset exited with code 5"),
        (["--restart", "session", "--reset", "touch over", "--start-timeout", "1"], "stopped: "),  # and never listens
    ],
)
def test_a_run_that_could_not_go_on_has_not_passed(palaver: Any, options: list[str], told: str) -> None:
    palaver.write(talk_fan=SPEC)
    command = server("1", first="os.path.exists('over') and sys.exit(3)")
    talked = palaver("talk", "talk.fan", "--target", command, "-n", "3", *options)
    assert talked.code == 2
    assert told in talked.text


def test_a_teardown_that_fails_is_told_after_the_summary() -> None:
    campaign = talk(server("1"), teardown="exit 6")
    with pytest.raises(TargetError, match="the command of --teardown exited with code 6"):
        campaign.run()
    assert campaign.progress.ended.startswith("reached the limit of 3 sessions")


def test_nothing_is_torn_down_that_was_not_set_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    talk(server("1"), teardown=f"echo x >> {log}").close()
    assert not log.exists()
    with pytest.raises(TargetError):
        talk(server("1", first="sys.exit(1)"), teardown=f"echo x >> {log}").run()
    assert log.read_text() == "x\n"


# --- when it is ready -------------------------------------------------------------------------------------------------

# It does not bear to be connected to before it is ready.
EARLY = (
    "early = select.select([server], [], [], 0.3)[0]; early and sys.exit('too early'); print('now ready', flush=True)"
)


def test_a_server_is_talked_to_only_when_it_says_that_it_is_ready() -> None:
    assert answers(talk(server("1", later=EARLY), ready="^now .*y$")) == ["1", "1", "1"]


def test_a_server_that_never_says_so_is_not_talked_to() -> None:
    campaign = talk(server("1", later="print('hm', flush=True)"), ready="now ready", start_timeout=0.5)
    with pytest.raises(TargetError, match=r"wrote nothing that matches --ready now ready within 0.5 s .*\n  \| hm"):
        campaign.run()


def test_a_server_at_a_unix_socket_is_waited_for(tmp_path: Path) -> None:
    place = str(tmp_path / "socket")
    slow = "select.select([], [], [], 0.3)"
    campaign = talk(server("1", first=slow, where=place), client=f"unix:{place}", wait_for_server=0.0)
    assert answers(campaign) == ["1", "1", "1"]


def test_a_socket_in_the_folder_of_the_server_is_known_by_its_name(tmp_path: Path) -> None:
    campaign = talk(server("1", where="socket"), client=f"unix:{tmp_path / 'socket'}", cwd=tmp_path, wait_for_server=0)
    assert answers(campaign) == ["1", "1", "1"]


# --- is it alive? -----------------------------------------------------------------------------------------------------

# Answers, and hangs after its second session. It is alive again when it is started again.
HANGS = """
import itertools, select, socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    for number in itertools.count(1):
        connection, _ = server.accept()
        with connection:
            for line in connection.makefile("rb"):
                connection.sendall(b"well\\n")
        while number == int(sys.argv[2]):
            select.select([], [], [])
"""


def hanging(after: int) -> str:
    return f"{shlex.join([sys.executable, '-SEc', HANGS])} {{port}} {after}"


def test_a_server_that_hangs_after_a_session_is_found_there_and_started_again_by_a_dialogue() -> None:
    # Each session takes a probe, so the fourth connection is the probe after the second session.
    campaign = talk(hanging(3), probe="dialogue", timeout=0.5)
    started = [event for event in campaign if isinstance(event, TargetStarted)]
    (finding,) = campaign.findings
    assert (finding.kind, finding.session) == (FindingKind.HANG, 2)
    assert "is not alive after the session: a probe found no response: no <answer> from Server" in finding.message
    assert len(started) == 2


def test_a_server_that_is_alive_passes_all_probes() -> None:
    campaign = talk(hanging(10**6), probe="dialogue").run()
    assert (campaign.findings, campaign.progress.messages) == ([], 6)


PROBE = f"""exec {shlex.quote(sys.executable)} -SEc '
import socket
with socket.create_connection(("127.0.0.1", {{port}})) as connection:
    connection.sendall(b"ask\\n")
    connection.recv(10)
'"""


def test_a_server_that_hangs_after_a_session_is_found_there_by_a_command() -> None:
    # A probe comes before the first session, too.
    campaign = talk(hanging(4), probe=PROBE, timeout=1.0, sessions=3)
    started = [event for event in campaign if isinstance(event, TargetStarted)]
    (finding,) = campaign.findings
    assert (finding.kind, finding.session, len(started)) == (FindingKind.HANG, 2, 2)
    assert finding.message.endswith("is not alive after the session: the command of --probe did not end within 1 s")


def test_a_probe_that_never_succeeds_is_told_before_the_first_session() -> None:
    with pytest.raises(TargetError, match="before the first session the command of --probe exited with code 127"):
        talk(server("1"), probe="no-such-command").run()


# --- surroundings and limits ------------------------------------------------------------------------------------------


def test_a_server_gets_its_environment_and_its_folder(tmp_path: Path) -> None:
    expression = "os.environ['GREETING'] + ' from ' + os.path.basename(os.getcwd())"
    campaign = talk(server(expression), env={"GREETING": "hello"}, cwd=tmp_path, sessions=1)
    assert answers(campaign) == [f"hello from {tmp_path.name}"]


def test_memory_is_limited() -> None:
    assert answers(talk(server("len(bytes(1 << 29))"), sessions=1)) == [str(1 << 29)]
    (finding,) = talk(server("len(bytes(1 << 29))"), sessions=1, target_memory="256M").run().findings
    assert finding.kind is FindingKind.CRASH
    assert b"MemoryError" in finding.output


def test_processor_time_is_limited_and_told() -> None:
    (finding,) = talk(server("[1 for _ in iter(int, 1)]"), sessions=1, target_cpu=1, timeout=60).run().findings
    assert finding.kind is FindingKind.CRASH
    assert "was killed by SIGXCPU" in finding.message


def test_a_program_that_does_not_exist_is_told_also_under_limits() -> None:
    with pytest.raises(TargetError, match=r"cannot start the system under test: no-such-program: No such file"):
        talk("no-such-program {port}", target_memory="1G").run()


# --- options that do not fit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"restart": "often"}, "restart is one of 'session', 'crash', 'never', and not 'often'"),
        ({"ready": "("}, "is not a regular expression"),
        ({"cwd": "/no/such/folder"}, "/no/such/folder, which is not a folder"),
        ({"target_memory": "lots"}, "'lots' is not a size of at least 1K, such as 512M"),
        ({"target_cpu": 0}, "at least 1 s, and not 0"),
        ({"env": {"A=B": "C"}}, "cannot be the name of a variable"),
        ({"start_timeout": 0}, "needs time to start"),
        ({"server": "{port}", "ready": "x"}, "--ready is about a server under test"),
        ({"target": None, "client": 1, "restart": "session"}, "--restart is about a program that palaver starts"),
        ({"target": None, "client": 1, "env": {"A": "B"}}, "--env and --cwd are about programs that palaver starts"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(palaver.SetupError, match=complaint):
        talk(**{"target": "true", **options})


def test_a_keyword_that_is_none_is_refused_as_python_does() -> None:
    with pytest.raises(TypeError, match=r"talk\(\) got an unexpected keyword argument 'sesions'"):
        talk("true", sesions=3)


def test_the_command_line_has_the_same_options(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC)
    (palaver.folder / "inside").mkdir()
    arguments = ["--restart", "session", "--setup", "touch it", "--reset", "ls it", "--teardown", "rm it"]
    arguments += ["--env", "A=b=c", "--cwd", "inside", "--ready", "up", "--start-timeout", "20"]
    arguments += ["--target-memory", "1G", "--target-cpu", "20", "-n", "2", "-v"]
    command = server("os.environ['A'] + str(os.path.exists('it'))", later="print('up', flush=True)")
    talked = palaver("talk", "talk.fan", "--target", command, *arguments)
    assert talked.code == 0
    assert talked.text.count("Server: 'b=cTrue\\n'") == 2
    assert list((palaver.folder / "inside").iterdir()) == []
    wrong = palaver("talk", "talk.fan", "--target", command, "--env", "A")
    assert (wrong.code, "'A' is not NAME=VALUE" in wrong.said) == (2, True)
