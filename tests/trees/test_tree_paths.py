"""Finding and replacing parts by their path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tree_strategies import deep, node, parts

from palaver.trees.node import Node, OpenNode, Part, Parties, part_at, replace_at, same_structure
from palaver.trees.tree import Tree


def node_in(part: Part) -> Node:
    assert isinstance(part, Node)
    return part


def all_places(tree: Tree) -> list[Tree]:
    """Every tree below `tree`, sources included."""
    found = [tree]
    for place in found:
        found += [*place.children, *place.sources]
    return found


@given(parts, st.data())
def test_replacing_changes_one_place_and_keeps_everything_else(part: Node, data: st.DataObject) -> None:
    tree = Tree(part)
    place = data.draw(st.sampled_from(all_places(tree)))
    new = node("<new>", "news")
    edited = tree.replaced(place, new)
    assert part_at(edited.node, place.path) is new
    spine = [place.path[:length] for length in range(len(place.path))]
    for other in all_places(tree):
        if other.path[: len(place.path)] == place.path:
            continue
        after = part_at(edited.node, other.path)
        if other.path in spine:
            assert node_in(after).symbol == node_in(other.node).symbol
        else:
            assert after is other.node


@given(parts, st.data())
def test_replacing_a_part_by_itself_changes_nothing(part: Node, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(all_places(Tree(part))))
    assert same_structure(replace_at(part, place.path, place.node), part)


@given(parts)
def test_a_path_leads_back_to_its_tree(part: Node) -> None:
    tree = Tree(part)
    for place in all_places(tree):
        assert tree.at(place.path) is place
        assert part_at(part, place.path) is place.node


def test_an_empty_path_is_the_part_itself() -> None:
    assert replace_at(node("<a>", "x"), (), "new") == "new"
    assert Tree(node("<a>", "x")).replaced((), "new") == "new"


def test_a_source_is_replaced_by_a_step_below_zero() -> None:
    part = node("<a>", "x", sources=(node("<n>", "1"),))
    assert node_in(replace_at(part, (-1,), node("<n>", "2"))).sources == (node("<n>", "2"),)
    with pytest.raises(TypeError, match="source of <a>"):
        replace_at(part, (-1,), "2")


def test_open_nodes_stay_open_and_messages_keep_their_parties() -> None:
    message = node("<m>", "hi", parties=Parties("Client", "Server"))
    session = OpenNode(message.symbol, (message,))
    edited = replace_at(session, (0, 0), "ho")
    assert type(edited) is OpenNode
    assert node_in(edited.children[0]).parties == Parties("Client", "Server")


@pytest.mark.parametrize("path", [(1,), (0, 0), (-1,), (0, -1)])
def test_a_path_that_leads_nowhere_is_an_index_error(path: tuple[int, ...]) -> None:
    part = node("<a>", "x")
    with pytest.raises(IndexError):
        part_at(part, path)
    with pytest.raises(IndexError):
        replace_at(part, path, "new")
    with pytest.raises(IndexError):
        Tree(part).at(path)


def test_a_tree_from_elsewhere_cannot_be_replaced() -> None:
    with pytest.raises(ValueError, match="<b> is not a part of this <a>"):
        Tree(node("<a>", "x")).replaced(Tree(node("<b>", "x")), "new")


def test_the_deepest_leaf_can_be_replaced() -> None:
    tree = Tree(deep())
    deepest = tree.flattened()[-1]
    assert str(tree.replaced(deepest, "!")) == "x" * 19_999 + "!"
