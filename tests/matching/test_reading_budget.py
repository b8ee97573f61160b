"""Reading has a budget of work: an input that needs more is undecided, neither accepted nor rejected."""

from __future__ import annotations

import time

import pytest

import palaver
from palaver import limits
from palaver.errors import Rejected, Undecided
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
