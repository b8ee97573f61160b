"""Repetitions whose bounds are computed from what came before them."""

from __future__ import annotations

from ast import Expression as PythonExpression
from collections.abc import Iterator
from itertools import islice
from random import Random
from re import fullmatch
from typing import Any, TypeAlias

import pytest

from amounts import few
from palaver.matching.matcher import CompiledMatcher, Matcher, UnsupportedBound, compile_matcher
from palaver.source import Source
from palaver.spec.ast import (
    Child,
    Choice,
    Descendant,
    Expr,
    Expression,
    Literal,
    Pattern,
    Ref,
    Repeat,
    Selector,
    Sequence,
)
from palaver.spec.diagnostics import Reporter
from palaver.spec.spec_files import parse_spec
from palaver.trees.node import Node, NonTerminal, Part
from palaver.trees.values import leaves_of


def rules_of(spec: str) -> dict[str, Expr]:
    report = Reporter()
    file = parse_spec(Source("test.fan", spec), report)
    report.raise_if_errors()
    return {rule.symbol: rule.body for rule in file.rules}


class Value:
    """As much of a tree as the bounds below need."""

    def __init__(self, node: Node) -> None:
        self.leaves = leaves_of(node)

    def __str__(self) -> str:
        return "".join(map(str, self.leaves))

    def __int__(self) -> int:
        if all(isinstance(leaf, int) for leaf in self.leaves):
            return int("".join(map(str, self.leaves)), 2)
        return int(str(self))


def evaluate(expression: Expression, node: Node | None) -> int:
    names = {mention.name: Value(node) for mention in expression.mentions if node is not None}
    source = compile(PythonExpression(expression.python), "<bound>", "eval")
    return int(eval(source, {"COUNT": 2, **names}))


def shape_of(spec: str) -> CompiledMatcher:
    return compile_matcher(rules_of(spec), "<start>", bound=evaluate)


def fed(spec: str, data: str | bytes, **options: Any) -> Matcher:
    matcher = shape_of(spec).matcher(whole=True, **options)
    matcher.feed(data)
    return matcher


def accepts(spec: str, data: str | bytes, **options: Any) -> bool:
    return fed(spec, data, **options).progress.complete_here


COUNTED = "<start> ::= <n> ':' <dot>{int(<n>)}\n<n> ::= r'[0-9]+'\n<dot> ::= '.'\n"


@pytest.mark.parametrize(
    "text, is_good", [("0:", True), ("3:...", True), ("12:............", True), ("3:..", False), ("2:...", False)]
)
def test_a_count_field_bounds_the_repetition(text: str, is_good: bool) -> None:
    assert accepts(COUNTED, text) is is_good


def test_too_many_rounds_fail_where_the_count_is_reached() -> None:
    progress = fed(COUNTED, "2:...").progress
    assert (progress.failed_at, progress.expected) == (4, ("end of input",))
    assert fed(COUNTED, "2:..").progress.may_go_on is False
    assert fed(COUNTED, "2:.").finish().expected == ("'.'",)


def test_a_repetition_with_a_computed_zero_is_not_expected() -> None:
    spec = "<start> ::= <n> <many> 'x'\n<many> ::= '.'{int(<n>)}\n<n> ::= r'[0-9]'\n"
    for cut in range(3):
        matcher = shape_of(spec).matcher(whole=True)
        matcher.feed("0!"[:cut])
        assert matcher.feed("0!"[cut:]).expected == ("'x'",)


def test_bounds_may_be_a_range_or_half_open() -> None:
    digits = "<lo> ::= r'[0-9]'\n<hi> ::= r'[0-9]'\n"
    both = "<start> ::= <lo> <hi> '.'{int(<lo>),int(<hi>)}\n" + digits
    assert [accepts(both, "13" + "." * count) for count in range(5)] == [False, True, True, True, False]
    assert not any(accepts(both, "31" + "." * count) for count in range(5))
    open_end = "<start> ::= <lo> '.'{int(<lo>),}\n" + digits
    assert [accepts(open_end, "2" + "." * count) for count in (1, 2, 30)] == [False, True, True]
    up_to = "<start> ::= <hi> '.'{,int(<hi>)}\n" + digits
    assert [accepts(up_to, "2" + "." * count) for count in range(4)] == [True, True, True, False]


def test_negative_bounds_match_nothing() -> None:
    spec = "<start> ::= <n> '.'{int(<n>) - 5}\n<n> ::= r'[0-9]'\n"
    assert accepts(spec, "5")
    assert not accepts(spec, "4")


def test_bounds_may_use_names_only() -> None:
    assert accepts("<start> ::= 'x'{COUNT,COUNT+1}", "xxx")
    assert not accepts("<start> ::= 'x'{COUNT,COUNT+1}", "x")


def test_nothing_to_the_right_is_visible() -> None:
    matcher = fed("<start> ::= '.'{int(<n>)} <n>\n<n> ::= r'[0-9]'\n", "")
    assert (matcher.progress.may_go_on, matcher.progress.failed_at) == (False, 0)


def test_the_last_one_that_ended_counts() -> None:
    spec = "<start> ::= <run>+\n<run> ::= <n> '.'{int(<n>)}\n<n> ::= r'[0-9]'\n"
    assert accepts(spec, "1.3...02..")
    assert not accepts(spec, "3..1.")
    number = "<start> ::= <num> ':' '.'{int(<num>)}\n<num> ::= <num> <d> | <d>\n<d> ::= r'[0-9]'\n"
    assert accepts(number, "12:" + "." * 12)


def test_it_may_stand_inside_a_node_that_is_still_open() -> None:
    spec = "<start> ::= <head> <body>\n<head> ::= <n> '|'\n<n> ::= r'[0-9]'\n<body> ::= (<x>){int(<n>)}\n<x> ::= 'u'\n"
    assert accepts(spec, "2|uu")


def test_paths_tell_places_apart() -> None:
    spec = """<start> ::= <head> <tail> '.'{int(<head>.<n>)} ','{int(<head>..<deep>)} ';'{int(<tail>.<n>)}
<head> ::= <n> <mid>
<mid> ::= <deep> <n>
<deep> ::= r'[0-9]'
<tail> ::= <n>
<n> ::= r'[0-9]'
"""
    # <n> right in the head is 1, the deep one 2, one level too deep 3, in the tail 4.
    assert accepts(spec, "1234.,,;;;;")
    assert not accepts(spec, "1234...,,;;;;")


def test_a_descendant_may_be_the_node_itself() -> None:
    spec = "<start> ::= <n> '.'{int(<n>..<n>)}\n<n> ::= r'[0-9]'\n"
    assert accepts(spec, "2..")


def test_bits_count_too() -> None:
    spec = "<start> ::= <len> <byte>{int(<len>)}\n<len> ::= (0|1){8}\n<byte> ::= rb'(?s).'\n"
    assert accepts(spec, b"\x02hi")
    assert not accepts(spec, b"\x03hi")


def test_history_is_looked_at_when_the_message_has_none() -> None:
    earlier = [Node(NonTerminal("<ask>"), (Node(NonTerminal("<n>"), (text,)),)) for text in ("1", "3")]
    spec = "<start> ::= '.'{int(<ask>.<n>)} ';' <n>? ','{int(<n>)}\n<n> ::= r'[0-9]'\n"
    rules = {**rules_of(spec), "<ask>": Ref("<n>")}
    shape = compile_matcher(rules, "<start>", bound=evaluate)
    for text, is_good in (("...;,,,", True), (".;,,,", False), ("...;1,", True), ("...;1,,,", False)):
        assert shape.matcher(whole=True, history=earlier).feed(text).complete_here is is_good
    assert shape.matcher(whole=True).feed("").may_go_on is False


def test_a_bound_that_raises_rules_out_that_reading_only() -> None:
    spec = "<start> ::= <n> '.'{int(<n>)} | r'[a-z].*'\n<n> ::= r'[0-9a-z]'\n"
    matcher = fed(spec, "x..")
    assert matcher.progress.complete_here
    assert matcher.crashes == ["the bound {int(<n>)} raised ValueError: invalid literal for int() with base 10: 'x'"]


def test_a_path_that_cannot_be_followed_is_refused_when_compiling() -> None:
    with pytest.raises(UnsupportedBound, match="middle of a path") as caught:
        shape_of("<start> ::= <a> '.'{int(<a>[0].<n>)}\n<a> ::= <n>\n<n> ::= r'[0-9]'\n")
    assert "<a>[0].<n>" in caught.value.expression.text
    with pytest.raises(UnsupportedBound, match="counts or lists"):
        shape_of("<start> ::= <a> '.'{len(*<a>)}\n<a> ::= 'a'\n")


def test_trailing_indices_are_left_to_the_evaluator() -> None:
    seen = []

    def remember(expression: Expression, node: Node | None) -> int:
        seen.append(node)
        return 1

    spec = "<start> ::= <a> '.'{int(<a>[0])}\n<a> ::= <n>\n<n> ::= r'[0-9]'\n"
    matcher = compile_matcher(rules_of(spec), "<start>", bound=remember).matcher(whole=True)
    assert matcher.feed("7.").complete_here
    assert seen == [Node(NonTerminal("<a>"), (Node(NonTerminal("<n>"), ("7",)),))]


# --- Against a plain definition ------------------------------------------------------------------------------------


Env: TypeAlias = dict[Selector, Node]
Derivations: TypeAlias = Iterator[tuple[int, Env, tuple[Part, ...]]]


class TopDown:
    """All trees of a grammar without left recursion, with the last node of each path handed from left to right."""

    def __init__(self, rules: dict[str, Expr], text: str) -> None:
        self.rules = rules
        self.text = text
        self.paths = sorted({mention.path for e in expressions(rules) for mention in e.mentions}, key=repr)

    def trees(self) -> list[Node]:
        size = len(self.text)
        found = [children[0] for end, _, children in self.derive(Ref("<start>"), 0, {}, ()) if end == size]
        return [node for node in found if isinstance(node, Node)]

    def derive(self, expr: Expr, at: int, env: Env, names: tuple[str, ...]) -> Derivations:
        match expr:
            case Literal(str(value)):
                if self.text.startswith(value, at):
                    yield at + len(value), env, (value,)
            case Pattern(str(source)):
                for end in range(at, len(self.text) + 1):
                    if fullmatch(source, self.text[at:end]):
                        yield end, env, (self.text[at:end],)
            case Ref(symbol):
                inner = (*names, symbol)
                for end, after, children in self.derive(self.rules[symbol], at, env, inner):
                    node = Node(NonTerminal(symbol), children)
                    selected = {path: node for path in self.paths if selects(path, inner)}
                    yield end, {**after, **selected}, (node,)
            case Choice(options):
                for option in options:
                    yield from self.derive(option, at, env, names)
            case Sequence(parts):
                yield from self.sequence(parts, at, env, names)
            case Repeat(body, least, most):
                low, high = self.bound(least, env), self.bound(most, env)
                if low is not None and high is not None and low <= high:
                    yield from self.repeat(body, low, high, 0, at, env, names)

    def sequence(self, parts: tuple[Expr, ...], at: int, env: Env, names: tuple[str, ...]) -> Derivations:
        if not parts:
            yield at, env, ()
            return
        for middle, between, first in self.derive(parts[0], at, env, names):
            for end, after, rest in self.sequence(parts[1:], middle, between, names):
                yield end, after, first + rest

    def repeat(
        self, body: Expr, least: int, most: int, count: int, at: int, env: Env, names: tuple[str, ...]
    ) -> Derivations:
        if count >= least:
            yield at, env, ()
        if count < most:
            for middle, between, first in self.derive(body, at, env, names):
                if count < least or middle > at:
                    for end, after, rest in self.repeat(body, least, most, count + 1, middle, between, names):
                        yield end, after, first + rest

    def bound(self, bound: int | Expression | None, env: Env) -> int | None:
        if bound is None:
            return len(self.text) + 1
        if isinstance(bound, int):
            return bound
        node = env.get(bound.mentions[0].path)
        return None if node is None else evaluate(bound, node)


def expressions(rules: dict[str, Expr]) -> Iterator[Expression]:
    stack = list(rules.values())
    while stack:
        match stack.pop():
            case Repeat(body, least, most):
                yield from (bound for bound in (least, most) if isinstance(bound, Expression))
                stack.append(body)
            case Sequence(parts) | Choice(parts):
                stack.extend(parts)


def selects(path: Selector, names: tuple[str, ...]) -> bool:
    """Return True if a path selects the last of the nested `names`."""
    places = {at for at, name in enumerate(names) if name == path.base}
    for step in path.steps:
        match step:
            case Child(symbol):
                places = {at + 1 for at in places if at + 1 < len(names) and names[at + 1] == symbol}
            case Descendant(symbol):
                places = {to for at in places for to in range(at, len(names)) if names[to] == symbol}
    return len(names) - 1 in places


BOUNDS = ["{int(<n>)}", "{int(<p>.<n>)}", "{int(<q>..<n>)}", "{int(<start>..<n>)}"]
BOUNDS += ["{1,int(<n>)}", "{int(<q>.<p>.<n>),2}"]
UNITS = ["'a'", "<p>", "<q>", "<n>", "('a' | <n>)", "('a' 'a' | 'a')", "r'a*'", "'1'"]


@pytest.mark.parametrize("seed", few(range(40), 13))
def test_bounds_agree_with_the_definition(seed: int) -> None:
    random = Random(seed)

    def side(units: list[str]) -> str:
        repeats = ["", "", "", "?", *BOUNDS]
        return " ".join(random.choice(units) + random.choice(repeats) for _ in range(random.randint(2, 4)))

    no_recursion = [unit for unit in UNITS if "<q>" not in unit]
    flat = [unit for unit in no_recursion if "<p>" not in unit]
    spec = f"<start> ::= {side(UNITS)} | {side(UNITS)}\n<q> ::= {side(no_recursion)}\n<p> ::= {side(flat)} | <n>\n"
    spec += "<n> ::= r'[012]' | r'1'\n"
    rules = rules_of(spec)
    shape = compile_matcher(rules, "<start>", bound=evaluate)
    for _ in range(25):
        text = "".join(random.choice("aaa012") for _ in range(random.randint(0, 6)))
        wanted = list(islice(TopDown(rules, text).trees(), 400))
        for prune in (True, False):
            matcher = shape.matcher(whole=True, prune=prune)
            for char in text:
                matcher.feed(char)
            found = list(islice(matcher.trees(), 401))
            if len(wanted) < 400:
                assert sorted(map(repr, found)) == sorted(map(repr, wanted))
            assert matcher.progress.complete_here == bool(wanted)
