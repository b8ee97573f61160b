"""A tree in expressions behaves as its value does."""

import copy
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import blobs, node, texts

from palaver.errors import ConversionError
from palaver.trees.node import Part
from palaver.trees.tree import Tree

Operation: TypeAlias = Callable[[Any, Any], Any]


def tree(*children: Part) -> Tree:
    return Tree(node("<x>", *children))


def bit_tree(number: int, width: int = 8) -> Tree:
    return Tree(node(f"<bits{width}>", *map(int, f"{number:0{width}b}")))


def outcome(call: Callable[[], object]) -> object:
    """The result or the exception of a call: equal calls must also fail equally."""
    try:
        return call()
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        return type(error)


def ask(value: object, method: str, argument: object) -> object:
    return getattr(value, method)(argument)


small = st.integers(0, 255)
comparisons = st.sampled_from([operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
arithmetic = st.sampled_from(
    [
        operator.add,
        operator.sub,
        operator.mod,
        operator.floordiv,
        operator.truediv,
        operator.lshift,
        operator.rshift,
        operator.xor,
        operator.and_,
        operator.or_,
        divmod,
    ]
)


@given(comparisons, texts, texts)
def test_a_text_compares_as_text(compare: Operation, one: str, other: str) -> None:
    assert compare(tree(one), other) == compare(one, other)
    assert compare(one, tree(other)) == compare(one, other)
    assert compare(tree(one), tree(other)) == compare(one, other)


@given(comparisons, blobs, blobs)
def test_bytes_compare_as_bytes(compare: Operation, one: bytes, other: bytes) -> None:
    assert compare(tree(one), other) == compare(one, other)
    assert compare(one, tree(other)) == compare(one, other)


@given(comparisons, small, small)
def test_bits_and_digits_compare_with_numbers_as_numbers(compare: Operation, one: int, other: int) -> None:
    for made in (bit_tree(one), tree(str(one)), tree(str(one).encode())):
        assert compare(made, other) == compare(one, other)
        assert compare(other, made) == compare(other, one)
    assert compare(bit_tree(one), bit_tree(other, width=12)) == compare(one, other)


@given(arithmetic, small, small)
def test_arithmetic_with_numbers_is_arithmetic_of_numbers(operation: Operation, one: int, other: int) -> None:
    expected = outcome(lambda: operation(one, other))
    for made in (bit_tree(one), tree(str(one))):
        assert outcome(partial(operation, made, other)) == expected
    for made in (bit_tree(other), tree(str(other))):
        assert outcome(partial(operation, one, made)) == expected
    assert outcome(lambda: operation(bit_tree(one), bit_tree(other))) == expected


UNARY: list[Callable[[Any], object]] = [
    *(operator.neg, operator.pos, operator.invert, abs, round, float, complex, int, hex),
    *(math.floor, math.ceil, math.trunc, operator.index, range),
]


@given(small)
def test_unary_operators_and_conversions_go_through_the_number(number: int) -> None:
    for made in (bit_tree(number), tree(str(number)), tree(str(number).encode())):
        for operation in UNARY:
            assert operation(made) == operation(number)
        assert (made**2, 2**made, pow(made, 2, 7)) == (number**2, 2**number, pow(number, 2, 7))
        assert made.bit_length() == number.bit_length()
        assert made.bit_count() == number.bit_count()


@given(texts, texts)
def test_text_is_added_from_both_sides(one: str, other: str) -> None:
    assert tree(one) + other == one + other
    assert one + tree(other) == one + other
    assert tree(one) + tree(other) == one + other
    assert tree(one) + other.encode() == one.encode() + other.encode()
    assert one.encode() + tree(other) == one.encode() + other.encode()


def test_multiplying_uses_the_trees_own_type() -> None:
    assert tree("4") * 2 == 2 * tree("4") == "44"
    assert tree(b"4") * 2 == b"44"
    assert bit_tree(4) * 2 == 2 * bit_tree(4) == 8
    assert bit_tree(4) * 1.5 == 6.0
    assert bit_tree(4) * tree("3") == 12
    assert "ab" * tree("3") == "ababab"
    assert [0] * bit_tree(3) == [0, 0, 0]


def test_between_trees_the_right_one_decides_the_type() -> None:
    assert tree("12") + bit_tree(1) == 13
    assert tree("12") + tree(b"3") == b"123"
    assert bit_tree(12) + tree(b"3") == b"\x0c3"
    assert tree("12") - tree("3") == 9
    assert tree("12") % tree("5") == 2


@given(texts | blobs, st.data())
def test_string_methods_agree_with_python(value: str | bytes, data: st.DataObject) -> None:
    made = tree(value)
    argument: Any = data.draw(texts if isinstance(value, str) else blobs)
    for name in ("capitalize", "isalnum", "isalpha", "isascii", "isdigit", "islower", "isspace", "istitle", "isupper"):
        assert getattr(made, name)() == getattr(value, name)()
    for name in ("lower", "split", "splitlines", "strip", "swapcase", "title", "upper", "expandtabs", "lstrip"):
        assert getattr(made, name)() == getattr(value, name)()
    for name in ("count", "endswith", "find", "index", "lstrip", "partition", "removeprefix", "removesuffix", "rfind"):
        assert outcome(partial(ask, made, name, argument)) == outcome(partial(ask, value, name, argument))
    for name in ("rindex", "rpartition", "rsplit", "rstrip", "split", "startswith", "strip"):
        assert outcome(partial(ask, made, name, argument)) == outcome(partial(ask, value, name, argument))
    for name in ("center", "ljust", "rjust", "zfill"):
        assert getattr(made, name)(8) == getattr(value, name)(8)
    assert (argument in made) == (argument in value)


def test_the_first_text_among_the_arguments_decides_the_type() -> None:
    assert tree("abc").startswith(b"a")
    assert tree(b"abc").startswith("a")
    assert tree(b"abc").startswith(("x", "a"))
    assert tree("abc").startswith(tree(b"a"))
    assert tree(b"a,b").split(",") == ["a", "b"]
    assert tree(b"a,b").split(sep=",") == ["a", "b"]
    assert tree(b"ab").center(4, "*") == "*ab*"
    assert tree("ab").center(tree("4")) == " ab "
    assert tree("abc").find("c", 1) == 2
    assert bit_tree(65).startswith("A")


def test_methods_of_one_type_use_that_type() -> None:
    assert tree(b"AB").casefold() == "ab"
    assert tree("{}!").format("hi") == "hi!"
    assert tree("12").hex() == "3132"
    assert tree(b"12").isdecimal()


def test_bits_have_no_letters() -> None:
    with pytest.raises(AttributeError, match=r"str\(tree\)\.upper"):
        bit_tree(65).upper()


def test_containment_is_that_of_text_or_bytes() -> None:
    assert "b" in tree("abc")
    assert b"b" in tree("abc")
    assert tree("b") in tree("abc")
    assert tree(b"b") in tree("abc")
    assert bit_tree(98) in tree("abc")
    assert "x" not in tree("abc")
    with pytest.raises(TypeError):
        assert 1 in tree("abc")


def test_a_tree_is_found_in_tuples_and_sets_of_text() -> None:
    assert tree("a") in ("a", "b")
    assert tree("a") in {"a", "b"}
    assert bit_tree(3) in {1, 2, 3}
    assert tree("c") not in {"a", "b"}


def test_formatting_is_formatting_of_the_text_and_of_bits_as_a_number() -> None:
    assert f"{tree('ab')}" == "ab"
    assert f"{tree('ab'):>4}" == "  ab"
    assert f"{bit_tree(5):04b}" == "0101"
    assert "%s" % tree("ab") == "ab"  # noqa: UP031 - old formatting is what is tried
    assert "%d" % tree("12") == "12"  # noqa: UP031


def test_a_number_indexes() -> None:
    assert "abc"[bit_tree(1)] == "b"
    assert "abc"[tree("1") :] == "bc"


def test_bytes_equal_text_by_latin_1_or_by_utf_8() -> None:
    assert tree(b"\xe9") == "é"
    assert tree("é".encode()) == "é"
    assert tree(b"\xe9") != "è"
    assert tree("é") == "é".encode()
    assert tree("é", b"") == "é"
    assert tree(b"\xff") != "\ud800"


def test_an_impossible_conversion_raises() -> None:
    with pytest.raises(ConversionError):
        assert tree("12y") == 12
    with pytest.raises(ConversionError):
        assert tree(1, 0, 1) == "x"
    with pytest.raises(ConversionError):
        float(tree("3.5"))


@pytest.mark.parametrize("other", [None, 1.5, [], object()])
def test_comparing_with_something_else_is_a_type_error(other: Any) -> None:
    with pytest.raises(TypeError, match="<x> compares with text"):
        assert tree("x") == other
    with pytest.raises(TypeError, match="<x> compares with text"):
        assert tree("x") != other
    with pytest.raises(TypeError):
        assert tree("x") < other
    with pytest.raises(TypeError):
        tree("x") + other
    with pytest.raises(TypeError):
        other - tree("x")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("encode", "bytes\\(tree\\)"),
        ("decode", "str\\(tree\\)"),
        ("join", "str\\(tree\\).join"),
        ("startwith", "'startswith'"),
        ("childrn", "'children'"),
        ("xyzzy", "has no attribute 'xyzzy'$"),
    ],
)
def test_an_unknown_attribute_raises_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(tree("x"), name)
    assert not hasattr(tree("x"), name)


def test_copies_are_the_tree_itself() -> None:
    made = tree("x")
    assert copy.copy(made) is copy.deepcopy(made) is made.deepcopy() is made
