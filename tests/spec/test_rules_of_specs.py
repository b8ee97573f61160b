"""Right-hand sides of rules: what each way to write them means."""

from __future__ import annotations

import pytest
from spec_reading import body, read, remarks, rules_of_body

from palaver.spec.ast import Bit, Choice, Expr, Expression, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.spec.diagnostics import Reporter

A, B, C = Literal("a"), Literal("b"), Literal("c")


@pytest.mark.parametrize(
    "text, expected",
    [
        ('"a"', A),
        ("'a'", A),
        ("'''a'''", A),
        ('u"a"', A),
        (r'"\n\x41\u00e9\101"', Literal("\nAéA")),
        (r'b"\xff"', Literal(b"\xff")),
        (r'r"\d+"', Pattern(r"\d+")),
        (r'rb"\d"', Pattern(rb"\d")),
        (r'br"\d"', Pattern(rb"\d")),
        (r'Br"\d"', Pattern(rb"\d")),
        (r'R"\d"', Literal(r"\d")),
        (r'bR"\d"', Literal(rb"\d")),
        ("r'''a\"b'''", Pattern('a"b')),
        (r'r"a\"b"', Pattern(r"a\"b")),
        ('"a""b"', Sequence((A, B))),
        ("0", Bit(0)),
        ("01", Sequence((Bit(0), Bit(1)))),
        ("01*", Sequence((Bit(0), Repeat(Bit(1), 0, None)))),
        ('""', Literal("")),
        ('"#"', Literal("#")),
    ],
)
def test_terminals(text: str, expected: Expr) -> None:
    assert body(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ('"a"?', Repeat(A, 0, 1)),
        ('"a"*', Repeat(A, 0, None)),
        ('"a" +', Repeat(A, 1, None)),
        ('"a"{3}', Repeat(A, 3, 3)),
        ('"a"{0}', Repeat(A, 0, 0)),
        ('"a"{2,5}', Repeat(A, 2, 5)),
        ('"a"{,5}', Repeat(A, 0, 5)),
        ('"a"{2,}', Repeat(A, 2, None)),
        ('"a"{\n2, # two\n5\n}', Repeat(A, 2, 5)),
        ('"a"{1_0}', Repeat(A, 10, 10)),
        ('("a"+)?', Repeat(Repeat(A, 1, None), 0, 1)),
    ],
)
def test_repetitions(text: str, expected: Expr) -> None:
    assert body(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ('"a" | "b" "c"', Choice((A, Sequence((B, C))))),
        ('("a")', A),
        ('(("a" "b")) "c"', Sequence((Sequence((A, B)), C))),
        ('("a" | "b") | "c"', Choice((Choice((A, B)), C))),
        ('[[ "a" ("b" | "c") ]]', Permutation((A, Choice((B, C))))),
        ('[["a"]] "b"', Sequence((Permutation((A,)), B))),
        ("< lid >", Ref("<lid>")),
        ("<Client:hello>", Ref("<hello>", "Client")),
        ("<Client:Server:hello>", Ref("<hello>", "Client", "Server")),
        ("<straße>", Ref("<straße>")),
    ],
)
def test_structure(text: str, expected: Expr) -> None:
    assert body(text) == expected


def test_a_computed_bound_is_an_expression_with_its_selector() -> None:
    repeat = body('"a"{int(<head>.<n>)}')
    assert isinstance(repeat, Repeat)
    assert isinstance(repeat.least, Expression)
    assert repeat.least is repeat.most
    assert repeat.least.text == "int(<head>.<n>)"
    assert [mention.path.base for mention in repeat.least.mentions] == ["<head>"]


def test_bounds_are_split_at_the_top_level_comma_only() -> None:
    repeat = body('"a"{f(1, {2: 3}), 9}')
    assert isinstance(repeat, Repeat)
    assert isinstance(repeat.least, Expression)
    assert repeat.least.text == "f(1, {2: 3})"
    assert repeat.most == 9


def test_a_bound_may_break_its_lines_anywhere() -> None:
    repeat = body('"a"{int(<n>)\n + 1}')
    assert isinstance(repeat, Repeat)
    assert isinstance(repeat.least, Expression)
    assert repeat.least.text == "int(<n>)\n + 1"


@pytest.mark.parametrize(
    "text",
    [
        '"a" | "b" | "c"',
        '"a" |\n "b" |\n\n "c"',
        '"a"\n | "b"\n # why not\n\n | "c"',
        '\n | "a"\n | "b"\n | "c"',
        '("a"\n | "b" # one\n | "c")',
        '"a" | \\\n "b" | "c"',
    ],
)
def test_a_rule_may_span_lines(text: str) -> None:
    first, second = read(f"<a> ::= {text}\n\n<b> ::= 0").rules
    assert first.body == Choice((A, B, C))
    assert second.body == Bit(0)


def test_a_rule_ends_with_its_line() -> None:
    assert [rule.symbol for rule in read('<a> ::= "a"\n<b> ::= "b"; <c> ::= "c";').rules] == ["<a>", "<b>", "<c>"]


def test_the_generator_covers_the_whole_rule() -> None:
    (rule,) = read('<a> ::= "a" | "b" := pick(<seed>, ";")').rules
    assert rule.body == Choice((A, B))
    assert rule.generator is not None
    assert rule.generator.text == 'pick(<seed>, ";")'


@pytest.mark.parametrize("operator", ["=", "::"])
def test_older_generators_work_with_a_warning(operator: str) -> None:
    report = Reporter()
    (rule,) = rules_of_body(f'"a" {operator} f()', report)
    assert rule.generator is not None
    assert [each.severity for each in report.diagnostics] == ["warning"]


@pytest.mark.parametrize("name", ["type", "class", "where", "not", "Star", "forall", "setting", "include", "_"])
def test_no_name_is_reserved(name: str) -> None:
    (rule,) = read(f'<{name}> ::= <{name}> "x"').rules
    assert rule.symbol == f"<{name}>"


def test_spans_are_those_of_the_text() -> None:
    text = '<a>  ::= "x" (<b> | 0)+'
    (rule,) = read(text).rules
    assert isinstance(rule.body, Sequence)
    first, second = rule.body.parts
    assert text[rule.span.start : rule.span.end] == "<a>"
    assert text[first.span.start : first.span.end] == '"x"'
    assert text[rule.body.span.start : rule.body.span.end] == '"x" (<b> | 0)+'
    assert isinstance(second, Repeat)
    assert text[second.body.span.start : second.body.span.end] == "<b> | 0"


@pytest.mark.parametrize("opening, closing", ["()", ("[[", "]]"), ("([[", "]])")])
def test_too_many_brackets_are_one_clear_error(opening: str, closing: str) -> None:
    said = remarks(f'<a> ::= {opening * 5000}"x"{closing * 5000}')
    assert said.count("error") == 1
    assert "brackets are nested more than" in said or "cannot contain another" in said


def test_ninety_brackets_are_fine() -> None:
    assert body("(" * 90 + '"a"' + ")" * 90) == A
