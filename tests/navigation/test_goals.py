"""Each k-path belongs to our messages, to states, or to answers."""

from __future__ import annotations

import pytest
from guided import campaign, guidance
from test_guided_strategy import LADDER, LOGIN, QUESTIONS

from palaver.campaign.run import Budget
from palaver.navigation.goals import CoverageGoal, GoalProgress, MissingPaths


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


def missing_below(progress: GoalProgress, state: int) -> set[int]:
    """All missing states below one, by the definition."""
    coverage = progress.coverage
    seen, todo = {state}, [state]
    for here in todo:
        for name in coverage.paths.below.get(coverage.walks[here][-1], ()):
            following = coverage.step(here, name)
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return {progress.relevant(each) for each in seen - {state} if progress.is_missing(each)}


@pytest.mark.parametrize("spec", [LOGIN, QUESTIONS, LADDER], ids=["login", "questions", "ladder"])
@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("goal", CoverageGoal)
def test_what_is_missing_below_a_message_is_shared_by_contexts_and_right_for_each(
    spec: str, k: int, goal: CoverageGoal
) -> None:
    run = campaign(spec, 1, Budget(sessions=3), k=k, goal=goal, is_guided=False)
    asked_before = MissingPaths(run.guidance.goal_progress)
    dialogue_map = run.guidance.dialogue_map
    states = dict.fromkeys(edge.state for node in dialogue_map.nodes(200) for edge in dialogue_map.edges(node))
    for state in states:
        asked_before.missing(state)
    run.run()
    progress = run.guidance.goal_progress
    for missing_paths in (asked_before, MissingPaths(progress)):
        for state in states:
            expected = missing_below(progress, state)
            assert set(missing_paths.missing(state)) == expected
            assert missing_paths.has_missing(state) == (progress.is_missing(state) or bool(expected))
