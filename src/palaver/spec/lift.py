"""Selectors are lifted out of Python text.

`lift` replaces every selector (`<a>.<b>`, `*<a>`, `|<a>|`) by a Python identifier of exactly the same length, so that
whatever CPython says about the result, a position in it is a position in the spec. The identifiers are Egyptian
hieroglyphs padded with underscores: legal in Python, one letter suffices, and no spec uses them by accident.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal as OneOf

from palaver.source import Source, Span
from palaver.spec.ast import Child, Descendant, Expression, Index, Mention, Path, Step
from palaver.spec.cpython import Lifted, parse_between
from palaver.spec.diagnose import Reporter, Wrong
from palaver.spec.scan import Token, bare_symbol, why_no_symbol

# Egyptian hieroglyphs, all of which may start an identifier.
_LETTERS = [chr(code) for code in range(0x13000, 0x1342F)]
# More parentheses around one path than this are no path; it also keeps the recursion in `_Lifter.path` short.
_MAX_GROUPS = 50

StaticIndex = int | tuple[int | None, int | None, int | None]


def lift(source: Source, tokens: Sequence[Token]) -> Lifted:
    """The text of `tokens`, at least one, without its selectors.

    :raises Wrong: a selector is broken, or stands where none can
    """
    start, end = tokens[0].start, tokens[-1].end
    lifter = _Lifter(source, source.text[start:end])
    lifter.lift(tokens)
    pieces = []
    at = start
    for change_start, change_end, replacement in lifter.changes:
        pieces += [source.text[at:change_start], replacement]
        at = change_end
    pieces.append(source.text[at:end])
    return Lifted(source, start, end, "".join(pieces), lifter.mentions, tokens)


def read_path(source: Source, tokens: Sequence[Token], at: int) -> tuple[Path, int] | None:
    """The path that starts with token number `at`, and the number of the token behind it; None if there is none.

    :raises Wrong: the path is broken
    """
    return _Lifter(source, "").path(tokens, at, _partners(tokens))


class _Lifter:
    """Finds the selectors of one expression and collects what to put in their place."""

    def __init__(self, source: Source, text: str) -> None:
        self.source = source
        self.mentions: dict[str, Mention] = {}
        self.changes: list[tuple[int, int, str]] = []
        self._letters = _unused_letters(text)

    def lift(self, tokens: Sequence[Token]) -> None:
        partners = _partners(tokens)
        at = 0
        while at < len(tokens):
            at = self._lift_at(tokens, at, partners)

    def _lift_at(self, tokens: Sequence[Token], at: int, partners: dict[int, int]) -> int:
        """Deal with what starts at token number `at`; the number of the token behind it."""
        token = tokens[at]
        after_operand = at > 0 and tokens[at - 1].ends
        if token.kind == "fstring":
            self.lift(token.inner)
        elif token.kind == "quantifier":
            word = token.quantifier
            raise Wrong(
                token.span,
                f"{word} can only begin a condition",
                f"write {'all' if word == 'forall' else 'any'}(… for <x> in *<path>) inside of one",
            )
        elif token.text == "<>":
            self.changes.append((token.start, token.end, "!="))
        elif token.text == "->":
            raise Wrong(
                token.span, "-> cannot stand in brackets or in an expression", "write `not A or B` for `A -> B` here"
            )
        elif token.text in (".", "..") and at + 1 < len(tokens) and tokens[at + 1].kind == "symbol":
            raise self._step_after_python(tokens, at)
        elif not after_operand:
            return self._lift_operand(tokens, at, partners)
        return at + 1

    def _lift_operand(self, tokens: Sequence[Token], at: int, partners: dict[int, int]) -> int:
        """Deal with a token where an operand starts."""
        token = tokens[at]
        if token.kind == "symbol" or token.text == "(":
            return self._mention(tokens, at, at, "each", partners) or at + 1
        if token.text == "*":
            return self._mention(tokens, at, at + 1, "list", partners) or at + 1
        if token.text == "**" and at + 1 < len(tokens) and tokens[at + 1].kind == "symbol":
            raise Wrong(token.span, "** is no selector", f"write *{tokens[at + 1].text} for the list of all of them")
        if token.text == "|":
            counted = self._mention(tokens, at, at + 1, "count", partners)
            if counted is None:
                raise Wrong(
                    token.span,
                    "a | that follows no operand counts nodes, and needs a path: |<path>|",
                    "Python writes `or` for ||" if at and tokens[at - 1].text == "|" else "",
                )
            return counted
        if token.text == "<":
            raise Wrong(*why_no_symbol(self.source.text, token.start))
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
            raise Wrong(
                tokens[behind].span, "a selector cannot be followed by {…}", "write .<name> or ..<name> to go down"
            )
        start, end = tokens[first].start, tokens[behind - 1].end
        name, replacement = _placeholder(next(self._letters), self.source.text[start:end])
        self.mentions[name] = Mention(name, Path(path.base, path.steps, Span(start, end)), kind)
        self.changes.append((start, end, replacement))
        return behind

    def path(
        self, tokens: Sequence[Token], at: int, partners: dict[int, int], groups: int = 0
    ) -> tuple[Path, int] | None:
        """The path at token number `at`, and the number of the token behind it; None if there is none."""
        if at >= len(tokens):
            return None
        token = tokens[at]
        if token.kind == "symbol":
            base, steps, behind = bare_symbol(token, self.source.text), [], at + 1
        elif token.text == "(" and groups < _MAX_GROUPS:
            inside = self.path(tokens, at + 1, partners, groups + 1)
            if inside is None or inside[1] != partners.get(at):
                return None
            base, steps, behind = inside[0].base, list(inside[0].steps), inside[1] + 1
        else:
            return None
        behind = self._steps(tokens, behind, partners, steps)
        return Path(base, tuple(steps), Span(token.start, tokens[behind - 1].end)), behind

    def _steps(self, tokens: Sequence[Token], at: int, partners: dict[int, int], steps: list[Step]) -> int:
        """Add the steps from token number `at` on; the number of the token behind them.

        A computed index is Python's business, unless the path goes on behind it.
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
                    raise Wrong(Span(token.start, tokens[at - 1].end), "there is no index between the brackets")
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
            raise Wrong(
                mention.path.span,
                "an index inside a path cannot hold a selector",
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

    def _step_after_python(self, tokens: Sequence[Token], at: int) -> Wrong:
        before = tokens[at - 1] if at else None
        step = f"{tokens[at].text}{tokens[at + 1].text}"
        span = Span(tokens[at].start, tokens[at + 1].end)
        if before is not None and before.kind == "name":
            return Wrong(
                Span(before.start, span.end),
                f"{before.text} is a Python name, and only a selector can be followed by {step}",
                f"bind a symbol instead: for <{before.text}> in …, then write <{before.text}>{step}",
            )
        return Wrong(span, f"only a selector can be followed by {step}", "bind a symbol with all(… for <x> in *<path>)")


def _static_index(tokens: Sequence[Token]) -> StaticIndex | None:
    """The index that is written there in plain numbers, if it is."""
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
    """For each opening bracket the number of the token that closes it."""
    partners = {}
    open_brackets: list[int] = []
    for number, token in enumerate(tokens):
        if token.nesting > 0:
            open_brackets.append(number)
        elif token.nesting < 0 and open_brackets:
            partners[open_brackets.pop()] = number
    return partners


def _unused_letters(text: str) -> Iterator[str]:
    """Identifiers that do not occur in `text`, the short ones first."""
    free = _LETTERS if text.isascii() else [letter for letter in _LETTERS if letter not in text]
    yield from free
    yield from map("".join, product(free, repeat=2))


def _placeholder(letters: str, text: str) -> tuple[str, str]:
    """An identifier, and what to put in the place of `text`: the identifier, and line ends where the text has them."""
    first_line = text.split("\n", 1)[0].rstrip(" \t\\")
    name = letters + "_" * (len(first_line) - len(letters))
    rest = text[len(first_line) :]
    return name, name + re.sub(r"[^\n\\]|\\(?!\n)", " ", rest)
