"""Which symbols lead to which, against the definition."""

from hypothesis import given
from hypothesis import strategies as st

import palaver
from palaver.grammar.analyse import reachable
from palaver.grammar.mentions import groups, leading_to, users_of

NAMES = [f"<{letter}>" for letter in "abcdef"]
graphs = st.fixed_dictionaries({name: st.lists(st.sampled_from(NAMES), unique=True).map(tuple) for name in NAMES})


def test_users_are_those_whose_rules_mention_a_symbol() -> None:
    spec = palaver.loads('<start> ::= <a> <b> <a>\n<a> ::= <b>{2} | "x"\n<b> ::= "y"\n')
    assert users_of(spec.grammar.rules) == {"<a>": ["<start>"], "<b>": ["<start>", "<a>"]}


@given(graphs, st.sets(st.sampled_from(NAMES)))
def test_targets_and_all_that_reach_them_lead_there(below: dict[str, tuple[str, ...]], targets: set[str]) -> None:
    users = {name: [user for user in NAMES if name in below[user]] for name in NAMES}
    assert leading_to(sorted(targets), users) == {
        name for name in NAMES if not targets.isdisjoint(reachable(name, below))
    }


@given(graphs)
def test_groups_contain_each_other_and_inner_ones_come_first(below: dict[str, tuple[str, ...]]) -> None:
    found = list(groups(NAMES, below))
    assert sorted(name for group in found for name in group) == NAMES
    done: set[str] = set()
    for group in found:
        assert group == sorted(group)  # in the order given
        for name in group:
            around = [other for other in NAMES if other in reachable(name, below) and name in reachable(other, below)]
            assert group == around
        done.update(group)
        assert all(done.issuperset(below[name]) for name in group)
