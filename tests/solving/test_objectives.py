"""Objectives: what is emitted is optimised, not only picked from a few random trees."""

from __future__ import annotations

import pytest

import palaver
from amounts import few

PRODUCT = '<start> ::= <a> "*" <b>\n<a> ::= <digit> <digit>\n<b> ::= <digit> <digit>\n'
PERSON = '<start> ::= <name> "," <age>\n<name> ::= r"[A-Z][a-z]+"\n<age> ::= <digit>+\n'
NUMBERS = '<start> ::= <n> (";" <n>)*\n<n> ::= r"[0-9]{1,4}"\n'


def outputs(text: str, count: int, seed: int) -> list[str]:
    return [str(tree) for tree in palaver.loads(text).fuzz(count, seed=seed)]


@pytest.mark.parametrize("seed", few(range(3)))
def test_the_largest_product_comes_early(seed: int) -> None:
    made = outputs(f"{PRODUCT}maximizing int(<a>) * int(<b>)\n", 10, seed)
    assert len(set(made)) == 10
    assert "99*99" in made
    assert min(int(a) * int(b) for a, b in (text.split("*") for text in made)) > 8000


@pytest.mark.parametrize("seed", few(range(3)))
def test_a_number_is_minimised_to_0(seed: int) -> None:
    made = outputs(f"{PERSON}minimizing int(<age>)\n", 5, seed)
    assert [int(text.split(",")[1]) for text in made] == [0] * 5


@pytest.mark.parametrize("seed", few(range(3)))
def test_the_maximum_of_six_digits_is_reached(seed: int) -> None:
    made = outputs("<start> ::= <digit>{6}\nmaximizing int(<start>)\n", 20, seed)
    assert "999999" in made
    assert made[-1] > "999900"


def test_functions_of_the_spec_are_optimised_too() -> None:
    made = outputs(
        f"{NUMBERS}maximizing total(<start>)\ndef total(s): return sum(map(int, str(s).split(';')))\n", 3, seed=1
    )
    plain = outputs(NUMBERS, 24, seed=1)
    assert max(map(_total, made)) > max(map(_total, plain))


def _total(text: str) -> int:
    return sum(map(int, text.split(";")))


def test_the_mean_of_several_values_counts() -> None:
    for text in outputs(f"{NUMBERS}maximizing int(<n>)\n", 5, seed=1):
        assert set(text.split(";")) == {"9999"}


def test_constraints_hold_whatever_is_optimised() -> None:
    made = outputs(f"{PRODUCT}where int(<a>) + int(<b>) == 60\nmaximizing int(<a>) * int(<b>)\n", 3, seed=1)
    assert "30*30" in made
    assert all(sum(map(int, text.split("*"))) == 60 for text in made)


def test_several_objectives_are_optimised_together() -> None:
    made = outputs(f"{NUMBERS}maximizing int(<n>)\nminimizing len(str(<start>))\n", 3, seed=1)
    assert made == ["9999", "9998", "9997"]


def test_all_of_a_small_language_is_emitted() -> None:
    made = outputs('<start> ::= r"[0-9]"\nmaximizing int(<start>)\n', 10, seed=1)
    assert sorted(made) == list("0123456789")


@pytest.mark.parametrize("objective", ["float('nan')", "float('inf')", "10 ** 400", "1 / (int(<start>) - 5)", "'x'"])
def test_odd_values_do_no_harm(objective: str) -> None:
    assert len(outputs(f'<start> ::= r"[0-9]{{3}}"\nmaximizing {objective}\n', 3, seed=1)) == 3


def test_the_same_seed_gives_the_same_optima() -> None:
    text = f"{PRODUCT}maximizing int(<a>) * int(<b>)\n"
    assert outputs(text, 4, seed=7) == outputs(text, 4, seed=7)
