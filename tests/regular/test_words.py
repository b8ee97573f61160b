"""Words keep all conditions, none is missed, and each is as likely as the next."""

import re
from collections import Counter
from functools import cache
from itertools import islice, product
from typing import TypeAlias

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.grammar.symbol_languages import Languages
from palaver.random_source import RandomSource
from palaver.regular.charset import CharSet
from palaver.regular.language import Language
from palaver.regular.words import (
    CharAt,
    Contains,
    EndsWith,
    InRange,
    NoneOf,
    Remainder,
    StartsWith,
    WordCondition,
    Words,
    are_digits,
    has_words,
    of_length,
    possible_lengths,
    spelled,
    spells_all,
)


def language(body: str, rest: str = "") -> Language:
    spec = palaver.loads(f"<start> ::= <x>\n<x> ::= {body}\n<bit> ::= 0 | 1\n{rest}")
    found = Languages(spec.grammar.rules, binary=spec.is_binary).of("<x>")
    assert found is not None
    return found


def draws(words: Words, count: int) -> list[str]:
    chance = RandomSource(7)
    return [word for _ in range(count) if (word := words.draw(chance)) is not None]


# --- against brute force ----------------------------------------------------------------------------------------------

# What each field looks like in a spec, what it is in Python, and its characters.
_FIELDS = [
    ('r"[0-9]{1,3}"', r"[0-9]{1,3}", "0123456789"),
    ('r"[1-9][0-9]{0,2}" | "0"', r"[1-9][0-9]{0,2}|0", "0123456789"),
    ('"0"{2} r"[0-9]"{1,2}', r"00[0-9]{1,2}", "0123456789"),
    ('r"[-+]?[0-9]{1,2}"', r"[-+]?[0-9]{1,2}", "-+0123456789"),
    ('r"0x[0-9a-c]{1,2}"', r"0x[0-9a-c]{1,2}", "0x123456789abc"),
    ('r"[0-3a-bA-B]{0,3}"', r"[0-3a-bA-B]{0,3}", "0123abAB"),
    ('r"[0-7]{3}"', r"[0-7]{3}", "01234567"),
    ("<bit>{0,6}", r"[01]{0,6}", "01"),
    ("<bit> <bit>? (1 | 0 0)*", r"[01]{1,2}(1|00)*", "01"),
    ('("ab" | "a" | "bab"){0,3} "a"?', r"(ab|a|bab){0,3}a?", "ab"),
    ('"a"* ("b" | "abc"?)', r"a*(b|(abc)?)", "abc"),
    ('("ab")* | ("bba")+', r"(ab)*|(bba)+", "ab"),
    ('"x" ("ab" | "ba"){1,2} r"[0-9]"?', r"x(ab|ba){1,2}[0-9]?", "xab0123456789"),
    ('""', "", "a"),
    ('r"[0-9]*"', r"[0-9]*", "0123456789"),
    ('r"[^\\x00-\\U0010ffff]"', r"[^\x00-\U0010ffff]", "a"),
    ('rb"[\\x00-\\x02a]{0,3}"', r"[\x00-\x02a]{0,3}", "\x00\x01\x02a"),
]  # fmt: skip
_MOST = {10: 3, 11: 3, 12: 4, 13: 3}  # by the number of characters: how long the enumerated words are


@cache  # also because whoever only collects tests needs none of them
def every_word(number: int) -> tuple[str, str, list[str]]:
    """A field, its characters, and its words by brute force."""
    body, pattern, chars = _FIELDS[number]
    matches = re.compile(pattern).fullmatch
    lengths = range(_MOST.get(len(chars), 6) + 1)
    every = ("".join(word) for length in lengths for word in product(chars, repeat=length))
    return body, chars, [word for word in every if matches(word)]


_LANGUAGES = [language(body) for body, _, _ in _FIELDS]


@pytest.mark.parametrize("number", range(len(_FIELDS)), ids=lambda number: _FIELDS[number][0])
def test_whether_there_are_so_many_words_is_told_as_by_brute_force(number: int) -> None:
    _, chars, words = every_word(number)
    of_field = _LANGUAGES[number]
    is_whole = of_field.longest is not None and of_field.longest <= _MOST.get(len(chars), 6)
    for enough in (1, 2, 3, 5, 17, 100):
        if is_whole or len(words) >= enough:
            found = has_words(of_field, enough)
            assert found is (len(words) >= enough) or (found is None and not words)


def test_many_words_are_told_without_looking_at_long_ones() -> None:
    assert has_words(language('r"[a-z]{1,60000}"'), 17) is True
    assert has_words(language('r"[ab]{50000}"'), 17) is True
    assert has_words(language('r"a{50000}"'), 17) is None


def value_of(word: str, base: int, empty: int | None) -> int | None:
    """What a word is worth, by Python's own means."""
    if not word:
        return empty
    if base == 256:
        return int.from_bytes(word.encode("latin-1"), "big")
    # Python also reads signs, prefixes ("0b1") and other digits; there `are_digits` says no.
    return int(word, base) if all(char in "0123456789abcdef"[:base] for char in word.lower()) else None


def keeps(word: str, condition: WordCondition) -> bool:
    match condition:
        case InRange(base, low, high, empty):
            value = value_of(word, base, empty)
            return value is not None and low <= value and (high is None or value <= high)
        case Remainder(base, modulus, allowed, empty):
            value = value_of(word, base, empty)
            return value is not None and value % modulus in allowed
        case StartsWith(text):
            return word.startswith(text)
        case EndsWith(text):
            return word.endswith(text)
        case Contains(text):
            return text in word
        case NoneOf(words):
            return word not in words
        case CharAt(index, chars):
            return -len(word) <= index < len(word) and word[index] in chars


def conditions_over(chars: str, words: list[str]) -> st.SearchStrategy[WordCondition]:
    texts = st.text(chars, max_size=3)
    bases = st.sampled_from([2, 8, 10, 16, 256])
    numbers = st.one_of(st.integers(-2, 30), st.integers(0, 1000), st.integers(0, 1 << 24))
    worth = st.sampled_from([None, 0])
    members = st.sampled_from(words) if words else st.just("a")
    return st.one_of(
        st.builds(InRange, bases, numbers, st.none() | numbers, worth),
        st.builds(lambda base, low, size: InRange(base, low, low + size), bases, numbers, st.integers(0, 9)),
        st.builds(Remainder, bases, st.integers(1, 64), st.lists(st.integers(-1, 9), max_size=3).map(tuple), worth),
        st.builds(StartsWith, texts),
        st.builds(EndsWith, texts),
        st.builds(Contains, texts),
        st.builds(NoneOf, st.lists(members | texts, max_size=6).map(tuple)),
        st.builds(CharAt, st.integers(-4, 4), st.lists(st.sampled_from(chars), max_size=4).map(CharSet.of)),
    )


Demand: TypeAlias = tuple[int, tuple[WordCondition, ...], int, int]


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    number = draw(st.integers(0, len(_FIELDS) - 1))
    _, chars, words = every_word(number)
    longest = _MOST.get(len(chars), 6)
    conditions = draw(st.lists(conditions_over(chars, words), max_size=3).map(tuple))
    least = draw(st.integers(0, longest) | st.just(0))
    most = draw(st.integers(0, longest) | st.just(longest))
    return number, conditions, least, most


@settings(max_examples=examples(400), deadline=None)
@given(demands())
@example((0, (InRange(10, 25, 49), NoneOf(("030", "31"))), 0, 3))
@example((9, (Contains("ba"), Contains("ab")), 0, 6))
def test_lengths_counts_and_words_are_those_of_brute_force(
    demand: Demand,
) -> None:
    number, conditions, least, most = demand
    body, _, every = every_word(number)
    right = [word for word in every if least <= len(word) <= most and all(keeps(word, each) for each in conditions)]
    words = Words(_LANGUAGES[number], conditions, least, most)
    assert words.is_complete, body
    assert words.lengths == tuple(sorted({len(word) for word in right}))
    assert words.count() == len(right)
    assert sorted(words.each(10_000)) == sorted(right)
    for word in draws(words, 5):
        assert word in right
    assert (words.draw(RandomSource(1)) is None) == (not right)


@settings(max_examples=examples(100), deadline=None)
@given(demands())
def test_without_a_largest_length_no_length_is_missed(demand: Demand) -> None:
    number, conditions, least, _ = demand
    _, chars, every = every_word(number)
    known = _MOST.get(len(chars), 6)
    words = Words(_LANGUAGES[number], conditions, least)
    right = {len(word) for word in every if len(word) >= least and all(keeps(word, each) for each in conditions)}
    upto = known if words.is_complete or not words.lengths else min(known, words.lengths[-1])
    assert {length for length in words.lengths if length <= upto} == {length for length in right if length <= upto}
    for word in draws(words, 3):
        assert _LANGUAGES[number].accepts(word)
        assert all(keeps(word, each) for each in conditions)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, len(_FIELDS) - 1), st.integers(0, 6))
def test_words_of_a_length_are_found_whenever_there_are_any(number: int, length: int) -> None:
    _, chars, every = every_word(number)
    if length <= _MOST.get(len(chars), 6):
        word = of_length(_LANGUAGES[number], length, RandomSource(3))
        assert word in every if word is not None else all(len(other) != length for other in every)
        assert word is None or len(word) == length


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, len(_FIELDS) - 1), st.sampled_from([2, 8, 10, 16, 256]), st.integers(0, 300))
def test_a_spelled_number_is_that_number_and_none_is_missed(number: int, base: int, value: int) -> None:
    found_in, (_, chars, every) = _LANGUAGES[number], every_word(number)
    found = list(islice(spelled(found_in, base, value), 100))
    if not are_digits(found_in, base, empty=True):
        return
    for word in found:
        assert found_in.accepts(word)
        assert value_of(word, base, 0) == value
    right = {word for word in every if value_of(word, base, 0 if base == 256 else None) == value}
    short = {word for word in found if len(word) <= _MOST.get(len(chars), 6)}
    assert set(map(len, right)) == set(map(len, short))
    assert short == right if spells_all(found_in, base) else short <= right
    assert [len(word) for word in found] == sorted(len(word) for word in found)


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_each_length_is_equally_likely_and_each_word_of_it() -> None:
    words = Words(language('"a" | "b" | r"[0-9]{2}" | "xyz"'), (NoneOf(("00",)),))
    lengths = Counter(map(len, draws(words, 3000)))
    assert all(900 < lengths[length] < 1100 for length in (1, 2, 3))
    pairs = Counter(word for word in draws(words, 10_000) if len(word) == 2)
    assert len(pairs) == 99
    assert max(pairs.values()) < 80


def test_ambiguous_words_are_no_more_likely_than_others() -> None:
    drawn = Counter(draws(Words(language('("a" | "ab" | "b"){2,4}'), (), 4, 4), 8000))
    assert len(drawn) == 16
    assert min(drawn.values()) > 400


def test_equal_chances_draw_equal_words() -> None:
    for conditions in ((), (Contains("q"),), (StartsWith("ab"), NoneOf(("abc", "abd")))):
        words = Words(language('r"[a-z]{3,9}"'), conditions)
        again = Words(language('r"[a-z]{3,9}"'), conditions)
        assert draws(words, 20) == draws(again, 20)
        assert draws(words, 20) == draws(words, 20)


def test_any_character_is_drawn_from_the_usual_ones() -> None:
    words = Words(language('r".{30}"'), (NoneOf(("x",)),))
    plain = Words(language('r".{30}"'))
    for word in draws(words, 20) + draws(plain, 20):
        assert sum(char.isascii() for char in word) > 15


def test_unusual_characters_are_drawn_where_no_others_will_do() -> None:
    assert draws(Words(language('r".{2}"'), (StartsWith("\u4e00"), CharAt(-1, CharSet.of("\u0416")))), 1) == [
        "\u4e00\u0416"
    ]
    (word,) = draws(Words(language('r"[\\U00010000-\\U0001ffff]{3}"')), 1)
    assert len(word) == 3


def test_what_is_counted_is_all_characters() -> None:
    assert Words(language('r"(?s:.)"')).count() == 0x110000
    assert Words(language('r"(?s:.)"'), (NoneOf(("x",)),)).count() == 0x110000 - 1


def test_a_count_stops_where_it_is_enough() -> None:
    words = Words(language('r"[0-9]{1,60000}"'), (NoneOf(("1",)),))
    assert (words.count(1000) or 0) >= 1000
    assert (Words(language('rb"(?s:.){0,65535}"')).count() or 0) >= 1 << 64


# --- lengths ----------------------------------------------------------------------------------------------------------


def test_of_an_endless_language_only_the_first_lengths_are_told() -> None:
    words = Words(language('"ab"*'), (), 5, spread=6)
    assert (words.lengths, words.is_complete) == ((6, 8, 10, 12), False)


def test_an_endless_language_can_be_proved_to_have_no_word() -> None:
    words = Words(language('"ab"*'), (CharAt(0, CharSet.of("b")),))
    assert (words.lengths, words.is_complete) == ((), True)
    assert Words(language('("aa")+ "b"?'), (EndsWith("a"), Contains("b"))).is_complete


def test_an_endless_language_can_have_few_words_under_conditions() -> None:
    words = Words(language('r"[1-9][0-9]*"'), (InRange(10, 95, 103),))
    assert (words.lengths, words.is_complete, words.count()) == ((2, 3), True, 9)


def test_lengths_that_come_in_periods_are_all_found() -> None:
    found, is_complete = possible_lengths(language('("abc"){0,50} | "x"{7} ("ab"){3}'))
    assert found == tuple(sorted({*range(0, 151, 3), 13}))
    assert is_complete
    words = Words(language('("abc"){0,50}'), (EndsWith("c"), NoneOf(("abc",))))
    assert words.lengths == tuple(range(6, 151, 3))


def test_a_word_may_be_very_long() -> None:
    payload = language('rb"(?s:.){0,65535}"')
    assert possible_lengths(payload) == (tuple(range(65536)), True)
    assert len(of_length(payload, 65535, RandomSource(1)) or "") == 65535
    (word,) = draws(
        Words(payload, (StartsWith("GET"), EndsWith("\r\n"), CharAt(40, CharSet.of("q"))), 50_000, 50_000), 1
    )
    assert (len(word), word[:3], word[40], word[-2:]) == (50_000, "GET", "q", "\r\n")


def test_what_is_too_large_to_be_searched_is_given_up_and_not_called_empty() -> None:
    words = Words(language('("a" | "bc"){30000,60000}'), (Contains("abcab"), EndsWith("cc")))
    assert not words.is_complete
    assert words.draw(RandomSource(1)) is None


def test_long_words_that_are_no_rows_are_found_too() -> None:
    word = of_length(language('("a" | "bc")+'), 3001, RandomSource(1))
    assert word is not None
    assert re.fullmatch("(a|bc){1,}", word)
    assert len(word) == 3001


# --- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "bases"),
    [
        ('r"[0-9]{1,3}"', {10, 16}),
        ('r"[0-7]+"', {8, 10, 16}),
        ('r"[01]{8}"', {2, 8, 10, 16}),
        ('r"[0-9a-fA-F]{2}"', {16}),
        ('r"-?[0-9]"', set()),
        ('r"\\d"', set()),
        ('r"[0-9_]+"', set()),
        ('r"[0-9]*"', set()),
        ("<bit>{4}", {2}),
        ('rb"[0-9]{2}"', {10, 16, 256}),
        ('rb"."', {256}),
    ],
)
def test_only_ascii_digits_are_digits(body: str, bases: set[int]) -> None:
    assert {base for base in (2, 8, 10, 16, 256) if are_digits(language(body), base)} == bases


def test_the_empty_word_is_a_number_only_to_those_who_say_so() -> None:
    digits = language('r"[0-9]{0,2}"')
    assert are_digits(digits, 10, empty=True)
    assert Words(digits, (InRange(10, 0, 0),)).lengths == (1, 2)
    assert Words(digits, (InRange(10, 0, 0, empty=0),)).lengths == (0, 1, 2)


@pytest.mark.parametrize("modulus", [0, 65, -3])
def test_a_remainder_is_for_small_numbers(modulus: int) -> None:
    assert not Remainder.is_small(modulus)
    with pytest.raises(ValueError, match="modulus"):
        Remainder(10, modulus, (0,))


@pytest.mark.parametrize(
    ("body", "base", "value", "expected"),
    [
        ('r"[0-9]{3}"', 10, 7, ["007"]),
        ('r"[0-9]{1,3}"', 10, 7, ["7", "07", "007"]),
        ('r"[0-9]{1,3}"', 10, 1000, []),
        ('r"[0-9]{1,3}"', 10, -1, []),
        ('r"[0-7]{6}" "\\x00"', 8, 420, []),
        ('r"[0-9a-f]{2}"', 16, 171, ["ab"]),
        ('r"[0-9A-F]{1,2}"', 16, 10, ["A", "0A"]),
        ('r"[a-fA-F]{1,2}"', 16, 171, ["ab", "AB"]),
        ('r"[a-f][A-F]"', 16, 171, ["aB"]),
        ('r"0[xX][0-9a-f]{2}"', 16, 171, ["0xab", "0Xab"]),
        ('r"[-+]?[0-9]{1,2}"', 10, -5, ["-5", "-05"]),
        ('r"[-+]?[0-9]{1,2}"', 10, 5, ["5", "05", "+5", "+05"]),
        ("<bit>{4}", 2, 5, ["0101"]),
        ("<bit>{4}", 10, 5, []),
        ('rb"(?s:.){2}"', 256, 258, ["\x01\x02"]),
        ('rb"(?s:.){1,2}"', 256, 97, ["a", "\0a"]),
    ],
)
def test_numbers_are_spelled_as_the_language_wants_them(body: str, base: int, value: int, expected: list[str]) -> None:
    assert list(spelled(language(body), base, value)) == expected


def test_numbers_in_endless_languages_are_spelled_one_by_one() -> None:
    assert list(islice(spelled(language('r"[0-9]+"'), 10, 12), 3)) == ["12", "012", "0012"]


@pytest.mark.parametrize(
    ("body", "base", "expected"),
    [
        ('r"[0-9]{1,3}"', 10, True),
        ('r"[0-9]+"', 10, False),
        ('r"[-+]?[0-9]{1,2}"', 10, False),
        ('r"[0-9a-f]{2}"', 16, True),
        ('r"[0-9a-cD-F]{2}"', 16, True),
        ('r"[0-9a-fA-F]{2}"', 16, False),
        ('rb"(?s:.){2}"', 256, True),
    ],
)
def test_it_is_known_whether_a_spelling_may_be_missing(body: str, base: int, expected: bool) -> None:
    assert spells_all(language(body), base) == expected


# --- wide fields ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "conditions"),
    [
        ('r"[0-9]{1,300}"', (InRange(10, 7, 10**40),)),
        ('rb"(?s:.){8}"', (InRange(256, 12345, 10**15), Remainder(256, 64, (5,)))),
        ('r"[a-z]{1,60}"', (StartsWith("abc"), Contains("hello"))),
        ('r".{0,65535}"', (Contains("needle"), EndsWith("."))),
    ],
)  # fmt: skip
def test_wide_fields_with_hard_conditions_have_words(body: str, conditions: tuple[WordCondition, ...]) -> None:
    word = Words(language(body), conditions).draw(RandomSource(1))
    assert word is not None
    assert language(body).accepts(word)
