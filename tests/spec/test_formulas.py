"""Conditions: where they are split, and what they bind."""

from __future__ import annotations

import pytest
from spec_reading import condition, read

from palaver.spec.ast import And, Child, Formula, Not, Or, PythonCondition, Quantified, Selector


def shape(formula: Formula) -> object:
    """A formula in short: the texts of its leaves in nested tuples."""
    match formula:
        case PythonCondition(expression):
            return expression.text
        case And(parts):
            return ("and", *map(shape, parts))
        case Or(parts):
            return ("or", *map(shape, parts))
        case Not(part):
            return ("not", shape(part))
        case Quantified(every, variable, path, body):
            return ("every" if every else "some", variable, path.base, shape(body))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("<a> == 1", "<a> == 1"),
        ("<a> and <b>", ("and", "<a>", "<b>")),
        ("<a> or <b> and (<c> or f(<d>))", ("or", "<a>", ("and", "<b>", ("or", "<c>", "f(<d>)")))),
        ("3 < int(<v>) < 8", ("and", "3 < int(<v>)", "int(<v>) < 8")),
        ("(1) <= (<a>) != ( <b> )", ("and", "(1) <= (<a>)", "(<a>) != ( <b> )")),
        ("1 < <a> in <b>", "1 < <a> in <b>"),
        ("not <a> == 1", "not <a> == 1"),
        ("not (<a> or <b>)", "not (<a> or <b>)"),
        ("<a> if <b> else <c>", "<a> if <b> else <c>"),
        ("f(<a> or <b>)", "f(<a> or <b>)"),
        ("False", "False"),
        ("all(<e>.<v> == 1 or <w> for <e> in *<ent>)", ("every", "<e>", "<ent>", ("or", "<e>.<v> == 1", "<w>"))),
        ("any([x == 1 for x in *<y>])", ("some", "x", "<y>", "x == 1")),
        ("any({x == 1 for x in *<y>})", ("some", "x", "<y>", "x == 1")),
        ("any(x for x in *<y> if x)", "any(x for x in *<y> if x)"),
        ("any(x for x in <y>)", "any(x for x in <y>)"),
        ("any(x for x in f(*<y>))", "any(x for x in f(*<y>))"),
        ("any(x for x in *<y> for y in *<z>)", "any(x for x in *<y> for y in *<z>)"),
        ("any(*<y>)", "any(*<y>)"),
        ("not any(x for x in *<y>)", "not any(x for x in *<y>)"),
        ("not any(<x> for <x> in *<y>)", ("not", ("some", "<x>", "<y>", "<x>"))),
        ("not (<a> or all(<x> for <x> in *<y>))", ("not", ("or", "<a>", ("every", "<x>", "<y>", "<x>")))),
        (
            "all(any(<x> == <y> for <y> in *<x>.<b>) for <x> in *<a>)",
            ("every", "<x>", "<a>", ("some", "<y>", "<x>", "<x> == <y>")),
        ),
        ("forall <x> in <y>: <x> and <z>", ("every", "<x>", "<y>", ("and", "<x>", "<z>"))),
        ("exists <x> in (<y>)[0]: <x>", ("some", "<x>", "<y>", "<x>")),
        (
            "forall <x> in <y>: exists <z> in <x>.<b>: <z> == 1",
            ("every", "<x>", "<y>", ("some", "<z>", "<x>", "<z> == 1")),
        ),
        ("A(<a>) -> B(<b>)", ("or", "not (A(<a>))", "B(<b>)")),
        ("A -> B -> C and D", ("or", "not (A)", "not (B)", ("and", "C", "D"))),
        ("any(<x> for <x> in *<y>) -> B", ("or", ("not", ("some", "<x>", "<y>", "<x>")), "B")),
        ("A -> forall <x> in <y>: B -> <x>", ("or", "not (A)", ("every", "<x>", "<y>", ("or", "not (B)", "<x>")))),
        ("(n := 3) == 3", "(n := 3) == 3"),
        ("n := f(<a>)", "n := f(<a>)"),
        ("forall == 3", "forall == 3"),
    ],
)
def test_conditions(text: str, expected: object) -> None:
    assert shape(condition(text)) == expected


def test_a_quantifier_may_go_on_in_indented_lines() -> None:
    spec = read(
        "where forall <x> in <y>:\n    # each of them\n    exists <z> in <x>..<b>:\n\n        (<z> == 1\n  or <x>)\n"
        '<a> ::= "b"\nwhere <c>\n'
    )
    first, second = spec.constraints
    assert shape(first.formula) == ("every", "<x>", "<y>", ("some", "<z>", "<x>", ("or", "<z> == 1", "<x>")))
    assert shape(second.formula) == "<c>"
    assert first.text.startswith("forall <x> in <y>:\n")
    assert first.text.endswith("or <x>)")


def test_a_leaf_has_only_its_own_mentions() -> None:
    formula = condition("f(<a>, <b>) and <c> < <d> < <e>")
    assert isinstance(formula, And)
    first, chain = formula.parts
    assert isinstance(first, PythonCondition)
    assert [mention.path.base for mention in first.expression.mentions] == ["<a>", "<b>"]
    assert isinstance(chain, And)
    links = [part.expression.mentions for part in chain.parts if isinstance(part, PythonCondition)]
    assert [[mention.path.base for mention in link] for link in links] == [["<c>", "<d>"], ["<d>", "<e>"]]


def test_a_bound_symbol_is_the_base_of_paths_and_no_mention_of_its_own() -> None:
    formula = condition("all(<e>.<v> == 1 for <e> in *<ent>.<x>)")
    assert isinstance(formula, Quantified)
    assert formula.path == Selector("<ent>", (Child("<x>"),))
    assert isinstance(formula.body, PythonCondition)
    assert [mention.path for mention in formula.body.expression.mentions] == [Selector("<e>", (Child("<v>"),))]


def test_the_text_of_a_leaf_is_that_of_its_span() -> None:
    (constraint,) = read('<ü> ::= "é"\nwhere "é" == <ü> and (f(<a>\n.<b>) or <c>)').constraints
    source = constraint.source

    def check(formula: Formula) -> None:
        match formula:
            case PythonCondition(expression):
                assert source.text[expression.span.start : expression.span.end] == expression.text
            case And(parts) | Or(parts):
                for part in parts:
                    check(part)

    check(constraint.formula)
    assert shape(constraint.formula) == ("and", '"é" == <ü>', ("or", "f(<a>\n.<b>)", "<c>"))


def test_a_selector_over_lines_belongs_to_its_leaf() -> None:
    assert shape(condition("(<a>\n.<b> and <c>)")) == ("and", "<a>\n.<b>", "<c>")


@pytest.mark.parametrize("joint", [" and ", " -> ", " < ", " + "])
def test_long_conditions_are_read_in_reasonable_time(joint: str) -> None:
    text = joint.join(["<a> == 1"] * 600)
    assert condition(text)
