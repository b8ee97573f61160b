"""The exit codes that continuous integration acts on, one test for each row of the table in `docs/commands.md`."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from palaver.transport.registry import free_port

ECHO = r"""<start> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\n"
<answer> ::= <word> "\n"
<word> ::= r"[a-z]{1,8}"
where <ask>.<word> == <answer>.<word>
"""
SERVER = ECHO.replace("In:", "Client:").replace("Out:", "Server:")
KNOWN = '[[known]]\nkind = "constraint violated"\nreason = "issue 7"\n'
WRONG = ("sed", "-u", "s/./q/g")


@pytest.fixture
def talk(palaver: Any) -> Any:
    palaver.write(echo_fan=ECHO, server_fan=SERVER, known_toml=KNOWN)
    return palaver


def test_0_if_all_is_fine(talk: Any) -> None:
    assert talk("talk", "echo.fan", "-n", "2", "--no-run", "cat").code == 0


def test_0_if_all_findings_are_known(talk: Any) -> None:
    done = talk("talk", "echo.fan", "-n", "3", "--no-run", "--known", "known.toml", *WRONG)
    assert done.code == 0
    assert "known finding" in done.text


def test_1_if_a_finding_is_new(talk: Any) -> None:
    assert talk("talk", "echo.fan", "-n", "3", "--no-run", *WRONG).code == 1


def test_2_if_the_command_line_or_the_spec_is_wrong(talk: Any) -> None:
    talk.write(wrong_fan="<start> ::= <nothing>\n")
    assert talk("talk", "echo.fan", "--no-such-option").code == 2
    assert talk("talk", "wrong.fan", "cat").code == 2
    assert talk("talk", "nowhere.fan", "cat").code == 2


def test_3_if_palaver_fails(talk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from palaver.cli.command_line import exit_code

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("nobody has thought of this")

    monkeypatch.setattr("palaver.cli.commands.talk.load_spec", fail)
    monkeypatch.chdir(talk.folder)
    assert exit_code(["talk", "echo.fan", "cat"]) == 3


def test_4_if_nobody_is_there_to_be_tested(talk: Any) -> None:
    port = str(free_port("tcp"))
    done = talk("talk", "server.fan", "-n", "1", "--no-run", "--wait-for-server", "0", "--client", port)
    assert done.code == 4
    assert "connection refused" in done.text


def test_4_if_a_session_was_cut_off(talk: Any) -> None:
    done = talk("talk", "echo.fan", "-n", "1", "--no-run", "--max-messages", "1", "cat")
    assert (done.code, "inconclusive" in done.text) == (4, True)


def test_124_if_the_time_was_over_before_a_session_had_ended(talk: Any) -> None:
    done = talk("talk", "echo.fan", "--time", "0.2", "--no-run", "sleep", "30")
    assert done.code == 124


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_run_with_its_own_code_and_the_reports_are_written(
    talk: Any, tmp_path: Path, number: int, code: int
) -> None:
    with talk.start(
        *("talk", "echo.fan", "--until", "forever", "--time", "50", "--no-run", "-v", "--json", "r.jsonl", "cat"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert any(b"Out:" in line for line in running.stdout)
        running.send_signal(number)
        running.stdout.read()
    assert running.returncode == code
    assert '"type": "end"' in (tmp_path / "r.jsonl").read_text()


def test_the_table_of_exit_codes_is_complete() -> None:
    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    codes = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", text, re.MULTILINE) for code in row.split(", ")}
    assert codes == {0, 1, 2, 3, 4, 124, 129, 130, 143}
