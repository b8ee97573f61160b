"""Lengths that hold under a condition, are rounded, are counted in bytes of a text, or stand in nested quantifiers."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest
from length_specs import by_bounded_matcher, by_brute_force

import palaver
from cost import lines_run
from palaver.errors import Rejected

KINDS = """
<start> ::= <rec>*
<rec> ::= <kind> <len> <data>
<kind> ::= "a" | "b"
<len> ::= r"[0-9]"
<data> ::= r"[a-z0-9]*"
def fits(kind, field, data):
    return int(field) == len(str(data)) if str(kind) == "a" else 2 * int(field) == len(str(data))
"""
BY_KIND = {
    "implications": (
        'forall <r> in <rec>: <r>.<kind> == "a" -> int(<r>.<len>) == len(str(<r>.<data>))\n'
        'where forall <r> in <rec>: <r>.<kind> == "b" -> 2 * int(<r>.<len>) == len(str(<r>.<data>))'
    ),
    "alternatives": (
        'forall <r> in <rec>: (<r>.<kind> == "a" and int(<r>.<len>) == len(str(<r>.<data>)))'
        ' or (<r>.<kind> == "b" and 2 * int(<r>.<len>) == len(str(<r>.<data>)))'
    ),
    "a function": "forall <r> in <rec>: fits(<r>.<kind>, <r>.<len>, <r>.<data>)",
}
UTF_8 = """
<start> ::= <rec>*
<rec> ::= <len> ":" <data>
<len> ::= r"[0-9]"
<data> ::= <char>*
where forall <r> in <rec>: int(<r>.<len>) == len(bytes(<r>.<data>))
"""
WORDS = """
<start> ::= <rec>*
<rec> ::= <len> <word>*
<len> ::= <byte>
<word> ::= <byte>{4}
where forall <r> in <rec>: ord(bytes(<r>.<len>)) == (len(bytes(<r>)) + 3) // 4
"""
GROUPS = """
<start> ::= <group>*
<group> ::= "(" <head> <rec>* ")"
<head> ::= <size> ":"
<size> ::= r"[0-9]"
<rec> ::= <len> <data>
<len> ::= r"[0-9]"
<data> ::= r"[a-z0-9()]*"
"""
NESTED = {
    "below": "forall <g> in <group>: forall <r> in <g>..<rec>: int(<r>.<len>) == len(str(<r>.<data>))",
    "children": "forall <g> in <group>: forall <r> in <g>.<rec>: int(<r>.<len>) == len(str(<r>.<data>))",
    "a field of the outer node": (
        "forall <g> in <group>: forall <r> in <g>.<rec>: int(<g>.<head>.<size>) == len(str(<r>.<data>))"
    ),
    "exists": (
        "forall <g> in <group>: exists <h> in <g>.<head>:"
        " forall <r> in <g>.<rec>: int(<h>.<size>) == len(str(<r>.<data>))"
    ),
}
CASES: dict[str, tuple[str, str | bytes]] = {
    **{name: (f"{KINDS}where {condition}\n", "a3x1zb2helo") for name, condition in BY_KIND.items()},
    "bytes of a text": (UTF_8, "6:grüß5:h:€"),
    "bytes of an encoded text": (UTF_8.replace("bytes(<r>.<data>)", 'str(<r>.<data>).encode("utf-8")'), "6:grüß5:h:€"),
    "words": (WORDS, b"\x03helloyou"),
    "shifted": (WORDS.replace("// 4", ">> 2"), b"\x03helloyou"),
    **{f"nested, {name}": (f"{GROUPS}where {condition}\n", "(3:3a)03b(2)") for name, condition in NESTED.items()},
}


@pytest.mark.parametrize("name", CASES)
def test_such_lengths_are_used_while_input_is_read(name: str) -> None:
    text, data = CASES[name]
    spec = palaver.loads(text)
    assert spec.bounded_rules.bounds
    assert spec.parse(data * 50).size() == 1 + 50 * (spec.parse(data).size() - 1)
    with pytest.raises(Rejected):
        spec.parse((data * 3)[: 2 * len(data) + 3])


@pytest.mark.parametrize("name", CASES)
def test_reading_is_linear_in_the_number_of_such_records(name: str) -> None:
    text, data = CASES[name]
    spec = palaver.loads(text)
    spec.parse(data * 20)  # compile
    few, many = (lines_run(partial(spec.parse, data * times)) for times in (30, 300))
    assert many < 10**1.1 * few


@pytest.mark.parametrize("cut", range(12))
def test_bytes_of_a_text_that_comes_in_pieces_are_counted(cut: int) -> None:
    spec = palaver.loads(UTF_8)
    matcher = spec.matcher(bounded=True)
    data = "6:grüß5:h:€"
    matcher.feed(data[:cut])
    matcher.finish(data[cut:])
    assert [len(node.children) for node in matcher.trees()] == [2]


def test_a_length_that_is_said_of_nodes_elsewhere_bounds_nothing() -> None:
    text = GROUPS + "where forall <g> in <group>: forall <r> in <g>.<rec>: int(<r>.<len>) == len(str(<r>.<data>))\n"
    assert str(palaver.loads(text, start="<rec>").parse("3ab")) == "3ab"
    other = GROUPS.replace("<group>*", "<none>? <rec>") + '<none> ::= "-"\n'
    spec = palaver.loads(other + "where forall <n> in <none>: forall <r> in <rec>: int(<r>.<len>) == len(str(<r>))\n")
    assert str(spec.parse("3abcd")) == "3abcd"


def test_where_the_condition_does_not_hold_any_length_is_right() -> None:
    condition = 'forall <r> in <rec>: <r>.<kind> == "a" -> int(<r>.<len>) == len(str(<r>.<data>))'
    spec = palaver.loads(f"{KINDS}where {condition}\n")
    assert len(spec.parse("a2xyb9").children) == 2
    with pytest.raises(Rejected):
        spec.parse("a3xy")


TOTALS = """
<start> ::= <rec>* <tail>
<rec> ::= <mark>? <kind> <len> <data> <size> <tail>
<mark> ::= "b"
<kind> ::= r"[ab]"
<len> ::= r"[1-4]"
<data> ::= <rec> | <c>?
<size> ::= r"[2-5]"
<tail> ::= <c>*
<c> ::= r"[b24]"
"""


@pytest.mark.parametrize(
    "conditions",
    [
        ('<r>.<kind> == "a" or int(<r>.<len>) == len(str(<r>))', "int(<r>.<len>) == len(str(<r>)) // 2"),
        ("int(<r>.<len>) == len(str(<r>)) // 2", '<r>.<kind> == "a" or int(<r>.<len>) == len(str(<r>))'),
        ("int(<r>.<size>) == len(str(<r>))", "int(<r>.<len>) == len(str(<r>)) // 2"),
        ("int(<r>.<size>) == len(str(<r>))", '<r>.<kind> == "a" or int(<r>.<len>) == len(str(<r>)) // 2'),
    ],
)
def test_several_totals_of_one_record_are_all_counted_from_its_beginning(conditions: tuple[str, str]) -> None:
    spec = palaver.loads(TOTALS + "".join(f"where forall <r> in <rec>: {each}\n" for each in conditions))
    assert len(spec.bounded_rules.bounds) > 1
    accepted = 0
    for said in map("".join, product(*["ab", "b24", "24", "b24", "24"])):
        trees = by_brute_force(spec, said)
        assert sorted(by_bounded_matcher(spec, said, 0)) == sorted(trees or ()), said
        accepted += bool(trees)
    assert accepted
