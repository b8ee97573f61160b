"""Explanations of missing trees: the whole text, word for word.

Only what chance decides is left open: `VALUE` stands for some text or bytes.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

import palaver

BENCHMARKS = Path(__file__).parents[2] / "benchmarks" / "solving"


def explanation(text: str, *, count: int = 1, budget: int = 500) -> str:
    """The explanation of missing outputs."""
    return said_about(palaver.loads(dedent(text).lstrip()), count, budget)


def said_about(spec: palaver.Spec, count: int = 1, budget: int = 500) -> str:
    fuzz = spec.fuzz(count, seed=1, budget=budget)
    try:
        list(fuzz)
    except palaver.Unsolvable as unsolvable:
        return str(unsolvable)
    assert fuzz.shortfall is not None
    return fuzz.shortfall


def assert_says(found: str, *lines: str) -> None:
    wanted = re.escape("\n".join(lines)).replace("VALUE", r"""b?('[^'\n]*'|"[^"\n]*")""")
    assert re.fullmatch(wanted, found), found


# --- proved -----------------------------------------------------------------------------------------------------------


def test_one_constraint_that_the_grammar_excludes_is_named() -> None:
    assert_says(
        explanation("""
            <start> ::= <n>
            <n> ::= r'[0-9]{1,2}'
            where int(<n>) > 200
        """),
        "no input found: it is proved that this constraint cannot be satisfied: no <n> satisfies it",
        "  <string>:3:7: int(<n>) > 200",
    )


def test_two_constraints_that_exclude_each_other_are_named_and_no_others() -> None:
    assert_says(
        said_about(palaver.load(BENCHMARKS / "15_unsat.fan")),
        "no input found: it is proved that these constraints contradict each other: no <number> satisfies all of them",
        f"  {BENCHMARKS / '15_unsat.fan'}:6:7: int(<number>) > 50",
        f"  {BENCHMARKS / '15_unsat.fan'}:7:7: int(<number>) < 40",
    )


def test_an_equation_between_disjoint_ranges_is_proved_unsatisfiable() -> None:
    assert_says(
        said_about(palaver.load(BENCHMARKS / "26_unsat2.fan")),
        "no input found: it is proved that these constraints contradict each other: "
        "<len> allows 41 to 99 and <payload> allows 1 to 30",
        f"  {BENCHMARKS / '26_unsat2.fan'}:5:7: int(<len>) == len(str(<payload>))",
        f"  {BENCHMARKS / '26_unsat2.fan'}:6:7: int(<len>) > 40",
    )


def test_a_constant_condition_that_is_false_is_proved_unsatisfiable() -> None:
    assert_says(
        explanation("""
            <start> ::= 'a'
            where 1 == 2
        """),
        "no input found: it is proved that this constraint cannot be satisfied: it is false for every input",
        "  <string>:2:7: 1 == 2",
    )


# --- not found --------------------------------------------------------------------------------------------------------


def test_one_constraint_is_shown_with_its_nearest_miss() -> None:
    assert_says(
        explanation("""
            <start> ::= <n> <m>
            <n> ::= r'[0-9]'
            <m> ::= r'[0-9]'
            where int(<n>) * int(<m>) == 101
        """),
        "no input found within 500 steps (--budget); the closest attempt was VALUE, off by 20, which violates:",
        "<string>:4:7: error: int(<n>) * int(<m>) == 101 does not hold (<n> = VALUE, <m> = VALUE)",
        "  where int(<n>) * int(<m>) == 101",
        "        ^^^^^^^^^^^^^^^^^^^^^^^^^^",
    )


def test_equations_in_a_cycle_are_named() -> None:
    name = BENCHMARKS / "unsat" / "circle.fan"
    found = said_about(palaver.load(name))
    assert found.startswith("no input found within 500 steps (--budget); the closest attempt was '")
    assert found.count("does not hold (") == 1
    assert found.endswith(
        "\nthese constraints conflict; without any one of them, the others were satisfied:\n"
        f"  {name}:5:7: int(<a>) == int(<b>) + 1\n  {name}:6:7: int(<b>) == int(<a>) + 1"
    )


def test_a_sum_too_large_for_its_field_is_explained() -> None:
    name = BENCHMARKS / "unsat" / "small_field.fan"
    found = said_about(palaver.load(name))
    assert found.startswith("no input found within 500 steps (--budget); the closest attempt was '")
    assert found.endswith(
        "\nthis constraint was not satisfied even without the others:\n"
        f"  {name}:5:7: sum(int(i) for i in *<item>) == int(<total>)"
    )


@pytest.mark.parametrize(
    "file, lines",
    [("crc_zero", ["7:7: bytes(<crc>) == zlib", "8:7: bytes(<crc>) == b"]), ("prime", ["8:7: is_prime", "9:7: int("])],
)
def test_only_constraints_of_the_conflict_are_named(file: str, lines: list[str]) -> None:
    name = BENCHMARKS / "unsat" / f"{file}.fan"
    *_, blamed = said_about(palaver.load(name)).split("without any one of them, the others were satisfied:\n")
    for line, start in zip(blamed.splitlines(), lines, strict=True):
        assert line.startswith(f"  {name}:{start}")


@pytest.mark.parametrize(
    "text",
    [
        # A sign, a blank, a prefix, another script: it might be a number that nobody thought of.
        "<start> ::= <n>\n<n> ::= r'[+-]?[0-9]'\nwhere int(<n>) > 20\n",
        "<start> ::= <n>\n<n> ::= r' ?[0-9]'\nwhere int(<n>) == 20\n",
        "<start> ::= <n>\n<n> ::= r'(0x)?[0-9a]'\nwhere int(str(<n>), 16) == 200\n",
        "<start> ::= <n>\n<n> ::= r'[٣0-9]'\nwhere int(<n>) in [20, 30]\n",
        "<start> ::= <n>\n<n> ::= rb'[\\x00-\\x0f]'\nwhere int.from_bytes(bytes(<n>), 'little') ** 2 % 1000 == 999\n",
        # It may be absent; so nothing is proved, but this one is always there, and opaque.
        "<start> ::= <n>\n<n> ::= r'[0-9]'\nwhere hash(str(<n>)) is None\n",
        "<start> ::= <n> <m>\n<n> ::= r'[0-9]'\n<m> ::= r'[0-9]'\nwhere int(<n>) + int(<m>) == 30\n",
        "<start> ::= <n>*\n<n> ::= r'[0-9]'\nwhere len(*<n>) == 3\nwhere len(*<n>) == 4\n",
    ],
)
def test_nothing_is_called_proved_without_a_proof(text: str) -> None:
    assert "proved" not in explanation(text, budget=100)
    assert explanation(text, budget=100).startswith("no input found within 100 steps")


# --- too few ----------------------------------------------------------------------------------------------------------


def test_too_few_solutions_are_explained() -> None:
    text = "<start> ::= <n>\n<n> ::= r'[0-9]'\nwhere int(<n>) > 7\n"
    assert_says(
        explanation(text, count=5), "found only 2 of 5 inputs: with these constraints the grammar seems to have no more"
    )


def test_an_exhausted_language_is_explained() -> None:
    assert_says(
        explanation("<start> ::= 'a' | 'b'\n", count=5), "found only 2 of 5 inputs: the grammar seems to have no more"
    )


# --- the spec's own code ----------------------------------------------------------------------------------------------


def test_code_that_always_raises_is_shown() -> None:
    assert_says(
        explanation("""
            <start> ::= <n>
            <n> ::= r'[a-z]'
            where int(<n>) > 7
        """),
        "no input found: the spec's Python code raised an error each time; the last one was:",
        "<string>:3:7: error: int(<n>) > 7 raised ConversionError: <n> is VALUE, which int() does not read as a number "
        "(<n> = VALUE)",
        "  where int(<n>) > 7",
        "        ^^^^^^^^^^^^",
        "  hint: this is an error in the spec's Python code",
    )


def test_code_that_raises_at_times_is_not_said_to_do_so_each_time() -> None:
    found = explanation("<start> ::= <n>\n<n> ::= r'[a-z0-9]'\nwhere int(<n>) == 17 or int(<n>) == 18\n", budget=200)
    assert "each time" not in found
