"""Trees are made from rules, within their budget, and wrong only where the spec asks for it."""

from typing import Any

import pytest

import palaver
from palaver.trees.values import leaves_of


def made(text: str, count: int = 30, **options: Any) -> list[str]:
    return [str(tree) for tree in palaver.loads(text).fuzz(count, seed=5, **options)]


def test_a_choice_takes_each_alternative_sooner_or_later() -> None:
    assert set(made('<start> ::= "a" | "b" | "c"\n', 3)) == {"a", "b", "c"}


def test_repetition_stays_within_its_bounds_and_reaches_both() -> None:
    assert {len(text) for text in made('<start> ::= "x"{2,5}\n', 4)} == {2, 3, 4, 5}


def test_unbounded_repetition_goes_as_far_as_it_is_told() -> None:
    assert max(len(text) for text in made('<start> ::= "x"*\n', 8, max_repetitions=7)) == 7


def test_a_permutation_comes_in_every_order() -> None:
    assert len(set(made('<start> ::= [["a" "b" "c"]]\n', 6))) == 6


def test_recursion_ends_when_the_budget_is_spent() -> None:
    spec = palaver.loads('<start> ::= "(" <start> <start> ")" | "x"\n')
    sizes = [tree.size() for tree in spec.fuzz(20, seed=1, max_nodes=50)]
    assert max(sizes) < 200


def test_trees_may_be_deeper_than_pythons_stack() -> None:
    spec = palaver.loads('<start> ::= "(" <start> ")" | "[" <start> "]" | <start> "!" | ""\n')
    trees = list(spec.fuzz(5, seed=4, max_nodes=30_000))
    assert all(str(spec.parse(str(tree))) == str(tree) for tree in trees)


def test_a_computed_repetition_counts_what_its_field_says() -> None:
    for text in made('<start> ::= <n> ":" "."{int(<n>)}\n<n> ::= r"[0-9]{1,2}"\n'):
        number, _, dots = text.partition(":")
        assert len(dots) == int(number)


def test_bounds_may_call_python() -> None:
    assert {len(text) for text in made('import random\n<start> ::= "x"{random.randint(1, 3)}\n', 3)} == {1, 2, 3}


def test_everything_in_a_binary_tree_is_bytes_or_bits() -> None:
    spec = palaver.loads('<start> ::= "é" r"\\w" 0 1 0 0 0 0 0 1\n')
    (tree,) = spec.fuzz(1, seed=1)
    assert all(isinstance(leaf, bytes | int) for leaf in leaves_of(tree.node))
    assert bytes(tree).startswith("é".encode())


@pytest.mark.parametrize(
    ("setting", "body", "expected"),
    [
        ("all_with_type(Plus) plus_should_return_nothing = 1.0", '"a"+ "b"', {"b"}),
        ("all_with_type(Option) option_should_return_multiple = 1.0", '"a"? "b"', {"a" * n + "b" for n in range(2, 6)}),
        ("* alternatives_should_concatenate = 1.0", '"a" | "b"', {"ab", "ba"}),
        ("<start> terminal_should_repeat = 1.0", '"a"', {"", "aa", "aaa", "aaaa", "aaaaa"}),
    ],
)
def test_a_setting_breaks_the_grammar_as_it_says(setting: str, body: str, expected: set[str]) -> None:
    texts = set(made(f"setting {setting}\n<start> ::= {body}\n", len(expected)))
    assert texts == expected


def test_inverted_regexes_do_not_match() -> None:
    texts = made("setting * invert_regex = 1\n<start> ::= r'[0-9]+'\n", 20)
    assert not any(text.isdecimal() and text.isascii() for text in texts)


def test_havoc_changes_bytes_and_other_rules_stand_in() -> None:
    assert any(text != "abc" for text in made("setting * havoc_probability = 0.9\n<start> ::= 'abc'\n", 10))
    others = made("setting <x> non_terminal_use_other_rule = 1\n<start> ::= <x>\n<x> ::= 'x'\n<y> ::= 'y'\n", 2)
    assert "y" in others


def test_settings_never_affect_parsing() -> None:
    spec = palaver.loads("setting * plus_should_return_nothing = 1\n<start> ::= 'a'+\n")
    assert not list(spec.parses(""))
