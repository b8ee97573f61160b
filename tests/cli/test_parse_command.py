"""`palaver parse`, and how it explains what it rejects."""

from __future__ import annotations

from typing import Any

import pytest

LETTERS = '<start> ::= <n>{1,3}\n<n> ::= "a" | "b" | "c"\n'
LINES = '<start> ::= <line>+\n<line> ::= <key> "=" <value> "\\n"\n<key> ::= r"[a-z]+"\n<value> ::= r"[0-9]+"\n'
BITS = '<start> ::= <f> <b>\n<f> ::= <bit>{8}\n<bit> ::= 0 | 1\n<b> ::= b"\\x01\\xff"*\n'


@pytest.fixture
def parse(palaver: Any) -> Any:
    palaver.write(letters_fan=LETTERS, lines_fan=LINES, bits_fan=BITS)

    def run(data: bytes, *arguments: str, spec: str = "letters.fan") -> Any:
        palaver.write(input=data)
        return palaver("parse", "-f", spec, *arguments, "input")

    return run


def test_what_conforms_is_accepted_in_silence(parse: Any) -> None:
    accepted = parse(b"abc")
    assert (accepted.code, accepted.text, accepted.said) == (0, "", "")


def test_standard_input_is_read_if_there_is_no_file(palaver: Any) -> None:
    palaver.write(letters_fan=LETTERS)
    assert palaver("parse", "-f", "letters.fan", stdin=b"ab").code == 0
    rejected = palaver("parse", "-f", "letters.fan", stdin=b"ax")
    assert (rejected.code, rejected.said.partition(" ")[0]) == (1, "<stdin>:1:2:")


def test_what_was_parsed_is_written_in_each_format(parse: Any, palaver: Any) -> None:
    assert (
        parse(b"ab", "--format", "tree").text == "Tree(<start>,\n  Tree(<n>, Tree('a')),\n  Tree(<n>, Tree('b'))\n)\n"
    )
    assert parse(b"ab", "-o", "-").out == b"ab"
    parse(b"ab", "-o", "out", "--format", "bits")
    assert (palaver.folder / "out").read_text() == "0110000101100010"


def test_bytes_are_written_back_as_they_were(parse: Any, palaver: Any) -> None:
    parse(b"\x00\x01\xff", "-o", "out", "--validate", spec="bits.fan")
    assert (palaver.folder / "out").read_bytes() == b"\x00\x01\xff"


def test_several_files_are_each_judged(palaver: Any) -> None:
    palaver.write(letters_fan=LETTERS, one="a", two="x", three="c", four="y")
    parsed = palaver("parse", "-f", "letters.fan", "-o", "-", "-s", ";", "one", "two", "three", "four")
    assert (parsed.code, parsed.text) == (1, "a;c")
    assert [line.partition(":")[0] for line in parsed.said.splitlines() if "unexpected" in line] == ["two", "four"]


def test_a_missing_file_does_not_stop_the_others(palaver: Any) -> None:
    palaver.write(letters_fan=LETTERS, one="a")
    parsed = palaver("parse", "-f", "letters.fan", "-o", "-", "gone", "one")
    assert (parsed.code, parsed.text) == (2, "a")
    assert parsed.said == "palaver: cannot read gone: No such file or directory\n"


def test_a_prefix_is_accepted_if_asked_for(parse: Any) -> None:
    assert parse(b"key=", spec="lines.fan").code == 1
    assert parse(b"key=", "--prefix", spec="lines.fan").code == 0
    assert parse(b"key==", "--prefix", spec="lines.fan").code == 1
    assert parse(b"", "--prefix", spec="lines.fan").code == 0


REJECTED = {
    "a wrong character": (
        "letters.fan",
        b"abx",
        [],
        "input:1:3: unexpected 'x' at offset 2: expected 'a' or 'b' or 'c' or end of input\n  abx\n    ^\n",
    ),
    "one too many": (
        "letters.fan",
        b"abca",
        [],
        "input:1:4: unexpected 'a' at offset 3: expected end of input\n  abca\n     ^\n",
    ),
    "a newline at the end": (
        "letters.fan",
        b"abc\n",
        [],
        "input:1:4: unexpected '\\n' at offset 3: expected end of input\n  abc\n     ^\n",
    ),
    "an input that ends too soon": (
        "lines.fan",
        b"a=1\nb=",
        [],
        "input:2:3: unexpected end of input at offset 6: expected r'[0-9]+'\n  b=\n    ^\n",
    ),
    "a wrong character in the second line": (
        "lines.fan",
        b"a=1\nb:2\n",
        [],
        "input:2:2: unexpected ':' at offset 5: expected '=' or r'[a-z]+'\n  b:2\n   ^\n",
    ),
    "bytes that are no text": (
        "letters.fan",
        b"a\xff",
        [],
        "input:1:2: unexpected byte 0xff (not UTF-8) at offset 1: expected 'a' or 'b' or 'c' or end of input\n"
        "  a\\xff\n   ^\n",
    ),
    "a constraint that fails": (
        "lines.fan",
        b"a=1\nb=22\n",
        ["-c", "int(<value>) < 10"],
        "input:2:3: int(<value>) < 10 does not hold (<value> = '22'), required by <constraint>:1:1\n  b=22\n    ^\n",
    ),
    "a constraint that raises": (
        "lines.fan",
        b"a=0\n",
        ["-c", "1 // int(<value>) > 0"],
        "input:1:3: 1 // int(<value>) > 0 raised ZeroDivisionError: integer division or modulo by zero (<value> = '0')"
        ", at <constraint>:1:1: this is an error in the spec, not in the input\n  a=0\n    ^\n",
    ),
    "a wrong byte": (
        "bits.fan",
        b"\x07" + b"\x01\xff" * 8 + b"\x01\xfe" + b"\x01\xff" * 20,
        [],
        "input: at byte 18 (0x12): unexpected b'\\xfe' at offset 18: expected b'\\x01\\xff'\n"
        "  00000000  07 01 ff 01 ff 01 ff 01 ff 01 ff 01 ff 01 ff 01  ................\n"
        "  00000010  ff 01 fe 01 ff 01 ff 01 ff 01 ff 01 ff 01 ff 01  ................\n"
        "                  ^^\n"
        "  00000020  ff 01 ff 01 ff 01 ff 01 ff 01 ff 01 ff 01 ff 01  ................\n"
        "  00000030  ff 01 ff 01 ff 01 ff 01 ff 01 ff                 ...........\n",
    ),
    "bytes that end too soon": (
        "bits.fan",
        b"\x07\x01",
        [],
        "input: at byte 2 (0x2): unexpected end of input at offset 2: expected b'\\x01\\xff'\n"
        "  00000000  07 01                                            ..\n"
        "                  ^^\n",
    ),
    "bits that a constraint forbids": (
        "bits.fan",
        b"\x07",
        ["-c", "<f> == 8"],
        "input: at byte 0 (0x0): <f> == 8 does not hold (<f> = 7), required by <constraint>:1:1\n"
        "  00000000  07                                               .\n"
        "            ^^\n",
    ),
}


@pytest.mark.parametrize("spec, data, options, said", REJECTED.values(), ids=REJECTED)
def test_a_rejection_is_explained(parse: Any, spec: str, data: bytes, options: list[str], said: str) -> None:
    rejected = parse(data, *options, spec=spec)
    assert (rejected.code, rejected.text) == (1, "")
    assert rejected.said == said


def test_a_lost_source_is_explained(palaver: Any) -> None:
    palaver.write(
        packed_fan="<start> ::= <hex>\n<hex> ::= r'[0-9a-f]+' := str(<plain>).encode().hex()\n"
        "<plain> ::= r'[a-z]+' := bytes.fromhex(str(<hex>)).decode()\n",
        odd="abc",
        good="6869",
    )
    assert palaver("parse", "-f", "packed.fan", "good").code == 0
    rejected = palaver("parse", "-f", "packed.fan", "odd")
    assert rejected.code == 1
    assert "the inverse bytes.fromhex(str(<hex>)).decode() raised ValueError" in rejected.said


def test_what_takes_too_much_work_has_an_exit_code_of_its_own(palaver: Any) -> None:
    palaver.write(words_fan='<start> ::= <w>+\n<w> ::= r"[a-z]+"\nwhere len(str(<start>)) == 3\n')
    palaver.write(good=b"abc", bad=b"abcd", many=b"abcdefghijklmnopqrst")
    undecided = palaver("parse", "-f", "words.fan", "good", "many")
    assert (undecided.code, undecided.said.splitlines()[0]) == (
        4,
        "many: undecided: all of the first 10000 derivations are rejected, and there may be more",
    )
    assert palaver("parse", "-f", "words.fan", "many", "bad").code == 1  # a rejection is certain
    assert palaver("parse", "-f", "words.fan", "many", "missing").code == 2
