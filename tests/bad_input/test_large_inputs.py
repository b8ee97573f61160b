"""Inputs and specs that are large or deep: no RecursionError, no hang."""

from __future__ import annotations

from typing import Any

import pytest

import palaver as library

MEGABYTE = 1_000_000
DEEP = 10_000


def test_ten_megabytes_of_text_are_parsed() -> None:
    spec = library.loads("<start> ::= <word>\n<word> ::= r'[a-z]*'\n")
    data = "abcdefghij" * MEGABYTE
    assert str(spec.parse(data)) == data
    with pytest.raises(library.Rejected) as rejected:
        spec.parse(data + "!")
    assert rejected.value.offset == 10 * MEGABYTE
    assert len(rejected.value.reason) < 200


def test_ten_megabytes_of_bytes_are_parsed() -> None:
    spec = library.loads("<start> ::= <head> <body>\n<head> ::= b'\\x00'\n<body> ::= rb'[\\x01-\\xff]*'\n")
    data = bytes(range(1, 256)) * (10 * MEGABYTE // 255)
    assert bytes(spec.parse(b"\0" + data))[1:] == data


def test_ten_megabytes_that_are_wrong_are_explained_in_a_few_lines(palaver: Any) -> None:
    palaver.write(spec_fan="<start> ::= r'[a-z\\n]*'\n", input=b"a" * (10 * MEGABYTE) + b"!" + b"a" * 1000)
    rejected = palaver("parse", "-f", "spec.fan", "input")
    assert rejected.code == 1
    assert rejected.said.startswith("input:1:10000001: unexpected '!' at offset 10000000: expected ")
    assert len(rejected.said) < 500


def test_an_enormous_file_that_is_no_spec_is_refused_at_once(palaver: Any) -> None:
    palaver.write(spec_fan=b"\0" * 10 * MEGABYTE)
    assert palaver("check", "spec.fan").code == 2


NEST = '<start> ::= "(" <start> ")" | "x"\n'
NESTS = {
    "in the middle": (NEST, "(" * DEEP + "x" + ")" * DEEP),
    "to the right": ('<start> ::= "a" <start> | "a"\n', "a" * DEEP),
    "to the left": ('<start> ::= <start> "a" | "a"\n', "a" * DEEP),
    "through many rules": (
        "<start> ::= <a0>\n" + "".join(f"<a{n}> ::= <a{n + 1}>\n" for n in range(2000)) + '<a2000> ::= "x"\n',
        "x",
    ),
}


@pytest.mark.parametrize("text, data", NESTS.values(), ids=NESTS)
def test_a_deep_tree_is_parsed_checked_shown_and_written(text: str, data: str) -> None:
    spec = library.loads(text, constraints=["len(*<start>) > 0"])
    tree = spec.parse(data)
    assert str(tree) == data
    assert bytes(tree) == data.encode()
    assert tree == spec.parse(tree)
    assert len(repr(tree)) > len(data)
    assert tree.to_tree()
    assert tree.to_grammar()
    assert hash(tree) == hash(spec.parse(data))
    assert tree.to_bits().count("0") + tree.to_bits().count("1") == 8 * len(data)


@pytest.mark.parametrize("form", ["string", "bits", "tree", "grammar", "value", "repr"])
def test_a_deep_tree_is_shown_in_each_format(palaver: Any, form: str) -> None:
    palaver.write(spec_fan=NEST, input="(" * DEEP + "x" + ")" * DEEP)
    shown = palaver("parse", "-f", "spec.fan", "--format", form, "-o", "out", "input")
    assert (shown.code, shown.said) == (0, "")
    assert (palaver.folder / "out").stat().st_size > DEEP


def test_a_deep_input_that_is_wrong_is_rejected_at_its_place() -> None:
    spec = library.loads(NEST)
    with pytest.raises(library.Rejected) as rejected:
        spec.parse("(" * DEEP + "x" + ")" * (DEEP - 1))
    assert (rejected.value.offset, rejected.value.expected) == (2 * DEEP, ("')'",))


def test_a_deep_tree_is_made() -> None:
    # Both alternatives are equally likely, so a rule that is deep for sure is needed.
    text = (
        "<start> ::= <a0>\n" + "".join(f'<a{n}> ::= "(" <a{n + 1}> ")"\n' for n in range(DEEP)) + f'<a{DEEP}> ::= "x"\n'
    )
    spec = library.loads(text)
    tree = next(spec.fuzz(1, seed=1))
    assert str(tree) == "(" * DEEP + "x" + ")" * DEEP


ENDLESS_SETTINGS = {
    "alternatives in a row": "setting all_with_type(Alternative) alternatives_should_concatenate = 1.0\n",
    "other rules": "setting * non_terminal_use_other_rule = 1.0\n",
    "options": "setting * option_should_return_multiple = 1.0\n",
}


@pytest.mark.parametrize("setting", ENDLESS_SETTINGS.values(), ids=ENDLESS_SETTINGS)
def test_settings_that_always_apply_do_not_make_a_tree_endless(setting: str) -> None:
    spec = library.loads(setting + '<start> ::= "a" | <start>? "b" <x>\n<x> ::= <start> | "x"\n')
    assert [tree.size() < 5_000 for tree in spec.fuzz(3, seed=1)] == [True] * 3


def test_a_deep_tree_is_made_with_settings() -> None:
    text = '<start> ::= "a" <start> | "b"\nsetting * alternatives_should_concatenate = 1.0\n'
    tree = next(library.loads(text).fuzz(1, seed=1, max_nodes=DEEP))
    assert len(str(tree)) > DEEP


DEEP_SPECS = {
    "parentheses in a rule": "<start> ::= " + "(" * DEEP + '"a"' + ")" * DEEP + "\n",
    "parentheses in a constraint": '<start> ::= "a"\nwhere ' + "(" * DEEP + "1" + ")" * DEEP + "\n",
    "parentheses in Python": '<start> ::= "a"\nx = ' + "(" * DEEP + "1" + ")" * DEEP + "\n",
    "signs in Python": '<start> ::= "a"\nx = ' + "-" * 10 * DEEP + "1\n",
    "nots": '<start> ::= "a"\nwhere ' + "not " * DEEP + "<start> == 'b'\n",
    "quantifiers": '<start> ::= "a"\nwhere ' + "".join(f"forall <x{n}> in <start>: " for n in range(DEEP)) + "1\n",
    "arrows": '<start> ::= "a"\nwhere ' + "<start> -> " * 500 + "<start>\n",
    "steps": '<start> ::= "a"\nwhere <start>' + "..<start>" * DEEP + " == 'a'\n",
    "groups in a regular expression": "<start> ::= r'" + "(" * DEEP + "a" + ")" * DEEP + "'\n",
    "parentheses in a generator": '<start> ::= "a" := ' + "(" * DEEP + "'a'" + ")" * DEEP + "\n",
    "parentheses in a bound": '<start> ::= "a"{' + "(" * DEEP + "1" + ")" * DEEP + "}\n",
    "blocks": "".join(" " * n + "if 1:\n" for n in range(200)) + " " * 200 + 'pass\n<start> ::= "a"\n',
    "sums": '<start> ::= "a"\nwhere ' + "1 + " * DEEP + "1\n",
    "a long list": "x = [" + "1," * DEEP + ']\n<start> ::= "a"\n',
    "many ands": '<start> ::= "a"\nwhere ' + " and ".join(["<start> == 'a'"] * 1000) + "\n",
    "many alternatives": "<start> ::= " + " | ".join(f'"{n}"' for n in range(DEEP)) + ' | "a"\n',
    "a long sequence": "<start> ::= " + '""' * DEEP + '"a"\n',
}


@pytest.mark.parametrize("text", DEEP_SPECS.values(), ids=DEEP_SPECS)
def test_a_deep_or_long_spec_is_read_or_refused(palaver: Any, text: str) -> None:
    palaver.write(spec_fan=text, input="a")
    checked = palaver("check", "spec.fan")
    assert checked.code in (0, 2)
    assert len(checked.text) < 3_000
    made = palaver("fuzz", "-f", "spec.fan", "-n", "1", "-N", "1", "--seed", "1")
    parsed = palaver("parse", "-f", "spec.fan", "input")
    if checked.code == 2:
        assert (made.code, parsed.code) == (2, 2)
    else:
        assert (made.code, parsed.code) == (0, 0)
