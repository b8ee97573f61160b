"""Selectors in Python expressions, replaced by identifiers.

`lift` replaces every selector (`<a>.<b>`, `*<a>`, `|<a>|`) by a Python identifier of exactly the same length, so that a
position in the result is a position in the spec. The identifiers are Egyptian hieroglyphs padded with underscores:
legal in Python, one letter suffices, and no spec uses them by accident.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal as OneOf

from palaver.source import Source, Span
from palaver.spec.ast import Child, Descendant, Expression, Index, Mention, Selector, SelectorStep
from palaver.spec.diagnostics import ParseError, Reporter
from palaver.spec.lexer import Token, bare_symbol, symbol_error
from palaver.spec.python_parser import LiftedPython, parse_between, parse_lifted
from palaver.spec.spec_limits import MAX_SELECTOR_PARENTHESES

# Egyptian hieroglyphs, all of which may start an identifier.
_HIEROGLYPHS = [chr(code) for code in range(0x13000, 0x1342F)]

StaticIndex = int | tuple[int | None, int | None, int | None]


def lift(source: Source, tokens: Sequence[Token]) -> LiftedPython:
    """The text of `tokens`, at least one, with identifiers as selectors. :raises ParseError: a selector is wrong"""
    start, end = tokens[0].start, tokens[-1].end
    lifter = _Lifter(source, source.text[start:end])
    lifter.lift(tokens)
    pieces = []
    at = start
    for change_start, change_end, replacement in lifter.changes:
        pieces += [source.text[at:change_start], replacement]
        at = change_end
    pieces.append(source.text[at:end])
    return LiftedPython(source, start, end, "".join(pieces), lifter.mentions, tokens)


def read_expression(source: Source, tokens: Sequence[Token], report: Reporter) -> Expression:
    """The Python expression that `tokens`, at least one, make up. :raises ParseError: they make up none"""
    lifted = lift(source, tokens)
    return whole_expression(lifted, parse_lifted(lifted, report))


def whole_expression(lifted: LiftedPython, node: ast.expr) -> Expression:
    """All of the lifted text as one expression with the tree `node`. :raises ParseError: a selector is misplaced"""
    used = loaded_mentions(node, lifted)
    refuse_unused(lifted, {mention.name for mention in used})
    text = lifted.source.text[lifted.start : lifted.end]
    return Expression(text, used, node, lifted.source, Span(lifted.start, lifted.end))


def loaded_mentions(node: ast.AST, lifted: LiftedPython) -> tuple[Mention, ...]:
    """The mentions whose value `node` uses, in the order of the text. :raises ParseError: one of them is bound there"""
    used = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in lifted.mentions:
            mention = lifted.mentions[inner.id]
            if not isinstance(inner.ctx, ast.Load):
                raise _misplaced_binding(mention, lifted)
            used.append(mention)
    return tuple(sorted(used, key=lambda mention: mention.path.span.start))


def refuse_unused(lifted: LiftedPython, used: set[str]) -> None:
    """Check that every selector is used as a value. :raises ParseError: one is used as a parameter or a keyword"""
    for name, mention in lifted.mentions.items():
        if name not in used:
            raise ParseError(mention.path.span, "a selector is a value, and cannot be used as a name here")


def _misplaced_binding(mention: Mention, lifted: LiftedPython) -> ParseError:
    symbol = mention.path.base
    return ParseError(
        mention.path.span,
        f"{lifted.original_text(mention.name)} cannot be bound here",
        f"only all(… for {symbol} in *<path>) or any(…) without `if`, as a condition of its own, can bind a symbol; "
        "elsewhere use a Python name",
    )


def read_path(source: Source, tokens: Sequence[Token], at: int) -> tuple[Selector, int] | None:
    """The path at token number `at`, if any, and the number of the token behind. :raises ParseError: it is broken"""
    return _Lifter(source, "").path(tokens, at, _partners(tokens))


class _Lifter:
    """Finds the selectors of one expression and collects their replacements."""

    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self.mentions: dict[str, Mention] = {}
        self.changes: list[tuple[int, int, str]] = []
        self._letters = _unused_identifiers(text)

    def lift(self, tokens: Sequence[Token]) -> None:
        partners = _partners(tokens)
        at = 0
        while at < len(tokens):
            at = self._lift_at(tokens, at, partners)

    def _lift_at(self, tokens: Sequence[Token], at: int, partners: dict[int, int]) -> int:
        """Handle the token number `at`; return the number of the token behind it."""
        token = tokens[at]
        after_operand = at > 0 and tokens[at - 1].ends
        if token.kind == "fstring":
            self.lift(token.inner)
        elif token.kind == "quantifier":
            word = token.quantifier
            raise ParseError(
                token.span,
                f"{word} is allowed only at the start of a condition",
                f"write {'all' if word == 'forall' else 'any'}(… for <x> in *<path>) inside a condition",
            )
        elif token.text == "<>":
            self.changes.append((token.start, token.end, "!="))
        elif token.text == "->":
            raise ParseError(
                token.span,
                "`->` is not allowed in brackets or inside an expression",
                "write `not A or B` for `A -> B` here",
            )
        elif token.text in (".", "..") and at + 1 < len(tokens) and tokens[at + 1].kind == "symbol":
            raise self._step_after_python(tokens, at)
        elif not after_operand:
            return self._lift_operand(tokens, at, partners)
        return at + 1

    def _lift_operand(self, tokens: Sequence[Token], at: int, partners: dict[int, int]) -> int:
        """Handle a token where an operand starts."""
        token = tokens[at]
        if token.kind == "symbol" or token.text == "(":
            return self._mention(tokens, at, at, "each", partners) or at + 1
        if token.text == "*":
            return self._mention(tokens, at, at + 1, "list", partners) or at + 1
        if token.text == "**" and at + 1 < len(tokens) and tokens[at + 1].kind == "symbol":
            raise ParseError(
                token.span,
                "`**` is not a selector",
                f"write *{tokens[at + 1].text} for the list of all {tokens[at + 1].text}",
            )
        if token.text == "|":
            counted = self._mention(tokens, at, at + 1, "count", partners)
            if counted is None:
                raise ParseError(
                    token.span,
                    "expected a path after `|`, as in |<path>|, which counts nodes",
                    "write `or` instead of ||" if at and tokens[at - 1].text == "|" else "",
                )
            return counted
        if token.text == "<":
            raise ParseError(*symbol_error(self.source.text, token.start))
        return at + 1

    def _mention(
        self,
        tokens: Sequence[Token],
        first: int,
        at: int,
        kind: OneOf["each", "list", "count"],
        partners: dict[int, int],
    ) -> int | None:
        """Lift a mention that starts with token `first` and whose path starts at `at`; None if there is no path."""
        found = self.path(tokens, at, partners)
        if found is None:
            return None
        path, behind = found
        if kind == "count":
            if behind >= len(tokens) or tokens[behind].text != "|":
                return None
            behind += 1
        if behind < len(tokens) and tokens[behind].text == "{":
            raise ParseError(
                tokens[behind].span,
                "a selector cannot be followed by {…}",
                "write .<name> for a child or ..<name> for a descendant",
            )
        start, end = tokens[first].start, tokens[behind - 1].end
        name, replacement = _placeholder(next(self._letters), self.source.text[start:end])
        self.mentions[name] = Mention(name, Selector(path.base, path.steps, Span(start, end)), kind)
        self.changes.append((start, end, replacement))
        return behind

    def path(
        self, tokens: Sequence[Token], at: int, partners: dict[int, int], groups: int = 0
    ) -> tuple[Selector, int] | None:
        """The path at token number `at`, and the number of the token behind it; None if there is none."""
        if at >= len(tokens):
            return None
        token = tokens[at]
        if token.kind == "symbol":
            base, steps, behind = bare_symbol(token, self.source.text), [], at + 1
        elif token.text == "(" and groups < MAX_SELECTOR_PARENTHESES:
            inside = self.path(tokens, at + 1, partners, groups + 1)
            if inside is None or inside[1] != partners.get(at):
                return None
            base, steps, behind = inside[0].base, list(inside[0].steps), inside[1] + 1
        else:
            return None
        behind = self._steps(tokens, behind, partners, steps)
        return Selector(base, tuple(steps), Span(token.start, tokens[behind - 1].end)), behind

    def _steps(self, tokens: Sequence[Token], at: int, partners: dict[int, int], steps: list[SelectorStep]) -> int:
        """Add the steps from token number `at` on; return the number of the token behind them.

        A computed index belongs to the selector only if further steps follow; otherwise it is plain Python.
        """
        computed: list[Sequence[Token]] = []
        behind = at
        while at < len(tokens):
            token = tokens[at]
            if token.text in (".", "..") and at + 1 < len(tokens) and tokens[at + 1].kind == "symbol":
                steps.extend(Index(self._computed_index(index)) for index in computed)
                computed = []
                symbol = bare_symbol(tokens[at + 1], self.source.text)
                steps.append(Child(symbol) if token.text == "." else Descendant(symbol))
                at = behind = at + 2
            elif token.text == "[" and at in partners:
                index = tokens[at + 1 : partners[at]]
                at = partners[at] + 1
                static = None if computed else _static_index(index)
                if not index:
                    raise ParseError(Span(token.start, tokens[at - 1].end), "expected an index between the brackets")
                if static is None:
                    computed.append(index)
                else:
                    steps.append(Index(static))
                    behind = at
            else:
                break
        return behind

    def _computed_index(self, tokens: Sequence[Token]) -> Expression:
        lifted = lift(self.source, tokens)
        for mention in lifted.mentions.values():
            raise ParseError(
                mention.path.span,
                "an index inside a path cannot contain a selector",
                "bind the node with a quantifier first, and use the index at the end of the path",
            )
        node = parse_between(lifted, Reporter(), "_[", "]")
        assert isinstance(node, ast.Subscript), "a pair of brackets behind a name is a subscript"
        index = node.slice
        if isinstance(index, ast.Slice):
            parts = [part or ast.Constant(None) for part in (index.lower, index.upper, index.step)]
            call = ast.Call(ast.Name("slice", ast.Load()), parts, [])
            index = ast.fix_missing_locations(ast.copy_location(call, node))
        return Expression(lifted.text, (), index, self.source, Span(lifted.start, lifted.end))

    def _step_after_python(self, tokens: Sequence[Token], at: int) -> ParseError:
        before = tokens[at - 1] if at else None
        step = f"{tokens[at].text}{tokens[at + 1].text}"
        span = Span(tokens[at].start, tokens[at + 1].end)
        if before is not None and before.kind == "name":
            return ParseError(
                Span(before.start, span.end),
                f"`{step}` can follow only a selector, and {before.text} is a Python name",
                f"bind a symbol instead: for <{before.text}> in …, then write <{before.text}>{step}",
            )
        return ParseError(span, f"`{step}` can follow only a selector", "bind a symbol with all(… for <x> in *<path>)")


def _static_index(tokens: Sequence[Token]) -> StaticIndex | None:
    """The index, if it is written in plain numbers."""
    parts: list[int | None] = [None]
    sign = 1
    for token in tokens:
        if token.text in (":", "::") and sign == 1:
            parts.extend([None] * len(token.text))
        elif token.text == "-" and sign == 1 and parts[-1] is None:
            sign = -1
        elif token.kind == "number" and parts[-1] is None:
            try:
                parts[-1] = sign * int(token.text, 0)
            except ValueError:
                return None
            sign = 1
        else:
            return None
    if sign == -1 or len(parts) > 3:
        return None
    if len(parts) == 1:
        return parts[0]
    start, stop, step = (*parts, None)[:3]
    return start, stop, step


def _partners(tokens: Sequence[Token]) -> dict[int, int]:
    """The number of the closing token of each opening bracket."""
    partners = {}
    open_brackets: list[int] = []
    for number, token in enumerate(tokens):
        if token.nesting > 0:
            open_brackets.append(number)
        elif token.nesting < 0 and open_brackets:
            partners[open_brackets.pop()] = number
    return partners


def _unused_identifiers(text: str) -> Iterator[str]:
    """Identifiers that do not occur in `text`, the short ones first."""
    free = _HIEROGLYPHS if text.isascii() else [letter for letter in _HIEROGLYPHS if letter not in text]
    yield from free
    yield from map("".join, product(free, repeat=2))


def _placeholder(letters: str, text: str) -> tuple[str, str]:
    """An identifier, and the replacement of `text`: the identifier, with line ends where the text has them."""
    first_line = text.split("\n", 1)[0].rstrip(" \t\\")
    name = letters + "_" * (len(first_line) - len(letters))
    rest = text[len(first_line) :]
    return name, name + re.sub(r"[^\n\\]|\\(?!\n)", " ", rest)
