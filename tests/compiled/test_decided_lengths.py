"""Lengths and counts that constraints decide bound the matcher while it reads."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from length_specs import Comparison, by_bounded_matcher, by_brute_force

import palaver
from amounts import few
from cost import lines_run
from palaver.errors import Rejected, Undecided
from palaver.trees.node import Node

RECORDS = (Path(__file__).parent.parent / "cases" / "records.fan").read_text()
NETSTRINGS = """
<start> ::= <netstring>+
<netstring> ::= <len> ":" <data> ","
<len> ::= r"[0-9]+"
<data> ::= r"[a-z0-9:,]*"
where forall <n> in <netstring>: int(<n>.<len>) == len(str(<n>.<data>))
"""
TLV = """
<start> ::= <tlv>+
<tlv> ::= <tag> <len> <value>
<tag> ::= rb"[\\x01-\\x0f]"
<len> ::= <byte>
<value> ::= <tlv>* | <leaf>
<leaf> ::= b"\\xff" <byte>*
where forall <t> in <tlv>: int.from_bytes(bytes(<t>.<len>), "big") == len(bytes(<t>.<value>))
"""
COUNTED = """
<start> ::= <list>+
<list> ::= <n> ":" <item> ("," <item>)* ";"?
<n> ::= r"[0-9]"
<item> ::= r"[a-z0-9:]+"
where forall <l> in <list>: len(*<l>.<item>) == int(<l>.<n>)
"""
SPLIT = """
<start> ::= <rec>+
<rec> ::= <high> <low> <data> <end>
<high> ::= <byte>
<low> ::= <byte>
<data> ::= <byte>*
<end> ::= b";"
where forall <r> in <rec>: ord(bytes(<r>.<high>)) * 256 + ord(bytes(<r>.<low>)) == len(bytes(<r>.<data>))
"""
FORMS = {
    "all of the record": ("<type> <len> <data>", "decoded(<r>.<len>) == len(bytes(<r>))", 7),
    "a sum of parts": (
        "<type> <len> <data> <tail>",
        "decoded(<r>.<len>) == len(bytes(<r>.<data>)) + len(bytes(<r>.<tail>))",
        5,
    ),
    "a sum with a fixed part": (
        "<len> <type> <data>",
        "decoded(<r>.<len>) == len(bytes(<r>.<type>)) + len(bytes(<r>.<data>))",
        6,
    ),
    "a difference": ("<type> <len> <data>", "decoded(<r>.<len>) - 1 == len(bytes(<r>.<data>)) - 1", 5),
    "a field in a header": ("<head> <data>", "decoded(<r>.<head>.<len>) == len(bytes(<r>.<data>))", 5),
    "a helper, and the length first": ("<len> <data>", "len(bytes(<r>.<data>)) == decoded(<r>.<len>)", 5),
    "struct": ("<len> <data>", "struct.unpack('B', bytes(<r>.<len>))[0] == len(bytes(<r>.<data>))", 5),
    # --- several fields ---
    "a high and a low byte": (
        "<type> <len> <data>",
        "256 * (decoded(<r>.<type>) - 84) + decoded(<r>.<len>) == size(<r>.<data>)",
        5,
    ),
    "fields of a header": (
        "<head> <data>",
        "(decoded(<r>.<head>.<type>) - 84) * 256 + decoded(<r>.<head>.<len>) == len(bytes(<r>.<data>))",
        5,
    ),
    "a product": (
        "<type> <len> <data>",
        "(decoded(<r>.<type>) - 83) * decoded(<r>.<len>) == len(bytes(<r>.<data>))",
        5,
    ),
    "a total by several fields": (
        "<type> <len> <data>",
        "len(bytes(<r>)) - 2 == decoded(<r>.<len>) + decoded(<r>.<type>) - 84",
        5,
    ),
    # --- encoded ---
    "to_bytes": ("<len> <data>", "bytes(<r>.<len>) == len(bytes(<r>.<data>)).to_bytes(1, 'big')", 5),
    "packed": ("<len> <data>", "struct.pack('B', len(bytes(<r>.<data>))) == bytes(<r>.<len>)", 5),
    "in digits": ("<len> <data>", "str(<r>.<len>) == str(len(bytes(<r>.<data>)))", ord("5")),
    "a node in digits": ("<len> <data>", "<r>.<len> == str(len(bytes(<r>.<data>)))", ord("5")),
    "a node as a number": ("<len> <data>", "<r>.<len> == len(bytes(<r>.<data>))", ord("5")),
    "formatted": ("<len> <data>", "f'{len(bytes(<r>.<data>)):x}' == str(<r>.<len>)", ord("5")),
    "formatted by %": ("<len> <data>", "bytes(<r>.<len>) == b'%d' % len(bytes(<r>.<data>))", ord("5")),
    "formatted and encoded": ("<len> <data>", "bytes(<r>.<len>) == str(len(bytes(<r>.<data>))).encode()", ord("5")),
    # --- functions of the spec ---
    "a measuring function": ("<len> <data>", "decoded(<r>.<len>) == size(<r>.<data>)", 5),
    "a function of both": ("<len> <data>", "agree(<r>.<len>, <r>.<data>)", 5),
    "a function of the record": ("<len> <data>", "fits(<r>)", 5),
    "a method": ("<len> <data>", "decoded(<r>.<len>) == len(<r>.<data>.to_bytes())", 5),
    # --- paths ---
    "children": ("<len> <data>", "decoded(<r>.<len>) == len(<r>.<data>)", 5),
    "parts by number": ("<type> <len> <data>", "decoded(<r>[1]) == len(bytes(<r>[-1]))", 5),
    "a part of a part": ("<len> <body>", "decoded(<r>.<len>) == len(bytes(<r>.<body>.<data>))", 5),
    "anywhere below": ("<head> <body>", "decoded(<r>..<len>) == len(bytes(<r>..<data>))", 5),
}


def form(name: str) -> tuple[str, bytes]:
    """The spec of a form, and a record of it."""
    body, condition, value = FORMS[name]
    text = f"""
import struct
def decoded(field):
    return int.from_bytes(bytes(field), "big")
def size(node):
    data = bytes(node)
    return len(data)
def agree(field, node):
    return decoded(field) == size(node)
def fits(record):
    return agree(record.children[0], record[1]) and True
<start> ::= <rec>+
<rec> ::= {body}
<head> ::= <type> <len>
<body> ::= <data> <end>
<end> ::= b";"
<type> ::= rb"[TU]"
<len> ::= <byte>
<data> ::= <byte>*
<tail> ::= rb"[0-9]*"
where forall <r> in <rec>: {condition}
"""
    head = {"<type>": b"T", "<len>": bytes([value]), "<data>": b"hello", "<head>": b"T" + bytes([value]), "<tail>": b""}
    head["<body>"] = b"hello;"
    return text, b"".join(head[part] for part in body.split())


@pytest.mark.parametrize("count", [1, 4, 300])
def test_records_are_divided_by_their_lengths(count: int) -> None:
    tree = palaver.loads(RECORDS).parse(b"\x05hello" * count)
    assert [bytes(data) for data in tree.find_all_nodes("<data>")] == [b"hello"] * count


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (RECORDS, b"\x05hello"),
        (NETSTRINGS, "7:a,3:b,4,"),
        (TLV, b"\x01\x09\x02\x03\xffab\x03\x02\xffx"),
        (COUNTED, "2:a:,b;"),
        (SPLIT, b"\x00\x05a;b;c;"),
    ],
    ids=["records", "netstrings", "nested", "counted", "split"],
)
def test_reading_is_linear_in_the_number_of_records(text: str, data: str | bytes) -> None:
    spec = palaver.loads(text)
    spec.parse(data * 20)  # compile
    few, many = (lines_run(partial(spec.parse, data * times)) for times in (30, 300))
    assert many < 10**1.15 * few


def test_rejecting_is_linear_in_the_number_of_records() -> None:
    """Another reading without bounds tells which constraint fails, as far as that takes linear time."""
    spec = palaver.loads(RECORDS)
    record = b"\x14" + bytes(range(100, 120))

    def reject(times: int) -> None:
        with pytest.raises(Rejected, match="unexpected end of input"):
            spec.parse((record * times)[:-1])

    reject(20)  # compile
    few, many = (lines_run(partial(reject, times)) for times in (30, 300))
    assert many < 10**1.15 * few
    with pytest.raises(Rejected, match="does not hold"):
        spec.parse((record * 2)[:-1])


def test_a_wrong_length_of_a_long_input_is_told() -> None:
    spec = palaver.loads("""
<start> ::= <size> <data>
<size> ::= <byte> <byte>
<data> ::= <byte>*
where int.from_bytes(bytes(<size>)) == len(bytes(<data>))
""")
    with pytest.raises(Rejected, match="does not hold"):
        spec.parse(b"\x27\x10" + bytes(9_999))


def test_a_header_with_a_total_inside_of_another_total_is_read() -> None:
    spec = palaver.loads("""
<start> ::= <packet>+
<packet> ::= <head> <payload>
<head> ::= <version> <words> <total> <options>
<version> ::= 0 1 0 0
<words> ::= <bit>{4}
<total> ::= <bit>{24}
<options> ::= <byte>*
<payload> ::= <byte>*
where forall <h> in <head>: int(<h>.<words>) * 4 == len(bytes(<h>))
where forall <p> in <packet>: int(<p>.<head>.<total>) == len(bytes(<p>))
""")
    packet = b"\x42\0\0\x0dabcdhello"
    assert [bytes(each) for each in spec.parse(packet * 40).find_all_nodes("<payload>")] == [b"hello"] * 40


def test_a_number_of_items_in_a_part_is_read() -> None:
    spec = palaver.loads("""
<start> ::= <array>+
<array> ::= <n> <items>
<n> ::= <byte>
<items> ::= <item>*
<item> ::= <len> <data>
<len> ::= <byte>
<data> ::= <byte>*
where forall <a> in <array>: ord(bytes(<a>.<n>)) == len(*<a>.<items>.<item>)
where forall <i> in <item>: ord(bytes(<i>.<len>)) == len(bytes(<i>.<data>))
""")
    assert len(spec.parse(b"\x03\x01a\x00\x02cc" * 40).children) == 40


def test_bits_are_counted() -> None:
    text = RECORDS.partition("<len>   ::=")[0] + "<len> ::= <byte>\n<data> ::= <bit>*\n"
    spec = palaver.loads(text + "where forall <r> in <rec>: ord(bytes(<r>.<len>)) == len(<r>.<data>)\n")
    assert len(spec.parse(b"\x10he" * 40).children) == 40


@pytest.mark.parametrize("rounds", ["{1,2}", "{1,3}", "+"])
def test_a_part_without_its_field_may_have_any_length(rounds: str) -> None:
    spec = palaver.loads(
        f"<start> ::= <rec>+\n<rec> ::= <len>? <data>\n<data> ::= <c>{rounds}\n"
        '<len> ::= r"[0-3]"\n<c> ::= r"[ab]"\nwhere len(str(<data>)) == int(<len>)\n'
    )
    assert spec.bounded_rules.bounds
    assert by_bounded_matcher(spec, "aaaa", 0) == by_brute_force(spec, "aaaa")


@pytest.mark.parametrize(
    ("data", "more", "said"),
    [("<more>", "<c>*", "1ab"), ("<more>*", "<c>?", "1a"), ("<more>*", "<c>?", "2a"), ("<more>*", "<c> <c>?", "1ab")],
)
def test_children_are_counted_only_where_each_round_is_one(data: str, more: str, said: str) -> None:
    spec = palaver.loads(
        f"<start> ::= <rec>\n<rec> ::= <len> <data>\n<data> ::= {data}\n<more> ::= {more}\n"
        '<len> ::= r"[0-3]"\n<c> ::= r"[ab]"\nwhere forall <r> in <rec>: int(<r>.<len>) == len(<r>.<data>)\n'
    )
    assert by_bounded_matcher(spec, said, 0) == by_brute_force(spec, said)


def test_a_function_that_was_replaced_is_not_looked_into() -> None:
    text = RECORDS.partition("where")[0] + "def size(x):\n    return len(bytes(x))\nother = size\n"
    text += "def size(x):\n    return len(bytes(x)) if x else 0\ndef long(x):\n    return 7\nsize, long = long, size\n"
    spec = palaver.loads(text + "where forall <r> in <rec>: ord(bytes(<r>.<len>)) == size(<r>.<data>)\n")
    assert not spec.bounded_rules.bounds
    assert bytes(spec.parse(b"\x07hello")) == b"\x07hello"


@pytest.mark.parametrize("name", FORMS)
def test_many_forms_of_equations_are_understood(name: str) -> None:
    text, record = form(name)
    spec = palaver.loads(text)
    assert spec.bounded_rules.bounds
    assert len(spec.parse(record * 30).children) == 30
    with pytest.raises(Rejected):
        spec.parse(record * 2 + b"T")


@pytest.mark.parametrize(
    "condition",
    [
        "ord(bytes(<len>)) == len(bytes(<data>))",
        "all(ord(bytes(<r>.<len>)) == len(bytes(<r>.<data>)) for <r> in *<rec>)",
        "len(bytes(<rec>.<data>)) == ord(bytes(<rec>.<len>))",
    ],
)
def test_an_equation_needs_no_forall(condition: str) -> None:
    spec = palaver.loads(RECORDS.partition("where")[0] + f"where {condition}\n")
    assert spec.bounded_rules.bounds
    assert len(spec.parse(b"\x05hello" * 30).children) == 30


def test_a_total_length_without_forall_bounds_the_message() -> None:
    text = '<start> ::= <type> <len> <data> <rest>\n<type> ::= "T"\n<len> ::= r"[0-9]"\n<data> ::= r"[a-z]*"\n'
    spec = palaver.loads(text + '<rest> ::= r"[a-z]*"\nwhere int(<len>) == len(str(<start>))\n')
    assert spec.bounded_rules.bounds
    assert str(spec.parse("T5abc")) == "T5abc"


def test_code_that_looks_around_a_field_is_not_called_with_the_field_alone() -> None:
    text = NETSTRINGS.replace("int(<n>.<len>)", "int(str(<n>.<len>.parent.children[0]))")
    spec = palaver.loads(text)
    assert not spec.bounded_rules.bounds
    assert str(spec.parse("1:a,")) == "1:a,"


def test_a_field_that_is_no_number_is_reported_by_the_constraint() -> None:
    spec = palaver.loads(NETSTRINGS.replace('r"[0-9]+"', 'r"[0-9a-f]+"'))
    assert str(spec.parse("1:a,")) == "1:a,"
    with pytest.raises(Rejected, match="raised ConversionError"):
        spec.parse("a:b,")


def test_a_wrong_length_is_told_as_the_constraint_that_it_violates() -> None:
    with pytest.raises(Rejected, match=r"does not hold .*<n>.<len> = '3', <n>.<data> = 'ab'"):
        palaver.loads(NETSTRINGS).parse("3:ab,")


def test_bounds_of_the_grammar_hold_beside_those_of_constraints() -> None:
    spec = palaver.loads(RECORDS.replace("<data>  ::= <byte>*", "<data> ::= <byte>{2,3}"))
    assert len(spec.parse(b"\x02ab\x03abc").children) == 2
    for data in (b"\x01a", b"\x04abcd"):
        with pytest.raises(Rejected):
            spec.parse(data)


def test_solving_is_not_bounded_by_an_equation_that_does_not_hold_yet() -> None:
    spec = palaver.loads(RECORDS)
    assert len(list(spec.fuzz(20, seed=1))) == 20


def test_brute_force_finds_the_same_trees() -> None:
    comparison = Comparison(1).run(300)
    assert not comparison.wrong, comparison.wrong[0]
    assert comparison.bounded > 3
    assert comparison.accepted > 10


@pytest.mark.parametrize("data", ["00", "000", "1222", "1220", "12200"])
def test_a_length_that_is_rounded_leaves_more_than_one_place_for_the_end(data: str) -> None:
    text = "<start> ::= <rec>+\n<rec> ::= <len> <data>\n<len> ::= r'[0-3]'\n<data> ::= <c>*\n<c> ::= r'[0-2]'\n"
    spec = palaver.loads(text + "where forall <r> in <rec>: len(str(<r>.<data>)) // 2 == int(<r>.<len>)\n")
    expected = by_brute_force(spec, data)
    for cut in (0, 1):
        assert by_bounded_matcher(spec, data, cut) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(40), 13))
def test_brute_force_finds_the_same_trees_of_many_inputs(seed: int) -> None:
    comparison = Comparison(100 + seed).run(500)
    assert not comparison.wrong, comparison.wrong[0]


OPTIONS = """
<start> ::= <record>{1,40}
<record> ::= <kind> <size> <options> b"."
<kind> ::= rb"[a-z]{4}"
<size> ::= <byte>
<options> ::= (<key> b"=" <value> b";")*
<key> ::= rb"[a-z]+"
<value> ::= rb"[0-9]+"
where forall <r> in <record>: ord(bytes(<r>.<size>)) == len(bytes(<r>.<options>))
"""


def test_bounds_cost_nothing_where_input_has_only_one_derivation() -> None:
    spec = palaver.loads(OPTIONS)
    data = b"abcd\x08a=1;b=2;." * 20

    for bounded in (False, True):
        read_whole(spec, data, bounded=bounded)  # compiled now
    costs = {bounded: lines_run(partial(read_whole, spec, data, bounded=bounded)) for bounded in (False, True)}
    assert costs[True] < 1.2 * costs[False], costs
    assert read_whole(spec, data, bounded=True) == read_whole(spec, data, bounded=False)


def test_input_with_one_derivation_is_judged_by_the_constraint() -> None:
    spec = palaver.loads(OPTIONS)
    spec.parse(b"abcd\x08a=1;b=2;.")
    with pytest.raises(Rejected, match="ord"):
        spec.parse(b"abcd\x07a=1;b=2;.")


def read_whole(spec: palaver.Spec, data: bytes, *, bounded: bool) -> Node:
    matcher = spec.matcher("<start>", binary=True, whole=True, bounded=bounded)
    matcher.finish(data)
    return next(matcher.trees())


# A length of any number of bytes may end anywhere, and code says which of its ends is right.
LONG_LENGTHS = """
<start> ::= <tlv>+
<tlv> ::= <len> <value>
<len> ::= <byte>+
<value> ::= <byte>*
def ber(data):
    data = bytes(data)
    if data[0] < 128:
        return data[0] if len(data) == 1 else -1
    return int.from_bytes(data[1:], "big") if len(data) == 1 + (data[0] & 127) else -1
where forall <t> in <tlv>: ber(<t>.<len>) == len(bytes(<t>.<value>))
"""


def test_a_length_that_may_end_anywhere_does_not_take_any_amount_of_work() -> None:
    spec = palaver.loads(LONG_LENGTHS)
    record = b"\x05hello\x81\xc8" + b"a" * 200
    spec.parse(record * 2)
    with pytest.raises(Undecided, match="in too many ways"):
        spec.parse(record * 20)


def test_a_message_that_is_known_is_read_with_the_lengths_that_constraints_decide() -> None:
    spec = palaver.loads(
        '<start> ::= <Client:note>\n<note> ::= <size> ":" <topic> <text>\n<size> ::= r"[0-9]+"\n'
        '<topic> ::= r"[a-z]{1,90}"\n<text> ::= r"[a-z]*"\n'
        "where forall <n> in <note>: int(<n>.<size>) == len(str(<n>.<topic>))\n"
    )
    (node,) = spec.readings("<note>", b"3:abc" + b"d" * 200)
    assert [str(part) for part in palaver.Tree(node).find_subtrees("<topic>")] == ["abc"]
    assert len(list(spec.readings("<note>", b"9:abc"))) == 3  # a wrong length is one that no constraint decides
