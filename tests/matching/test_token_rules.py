"""Token rules change no answer of the Earley parser, only its time."""

from __future__ import annotations

from itertools import islice

import pytest
from differential import KINDS, Run
from test_matcher import rules_of

import palaver
from palaver.matching.fast_path import FastPath
from palaver.matching.matcher import Matcher, compile_matcher
from palaver.spec.ast import Expression
from palaver.trees.lazy import unexpanded_data
from palaver.trees.node import Node, Part
from palaver.trees.values import to_int

# Left recursion, so the fast path is never taken.
SUMS = """
<start> ::= <sum>
<sum> ::= <sum> "+" <number> | <number>
<number> ::= <sign>? <digit>+ ("." <digit>+)?
<sign> ::= "-"
<digit> ::= r"[0-9]"
"""

# A zero byte is an empty field, but also the end.
FIELDS = """
<start> ::= <field>* b"\\x00"
<field> ::= <size> <byte>{int(<size>)}
<size> ::= 0 0 <bit>{6}
<byte> ::= rb"[\\x00-\\xff]"
<bit> ::= 0 | 1
"""


def matchers(spec: str, *pieces: str | bytes, whole: bool = True, lazy: bool = True) -> tuple[Matcher, Matcher]:
    """Matchers by the Earley parser, with tokens and without."""
    compiled = palaver.loads(spec)
    with_tokens = compiled.matcher(whole=whole, lazy=lazy)
    alone = compiled.matcher(whole=whole, reference=True)
    for piece in pieces:
        with_tokens.feed(piece)
        alone.feed(piece)
    assert with_tokens.parser_name == alone.parser_name == "Earley"
    return with_tokens, alone


def nodes(part: Part, symbol: str) -> list[Node]:
    """The nodes of a certain name, without looking into any."""
    if not isinstance(part, Node):
        return []
    if part.symbol == symbol:
        return [part]
    return [node for child in part.children for node in nodes(child, symbol)]


def test_a_rule_that_one_regex_can_read_is_a_token() -> None:
    with_tokens, alone = matchers(SUMS, "1+-23.5+400+")
    with_tokens.feed("6")
    alone.feed("6")
    (tree,) = with_tokens.trees()
    assert [unexpanded_data(node) for node in nodes(tree, "<number>")] == [None, "-23.5", "400", None]
    assert [tree] == list(alone.trees())


def test_tokens_are_not_lazy_where_nothing_may_be() -> None:
    with_tokens, alone = matchers(SUMS, "1+-23.5+400+1", lazy=False)
    (tree,) = with_tokens.trees()
    assert not any(map(unexpanded_data, nodes(tree, "<number>")))
    assert [tree] == list(alone.trees())


def test_a_token_that_is_not_seen_to_its_end_goes_on_with_the_next_piece() -> None:
    with_tokens, alone = matchers(SUMS, "-1", "2", ".", "5+", "", "3")
    assert with_tokens.finish() == alone.finish()
    assert list(with_tokens.trees()) == list(alone.trees()) != []


@pytest.mark.parametrize("data", ["1+-", "1+2.", "1+-23.x", "1+2x", "1++2", "+", "1.2.3"])
def test_terminals_expected_inside_a_token_are_told(data: str) -> None:
    with_tokens, alone = matchers(SUMS, data)
    assert with_tokens.progress == alone.progress
    assert with_tokens.finish() == alone.finish()
    assert alone.progress.expected


@pytest.mark.parametrize("data", ["", "1", "1+-", "1+2.", "12+345.6", "1x"])
def test_partial_trees_show_open_nodes_inside_a_token(data: str) -> None:
    with_tokens, alone = matchers(SUMS, data)
    assert list(with_tokens.partial_trees()) == list(alone.partial_trees())
    with_tokens.finish()
    alone.finish()
    assert list(with_tokens.partial_trees()) == list(alone.partial_trees())


def test_a_count_field_is_a_token_and_its_repetition_a_run() -> None:
    with_tokens, alone = matchers(FIELDS, b"\x02ab\x00\x01c\x00")
    found, wanted = list(with_tokens.trees()), list(alone.trees())
    assert found == wanted
    assert len(wanted) == 1
    assert len(nodes(found[0], "<byte>")) == 3


def test_a_run_that_is_cut_off_goes_on_with_the_next_piece() -> None:
    with_tokens, alone = matchers(FIELDS, b"\x04a", b"b", b"c", b"d\x00")
    assert with_tokens.progress == alone.progress
    assert list(with_tokens.trees()) == list(alone.trees()) != []


def test_a_run_may_be_longer_than_anything_can_be() -> None:
    spec = "<start> ::= <start> <part> | <part>\n<part> ::= <n> ':' <c>{int(<n>)}\n<n> ::= r'[0-9]+'\n<c> ::= r'[a-c]'"
    with_tokens, alone = matchers(spec, "3:abc1:a", f"{10**30}:abc")
    assert with_tokens.progress == alone.progress
    assert with_tokens.finish() == alone.finish()
    assert list(with_tokens.partial_trees()) == list(alone.partial_trees())


def test_lengths_of_a_message_that_may_go_on_are_the_same() -> None:
    with_tokens, alone = matchers(SUMS, "12+3.45+6", whole=False)
    assert with_tokens.progress == alone.progress
    assert alone.progress.complete == (1, 2, 4, 6, 7, 9)
    for length in alone.progress.complete:
        assert list(with_tokens.trees(length)) == list(alone.trees(length))


def test_an_option_may_be_a_token_beside_one_that_is_none() -> None:
    with_tokens, alone = matchers("<start> ::= (<start> | <word>)*\n<word> ::= 'ab'", "abab")
    found = list(islice(with_tokens.trees(), 10))
    assert found == list(islice(alone.trees(), 10))
    assert len(found) == 4


def test_a_token_may_be_empty() -> None:
    with_tokens, alone = matchers("<start> ::= <start> ';' <word> | <word>\n<word> ::= r'[a-z]*'", "a;;bcd;")
    assert list(with_tokens.trees()) == list(alone.trees()) != []


@pytest.mark.parametrize(("is_pure", "asked"), [(True, 2), (False, 6)])
def test_a_bound_that_depends_on_a_short_text_only_is_computed_once(is_pure: bool, asked: int) -> None:
    questions: list[Node] = []

    def bound(_: Expression, node: Node | None) -> int:
        assert node is not None  # it is about <size>
        questions.append(node)
        return to_int(node)

    shape = compile_matcher(rules_of(FIELDS), "<start>", bound=bound, is_pure=lambda _: is_pure)
    for _ in range(2):
        matcher = shape.matcher(whole=True, reference=True)
        assert matcher.feed(b"\x02ab\x02cd\x00").complete_here
    assert len(questions) == asked


@pytest.mark.parametrize("kind", KINDS)
def test_the_earley_parser_with_tokens_agrees_with_it_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FastPath, "is_tried", False)  # or it would hardly be asked
    run = Run(seed=0)
    for number in range(2):
        run.case(kind, number)
    assert run.tally.total > 20
