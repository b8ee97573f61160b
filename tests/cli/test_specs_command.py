"""The specs that come with palaver are listed, and used by their names."""

from __future__ import annotations

import keyword
import re
from typing import Any

import pytest

from palaver.compiled.bundled import bundled, headline


def test_each_is_listed_with_one_line(palaver: Any) -> None:
    listed = palaver("specs")
    assert listed.code == 0
    lines = listed.text.splitlines()
    assert [line.split()[0] for line in lines] == list(bundled())
    assert all(len(line) <= 140 for line in lines)


@pytest.mark.parametrize("name", bundled())
def test_each_begins_by_saying_what_it_is(name: str) -> None:
    assert len(headline(bundled()[name])) > 20


@pytest.mark.parametrize("name", bundled())
def test_each_keeps_to_the_words_and_the_python_that_fandango_reads(name: str) -> None:
    text = bundled()[name].read_text()
    reserved = {*keyword.kwlist, "type", "match", "case", "setting", "where", "include", "exists", "forall"}
    assert not reserved.intersection(re.findall(r"^<(\w+)> *::=", text, re.MULTILINE))
    assert re.findall(r"\([^(),\n]+,\)", text) == [], "a tuple of one"
    assert re.findall(r"^ *(?:elif|if|while) .*[^:]:= .*:$", text, re.MULTILINE) == [], "an assignment inside"
    assert re.findall(r"^ *\([^\n=]*\)(?:, \([^\n=]*\))+ = ", text, re.MULTILINE) == [], "a tuple of targets"


def test_one_is_printed_to_be_changed(palaver: Any) -> None:
    assert palaver("specs", "smtp").text == bundled()["smtp"].read_text()
    asked = palaver("specs", "smtps")
    assert asked.code == 2
    assert "there is no bundled spec smtps; there are: " in asked.said


def test_a_name_is_as_good_as_a_file(palaver: Any) -> None:
    assert palaver("check", "smtp").text.startswith("smtp: ")
    assert palaver("graph", "smtp").code == 0
    assert palaver("fuzz", "-f", "smtp", "-n", "1", "--seed", "1").code == 0
    assert "1 finding (unreachable: 1)" in palaver("talk", "smtp", "--client", "unix:nowhere", "-n", "1").summary


def test_a_file_of_that_name_comes_first(palaver: Any) -> None:
    (palaver.folder / "smtp").write_text('<start> ::= "mine"\n')
    assert palaver("fuzz", "-f", "smtp", "-n", "1").text == "mine\n"


@pytest.mark.parametrize("name", ["smtp.fan", "smtp"])
def test_one_is_included_by_its_name(palaver: Any, name: str) -> None:
    (palaver.folder / "mine.fan").write_text(f"include('{name}')\nwhere len(str(<start>)) > 0\n")
    checked = palaver("check", "mine.fan")
    assert (checked.code, checked.text.startswith("mine.fan: ")) == (0, True)


def test_a_file_beside_the_includer_comes_before_a_bundled_one(palaver: Any) -> None:
    (palaver.folder / "smtp.fan").write_text('<start> ::= "mine"\n')
    (palaver.folder / "mine.fan").write_text("include('smtp.fan')\n")
    assert palaver("fuzz", "-f", "mine.fan", "-n", "1").text == "mine\n"


def test_a_misspelt_name_is_recognised(palaver: Any) -> None:
    for command in (["check", "smpt"], ["fuzz", "-f", "smpt"], ["talk", "smpt", "--client", "1"]):
        wrong = palaver(*command)
        assert wrong.code == 2
        assert "did you mean smtp, which comes with palaver?" in wrong.said + wrong.text
    (palaver.folder / "mine.fan").write_text("include('smpt.fan')\n")
    assert "did you mean smtp, which comes with palaver?" in palaver("check", "mine.fan").text
    assert "check the path" in palaver("fuzz", "-f", "nothing_like_it").said
