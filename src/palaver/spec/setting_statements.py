"""Parser of `setting` statements."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from palaver.source import Source, Span
from palaver.spec.ast import Setting
from palaver.spec.diagnostics import ParseError, Reporter, did_you_mean
from palaver.spec.lexer import Token, bare_symbol

SETTING_KEYS = (
    "terminal_should_repeat", "plus_should_return_nothing", "option_should_return_multiple",
    "alternatives_should_concatenate", "invert_regex", "max_out_of_regex_tries", "non_terminal_use_other_rule",
    "havoc_probability", "max_stack_pow",
)  # fmt: skip
NODE_TYPES = (
    "NonTerminalNode", "TerminalNode", "Alternative", "Repetition", "Star", "Plus", "Option", "Concatenation",
)  # fmt: skip


def read_setting(source: Source, keyword: Span, tokens: Sequence[Token], report: Reporter) -> Setting:
    """The setting that `tokens`, behind the keyword, make up. :raises ParseError: they make up none"""
    if not tokens:
        raise ParseError(
            keyword, "setting needs a selector", "write setting <symbol>, setting * or setting all_with_type(…)"
        )
    selector, at = _selector(tokens, source)
    values = []
    while at < len(tokens):
        value_end = at + 3
        while value_end < len(tokens) and not _starts_pair(tokens, value_end):
            value_end += 1
        values.append(_pair(tokens[at:value_end], source, report))
        at = value_end
    return Setting(selector, tuple(values), source, Span(keyword.start, tokens[-1].end))


def _selector(tokens: Sequence[Token], source: Source) -> tuple[str, int]:
    """The selector, and the number of its tokens."""
    first = tokens[0]
    if first.kind == "symbol":
        return bare_symbol(first, source.text), 1
    if first.text == "*":
        return "*", 1
    words = [token.text for token in tokens[:4]]
    if words[:2] == ["all_with_type", "("] and words[3:] == [")"]:
        if words[2] not in NODE_TYPES:
            hint = did_you_mean(words[2], NODE_TYPES) or f"the types are {', '.join(NODE_TYPES)}"
            raise ParseError(tokens[2].span, f"{words[2]} is not a type of node", hint)
        return words[2], 4
    raise ParseError(first.span, "expected a selector after `setting`", "write <symbol>, * or all_with_type(…)")


def _pair(tokens: Sequence[Token], source: Source, report: Reporter) -> tuple[str, object]:
    key = tokens[0]
    if not _starts_pair(tokens, 0) or len(tokens) < 3:
        raise ParseError(key.span, "expected `key = value`")
    if key.text not in SETTING_KEYS:
        hint = did_you_mean(key.text, SETTING_KEYS)
        report.warning(source, key.span, f"there is no setting {key.text}; this line has no effect", hint)
    span = Span(tokens[2].start, tokens[-1].end)
    try:
        return key.text, ast.literal_eval(source.text[span.start : span.end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ParseError(
            span, f"the value of {key.text} is not a Python literal", "write a number, True or False"
        ) from None


def _starts_pair(tokens: Sequence[Token], at: int) -> bool:
    """Return True if `key =` stands at token number `at`."""
    return tokens[at].kind == "name" and at + 1 < len(tokens) and tokens[at + 1].text == "="
