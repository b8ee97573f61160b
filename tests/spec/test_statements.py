"""Statements of a spec, and the Python among them."""

from __future__ import annotations

import ast

import pytest
from spec_reading import read, remarks

from palaver.source import Source
from palaver.spec.ast import Constraint, Not, Objective, Quantified
from palaver.spec.diagnostics import Reporter, did_you_mean
from palaver.spec.spec_files import parse_constraint, parse_spec


def test_kinds_mix_on_one_line() -> None:
    spec = read('x = 1; <a> ::= "b"; y = 2; where <a> == "b"; z = 3\n')
    assert ast.unparse(spec.python) == "x = 1\ny = 2\nz = 3"
    assert len(spec.rules) == len(spec.constraints) == 1


def test_python_may_follow_a_rule_that_spans_lines() -> None:
    spec = read('<a> ::= ("b"\n\n  "c"); x = 1')
    (assignment,) = spec.python.body
    assert (assignment.lineno, assignment.col_offset) == (3, 8)


def test_python_behind_an_error_keeps_its_position() -> None:
    assert "spec.fan:1:10:" in remarks("|; x = 1 1")


def test_python_keeps_its_places_and_non_ascii_text_does_no_harm() -> None:
    spec = read('name = "ü"; <ä> ::= "é"; y = 2\n  <b> ::= 0\nif y:\n    z = 1\n')
    assert [node.lineno for node in spec.python.body] == [1, 1, 3]
    assert ast.unparse(spec.python) == "name = 'ü'\ny = 2\nif y:\n    z = 1"


def test_all_of_python_is_legal() -> None:
    spec = read(
        "match 3:\n    case 3:\n        where = type(3)\n    case _:\n        pass\n"
        "def f(x, /, *, setting=1):\n    minimizing = 1_000\n    return f'{x!r:>{setting}}'\n"
        "@f\nclass A: pass\n"
        "x = [y := 1, y ** 2]; z = lambda: (yield)\n"
        'text = """\nwhere <a> ::= not a rule\n<a> ::= "b"\n"""\n'
        "where <a> == 1\n"
    )
    assert len(spec.python.body) == 6
    assert not spec.rules
    assert len(spec.constraints) == 1


def test_a_block_keeps_its_lines_but_never_a_rule() -> None:
    spec = read('def f():\n    where = 1\n\n        <a> ::= "b"\n    return where\nwhere f()\n')
    assert ast.unparse(spec.python) == "def f():\n    where = 1\n    return where"
    assert len(spec.rules) == len(spec.constraints) == 1


def test_rules_and_constraints_may_be_indented_at_will() -> None:
    spec = read('    <a> ::= "b"\n\twhere <a>\n  minimizing int(<a>)\n      <b> ::= 0')
    assert (len(spec.rules), len(spec.constraints), len(spec.objectives)) == (2, 1, 1)


def test_a_comparison_in_python_is_no_selector() -> None:
    assert ast.unparse(read("b = x<y>0\nc = f(1)<y>0").python) == "b = x < y > 0\nc = f(1) < y > 0"


def test_include_is_a_statement_only_with_parentheses() -> None:
    spec = read("include('a.fan')\ninclude = 3\ninclude ( \"b.fan\" )")
    assert [include.path for include in spec.includes] == ["a.fan", "b.fan"]
    assert len(spec.python.body) == 1


def test_settings() -> None:
    spec = read(
        "setting <a> havoc_probability = 0.5 max_stack_pow = -3\n"
        "setting *\n"
        "setting all_with_type(Star) invert_regex = True"
    )
    assert [(setting.selector, setting.values) for setting in spec.settings] == [
        ("<a>", (("havoc_probability", 0.5), ("max_stack_pow", -3))),
        ("*", ()),
        ("Star", (("invert_regex", True),)),
    ]


def test_an_objective_has_a_direction() -> None:
    assert [each.maximize for each in read("minimizing len(*<a>)\nmaximizing int(<a>)").objectives] == [False, True]


@pytest.mark.parametrize(
    "text, kind",
    [
        ("<a> == 1", Constraint),
        ("where <a> == 1;", Constraint),
        ("minimizing <a>", Objective),
        (" maximizing <a>", Objective),
    ],
)
def test_a_constraint_of_the_command_line_needs_no_keyword(text: str, kind: type) -> None:
    assert isinstance(parse_constraint(text, Reporter()), kind)


@pytest.mark.parametrize("text", ["", "where", "<a> ==", "<a>; <b>", "setting *", "x = 3", "<a>\n<b>"])
def test_a_wrong_constraint_is_reported(text: str) -> None:
    report = Reporter()
    assert parse_constraint(text, report, "-c") is None
    assert [error.source.name for error in report.errors] == ["-c"]


def test_many_negations_cancel_out() -> None:
    (constraint,) = read("where " + "not " * 51 + "any(<x> for <x> in *<y>)").constraints
    assert isinstance(constraint.formula, Not)
    assert isinstance(constraint.formula.part, Quantified)


def test_every_statement_with_an_error_is_reported_in_order() -> None:
    text = '<a> ::= \nx = 1 1\nwhere <a> ==\ny = (\n<b> ::= "x"\nwhere f(\nwhere <a> ==\nsetting ?\nz = 2 2'
    report = Reporter()
    spec = parse_spec(Source("spec.fan", text), report)
    assert [error.source.place(error.span.start)[0] for error in report.errors] == [1, 2, 3, 4, 6, 7, 8, 9]
    assert [rule.symbol for rule in spec.rules] == ["<b>"]


def test_thousands_of_errors_are_cut_short() -> None:
    report = Reporter()
    parse_spec(Source("spec.fan", "x = 1\n" + "<a>\n" * 10_000 + "y = 1 1"), report)
    assert len(report.errors) == 51
    assert "stopped here" in report.errors[-1].message


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "-" * 20_000 + "1",
        "where " + "-" * 20_000 + "<a>",
        "where " + "(" * 5000 + "<a>" + ")" * 5000,
        "where " + "forall <x> in <y>: " * 500 + "<x>",
    ],
)
def test_too_deep_nesting_is_one_diagnostic(text: str) -> None:
    said = remarks(text)
    assert said.count("error") == 1
    assert "nested" in said


@pytest.mark.parametrize(
    "name, expected", [("<nmae>", "did you mean <name>?"), ("<zzz>", ""), ("NAME", "did you mean <name>?")]
)
def test_did_you_mean(name: str, expected: str) -> None:
    assert did_you_mean(name, ["<b>", "<name>", "<namely>", "<a>"]) == expected


def test_a_warning_of_python_is_reported_at_its_line() -> None:
    said = remarks('x = 1\ny = "\\d"\nwhere "\\d" == <a>\n')
    assert said.count(": warning: invalid escape sequence '\\d'") == 2
    assert said.startswith("spec.fan:2:1:")
    assert "spec.fan:3:1:" in said
