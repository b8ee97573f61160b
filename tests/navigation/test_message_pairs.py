"""Pairs of messages in time: counted as they come, told apart from what cannot be, and covered by plans."""

from __future__ import annotations

import json

from guided import campaign, guidance
from test_guided_strategy import LADDER, LOGIN, QUESTIONS

from palaver.campaign.events import MessageReceived, MessageSent, SessionStarted
from palaver.campaign.run import Campaign
from palaver.navigation.message_pairs import MessagePairs
from palaver.navigation.navigation_limits import MAX_MESSAGES_WITH_PAIRS


def pairs_of(run: Campaign) -> MessagePairs:
    assert run.guidance.pairs is not None
    return run.guidance.pairs


def exchanges(count: int) -> str:
    """A dialogue of so many exchanges, in any order."""
    rules = [f'<a{n}> ::= "a{n}\\n"\n<b{n}> ::= "b{n}\\n"\n' for n in range(count)]
    return f"<start> ::= ({' | '.join(f'<Client:a{n}> <Server:b{n}>' for n in range(count))})*\n" + "".join(rules)


def test_the_pairs_that_are_counted_are_those_of_the_sessions() -> None:
    run = campaign(LOGIN, 1, covers_pairs=True)
    seen: set[tuple[str, str]] = set()
    before: list[str] = []
    for event in run:
        if isinstance(event, SessionStarted):
            before = []
        elif isinstance(event, MessageSent | MessageReceived):
            seen.update((earlier, event.message.symbol) for earlier in before)
            before.append(event.message.symbol)
    assert len(seen) == pairs_of(run).reached


def test_only_feasible_pairs_are_counted() -> None:
    pairs = guidance(LOGIN, covers_pairs=True).pairs
    assert pairs is not None
    missing = set(pairs.missing())
    assert len(missing) == pairs.total
    assert ("<noop>", "<bye>") in missing
    assert ("<noop>", "<user>") not in missing  # nobody logs in twice
    assert ("<bye>", "<noop>") not in missing


def test_nobody_aims_for_pairs_of_what_is_only_noted() -> None:
    spec = exchanges(3)
    noted = (
        spec.replace("<Client:a2> <Server:b2>", "<odd>")
        + "# [note] an odd exchange\n<odd> ::= <Client:a2> <Server:b2>\n"
    )
    assert [pairs_of(campaign(each, covers_pairs=True)).total for each in (spec, noted)] == [6 * 6, 4 * 4]


def test_all_feasible_pairs_are_covered() -> None:
    for spec in (LOGIN, QUESTIONS, LADDER):
        run = campaign(spec, 2, covers_pairs=True, k=3).run()
        assert list(pairs_of(run).missing()) == []
        assert run.progress.ended.endswith(f"paths and {pairs_of(run).total} pairs are covered")
        assert {name: (reached, total) for name, reached, total in run.coverage.views}["pairs"] == (
            pairs_of(run).reached,
            pairs_of(run).total,
        )


def test_affordable_pairs_come_after_paths_and_take_about_half_of_their_messages() -> None:
    for spec in (LOGIN, QUESTIONS, LADDER):
        alone = campaign(spec, 2, k=3).run()
        both = campaign(spec, 2, covers_pairs=None, k=3).run()
        assert both.progress.ended.startswith("goal reached after ")
        assert both.guidance.goal_progress.reached == both.guidance.goal_progress.total
        assert pairs_of(both).reached >= 0.5 * pairs_of(both).total
        assert both.progress.messages <= 1.5 * alone.progress.messages + 10, "and the way to the end of the session"


def test_pairs_that_are_not_affordable_are_told() -> None:
    run = campaign(exchanges(10), 2, covers_pairs=None, k=3).run()
    reached, total = pairs_of(run).reached, pairs_of(run).total
    assert reached < total
    assert run.progress.ended.endswith(f"paths are covered, and {reached} of {total} pairs")


def test_a_budget_for_pairs_that_is_used_up_stays_used_up() -> None:
    # The way to the end of the session says something, too: it must not make the budget larger.
    for seed in range(1, 6):
        run = campaign(QUESTIONS, seed, covers_pairs=None, k=3)
        were_over = [pairs_of(run).is_over for event in run if isinstance(event, MessageSent | MessageReceived)]
        rest = were_over[were_over.index(True, 2) :]
        assert all(rest), seed
        assert run.progress.ended.startswith("goal reached after ")


def test_pairs_of_many_messages_are_not_affordable() -> None:
    few = exchanges(MAX_MESSAGES_WITH_PAIRS // 2)
    many = few.replace("<start> ::= ", '<hello> ::= "hello\\n"\n<start> ::= <Client:hello> ')
    assert guidance(few, covers_pairs=None).pairs is not None
    assert guidance(many, covers_pairs=None).pairs is None


def test_pairs_survive_as_data() -> None:
    run = campaign(LOGIN, 1, covers_pairs=True).run()
    copy = guidance(LOGIN, covers_pairs=True)
    copy.resume_from(json.loads(json.dumps(run.guidance.as_data())))
    assert copy.pairs is not None
    assert list(copy.pairs.missing()) == list(pairs_of(run).missing()) == []
    assert copy.pairs.reached == pairs_of(run).reached


def test_pairs_that_never_come_are_given_up() -> None:
    curt = QUESTIONS.replace("| <Server:perhaps> <Client:more> <Server:detail>", "")
    run = campaign(QUESTIONS, 1, other=curt, covers_pairs=True).run()
    assert run.progress.ended.startswith("plateau after ")
    missing = list(pairs_of(run).missing())
    assert missing
    assert all({"<perhaps>", "<more>", "<detail>"} & set(pair) for pair in missing)
    assert run.progress.messages < 1000
