"""Strongly connected components and reachability, against their definitions."""

from hypothesis import given
from hypothesis import strategies as st

import palaver
from palaver.grammar.analysis import cyclic_components, leading_to, reachable, strongly_connected_components, users_of

NAMES = [f"<{letter}>" for letter in "abcdefg"]
GRAPHS = st.fixed_dictionaries({name: st.lists(st.sampled_from(NAMES), max_size=3) for name in NAMES})


def test_users_are_those_whose_rules_mention_a_symbol() -> None:
    spec = palaver.loads('<start> ::= <a> <b> <a>\n<a> ::= <b>{2} | "x"\n<b> ::= "y"\n')
    assert users_of(spec.grammar.rules) == {"<a>": ["<start>"], "<b>": ["<start>", "<a>"]}


@given(GRAPHS, st.sets(st.sampled_from(NAMES)))
def test_targets_and_all_that_reach_them_lead_there(below: dict[str, list[str]], targets: set[str]) -> None:
    users = {name: [user for user in NAMES if name in below[user]] for name in NAMES}
    assert leading_to(sorted(targets), users) == {
        name for name in NAMES if not targets.isdisjoint(reachable(name, below))
    }


@given(GRAPHS)
def test_members_of_a_component_lead_to_each_other_and_inner_components_come_first(below: dict[str, list[str]]) -> None:
    found = list(strongly_connected_components(NAMES, below))
    assert sorted(name for component in found for name in component) == NAMES
    done: set[str] = set()
    for component in found:
        assert component == sorted(component)  # in the order given
        for name in component:
            around = [other for other in NAMES if other in reachable(name, below) and name in reachable(other, below)]
            assert component == around
        done.update(component)
        assert all(done.issuperset(below[name]) for name in component)


@given(GRAPHS)
def test_a_name_is_in_a_cyclic_component_if_it_leads_back_to_itself(edges: dict[str, list[str]]) -> None:
    ahead = {name: {end for child in edges[name] for end in reachable(child, edges)} for name in NAMES}
    expected = {
        name: tuple(other for other in NAMES if other in ahead[name] and name in ahead[other])
        for name in NAMES
        if name in ahead[name]
    }
    assert cyclic_components(NAMES, edges) == expected


def test_a_long_cycle_is_followed_without_recursion() -> None:
    edges = {str(at): [str((at + 1) % 5_000)] for at in range(5_000)}
    found = cyclic_components(edges, edges)
    assert set(map(len, found.values())) == {5_000}
    assert cyclic_components(edges, {**edges, "4999": []}) == {}


def test_edges_to_other_names_are_ignored() -> None:
    assert list(strongly_connected_components(["a"], {"a": ["b"], "b": ["a"]})) == [["a"]]
