"""The code of a spec may be slow or raise: it is called no more often than needed, and what it raises is told once."""

from __future__ import annotations

import pytest

import palaver
from palaver.constraints.distance import compile_distance

REVERSED = "calls = []\ndef g(x):\n    calls.append(str(x))\n    return str(x)[::-1]\n"
HOLDS = "calls = []\ndef g(*x):\n    calls.append(x)\n    return True\n"
RAISES = "calls = []\ndef g(x):\n    calls.append(x)\n    return 1 // 0\n"


def outputs_and_calls(text: str, count: int = 20) -> tuple[palaver.Spec, int, int]:
    spec = palaver.loads(text)
    made = sum(1 for _ in spec.fuzz(count, seed=1))
    return spec, made, len(spec.namespace.names["calls"])


@pytest.mark.parametrize("condition", ["<f> == g(<b>)", "g(<b>) == str(<f>)", "str(<f>) == g(str(<b>))"])
def test_an_equation_is_evaluated_to_be_solved_and_to_be_checked(condition: str) -> None:
    rules = "<start> ::= <f> ':' <b>\n<f> ::= r'[a-z]*'\n<b> ::= r'[a-z]{5}'\n"
    _, made, calls = outputs_and_calls(f"{REVERSED}{rules}where {condition}\n")
    assert made == 20
    assert calls <= 2 * made


def test_each_instance_of_an_equation_is_evaluated_twice() -> None:
    rules = "<start> ::= <r>{3}\n<r> ::= <f> ':' <b> ';'\n<f> ::= r'[a-z]*'\n<b> ::= r'[a-z]{5}'\n"
    _, made, calls = outputs_and_calls(f"{REVERSED}{rules}where forall <x> in <r>: <x>.<f> == g(<x>.<b>)\n")
    assert calls <= 3 * 2 * made


def test_repetitions_cost_no_more_than_other_outputs() -> None:
    rules = "<start> ::= <f> ':' <b>\n<f> ::= r'[a-c]*'\n<b> ::= r'[a-c]'\n"
    _, made, calls = outputs_and_calls(f"{REVERSED}{rules}where <f> == g(<b>)\n", count=3)
    assert made == 3
    assert calls <= 2 * 3 * 20  # to draw the third of three by chance takes five attempts or so


def test_a_condition_that_always_holds_is_hardly_evaluated() -> None:
    _, made, calls = outputs_and_calls(f"{HOLDS}<start> ::= <a>\n<a> ::= r'[a-z]{{5}}'\nwhere g(<a>)\n")
    assert calls <= 3 * made


def test_a_constraint_on_domains_only_calls_nothing() -> None:
    _, made, calls = outputs_and_calls(f"{HOLDS}<start> ::= <a>\n<a> ::= r'[0-9]{{5}}'\nwhere int(<a>) > 10\n")
    assert (made, calls) == (20, 0)


def test_search_does_not_evaluate_again_a_condition_that_holds_and_has_not_changed() -> None:
    spec = palaver.loads(
        f"{HOLDS}<start> ::= <a> <b> <c>\n<a> ::= r'[a-z]{{3}}'\n<b> ::= r'[A-Z]{{3}}'\n<c> ::= r'[0-9]{{3}}'\n"
        "where g(<a>, *<b>)\n"
    )
    (constraint,) = spec.grammar.constraints
    measure = compile_distance(constraint, spec.analysis, spec.namespace.names)
    tree = spec.matcher(lazy=False)
    tree.finish("abcXYZ123")
    first = palaver.Tree(next(tree.trees()))
    calls = spec.namespace.names["calls"]
    assert measure(first).distance == 0
    other = spec.read_as("<c>", "456")
    assert other is not None
    changed = first.replaced((2,), other)
    before = len(calls)
    assert measure(changed).distance == 0
    assert len(calls) == before
    another = spec.read_as("<b>", "ABC")
    assert another is not None
    assert measure(first.replaced((1,), another)).distance == 0
    assert len(calls) > before


@pytest.mark.parametrize("condition", ["g(<a>)", "<b> == g(<a>)", "g(<start>)"])
def test_code_that_always_raises_is_reported_once_with_its_place(condition: str) -> None:
    rules = "<start> ::= <a> <b>\n<a> ::= r'[a-z]{5}'\n<b> ::= r'[0-9]{4}'\n"
    spec = palaver.loads(f"{RAISES}{rules}where {condition}\n")
    with pytest.raises(palaver.Unsolvable) as caught:
        list(spec.fuzz(1, seed=1))
    text = str(caught.value)
    assert text.count("raised ZeroDivisionError") == 1
    assert f"<string>:8:7: error: {condition} raised ZeroDivisionError" in text
    assert "the spec's Python code raised an error each time" in text
    assert len(spec.namespace.names["calls"]) <= 1_000


def test_code_that_raises_at_times_is_no_reason_to_stop() -> None:
    spec = palaver.loads("<start> ::= <a>\n<a> ::= r'[0-9]'\nwhere 10 // (int(<a>) - 5) > 2\n")
    fuzz = spec.fuzz(3, seed=1)
    assert sorted(map(str, fuzz)) == ["6", "7", "8"]
    assert fuzz.shortfall is None
