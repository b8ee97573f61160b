"""The Earley parser and the naive definition of a grammar's meaning agree, on random grammars and all short texts."""

from __future__ import annotations

from itertools import islice, product
from random import Random
from typing import TypeAlias

import pytest
from naive import ALPHABET, Naive, random_grammar

from amounts import few
from palaver.matching.matcher import CompiledMatcher, Matcher, compile_matcher
from palaver.spec.ast import Expr

Data: TypeAlias = str | bytes

TEXTS = ["".join(text) for size in range(6) for text in product(ALPHABET, repeat=size)]


def no_bounds(*_: object) -> int:
    raise AssertionError("these grammars have no computed bounds")


def shape_of(rules: dict[str, Expr]) -> CompiledMatcher:
    return compile_matcher(rules, "<s>", bound=no_bounds)


def is_plain(rules: dict[str, Expr]) -> bool:
    # Beside look-around and anchors, whether more may come is only known from above.
    return not any("(?!" in repr(body) or "$" in repr(body) for body in rules.values())


@pytest.mark.parametrize("seed", few(range(8), 2))
def test_the_earley_parser_accepts_the_language_of_the_definition(seed: int) -> None:
    rules = random_grammar(Random(seed))
    shape = shape_of(rules)
    readings: dict[Data, Naive] = {text: Naive(rules, text) for text in TEXTS}
    for text, reading in readings.items():
        lengths = tuple(sorted(reading.spans["<s>", 0]))
        for prune in (True, False):
            progress = shape.matcher(prune=prune).feed(text)
            assert progress.complete == lengths
            whole = shape.matcher(whole=True, prune=prune).feed(text)
            assert whole.complete_here == reading.is_complete("<s>") == progress.complete_here
            assert (whole.may_go_on, whole.failed_at) == (progress.may_go_on, progress.failed_at)
            if is_plain(rules):
                assert progress.may_go_on == reading.may_go_on("<s>")
                assert progress.failed_at == failure_offset(text, readings)


def failure_offset(text: Data, readings: dict[Data, Naive]) -> int | None:
    for size in range(1, len(text) + 1):
        reading = readings[text[:size]]
        if not reading.may_go_on("<s>") and not reading.is_complete("<s>"):
            return size - 1
    return None


@pytest.mark.parametrize("seed", few(range(100, 125), 8))
def test_the_trees_are_those_of_the_definition_in_the_stated_order(seed: int) -> None:
    rules = random_grammar(Random(seed))
    shape = shape_of(rules)
    for text in TEXTS[:15]:
        reading = Naive(rules, text, patience=20_000)
        matcher = shape.matcher(whole=True)
        matcher.feed(text)
        wanted = list(islice(reading.trees("<s>"), 30))
        assert list(islice(matcher.trees(), len(wanted))) == wanted
        if len(wanted) < 30 and reading.patience > 0:
            assert next(islice(matcher.trees(), len(wanted), None), None) is None


@pytest.mark.parametrize("seed", few(range(200, 208), 2))
def test_cuts_do_not_matter(seed: int) -> None:
    random = Random(seed)
    rules = random_grammar(random)
    shape = shape_of(rules)
    for text in random.sample(TEXTS, 12):
        for whole in (True, False):
            wanted = progress_by_length(shape, text, whole)
            for cut in range(1, len(text)):
                matcher = shape.matcher(whole=whole)
                first = matcher.feed(text[:cut])
                # A report is a snapshot; what comes later must not change it.
                assert first == wanted[cut]
                assert matcher.feed(text[cut:]) == wanted[-1]
                assert first == wanted[cut]
                assert_same_trees(shape, text, whole, matcher)
            matcher = shape.matcher(whole=whole)
            assert [matcher.feed(char) for char in text] == wanted[1:]
            assert_same_trees(shape, text, whole, matcher)


def progress_by_length(shape: CompiledMatcher, text: str, whole: bool) -> list[object]:
    return [shape.matcher(whole=whole).feed(text[:size]) for size in range(len(text) + 1)]


def assert_same_trees(shape: CompiledMatcher, text: str, whole: bool, matcher: Matcher) -> None:
    other = shape.matcher(whole=whole)
    other.feed(text)
    assert list(islice(matcher.trees(), 10)) == list(islice(other.trees(), 10))
    assert list(islice(matcher.partial_trees(), 10)) == list(islice(other.partial_trees(), 10))
    assert matcher.finish() == other.finish()
    fresh = shape.matcher(whole=whole, prune=False)
    fresh.feed(text)
    assert fresh.finish() == other.progress
    assert list(islice(fresh.trees(), 10)) == list(islice(other.trees(), 10))
