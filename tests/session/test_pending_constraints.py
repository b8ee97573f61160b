"""A constraint on all nodes of a name holds in the end; before their messages are sent, it is pending."""

from __future__ import annotations

import pytest
from driven_session import DrivenSession

import palaver
from amounts import examples, few
from cost import lines_run
from palaver.session.findings import FindingKind, Verdict
from palaver.testing import SessionPair, run_pair

ITEMS = """
<ask> ::= "GET " <n> " " <check> "\\n"
<n> ::= r"[1-9]"
<check> ::= r"[0-9]+"
<answer> ::= (<item> " ")* "\\n"
<item> ::= r"[a-z]+"
"""
FIRST = "<start> ::= <Client:Server:ask> <Server:Client:answer>\n" + ITEMS
LAST = "<start> ::= <Server:Client:answer> <Client:Server:ask>\n" + ITEMS.replace("[1-9]", "[0-9]+")
COUNTS = ["len(*<answer>.<item>) == int(<ask>.<n>)", "|<item>| == int(<n>)", "len(*<start>..<item>) == int(<n>)"]


def talked(text: str, seed: int, other: str | None = None) -> SessionPair:
    return run_pair(palaver.loads(text), palaver.loads(text if other is None else other), seed=seed)


def numbers(pair: SessionPair) -> tuple[int, int]:
    """The numbers of items that were asked for, and that came."""
    said = {each.symbol: each.data.split() for each in pair.caller.said}
    return int(said["<ask>"][1]), len(said["<answer>"])


@pytest.mark.parametrize("count", few(COUNTS))
def test_a_question_may_ask_for_items_that_come_later(count: str) -> None:
    asked = set()
    for seed in range(12):
        pair = talked(f"{FIRST}where {count}", seed)
        assert [session.verdict for session in pair] == [Verdict.PASS] * 2
        wanted, came = numbers(pair)
        assert wanted == came
        asked.add(wanted)
    assert len(asked) > 3


@pytest.mark.parametrize("count", COUNTS)
def test_a_question_that_comes_last_must_fit_the_earlier_messages(count: str) -> None:
    for seed in range(examples(8)):
        pair = talked(f"{LAST}where {count}", seed)
        assert [session.verdict for session in pair] == [Verdict.PASS] * 2
        wanted, came = numbers(pair)
        assert wanted == came


def test_other_constraints_on_the_question_are_solved() -> None:
    for seed in range(examples(8)):
        pair = talked(f"{FIRST}where {COUNTS[0]}\nwhere int(<check>) == int(<n>) * 1001", seed)
        assert [session.verdict for session in pair] == [Verdict.PASS] * 2
        asked = pair.caller.said[0].data.split()
        assert int(asked[2]) == int(asked[1]) * 1001


@pytest.mark.parametrize("count", COUNTS)
def test_an_answer_that_does_not_fit_is_found(count: str) -> None:
    pairs = [talked(f"{FIRST}where {count}", seed, other=FIRST) for seed in range(8)]
    for pair in pairs:
        wanted, came = numbers(pair) if len(pair.caller.said) == 2 else (0, 1)
        kinds = [finding.kind for finding in pair.caller.findings]
        assert kinds == ([] if wanted == came else [FindingKind.CONSTRAINT])
    assert any(pair.caller.findings for pair in pairs)


MANY = """
<start> ::= <Client:ask>{20} <Server:bye>
<ask> ::= "ASK " <word> "\\n"
<word> ::= r"[a-z]{3}"
<bye> ::= "BYE\\n"
"""


def test_what_fails_is_made_right_by_the_first_message_that_can() -> None:
    for seed in range(examples(4)):
        session = DrivenSession(f'{MANY}where any(str(word) == "eve" for word in *<word>)', seed=seed).open()
        asked = session.talk().split(b"\n")
        assert asked[0] == b"ASK eve"
        assert len(set(asked)) > 10


@pytest.mark.parametrize("text, count", [(MANY, "len(*<word>) >= 15"), (FIRST, COUNTS[0])])
def test_what_later_messages_satisfy_costs_no_search(text: str, count: str) -> None:
    free, pending = DrivenSession(text).open(), DrivenSession(f"{text}where {count}").open()
    costs = lines_run(free.talk), lines_run(pending.talk)
    assert free.session.said
    assert len(free.session.said) == len(pending.session.said)
    assert costs[1] < 2.2 * costs[0]


# Only what the peer has inserted may be deleted; it chooses the numbers itself.
SHELF = """
<start> ::= <exchange>* <Client:Server:quit>
<exchange> ::= <Client:Server:put> <Server:Client:inserted> | <Client:Server:delete> <Server:Client:deleted>
<put> ::= "put\\n"
<inserted> ::= "inserted " <id> "\\n"
<delete> ::= "delete " <id> "\\n"
<deleted> ::= "deleted\\n"
<quit> ::= "quit\\n"
<id> ::= r"[1-9][0-9]{0,3}"
where forall <d> in <delete>: str(<d>.<id>) in [str(each) for each in *<inserted>.<id>]
"""
# The same constraint on an answer that comes at once.
ECHO = (
    SHELF.replace("<Server:Client:deleted>", "<Server:Client:inserted>")
    .replace("<deleted>", "<unused>")
    .replace("<Client:Server:put> <Server:Client:inserted> | ", "")
)


@pytest.mark.parametrize("seed", few(range(6), 2))
def test_nothing_is_said_in_the_hope_that_the_peer_happens_to_make_it_right(seed: int) -> None:
    driven = DrivenSession(SHELF, seed=seed).open()
    inserted: list[bytes] = []
    for number in range(1, 40):
        said = driven.talk()
        verb, *words = said.split()
        if verb == b"quit":
            break
        assert verb == b"put" or words[0] in inserted
        if verb == b"put":
            inserted.append(b"%d" % (7 * number))
        driven.hear(b"inserted " + inserted[-1] + b"\n" if verb == b"put" else b"deleted\n")
    assert driven.session.verdict is Verdict.PASS


def test_what_the_answer_is_to_make_right_is_said() -> None:
    deleted = 0
    for seed in range(6):
        driven = DrivenSession(ECHO, seed=seed).open()
        said = driven.talk()
        while said.startswith(b"delete") and deleted < 100:
            deleted += 1
            driven.hear(said.replace(b"delete", b"inserted"))
            said = driven.talk()
        assert said == b"quit\n"
        assert driven.session.verdict is Verdict.PASS
    assert deleted > 3


# What the peer will list is compared with what we have said, and it says all of that when we are done.
LISTED = """
<start> ::= <Client:Server:add>* <Client:Server:done> <Server:Client:echo>*
<add> ::= "add " <n> "\\n"
<done> ::= "done\\n"
<echo> ::= "echo " <n> "\\n"
<n> ::= r"[0-9]{1,3}"
where [str(n) for n in *<echo>.<n>] == [str(n) for n in *<add>.<n>]
"""


def test_what_is_compared_with_later_messages_can_be_said_although_something_else_could() -> None:
    added = 0
    for seed in range(examples(6)):
        driven = DrivenSession(LISTED, seed=seed).open()
        said = driven.talk()
        lines = said.splitlines(keepends=True)
        assert lines.pop() == b"done\n"
        added += len(lines)
        driven.hear(b"".join(lines).replace(b"add", b"echo"))
        driven.wait(10)
        assert driven.session.verdict is Verdict.PASS, driven.session.findings
    assert added > 0


def test_what_is_compared_with_messages_that_may_have_come_before_is_not_left_to_them() -> None:
    bad = SHELF.replace(
        "forall <d> in <delete>: str(<d>.<id>) in [str(each) for each in *<inserted>.<id>]",
        "{str(each) for each in *<delete>.<id>} <= {str(each) for each in *<inserted>.<id>}",
    )
    for seed in range(examples(4)):
        said = DrivenSession(bad, seed=seed).open().talk()
        assert not said.startswith(b"delete"), said
