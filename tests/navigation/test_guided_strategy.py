"""Guided sessions cover the whole spec, and give up what cannot be reached."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from guided import campaign, covered, guidance

from palaver.campaign import stopping
from palaver.campaign.events import Event, PhaseChanged, PlanMade, SessionEnded, SessionStarted
from palaver.campaign.run import Budget, Phase, Until
from palaver.navigation.coverage import Coverage
from palaver.navigation.goals import CoverageGoal
from palaver.navigation.navigation_limits import PATIENCE
from palaver.session.engine import Session
from palaver.trees.node import Node

ROOT = Path(__file__).parent.parent.parent

MAIL = (ROOT / "benchmarks" / "talking" / "smtp.fan").read_text()

# A ladder of which each rung has a trap that leads back to the ground.
RUNGS = 10
LADDER = (
    "<start> ::= <l0>\n"
    + "".join(
        f"<l{rung}> ::= <up{rung}> <l{rung + 1}> | <fall{rung}> <l0> | <leave>\n"
        f"<up{rung}> ::= <Client:key{rung % 4}> <Server:climb>\n<fall{rung}> ::= <Client:wrong> <Server:drop>\n"
        for rung in range(RUNGS)
    )
    + f"<l{RUNGS}> ::= <Client:crown> <Server:gold> <leave>\n<leave> ::= <Client:bye> <Server:goodbye>\n"
    + "".join(f'<key{number}> ::= "k{number}" <arg>\n' for number in range(4))
    + '<arg> ::= "x" | "y" | "z"\n<climb> ::= "up" <note>?\n<note> ::= r"[a-z]"\n<wrong> ::= "w"\n<drop> ::= "d"\n'
    + '<crown> ::= "c" <arg>\n<gold> ::= "g"\n<bye> ::= "b"\n<goodbye> ::= "e"\n'
)

# A login is ambiguous until the password comes.
LOGIN = """
<start>  ::= <out>
<out>    ::= <bad> <out> | <good> <in> | <quit>
<good>   ::= <Client:user> <Server:ask> <Client:word> <Server:yes>
<bad>    ::= <Client:user> <Server:ask> <Client:wrong> <Server:no>
<in>     ::= <ping> <in> | <quit>
<ping>   ::= <Client:noop> <Server:ok>
<quit>   ::= <Client:bye> <Server:end>
<user>   ::= "USER " <name> "\\n"
<name>   ::= "joe" | "eve"
<word>   ::= "PASS right\\n"
<wrong>  ::= "PASS wrong\\n"
<ask>    ::= "331\\n"
<yes>    ::= "230\\n"
<no>     ::= "530\\n"
<noop>   ::= "NOOP\\n"
<ok>     ::= "200\\n"
<bye>    ::= "QUIT\\n"
<end>    ::= "221\\n"
"""

QUESTIONS = """
<start>   ::= <Client:q> <answer> <start> | <Client:bye>
<answer>  ::= <Server:yes> | <Server:no> | <Server:perhaps> <Client:more> <Server:detail>
<q>       ::= "q" <x> "\\n"
<x>       ::= "1" | "2" | "3"
<yes>     ::= "yes " <reason> "\\n"
<reason>  ::= "because" | "why not"
<no>      ::= "no\\n"
<perhaps> ::= "perhaps\\n"
<more>    ::= "more\\n"
<detail>  ::= "detail\\n"
<bye>     ::= "bye\\n"
"""
# The same, by a peer that never says perhaps, and knows one reason only.
CURT = QUESTIONS.replace("| <Server:perhaps> <Client:more> <Server:detail>", "").replace('| "why not"', "")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("follows_the_paper", [False, True], ids=["gain", "paper"])
@pytest.mark.parametrize("spec", [MAIL, LOGIN, QUESTIONS], ids=["mail", "login", "questions"])
def test_everything_is_covered(spec: str, follows_the_paper: bool, seed: int) -> None:
    run = campaign(spec, seed, follows_the_paper=follows_the_paper)
    reached, total = covered(run)
    assert reached == total
    assert run.progress.ended.startswith("goal reached after ")
    assert run.progress.findings == 0


def test_the_counted_paths_are_those_of_the_session_trees() -> None:
    run = campaign(LOGIN, 1)
    truth = Coverage(run.guidance.paths)
    sessions: list[Session | None] = []

    def add(event: Event) -> None:
        if isinstance(event, SessionStarted):
            sessions.append(run._lanes.lanes[0].session)
        elif isinstance(event, SessionEnded):
            session = sessions[-1]
            assert session is not None
            (hypothesis,) = session._forecast.hypotheses  # those of the session itself
            tree = hypothesis.complete_tree()
            assert isinstance(tree, Node)
            truth.add(tree)

    run.attach(add).run()
    assert set(run.guidance.coverage.covered()) == set(truth.covered())


def test_a_ladder_with_traps_is_climbed_to_the_top_and_a_random_walk_never_gets_there() -> None:
    guided = campaign(LADDER, k=3)
    reached, total = covered(guided)
    assert reached == total
    messages = guided.progress.messages
    walked = campaign(LADDER, 1, Budget(Until.FOREVER, sessions=10_000), k=3, is_guided=False)
    next(event for event in walked if walked.progress.messages >= 3 * messages)
    assert walked.guidance.goal_progress.reached < 0.75 * total
    assert ("<crown>",) not in walked.guidance.coverage


def test_a_random_walk_notices_when_everything_is_covered() -> None:
    run = campaign(LOGIN, 1, Budget(Until.COVERAGE), is_guided=False)
    reached, total = covered(run)
    assert reached == total
    assert run.progress.phase is Phase.UNGUIDED


def test_plans_by_gain_per_cost_take_fewer_messages_than_drawn_targets() -> None:
    gained = [campaign(MAIL, seed) for seed in range(3)]
    drawn = [campaign(MAIL, seed, follows_the_paper=True) for seed in range(3)]
    for run in (*gained, *drawn):
        run.run()
    assert sum(run.progress.messages for run in gained) < sum(run.progress.messages for run in drawn)


# --- Answers that never come ------------------------------------------------------------------------------------------


def test_an_answer_that_never_comes_is_given_up_with_the_reason() -> None:
    run = campaign(QUESTIONS, other=CURT)
    reached, total = covered(run)
    assert reached < total
    assert run.progress.ended.startswith("plateau after ")
    reasons = list(map(str, run.guidance.reasons()))
    assert len(reasons) == 2
    assert reasons[0].startswith(f"{total - reached - 5} paths; the peer never answered <q> with <perhaps> (")
    assert reasons[0].endswith("; got <no>, <yes>)")
    assert reasons[1].startswith("5 paths; the peer never sent 'why not' in <reason> (")
    assert reasons[1].endswith("; got 'because')")


def test_until_coverage_tries_again_what_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "MAX_RETRIES", 2)
    run = campaign(QUESTIONS, budget=Budget(Until.COVERAGE), other=CURT)
    once = campaign(QUESTIONS, other=CURT)
    once.run()
    retried_at = [run.progress.messages for event in run if isinstance(event, PhaseChanged)]
    assert run.progress.messages > 2 * once.progress.messages
    first, second = (later - sooner for sooner, later in pairwise([*retried_at, run.progress.messages]))
    assert 2 * PATIENCE <= first < second
    assert run.progress.ended.startswith("plateau after ")


def test_a_peer_that_hangs_up_is_a_finding_and_the_run_ends() -> None:
    dying = LOGIN.replace("<out>    ::= <bad> <out> |", "<out>    ::= <bad> |")  # one wrong password, and it is over
    run = campaign(LOGIN, other=dying)
    reached, total = covered(run)
    assert run.progress.findings
    assert reached < total
    assert run.progress.ended.startswith("plateau after ")


def test_a_peer_that_always_ends_the_session_is_given_up() -> None:
    shop = """
        <start> ::= <Client:offer> <deal>? | <Client:price> <Server:thanks>
        <deal>  ::= <Server:order> <Client:bill> <Server:money>
        <offer> ::= "offer\\n"
        <order> ::= "order " <goods> "\\n"
        <goods> ::= "tea" | "salt" | "silk"
        <bill>  ::= "bill\\n"
        <money> ::= "money\\n"
        <price> ::= "price\\n"
        <thanks> ::= "thanks\\n"
    """
    run = campaign(shop, other=shop.replace("<Client:offer> <deal>?", "<Client:offer>"))
    covered(run)
    assert run.progress.findings == 0
    assert run.progress.ended.startswith("plateau after ")
    assert run.progress.sessions < 100
    (reason,) = map(str, run.guidance.reasons())
    assert "the peer never answered <offer> with <order> (" in reason
    assert reason.endswith("; got end of session)")


def test_constraints_that_forbid_a_value_end_the_search_for_it() -> None:
    run = campaign(LOGIN + 'where <name> != "eve"\n')
    reached, total = covered(run)
    assert reached < total
    assert ["we never sent 'eve' in <name>" in str(reason) for reason in run.guidance.reasons()] == [True]


# --- Goals ------------------------------------------------------------------------------------------------------------


def test_each_goal_contains_the_smaller_ones_which_take_fewer_messages() -> None:
    runs = {goal: campaign(QUESTIONS, 1, goal=goal) for goal in CoverageGoal}
    sizes = [covered(run) for run in runs.values()]
    assert all(reached == total for reached, total in sizes)
    assert [total for _, total in sizes] == sorted({total for _, total in sizes})
    messages = [run.progress.messages for run in runs.values()]
    assert messages == sorted(messages)
    assert messages[0] < messages[-1]


# --- Reproducibility --------------------------------------------------------------------------------------------------

PROGRAM = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from guided import campaign
from test_guided_strategy import LOGIN
from palaver.campaign.events import PlanMade
run = campaign(LOGIN, 7, plans=True)
print([event.text for event in run if isinstance(event, PlanMade)])
print(list(run.guidance.coverage.covered()))
"""


def test_plans_and_paths_do_not_depend_on_hashes() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert b"target " in outputs[0]


def test_the_same_seed_gives_the_same_plans_and_another_one_is_as_good() -> None:
    plans: list[list[str]] = []
    for seed in (3, 3, 4):
        run = campaign(MAIL, seed, plans=True)
        plans.append([event.text for event in run if isinstance(event, PlanMade)])
        assert run.guidance.goal_progress.reached == run.guidance.goal_progress.total
    assert plans[0] == plans[1]


# --- Between runs -----------------------------------------------------------------------------------------------------


def test_a_run_continues_where_another_one_stopped() -> None:
    first = campaign(MAIL, 1, Budget(Until.PLATEAU, sessions=2))
    first.run()
    reached = first.guidance.goal_progress.reached
    assert reached < first.guidance.goal_progress.total
    second = campaign(MAIL, 2)
    second.guidance.resume_from(first.guidance.as_data())
    assert second.guidance.goal_progress.reached == reached
    second.run()
    whole = campaign(MAIL, 2)
    whole.run()
    assert second.guidance.goal_progress.reached == second.guidance.goal_progress.total
    assert second.progress.messages < whole.progress.messages


def test_the_next_run_knows_what_was_given_up() -> None:
    first = campaign(QUESTIONS, other=CURT)
    first.run()
    second = campaign(QUESTIONS, 1, other=CURT)
    second.guidance.resume_from(first.guidance.as_data())
    second.run()
    assert second.progress.messages < first.progress.messages / 3


def test_a_run_without_end_continues_at_random_after_its_goal() -> None:
    run = campaign(LOGIN, 1, Budget(Until.FOREVER, sessions=40))
    told = [event.text for event in run if isinstance(event, PhaseChanged)]
    assert run.progress.sessions == 40
    assert run.progress.phase is Phase.UNGUIDED
    (switch,) = told
    assert switch.endswith("; continuing unguided")
    assert run.progress.goal_after is not None
    assert run.progress.goal_after[1] < 40


def test_plans_are_explained_with_their_targets_and_reasons() -> None:
    run = campaign(QUESTIONS, 1, plans=True)
    told = [event.text for event in run if isinstance(event, PlanMade)]
    assert any(each.startswith("target <start> > ") and "; plan: <q>, " in each for each in told)
    assert any(each.startswith("plan dropped: the peer sent <") and each.endswith(" was planned") for each in told)


def test_the_total_of_the_goal_is_the_number_of_paths() -> None:
    guided = guidance(MAIL)
    assert guided.goal_progress.total == guided.paths.count() == 400
