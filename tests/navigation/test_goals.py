"""Each k-path belongs to our messages, to states, or to answers."""

from __future__ import annotations

import pytest
from guided import guidance
from test_guided_strategy import LOGIN, QUESTIONS

from palaver.navigation.goals import CoverageGoal


@pytest.mark.parametrize(
    ("path", "goal"),
    [
        (("<q>",), CoverageGoal.INPUTS),
        (("<q>", "<x>", "'1'"), CoverageGoal.INPUTS),
        (("'\\n'",), CoverageGoal.INPUTS),  # in answers as well
        (("<start>",), CoverageGoal.STATES),
        (("<start>", "<start>", "<q>", "<x>"), CoverageGoal.STATES),
        (("<answer>", "<more>"), CoverageGoal.STATES),
        (("<answer>", "<yes>"), CoverageGoal.ALL),
        (("<start>", "<answer>", "<no>", "'no\\n'"), CoverageGoal.ALL),
        (("<reason>",), CoverageGoal.ALL),
        (("'because'",), CoverageGoal.ALL),
    ],
)
def test_a_path_belongs_to_the_smallest_goal_it_can(path: tuple[str, ...], goal: CoverageGoal) -> None:
    assert guidance(QUESTIONS).goals.of(path) is goal


@pytest.mark.parametrize("spec", [LOGIN, QUESTIONS], ids=["login", "questions"])
@pytest.mark.parametrize("k", range(1, 7))
def test_the_count_of_a_goal_is_the_number_of_its_paths(spec: str, k: int) -> None:
    guided = guidance(spec, k=k)
    for goal in CoverageGoal:
        assert guided.goals.count(goal) == sum(guided.goals.contains(goal, path) for path in guided.paths)


def test_prefixes_and_suffixes_of_a_path_are_in_its_goal() -> None:
    guided = guidance(QUESTIONS)
    for goal in CoverageGoal:
        for path in guided.paths:
            if guided.goals.contains(goal, path) and len(path) > 1:
                assert guided.goals.contains(goal, path[1:])
                assert guided.goals.contains(goal, path[:-1])
