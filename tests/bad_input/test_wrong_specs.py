"""Specs that are wrong in every way we could think of: a place and a hint, exit code 2, and never a traceback.

How each mistake is worded is in tests/spec/remarks.txt and tests/cli/objections.txt; here it is how the commands
behave.
"""

from __future__ import annotations

import random
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import palaver as library
from amounts import examples

REMARKS = (Path(__file__).parent.parent / "spec" / "remarks.txt").read_text()
CASES = re.findall(r"^=== (.+)\n((?:.*\n)+?)---\n((?:.*\n)+?)(?=\n===|\Z)", REMARKS, re.M)
WRONG = [(title, spec, said.splitlines()[0]) for title, spec, said in CASES if ": error: " in said.splitlines()[0]]

WORDS = """
<start> <a> <P:a> <P:Q:a> ::= := | ( ) [[ ]] { } " ' r' "a" f'{ }' * + ? 0 1 , : ; \\ # == -> .. . é x = forall
setting include( minimizing all( in for def if lambda
"""
PIECES = [*WORDS.split(), " ", "\n", "\n  ", "def f():", "if x:", " in ", "where "]

# A whole spec, one mistake in each kind of statement, and where it is.
SYNTAX = {
    "in a rule": ('<start> ::= "a" | ("b"\n', "spec.fan:1:19: error: this `(` is never closed"),
    "in a constraint": ('<start> ::= "a"\nwhere <start> == == "a"\n', "spec.fan:2:18: error: invalid syntax"),
    "in a goal": ('<start> ::= "a"\nmaximizing len(<start>\n', "spec.fan:2:15: error: '(' was never closed"),
    "in Python": ('def f(:\n    pass\n<start> ::= "a"\n', "spec.fan:1:7: error: invalid syntax"),
    "in the middle of a block": (
        'def f():\n    x = 1\n     y = 2\n<start> ::= "a"\n',
        "spec.fan:3:5: error: unexpected indent",
    ),
    "in a generator": ('<start> ::= "a" := f(\n', "spec.fan:1:21: error: '(' was never closed"),
    "in a bound": ('<start> ::= "a"{1 +}\n', "spec.fan:1:20: error: invalid syntax"),
    "in an include": ('include(3)\n<start> ::= "a"\n', "spec.fan:1:1: error: include takes one plain string literal"),
    "in a setting": ('setting <start>\n  = 3\n<start> ::= "a"\n', "spec.fan:2:2: error: unexpected indent"),
    "in a text": ('<start> ::= "a\n', "spec.fan:1:13: error: this string is never closed"),
    "in a symbol": ("<start> ::= <a b>\n", "spec.fan:1:13: error: "),
    "in a regular expression": ("<start> ::= r'a{2,1}'\n", "spec.fan:1:13: error: invalid regular expression"),
    "return outside": ('<start> ::= "a"\nreturn 3\n', "spec.fan:2:1: error: "),
}


@pytest.mark.parametrize("spec, complaint", SYNTAX.values(), ids=SYNTAX)
def test_a_syntax_error_is_shown_at_its_place(palaver: Any, spec: str, complaint: str) -> None:
    palaver.write(spec_fan=spec, input="a")
    for command in (["check", "spec.fan"], ["fuzz", "-f", "spec.fan"], ["parse", "-f", "spec.fan", "input"]):
        ended = palaver(*command)
        assert ended.code == 2
        assert complaint in ended.text + ended.said
        assert re.search(r"^ *\^+$", ended.text + ended.said, re.M)


@pytest.mark.parametrize("spec, complaint", [pytest.param(spec, said, id=title) for title, spec, said in WRONG])
def test_every_syntax_error_we_know_of_is_a_spec_error(palaver: Any, spec: str, complaint: str) -> None:
    palaver.write(spec_fan=spec)
    checked = palaver("check", "spec.fan")
    assert checked.code == 2
    assert complaint in checked.text


def test_a_missing_file_is_reported(palaver: Any) -> None:
    made = palaver("fuzz", "-f", "gone.fan")
    assert (made.code, made.said) == (
        2,
        "gone.fan:1:1: error: there is no file gone.fan\n  hint: check the path\n",
    )
    assert palaver("fuzz", "-f", "no/folder/gone.fan").said.endswith("hint: there is no folder no/folder either\n")


def test_a_text_in_the_place_of_a_file_is_told_in_short() -> None:
    text = '<start> ::= "a"\n' + '<more> ::= "// b"\n' * 1000
    with pytest.raises(library.SpecError) as raised:
        library.load(text)
    assert str(raised.value) == (
        "<string>:1:1: error: this is the text of a spec, and no name of a file\n"
        '  <start> ::= "a"\n'
        "  ^\n"
        "  hint: write it to a file; in Python, palaver.loads takes the text of a spec"
    )


def test_a_missing_include_is_the_only_error(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= <from_there>\ninclude('there.fan')\n<unused> ::= 'x'\n")
    assert palaver("check", "spec.fan").text == (
        "spec.fan:2:1: error: the included file there.fan does not exist\n"
        "  include('there.fan')\n"
        "  ^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: looked in .\n"
        "1 error, 0 warnings\n"
    )


def test_a_loop_of_includes_ends(palaver: Any) -> None:
    palaver.write(a_fan='include("b.fan")\n<start> ::= <x>\n', b_fan='include("c.fan")\n', c_fan='include("./a.fan")\n')
    checked = palaver("check", "a.fan")
    assert checked.code == 2
    assert "c.fan:1:1: error: this include is circular: a.fan → b.fan → c.fan → a.fan" in checked.text


ENCODINGS = {
    "latin-1": ('<start> ::= "café"\n'.encode("latin-1"), "spec.fan:1:17: error: spec.fan is not UTF-8: byte 0xe9 at"),
    "latin-1 in the third line": ("\n# ü\n# é\n".encode("latin-1"), "spec.fan:2:3: error: spec.fan is not UTF-8"),
    "UTF-16": ('<start> ::= "a"\n'.encode("utf-16"), "spec.fan is not UTF-8 but UTF-16"),
    "half a character": (b'<start> ::= "\xe2\x82', "spec.fan:1:14: error: spec.fan is not UTF-8: byte 0xe2"),
    "a NUL byte": (b'<start> ::= "a\0"\n', "spec.fan is not a text file: it has a NUL byte at offset 14"),
    "a program": (b"\x7fELF\x02\x01\x01" + bytes(200), "spec.fan is not a text file"),
    "control characters": (bytes(range(1, 32)) * 20, "spec.fan is not a text file"),
}


@pytest.mark.parametrize("content, complaint", ENCODINGS.values(), ids=ENCODINGS)
def test_a_wrong_encoding_is_one_error(palaver: Any, content: bytes, complaint: str) -> None:
    palaver.write(spec_fan=content)
    checked = palaver("check", "spec.fan")
    assert (checked.code, checked.text.count("error: ")) == (2, 1)
    assert complaint in checked.text
    assert "  hint: " in checked.text


def test_binary_junk_is_no_spec(palaver: Any) -> None:
    dice = random.Random(3)
    for size in (1, 10, 1000, 100_000):
        palaver.write(spec_fan=dice.randbytes(size))
        for command in (["check", "spec.fan"], ["fuzz", "-f", "spec.fan"]):
            assert palaver(*command).code == 2


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_junk_made_of_the_languages_own_pieces_is_refused_or_read(pieces: list[str]) -> None:
    with suppress(library.SpecError):
        library.loads('<start> ::= "a"\n' + "".join(pieces))


def test_an_enormous_number_of_mistakes_is_cut_short(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= ) \n" * 20_000)
    checked = palaver("check", "spec.fan")
    assert checked.code == 2
    assert len(checked.text) < 20_000


def test_a_mistake_in_an_enormous_line_is_shown_in_part(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= " + '"a" ' * 100_000 + "<b>\n")
    checked = palaver("check", "spec.fan")
    assert "spec.fan:1:400013: error: no rule defines <b>" in checked.text
    assert len(checked.text) < 1_000
