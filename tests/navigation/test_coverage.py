"""The count of k-paths equals their enumeration, and trees cover the paths in them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.navigation.coverage import Coverage, KPaths
from palaver.trees.node import Node

EXPRESSION = """
<start> ::= <sum>
<sum>   ::= <term> ("+" <sum>)?
<term>  ::= <digit>+ | "(" <sum> ")"
<digit> ::= r"[0-9]" | "x"{0} "y"
"""


def naive(node: Node, paths: KPaths) -> set[tuple[str, ...]]:
    """Every path in a tree, by walking down from every node."""
    found: set[tuple[str, ...]] = set()
    chains: list[tuple[str, ...]] = []
    todo: list[tuple[object, tuple[str, ...]]] = [(node, ())]
    while todo:
        part, above = todo.pop()
        if isinstance(part, Node):
            chain = (*above, str(part.symbol))
            todo += [(child, chain) for child in part.children]
        else:
            chain = (*above, paths.terminals(above[-1]).of_leaf(part))  # type: ignore[arg-type]
        chains.append(chain)
    for chain in chains:
        for length in range(1, paths.k + 1):
            if length <= len(chain):
                found.add(chain[-length:])
    return found


@pytest.mark.parametrize("k", range(1, 7))
def test_the_count_of_paths_is_the_number_of_paths_made(k: int) -> None:
    paths = KPaths(palaver.loads(EXPRESSION).grammar, k)
    made = list(paths)
    assert len(made) == len(set(made)) == paths.count()


def test_an_element_repeated_zero_times_is_in_no_path() -> None:
    paths = KPaths(palaver.loads(EXPRESSION).grammar, 2)
    assert ("<digit>", "'y'") in set(paths)
    assert ("<digit>", "'x'") not in set(paths)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 6))
@settings(max_examples=examples(40), deadline=None)
def test_coverage_equals_that_of_a_naive_walk(seed: int, k: int) -> None:
    spec = palaver.loads(EXPRESSION)
    paths = KPaths(spec.grammar, k)
    coverage, expected = Coverage(paths), set()
    for tree in spec.fuzz(3, seed=seed):
        assert isinstance(tree.node, Node)
        expected |= naive(tree.node, paths)
        coverage.add(tree.node)
        assert set(coverage.covered()) == expected
    assert expected <= set(paths)
    assert set(coverage.missing()) == set(paths) - expected


def test_a_subtree_covers_the_paths_that_lead_into_it() -> None:
    spec = palaver.loads("<start> ::= <a>\n<a> ::= <b>\n<b> ::= 'x'\n")
    (tree,) = spec.fuzz(1, seed=1)
    whole, piecemeal = Coverage(KPaths(spec.grammar, 3)), Coverage(KPaths(spec.grammar, 3))
    assert isinstance(tree.node, Node)
    whole.add(tree.node)
    piecemeal.add_path(["<start>"])
    piecemeal.add_path(["<start>", "<a>"])
    inner = tree.children[0].children[0].node
    piecemeal.add(inner, ["<start>", "<a>"])
    assert set(piecemeal.covered()) == set(whole.covered())


def test_a_tree_seen_twice_covers_nothing_new() -> None:
    spec = palaver.loads(EXPRESSION)
    (tree,) = spec.fuzz(1, seed=1)
    coverage = Coverage(KPaths(spec.grammar))
    assert coverage.add(tree.node) > 0
    assert coverage.add(tree.node) == 0


def test_text_in_a_binary_tree_is_recognised_by_its_bytes() -> None:
    spec = palaver.loads("<start> ::= 'ab' <n> b'\\x00'\n<n> ::= r'[0-9]' | 0 1 0 1 0 1 0 1\n")
    coverage = Coverage(KPaths(spec.grammar, 2))
    for tree in spec.fuzz(11, seed=1):
        coverage.add(tree.node)
    assert list(coverage.missing()) == []
    assert len(coverage) == coverage.total


def covered(text: str, *said: str) -> set[str]:
    """The terminals of <start> that are covered by these inputs, each the first reading of it."""
    spec = palaver.loads(text)
    coverage = Coverage(KPaths(spec.grammar, 1))
    for each in said:
        coverage.add(next(spec.readings("<start>", each.encode())))
    return {name for (name,) in coverage.covered()} - {"<start>"}


LINE = """<start> ::= r"[a-z]" r"[ -,]{0,40}" ";" | "!" r"[ -,]{0,10}" ";"\n"""


def test_a_text_that_fits_two_patterns_counts_for_the_one_in_its_alternative() -> None:
    assert covered(LINE, "!##;") == {"'!'", "r'[ -,]{0,10}'", "';'"}
    assert covered(LINE, "x##;") == {"r'[a-z]'", "r'[ -,]{0,40}'", "';'"}
    assert covered(LINE, "x!;") == {"r'[a-z]'", "r'[ -,]{0,40}'", "';'"}


def test_the_position_in_a_repetition_tells_patterns_apart() -> None:
    pairs = """<start> ::= (r"[a-z]" "=" r"[a-m]" ",")* r"[a-c]"?\n"""
    assert covered(pairs, "z=a,z=b,") == {"r'[a-z]'", "'='", "r'[a-m]'", "','"}
    assert covered(pairs, "a") == {"r'[a-c]'"}


def test_a_text_that_fits_two_patterns_in_one_place_counts_for_both() -> None:
    assert covered("""<start> ::= r"[a-z]+" | r"[a-m]+"\n""", "abc") == {"r'[a-z]+'", "r'[a-m]+'"}
    assert covered("""<start> ::= r"[a-z]+" | r"[a-m]+"\n""", "xyz") == {"r'[a-z]+'"}


def test_a_keyword_does_not_count_for_a_pattern_in_its_place() -> None:
    assert covered("""<start> ::= "get" | r"[a-z]+" | r"[a-z0-9]+"\n""", "get") == {"'get'"}


def test_every_goal_of_a_rule_with_patterns_that_overlap_is_reached() -> None:
    spec = palaver.loads(LINE)
    coverage = Coverage(KPaths(spec.grammar, 3))
    for tree in spec.fuzz(20, seed=1):
        coverage.add(tree.node)
    assert list(coverage.missing()) == []
