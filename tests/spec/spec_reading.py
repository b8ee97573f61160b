"""Helpers of these tests: reading a text, with or without errors."""

from __future__ import annotations

from palaver.source import Source
from palaver.spec.ast import Constraint, Expr, Expression, Formula, PythonCondition, Rule, SpecFile
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_constraint, parse_spec


def read(text: str) -> SpecFile:
    """A spec without errors and warnings."""
    report = Reporter()
    spec_file = parse_spec(Source("spec.fan", text), report)
    assert not report.diagnostics, str(report.diagnostics[0])
    return spec_file


def remarks(text: str) -> str:
    """All diagnostics of a spec, as users see them."""
    report = Reporter()
    parse_spec(Source("spec.fan", text), report)
    return "\n".join(map(str, report.diagnostics))


def body(text: str) -> Expr:
    """The right-hand side of the only rule, `<a> ::= ` before `text`."""
    (rule,) = read(f"<a> ::= {text}").rules
    return rule.body


def rules_of_body(text: str, report: Reporter) -> tuple[Rule, ...]:
    """The rules that a right-hand side makes up, with its generator if it has one."""
    return parse_spec(Source("spec.fan", f"<start> ::= {text}"), report).rules


def condition(text: str) -> Formula:
    report = Reporter()
    constraint = parse_constraint(text, report)
    assert isinstance(constraint, Constraint), report.diagnostics
    assert not report.diagnostics
    return constraint.formula


def leaf(text: str) -> Expression:
    formula = condition(text)
    assert isinstance(formula, PythonCondition)
    return formula.expression
