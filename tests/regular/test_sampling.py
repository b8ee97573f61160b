"""Strings drawn from regular expressions match them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.random_source import RandomSource
from palaver.regular.regex import compile_pattern
from palaver.regular.words import compile_draw

PATTERNS = [
    "abc", "[a-f]{2,3}", "a*b+c?", "(ab|cd)+", "x|xy|", r"\d\D\s\S\w\W", ".", "(?s:.)", "[^a-z]", "(?i)yes",
    "(?i:[k-m])x", r"(['\"])[a-z]*\1", r"(a)?(?(1)b|c)", "(?=a)[a-c]", "(?!b)[a-c]", "^a$", r"a\b", "(?>a+)b", "a{0}",
    "[\u4e00-\u9fff]{3}", "[^\x00-\uffff]", "(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", "", r"\x41\n", "a+?", "[ -~]{0,300}",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_what_is_drawn_from_a_pattern_matches_it(pattern: str, seed: int) -> None:
    draw = compile_draw(compile_pattern(pattern), binary=False, most=20)
    drawn = draw(RandomSource(seed))
    assert isinstance(drawn, str)
    assert re.fullmatch(pattern, drawn)


@pytest.mark.parametrize("pattern", [b"[\\x80-\\xff]{3}", b".", b"(a|\\xfe)+", b"(?i)k", b"\\w\\W", b"(.)\\1"])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_what_is_drawn_from_a_bytes_pattern_is_bytes_and_matches_it(pattern: bytes, seed: int) -> None:
    draw = compile_draw(compile_pattern(pattern), binary=True, most=20)
    drawn = draw(RandomSource(seed))
    assert isinstance(drawn, bytes)
    assert re.fullmatch(pattern, drawn)


def test_text_patterns_in_a_binary_message_stay_within_a_byte() -> None:
    draw = compile_draw(compile_pattern(r"[^a]\w."), binary=True, most=20)
    chance = RandomSource(3)
    drawn = [draw(chance) for _ in range(200)]
    assert all(isinstance(each, bytes) and re.fullmatch(r"[^a]\w.", each.decode("latin-1")) for each in drawn)


def test_a_drawn_class_is_spread_over_all_its_members() -> None:
    draw = compile_draw(compile_pattern("[a-z0-9]{40}"), binary=False, most=20)
    chance = RandomSource(1)
    assert len(set("".join(str(draw(chance)) for _ in range(20)))) == 36
