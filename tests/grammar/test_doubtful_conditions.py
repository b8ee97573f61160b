"""Warnings about conditions and objectives: paths that select nothing, names that nothing defines."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver
from palaver.errors import SpecError

CASES = Path(__file__).parents[1] / "cases"
RULES = "<start> ::= <a> <b>\n<a> ::= 'x' <digit>\n<b> ::= 'y'\n"


def warnings(text: str) -> list[str]:
    return [warning.message for warning in palaver.loads(text).warnings]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("forall <m> in <a>: str(<m>..<b>) == 'z'", "<a> never contains <b>, so this never selects anything"),
        ("forall <m> in <a>: <m>.<b> == 'z'", "<a> has no direct child <b>, so this never selects anything"),
        ("all(<m>.<b> == 'z' for <m> in *<a>)", "<a> has no direct child <b>, so this never selects anything"),
        (
            "forall <m> in <a>: forall <n> in <m>.<b>: False",
            "<a> has no direct child <b>, so this never selects anything",
        ),
    ],
)
def test_a_path_below_a_bound_name_that_selects_nothing_is_a_warning(condition: str, message: str) -> None:
    text = f"{RULES}where {condition}\n"
    assert warnings(text) == [message]
    assert [str(tree)[-1] for tree in palaver.loads(text).fuzz(1, seed=1)] == ["y"]


@pytest.mark.parametrize("condition", ["<a>.<b> == 'z'", "<a>..<b> == 'z'"])
def test_a_path_below_a_symbol_that_selects_nothing_is_an_error(condition: str) -> None:
    with pytest.raises(SpecError):
        palaver.loads(f"{RULES}where {condition}\n")


def test_the_vacuous_case_is_fuzzed() -> None:
    assert [str(tree) for tree in palaver.load(CASES / "vacuous.fan").fuzz(1, seed=1)] == ["x1y1"]


@pytest.mark.parametrize(
    "code",
    [
        "where nosuch(<a>)",
        "where forall <m> in <a>: <m> != nosuch",
        "where any(x == nosuch for x in *<a>)",
        "where [x for x in [nosuch]]",
        "maximizing nosuch(<a>)",
        "minimizing len(str(<a>)) + nosuch",
        "<c> ::= 'c' := nosuch(<digit>)\n<start> ::= <a> <b> <c>?",
        "<start> ::= <a> <b>{nosuch(1)}",
        "def f(x):\n    return nosuch(x)",
        "class A:\n    def f(self):\n        return nosuch",
    ],
)
def test_a_name_that_nothing_defines_is_a_warning(code: str) -> None:
    assert "the name nosuch is not defined, so using it raises NameError" in warnings(f"{RULES}{code}\n")


@pytest.mark.parametrize(
    "code",
    [
        "where all(int(x[1]) >= 0 for x in *<a>)",
        "where (lambda x, *y: x)(1)",
        "where {x: y for x, y in [(1, 2)]}",
        "where (x := 1) + x",
        "where later(<a>)\ndef later(x): return other(x)\ndef other(x): return True",
        "def f():\n    global late\n    late = 1\ndef g():\n    return late",
        "import os.path as p, re\nfrom math import *\nwhere pi and p and re and os",
        "def f():\n    try:\n        pass\n    except ValueError as e:\n        return e\n",
        "def f(x):\n    match x:\n        case [a, *b]: return a, b\n        case {'k': v, **more}: return v, more",
        "exec('hidden = 1')\nwhere hidden == 1",
        "class A:\n    size = 3\n    other = size\n    def f(self): return __class__",
        "where DerivationTree and random_name()\ndef random_name(): return __name__",
    ],
)
def test_no_warning_of_names_that_something_defines(code: str) -> None:
    assert not [warning for warning in warnings(f"{RULES}{code}\n") if "not defined" in warning]


def test_an_undefined_name_has_its_place_and_a_hint() -> None:
    (warning,) = palaver.loads(f"{RULES}LIMIT = 3\nwhere 'é' and len(str(<a>)) < LIMT\n").warnings
    assert warning.source.text[warning.span.start : warning.span.end] == "LIMT"
    assert warning.hint == "did you mean LIMIT?"


def test_an_objective_that_raises_for_every_tree_is_told() -> None:
    trees = palaver.load(CASES / "wish.fan").fuzz(3, seed=1)
    assert len(list(trees)) == 3
    (error,) = trees.objective_errors
    assert error.message == "the objective nosuch(<start>) raised NameError: name 'nosuch' is not defined"


def test_an_objective_that_raises_for_some_trees_is_not() -> None:
    trees = palaver.loads("<start> ::= r'[0-9]'\nmaximizing 1 / (int(<start>) - 5)\n").fuzz(10, seed=1)
    assert len(list(trees)) == 10
    assert not trees.objective_errors
