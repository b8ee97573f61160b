"""Patterns that are not plain are matched in bounded work, with the answers of Python's `re`."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from palaver.errors import Undecided
from palaver.regular.pattern_matching import backtracking_cost, matches_at_all
from palaver.regular.regex import compile_pattern

_ATOMS = st.sampled_from(
    ["a", "b", "[ab]", ".", "\\n", "^", "$", "\\A", "\\Z", "\\b", "\\B", "(?i:A)", "(?m:^)", "(?m:$)"]
)


def _wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: f"(?:{'|'.join(options)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
        st.tuples(st.sampled_from(["(?=", "(?!"]), inner).map(lambda pair: f"{pair[0]}{pair[1]})"),
        st.tuples(st.sampled_from(["(?<=", "(?<!"]), st.sampled_from(["a", "ab", "[ab]b", "\\n", "^a"])).map(
            lambda pair: f"{pair[0]}{pair[1]})"
        ),
    )


@settings(max_examples=examples(400))
@given(st.recursive(_ATOMS, _wrapped, max_leaves=8), st.text("aAb\n ", max_size=8))
def test_sets_of_places_answer_as_re_does(pattern: str, text: str) -> None:
    if not text:
        return  # \B of an empty text differs between versions of Python; such texts are left to it
    regex = compile_pattern(pattern)
    assert regex.parsed.is_memoryless
    assert matches_at_all(regex.syntax, text, pattern) == (re.compile(pattern).fullmatch(text) is not None)
    assert regex.verify(text) == regex.matches(text)


@pytest.mark.parametrize(
    "pattern", [r"(?:a|a|aa)*(?=.*z)[a-c]*", r"(?=.*z)(a+)+", r"(?!.*z)(?:a*)*b", r"(?=z)?" + "a?" * 40 + "a" * 40]
)
def test_a_text_made_to_backtrack_is_decided_at_once(pattern: str) -> None:
    regex = compile_pattern(pattern)
    began = time.process_time()
    assert not regex.verify("a" * 3000)
    assert time.process_time() - began < 2


def test_what_only_backtracking_can_decide_is_undecided_where_that_may_take_for_ever() -> None:
    regex = compile_pattern(r"(a+)+\1b")
    assert regex.verify("aab")
    with pytest.raises(Undecided, match="3000 characters"):
        regex.verify("a" * 3000)


@pytest.mark.parametrize("pattern", [r"(['\"])(?:\\.|[^\\])*?\1", r"(?:(?!END).)*END", r"(?!QUIT)[A-Z]+ [a-z]*"])
def test_usual_patterns_with_look_around_and_back_references_are_left_to_re(pattern: str) -> None:
    cost = backtracking_cost(compile_pattern(pattern).syntax)
    assert cost is not None
    assert cost.is_small(2000)
