"""Patterns: read as Python reads them, run as automata that agree with `re`."""

from __future__ import annotations

import re
import warnings
from functools import reduce
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from palaver.regular.charset import ASCII, BYTES, EVERY, CharSet
from palaver.regular.language import Automaton
from palaver.regular.regex import PatternError, compile_pattern

TEXT = st.text("abcKkſK\n é-_1", max_size=7)
ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", r"\w", "K", "k", r"\n", "ſ", r"\W", r"\s", r"[^\w]", "[a-c]", r"\d", r"[\D_]", ""]
)
REPEATS = st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,2}", "{2,}", "{0,3}", "{,2}", "{3,7}?", "{0}"])


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:%s|%s)".__mod__),
        st.tuples(inner, REPEATS).map("(?:%s)%s".__mod__),
        st.tuples(st.sampled_from("isa"), inner).map("(?%s:%s)".__mod__),
        inner.map("(%s)".__mod__),
    )


PLAIN = st.recursive(ATOMS, grow, max_leaves=8)
WIDENED = st.recursive(
    st.one_of(
        ATOMS, st.sampled_from(["^", "$", r"\b", "(?=a)", "(?!ab)", "(?<=a)", r"(?P<x>a|b)?", "(?>a|ab)", "a*+"])
    ),
    grow,
    max_leaves=8,
)


def accepts(automaton: Automaton, text: str) -> bool:
    state = automaton.start
    for char in text:
        assert state.can_go_on or state[char] is None
        following = state[char]
        if following is None:
            return False
        state = following
    return state.accepts


@settings(max_examples=examples(300), deadline=None)
@given(PLAIN, st.lists(TEXT, max_size=8))
def test_the_automaton_of_a_plain_pattern_accepts_what_python_matches(pattern: str, texts: list[str]) -> None:
    regex = compile_pattern(pattern)
    assert regex.is_plain
    for text in texts:
        assert accepts(regex.automaton, text) == (re.fullmatch(pattern, text) is not None)


@settings(max_examples=examples(200), deadline=None)
@given(WIDENED, st.lists(TEXT, max_size=8))
def test_the_automaton_of_any_pattern_accepts_at_least_what_python_matches(pattern: str, texts: list[str]) -> None:
    try:
        python = re.compile(pattern)
    except re.error:
        return  # a name defined twice
    regex = compile_pattern(pattern)
    for text in texts:
        matches = python.fullmatch(text) is not None
        assert regex.matches(text) == matches
        assert accepts(regex.automaton, text) or not matches


@settings(max_examples=examples(100), deadline=None)
@given(PLAIN.filter(str.isascii), st.binary(max_size=6))
def test_bytes_patterns_match_bytes(pattern: str, data: bytes) -> None:
    source = pattern.encode()
    text = data.decode("latin-1")
    if "(?a:" in pattern:
        return  # Python has no such flag for bytes
    regex = compile_pattern(source)
    assert accepts(regex.automaton, text) == (re.fullmatch(source, data) is not None)


def test_widths_are_those_of_the_pattern() -> None:
    assert compile_pattern("ab?c{2,4}").width == (3, 6)
    assert compile_pattern("a+").width == (1, None)
    assert compile_pattern("(?=abc)").width == (0, 0)


def test_the_first_characters_are_known() -> None:
    assert compile_pattern("a?[c-e]|x").automaton.start.next_chars() == CharSet.of("acdex")


@pytest.mark.parametrize("source", ["^a", "a$", r"\ba", "(?=a)", "(?<!a)b", r"(a)\1", "(?>a)", "a*+", "(a)?(?(1)b|c)"])
def test_what_textbooks_do_not_have_is_not_plain(source: str) -> None:
    assert not compile_pattern(source).is_plain


@pytest.mark.parametrize(
    "source, good, bad",
    [
        (r"\p{Lu}+", "ÄÖA", "Äö"),
        (r"\P{L}", "1", "a"),
        (r"\pN", "٣", "x"),
        (r"\p{^Lu}", "a", "A"),
        (r"[^\p{Lu}_]", "a", "_"),
        (r"[\P{Ll}x]", "x", "y"),
        (r"\p{Alphabetic}", "ß", "1"),
        (r"\p{General_Category=Nd}", "7", "x"),
        (r"\p{White_Space}", "\u2003", "x"),
        ("[[:alpha:]_]+", "aß_", "a1"),
        ("[[:^digit:]]", "x", "1"),
        ("[x[:xdigit:]]", "F", "g"),
        ("[][:space:]]", "]", "["),
        (r"\\p{1}", "\\p", "p"),
        (r"[\]:]", "]", "["),
    ],
)
def test_properties_and_posix_classes_are_understood(source: str, good: str, bad: str) -> None:
    automaton = compile_pattern(source).automaton
    assert accepts(automaton, good)
    assert not accepts(automaton, bad)


def test_properties_of_bytes_are_those_of_ascii() -> None:
    automaton = compile_pattern(rb"\p{Lu}").automaton
    assert accepts(automaton, "A")
    assert not accepts(automaton, "Ä")


@pytest.mark.parametrize("name", ["Lu", "Nd", "Zs", "L", "P"])
def test_a_property_is_what_the_unicode_tables_say(name: str) -> None:
    chars = compile_pattern(rf"\p{{{name}}}").automaton.start.next_chars()
    for code in range(0, 0x3000):
        assert (chr(code) in chars) == category(chr(code)).startswith(name)


@pytest.mark.parametrize(
    "source, position, message",
    [
        ("a(b", 1, "unterminated"),
        ("ab[", 2, "unterminated"),
        ("a**", 2, "multiple repeat"),
        (r"x\p{Foo}", 1, "no character property 'Foo'"),
        ("[a[:foo:]]", 2, "no character class"),
        (r"\p{Lu}(", 6, "unterminated"),
        ("(?<=a*)b", 0, "fixed-width"),
        (b"a(", 1, "unterminated"),
        ("(" * 5000, 0, "nested too deeply"),
    ],
)
def test_a_malformed_pattern_says_where_and_why(source: str | bytes, position: int, message: str) -> None:
    with pytest.raises(PatternError, match=message) as caught:
        compile_pattern(source)
    assert caught.value.position == position


def test_no_warning_leaks() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compile_pattern("[[a]").matches("[")
        assert accepts(compile_pattern("[a||b]").automaton, "|")


def test_large_counts_do_not_explode() -> None:
    for source in (".{0,65535}", "a{3,1000}", "(?:a?b?){0,65535}", "(?:[ab]{1,255}){1,255}", "a{1000000000}"):
        state = compile_pattern(source).automaton.start
        for _ in range(100):
            following = state["a"]
            assert following is not None
            state = following
        assert state.can_go_on


def test_what_can_never_match_has_no_future() -> None:
    for source in ("(?!)", "a[^\\x00-\\U0010ffff]", "(?:a(?!))+"):
        start = compile_pattern(source).automaton.start
        assert not start.accepts
    assert not compile_pattern("(?:[^\\x00-\\U0010ffff]a)").automaton.start.can_go_on
    assert compile_pattern("[一-龥]").byte_automaton.start.can_go_on is False


def test_a_state_knows_where_it_goes_round() -> None:
    state = compile_pattern("[a-z]*(?:x|1)").automaton.start
    assert state.loop_chars() == CharSet((97, 120)) | CharSet((121, 123))
    assert state.next_chars() == CharSet((97, 123)) | CharSet.of("1")


SETS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)).map(lambda p: (p[0], p[0] + p[1])), max_size=5)


@given(SETS, SETS)
def test_sets_of_characters_are_sets(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    def members(pairs: list[tuple[int, int]]) -> set[int]:
        return reduce(set.union, (set(range(low, high + 1)) for low, high in pairs), set())

    left, right = CharSet.ranges(one), CharSet.ranges(two)
    results = {"|": left | right, "&": left & right, "-": left - right}
    wanted = {"|": members(one) | members(two), "&": members(one) & members(two), "-": members(one) - members(two)}
    for operator, result in results.items():
        assert members(list(result.pairs())) == wanted[operator]
        assert result.size() == len(wanted[operator])
        assert list(result.bounds) == sorted(set(result.bounds))
    assert bool(left) == bool(one)


def test_the_usual_sets() -> None:
    assert "\x7f" in ASCII
    assert "\x80" not in ASCII
    assert "\xff" in BYTES
    assert "\U0010ffff" in EVERY
