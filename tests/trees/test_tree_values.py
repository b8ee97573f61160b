"""The value of a part as text, bytes, bits and number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import (
    aligned_parts,
    bit_parts,
    bits,
    byte_parts,
    deep,
    naive_bytes,
    naive_leaves,
    node,
    parts,
    text_parts,
)

from palaver.errors import ConversionError
from palaver.trees.node import Node, Part
from palaver.trees.tree import Tree
from palaver.trees.values import (
    TreeValue,
    ValueType,
    equal_parts,
    equal_values,
    hash_of,
    is_truthy,
    kind_of,
    leaves_of,
    to_bits,
    to_bytes,
    to_int,
    to_text,
    value_of,
)


@given(parts)
def test_leaves_come_from_left_to_right(part: Node) -> None:
    assert leaves_of(part) == naive_leaves(part)


@given(parts | aligned_parts)
def test_bytes_are_what_the_definition_says(part: Node) -> None:
    expected = naive_bytes(part)
    if expected is None:
        with pytest.raises(ConversionError):
            to_bytes(part)
    else:
        assert to_bytes(part) == expected


@given(parts | aligned_parts)
def test_text_is_the_text_or_the_bytes_as_latin_1(part: Node) -> None:
    data = naive_bytes(part)
    if kind_of(part) in (ValueType.TEXT, ValueType.EMPTY):
        assert to_text(part) == "".join(map(str, naive_leaves(part)))
    elif data is not None:
        assert to_text(part) == data.decode("latin-1")
    else:
        with pytest.raises(ConversionError):
            to_text(part)


@given(parts | aligned_parts)
def test_bits_of_whole_bytes_are_the_bits_of_the_bytes(part: Node) -> None:
    data = naive_bytes(part)
    if data is not None:
        assert to_bits(part) == "".join(f"{byte:08b}" for byte in data)


@given(st.lists(bits, min_size=1, max_size=40))
def test_bits_are_an_unsigned_number_of_any_width(row: list[int]) -> None:
    part = node("<bits>", *row)
    assert to_int(part) == int("".join(map(str, row)), 2) == value_of(part)
    assert to_bits(part) == "".join(map(str, row))


@given(st.integers())
def test_text_and_bytes_are_numbers_by_their_digits(number: int) -> None:
    assert to_int(node("<n>", str(number))) == number
    assert to_int(node("<n>", str(number).encode())) == number


def test_bits_before_bytes_and_text_are_packed() -> None:
    part = node("<start>", 0, 1, 0, 0, 0, 0, 0, 1, b"\xfe", "z")
    assert to_bytes(part) == b"A\xfez"
    assert to_text(part) == "A\xfez"
    assert kind_of(part) is ValueType.BYTES


def test_bits_go_on_behind_an_empty_leaf() -> None:
    assert to_bytes(node("<a>", 0, 1, 0, 0, "", 0, 0, b"", 0, 1)) == b"A"


def test_three_bits_are_no_bytes() -> None:
    with pytest.raises(ConversionError, match="<flags> has a run of 3 bits"):
        to_bytes(node("<flags>", 1, 0, 1))
    with pytest.raises(ConversionError):
        to_text(node("<flags>", 1, 0, 1, "x", 0, 0, 0, 0, 0))


@pytest.mark.parametrize("part", [node("<x>", "12y"), node("<x>", ""), node("<x>", b"\x0c"), node("<x>", "9" * 5000)])
def test_text_that_int_does_not_read_is_no_number(part: Node) -> None:
    with pytest.raises(ConversionError, match=r"<x> is .*int"):
        to_int(part)


def test_nothing_is_empty_in_every_type() -> None:
    part = node("<nothing>", node("<less>"))
    assert kind_of(part) is ValueType.EMPTY
    assert (to_text(part), to_bytes(part), to_int(part), to_bits(part), value_of(part)) == ("", b"", 0, "", "")


def test_stray_bytes_in_text_become_the_bytes_they_were() -> None:
    assert to_bytes(node("<a>", b"caf\xe9".decode("utf-8", "surrogateescape"))) == b"caf\xe9"


def test_text_that_no_encoding_has_is_not_converted_but_compared_and_shown() -> None:
    part = node("<a>", "\ud800")
    with pytest.raises(ConversionError, match="utf-8"):
        to_bytes(part)
    assert Tree(part) == "\ud800"
    assert Tree(part) == Tree(node("<b>", "\ud800"))
    assert hash(Tree(part)) == hash(Tree(node("<b>", "\ud800")))


@pytest.mark.parametrize(
    ("part", "truth"),
    [
        (node("<a>", 0, 0), False),
        (node("<a>", 0, 1), True),
        (node("<a>"), False),
        (node("<a>", ""), False),
        (node("<a>", b""), False),
        (node("<a>", "0"), True),
        (node("<a>", b"\0"), True),
        (node("<a>", 0, 0, "x"), True),
        (node("<a>", "", 0), True),
    ],
)
def test_truth_is_the_truth_of_the_value(part: Node, truth: bool) -> None:
    assert is_truthy(part) is truth
    assert bool(Tree(part)) is truth
    assert bool(TreeValue(part)) is truth


@given(text_parts | byte_parts | bit_parts)
def test_truth_agrees_with_python(part: Node) -> None:
    assert is_truthy(part) == bool(value_of(part))


@given(parts, parts)
def test_equal_parts_have_equal_hashes(one: Node, other: Node) -> None:
    if equal_parts(one, other):
        assert hash_of(one) == hash_of(other)
    assert equal_parts(one, other) == equal_parts(other, one)
    assert equal_parts(one, one)


@given(text_parts, text_parts)
def test_values_of_texts_are_equal_as_texts_are(one: Node, other: Node) -> None:
    assert equal_values(one, other) == (to_text(one) == to_text(other))


@given(text_parts)
def test_the_same_content_as_text_and_as_bytes_is_equal(part: Part) -> None:
    def in_bytes(part: Part) -> Part:
        if not isinstance(part, Node):
            assert isinstance(part, str)
            return part.encode()
        return part._replace(children=tuple(in_bytes(child) for child in part.children))

    heard = in_bytes(part)
    assert equal_parts(part, heard)
    assert equal_parts(heard, part)
    assert hash_of(part) == hash_of(heard)


def test_bits_are_equal_by_number_and_never_equal_to_text() -> None:
    assert equal_values(node("<a>", 1, 1), node("<b>", 0, 0, 1, 1))
    assert not equal_values(node("<a>", 0, 1, 0, 0, 0, 0, 0, 1), node("<b>", "A"))


def test_a_value_compares_by_value_whatever_made_it() -> None:
    value = Tree(node("<a>", node("<b>", "ab"))).value()
    assert value == Tree(node("<c>", "a", b"b")).value()
    assert value == "ab"
    assert value == b"ab"
    assert value != "abc"
    assert Tree(node("<c>", "ab")) == value
    assert value == Tree(node("<c>", "ab"))
    assert hash(value) == hash("ab")
    assert (str(value), bytes(value), repr(value)) == ("ab", b"ab", "'ab'")


def test_a_value_tells_its_type_under_the_names_of_the_reference() -> None:
    value = Tree(node("<a>", 1, 0)).value()
    assert value.type_ is ValueType.TRAILING_BITS_ONLY
    assert value.type_.name == "BITS"
    assert value.trailing_bits == (1, 0)
    assert (int(value), value + 1, repr(value)) == (2, 3, "10")
    assert Tree(node("<a>", "x")).value().type_ is ValueType.STRING
    assert Tree(node("<a>", "x")).value().trailing_bits is None
    assert Tree(node("<a>")).value().is_type(ValueType.EMPTY)
    assert repr(TreeValue(node("<a>", "x", 1))) == "011110001"


def test_a_deep_part_has_a_value() -> None:
    assert to_bytes(deep()) == b"x" * 20_000
    assert to_int(deep(leaf=1)) == 2**20_000 - 1
    assert equal_parts(deep(), deep())
    assert hash_of(deep()) == hash("x" * 20_000)
