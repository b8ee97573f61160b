"""Every `palaver talk` keeps its run, and the run says everything."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import palaver as palaver_
from palaver.addresses import Address
from palaver.campaign.events import MessageReceived, MessageSent
from palaver.recording import run_writer
from palaver.recording.disk_reserve import DiskReserve, noted_facts
from palaver.recording.records import WireEvent, event_of, row_of
from palaver.recording.run_reader import RecordedMessage
from palaver.recording.run_writer import RunWriter, record
from palaver.recording.showing import conversations, shown_lines
from palaver.session.interface import (
    Close,
    Closed,
    Connected,
    Failed,
    Finish,
    Listening,
    Open,
    Opened,
    Received,
    Secure,
    Secured,
    Send,
    TimePassed,
    Tls,
    Turn,
)

ECHO = """
<start> ::= <exchange>{3}
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\\n"
<answer> ::= <word> "\\n"
<word> ::= r"[a-z]{1,8}"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""
WRONG = ("sed", "-u", "s/[m-p]/-/")
SERVER = shlex.join([sys.executable, "-m", "palaver.demo.server", "{port}"])


@pytest.fixture
def talk(palaver: Any) -> Any:
    palaver.write(echo_fan=ECHO)

    def talked(*arguments: str, program: tuple[str, ...] = ("cat",)) -> Any:
        return palaver("talk", "echo.fan", "--seed", "1", *arguments, *program)

    return talked


def the_run(folder: Path) -> palaver_.Run:
    (found,) = (folder / ".palaver" / "runs").iterdir()
    return palaver_.open_run(found)


def test_a_run_is_kept_by_time_and_spec(palaver: Any, talk: Any) -> None:
    talk("-n", "2")
    with the_run(palaver.folder) as run:
        assert re.fullmatch(r"\d{8}-\d{6}-echo", run.folder.name)
        assert run.seed == 1
        assert run.options["sessions"] == 2
        assert run.parties == ("In",)
        assert [session.number for session in run.sessions] == [1, 2]
        assert run.ending == "reached the limit of 2 sessions (-n 2)"
        assert run.verdict is palaver_.Verdict.PASS


def test_everything_that_is_said_is_kept(tmp_path: Path) -> None:
    campaign = palaver_.talk("smtp", target=SERVER, seed=1, sessions=3)
    record(campaign, tmp_path / "run")
    said = [event for event in campaign if isinstance(event, MessageSent | MessageReceived)]
    with palaver_.open_run(tmp_path / "run") as run:
        kept = [(number, each) for number in (1, 2, 3) for each in run.messages(number)]
        assert [(number, each.symbol, each.data) for number, each in kept] == [
            (event.session, event.message.symbol, event.message.data) for event in said
        ]
        for session in (1, 2, 3):
            sent = b"".join(each.data for each in run.wire(session) if isinstance(each, Send))
            heard = b"".join(each.data for each in run.wire(session) if isinstance(each, Received))
            assert sent == b"".join(each.data for each in run.messages(session) if each.is_ours)
            assert heard == b"".join(each.data for each in run.messages(session) if not each.is_ours)
        assert run.target(1)[0].command[-1].isdigit()


def test_the_spec_in_a_run_needs_no_file(palaver: Any, talk: Any) -> None:
    palaver.write(words_fan='<word> ::= r"[a-z]{1,8}"\n')
    palaver.write(echo_fan="include('words.fan')\n" + ECHO.replace('<word> ::= r"[a-z]{1,8}"\n', ""))
    talk("-n", "1", "-c", "len(str(<ask>)) > 3")
    for file in palaver.folder.glob("*.fan"):
        file.unlink()
    with the_run(palaver.folder) as run:
        assert [Path(source.name).name for source in run.origin.sources] == ["words.fan", "echo.fan"]
        assert len(run.spec.grammar.constraints) == 2
        assert next(run.spec.readings("<ask>", b"hello\n")).symbol == "<ask>"


def test_plain_sqlite_reads_it(palaver: Any, talk: Any) -> None:
    talk("--run", "kept", "-n", "2", program=WRONG)
    with sqlite3.connect(palaver.folder / "kept" / "run.sqlite") as file:
        assert file.execute("SELECT value FROM run WHERE name = 'schema'").fetchall() == [("4",)]
        assert file.execute("SELECT number, verdict FROM sessions").fetchall() == [(1, "fail"), (2, "fail")]
        assert file.execute("SELECT session, kind FROM findings").fetchall() == [(1, "UNPARSEABLE"), (2, "UNPARSEABLE")]


def test_nothing_is_kept_if_nothing_is_wanted(palaver: Any, talk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    talk("--no-run", "-n", "1")
    monkeypatch.setenv("PALAVER_RUNS", "")
    talk("-n", "1")
    assert not (palaver.folder / ".palaver").exists()
    monkeypatch.setenv("PALAVER_RUNS", "elsewhere")
    talk("-n", "1")
    assert len(list((palaver.folder / "elsewhere").iterdir())) == 1


def test_only_findings_keep_their_messages_if_that_is_wanted(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    palaver("talk", "echo.fan", "--seed", "1", "--keep", "findings", "-n", "12", "sed", "-u", "s/^[aeiou]/-/")
    with the_run(palaver.folder) as run:
        bad = {finding.session for finding in run.findings}
        assert 0 < len(bad) < 12
        assert {session.number for session in run.sessions if run.messages(session.number)} == bad
        assert all(run.session(number).sent for number in range(1, 13))


LEAKING = """
import socket, sys
kept = []
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        with connection:
            for line in connection.makefile("rb"):
                connection.sendall(b"well\\n")
                kept += [bytearray(100_000)] if line == b"keep\\n" else []
"""
ASKING = """
<start> ::= <exchange>{2}
<exchange> ::= <Client:keep> <Server:answer> | <Client:ask> <Server:answer>
<keep> ::= "keep\\n"
<ask> ::= "ask\\n"
<answer> ::= "well\\n"
"""


def test_the_example_of_a_leak_is_kept_also_if_only_findings_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palaver.campaign.system_under_test.MEMORY_SHARE", 1000)  # it is looked at after every session
    monkeypatch.setattr(run_writer, "SNAPSHOT_SHARE", 1e9)  # all that may go is dropped after every session
    target = f"{shlex.join([sys.executable, '-SEc', LEAKING])} {{port}}"
    campaign = palaver_.talk(palaver_.loads(ASKING), target=target, seed=1, sessions=50, guided=False)
    record(campaign, tmp_path / "run", keep="findings")
    campaign.run()
    with palaver_.open_run(tmp_path / "run") as run:
        (note,) = run.findings
        assert note.label == "memory growth (note)"
        assert note.session < 50
        assert [said.symbol for said in run.messages(note.session) if said.is_ours].count("<keep>")
        assert [session.number for session in run.sessions if session.has_details] == [note.session]


def test_a_run_that_is_too_large_loses_old_messages_but_no_findings(tmp_path: Path) -> None:
    spec = palaver_.loads(ECHO.replace("{3}", "{30}"))
    campaign = palaver_.talk(spec, program=["sed", "-u", "s/^q[a-e]/-/"], seed=1, sessions=30, guided=False)
    limit = 120_000
    record(campaign, tmp_path / "run", max_bytes=limit)
    campaign.run()
    assert campaign.findings
    with palaver_.open_run(tmp_path / "run") as run:
        assert len(run.sessions) == 30
        assert not run.messages(next(s.number for s in run.sessions if s.verdict is palaver_.Verdict.PASS))
        assert all(run.messages(finding.session) for finding in run.findings)
        assert "were dropped at 120000 bytes" in run.ending
    assert (tmp_path / "run" / "run.sqlite").stat().st_size < 1.5 * limit


def test_a_run_that_is_full_of_findings_stops_and_says_so(tmp_path: Path) -> None:
    campaign = palaver_.talk(palaver_.loads(ECHO), program=list(WRONG), seed=1, sessions=500, guided=False)
    record(campaign, tmp_path / "run", max_bytes=100_000)
    campaign.run()
    assert campaign.progress.sessions < 500
    assert "has reached its limit of 100000 bytes (--run-size)" in campaign.progress.ended


def test_a_folder_that_cannot_be_written_is_told_at_the_start(talk: Any) -> None:
    talked = talk("--run", "/proc/run")  # not even root can make folders there
    assert (talked.code, talked.text) == (2, "")
    assert "cannot write the run /proc/run: " in talked.said


def test_a_place_that_is_no_folder_is_told_at_the_start(palaver: Any, talk: Any) -> None:
    palaver.write(file_txt="")
    talked = talk("--run", "file.txt/run")
    assert (talked.code, talked.text) == (2, "")
    assert "cannot write the run file.txt/run: Not a directory" in talked.said


def test_a_run_is_not_written_over_another(talk: Any) -> None:
    assert talk("--run", "kept").code == 0
    again = talk("--run", "kept")
    assert again.code == 2
    assert "there is a run in kept already" in again.said


def test_a_full_disk_ends_the_run_with_its_summary(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO.replace("{3}", "{60}"))
    limits = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)); "
    code = limits + "from palaver.cli.main import run; run()"
    options = ("talk", "echo.fan", "--unguided", "-n", "2000", "--seed", "1", "--run", "kept", "cat")
    done = subprocess.run(
        [sys.executable, "-c", code, *options], cwd=palaver.folder, capture_output=True, check=False, text=True
    )
    assert done.returncode == 2
    assert re.search(r"^\d+ sessions, .* no findings$", done.stdout, re.MULTILINE)
    assert "stopped: the run kept cannot be written any more: " in done.stdout
    assert "Traceback" not in done.stderr
    with palaver_.open_run(palaver.folder / "kept") as run:
        held = len(run.sessions)
        assert run.ending.startswith("the run kept cannot be written any more: ")
        assert [session.number for session in run.sessions] == list(range(1, held + 1))
        assert all(session.verdict is not None for session in run.sessions)
        assert all(len(run.messages(session.number)) == 120 for session in run.sessions)
    # When there is room again, it goes on.
    assert palaver("talk", "--resume", "kept", "-n", str(held + 1)).code == 0
    with palaver_.open_run(palaver.folder / "kept") as run:
        assert len(run.sessions) == held + 1
        assert run.ending == f"reached the limit of {held + 1} sessions (-n {held + 1})"
    assert not (palaver.folder / "kept" / "reserve").exists()


def test_the_session_that_fills_the_disk_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full from the second session on, until the room that was kept for that is given back."""
    given: list[DiskReserve] = []

    def apply(writer: RunWriter, work: Any) -> None:
        is_of_second = any(row[0] == 2 for statement, rows in work if "INTO sessions" in statement for row in rows)
        if is_of_second and not given:
            raise sqlite3.OperationalError("database or disk is full")
        as_ever(writer, work)

    def give_back(reserve: DiskReserve) -> bool:
        given.append(reserve)
        return really_give_back(reserve)

    as_ever, really_give_back = RunWriter._apply, DiskReserve.give_back
    monkeypatch.setattr(RunWriter, "_apply", apply)
    monkeypatch.setattr(DiskReserve, "give_back", give_back)
    campaign = palaver_.talk(palaver_.loads(ECHO), program=["cat"], seed=1, sessions=5)
    writer = record(campaign, tmp_path / "kept")
    campaign.run()
    assert writer.failure.endswith("disk is full")
    with palaver_.open_run(tmp_path / "kept") as run:
        assert [session.number for session in run.sessions] == [1, 2]
        assert run.ending == writer.failure


def test_how_a_run_ended_is_noted_where_no_room_is_needed(tmp_path: Path) -> None:
    reserve = DiskReserve(tmp_path)
    assert reserve.give_back()
    assert not reserve.give_back()
    size = (tmp_path / "reserve").stat().st_size
    reserve.note({"how": "ended", "reason": "x" * 100_000})
    assert (tmp_path / "reserve").stat().st_size == size
    reserve.remove()
    noted = noted_facts(tmp_path)
    assert noted["how"] == "ended"
    assert set(noted["reason"]) == {"x"}


@pytest.mark.parametrize(
    ("number", "ending"),
    [
        (signal.SIGINT, "interrupted"),
        (signal.SIGTERM, "terminated by SIGTERM"),
        (signal.SIGHUP, "terminated by SIGHUP"),
    ],
)
def test_an_interrupted_run_says_so_and_keeps_what_was_said(palaver: Any, number: signal.Signals, ending: str) -> None:
    palaver.write(ask_fan='<start> ::= <In:ask> <Out:answer>\n<ask> ::= "?\\n"\n<answer> ::= "!\\n"\n')
    silent = "import sys; sys.stdin.read()"
    arguments = ("talk", "ask.fan", "-v", "--run", "kept", "--timeout", "60", sys.executable, "-c", silent)
    with palaver.start(*arguments, stdout=subprocess.PIPE) as process:
        while b"?" not in process.stdout.readline():  # then it was said, and everybody has been told
            assert process.poll() is None
        process.send_signal(number)
        process.communicate()
    with palaver_.open_run(palaver.folder / "kept") as run:
        assert run.ending == ending
        assert run.fact("how") == "interrupted"
        (session,) = run.sessions
        assert session.verdict is None
        assert [said.data for said in run.messages(1)] == [b"?\n"]


def test_an_oracle_that_raises_leaves_a_valid_run(tmp_path: Path) -> None:
    class Broken:
        def observe(self, event: object) -> tuple[palaver_.Observation, ...]:
            if isinstance(event, MessageReceived):
                raise ZeroDivisionError("no")
            return ()

    campaign = palaver_.talk(palaver_.loads(ECHO), program=["cat"], seed=1, sessions=1, oracles=[Broken()])
    record(campaign, tmp_path / "run")
    with pytest.raises(ZeroDivisionError):
        campaign.run()
    with palaver_.open_run(tmp_path / "run") as run:
        assert run.ending == "ZeroDivisionError: no"
        assert len(run.messages(1)) == 2


WIRE: list[WireEvent] = [
    Listening(1.25, "Server", 80),
    Opened(1.5, "Client", 0),
    Opened(1.5, "Client", 8),
    Received(2.0, "Client", b"\xff\0", is_whole=True),
    Received(2.0, "Client", b""),
    Closed(3.0, "Client"),
    Closed(3.0, "In", None, -11),
    Closed(3.0, "Client", "reset"),
    Failed(3.0, "Client", "refused", "nobody is there"),
    Connected(2.5, "Client"),
    Secured(3.0, "Client"),
    TimePassed(1 / 3),
    Open("Client", Address("tcp", "localhost", 25), "connect"),
    Open("In", Address("program", command=("a", "b")), "listen", Tls("c", server_name="d")),
    Send("Client", b"x"),
    Secure("Client", "connect", Tls()),
    Finish("Client"),
    Close("Client"),
    Close("Client", abruptly=True),
    Turn(1.0, 1.5, "taken"),
    Turn(1.0, 1.0, "yielded"),
    Turn(1.0, 2.0, "dropped"),
]


@pytest.mark.parametrize("each", WIRE, ids=lambda each: type(each).__name__)
def test_what_happened_on_the_wire_comes_back_as_it_was(each: WireEvent) -> None:
    assert event_of(row_of(each, 7.0)) == each


def test_a_turn_and_its_message_are_one_row(tmp_path: Path) -> None:
    with palaver_.talk("smtp", target=SERVER, seed=1, sessions=2) as campaign:
        record(campaign, tmp_path / "run")
        happened: list[WireEvent] = []
        campaign.tracers.append(lambda at, session, each: happened.append(each))
        campaign.run()
    with palaver_.open_run(tmp_path / "run") as run:
        assert [*run.wire(1), *run.wire(2)] == happened
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as file:
        counts = dict(file.execute("SELECT kind, count(*) FROM wire GROUP BY kind"))
    assert counts["said"] > 2
    assert "send" not in counts


def test_a_run_of_the_version_before_is_read_and_resumed(palaver: Any, talk: Any) -> None:
    talk("-n", "1", "--run", "kept", program=WRONG)
    with sqlite3.connect(palaver.folder / "kept" / "run.sqlite") as file:  # as the version before wrote it
        file.execute("ALTER TABLE findings DROP COLUMN known")
        file.execute("ALTER TABLE messages DROP COLUMN aside")
        file.execute("ALTER TABLE shrunk DROP COLUMN aside")
        file.execute("ALTER TABLE shrinkings DROP COLUMN got")
        file.execute("ALTER TABLE shrinkings DROP COLUMN got_offset")
        file.execute("UPDATE run SET value = '1' WHERE name = 'schema'")
    assert "finding 1 in session 1, " in palaver("show", "kept", "1").text
    assert palaver("talk", "--resume", "kept", "-n", "2").code == 1
    with palaver_.open_run(palaver.folder / "kept") as run:
        assert (run.fact("schema"), len(run.findings)) == ("4", 2)


# --- show and runs ----------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(palaver: Any, talk: Any) -> Any:
    talk("--run", "kept", "-n", "2", program=WRONG)
    return lambda *arguments: palaver("show", "kept", *arguments)


def said_in_first_session(folder: Path) -> list[RecordedMessage]:
    with palaver_.open_run(folder / "kept") as run:
        return run.messages(1)


def test_a_run_is_shown_at_a_glance(kept: Any, palaver: Any) -> None:
    shown = kept().text
    with palaver_.open_run(palaver.folder / "kept") as run:
        sent, received = (sum(getattr(each, name) for each in run.sessions) for name in ("sent", "received"))
    assert f"2 sessions, {sent} messages sent, {received} received\n" in shown
    assert "ended: reached the limit of 2 sessions (-n 2)\n2 findings\n  finding 1 in session 1, unexpected" in shown


def test_a_finding_is_shown_with_all_that_was_said(kept: Any, palaver: Any) -> None:
    lines = kept("1").text.splitlines()
    said = said_in_first_session(palaver.folder)
    assert lines[0].startswith("finding 1 in session 1, unexpected response from Out")
    shown = [re.sub(r"^ +[\d.]+  ", "", line) for line in lines[1 : len(said) + 1]]
    assert shown == [f"{each.sender}: {each.data.decode()!r}" for each in said]
    assert re.fullmatch(r"  Out: '[a-z]*-[a-z]*\\n'  <- here", lines[len(said) + 1])


def test_nothing_is_cut(palaver: Any) -> None:
    palaver.write(long_fan='<start> ::= <In:ask>{60}\n<ask> ::= "a"{5000} "\\n"\n')
    palaver("talk", "long.fan", "-n", "1", "--run", "kept", "sh", "-c", "cat > /dev/null")
    assert palaver("show", "kept", "s1").text.count("a" * 5000) == 60


def test_a_session_is_shown_as_json_lines(kept: Any, palaver: Any) -> None:
    rows = [json.loads(line) for line in kept("s1", "--format", "json").text.splitlines()]
    said = said_in_first_session(palaver.folder)
    assert [row["type"] for row in rows] == ["conversation", *("message" for _ in said), "finding"]
    assert [bytes.fromhex(row["data"]) for row in rows[1:-1]] == [each.data for each in said]
    assert [row["text"].encode() for row in rows[1:-1]] == [each.data for each in said]


def test_a_hexdump_names_the_fields(kept: Any, palaver: Any) -> None:
    word = said_in_first_session(palaver.folder)[0].data.rstrip(b"\n")
    assert f"  0000  {word.hex(' '):48} <word> = {word.decode()!r}\n" in kept("1", "--format", "hex").text


def test_a_sequence_diagram_of_two_parties_invents_no_third_one(palaver: Any) -> None:
    spec = '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "ask\\n"\n<answer> ::= "yes\\n"\n'
    program = "import socket; c, _ = socket.create_server(('127.0.0.1', {port})).accept(); c.recv(9); c.sendall(b'no')"
    palaver.write(ask_fan=spec)
    target = shlex.join([sys.executable, "-SEc", program])
    assert palaver("talk", "ask.fan", "-n", "1", "--run", "kept", "--target", target).code == 1
    lines = [line.strip() for line in palaver("show", "kept", "s1", "--format", "mermaid").text.splitlines()]
    assert [line for line in lines if line.startswith("participant")] == ["participant Client", "participant Server"]
    assert any(line.startswith("Client->>Server: ") for line in lines)


def test_a_sequence_diagram_has_a_line_for_each_message(kept: Any, palaver: Any) -> None:
    lines = kept("1", "--format", "mermaid").text.splitlines()
    assert lines[0] == "sequenceDiagram"
    assert [line.strip() for line in lines if "->>" in line] == [
        f"{'In->>Out: #lt;ask#gt;' if each.is_ours else 'Out->>In: #lt;answer#gt;'} {each.data.decode()!r}"
        for each in said_in_first_session(palaver.folder)
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "there is no run nowhere"),
        (["."], ". is not a run directory: there is no run.sqlite in it"),
        (["kept", "7"], "the run kept has no finding 7; it has 2"),
        (["kept", "s7"], "the run kept has no session 7; it has 2"),
        (["kept", "x"], "'x' is neither a finding, such as 2, nor a session, such as s14"),
    ],
    ids=str,
)
def test_what_is_not_there_is_told(kept: Any, palaver: Any, arguments: list[str], complaint: str) -> None:
    shown = palaver("show", *arguments)
    assert shown.code == 2
    assert complaint in shown.said


def test_a_file_that_is_no_run_is_told(palaver: Any) -> None:
    (palaver.folder / "odd").mkdir()
    (palaver.folder / "odd" / "run.sqlite").write_bytes(b"not a database" * 100)
    shown = palaver("show", "odd")
    assert shown.code == 2
    assert "is not a run, or it is damaged" in shown.said


def test_a_run_of_another_version_is_refused(palaver: Any, kept: Any) -> None:
    kept()
    with sqlite3.connect(palaver.folder / "kept" / "run.sqlite") as file:
        file.execute("UPDATE run SET value = '99' WHERE name = 'schema'")
    shown = kept()
    assert shown.code == 2
    assert "has version 99 of the tables" in shown.said


def test_the_latest_run_has_a_name(palaver: Any, talk: Any) -> None:
    talk("-n", "1")
    assert "1 session, 3 messages sent" in palaver("show", "latest").text


def test_where_a_run_with_findings_is_kept_is_told(palaver: Any, talk: Any) -> None:
    assert talk("-n", "1", "--run", "kept", program=WRONG).said == "run kept in kept; see palaver show kept 1\n"


def test_text_that_is_no_text_can_be_kept() -> None:
    assert run_writer._storable("a\udcff") == "a\\udcff"


def test_a_message_without_a_recipient_goes_to_the_other_of_two_parties(tmp_path: Path) -> None:
    with palaver_.talk("smtp", target=SERVER, seed=1, sessions=1) as campaign:
        record(campaign, tmp_path / "run")
        campaign.run()
    with palaver_.open_run(tmp_path / "run") as run:
        diagram = "\n".join(shown_lines(run, conversations(run, session=1), "mermaid"))
    assert "    Server->>Client: " in diagram
    assert "    Client->>Server: " in diagram
    assert "Peer" not in diagram
