"""Several candidates on one input give the answers that each would give alone."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.matching.candidates import Candidates
from palaver.matching.matcher import MatchProgress

SPEC = palaver.loads(
    r"""
<start> ::= <greeting> | <listing> | <number> | <doubt> | <umlauts>
<greeting> ::= "220 " r"[a-z]*" "\r\n"
<listing> ::= ("220-" r"[a-z]*" "\r\n")* "220 " r"[a-z]*" "\r\n"
<number> ::= r"[0-9]+"
<doubt> ::= "2"* <number>
<umlauts> ::= r"[0-9äöü]+"
"""
)
NAMES = ["<greeting>", "<listing>", "<number>", "<doubt>", "<umlauts>"]


def candidates() -> Candidates[str]:
    return Candidates({name: SPEC.matcher(name, whole=False) for name in NAMES})


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(["2", "20", " a", "-a", "\r\n", "220 ", "ä", "x"]), max_size=8))
def test_each_candidate_answers_as_if_alone(pieces: list[str]) -> None:
    together = candidates()
    alone = {name: SPEC.matcher(name, whole=False) for name in NAMES}
    for piece in pieces:
        data = piece.encode()
        found = together.feed(data)
        for name, matcher in alone.items():
            wanted = matcher.feed(data)
            assert (found[name].complete, found[name].may_go_on) == (wanted.complete, wanted.may_go_on)
            assert (found[name].failed_at, found[name].expected) == (wanted.failed_at, wanted.expected)
    found = together.finish()
    for name, matcher in alone.items():
        assert found[name].complete == matcher.finish().complete


def possible(found: dict[str, MatchProgress]) -> list[str]:
    return [name for name, progress in found.items() if progress.may_go_on or progress.complete]


def test_who_is_dead_stays_dead_and_the_others_go_on() -> None:
    together = candidates()
    found = together.feed(b"22")
    assert possible(found) == NAMES
    found = together.feed(b"0-")
    assert possible(found) == ["<listing>", "<number>", "<doubt>", "<umlauts>"]
    found = together.feed(b"a\r\n220 b\r\n354 ")
    assert found["<listing>"].complete == (14,)
    assert found["<number>"].complete == (1, 2, 3)
    assert not any(progress.may_go_on for progress in found.values())


def test_candidates_are_fresh() -> None:
    matcher = SPEC.matcher("<number>")
    matcher.feed("1")
    with pytest.raises(ValueError, match="read something already"):
        Candidates({"one": matcher})


def test_a_candidate_has_its_trees() -> None:
    matchers = {name: SPEC.matcher(name, whole=False) for name in NAMES}
    found = Candidates(matchers).feed("220 a\r\nrest")
    trees = list(islice(matchers["<greeting>"].trees(found["<greeting>"].longest), 2))
    assert [str(palaver.Tree(node)) for node in trees] == ["220 a\r\n"]
