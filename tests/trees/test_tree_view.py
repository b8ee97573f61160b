"""A tree as spec authors see it: structure, search, equality, messages."""

import operator
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import deep, naive_leaves, node, parts, text_parts

from palaver.trees.node import Nested, Node, NonTerminal, Parties
from palaver.trees.tree import DerivationTree, Terminal, Tree
from palaver.trees.values import TreeValue

SOURCE = node("<n>", "12")
PART = node("<start>", node("<a>", node("<n>", "12"), "y", sources=(SOURCE,)), node("<b>", 0, 1), b"q")


@pytest.fixture
def tree() -> Tree:
    return Tree(PART)


def names(trees: Iterable[Tree]) -> list[str]:
    return [str(tree.symbol) for tree in trees]


def test_children_are_views_that_stay_the_same(tree: Tree) -> None:
    assert tree.children is tree.children
    assert tree.children[0] is tree[0] is next(iter(tree))
    assert names(tree) == ["<a>", "<b>", "b'q'"]
    assert len(tree) == 3
    assert tree[-1].node == b"q"
    assert tree[0].parent is tree
    assert list(reversed(tree)) == tree.children[::-1]


def test_properties_of_the_manual_can_also_be_called(tree: Tree) -> None:
    assert tree.children() is tree.children
    assert tree[0].sources() is tree[0].sources
    assert tree.is_non_terminal
    assert tree.is_non_terminal() is True
    assert not tree.is_terminal
    assert tree.is_terminal() is False
    assert tree[2].is_terminal() is True
    assert f"{tree.is_terminal}" == repr(tree.is_terminal) == "False"


def test_symbols_are_names_or_the_leaf_itself(tree: Any) -> None:
    assert tree.symbol == tree.nonterminal == NonTerminal("<start>") == "<start>"
    assert tree.symbol.name() == "<start>"
    leaf = tree[2]
    assert leaf.symbol == leaf.terminal == Terminal(b"q") != Terminal("q")
    assert hash(leaf.symbol) == hash(Terminal(b"q"))
    assert leaf.symbol.name() == leaf.symbol.format_as_spec() == str(leaf.symbol) == "b'q'"
    assert leaf.symbol.value() == b"q"
    assert leaf.symbol.is_terminal
    assert leaf.symbol.is_terminal()
    assert not leaf.symbol.is_non_terminal
    assert repr(leaf.symbol) == "Terminal(b'q')"
    with pytest.raises(TypeError, match="b'q' is a terminal"):
        _ = leaf.nonterminal
    with pytest.raises(TypeError, match="<start> is a nonterminal"):
        _ = tree.terminal


def test_leaves_have_nothing_below_and_nothing_special(tree: Tree) -> None:
    leaf = tree[2]
    assert leaf.children == leaf.sources == []
    assert len(leaf) == 0
    assert leaf.size() == leaf.count_terminals() == 1
    assert leaf.sender is leaf.recipient is None
    assert leaf.flattened() == [leaf]
    assert leaf.descendants() == []


@given(parts)
def test_sizes_count_nodes_and_leaves(part: Node) -> None:
    tree = Tree(part)
    assert tree.size() == len(tree.flattened()) == 1 + len(tree.descendants()) == 1 + sum(map(Tree.size, tree))
    assert tree.count_terminals() == len(naive_leaves(part))
    assert len(tree.descendant_values()) == tree.size() - 1


def test_paths_lead_from_the_root(tree: Tree) -> None:
    inner = tree[0][0][0]
    assert inner.get_root() is tree
    assert names(inner.get_path()) == ["<start>", "<a>", "<n>", "'12'"]
    assert inner.path == (0, 0, 0)
    assert tree.get_path() == [tree]
    source = tree[0].sources[0]
    assert source.parent is tree[0]
    assert source.path == (0, -1)
    assert source.get_root() is tree


def test_an_index_is_a_position(tree: Any) -> None:
    with pytest.raises(IndexError, match="<start> has no child 9, only 3"):
        _ = tree[9]
    for where in ((0, 1), "<a>", 1.5, None):
        with pytest.raises(TypeError, match="indexed by position"):
            _ = tree[where]
    assert tree[Tree(node("<i>", "1"))] is tree[1]


@given(parts, st.slices(5))
def test_a_slice_is_the_slice_of_the_children(part: Node, where: slice) -> None:
    tree = Tree(part)
    cut = tree[where]
    assert [child.node for child in cut] == list(part.children[where])
    assert all(child.parent is tree for child in cut)
    assert cut.parent is None


@given(text_parts, st.slices(5))
def test_a_slice_compares_with_text_and_by_value(part: Node, where: slice) -> None:
    cut = Tree(part)[where]
    text = "".join("".join(map(str, naive_leaves(child))) for child in part.children[where])
    assert cut == text == str(cut)
    assert cut == Tree(text)
    assert cut == Tree(node("<x>", node("<y>", text)))[:]


def test_searching_goes_breadth_first_through_sources_too(tree: Tree) -> None:
    found = list(tree.find_subtrees("<n>"))
    assert found == [tree[0][0], tree[0].sources[0]]
    assert [place.path for place in found] == [(0, 0), (0, -1)]
    assert next(tree.find_subtrees("<start>")) is tree
    nested = Tree(node("<a>", node("<b>", node("<a>", "1")), node("<a>", "2")))
    assert [place.path for place in nested.find_subtrees("a")] == [(), (1,), (0, 0)]


@pytest.mark.parametrize("symbol", ["<n>", "n", NonTerminal("<n>")])
def test_a_symbol_is_named_with_or_without_brackets(tree: Tree, symbol: str) -> None:
    assert len(list(tree.find_subtrees(symbol))) == 2
    assert len(tree.find_all_trees(symbol)) == 2
    assert len(tree.find_all_nodes(symbol, exclude_read_only=False)) == len(tree.find_all_nodes(symbol)) == 2
    assert [place.path for place in tree[0].find_direct_trees(symbol)] == [(0, 0), (0, -1)]
    assert tree.find_direct_trees(symbol) == []


def test_positions_in_the_flattened_tree(tree: Tree) -> None:
    assert names(tree.flattened()) == ["<start>", "<a>", "<n>", "'12'", "'y'", "<b>", "0", "1", "b'q'"]
    assert [tree.get_index(place) for place in tree.flattened()] == list(range(9))
    assert tree.get_index(Tree(node("<b>", 0, 1))) == 5
    assert tree.get_index(Tree("nowhere")) == -1
    assert tree.get_non_terminal_symbols() == {"<start>", "<a>", "<n>", "<b>"}
    assert list(tree.get_non_terminal_symbols()) == ["<start>", "<a>", "<n>", "<b>"]


def test_values_of_the_parts(tree: Tree) -> None:
    assert tree[0].children_values() == ["12", "y"]
    assert tree[0].descendant_values() == ["12", "12", "y"]
    assert isinstance(tree[0].value(), TreeValue)
    assert (tree[0].to_string(), tree[0].to_bytes(), tree[1].to_int(), tree[1].to_bits()) == ("12y", b"12y", 1, "01")
    assert Tree(b"\xc3\xa9").to_string(encoding="utf-8") == "é"
    assert Tree("é").to_bytes(encoding="latin-1") == b"\xe9"
    assert tree.contains_bits()
    assert tree.contains_bytes()
    assert tree.should_be_serialized_to_bytes()
    assert tree[1].should_be_serialized_to_bytes()
    assert not tree[0].should_be_serialized_to_bytes()


def test_every_way_of_showing_is_a_method(tree: Tree) -> None:
    assert tree[2].to_tree() == "Tree(b'q')"
    assert tree[2].to_repr() == repr(tree[2]) == "DerivationTree(b'q')"
    assert tree[1].to_value() == "0b01"
    assert tree[1].to_grammar() == "<b> ::= 0 1  # Position 0x0000 (0), bits 7-6; 0b01"


def test_trees_of_one_symbol_are_equal_in_structure() -> None:
    flat, nested = node("<a>", "x", "y"), node("<a>", node("<b>", "x"), "y")
    assert Tree(flat) == Tree(node("<a>", "x", "y"))
    assert Tree(flat) != Tree(nested)
    assert Tree(flat) != Tree(node("<a>", "xy"))
    assert Tree(flat) == Tree(node("<a>", "x", "y", sources=(SOURCE,)))
    assert Tree(flat) != Tree(node("<a>", "x", "y", parties=Parties("C")))


def test_trees_of_different_symbols_are_equal_in_value() -> None:
    assert Tree(node("<a>", "x", "y")) == Tree(node("<b>", "xy"))
    assert Tree(node("<a>", "x")) != Tree(node("<b>", "y"))
    assert Tree(node("<a>", 1, 0)) == Tree(node("<b>", 0, 1, 0))
    assert Tree(node("<a>", "x")) == Tree("x") == Tree(b"x")


def test_a_message_sent_equals_the_same_message_received() -> None:
    assert Tree(node("<word>", "hé", "!")) == Tree(node("<word>", "hé".encode(), b"!"))


@given(parts, parts, parts)
def test_equality_and_hash_obey_their_laws(one: Node, two: Node, three: Node) -> None:
    trees = [Tree(part) for part in (one, two, three)]
    for left in trees:
        assert left == Tree(left.node)
        for right in trees:
            assert (left == right) == (right == left) == (not operator.ne(left, right))
            if left == right:
                assert hash(left) == hash(right)


def test_messages_come_in_order_and_can_be_indexed_sliced_and_iterated() -> None:
    hello = node("<hello>", "HELO", parties=Parties("Client", "Server"))
    reply = node("<reply>", "250", parties=Parties("Server"))
    tree = Tree(node("<start>", node("<talk>", hello, reply), node("<rest>", hello)))
    messages = tree.protocol_msgs()
    assert [(each.sender, each.recipient, str(each.msg)) for each in messages] == [
        ("Client", "Server", "HELO"),
        ("Server", None, "250"),
        ("Client", "Server", "HELO"),
    ]
    assert messages[1].msg is tree[0][1]
    assert messages[1].msg.sender == "Server"
    assert messages[0].msg.recipient == "Server"
    assert messages[::-1] == list(tree.protocol_msgs(reverse=True))
    assert next(messages) == messages[0]
    assert list(iter(messages)) == messages[:]
    with pytest.raises(StopIteration):
        next(tree[0][0][0].protocol_msgs())


def test_trees_are_values(tree: Any) -> None:
    assert tree.read_only
    assert tree.set_all_read_only(False) is None
    for edit in (tree.set_children, tree.add_child, tree.remove_child):
        with pytest.raises(TypeError, match="trees are values"):
            edit(tree)
    edited = tree.replace(None, tree[0][1], Tree("z"))
    assert str(edited[0]) == "12z"
    assert str(tree[0]) == "12y"
    with pytest.raises(TypeError, match=r"str\(tree\).replace"):
        tree.replace("a", "b", 1)


def test_a_tree_is_made_of_nested_pairs() -> None:
    nested: Nested = ("<start>", [("<a>", [("x", []), ("<e>", [])]), (b"y", []), (1, [])])
    assert DerivationTree.from_tree(nested).node == node("<start>", node("<a>", "x", node("<e>")), b"y", 1)
    assert DerivationTree.from_tree(("abc", [])).node == "abc"


def test_nothing_is_too_deep() -> None:
    tree = Tree(deep())
    deepest = tree.flattened()[-1]
    assert tree.size() == 40_000
    assert deepest.get_root() is tree
    assert len(deepest.get_path()) == len(deepest.path) + 1 == 20_001
    assert len(list(tree.find_subtrees("deep"))) == 20_000
    assert tree.get_index(deepest) == 39_999
    assert tree == Tree(deep())
    assert tree != Tree(deep(leaf="y"))
    assert hash(tree) == hash(Tree(deep()))
    assert tree == "x" * 20_000
    assert tree.protocol_msgs() == []
    assert list(tree.get_non_terminal_symbols()) == ["<deep>"]
    assert len(repr(tree)) > 20_000
    nested: Nested = ("x", [])
    for _ in range(20_000):
        nested = ("<a>", [nested])
    assert Tree.from_tree(nested) == "x"
    assert isinstance(tree.node, Node)
