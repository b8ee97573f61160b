"""`palaver talk` without a spec: the settings of a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from palaver.project_settings import SETTINGS, SettingsError, head_of, read_settings

ECHO = r"""<start> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\n"
<answer> ::= <word> "\n"
<word> ::= r"[a-z]{1,8}"
where <ask>.<word> == <answer>.<word>
"""
SETTINGS_OF_PROJECT = """spec = "echo.fan"
program = ["sed", "-u", "s/./q/g"]
sessions = 3
seed = 1
run = "kept"
report = "out.html"
junit = "out.xml"
"""


@pytest.fixture
def project(palaver: Any) -> Any:
    palaver.write(echo_fan=ECHO, palaver_toml=SETTINGS_OF_PROJECT)
    return palaver


def test_the_settings_do_it_all(project: Any, tmp_path: Path) -> None:
    done = project("talk")
    assert done.code == 1, done.said
    assert done.summary.startswith("3 sessions, ")
    assert {path.name for path in tmp_path.iterdir()} == {"echo.fan", "palaver.toml", "kept", "out.html", "out.xml"}


def test_options_come_before_settings_and_a_spec_before_all(project: Any) -> None:
    assert project("talk", "-n", "1", "--no-run").summary.startswith("1 session, ")
    assert project("talk", "echo.fan", "-n", "2", "--no-run", "cat").code == 0


def test_variables_are_for_a_target(project: Any) -> None:
    project.write(palaver_toml=SETTINGS_OF_PROJECT + "[env]\nLC_ALL = 'C'\n")
    assert "--env and --cwd are about programs that palaver starts" in project("talk").said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tarket = 'x'", "did you mean target? tarket is none of spec, "),
        ("sessions = 'many'", "sessions is a whole number, and not 'many'"),
        ("sessions = true", "sessions is a whole number"),
        ("client = [1]", "client is a text, or a list of texts"),
        ("= 3", "is not TOML"),
    ],
)
def test_wrong_settings_are_told(palaver: Any, text: str, told: str) -> None:
    palaver.write(palaver_toml=text)
    done = palaver("talk")
    assert done.code == 2
    assert told in done.said


def test_without_settings_a_spec_is_missing(palaver: Any) -> None:
    assert "no palaver.toml here names one" in palaver("talk").said


def test_the_table_at_the_head_of_a_spec_is_a_comment_for_others() -> None:
    text = "# [palaver]\n# target = 'x {port}'\n#sessions = 3\n\n# time = 9\n" + ECHO
    head = head_of(text)
    assert head is not None
    assert read_settings(head, "echo.fan") == {"target": "x {port}", "sessions": 3}
    assert head_of("\n" + text) is None
    assert head_of(ECHO) is None


def test_a_wrong_line_of_the_table_has_the_number_that_it_has_in_the_file() -> None:
    head = head_of("# [palaver]\n# sessions = 3\n# target = =\n" + ECHO)
    assert head is not None
    with pytest.raises(SettingsError, match="line 3"):
        read_settings(head, "echo.fan")


def test_every_setting_is_described() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reports.md").read_text(encoding="utf-8")
    for name in SETTINGS:
        assert f"`{name}`" in text, name
