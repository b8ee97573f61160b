"""Lazy nodes are nodes to everyone, and make their children only for those who look."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable, Iterator, KeysView
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_strategies import aligned_parts, bit_parts, bits, byte_parts, deep, node, octets, parts, text_parts

import palaver
from amounts import examples
from palaver.errors import ConversionError
from palaver.trees.lazy import LazyNode, unexpanded_data, without_lazy_nodes
from palaver.trees.node import Node, NonTerminal, OpenNode, Part, Parties, new, part_at, replace_at, same_structure
from palaver.trees.tree import Tree
from palaver.trees.values import (
    TreeValue,
    ValueType,
    equal_parts,
    kind_of,
    leaves_of,
    serialise,
    to_bytes,
    to_int,
    to_text,
)

# Bits that fill bytes together with the bits around them, or alone.
bit_runs = st.lists(octets | bits, min_size=1, max_size=12).map(lambda made: node("<bits>", *made))
mixtures = st.lists(aligned_parts | text_parts | bit_runs, max_size=3).map(lambda made: node("<mixture>", *made))
anything = text_parts | byte_parts | bit_parts | bit_runs | aligned_parts | parts | mixtures


def lazy(symbol: str, data: str | bytes, expand: Callable[[Any], tuple[Part, ...]], *sources: Node) -> LazyNode:
    return new(LazyNode, (NonTerminal(symbol), (data, expand), sources, None))


def forbidden(data: str | bytes) -> tuple[Part, ...]:
    raise AssertionError(f"somebody looked into {data!r}")


def letters(data: str) -> tuple[Part, ...]:
    return tuple(node("<letter>", letter) for letter in data)


def bits_of(data: bytes) -> tuple[Part, ...]:
    return tuple(node("<bit>", byte >> place & 1) for byte in data for place in reversed(range(8)))


def made_lazy(
    part: Part, is_lazy: Iterator[bool], expanding: Callable[[tuple[Part, ...]], Callable[[Any], tuple[Part, ...]]]
) -> Part:
    """A twin of `part` in which some of the nodes that can be lazy are."""
    if not isinstance(part, Node):
        return part
    children = tuple(made_lazy(child, is_lazy, expanding) for child in part.children)
    sources = tuple(made_lazy(source, is_lazy, expanding) for source in part.sources)
    try:
        data = serialise(part)
    except ConversionError:
        data = b""
    if data and next(is_lazy):
        return new(LazyNode, (part.symbol, (data, expanding(children)), sources, part.parties))
    return new(Node, (part.symbol, children, sources, part.parties))


def choices(number: int) -> Iterator[bool]:
    """An endless row of yes and no, the same for the same number."""
    while True:
        number = (number * 1103515245 + 12345) % 2**31
        yield bool(number >> 16 & 1)


def twin_of(part: Part, number: int) -> Part:
    return made_lazy(part, choices(number), lambda children: lambda _: children)


def sealed_twin_of(part: Part, number: int) -> Part:
    """A twin whose lazy nodes must not be looked into."""
    return made_lazy(part, choices(number), lambda _: forbidden)


def outcome(question: Callable[[], Any]) -> Any:
    """The result or the exception of a call, in a form that compares with ==."""
    try:
        return told(question())
    except Exception as error:
        return type(error), str(error)


def told(result: Any) -> Any:
    if isinstance(result, Tree):
        return "tree", result.path, without_lazy_nodes(result.node), repr(result)
    if isinstance(result, TreeValue):
        return "value", repr(result)
    if isinstance(result, Node):
        return "node", without_lazy_nodes(result)
    if isinstance(result, list | tuple | Iterator | KeysView):
        return [told(each) for each in result]
    return type(result), result


# --- Nobody can tell --------------------------------------------------------------------------------------------------

NAMES = [name for name in dir(Tree) if not name.startswith("_")]
VALUE_NAMES = [name for name in dir(TreeValue) if not name.startswith("_")]
OTHERS = ["", "a", "0", "é", b"", b"a", b"\xff", 0, 1, 10, None, 1.5]
ARGUMENTS: list[tuple[Any, ...]] = [
    (),
    *((other,) for other in OTHERS),
    ("<a>",),
    ("utf-16",),
    ("a", "b"),
    (0, 2),
    ([0],),
]
OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.eq,
    operator.ne,
    operator.lt,
    operator.ge,
    operator.add,
    operator.sub,
    operator.mul,
    operator.mod,
    operator.and_,
    operator.xor,
    operator.contains,
    operator.getitem,
    lambda one, other: other == one,
    lambda one, other: other + one,
]
FUNCTIONS: list[Callable[[Any], Any]] = [
    str,
    bytes,
    int,
    float,
    bool,
    hash,
    repr,
    len,
    list,
    operator.index,
    operator.neg,
    lambda tree: f"{tree}",
    lambda tree: tree[0],
    lambda tree: tree[0:2],
    lambda tree: tree[1:].to_tree(),
    lambda tree: tree.replaced([0], "new"),
    lambda tree: tree in {"a", b"b", 1},
]


def ask(question: Any, tree: Tree, other: Tree) -> Any:
    match question:
        case (str() as name, arguments):
            found = getattr(tree, name)
            return found(*arguments) if callable(found) else found
        case ("value", str() as name, arguments):
            found = getattr(tree.value(), name)
            return found(*arguments) if callable(found) else found
        case (operation, "other"):
            return operation(tree, other)
        case (operation, operand):
            return operation(tree, operand)
        case function:
            return function(tree)


questions = st.one_of(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(ARGUMENTS)),
    st.tuples(st.just("value"), st.sampled_from(VALUE_NAMES), st.sampled_from(ARGUMENTS)),
    st.tuples(st.sampled_from(OPERATORS), st.sampled_from([*OTHERS, "other"])),
    st.sampled_from(FUNCTIONS),
)


@settings(max_examples=examples(120))
@given(anything, anything, st.integers(0, 999), st.lists(questions, min_size=1, max_size=8))
def test_a_tree_with_lazy_nodes_answers_every_question_as_its_plain_twin_does(
    part: Node, other_part: Node, number: int, asked: list[Any]
) -> None:
    tree, twin = Tree(part), Tree(twin_of(part, number))
    other, other_twin = Tree(other_part), Tree(twin_of(other_part, number))
    for question in asked:
        expected = outcome(partial(ask, question, tree, other))
        assert outcome(partial(ask, question, twin, other_twin)) == expected
        assert outcome(partial(ask, question, twin, other)) == expected
        assert outcome(partial(ask, question, tree, other_twin)) == expected


NODE_QUESTIONS: list[Callable[[Any], Any]] = [
    lambda one: one.symbol,
    lambda one: one.children,
    lambda one: one.sources,
    lambda one: one.parties,
    hash,
    repr,
    str,
    len,
    tuple,
    list,
    lambda one: [*one],
    lambda one: list(reversed(one)),
    lambda one: one[1],
    lambda one: one[-3],
    lambda one: one[1:3],
    lambda one: one[9],
    lambda one: (lambda symbol, children, sources, parties: children)(*one),
    lambda one: one._asdict(),
    lambda one: one._replace(children=("new",)),
    lambda one: one._replace(parties=Parties("A")),
    lambda one: one._replace(symbol=NonTerminal("<new>"), sources=()),
    lambda one: one._replace(colour="red"),
    lambda one: type(one)._make(one),
    lambda one: type(one)(*one),
    lambda one: new(Node, one),
    lambda one: pickle.loads(pickle.dumps(one)),
    copy.copy,
    copy.deepcopy,
    lambda one: one.index(one.children),
    lambda one: one.count(()),
    lambda one: one.children in one,
    lambda one: operator.add(one, (1,)),
    lambda one: operator.add((1,), one),
    lambda one: one * 2,
    lambda one: one < one._replace(symbol=NonTerminal("<z>")),
    lambda one: one == one.symbol,
    lambda one: one.__match_args__,
    lambda one: isinstance(one, Node) and not isinstance(one, OpenNode),
    lambda one: part_at(one, [0]),
    lambda one: replace_at(one, [0], "new"),
    leaves_of,
]


VALUE_QUESTIONS: list[Callable[[Tree], Any]] = [
    str,
    bytes,
    int,
    bool,
    hash,
    lambda tree: tree.serialised(),
    lambda tree: tree.to_bits(),
    lambda tree: tree.to_bytes("utf-16"),
    lambda tree: tree.to_bytes("latin-1"),
    lambda tree: tree.to_string("utf-8"),
    lambda tree: tree.to_value(),
    lambda tree: tree.to_grammar(),
    lambda tree: tree * 2,
    lambda tree: tree.value(),
    lambda tree: tree.value().type_,
    lambda tree: tree.value().trailing_bits,
    lambda tree: tree.contains_bits(),
    lambda tree: tree.contains_bytes(),
    lambda tree: tree == str(tree),
    lambda tree: tree == bytes(tree),
    lambda tree: tree == int.from_bytes(bytes(tree), "big"),
]


@given(anything, st.integers(0, 999))
def test_a_tree_with_lazy_nodes_has_the_value_of_its_plain_twin(part: Node, number: int) -> None:
    for question in VALUE_QUESTIONS:
        expected = outcome(partial(question, Tree(part)))
        assert outcome(partial(question, Tree(twin_of(part, number)))) == expected


@given(anything, st.integers(0, 999))
def test_a_node_with_lazy_nodes_does_what_its_plain_twin_does(part: Node, number: int) -> None:
    for question in NODE_QUESTIONS:
        assert outcome(partial(question, twin_of(part, number))) == outcome(partial(question, part))


@given(anything, anything, st.integers(0, 999))
def test_lazy_nodes_equal_what_their_plain_twins_equal(one: Node, other: Node, number: int) -> None:
    for right in (one, other):
        is_equal = one == right
        twin, right_twin = twin_of(one, number), twin_of(right, number + 1)
        assert (twin == right, one == right_twin, twin == right_twin) == (is_equal,) * 3
        assert (twin != right, one != right_twin, twin != right_twin) == (not is_equal,) * 3
        assert (tuple(one) == twin, [(0, twin)] == [(0, right)], {one: 1} == {right_twin: 1}) == (
            True,
            is_equal,
            is_equal,
        )
        assert same_structure(twin, right) == same_structure(one, right) == same_structure(one, right_twin)
        assert equal_parts(twin, right_twin) == equal_parts(one, right)


def test_lazy_nodes_cannot_be_changed() -> None:
    word = lazy("<word>", "abc", letters)
    for name in ("children", "symbol", "colour"):
        with pytest.raises(AttributeError, match=f"nodes never change: {name}"):
            setattr(word, name, ())
    with pytest.raises(AttributeError):
        del word.children


def test_a_node_beside_an_open_one_may_be_lazy() -> None:
    open_node = OpenNode(NonTerminal("<start>"), (lazy("<word>", "ab", letters),))
    plain_node = OpenNode(NonTerminal("<start>"), (node("<word>", *letters("ab")),))
    assert open_node == plain_node
    assert hash(open_node) == hash(plain_node)
    assert isinstance(without_lazy_nodes(open_node), OpenNode)
    assert serialise(open_node) == "ab"


# --- Nobody looks without need ----------------------------------------------------------------------------------------


@given(aligned_parts | text_parts | byte_parts, st.integers(0, 999))
def test_serialising_does_not_make_children(part: Node, number: int) -> None:
    sealed, tree = sealed_twin_of(part, number), Tree(part)
    text, data = str(tree), bytes(tree)
    assert (serialise(sealed), to_text(sealed), to_bytes(sealed)) == (serialise(part), text, data)
    view = Tree(sealed)
    assert (str(view), bytes(view), view.serialised()) == (text, data, tree.serialised())
    assert (view.to_string("latin-1"), view.to_bytes("utf-8")) == (text, data)
    assert view.value().to_bytes() == data
    assert view == text
    assert view == data
    assert view.should_be_serialized_to_bytes() == tree.should_be_serialized_to_bytes()
    assert view.startswith(text[:1])
    assert data[:1] in view


@given(text_parts, st.integers(0, 999))
def test_nothing_that_is_asked_about_the_value_of_text_makes_children(part: Node, number: int) -> None:
    view, tree = Tree(sealed_twin_of(part, number)), Tree(part)
    assert hash(view) == hash(tree)
    assert bool(view) == bool(tree)
    assert outcome(lambda: int(view)) == outcome(lambda: int(tree))
    assert view.value() == tree.value()
    assert view.value().type_ is tree.value().type_
    assert view.to_bytes("utf-16") == tree.to_bytes("utf-16")


def test_children_are_made_once_and_only_when_asked_for() -> None:
    calls = []

    def noted(data: str) -> tuple[Part, ...]:
        calls.append(data)
        return letters(data)

    word = lazy("<word>", "ab", noted)
    assert unexpanded_data(word) == "ab"
    assert str(Tree(word)) == "ab"
    assert calls == []
    assert word.children is word.children
    assert [str(child) for child in Tree(word)] == ["a", "b"]
    assert calls == ["ab"]
    assert unexpanded_data(word) is None
    assert unexpanded_data(node("<word>", "ab")) is unexpanded_data("ab") is None


def test_a_child_beside_a_lazy_node_is_found_and_replaced_without_looking_into_it() -> None:
    start = node("<start>", node("<head>", "h"), lazy("<body>", "abc", forbidden))
    assert str(Tree(start)[0]) == "h"
    assert str(Tree(start).replaced([0, 0], "new")) == "newabc"
    body = start.children[1]
    assert isinstance(body, Node)
    assert serialise(body._replace(parties=Parties("A"))) == "abc"


def test_equal_words_by_the_same_rule_are_equal_without_looking() -> None:
    one, other = lazy("<word>", "ab", forbidden), lazy("<word>", "ab", forbidden)
    assert one == other
    assert Tree(one) == Tree(other)
    assert one != lazy("<word>", "ba", forbidden)
    assert one != lazy("<name>", "ab", forbidden)
    assert Tree(one) == Tree(lazy("<name>", "ab", forbidden))


def test_constraints_and_sources_look_only_where_they_must() -> None:
    spec = palaver.loads(
        "<start> ::= <head> <body>\n"
        "<head> ::= <digit> <coded>\n"
        "<digit> ::= '1' | '2'\n"
        "<coded> ::= 'x' := code(<clear>)\n"
        "<clear> ::= 'y' := clear(<coded>)\n"
        "<body> ::= <letter>+\n"
        "<letter> ::= 'a' | 'b'\n"
        "def code(clear): return 'x'\n"
        "def clear(coded): return 'y'\n"
        "where <digit> == '1'\n"
        "where <clear> == 'y'\n"
        "where str(<body>).startswith('ab')\n"
        "where <body> == 'wrong'\n"
    )
    head = lazy("<head>", "1x", lambda _: (node("<digit>", "1"), node("<coded>", "x")))
    tree = Tree(spec.sources.recover(node("<start>", head, lazy("<body>", "abab", forbidden))))
    assert [str(source) for source in tree[0][1].sources] == ["y"]
    *failures, last = [check.failure(tree) for check in spec.checks]
    assert failures == [None, None, None]
    assert last is not None
    assert last.describe() == "<body> == 'wrong' does not hold (<body> = 'abab')"


# --- Bits -------------------------------------------------------------------------------------------------------------


def test_a_lazy_node_of_bits_is_a_number() -> None:
    field = lazy("<field>", b"\x01\x02", bits_of)
    assert kind_of(field) is ValueType.BITS
    assert to_int(field) == 258
    assert Tree(field) == 258
    assert Tree(field) == Tree(node("<other>", *bits_of(b"\x01\x02")))
    assert not Tree(lazy("<field>", b"\x00", bits_of))
    assert bytes(Tree(field)) == b"\x01\x02"


def test_bits_around_a_lazy_node_of_bits_are_one_run_with_it() -> None:
    whole = node("<whole>", 0, 0, 0, 1, lazy("<field>", b"\x23", bits_of), 0, 1, 0, 0)
    assert serialise(node("<start>", "a", whole)) == b"a\x12\x34"
    assert to_int(whole) == 0x1234
    with pytest.raises(ConversionError, match="a run of 9 bits"):
        serialise(node("<start>", "a", 0, lazy("<field>", b"\x23", bits_of)))


def test_bytes_beside_a_lazy_node_are_read_as_digits() -> None:
    assert to_int(node("<number>", b"1", lazy("<rest>", b"2", lambda data: (data,)))) == 12


# --- Depth ------------------------------------------------------------------------------------------------------------


def nested(levels: int) -> LazyNode:
    """The lazy twin of `deep`: every level is made when the one above is looked into."""
    return lazy("<deep>", "x" * levels, lambda data: (data,) if levels == 1 else ("x", nested(len(data) - 1)))


def test_deep_lazy_nodes_are_as_good_as_deep_plain_ones() -> None:
    levels = 2_000
    tree = nested(levels)
    assert serialise(tree) == "x" * levels
    assert hash(tree) == hash(deep(levels))
    assert len(leaves_of(tree)) == levels
    assert same_structure(without_lazy_nodes(tree), deep(levels))


def test_comparing_lazy_nodes_goes_no_deeper_than_comparing_plain_ones() -> None:
    levels = 200
    assert deep(levels) == nested(levels)
    assert nested(levels) == deep(levels)
    assert nested(levels) == nested(levels)
