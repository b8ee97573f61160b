"""Parts as text for people."""

import pytest
from hypothesis import given
from tree_strategies import deep, node, parts

from palaver.trees.node import Leaf, Part
from palaver.trees.rendering import (
    show_grammar,
    show_repr,
    show_tree,
    show_value,
)
from palaver.trees.tree import Tree
from palaver.trees.trees_limits import MAX_COMMENT_CHARACTERS, MAX_INDENT_DEPTH
from palaver.trees.values import to_bits

ABC = node("<start>", "abc")
GENERATED = node("<start>", node("<a>", node("<n>", "12"), "y", sources=(node("<n>", "12"),)), node("<n>", "12"))
MIXED = node(
    "<start>",
    node("<a>", node("<h>", 0, 1, 0, 0), node("<l>", 0, 0, 0, 1)),
    node("<b>", b"\xfe", node("<c>", "z")),
    "é",
)


def lines(text: str) -> str:
    return text.strip("\n")


def test_one_child_stays_on_its_parents_line() -> None:
    assert show_tree(ABC) == "Tree(<start>, Tree('abc'))"
    assert show_tree(node("<a>", node("<b>", b"\xfe"))) == r"Tree(<a>, Tree(<b>, Tree(b'\xfe')))"
    assert show_tree(node("<a>")) == "Tree(<a>)"
    assert show_tree(0) == "Tree(0)"


def test_more_children_get_a_line_each() -> None:
    assert show_tree(node("<a>", node("<b>", 0, 1), "x")) == lines("""
Tree(<a>,
  Tree(<b>,
    Tree(0),
    Tree(1)
  ),
  Tree('x')
)
""")


def test_sources_are_listed_behind_the_children() -> None:
    assert show_tree(GENERATED) == lines("""
Tree(<start>,
  Tree(<a>,
    Tree(<n>, Tree('12')),
    Tree('y'),
    sources=[
      Tree(<n>, Tree('12')),
    ]
  ),
  Tree(<n>, Tree('12'))
)
""")


def test_the_repr_is_python_but_for_the_symbols() -> None:
    assert show_repr(ABC) == repr(Tree(ABC)) == "DerivationTree(<start>, [DerivationTree('abc')])"
    assert show_repr(node("<a>")) == "DerivationTree(<a>, [])"
    assert show_repr(GENERATED) == lines("""
DerivationTree(<start>,
  [
    DerivationTree(<a>,
      [
        DerivationTree(<n>, [DerivationTree('12')]),
        DerivationTree('y'),
      ],
      sources=[
        DerivationTree(<n>, [DerivationTree('12')]),
      ]
    ),
    DerivationTree(<n>, [DerivationTree('12')]),
  ]
)
""")


def test_a_rule_tells_the_position_of_its_own_leaves() -> None:
    assert show_grammar(ABC) == "<start> ::= 'abc'  # Position 0x0000 (0)"
    assert show_grammar(node("<a>")) == "<a> ::= ''"
    assert show_grammar("abc") == "'abc'"


def test_rules_are_indented_with_positions_bits_and_values() -> None:
    assert show_grammar(MIXED) == lines(r"""
<start> ::= <a> <b> 'é'  # Position 0x0000 (0); b'A\xfez\xc3\xa9'
  <a> ::= <h> <l>  # 0b01000001
    <h> ::= 0 1 0 0  # Position 0x0000 (0), bits 7-4; 0b0100
    <l> ::= 0 0 0 1  # Position 0x0000 (0), bits 3-0; 0b0001
  <b> ::= b'\xfe' <c>  # Position 0x0001 (1); b'\xfez'
    <c> ::= 'z'  # Position 0x0002 (2)
""")


def test_bits_across_a_byte_border_tell_both_ends() -> None:
    wide = node("<wide>", *[1] * 12)
    assert show_grammar(node("<start>", node("<bit>", 0), node("<f>", 0, 0, 0), wide)) == lines("""
<start> ::= <bit> <f> <wide>  # 0b0000111111111111
  <bit> ::= 0  # Position 0x0000 (0), bit 7
  <f> ::= 0 0 0  # Position 0x0000 (0), bits 6-4; 0b000
  <wide> ::= 1 1 1 1 1 1 1 1 1 1 1 1  # Position 0x0000 (0), bit 3 to 0x0001 (1), bit 0; 0b111111111111
""")


def test_the_rule_of_a_generated_node_names_its_sources_which_have_no_position() -> None:
    assert show_grammar(GENERATED) == lines("""
<start> ::= <a> <n>  # 12y12
  <a> ::= <n> 'y' := f(<n>)  # Position 0x0000 (0); 12y
    <n> ::= '12'  # Position 0x0000 (0)
    <n> ::= '12'
  <n> ::= '12'  # Position 0x0003 (3)
""")


def test_a_comment_never_breaks_its_line() -> None:
    assert show_grammar(node("<a>", "q\n", "\t#")) == r"<a> ::= 'q\n' '\t#'  # Position 0x0000 (0); 'q\n\t#'"


def test_a_long_value_is_cut() -> None:
    shown = show_grammar(node("<a>", "x" * 200, "y"))
    assert shown.endswith("; " + "x" * MAX_COMMENT_CHARACTERS + "…")


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        (ABC, "abc"),
        (node("<a>", 0, 1, 0, 1), "0b0101"),
        (node("<a>", 0, 1, 0, 0, 0, 0, 0, 1, b"\xfe", "z"), r"b'A\xfez'"),
        (node("<a>", b""), "b''"),
        (node("<a>"), ""),
        (node("<a>", "x", 1, 1, 1), "b'x' 0b111"),
        (node("<a>", 1, 1, "é", 1), r"0b11 b'\xc3\xa9' 0b1"),
    ],
)
def test_a_value_is_shown_in_its_own_type(part: Part, shown: str) -> None:
    assert show_value(part) == shown


def test_bits_are_shown_as_digits() -> None:
    assert to_bits(ABC) == "011000010110001001100011"


@given(parts)
def test_everything_can_be_shown(part: Part) -> None:
    assert show_tree(part).count("Tree(") == show_repr(part).count("DerivationTree(")
    assert show_grammar(part)
    show_value(part)
    to_bits(part)


@pytest.mark.parametrize("leaf", ["x", 1])
def test_a_deep_tree_is_shown_without_growing_too_wide(leaf: Leaf) -> None:
    part = deep(leaf=leaf)
    for shown in (show_tree(part), show_repr(part), show_grammar(part)):
        assert len(shown) < 500 * 20_000
    widest = max(show_tree(part).splitlines(), key=lambda line: len(line) - len(line.lstrip()))
    assert widest.startswith(" " * 2 * MAX_INDENT_DEPTH + "Tree(")
