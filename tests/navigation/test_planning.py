"""Plans by gain per cost and plans of the paper, where the right answer is known."""

from __future__ import annotations

from collections import Counter

import pytest
from guided import guidance
from test_guided_strategy import LADDER, LOGIN, QUESTIONS, RUNGS

from palaver.limits import Limit
from palaver.navigation import reasons
from palaver.navigation.dialogue_map import Edge, MapNode
from palaver.navigation.guidance import Guidance
from palaver.navigation.navigation_limits import MAX_DRAWS_OF_TARGET, MAX_NEW_NODES_NEARBY, PATIENCE
from palaver.navigation.navigator import CoverageTarget, TargetNavigator, TargetSelector
from palaver.navigation.peer_model import PeerModel
from palaver.navigation.plan_search import SESSION_END, PlanningContext, RoutePlan
from palaver.random_source import RandomSource


def shown(plan: RoutePlan | None) -> list[str]:
    assert plan is not None
    return [step.move.symbol if isinstance(step, Edge) else "end" for step in plan.steps]


def with_navigator(spec: str) -> tuple[Guidance, TargetNavigator]:
    guided = guidance(spec, follows_the_paper=True)
    assert isinstance(guided.scheme, TargetNavigator)
    return guided, guided.scheme


def place_after(guided: Guidance, *symbols: str) -> MapNode:
    places = [guided.dialogue_map.beginning]
    for symbol in symbols:
        places = [
            edge.to for place in places for edge in guided.dialogue_map.edges(place) if edge.move.symbol == symbol
        ]
    (place,) = places
    return place


def cover_all_but(guided: Guidance, *names: str) -> None:
    for path in guided.paths:
        if not set(names) & set(path):
            guided.coverage.add_path(path)


# --- Targets ----------------------------------------------------------------------------------------------------------


def selector(guided: Guidance, seed: int = 0) -> TargetSelector:
    return TargetSelector(guided.goal_progress, guided.dialogue, RandomSource(seed))


def test_a_path_is_reduced_to_its_states_and_message() -> None:
    targets = selector(guidance(QUESTIONS))
    assert targets.project(("<start>", "<answer>", "<yes>", "<reason>", "'because'")) == (
        "<start>",
        "<answer>",
        "<yes>",
    )
    assert targets.project(("<reason>", "'because'")) == ()


def test_long_paths_and_those_not_drawn_yet_are_drawn_more_often() -> None:
    drawn: Counter[int] = Counter()
    for seed in range(150):
        target = selector(guidance(QUESTIONS, k=3), seed).select()
        assert target is not None
        drawn[len(target.path)] += 1
    targets = selector(guidance(QUESTIONS, k=3))
    lengths = Counter(len(path) for path in targets._states)
    rates = [drawn[length] / lengths[length] for length in sorted(lengths)]
    assert rates == sorted(rates)


def test_paths_through_states_are_drawn_before_messages() -> None:
    guided = guidance(QUESTIONS)
    targets = selector(guided)
    first = targets.select()
    assert first is not None
    assert not first.is_message
    for path in guided.paths:
        if path[0] in targets._dialogue:
            guided.coverage.add_path(path)
    guided.coverage.add_path(("<x>", "'1'"))
    # All payload was seen with the messages around it, so only paths that nothing leads to are left.
    assert targets.select() is None


def test_a_target_that_was_drawn_too_often_is_given_up() -> None:
    guided = guidance(LOGIN, k=1)
    cover_all_but(guided, "<no>")
    targets = selector(guided)
    assert [targets.select() for _ in range(MAX_DRAWS_OF_TARGET)] == [CoverageTarget(("<no>",))] * MAX_DRAWS_OF_TARGET
    following = targets.select()
    assert following is None or following.is_message


# --- The navigator ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "way"),
    [
        (("<quit>",), ["<bye>"]),
        (("<in>", "<in>"), ["<user>", "<ask>", "<word>", "<yes>", "<noop>", "<ok>", "<noop>"]),
        (("<in>", "<in>", "<quit>"), ["<user>", "<ask>", "<word>", "<yes>", "<noop>", "<ok>", "<bye>"]),
        (("<out>", "<out>", "<quit>", "<end>"), ["<user>", "<ask>", "<wrong>", "<no>", "<bye>", "<end>"]),
    ],
)
def test_the_way_to_a_target_is_the_shortest(target: tuple[str, ...], way: list[str]) -> None:
    guided, finder = with_navigator(LOGIN)
    assert shown(finder.route([guided.dialogue_map.beginning], CoverageTarget(target), PlanningContext())) == way


def test_a_target_that_was_passed_is_reached_in_another_session() -> None:
    guided, finder = with_navigator(LOGIN)
    place = place_after(guided, "<user>", "<ask>", "<word>", "<yes>")
    plan = finder.route([place], CoverageTarget(("<bad>", "<no>")), PlanningContext())
    assert shown(plan) == ["<bye>", "<end>", "end", "<user>", "<ask>", "<wrong>", "<no>"]


def test_the_search_does_not_expand_the_traps_of_a_ladder() -> None:
    guided, finder = with_navigator(LADDER)
    plan = finder.route([guided.dialogue_map.beginning], CoverageTarget(("<crown>",)), PlanningContext())
    assert len(shown(plan)) == 2 * RUNGS + 1
    assert finder.a_star.expanded <= 2 * RUNGS + 2


def test_an_answer_that_is_given_up_cannot_be_reached() -> None:
    guided, finder = with_navigator(QUESTIONS)
    for _ in range(3 * PATIENCE):
        guided.peer.note_answer("<q>", ("<no>", "<perhaps>", "<yes>"), "<no>")
    assert finder.route([guided.dialogue_map.beginning], CoverageTarget(("<detail>",)), PlanningContext()) is None
    assert finder.route([guided.dialogue_map.beginning], CoverageTarget(("<no>",)), PlanningContext()) is not None


# --- The planner ------------------------------------------------------------------------------------------------------


def test_many_paths_two_steps_ahead_are_better_than_one_next_door() -> None:
    spec = (
        "<start> ::= <near> <start> | <far> <start> | <Client:bye>\n<near> ::= <Client:a>\n"
        '<far> ::= <Client:b> <Client:c>\n<a> ::= "a"\n<b> ::= "b"\n<c> ::= "c" <many>\n<bye> ::= "."\n<many> ::= '
        + " | ".join(f'"{number}"' for number in range(20))
    )
    guided = guidance(spec + "\n", k=2)
    cover_all_but(guided, "<a>", "<many>")
    plan = guided.planner.plan([guided.dialogue_map.beginning], PlanningContext())
    assert shown(plan) == ["<b>", "<c>"]


def test_a_distant_path_is_found_and_nothing_missing_means_no_plan() -> None:
    guided = guidance(LADDER)
    cover_all_but(guided, "<gold>")
    plan = guided.planner.plan([guided.dialogue_map.beginning], PlanningContext())
    assert shown(plan)[-1] == "<gold>"
    for path in guided.paths:
        guided.coverage.add_path(path)
    assert guided.planner.plan([guided.dialogue_map.beginning], PlanningContext()) is None


def test_a_plan_ends_the_session_if_the_missing_path_was_passed() -> None:
    guided = guidance(LOGIN)
    cover_all_but(guided, "<no>")
    place = place_after(guided, "<user>", "<ask>", "<word>", "<yes>")
    plan = guided.planner.plan([place], PlanningContext())
    assert plan is not None
    assert SESSION_END in plan.steps
    assert shown(plan)[-1] == "<no>"


def test_a_message_refused_in_this_session_is_planned_for_the_next() -> None:
    guided = guidance(LOGIN)
    cover_all_but(guided, "<no>")
    plan = guided.planner.plan([guided.dialogue_map.beginning], PlanningContext(refused={"<wrong>": None}))
    assert shown(plan)[:1] == ["<bye>"]
    assert shown(plan)[-1] == "<no>"


def test_likely_answers_are_cheaper() -> None:
    spec = (
        "<start> ::= <one> | <two>\n<one> ::= <Client:a> (<Server:yes> | <Server:no>) <Client:goal>\n"
        "<two> ::= <Client:b> (<Server:yes> | <Server:no>) <Client:goal>\n"
        '<a> ::= "a"\n<b> ::= "b"\n<yes> ::= "y"\n<no> ::= "n"\n<goal> ::= "g"\n'
    )
    guided = guidance(spec, k=2)
    cover_all_but(guided, "<yes>")
    for _ in range(10):
        guided.peer.note_answer("<a>", ("<no>", "<yes>"), "<no>")
        guided.peer.note_answer("<b>", ("<no>", "<yes>"), "<yes>")
    assert shown(guided.planner.plan([guided.dialogue_map.beginning], PlanningContext()))[0] == "<b>"


# --- The peer ---------------------------------------------------------------------------------------------------------


def test_an_answer_is_given_up_only_after_many_others_came() -> None:
    peer = PeerModel(guidance(QUESTIONS).paths)
    names = ("<no>", "<yes>")
    peer.note_answer("<other>", names, "<no>")
    peer.note_answer("<other>", names, "<yes>")  # answers of this peer vary
    for count in range(PATIENCE * 11 // 20):
        assert peer.answer_likelihood("<q>", names, "<yes>") > 0, count
        peer.note_answer("<q>", names, "<no>")
    assert peer.answer_likelihood("<q>", names, "<yes>") == 0
    peer.note_answer("<q>", names, "<yes>")
    assert peer.answer_likelihood("<q>", names, "<yes>") > 0


def test_an_answer_is_given_up_earlier_while_nothing_shows_that_answers_vary() -> None:
    peer = PeerModel(guidance(QUESTIONS).paths)
    names = ("<no>", "<yes>")
    for count in range(PATIENCE * 8 // 20):
        assert peer.answer_likelihood("<q>", names, "<yes>") > 0, count
        peer.note_answer("<q>", names, "<no>")
    assert peer.answer_likelihood("<q>", names, "<yes>") == 0
    peer.note_answer("<other>", names, "<no>")
    peer.note_answer("<other>", names, "<yes>")
    assert peer.answer_likelihood("<q>", names, "<yes>") > 0, "the peer's answers vary: it is asked for some times more"


def test_that_answers_vary_is_known_from_an_earlier_run() -> None:
    paths = guidance(QUESTIONS).paths
    peer, copy = PeerModel(paths), PeerModel(paths)
    for answer in ("<no>", "<yes>"):
        peer.note_answer("<q>", ("<no>", "<yes>"), answer)
    copy.add_data(peer.as_data())
    assert peer.varies
    assert copy.varies


def test_the_only_possible_answer_is_certain() -> None:
    assert PeerModel(guidance(QUESTIONS).paths).answer_likelihood("<q>", ("<yes>",), "<yes>") == 1


def test_counts_of_answers_survive_as_data() -> None:
    paths = guidance(QUESTIONS).paths
    peer, copy = PeerModel(paths), PeerModel(paths)
    peer.note_answer("<q>", ("<no>", "<yes>"), "<no>")
    peer.symbols["<yes>"] += 2
    peer.pairs["<yes>", "<reason>"] += 1
    copy.add_data(peer.as_data())
    assert copy == peer
    situation = ("<q>", ("<no>", "<yes>"))
    assert copy.histories(situation) == peer.histories(situation) == 1


def test_too_many_missing_paths_are_counted_and_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    guided = guidance(QUESTIONS)
    one_by_one = guided.reasons()

    def listed() -> None:
        raise AssertionError("the paths are listed")

    monkeypatch.setattr(reasons, "MAX_PATHS_EXPLAINED", Limit(3, "paths explained", "the others are only counted"))
    monkeypatch.setattr(guided.goal_progress, "missing", listed)
    total = guided.goal_progress.total
    assert sum(reason.paths for reason in guided.reasons()) == sum(reason.paths for reason in one_by_one) == total


def test_an_answer_that_never_came_elsewhere_is_given_up_after_half_of_the_attempts() -> None:
    attempts = {}
    for is_known_elsewhere in (False, True):
        peer = PeerModel(guidance(QUESTIONS).paths)
        for _ in range(PATIENCE if is_known_elsewhere else 0):
            peer.note_answer("<q>", ("<maybe>", "<no>", "<yes>"), "<no>")
        attempts[is_known_elsewhere] = 0
        while peer.answer_likelihood("<q>", ("<no>", "<yes>"), "<yes>"):
            peer.note_answer("<q>", ("<no>", "<yes>"), "<no>")
            attempts[is_known_elsewhere] += 1
    assert attempts == {False: 8, True: 4}


def test_an_answer_that_came_elsewhere_has_all_its_attempts() -> None:
    peer = PeerModel(guidance(QUESTIONS).paths)
    for answer in ["<no>"] * PATIENCE + ["<yes>"]:
        peer.note_answer("<q>", ("<maybe>", "<no>", "<yes>"), answer)
    for _ in range(10):
        peer.note_answer("<q>", ("<no>", "<yes>"), "<no>")
    assert peer.answer_likelihood("<q>", ("<no>", "<yes>"), "<yes>") > 0


def test_what_was_given_up_has_twice_the_attempts_once_it_is_tried_again_however_many_there_were() -> None:
    peer = PeerModel(guidance(QUESTIONS).paths)
    names, steps = ("<no>", "<yes>"), [("<no>", "<reason>")]
    for _ in range(20 * PATIENCE):
        peer.note_answer("<q>", names, "<no>")
        peer.symbols["<no>"] += 1
    assert (peer.answer_likelihood("<q>", names, "<yes>"), peer.content_likelihood(steps)) == (0, 0)
    peer.retry_given_up()
    attempts = Counter[str]()
    while peer.answer_likelihood("<q>", names, "<yes>"):
        peer.note_answer("<q>", names, "<no>")
        attempts["answer"] += 1
    while peer.content_likelihood(steps) > 0:
        peer.symbols["<no>"] += 1
        attempts["content"] += 1
    assert attempts == {"answer": 2 * PATIENCE * 8 // 20, "content": 2 * PATIENCE}


def many_ways(ways: int) -> str:
    """A dialogue that goes on in many ways, all alike."""
    exchanges = " | ".join(f"<Client:c{way}> <Server:answer> <start>" for way in range(ways))
    commands = "\n".join(f'<c{way}> ::= "c{way}\\n"' for way in range(ways))
    return f'<start> ::= {exchanges} | <Client:bye>\n{commands}\n<answer> ::= "yes\\n" | "no\\n"\n<bye> ::= "bye\\n"'


def test_a_search_that_has_a_plan_explores_only_a_few_new_nodes() -> None:
    guided = guidance(many_ways(40))
    beginning = guided.dialogue_map.beginning
    assert guided.planner.plan([beginning], PlanningContext()) is not None
    following = [edge.to for edge in guided.dialogue_map.edges(beginning)]
    assert 0 < sum(node.is_known for node in following) <= MAX_NEW_NODES_NEARBY < len(following)
