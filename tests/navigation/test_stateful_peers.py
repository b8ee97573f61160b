"""Peers that remember are covered: the history is varied on purpose, and values are used again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from everyday_peers import EVERYDAY
from guided import campaign, guidance, setup_of
from held_out_peers import HELD_OUT
from later_peers import LATER
from stateful_peers import PEERS, stateful_campaign
from unseen_peers import UNSEEN
from untuned_peers import UNTUNED

import palaver
from palaver.campaign.events import MessageReceived, MessageSent, PlanMade, SessionEnded
from palaver.campaign.run import Budget, Campaign, Until
from palaver.navigation.absorbing_states import AbsorbingStates
from palaver.navigation.coverage import KPaths
from palaver.navigation.learnt_values import EARLIER, ChosenValue, LearntValues
from palaver.navigation.peer_model import PeerModel
from palaver.navigation.preparations import AwaitedAnswer, PreparationKind, Preparations
from palaver.random_source import RandomSource
from palaver.trees.node import Node, NonTerminal
from palaver.trees.tree import Tree


def said(run: Campaign) -> list[bytes]:
    """Whatever is sent and received in a run."""
    return [event.message.data for event in run if isinstance(event, MessageSent | MessageReceived)]


NOBODY_TUNED_FOR = (*UNTUNED, *EVERYDAY, *HELD_OUT, *UNSEEN, *LATER)


def covered_after(messages: int, name: str, *, is_guided: bool) -> int:
    """The number of paths that a run has covered by the end of the session with so many messages."""
    run = stateful_campaign(name, 1, is_guided=is_guided)
    for event in run:
        if isinstance(event, SessionEnded) and run.progress.messages >= messages:
            break
    run.close()
    return run.guidance.goal_progress.reached


@pytest.mark.parametrize("name", UNTUNED)
def test_a_peer_that_nobody_tuned_for_is_covered_better_than_at_random(name: str) -> None:
    assert covered_after(300, name, is_guided=True) > covered_after(300, name, is_guided=False)


# In short sessions a random walk makes three right steps in a row before it is too late, and preparations seldom do.
BEHIND = pytest.param("sticky", marks=pytest.mark.xfail(strict=True, reason="preparations are too long for it"))


@pytest.mark.slow
@pytest.mark.parametrize("name", LATER)
def test_guidance_is_not_behind_a_random_walk_with_later_peers(name: str) -> None:
    assert covered_after(400, name, is_guided=True) >= covered_after(400, name, is_guided=False)


@pytest.mark.parametrize("name", [*EVERYDAY, *HELD_OUT, *(name for name in UNSEEN if name != "sticky"), BEHIND])
def test_guidance_is_not_behind_a_random_walk(name: str) -> None:
    assert covered_after(400, name, is_guided=True) >= covered_after(400, name, is_guided=False)


@pytest.mark.parametrize("name", ["lease", "lock", "mailbox", "shelf", "store"])
def test_pairs_whose_answers_depend_on_the_history_are_covered(name: str) -> None:
    run = stateful_campaign(name, 1, until=Until.PLATEAU, covers_pairs=True).run()
    assert run.guidance.pairs is not None
    assert list(run.guidance.pairs.missing()) == []
    assert run.progress.messages <= 500


@pytest.mark.parametrize("name", [name for name in PEERS if name not in NOBODY_TUNED_FOR])
def test_a_peer_with_a_memory_is_covered(name: str) -> None:
    for seed in (21, 22):
        run = stateful_campaign(name, seed).run()
        goal = run.guidance.goal_progress
        assert (goal.reached, run.progress.findings) == (goal.total, 0)
        assert run.progress.messages <= 1000


@pytest.mark.parametrize("seed", range(10))
def test_a_shelf_is_covered_in_forty_messages(seed: int) -> None:
    run = stateful_campaign("shelf", seed).run()
    assert run.guidance.goal_progress.reached == run.guidance.goal_progress.total
    assert run.progress.messages <= 40


def test_two_users_meet_in_one_room() -> None:
    met = 0
    for seed in (5, 6, 7):
        run = stateful_campaign("chat", seed)
        for event in run:
            if isinstance(event, SessionEnded) and run.progress.messages >= 1500:
                break
            met += isinstance(event, MessageReceived) and event.message.data == b"SAID\n"
        run.close()
    assert met


def test_the_kind_of_preparation_that_pays_is_used_more_often() -> None:
    preparations = Preparations(guidance(PEERS["store"].spec).dialogue_map, RandomSource(1))
    awaited = AwaitedAnswer("<c_get>", "<s_value>", 0, has_come=False)
    kinds: list[PreparationKind] = []
    for _ in range(200):
        kind = preparations.start(awaited, ["<c_get>", "<c_put>"], has_values=True).kind
        kinds.append(kind)
        answer = "<s_value>" if kind is PreparationKind.REPEATED else "<s_none>"
        preparations.note_answer("<c_get>", answer, "<s_value>", is_open=True)
        preparations.drop()
    drawn_kinds = [kind for kind in kinds if kind not in (PreparationKind.AS_BEFORE, PreparationKind.ROUNDS)]
    assert drawn_kinds.count(PreparationKind.REPEATED) > 0.4 * len(drawn_kinds), "a quarter would be its equal share"
    assert set(drawn_kinds) > {PreparationKind.UNIFORM, PreparationKind.SWARM, PreparationKind.RAREST}


def test_names_are_used_again_and_without_learnt_values_they_are_not() -> None:
    for name, seed in (("store", 1), ("lease", 2)):
        fresh = stateful_campaign(name, seed, until=Until.PLATEAU, learns_values=False).run()
        assert fresh.guidance.goal_progress.reached < 0.9 * fresh.guidance.goal_progress.total
        learnt = stateful_campaign(name, seed).run()
        assert learnt.guidance.goal_progress.reached == learnt.guidance.goal_progress.total


def test_a_random_walk_uses_names_again() -> None:
    walk = stateful_campaign("retained", 1, is_guided=False).run()
    assert walk.guidance.goal_progress.reached == walk.guidance.goal_progress.total


def test_seeds_differ_in_the_order_of_their_messages() -> None:
    orders = set()
    for seed in range(5):
        run = stateful_campaign("cart", seed, until=Until.PLATEAU)
        symbols = [event.message.symbol for event in run if isinstance(event, MessageSent)]
        orders.add(tuple(symbols[:20]))
    assert len(orders) >= 4


def test_the_same_seed_gives_the_same_messages() -> None:
    assert said(stateful_campaign("upload", 3)) == said(stateful_campaign("upload", 3))


@pytest.mark.slow
def test_messages_do_not_depend_on_hashes() -> None:
    here = Path(__file__).parent
    code = "import test_stateful_peers as t; print(t.said(t.stateful_campaign('lease', 1)))"
    outputs = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(here)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_a_plan_tells_which_history_and_which_value_it_needs() -> None:
    run = stateful_campaign("lockout", 1)
    run.guidance.guided_strategy.explanations = run._lanes.lanes[0].plans
    told = [event.text for event in run if isinstance(event, PlanMade)]
    assert any("did not come after <c_login>; another history first: " in text for text in told)
    assert any("<user> is '" in text and ", last in <c_login>, answered by <s_denied>" in text for text in told)


def test_a_value_that_was_heard_before_we_said_anything_names_only_that_message() -> None:
    heard = ChosenValue("<n>", ("", "<add>"), Node(NonTerminal("<n>"), ("1",)))
    assert str(heard) == "<n> is '1', last in <add>"
    assert str(heard._replace(last=("<ask>", "<add>"))) == "<n> is '1', last in <ask>, answered by <add>"


def test_what_was_not_seen_is_told_with_the_number_of_histories() -> None:
    run = stateful_campaign("upload", 1, until=Until.PLATEAU, learns_values=False).run()
    reasons = [str(reason) for reason in run.guidance.reasons()]
    assert any("not seen in " in reason and " different histories; got <s_unknown>" in reason for reason in reasons)


# --- What another run has learnt --------------------------------------------------------------------------------------


def after(run: Campaign) -> int:
    """The number of messages until all is covered."""
    goal, count = run.guidance.goal_progress, 0
    for event in run:
        count += isinstance(event, MessageSent | MessageReceived)
        if goal.reached == goal.total:
            break
    run.close()
    return count


def kept(run: Campaign) -> dict[str, Any]:
    """What a run leaves to the next one, as it stands in a file."""
    data: dict[str, Any] = json.loads(json.dumps(run.guidance.as_data()))
    return data


def test_a_run_that_begins_with_what_another_has_learnt_takes_clearly_fewer_messages() -> None:
    alone = informed = 0
    for name in ("counter", "lockout", "queue"):
        for seed in (1, 2):
            learnt = kept(stateful_campaign(name, seed).run())
            alone += after(stateful_campaign(name, 100 + seed))
            second = stateful_campaign(name, 100 + seed)
            second.guidance.learn_from(learnt)
            assert second.guidance.goal_progress.reached == 0
            informed += after(second)
    assert informed <= 0.7 * alone


def test_what_a_run_has_learnt_is_left_to_the_one_after_the_next() -> None:
    first = stateful_campaign("upload", 1).run()
    second = stateful_campaign("upload", 2)
    second.guidance.resume_from(kept(first))
    assert kept(second)["learnt"] == kept(first)["learnt"]
    assert kept(first)["learnt"]["preparations"]["before"]


def test_an_answer_that_another_run_has_prepared_is_prepared_the_same_way_at_once() -> None:
    learnt = kept(stateful_campaign("counter", 1).run())
    run = stateful_campaign("counter", 2)
    run.guidance.learn_from(learnt)
    run.guidance.guided_strategy.explanations = run._lanes.lanes[0].plans
    told = [event.text for event in run if isinstance(event, PlanMade) and "another history first" in event.text]
    assert "what came before it the last time" in told[0]


def test_what_another_run_has_given_up_is_tried_again_by_one_that_only_learns_from_it() -> None:
    deaf = PeerModel(KPaths(palaver.loads('<start> ::= "a"').grammar, 1))
    for _ in range(200):
        deaf.note_answer("<ask>", ("<no>", "<yes>"), "<no>")
    assert deaf.answer_likelihood("<ask>", ("<no>", "<yes>"), "<yes>") == 0
    learning, resuming = (PeerModel(deaf.paths) for _ in range(2))
    learning.add_data(deaf.as_data(), as_hint=True)
    resuming.add_data(deaf.as_data())
    assert 0 < learning.answer_likelihood("<ask>", ("<no>", "<yes>"), "<yes>") < 0.2
    assert resuming.answer_likelihood("<ask>", ("<no>", "<yes>"), "<yes>") == 0


def test_values_of_bytes_and_of_any_text_are_kept() -> None:
    spec = '<start> ::= <Client:ask> <Server:reply>\n<ask> ::= {}\n<reply> ::= "ok"\n<name> ::= {}\n'
    for ask, name, value in (
        ('"A" <name>', 'r"[a-z\\ud800-\\udfff]{4,9}"', "ab\ud800c"),
        ('b"A" <name>', 'rb"[\\x80-\\xff]{4}"', b"\x80\xff\xfe\x81"),
    ):
        first, second = (guidance(spec.format(ask, name)) for _ in range(2))
        assert first.values is not None
        assert second.values is not None
        node = first.spec.read_as("<ask>", ("A" if isinstance(value, str) else b"A") + value)  # type: ignore[operator]
        assert node is not None
        first.values.said("<ask>", node)
        second.values.add_data(json.loads(json.dumps(first.values.as_data())))
        assert [Tree(each).serialised() for each in second.values._classes("<name>")[EARLIER]] == [value]


# --- Values -----------------------------------------------------------------------------------------------------------


def symbols(spec: str) -> tuple[str, ...]:
    return setup_of(spec).spec.analysis.value_symbols


def test_value_symbols_have_many_words_and_are_as_small_as_possible() -> None:
    spec = """
<start>  ::= <Client:ask> <Server:reply>
<ask>    ::= <verb> " " <name> " " <address> "\\n"
<reply>  ::= <code> " " <address> "\\n"
<verb>   ::= "GET" | "PUT"
<code>   ::= r"[0-9]"
<name>   ::= <letter>{3,8}
<letter> ::= r"[a-e]"
<address> ::= <name> "@" <host>
<host>   ::= r"[a-z]+"
"""
    assert symbols(spec) == ("<name>", "<address>", "<host>")


def test_what_a_generator_makes_or_a_repetition_counts_is_no_value() -> None:
    spec = """
<start> ::= <Client:ask> <Server:reply>
<ask>   ::= <length> <word>{int(<length>)} <sum> "\\n"
<reply> ::= <length> <sum> "\\n"
<length> ::= r"[0-9][0-9]?"
<word>  ::= r"[a-c]"
<sum>   ::= r"[0-9]{4}" := "1234"
"""
    assert symbols(spec) == ()


# Only what was inserted can be deleted, so a session cannot begin with that; and nothing is there twice.
JOBS = """
<start>     ::= <exchange>* <Client:quit>
<exchange>  ::= <Client:put> <Server:inserted> | <Client:delete> (<Server:deleted> | <Server:not_found>) | <use>
<use>       ::= <Client:tube> <Server:using>
<put>       ::= "put\\n"
<inserted>  ::= "inserted " <id> "\\n"
<delete>    ::= "delete " <id> "\\n"
<deleted>   ::= "deleted\\n"
<not_found> ::= "not found\\n"
<tube>      ::= "use\\n"
<using>     ::= "using\\n"
<quit>      ::= "quit\\n"
<id>        ::= r"[0-9]{3}"
where forall <d> in <delete>: str(<d>.<id>) in [str(each) for each in *<inserted>.<id>]
"""


def test_what_could_not_be_said_is_tried_again_after_other_messages_of_the_session() -> None:
    # The server does not care what the client has deleted before.
    run = campaign(JOBS, 1, Budget(Until.PLATEAU, None), other=JOBS.partition("where")[0]).run()
    assert run.guidance.is_complete
    assert run.progress.messages <= 60


def node(text: str, symbol: str = "<key>") -> Node:
    spec = setup_of(PEERS["store"].spec).spec
    found = spec.read_as(symbol, text)
    assert found is not None
    return found


def learnt(tied: dict[str, tuple[str, ...]] | None = None, seed: int = 1) -> LearntValues:
    spec = setup_of(PEERS["store"].spec).spec
    return LearntValues(["<key>"], tied or {}, spec.analysis.above, spec.read_as, RandomSource(seed))


def drawn(values: LearntValues, times: int, wanted: str | None = None) -> list[Node | None]:
    found = []
    for _ in range(times):
        values.aim("<c_get>", wanted)
        values.begin()
        found.append(values.recall("<key>"))
    return found


def test_the_class_of_values_that_brought_an_answer_is_preferred() -> None:
    values = learnt()
    good, bad = node("good"), node("badd")
    for _ in range(20):
        values.aim("<c_get>", "<s_value>")
        values.begin()
        values.said("<c_set>", good)
        values.heard("<c_set>", "<s_ok>", node("OK\n", "<s_ok>"), ("<s_ok>",))
        values.said("<c_del>", bad)
        values.heard("<c_del>", "<s_none>", node("NONE\n", "<s_none>"), ("<s_none>",))
        values.aim("<c_get>", "<s_value>")
        values.begin()
        answer = "<s_value>" if values.recall("<key>") == good else "<s_none>"
        values.said("<c_get>", node("else"))
        values.heard("<c_get>", answer, node("NONE\n", "<s_none>"), ("<s_none>", "<s_value>"))
    values.said("<c_set>", good)
    values.heard("<c_set>", "<s_ok>", node("OK\n", "<s_ok>"), ("<s_ok>",))
    assert drawn(values, 30, "<s_value>").count(good) >= 20


def test_a_value_that_is_kept_may_be_renewed_and_is_kept_then() -> None:
    renewed = 0
    for seed in range(8):
        values = learnt(seed=seed)
        values.focus(True)
        values.said("<c_put>", node("abcd"))
        assert drawn(values, 2) == [node("abcd")] * 2
        values.refocus()
        (again,) = drawn(values, 1)
        renewed += again is None
        values.said("<c_put>", node("efgh"))
        assert drawn(values, 2) == [node("efgh")] * 2
    assert 0 < renewed < 8


def test_values_of_an_earlier_session_are_offered_as_such() -> None:
    values = learnt()
    values.said("<c_set>", node("abcd"))
    values.begin_session()
    found = drawn(values, 20)
    assert node("abcd") in found
    assert None in found


@pytest.mark.parametrize(("answer", "least", "most"), [("<s_none>", 0, 8), ("<s_value>", 12, 50)])
def test_values_of_earlier_sessions_are_offered_while_the_peer_remembers_them(
    answer: str, least: int, most: int
) -> None:
    values = learnt()
    values.said("<c_set>", node("abcd"))
    values.begin_session()
    offered = 0
    for number in range(100):
        values.aim("<c_get>")
        values.begin()
        is_earlier = values.recall("<key>") is not None and values.choices[0].last == EARLIER
        offered += is_earlier and number >= 50
        values.said("<c_get>", node("NONE\n", "<s_none>"))
        came = answer if is_earlier else "<s_none>"
        values.heard("<c_get>", came, node("NONE\n", "<s_none>"), ("<s_none>", "<s_value>"))
    assert least <= offered <= most


def test_values_that_were_in_one_message_are_offered_together() -> None:
    spec = setup_of(PEERS["chat"].spec).spec
    values = LearntValues(["<user>", "<room>"], {}, spec.analysis.above, spec.read_as, RandomSource(1))
    pairs = [("Ann", "#one"), ("Bea", "#two"), ("Cat", "#three"), ("Dot", "#four")]
    for user, room in pairs:
        message = spec.read_as("<c_invite>", f"INVITE {user} {room}\n")
        assert message is not None
        values.said("<c_invite>", message)
    known = together = 0
    for _ in range(100):
        values.aim("<c_join>", "<s_joined>")
        values.begin()
        recalled = [values.recall(symbol) for symbol in ("<user>", "<room>")]
        texts = [str(Tree(value)) for value in recalled if value is not None]
        known += len(texts) == 2
        together += tuple(texts) in pairs
    assert known > 30
    assert together > known / 2  # a quarter if they were independent


def test_values_that_the_peer_makes_are_seldom_guessed() -> None:
    fresh = []
    for is_made_by_peer in (False, True):
        values = learnt()
        values.said("<c_set>", node("abcd"))
        values.heard("<c_set>", "<s_ok>", node("efgh") if is_made_by_peer else node("abcd"), ("<s_ok>",))
        count = 0
        for _ in range(60):
            values.aim("<c_get>")
            values.begin()
            count += values.recall("<key>") is None
            values.said("<c_get>", node("NONE\n", "<s_none>"))
        fresh.append(count)
    assert fresh[1] < fresh[0] / 1.5


def test_a_symbol_is_offered_the_values_of_one_that_it_is_compared_with() -> None:
    values = learnt({"<key>": ("<name>",)})
    values.said("<c_set>", node("abcd")._replace(symbol="<name>"))  # type: ignore[arg-type]  # a plain name will do
    assert node("abcd") in drawn(values, 20)


def test_symbols_that_a_constraint_compares_are_tied() -> None:
    spec = """
<start> ::= <Client:ask> <Server:reply>
<ask>   ::= <one> "\\n"
<reply> ::= <two> "\\n"
<one>   ::= r"[a-z]{4}"
<two>   ::= r"[a-z]{4}"
where str(<ask>.<one>) == str(<reply>.<two>)
"""
    assert setup_of(spec).spec.analysis.tied_symbols == {"<one>": ("<two>",), "<two>": ("<one>",)}


def test_a_state_that_nothing_leaves_is_recognised_and_left() -> None:
    states = AbsorbingStates()
    for session in range(4):
        states.begin_session()
        states.note(("<open>", "<opened>"))
        states.note(("<move>", "<moved>"))
        assert not states.is_final, "what was open was shut later"
        states.note(("<open>", "<error>"))
        for _ in range(6):
            states.note(("<open>", "<broken>"))
            states.note(("<move>", "<broken>"))
        assert states.is_final == (session >= 2)


def test_one_other_answer_shows_that_a_state_is_left() -> None:
    states = AbsorbingStates()
    for answer in ("<ok>", "<none>"):
        for message in ("<put>", "<get>"):
            states.begin_session()
            states.note((message, answer))
    states.begin_session()
    for _ in range(40):
        states.note(("<put>", "<ok>"))
        states.note(("<get>", "<none>"))
    assert states.is_final
    states.note(("<get>", "<ok>"))
    assert not states.is_final
