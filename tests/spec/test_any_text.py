"""Whatever the text, reading it never raises, and every place lies within it."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from spec_reading import rules_of_body

from amounts import examples
from palaver.source import Source, Span
from palaver.spec.ast import (
    And,
    Constraint,
    Expr,
    Expression,
    Formula,
    Or,
    PythonCondition,
    Quantified,
    Repeat,
    SpecFile,
)
from palaver.spec.ast import Not as Negation
from palaver.spec.diagnostics import Reporter
from palaver.spec.lexer import normalise_line_ends
from palaver.spec.spec_files import parse_constraint, parse_spec

FRAGMENTS = [
    *"()[]{}|*+?.,;:=<>!#'\"\\ \n\t-0179éß\0",
    *[
        "<a>",
        "<b>",
        "<P:a>",
        "<P:Q:a>",
        "<two-words>",
        "<>",
        "<x",
        "::=",
        ":=",
        "::",
        "->",
        "..",
        "[[",
        "]]",
        "**",
        "<>",
    ],
    *[
        '"x"',
        "'y'",
        'r"[0-9]+"',
        'b"z"',
        'f"{<a>}"',
        'f"{x:{',
        '"""',
        "'''",
        'f"""',
        "0",
        "1",
        "01",
        "{2,3}",
        "{int(<a>)}",
    ],
    *["where ", "minimizing ", "maximizing ", "setting ", "include(", "forall <x> in <a>: ", "exists <x> in ", " in "],
    *[
        " and ",
        " or ",
        "not ",
        " if ",
        " else ",
        "lambda: ",
        "any(",
        "all(",
        " for <x> in *<a>)",
        " for x in *<a>)",
        "*<a>",
    ],
    *[
        "|<a>|",
        "<a>[0]",
        "<a>[i].<b>",
        "x",
        "x.<a>",
        "f(<a>)",
        " == ",
        " < ",
        "x = 1",
        "def f():\n    ",
        "class A:\n",
        "\n    ",
    ],
    *[
        "\n<a> ::= ",
        "\n<b> ::= ",
        "\nwhere ",
        "; ",
        "havoc_probability = 1",
        "all_with_type(Star)",
        "# c\n",
        "\\\n",
        "𓀀",
        "\ud800",
    ],
]
texts = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join) | st.text(max_size=60)


def places(spec_file: SpecFile) -> Iterator[Span]:
    for rule in spec_file.rules:
        yield rule.span
        yield from places_of_body(rule.body)
        if rule.generator is not None:
            yield from places_of_expression(rule.generator)
    for constraint in spec_file.constraints:
        yield constraint.span
        yield from places_of_formula(constraint.formula)
    for objective in spec_file.objectives:
        yield from places_of_expression(objective.expression)


def places_of_body(body: Expr) -> Iterator[Span]:
    yield body.span
    for part in getattr(body, "parts", ()) + getattr(body, "options", ()):
        yield from places_of_body(part)
    if isinstance(body, Repeat):
        yield from places_of_body(body.body)
        for bound in (body.least, body.most):
            if isinstance(bound, Expression):
                yield from places_of_expression(bound)


def places_of_expression(expression: Expression) -> Iterator[Span]:
    yield expression.span
    for mention in expression.mentions:
        yield mention.path.span
        assert expression.span.start <= mention.path.span.start
        assert mention.path.span.end <= expression.span.end


def places_of_formula(formula: Formula) -> Iterator[Span]:
    match formula:
        case PythonCondition(expression):
            yield from places_of_expression(expression)
        case And(parts) | Or(parts):
            for part in parts:
                yield from places_of_formula(part)
        case Negation(part) | Quantified(body=part):
            yield from places_of_formula(part)


@settings(max_examples=examples(400), deadline=None)
@given(texts)
def test_reading_never_raises_and_all_places_lie_within_the_text(text: str) -> None:
    report = Reporter()
    spec_file = parse_spec(Source("spec.fan", text), report)
    spans = [*places(spec_file), *(diagnostic.span for diagnostic in report.diagnostics)]
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)
    assert all(str(diagnostic) for diagnostic in report.diagnostics)


@settings(max_examples=examples(300), deadline=None)
@given(texts)
def test_a_constraint_is_read_or_reported(text: str) -> None:
    report = Reporter()
    constraint = parse_constraint(text, report)
    assert (constraint is None) == bool(report.errors)
    if isinstance(constraint, Constraint):
        assert list(places_of_formula(constraint.formula))


@settings(max_examples=examples(200), deadline=None)
@given(texts)
def test_a_rule_body_is_read_or_reported(text: str) -> None:
    report = Reporter()
    rules_of_body(normalise_line_ends(text), report)
    again = Reporter()
    rules_of_body(normalise_line_ends(text), again)
    assert list(map(str, report.diagnostics)) == list(map(str, again.diagnostics))


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(
        st.sampled_from(["<a> ::= 0", "x = 1", "where <a>", "setting *", "def f():\n    where = 1", "  <b> ::= 1"])
    )
)
def test_statements_do_not_disturb_each_other(statements: list[str]) -> None:
    report = Reporter()
    spec_file = parse_spec(Source("spec.fan", "\n".join(statements)), report)
    assert not report.diagnostics
    assert len(spec_file.rules) == sum("::=" in statement for statement in statements)
    assert len(spec_file.python.body) == sum(statement[0] in "xd" for statement in statements)
