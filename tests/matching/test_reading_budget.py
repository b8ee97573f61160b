"""Reading has a budget of work: an input that needs more is undecided, neither accepted nor rejected."""

from __future__ import annotations

import time
import tracemalloc

import pytest

import palaver
from palaver import limits
from palaver.errors import Rejected, Undecided
from palaver.matching.matcher import Matcher, ReadingBudget
from palaver.matching.matching_limits import MAX_EARLEY_WORK

# Keys and values share their delimiters, so every "=" and ";" may be a delimiter or not.
AMBIGUOUS = """
<start> ::= (<k> "=" <v> ";")* "\\n"
<k> ::= r"[a-z=]+"
<v> ::= r"[a-z=;]*"
"""
WORDS = """
<start> ::= <word>+
<word> ::= r"[a-z]+"
where len(str(<start>)) == 5
"""


def test_an_input_with_too_many_readings_is_undecided() -> None:
    spec = palaver.loads(AMBIGUOUS)
    with limits.recorded() as reached, pytest.raises(Undecided, match="in too many ways"):
        spec.parse("a=b;" * 700 + "\n")
    assert reached[MAX_EARLEY_WORK] == 1


def test_short_ambiguous_inputs_are_decided() -> None:
    spec = palaver.loads(AMBIGUOUS)
    assert str(spec.parse("a=b;" * 50 + "\n")) == "a=b;" * 50 + "\n"
    with pytest.raises(Rejected):
        spec.parse("a=b;" * 50)


def test_a_long_input_that_is_not_ambiguous_is_decided() -> None:
    spec = palaver.loads('<start> ::= <e>\n<e> ::= <e> "+" <t> | <t>\n<t> ::= <t> "*" <f> | <f>\n<f> ::= "1"\n')
    assert len(str(spec.parse("1+1*" * 5000 + "1"))) == 20_001


def test_a_matcher_that_gave_up_does_not_go_on() -> None:
    matcher = palaver.loads(AMBIGUOUS).matcher()
    with pytest.raises(Undecided):
        matcher.feed("a=b;" * 700)
    with pytest.raises(Undecided):
        matcher.feed("\n")


def test_a_constraint_that_rejects_more_derivations_than_are_tried_leaves_the_input_undecided() -> None:
    spec = palaver.loads(WORDS)
    assert str(spec.parse("abcde")) == "abcde"
    with pytest.raises(Rejected):
        spec.parse("abcd")  # eight derivations, all tried
    with pytest.raises(Undecided, match="first 10000 derivations"):
        spec.parse("abcdefghijklmnopqrst")


def test_derivations_of_long_inputs_count_for_more() -> None:
    spec = palaver.loads(WORDS)
    with pytest.raises(Undecided, match="first 4000 derivations"):
        spec.parse("abcde" * 100)


def test_a_pattern_that_makes_re_backtrack_does_not_take_long() -> None:
    spec = palaver.loads('<start> ::= <w> "\\n"\n<w> ::= r"(?:a|a|aa)*(?=.*z)[a-c]*"\n')
    began = time.process_time()
    with pytest.raises(Rejected):
        spec.parse("a" * 40 + "\n")
    assert time.process_time() - began < 1


def test_what_was_generated_is_valid_though_its_text_is_undecided() -> None:
    spec = palaver.loads(WORDS.replace("len(str(<start>)) == 5", "len(*<word>) == 12"))
    tree = next(iter(spec.fuzz(1, seed=1)))
    spec.validate(tree)


# --- what a peer sends ------------------------------------------------------------------------------------------------


def _bounded(text: str, steps: int = 10**9, depth: int = 10**9) -> Matcher:
    matcher = palaver.loads(text).matcher()
    matcher.budget = ReadingBudget(steps, depth)
    return matcher


def test_matchers_share_a_budget() -> None:
    ambiguous, also = palaver.loads(AMBIGUOUS).matcher(), palaver.loads(AMBIGUOUS).matcher()
    ambiguous.budget = also.budget = ReadingBudget(4_000, depth=100)
    ambiguous.feed("a=b;" * 10)
    with pytest.raises(Undecided):
        also.feed("a=b;" * 100)
    with pytest.raises(Undecided):
        ambiguous.feed("a=b;")


def test_a_budget_counts_what_a_pattern_makes_for_later_positions() -> None:
    matcher = _bounded(AMBIGUOUS, steps=20_000)
    with limits.recorded() as reached, pytest.raises(Undecided, match="the first 60000 characters"):
        matcher.feed("a=" + "b;" * 29_999)
    assert reached[MAX_EARLEY_WORK] == 1


def test_a_parser_that_gave_up_keeps_nothing() -> None:
    matcher = _bounded(AMBIGUOUS, steps=100_000)
    tracemalloc.start()
    try:
        with pytest.raises(Undecided):
            matcher.feed("a=b;" * 1000)
        kept, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < most / 4


def test_an_input_that_only_opens_rules_is_undecided() -> None:
    brackets = '<start> ::= "(" <start>* ")" | "x"\n'
    assert _bounded(brackets, depth=50).feed("(" * 50 + "x" + ")" * 49).may_go_on
    with pytest.raises(Undecided, match="nested deeper than 50 rules"):
        _bounded(brackets, depth=50).feed("(" * 52)


def test_where_a_long_input_fails_is_known_although_it_is_not_known_what_could_stand_there() -> None:
    lines = '<start> ::= <line>* ".\\n"\n<line> ::= r"[a-z]+" "\\n"\n'
    progress = _bounded(lines, steps=1_000).feed("ab\n" * 1_000 + "!\n")
    assert (progress.failed_at, progress.expected) == (3_000, ())
    progress = _bounded(lines).feed("ab\n" * 1_000 + "!\n")
    assert (progress.failed_at, progress.expected) == (3_000, ("'.\\n'", "r'[a-z]+'"))
