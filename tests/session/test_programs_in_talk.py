"""Sessions with real programs, and over our own standard input and output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from palaver import loads
from palaver.random_source import RandomSource
from palaver.session.engine import Session, Timeouts
from palaver.session.findings import FindingKind, Verdict
from palaver.session.setup import RoleAssignment, SessionSetup
from palaver.session.strategy import RandomStrategy
from palaver.transport.driver import drive
from palaver.transport.event_loop import SelectorEventLoop

ECHO = """
<start> ::= <exchange>{2} <In:quit>
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= "ASK " <word> "\\n"
<answer> ::= "SAY " <word> "\\n"
<word> ::= r"[a-z]{1,8}"
<quit> ::= "QUIT\\n"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""

ANSWERS = """
import os, sys
for line in sys.stdin:
    if line.startswith("QUIT"):
        QUIT
    LINE
    print("SAY " + line[4:], end="", flush=True)
"""


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def program(*, quit: str = "break", line: str = "pass") -> tuple[str, ...]:
    return python(ANSWERS.replace("QUIT\n", f"{quit}\n").replace("LINE", line))


def talked(
    text: str, command: tuple[str, ...] = (), *, seed: int = 1, standard: tuple[int, int] = (0, 1), timeout: float = 5.0
) -> Session:
    """A session that is over."""
    chance = RandomSource(seed)
    setup = SessionSetup(loads(text), RoleAssignment(program=command))
    session = Session(setup, RandomStrategy(chance / "player"), chance, Timeouts(timeout=timeout))
    with SelectorEventLoop(standard=standard) as loop:
        drive(session, loop)
    return session


def test_a_program_is_talked_to_through_its_standard_input_and_output() -> None:
    session = talked(ECHO, program())
    assert session.verdict is Verdict.PASS
    assert len(session.said) == 5


def test_wrong_output_of_a_program_is_a_finding() -> None:
    session = talked(ECHO, program(line="line = 'ASK nothing\\n'"))
    assert [finding.kind for finding in session.findings] == [FindingKind.CONSTRAINT]


@pytest.mark.parametrize("when", ["quit", "line"])
def test_a_program_that_is_ended_by_a_signal_has_crashed(when: str) -> None:
    session = talked(ECHO, program(**{when: "os.kill(os.getpid(), 9)"}))
    (finding,) = session.findings
    assert (finding.kind, finding.party) == (FindingKind.CRASH, "Out")
    assert "killed by SIGKILL" in finding.message
    assert len(finding.messages) == (5 if when == "quit" else 1)


def test_a_program_that_fails_too_early_is_reported_with_its_exit_code() -> None:
    session = talked(ECHO, program(line="sys.exit(3)"))
    (finding,) = session.findings
    assert finding.kind is FindingKind.CRASH
    assert "exited with code 3" in finding.message


def test_a_program_that_exits_too_early_has_closed_early() -> None:
    session = talked(ECHO, program(line="sys.exit(0)"))
    assert [finding.kind for finding in session.findings] == [FindingKind.CLOSED]


def test_the_exit_code_after_the_last_message_does_not_matter() -> None:
    assert talked(ECHO, program(quit="sys.exit(3)")).verdict is Verdict.PASS


def test_a_program_that_writes_late_into_pipes_answers_at_once() -> None:
    hurried = program()
    assert talked(ECHO, python(hurried[-1].replace(", flush=True", "")), timeout=2.0).verdict is Verdict.PASS


def test_a_program_that_does_not_end_by_itself_is_ended() -> None:
    session = talked(ECHO, program(quit="import signal; signal.pause()"))
    assert session.verdict is Verdict.PASS


def test_a_missing_program_is_inconclusive() -> None:
    session = talked(ECHO, ("/no/such/program",))
    (finding,) = session.findings
    assert finding.kind is FindingKind.UNREACHABLE
    assert "/no/such/program" in finding.message


def test_the_input_of_a_program_may_be_closed_after_a_message() -> None:
    text = """
class In(In):
    close_post_transmit = True
<start> ::= <In:numbers> <Out:sorted>
<numbers> ::= "3\\n1\\n2\\n"
<sorted> ::= "1\\n2\\n3\\n"
"""
    assert talked(text, ("sort",)).verdict is Verdict.PASS


def test_a_program_may_only_speak_or_only_listen() -> None:
    only_out = "<start> ::= <Out:hello>\n<hello> ::= 'hello\\n'\n"
    assert talked(only_out, ("echo", "hello")).verdict is Verdict.PASS
    only_in = "<start> ::= <In:hello>\n<hello> ::= 'hello\\n'\n"
    assert talked(only_in, ("cat",)).verdict is Verdict.PASS
    assert talked(only_in, python("import os; os.abort()")).findings[0].kind is FindingKind.CRASH


@pytest.mark.parametrize("command", ["\"echo 'two words'\"", '["echo", "two words"]'])
def test_a_spec_may_name_its_program(command: str) -> None:
    text = f"set_program_command({command}, text=False)\n<start> ::= <Out:hello>\n<hello> ::= b'two words\\n'\n"
    assert talked(text).verdict is Verdict.PASS


@pytest.mark.parametrize(("text", "prefix"), [(True, ""), (False, "b")])
def test_spec_code_sees_output_as_text_unless_told_otherwise(text: bool, prefix: str) -> None:
    command = python(r"import os; [os.write(1, bytes([byte])) for byte in 'h\u00e9llo\r\n'.encode()]")
    spec = f"""
set_program_command({list(command)!r}, text={text})
class Out(Out):
    def receive(self, message, sender):
        super().receive(message and message.replace({prefix}"\\r", {prefix}""), sender)
<start> ::= <Out:hello>
<hello> ::= "h\u00e9llo\\n"
"""
    assert talked(spec).verdict is Verdict.PASS


def test_output_that_is_not_text_is_read_as_well() -> None:
    text = "<start> ::= <Out:hello>\n<hello> ::= b'\\xff\\x00\\n'\n"
    assert talked(text, python(r"import sys; sys.stdout.buffer.write(b'\xff\x00\n')")).verdict is Verdict.PASS


def test_messages_of_stdout_are_printed_and_those_of_stdin_are_read() -> None:
    text = "<start> ::= <StdOut:ask> <StdIn:name> 'Hello ' <who>\n<ask> ::= 'Who?\\n'\n<name> ::= r'[a-z]+\\n'\n"
    text += "<who> ::= <name>\nwhere str(<who>) == str(<start>.<name>)\n"
    typed, our_input = os.pipe()
    our_output, printed = os.pipe()
    os.write(our_input, b"anna\n")
    session = talked(text, standard=(typed, printed))
    assert session.verdict is Verdict.PASS
    assert os.read(our_output, 100) == b"Who?\nHello anna\n"
    for fd in (typed, our_input, our_output, printed):
        os.close(fd)


def test_a_spec_that_only_prints_does_not_read_standard_input() -> None:
    typed, our_input = os.pipe()
    our_output, printed = os.pipe()
    os.write(our_input, b"for somebody else\n")
    session = talked("<start> ::= <StdOut:word> <StdOut:word>\n<word> ::= 'word '\n", standard=(typed, printed))
    assert session.verdict is Verdict.PASS
    assert os.read(our_output, 100) == b"word word "
    assert os.read(typed, 100) == b"for somebody else\n"
    for fd in (typed, our_input, our_output, printed):
        os.close(fd)


def test_the_command_line_names_the_program(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    outcome = palaver("talk", "-f", "echo.fan", "--seed", "1", *program())
    assert (outcome.code, outcome.summary) == (0, "1 session, 3 messages sent, 2 received, no findings")


def test_spec_code_that_raises_in_each_session_is_reported_without_a_traceback(palaver: Any) -> None:
    palaver.write(echo_fan="class In(In):\n    def send(self, m, r):\n        return {}[m]\n" + ECHO)
    outcome = palaver("talk", "-n", "2", "-f", "echo.fan", "--seed", "1", *program())
    assert outcome.code == 2
    assert outcome.summary.endswith("2 findings (error in spec: 2)")
    assert "error in spec: In.send raised KeyError" in outcome.text
    assert "(echo.fan:3)" in outcome.text
    assert "Traceback" not in outcome.text + outcome.said


# --- what a person sees -----------------------------------------------------------------------------------------------


def test_on_a_terminal_parties_have_colours(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    reader, terminal = os.openpty()
    command = ["talk", "-f", "echo.fan", "--seed", "1", "--unguided", "-n", "1", "-v", *program()]
    with palaver.start(*command, stdout=terminal, stderr=subprocess.PIPE) as process:
        os.close(terminal)
        shown = b"".join(pieces_of(reader))
    os.close(reader)
    assert process.returncode == 0
    colours = re.findall(rb"\x1b\[(\d+)m(In|Out)\x1b\[0m: '", shown)
    assert [name for _, name in colours] == [b"In", b"Out", b"In", b"Out", b"In"]
    assert len(set(colours)) == 2


def pieces_of(reader: int) -> Iterator[bytes]:
    """All that is written to a terminal until nobody has it open."""
    while True:
        try:
            piece = os.read(reader, 4096)
        except OSError:  # this is how Linux tells the end
            return
        if not piece:
            return
        yield piece


def test_a_constraint_of_the_command_line_holds_in_the_session(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    options = ["-f", "echo.fan", "--seed", "1", "--unguided", "-n", "1", "-v", "-c", "len(str(<word>)) == 3"]
    outcome = palaver("talk", *options, *program())
    assert outcome.code == 0
    assert len(re.findall(r"^In: 'ASK [a-z]{3}\\n'$", outcome.text, re.MULTILINE)) == 2
