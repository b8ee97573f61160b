"""Nodes that several selectors seek below one node are found together: the same nodes as each of them finds alone."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from cost import lines_run
from palaver.compiled import loads
from palaver.constraints.node_selectors import compile_path
from palaver.spec.ast import Descendant, Selector
from palaver.trees.node import Node, NonTerminal, OpenNode
from palaver.trees.tree import Tree

NAMES = ("<a>", "<b>", "<c>")
SPEC = loads("""
<start> ::= <a>
<a> ::= (<a> | <b> | <c> | "x")*
<b> ::= (<a> | <b> | <c> | "y")*
<c> ::= "z"*
where len(*<start>..<a>) >= 0 and len(*<start>..<b>) >= 0 and len(*<start>..<c>) >= 0
""")


def grown(children: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    def made(name: str, is_open: bool, parts: list[object]) -> Node:
        return (OpenNode if is_open else Node)(NonTerminal(name), tuple(parts))  # type: ignore[arg-type]

    return st.builds(made, st.sampled_from(NAMES[:2]), st.booleans(), st.lists(children, max_size=4))


PARTS = st.recursive(st.sampled_from(["x", Node(NonTerminal("<c>"), ("z",))]), grown, max_leaves=20)


@given(st.lists(PARTS, max_size=4), st.permutations([(name, every) for name in NAMES for every in (False, True)]))
def test_what_is_found_together_is_what_each_finds_alone(
    parts: list[object], questions: list[tuple[str, bool]]
) -> None:
    node = Node(NonTerminal("<a>"), tuple(parts))  # type: ignore[arg-type]
    shared = Tree(node)
    for name, every in questions:
        select = compile_path(Selector("<start>", (Descendant(name),)), SPEC.analysis, {}, every=every)
        together, alone = select(shared, {"<start>": shared}), select(NO_TREE, {"<start>": Tree(node)})
        assert [tree.path for tree in together] == [tree.path for tree in alone]
        together.clear()  # a condition that changes its list changes no other


NO_TREE = Tree("")


def test_a_third_symbol_costs_no_search() -> None:
    tree = Tree(Node(NonTerminal("<a>"), tuple(Node(NonTerminal("<b>"), ("y",)) for _ in range(1000))))
    costs = []
    for name in NAMES:
        select = compile_path(Selector("<start>", (Descendant(name),)), SPEC.analysis, {})
        costs.append(lines_run(partial(select, NO_TREE, {"<start>": tree})))
    assert costs[1] > 1000  # this one looked for all
    assert costs[2] < 20


def test_what_is_sought_behind_other_names_costs_nothing() -> None:
    records = tuple(Node(NonTerminal("<b>"), (Node(NonTerminal("<c>"), ("z",)),) * 1000) for _ in range(10))
    spec = loads("""
    <start> ::= <a>
    <a> ::= <b>{10} "x"
    <b> ::= <c>{1000}
    <c> ::= "z"
    where len(*<start>..<a>) >= 0 and len(*<start>..<b>) >= 0 and len(*<b>..<c>) >= 0
    """)
    tree = Tree(Node(NonTerminal("<start>"), (Node(NonTerminal("<a>"), (*records, "x")),)))
    for name in ("<a>", "<b>"):
        select = compile_path(Selector("<start>", (Descendant(name),)), spec.analysis, {})
        assert lines_run(partial(select, NO_TREE, {"<start>": tree})) < 1000
