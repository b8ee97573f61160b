"""Conditions to formulas, by recursive descent.

How it works. `read_formula` takes the tokens of a condition. It finds what is not Python (`forall`, `exists`, `->`) in
the tokens; CPython parses the text between, and `_Splitter` splits the result at `and`, `or`, chained comparisons,
`any(…)` and `all(…)` over `*<path>`. Everything else is one Python condition.

    formula     := { disjunction '->' } ( quantified | disjunction )
    quantified  := ( 'forall' | 'exists' ) <x> 'in' path ':' formula
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from palaver.lean_dataclasses import replace
from palaver.source import Source, Span
from palaver.spec.ast import And, Expression, Formula, Not, Or, PythonCondition, Quantified
from palaver.spec.diagnostics import ParseError, Reporter
from palaver.spec.lexer import Token
from palaver.spec.python_parser import LiftedPython, Places, parse_lifted
from palaver.spec.selectors import lift, loaded_mentions, read_path, refuse_unused, whole_expression
from palaver.spec.spec_limits import MAX_QUANTIFIER_DEPTH

# Comparisons that are split when chained; `in` and `is` are left to Python.
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_COMPARISON_TEXTS = frozenset(("<", "<=", ">", ">=", "==", "!=", "<>"))


def read_formula(source: Source, tokens: Sequence[Token], report: Reporter, quantifiers: int = 0) -> Formula:
    """The formula that `tokens`, at least one, make up. :raises ParseError: they make up none"""
    if quantifiers > MAX_QUANTIFIER_DEPTH:
        raise ParseError(tokens[0].span, "these quantifiers are nested too deeply")
    *premises, conclusion = _split_at_arrows(tokens)
    parts = [_negated(source, premise, report) for premise in premises]
    if conclusion[0].kind == "quantifier":
        parts.append(_quantified(source, conclusion, report, quantifiers))
    else:
        _refuse_quantified_name(conclusion)
        _refuse_bare_tuple(conclusion)
        parts.append(_Splitter(source, conclusion, report).formula())
    # `A -> (B -> C)` is `not A or (not B or C)`, and `or` needs no parentheses.
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _split_at_arrows(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """The conditions between the top-level arrows. A quantifier takes all arrows behind it into its body."""
    parts = []
    start = depth = 0
    for number, token in enumerate(tokens):
        if token.kind == "quantifier" and number == start:
            break
        depth += token.nesting
        if token.text == "->" and depth == 0:
            if number == start or number == len(tokens) - 1:
                raise ParseError(token.span, "`->` needs a condition on each side")
            parts.append(tokens[start:number])
            start = number + 1
    return [*parts, tokens[start:]]


def _negated(source: Source, tokens: Sequence[Token], report: Reporter) -> Formula:
    splitter = _Splitter(source, tokens, report)
    if _binds_symbol(splitter.node, splitter.lifted):
        return Not(splitter.formula())
    node = ast.copy_location(ast.UnaryOp(ast.Not(), splitter.node), splitter.node)
    expression = whole_expression(splitter.lifted, node)
    return PythonCondition(replace(expression, text=f"not ({expression.text})"))


def _quantified(source: Source, tokens: Sequence[Token], report: Reporter, quantifiers: int) -> Formula:
    head = tokens[0]
    word = head.quantifier
    name = head.text[head.text.index("<") + 1 : head.text.index(">")].strip()
    found = read_path(source, tokens, 1)
    if found is None:
        after = tokens[1].span if len(tokens) > 1 else Span(head.end, head.end)
        starred = len(tokens) > 1 and tokens[1].text == "*"
        hint = "leave out the *" if starred else f"write {word} <{name}> in <path>: …"
        raise ParseError(after, f"{word} needs a path after `in`", hint)
    path, colon = found
    if colon >= len(tokens) or tokens[colon].text != ":":
        at = tokens[colon].span if colon < len(tokens) else Span(tokens[-1].end, tokens[-1].end)
        raise ParseError(at, f"expected `:` and a condition after the path of {word}")
    if colon + 1 == len(tokens):
        raise ParseError(
            tokens[colon].span,
            f"expected a condition after the `:` of {word}",
            "write it on the same line, or on the next one with more indentation",
        )
    body = read_formula(source, tokens[colon + 1 :], report, quantifiers + 1)
    return Quantified(word == "forall", f"<{name}>", path, body)


def _refuse_quantified_name(tokens: Sequence[Token]) -> None:
    if (
        len(tokens) > 2
        and tokens[0].text in ("forall", "exists")
        and tokens[1].kind == "name"
        and tokens[2].text == "in"
    ):
        name = tokens[1].text
        raise ParseError(tokens[1].span, f"{tokens[0].text} binds a symbol, not a Python name", f"write <{name}>")


def _refuse_bare_tuple(tokens: Sequence[Token]) -> None:
    depth = 0
    for token in tokens:
        if token.text == "lambda" and depth == 0:
            return  # its parameters may follow, with commas between them
        depth += token.nesting
        if token.text == "," and depth == 0:
            raise ParseError(
                token.span, "a condition with a comma is a tuple, which is always true", "write `and` instead"
            )


def _binds_symbol(node: ast.expr, lifted: LiftedPython) -> bool:
    return any(
        isinstance(inner, ast.comprehension)
        and isinstance(inner.target, ast.Name)
        and inner.target.id in lifted.mentions
        for inner in ast.walk(node)
    )


class _Splitter:
    """Splits one condition that CPython has parsed into a formula."""

    def __init__(self, source: Source, tokens: Sequence[Token], report: Reporter) -> None:
        self.source = source
        self.tokens = tokens
        self.lifted = lift(source, tokens)
        self.node = parse_lifted(self.lifted, report)
        self._used: set[str] = set()
        self._places = Places(source)
        spans = [mention.path.span for mention in self.lifted.mentions.values()]
        self._spans_over_lines = [span for span in spans if "\n" in source.text[span.start : span.end]]

    def formula(self) -> Formula:
        formula = self._split(self.node)
        refuse_unused(self.lifted, self._used)
        return formula

    def _split(self, node: ast.expr) -> Formula:
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return And(tuple(map(self._split, values)))
            case ast.BoolOp(op=ast.Or(), values=values):
                return Or(tuple(map(self._split, values)))
            case ast.Compare(ops=[_, _, *_]) if all(isinstance(op, _COMPARISONS) for op in node.ops):
                return And(tuple(self._links(node)))
            case ast.UnaryOp(op=ast.Not(), operand=operand) if _binds_symbol(operand, self.lifted):
                return self._negation(operand)
            case ast.Call(func=ast.Name(id="any" | "all" as word), args=[argument], keywords=[]):
                return self._quantifier(word == "all", argument) or self._leaf(node)
        return self._leaf(node)

    def _negation(self, operand: ast.expr) -> Formula:
        """The negation of `operand`. Two in a row cancel out, without recursion."""
        negated = True
        while isinstance(operand, ast.UnaryOp) and isinstance(operand.op, ast.Not):
            negated = not negated
            operand = operand.operand
        formula = self._split(operand)
        return Not(formula) if negated else formula

    def _quantifier(self, every: bool, argument: ast.expr) -> Formula | None:
        """The quantifier of `any` or `all` if the argument is a plain comprehension over `*<path>`."""
        match argument:
            case (
                ast.GeneratorExp(elt=body, generators=[generator])
                | ast.ListComp(elt=body, generators=[generator])
                | ast.SetComp(elt=body, generators=[generator])
            ) if not generator.ifs and not generator.is_async:
                pass
            case _:
                return None
        target, over = generator.target, generator.iter
        if not isinstance(target, ast.Name) or not isinstance(over, ast.Name):
            return None
        nodes = self.lifted.mentions.get(over.id)
        if nodes is None or nodes.kind != "list":
            return None
        variable = self._variable(target)
        self._used.add(over.id)
        return Quantified(every, variable, nodes.path, self._split(body))

    def _variable(self, target: ast.Name) -> str:
        bound = self.lifted.mentions.get(target.id)
        if bound is None:
            return target.id
        if bound.path.steps or bound.kind != "each":
            raise ParseError(bound.path.span, "only a plain symbol can be bound", f"write for {bound.path.base} in …")
        self._used.add(target.id)
        return bound.path.base

    def _links(self, node: ast.Compare) -> list[PythonCondition]:
        """`a < b < c` as `a < b` and `b < c`."""
        start, end = self._extent(node)
        operands = [node.left, *node.comparators]
        # Parentheses around an operand belong to its text but not to its node, so the operators tell where it ends.
        edges = [self._edges(left, right) for left, right in pairwise(operands)]
        starts = [start, *(behind for _, behind in edges)]
        ends = [*(before for before, _ in edges[1:]), end]
        leaves = []
        for number, operator in enumerate(node.ops):
            left, right = operands[number : number + 2]
            link = ast.copy_location(ast.Compare(left, [operator], [right]), left)
            link.end_lineno, link.end_col_offset = right.end_lineno, right.end_col_offset
            leaves.append(self._leaf(link, Span(starts[number], ends[number])))
        return leaves

    def _edges(self, left: ast.expr, right: ast.expr) -> tuple[int, int]:
        """The end of the text of `left` and the start of that of `right`, on each side of their operator."""
        end, start = self._extent(left)[1], self._extent(right)[0]
        number = bisect_left(self.tokens, end, key=lambda token: token.start)
        while self.tokens[number].text not in _COMPARISON_TEXTS:
            number += 1
        assert self.tokens[number].start < start, "there is an operator between two operands of a comparison"
        return self.tokens[number - 1].end, self.tokens[number + 1].start

    def _extent(self, node: ast.expr) -> tuple[int, int]:
        """The offsets of the text of `node`. A selector over several lines is longer than its identifier."""
        start = self._places.offset(node.lineno, node.col_offset)
        # CPython always sets the ends; only nodes made by hand may have none.
        end = self._places.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        for span in self._spans_over_lines:
            if start <= span.start < end < span.end:
                end = span.end
        return start, end

    def _leaf(self, node: ast.expr, span: Span | None = None) -> PythonCondition:
        mentions = loaded_mentions(node, self.lifted)
        self._used.update(mention.name for mention in mentions)
        if span is None:
            span = Span(*self._extent(node))
        return PythonCondition(Expression(self.source.text[span.start : span.end], mentions, node, self.source, span))
