"""Which paths are of what we say, of states, or of answers."""

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
def test_as_many_paths_are_counted_as_there_are(spec: str, k: int) -> None:
    guided = guidance(spec, k=k)
    for goal in Goal:
        assert guided.goals.count(goal) == sum(guided.goals.contains(goal, path) for path in guided.paths)


def test_what_a_path_of_a_goal_begins_and_ends_with_is_in_the_goal() -> None:
    guided = guidance(QUESTIONS)
    for goal in Goal:
        for path in guided.paths:
            if guided.goals.contains(goal, path) and len(path) > 1:
                assert guided.goals.contains(goal, path[1:])
                assert guided.goals.contains(goal, path[:-1])
