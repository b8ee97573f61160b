"""Fields that computed repetitions count by: their numbers can be made, and other fields of their name are free."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver
from amounts import examples
from palaver.testing import run_pair

CASES = Path(__file__).parents[1] / "cases"


def test_a_wide_field_asks_for_as_many_items_as_can_be_made() -> None:
    spec = palaver.load(CASES / "prefix32.fan")
    made = [bytes(tree) for tree in spec.fuzz(20, seed=1, budget=20)]
    assert len(made) == 20
    assert all(int.from_bytes(data[:4], "big") == len(data) - 4 for data in made)
    assert len({len(data) for data in made}) > 10


@pytest.mark.parametrize(
    ("field", "count"),
    [
        ('<n> ::= r"[0-9]+"', "int(<n>)"),
        ('<n> ::= r"[0-9a-f]{8}"', "int(str(<n>), 16)"),
        ("<n> ::= <byte>{8}", "int.from_bytes(bytes(<n>), 'little')"),
        ("<n> ::= <bit>{32}", "2 * int(<n>) + 1"),
    ],
)
def test_fields_of_many_forms_are_drawn_from_what_can_be_made(field: str, count: str) -> None:
    spec = palaver.loads(f'<start> ::= <n> "-" <item>{{{count}}}\n{field}\n<item> ::= "x"\n')
    assert len(list(spec.fuzz(5, seed=1, budget=50))) == 5


def test_what_a_constraint_asks_for_is_made_though_it_is_unusual() -> None:
    spec = palaver.loads((CASES / "prefix32.fan").read_text() + "where int(<len>) > 1000\n")
    assert all(len(bytes(tree)) > 1004 for tree in spec.fuzz(3, seed=1))
    spec = palaver.loads((CASES / "prefix32.fan").read_text() + "where int(<len>) == 1999\n")
    assert [len(bytes(tree)) for tree in spec.fuzz(1, seed=1)] == [2003]


@pytest.mark.parametrize(
    ("response", "bound"),
    [("<len>", "<len>"), ("<head>", "<len>"), ("<head>", "<head>.<len>")],
    ids=["a part", "inside of a part", "by a path"],
)
def test_a_symbol_in_equations_that_is_also_a_bound_elsewhere_is_solved(response: str, bound: str) -> None:
    text = (CASES / "ber3.fan").read_text().replace("<In:", "<Client:").replace("<Out:", "<Server:")
    text = text.replace("<response> ::= <len> <byte>{int(<len>)}", f"<response> ::= {response} <byte>{{int({bound})}}")
    spec = palaver.loads(text + "<head> ::= <len>\n")
    for seed in range(examples(10)):
        pair = run_pair(spec, seed=seed)
        assert [session.findings for session in pair] == [[], []]
