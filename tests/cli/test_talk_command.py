"""`palaver talk`: exit codes, what is shown, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

ECHO = """
<start> ::= <exchange>{3}
<exchange> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\\n"
<answer> ::= <word> "\\n"
<word> ::= r"[a-z]{1,8}"
where forall <e> in <exchange>: <e>.<ask>.<word> == <e>.<answer>.<word>
"""


@pytest.fixture
def talk(palaver: Any) -> Any:
    palaver.write(echo_fan=ECHO)
    return lambda *arguments: palaver("talk", "-f", "echo.fan", "--unguided", "-n", "1", *arguments)


def test_a_good_program_gives_a_summary_and_nothing_else(talk: Any) -> None:
    talked = talk("-n", "2", "--seed", "1", "cat")
    assert (talked.code, talked.said) == (0, "")
    assert talked.summary == "2 sessions, 6 messages sent, 6 received, no findings"


def test_the_conversation_is_shown_on_demand(talk: Any) -> None:
    lines = talk("-v", "--seed", "1", "cat").text.splitlines()
    assert sum(line.startswith(("In", "Out")) for line in lines) == 6
    assert lines[0].startswith("In: '")
    assert lines[1] == lines[0].replace("In", "Out")


def test_findings_and_summary_are_on_one_stream_with_their_numbers_and_the_seed(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    wrong = ["sh", "-c", "while read word; do echo $word; read word; echo wrong; done"]
    talked = palaver.process("talk", "-f", "echo.fan", "-n", "2", "--seed", "7", "--no-run", "--unguided", *wrong)
    assert (talked.code, talked.said) == (1, "")
    lines = talked.text.splitlines()
    assert lines[0].startswith("finding 1 in session 1, constraint violated: ")
    [summary] = [number for number, line in enumerate(lines) if line.startswith("2 sessions, ")]
    assert lines[summary].endswith("2 findings (constraint violated: 2)")
    assert "seed 7" in lines[summary:]


def test_each_finding_has_its_number_and_that_of_its_session(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    # Right in every second session: the program remembers by a file which one it is in.
    sometimes = ["sh", "-c", "if rm seen; then cat; else touch seen; while read word; do echo wrong; done; fi"]
    talked = palaver("talk", "echo.fan", "-n", "5", "--seed", "7", "--no-run", "--unguided", "-v", *sometimes)
    findings = [line for line in talked.text.splitlines() if line.startswith("finding ")]
    assert [line.partition(",")[0] for line in findings] == [
        f"finding {number} in session {session}" for number, session in ((1, 1), (2, 3), (3, 5))
    ]


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        pytest.param(0, ["-n", "1", "cat"], id="all is fine"),
        pytest.param(1, ["-n", "1", "sh", "-c", "read word; echo wrong"], id="a finding"),
        pytest.param(1, ["-n", "1", "true"], id="the program ends at once"),
        pytest.param(4, ["-n", "1", "./nobody"], id="there is no such program"),
        pytest.param(124, ["--time", "0.2", "sleep", "9"], id="the time is over"),
    ],
)
def test_the_seed_is_told_however_a_run_ends(palaver: Any, code: int, arguments: list[str]) -> None:
    palaver.write(echo_fan=ECHO)
    talked = palaver("talk", "echo.fan", "--no-run", "--unguided", *arguments)
    assert talked.code == code
    assert [line for line in talked.text.splitlines() if re.fullmatch(r"seed \d+", line)]


@pytest.mark.parametrize(
    "arguments",
    [
        "echo.fan --seed 1 --unguided -n 1 cat",
        "--seed 1 echo.fan --unguided -n 1 cat",
        "-n 1 --unguided --seed=1 echo.fan cat",
    ],
)
def test_the_spec_may_stand_before_behind_or_between_the_options(palaver: Any, arguments: str) -> None:
    palaver.write(echo_fan=ECHO)
    talked = palaver("talk", *arguments.split())
    assert (talked.code, talked.summary) == (0, "1 session, 3 messages sent, 3 received, no findings")


def test_the_same_seed_gives_the_same_conversation(talk: Any) -> None:
    assert talk("-v", "--seed", "3", "cat").text == talk("-v", "--seed", "3", "cat").text
    assert talk("-v", "--seed", "3", "cat").text != talk("-v", "--seed", "4", "cat").text


def test_findings_make_the_exit_code_1_and_the_next_session_goes_on(talk: Any) -> None:
    talked = talk("-n", "2", "--seed", "1", "tr", "a-z", "b")
    assert talked.code == 1
    assert talked.summary.startswith("2 sessions, 2 messages sent, 0 received, 2 ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "no COMMAND was given"),
        (["--client", "Nobody=80", "cat"], "the spec has no party Nobody; its parties are: In, Out"),
        (["--client", "out=80", "cat"], "the spec has no party out; its parties are: In, Out; did you mean Out?"),
        (["-n", "0", "cat"], "0 is not in the range"),
    ],
    ids=str,
)
def test_wrong_use_is_told(talk: Any, arguments: list[str], complaint: str) -> None:
    talked = talk(*arguments)
    assert talked.code == 2
    assert complaint in talked.said


def test_a_spec_without_messages_cannot_talk(palaver: Any) -> None:
    palaver.write(plain_fan='<start> ::= "a"\n')
    talked = palaver("talk", "-f", "plain.fan", "cat")
    assert talked.code == 2
    assert "the spec has no messages" in talked.said
