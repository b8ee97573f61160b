"""What leads back to itself."""

from hypothesis import given
from hypothesis import strategies as st

from palaver.grammar.analyse import reachable
from palaver.grammar.cycles import circles

NAMES = [f"<{letter}>" for letter in "abcdefg"]
GRAPHS = st.fixed_dictionaries({name: st.lists(st.sampled_from(NAMES), max_size=3) for name in NAMES})


@given(GRAPHS)
def test_names_are_in_a_circle_if_each_leads_to_the_other(edges: dict[str, list[str]]) -> None:
    ahead = {name: {end for child in edges[name] for end in reachable(child, edges)} for name in NAMES}
    expected = {
        name: tuple(other for other in NAMES if other in ahead[name] and name in ahead[other])
        for name in NAMES
        if name in ahead[name]
    }
    assert circles(edges, NAMES) == expected


def test_a_long_way_round_is_followed_without_recursion() -> None:
    edges = {str(at): [str((at + 1) % 5_000)] for at in range(5_000)}
    found = circles(edges, edges)
    assert set(map(len, found.values())) == {5_000}
    assert circles({**edges, "4999": []}, edges) == {}
