"""The right-hand sides of rules: tokens to expressions, by recursive descent.

    choice      := sequence { '|' sequence }
    sequence    := item { item }
    item        := unit [ '?' | '*' | '+' | '{' bounds '}' ] | '[[' unit { unit } ']]'
    unit        := symbol | string | '0' | '1' | '(' choice ')'
    bounds      := expression [ ',' [ expression ] ] | ',' expression

Parentheses leave no node of their own; what stands in them stays one part of what stands around them.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence

from palaver.source import Source, Span
from palaver.spec.ast import Bit, Bound, Choice, Expr, Expression, Literal, Pattern, Permutation, Ref, Repeat
from palaver.spec.ast import Sequence as SequenceExpr
from palaver.spec.diagnostics import ParseError, Reporter
from palaver.spec.lexer import Token, names_in_symbol, symbol_error
from palaver.spec.selectors import read_expression
from palaver.spec.spec_limits import MAX_OPEN_BRACKETS

_QUOTES = re.compile(r"([a-zA-Z]*)(\"\"\"|'''|\"|')")


class RuleParser:
    """Parses the right-hand side of one rule, with one method per production."""

    def __init__(self, source: Source, tokens: list[Token], end: int, start: int, report: Reporter) -> None:
        self.source = source
        self.report = report
        self._tokens = [*tokens, Token("end", end, end, "")]
        self._at = 0
        self._start = start  # behind the `::=`
        self._open: list[Token] = []

    def parse(self, symbol: str) -> tuple[Expr, Expression | None]:
        first = self._token
        if first.kind == "end":
            raise ParseError(
                Span(self._start - 3, self._start),
                f"expected a definition after `{symbol} ::=`",
                'write "" for an empty string; to continue on the next line, use parentheses or end the line with |',
            )
        if first.text == "|" and "\n" in self.source.text[self._start : first.start]:
            # One alternative per line, each with its bar, the first one too.
            self._at += 1
        body = self._choice()
        generator = self._generator() if self._token.kind == "generator" else None
        if self._token.kind != "end":
            raise self._unexpected(self._token)
        return body, generator

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _choice(self) -> Expr:
        options = [self._sequence()]
        while self._token.text == "|":
            self._at += 1
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        return Choice(tuple(options), Span(options[0].span.start, options[-1].span.end))

    def _sequence(self) -> Expr:
        parts: list[Expr] = []
        while not self._ends_sequence(self._token):
            parts += self._items()
        if not parts:
            raise self._empty()
        if len(parts) == 1:
            return parts[0]
        return SequenceExpr(tuple(parts), Span(parts[0].span.start, parts[-1].span.end))

    def _ends_sequence(self, token: Token) -> bool:
        return token.kind in ("end", "generator") or token.text in ("|", ")", "]")

    def _items(self) -> list[Expr]:
        """One item; two if it is `01`, which is written like a number but means two bits."""
        if self._is_double("["):
            return [self._permutation()]
        *before, unit = self._units()
        repeated = self._repeat(unit)
        if repeated is not unit and self._operator_follows():
            raise ParseError(
                self._token.span,
                "an operator cannot follow another one",
                "put the first repetition into parentheses: (…)",
            )
        return [*before, repeated]

    def _operator_follows(self) -> bool:
        return self._token.kind == "bounds" or self._token.text in ("?", "*", "+", "**", "{")

    def _repeat(self, unit: Expr) -> Expr:
        token = self._token
        if not self._operator_follows() or token.text in ("**", "{"):
            return unit
        self._at += 1
        span = Span(unit.span.start, token.end)
        match token.text:
            case "?":
                return Repeat(unit, 0, 1, span)
            case "*":
                return Repeat(unit, 0, None, span)
            case "+":
                return Repeat(unit, 1, None, span)
        least, most = self._bounds(token)
        return Repeat(unit, least, most, span)

    def _units(self) -> list[Expr]:
        token = self._token
        match token.kind:
            case "symbol":
                self._at += 1
                return [self._reference(token)]
            case "string":
                self._at += 1
                return [self._terminal(token)]
            case "number":
                self._at += 1
                return self._bits(token)
        if token.text == "(":
            return [self._group(token)]
        raise self._unexpected(token)

    def _group(self, opening: Token) -> Expr:
        self._enter(opening)
        inside = self._choice()
        self._leave(")")
        return inside

    def _permutation(self) -> Expr:
        opening = self._token
        self._at += 1
        self._enter(opening)
        parts: list[Expr] = []
        while not self._ends_sequence(self._token):
            if self._is_double("["):
                raise ParseError(
                    self._token.span, "a permutation cannot contain another permutation", "put it into parentheses"
                )
            parts += self._units()
            if self._operator_follows():
                raise ParseError(
                    self._token.span,
                    "a part of a permutation cannot have an operator",
                    "put both into parentheses: (…)",
                )
        if not parts and self._token.text == "]":
            raise ParseError(Span(opening.start, self._token.end), "this permutation is empty")
        if self._token.text == "]" and not self._is_double("]"):
            raise ParseError(self._token.span, "expected `]]` at the end of the permutation")
        if self._token.text == "]":
            self._at += 1
        closing = self._leave("]")
        if self._operator_follows():
            raise ParseError(
                self._token.span, "a permutation cannot have an operator", "put it into parentheses: ([[…]])"
            )
        return Permutation(tuple(parts), Span(opening.start, closing.end))

    def _enter(self, opening: Token) -> None:
        if len(self._open) >= MAX_OPEN_BRACKETS:
            raise ParseError(
                opening.span, f"brackets are nested more than {MAX_OPEN_BRACKETS} deep here", "split the rule"
            )
        self._open.append(opening)
        self._at += 1

    def _leave(self, closing: str) -> Token:
        token = self._token
        opening = self._open[-1]
        if token.kind == "end":
            raise ParseError(opening.span, f"this `{opening.text}` is never closed")
        if token.text != closing:
            raise self._unexpected(token)
        self._open.pop()
        self._at += 1
        return token

    def _is_double(self, bracket: str) -> bool:
        token, behind = self._token, self._tokens[min(self._at + 1, len(self._tokens) - 1)]
        return token.text == behind.text == bracket and token.end == behind.start

    # --- units

    def _reference(self, token: Token) -> Ref:
        *parties, name = names_in_symbol(token.text, token.start, self.source.text)
        if len(parties) > 2:
            raise ParseError(
                token.span,
                "a message has one sender and at most one recipient",
                f"write <{parties[0]}:{parties[1]}:{name}>",
            )
        sender, recipient = (*parties, None, None)[:2]
        return Ref(f"<{name}>", sender, recipient, token.span)

    def _bits(self, token: Token) -> list[Expr]:
        if token.text in ("0", "1"):
            return [Bit(int(token.text), token.span)]
        if token.text == "01":
            middle = token.start + 1
            return [Bit(0, Span(token.start, middle)), Bit(1, Span(middle, token.end))]
        digits = token.text.removeprefix("0b")
        hint = f'write "{token.text}" for text'
        if digits and set(digits) <= {"0", "1"}:
            hint = f"write {' '.join(digits)} for bits, {hint[6:]}"
        raise ParseError(token.span, f"{token.text} is not a bit: a bit is 0 or 1", hint)

    def _terminal(self, token: Token) -> Expr:
        quotes = _QUOTES.match(token.text)
        assert quotes is not None, "a string starts with its prefix and quotes"
        prefix, size = quotes.group(1), len(quotes.group(2))
        # R and r differ on purpose: only the small letter makes a regular expression.
        if "r" not in prefix:
            return Literal(literal_value(token, self.source, self.report), token.span)
        pattern = token.text[quotes.end() : -size]
        if "b" not in prefix.lower():
            return Pattern(pattern, token.span)
        if not pattern.isascii():
            raise ParseError(
                token.span, "a regular expression over bytes can contain only ASCII characters", r"write \xNN"
            )
        return Pattern(pattern.encode(), token.span)

    # --- Python in rules

    def _bounds(self, token: Token) -> tuple[Bound, Bound | None]:
        parts = _split_at_commas(token.inner)
        if len(parts) > 2:
            raise ParseError(token.span, "a repetition has at most two bounds", "write {least, most}")
        bounds = [self._bound(part) if part else None for part in parts]
        least, most = bounds[0], bounds[-1]
        if not any(parts) and len(parts) == 1:
            raise ParseError(token.span, "a repetition needs a bound", "write {2}, {2,5}, {2,} or {,5}")
        if least is None:
            least = 0
        if isinstance(least, int) and isinstance(most, int) and least > most:
            raise ParseError(
                token.span,
                f"the lower bound {least} is larger than the upper bound {most}",
                f"write {{{most},{least}}}",
            )
        return least, most

    def _bound(self, tokens: Sequence[Token]) -> Bound:
        if len(tokens) == 1 and tokens[0].text.isdecimal() and tokens[0].text[0] != "0":
            # Nearly all bounds are such; CPython is not needed for them.
            return int(tokens[0].text)
        expression = read_expression(self.source, tokens, self.report)
        if len(expression.mentions) > 1:
            raise ParseError(
                expression.mentions[1].path.span,
                "a bound can contain only one selector",
                "select a common parent, and compute the number in a Python function",
            )
        match expression.python:
            case ast.Constant(value=bool()):
                return expression
            case ast.Constant(value=int() as number):
                return number
            case ast.Constant():
                raise ParseError(expression.span, f"{expression.text} is not a number of repetitions")
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)) if number:
                raise ParseError(expression.span, "a bound cannot be negative")
        return expression

    def _generator(self) -> Expression:
        token = self._token
        operator = Span(token.start, token.start + len(token.text))
        if not token.inner:
            raise ParseError(operator, f"expected a Python expression after `{token.text}`")
        if token.text != ":=":
            self.report.warning(
                self.source, operator, f"`{token.text}` is the old way to write a generator", "write := instead"
            )
        self._at += 1
        return read_expression(self.source, token.inner, self.report)

    # --- errors

    def _empty(self) -> ParseError:
        token = self._token
        before = self._tokens[self._at - 1] if self._at else None
        if token.kind == "end" and self._open and (before is None or before.text != "|"):
            return ParseError(self._open[-1].span, f"this `{self._open[-1].text}` is never closed")
        if before is not None and before.text == "(" and token.text == ")":
            return ParseError(
                Span(before.start, token.end), "these parentheses are empty", 'write "" for an empty string'
            )
        bar = before if before is not None and before.text == "|" else token
        if bar.text == "|":
            return ParseError(bar.span, "expected an alternative on each side of `|`", 'write "" for an empty string')
        return self._unexpected(token)

    def _unexpected(self, token: Token) -> ParseError:
        text, start = token.text, token.start
        match token.kind:
            case "broken":
                return ParseError(Span(start, start + 1), "this string is never closed")
            case "generator":
                return ParseError(Span(start, start + len(text)), "expected an expression before the generator")
        if text[0] == "<":
            return ParseError(*symbol_error(self.source.text, start))
        return ParseError(token.span, *self._unexpected_message(token))

    def _unexpected_message(self, token: Token) -> tuple[str, str]:
        """The message and the hint."""
        text = token.text
        match token.kind, text:
            case "fstring", _:
                return "an f-string cannot be a terminal", 'compute the value in a generator: := f"…"'
            case "name", _:
                return f"unexpected `{text}` in a rule", f'write <{text}> for a symbol, "{text}" for text'
            case (_, "?" | "*" | "+" | "**") | ("bounds", _):
                return f"expected something to repeat before `{text[0]}`", ""
            case _, "{":
                return "this `{` is never closed", ""
            case _, "[":
                return "a rule cannot contain a character set", 'write r"[…]", or [[ … ]] for a permutation'
            case _, ")" | "]" if self._open:
                return f"this `{text}` does not match the `{self._open[-1].text}` before it", ""
            case _, ")" | "]":
                return f"this `{text}` has no opening bracket", ""
            case _, ":=" | "=" | "::":
                return "a generator must stand at the end of the rule, outside of brackets", ""
            case _, "::=":
                return "unexpected second `::=` in this rule", "start each rule on a line of its own"
        return f"unexpected `{text}` in a rule", ""


def _split_at_commas(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    parts: list[Sequence[Token]] = []
    start = depth = 0
    for number, token in enumerate(tokens):
        depth += token.nesting
        if token.text == "," and depth == 0:
            parts.append(tokens[start:number])
            start = number + 1
    return [*parts, tokens[start:]]


def literal_value(token: Token, source: Source, report: Reporter) -> str | bytes:
    """The value of a string token; CPython's warnings are reported. :raises ParseError: CPython does not read it"""
    quotes = _QUOTES.match(token.text)
    assert quotes is not None, "a string starts with its prefix and quotes"
    if not quotes.group(1) and "\\" not in token.text:
        return token.text[quotes.end() : -len(quotes.group(2))]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = ast.literal_eval(token.text)
        except (SyntaxError, ValueError) as error:
            message = error.msg if isinstance(error, SyntaxError) else str(error)
            raise ParseError(token.span, message) from None
    for warning in caught:
        hint = 'write r"…" for a regular expression, and a double backslash for a backslash'
        report.warning(source, token.span, str(warning.message), hint)
    assert isinstance(value, str | bytes), "that is what string literals give"
    return value
