"""Shortcuts of solving give what the long ways give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver
from palaver.grammar.symbol_languages import Languages
from palaver.random_source import RandomSource
from palaver.regular.language import Unit
from palaver.solving.construction import shared_out
from palaver.solving.placement import Edits
from palaver.solving.spelling import Speller
from palaver.trees.node import Node, NonTerminal, same_structure

ROWS = {
    "octets": "<start> ::= <x>\n<x> ::= <octet>{1,4}\n<octet> ::= rb'[\\x00-\\xff]'\n",
    "bits": "<start> ::= <x>{8}\n<x> ::= (0 | 1){3} 1\n",
    "a date": "<start> ::= <x>\n<x> ::= <y> '-' <m>\n<y> ::= r'[0-9]{4}'\n<m> ::= <d> <d>\n<d> ::= '0' | '1' | '2'\n",
    "one that varies": "<start> ::= <x>\n<x> ::= 'a' <w> 'ä'\n<w> ::= r'[a-z]{1,5}'\n",
}


@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS)
def test_a_word_is_spelled_as_a_matcher_would_read_it(text: str) -> None:
    spec = palaver.loads(text)
    languages = Languages(spec.grammar.rules, binary=spec.is_binary)
    speller = Speller(spec.grammar.rules, languages)
    language = languages.of("<x>")
    assert language is not None
    assert speller.can_spell("<x>")
    for tree in spec.fuzz(20, seed=1):
        for part in tree.find_all_trees("<x>"):
            node = part.node
            assert isinstance(node, Node)
            word = part.to_bits() if language.unit is Unit.BITS else str(part)
            spelled = speller.node("<x>", word)
            assert spelled is not None
            assert same_structure(spelled, node)
            if language.unit is not Unit.BITS:
                read = spec.read_as("<x>", part.serialised())
                assert read is not None
                assert same_structure(spelled, read)


@pytest.mark.parametrize("word", ["", "a", "1234-0", "1234-03", "12345-01", "1234-011", "123x-01", "1234+01"])
def test_a_text_that_is_no_word_is_not_spelled(word: str) -> None:
    spec = palaver.loads(ROWS["a date"])
    speller = Speller(spec.grammar.rules, Languages(spec.grammar.rules, binary=False))
    assert speller.node("<x>", word) is None


def test_a_word_that_lengths_cannot_divide_is_left_to_the_matcher() -> None:
    spec = palaver.loads("<start> ::= <a> <b>\n<a> ::= r'[a-c]+'\n<b> ::= r'[a-c]+'\n")
    speller = Speller(spec.grammar.rules, Languages(spec.grammar.rules, binary=False))
    assert not speller.can_spell("<start>")


NESTED = "<start> ::= <e>\n<e> ::= '(' <n> <e>* ')'\n<n> ::= r'[0-9]'\n"


@given(seed=st.integers(0, 200), picks=st.lists(st.integers(0, 50), max_size=5))
def test_edits_are_the_same_at_once_and_one_after_the_other(seed: int, picks: list[int]) -> None:
    tree = next(palaver.loads(NESTED).fuzz(1, seed=seed))
    places = tree.find_all_trees("<n>")
    writes = [(places[at % len(places)], Node(NonTerminal("<n>"), (str(at % 10),))) for at in picks]
    edits, turn = Edits(tree), tree
    for write in writes:
        edits.add_all([write])
        turn = turn.replaced(write[0].path, write[1])
        assert str(edits.tree(tree)) == str(turn)
    applied = edits.applied()
    assert same_structure(applied.node, turn.node)
    assert [str(part) for part in applied.flattened()] == [str(part) for part in turn.flattened()]


@given(
    numbers=st.lists(st.integers(0, 100), min_size=1, max_size=6),
    total=st.integers(-10, 800),
    high=st.integers(0, 100) | st.none(),
)
def test_a_sum_is_shared_out_within_limits(numbers: list[int], total: int, high: int | None) -> None:
    found = shared_out(total, numbers, [(0, high)] * len(numbers), RandomSource(1))
    if found is None:
        assert total < 0 or high is not None
    else:
        assert sum(found) == total
        assert found == numbers or all(each >= 0 and (high is None or each <= high) for each in found)


def test_both_sides_of_an_equation_may_be_sums() -> None:
    spec = palaver.loads(
        "<start> ::= <a> ',' <a> ';' <b> ',' <b>\n<a> ::= r'[0-9]{2}'\n<b> ::= r'[0-9]{2}'\n"
        "where sum(map(int, *<a>)) + 5 == sum([int(b) for b in *<b>])\n"
    )
    assert len(list(spec.fuzz(20, seed=1))) == 20
