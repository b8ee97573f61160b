"""Each k-path belongs to our messages, to states, or to answers."""

from __future__ import annotations

import pytest
from guided import guidance
from test_guided_strategy import LOGIN, QUESTIONS

from palaver.navigation.goals import Goal


@pytest.mark.parametrize(
    ("path", "goal"),
    [
        (("<q>",), Goal.INPUTS),
        (("<q>", "<x>", "'1'"), Goal.INPUTS),
        (("'\\n'",), Goal.INPUTS),  # in answers as well
        (("<start>",), Goal.STATES),
        (("<start>", "<start>", "<q>", "<x>"), Goal.STATES),
        (("<answer>", "<more>"), Goal.STATES),
        (("<answer>", "<yes>"), Goal.ALL),
        (("<start>", "<answer>", "<no>", "'no\\n'"), Goal.ALL),
        (("<reason>",), Goal.ALL),
        (("'because'",), Goal.ALL),
    ],
)
def test_a_path_belongs_to_the_smallest_goal_it_can(path: tuple[str, ...], goal: Goal) -> None:
    assert guidance(QUESTIONS).goals.of(path) is goal


@pytest.mark.parametrize("spec", [LOGIN, QUESTIONS], ids=["login", "questions"])
@pytest.mark.parametrize("k", range(1, 7))
def test_the_count_of_a_goal_is_the_number_of_its_paths(spec: str, k: int) -> None:
    guided = guidance(spec, k=k)
    for goal in Goal:
        assert guided.goals.count(goal) == sum(guided.goals.contains(goal, path) for path in guided.paths)


def test_prefixes_and_suffixes_of_a_path_are_in_its_goal() -> None:
    guided = guidance(QUESTIONS)
    for goal in Goal:
        for path in guided.paths:
            if guided.goals.contains(goal, path) and len(path) > 1:
                assert guided.goals.contains(goal, path[1:])
                assert guided.goals.contains(goal, path[:-1])
