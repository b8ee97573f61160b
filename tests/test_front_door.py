"""Loading through the front door."""

from pathlib import Path

import pytest

import palaver


@pytest.mark.parametrize("variable", ["PALAVER_PATH", "FANDANGO_PATH"])
def test_includes_are_looked_for_along_the_path_of_the_environment(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "words.fan").write_text('<word> ::= "hi"\n')
    (tmp_path / "main.fan").write_text("include('words.fan')\n<start> ::= <word>\n")
    monkeypatch.setenv(variable, str(tmp_path / "library"))
    assert str(palaver.load(tmp_path / "main.fan").parse("hi")) == "hi"
    assert str(palaver.loads("include('words.fan')\n<start> ::= <word>\n").parse("hi")) == "hi"


def test_a_start_symbol_may_be_named_without_its_brackets() -> None:
    assert palaver.loads('<a> ::= "x"\n', start="a").start == "<a>"
