"""Comments: a spec means the same with and without them, wherever they stand."""

from __future__ import annotations

import ast
from dataclasses import fields, is_dataclass
from itertools import chain
from pathlib import Path
from time import process_time

import pytest
from grammar_strategies import SYMBOLS, binary_rules, text_rules
from hypothesis import given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.grammar.printing import show_expr
from palaver.source import Source, Span
from palaver.spec.ast import Choice, Rule, SpecFile
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_spec

CASES = Path(__file__).parents[1] / "cases"

# Statements as pieces; a comment may stand behind each piece, and lines of comments between two.
STATEMENTS = [
    ["where (len(str(<a>)) < 9", "    and str(<b>) != '# no comment')"],
    ["where forall <x> in <a>:", "    str(<x>) != '|'"],
    ["where all(str(<x>) in (", "  'a',", "  'b')", "  for <x> in *<a>)"],
    ["maximizing len(", " str(<start>)", ")"],
    ["setting <a> havoc_probability = 0.5"],
    ["<g> ::= 'x'{1,", "   2} := f(", "  <a>,", "  '#')"],
    ["<h> ::= ('a'", "  | 'b'", "  |", " 'c')+"],
    ["<i> ::= [[ 'a'", " 'b' ]]"],
    ["x = 1; <j> ::= '1'; where <j> == '1'"],
    ["def f(x, y=0):", "    if x:", "        return [", "            '# no comment',", "  ]", "    return y"],
    ["text = '''\n# no comment | <a> ::= 'b'\n'''"],
    ["y = 1 + \\\n   2"],
    ["<k> ::= 'a' \\\n 'b'"],
]

comment_texts = st.one_of(
    st.sampled_from(["<start> ::= 'b' | 'c'", "| 'x'", "where False", "'''", '"', "(", ")", "\\", "####", "; x = 1"]),
    st.text(alphabet="#|<>:='\"\\(){}[];,.ax é\t", max_size=12),
)
blanks = st.text(alphabet=" \t", max_size=4)
comments_behind = st.one_of(st.just(""), st.tuples(blanks, comment_texts).map(lambda pair: f"{pair[0]}#{pair[1]}"))
comment_lines = st.lists(st.one_of(st.just(""), comments_behind), max_size=3)


def rule_pieces(rule: Rule, layout: int) -> list[str]:
    """A rule on one line, or on several: bars before or behind the line ends, or brackets around."""
    if not isinstance(rule.body, Choice) or layout == 0:
        return [f"{rule.symbol} ::= {show_expr(rule.body)}"]
    first, *others = (f"({show_expr(option)})" for option in rule.body.options)
    if layout == 1:
        return [f"{rule.symbol} ::= {first}", *(f"  | {other}" for other in others)]
    if layout == 2:
        return [f"{rule.symbol} ::= {first} |", *(f"  {other} |" for other in others[:-1]), f"  {others[-1]}"]
    return [f"{rule.symbol} ::= (", f"  {first}", *(f"  | {other}" for other in others), ")"]


layouts = st.lists(st.integers(0, 3), min_size=len(SYMBOLS), max_size=len(SYMBOLS))
rules_as_pieces = st.tuples(st.one_of(text_rules, binary_rules), layouts).map(
    lambda pair: list(map(rule_pieces, *pair))
)
specs = st.tuples(rules_as_pieces, st.lists(st.sampled_from(STATEMENTS), max_size=5)).flatmap(
    lambda pair: st.permutations([*pair[0], *pair[1]])
)


def meaning(part: object) -> object:
    """What a part of a spec says, without its text and places."""
    if isinstance(part, Source | Span):
        return None
    if isinstance(part, ast.AST):
        return ast.dump(part)
    if isinstance(part, tuple):
        return tuple(map(meaning, part))
    if is_dataclass(part) and not isinstance(part, type):
        named = (field for field in fields(part) if field.name != "text")
        return type(part), tuple(meaning(getattr(part, field.name)) for field in named)
    return part


def read(text: str) -> object:
    report = Reporter()
    spec_file = parse_spec(Source("spec.fan", text), report)
    assert not report.errors, f"{report.errors[0]}"
    assert isinstance(spec_file, SpecFile)
    return meaning(spec_file)


@settings(max_examples=examples(100), deadline=None)
@given(specs, st.data())
def test_a_spec_says_the_same_with_and_without_comments(spec: list[list[str]], data: st.DataObject) -> None:
    pieces = list(chain.from_iterable(spec))
    lines = [*data.draw(comment_lines)]
    for piece in pieces:
        lines += [piece + data.draw(comments_behind), *data.draw(comment_lines)]
    assert read("\n".join(lines)) == read("\n".join(pieces))


@pytest.mark.parametrize("case", ["comment", "banner"])
def test_a_comment_adds_nothing_to_the_language_of_a_spec(case: str) -> None:
    spec = palaver.load(CASES / f"{case}.fan")
    assert {str(tree) for tree in spec.fuzz(20, seed=1)} == {"a"}


@pytest.mark.parametrize("comment", ["#", "#\n", " # |", "\n"])
def test_comments_take_linear_time(comment: str) -> None:
    def cost(size: int) -> float:
        comments = f"{comment * size}\n"
        text = f"<start> ::= 'a'\n{comments}<b> ::= ('b' |\n{comments} 'c')\nwhere (<b>\n{comments})"
        before = process_time()
        read(text)
        return process_time() - before

    cost(10)
    assert cost(40_000) < 1.0
