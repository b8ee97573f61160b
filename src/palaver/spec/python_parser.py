"""Python text of a spec, parsed by CPython.

Positions of CPython, in nodes and in errors, become positions in the spec, so tracebacks of spec code point there too.
In messages the identifiers that replace selectors (see `selectors`) are replaced by the author's text again.

Plain Python statements come as one masked text of the whole spec, everything else blanked out: see `parse_module`.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Literal as OneOf

from palaver.lean_dataclasses import dataclass
from palaver.source import Source, Span
from palaver.spec.ast import Mention
from palaver.spec.diagnostics import ParseError, Reporter
from palaver.spec.lexer import Token
from palaver.spec.spec_limits import MAX_ERRORS_PER_FILE

_INDENTED_KEYWORD = re.compile(r"[ \t]+(where|minimizing|maximizing|setting)[ \t]+\S")
_TOO_DEEP = "this is nested too deeply for Python"


@dataclass(frozen=True)
class LiftedPython:
    """A stretch of Python with identifiers in the place of selectors: `text` stands at `start` of the source."""

    source: Source
    start: int
    end: int
    text: str
    mentions: dict[str, Mention]
    tokens: Sequence[Token]

    def original_text(self, text: str) -> str:
        """The text with selectors back in the place of their identifiers."""
        if text.isascii():
            return text
        for name, mention in self.mentions.items():
            span = mention.path.span
            text = text.replace(name, self.source.text[span.start : span.end])
        return text


def parse_lifted(lifted: LiftedPython, report: Reporter) -> ast.expr:
    """The syntax tree of an expression, with positions in the spec. :raises ParseError: CPython does not read it"""
    # Inside the braces of a bound, lines may end where Python would not allow it, and a walrus at the top
    # needs parentheses. They are not always added, because CPython's error messages differ inside of them.
    if _needs_parentheses(lifted):
        return parse_between(lifted, report, "(", ")")
    return parse_between(lifted, report, "", "")


def _needs_parentheses(lifted: LiftedPython) -> bool:
    text = lifted.source.text
    spans = (mention.path.span for mention in lifted.mentions.values())
    if any("\n" in text[span.start : span.end] for span in spans):
        # The brackets that allowed a selector to break its lines may have been lifted with it.
        return True
    depth = 0
    end = lifted.start
    for token in lifted.tokens:
        if depth == 0 and (token.text == ":=" or "\n" in text[end : token.start]):
            return True
        depth += token.nesting
        end = token.end
    return False


def parse_between(lifted: LiftedPython, report: Reporter, before: str, behind: str) -> ast.expr:
    """The syntax tree of an expression, read between two texts of ours. :raises ParseError: CPython does not read it"""
    text = before + lifted.text + behind
    try:
        tree = _parse_reporting_warnings(text, "eval", lifted.source, lifted.start, report)
        _refuse_invalid_in_function(tree)
    except SyntaxError as error:
        raise _explain(error, lifted, before) from None
    except (RecursionError, MemoryError):
        raise ParseError(Span(lifted.start, lifted.end), _TOO_DEEP) from None
    except ValueError as error:
        raise ParseError(Span(lifted.start, lifted.end), f"Python cannot parse this: {error}") from None
    assert isinstance(tree, ast.Expression), "that is what mode eval gives"
    _move_to_spec(tree, text, lifted, len(before))
    _restore_debug_fields(tree, lifted)
    _unpack_in_displays(tree, lifted)
    return tree.body


def _refuse_invalid_in_function(tree: ast.AST) -> None:
    """Raise the SyntaxError that CPython finds only when it compiles, not yet when it parses: `await`, for one."""
    assert isinstance(tree, ast.Expression), "that is what mode eval gives"
    no_arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.Expression(ast.copy_location(ast.Lambda(no_arguments, tree.body), tree.body))
    with warnings.catch_warnings(action="ignore"):  # they come again when the expression is compiled for use
        compile(function, "<expression>", "eval")


def _unpack_in_displays(tree: ast.AST, lifted: LiftedPython) -> None:
    """Let `*<x>` among the items of a list, a set or a tuple unpack, as Python's `*` does; elsewhere it is one list."""
    for display in ast.walk(tree):
        if isinstance(display, ast.List | ast.Set | ast.Tuple):
            display.elts = [_unpacked(item, lifted) for item in display.elts]


def _unpacked(item: ast.expr, lifted: LiftedPython) -> ast.expr:
    mention = lifted.mentions.get(item.id) if isinstance(item, ast.Name) else None
    is_list = mention is not None and mention.kind == "list"
    return ast.copy_location(ast.Starred(item, ast.Load()), item) if is_list else item


def _parse_reporting_warnings(
    text: str, mode: OneOf["eval", "exec"], source: Source, start: int, report: Reporter
) -> ast.AST:
    """The syntax tree of `text`, which stands at `start`; CPython's warnings are reported at their lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = ast.parse(text, mode=mode)
    for warning in caught:
        line = source.place(start)[0] + warning.lineno - 1
        line_start = source.offset(line, 1)
        line_end = source.offset(line + 1, 1)
        text_of_line = source.text[line_start:line_end].rstrip("\n")
        indent = len(text_of_line) - len(text_of_line.lstrip())
        report.warning(source, Span(line_start + indent, line_start + len(text_of_line)), str(warning.message))
    return tree


def _explain(error: SyntaxError, lifted: LiftedPython, before: str) -> ParseError:
    if error.offset == 0:
        # CPython reports an unexpected end of the text this way.
        return ParseError(Span(lifted.end, lifted.end), error.msg, "the expression is incomplete here")
    start, end = _place_of(error, before + lifted.text)
    shift = lifted.start - len(before)
    start = min(max(start + shift, lifted.start), lifted.end)
    end = min(max(end + shift, start), lifted.end)
    first_line = lifted.source.place(lifted.start)[0]
    message = lifted.original_text(_renumbered(error.msg, first_line - 1))
    return ParseError(Span(start, end), message, _syntax_hint(lifted.source.text, start))


def _place_of(error: SyntaxError, text: str) -> tuple[int, int]:
    """The start and end of the error, as offsets in `text`."""
    lines = text.split("\n")
    number, column = error.lineno or 1, max(error.offset or 1, 1)
    field = (error.text or "").strip()
    if error.msg.startswith("f-string") and field.startswith("(") and field not in text:
        # Python 3.11 reads a field as if it stood alone in parentheses, and counts from there.
        at = text.find(field[1:-1])
        if at >= 0:
            start = at + max(column - 2, 0)
            return start, start + 1
    start = sum(len(line) + 1 for line in lines[: number - 1]) + column - 1
    end_number, end_column = error.end_lineno or 0, error.end_offset or 0
    end = sum(len(line) + 1 for line in lines[: end_number - 1]) + end_column - 1 if end_number > 0 else 0
    return start, max(end, start + 1)


def _renumbered(message: str, lines: int) -> str:
    """The message with its line numbers counted from the start of the spec."""
    return re.sub(r"\bline (\d+)", lambda found: f"line {int(found.group(1)) + lines}", message)


def _syntax_hint(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    if misplaced := _INDENTED_KEYWORD.match(line):
        return f"this {misplaced.group(1)} belongs to the Python block above; indent it less"
    for operator, word in (("&&", "and"), ("||", "or")):
        if operator in text[max(at - 1, 0) : at + 2]:
            return f"write `{word}` instead of {operator}"
    if text.startswith("=", at):
        return "write == to compare"
    return "write `not` instead of !" if text.startswith("!", at) else ""


def _move_to_spec(tree: ast.AST, text: str, lifted: LiftedPython, shift: int) -> None:
    """Give all nodes their lines and columns in the spec."""
    masked = Places(Source("", text))
    places = Places(lifted.source)
    shift -= lifted.start
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.keyword | ast.arg):
            start = masked.offset(node.lineno, node.col_offset) - shift
            node.lineno, node.col_offset = places.line_and_bytes(start)
            if node.end_lineno is not None and node.end_col_offset is not None:
                end = masked.offset(node.end_lineno, node.end_col_offset) - shift
                node.end_lineno, node.end_col_offset = places.line_and_bytes(end)


class Places:
    """Translates places as CPython gives them (columns count bytes of UTF-8, from 0) to offsets, and back."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ascii = source.text.isascii()
        self._widths_of_line: dict[int, list[int]] = {}

    def offset(self, line: int, column_bytes: int) -> int:
        if self._ascii:
            return self._source.offset(line, column_bytes + 1)
        return self._source.offset(line, bisect_right(self._bytes_before(line), column_bytes))

    def line_and_bytes(self, offset: int) -> tuple[int, int]:
        line, column = self._source.place(min(max(offset, 0), len(self._source.text)))
        return line, column - 1 if self._ascii else self._bytes_before(line)[column - 1]

    def _bytes_before(self, line: int) -> list[int]:
        """The number of bytes before each character of a line, and before its end."""
        if line not in self._widths_of_line:
            start, end = self._source.offset(line, 1), self._source.offset(line + 1, 1)
            widths = (len(char.encode(errors="surrogatepass")) for char in self._source.text[start:end])
            self._widths_of_line[line] = list(accumulate(widths, initial=0))
        return self._widths_of_line[line]


def _restore_debug_fields(tree: ast.AST, lifted: LiftedPython) -> None:
    """Let `f"{<x>=}"` show the author's text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    part.value = lifted.original_text(part.value)


def parse_module(source: Source, masked: str, starts: Sequence[int], report: Reporter) -> ast.Module:
    """All Python statements of a spec; errors are reported.

    `masked` is the text of the source with everything else blanked out; `starts` are the offsets of its top-level
    statements, so that after one error the others can still be read.
    """
    try:
        tree = _parse_reporting_warnings(masked, "exec", source, 0, report)
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        _report_statement_errors(error, source, masked, starts, report)
        return ast.Module(body=[], type_ignores=[])
    assert isinstance(tree, ast.Module), "that is what mode exec gives"
    return tree


def _report_statement_errors(
    error: Exception, source: Source, masked: str, starts: Sequence[int], report: Reporter
) -> None:
    found = 0
    for start, end in pairwise([*starts, len(masked)]):
        try:
            _parse_reporting_warnings(masked[start:end], "exec", source, start, Reporter())
        except (SyntaxError, RecursionError, MemoryError, ValueError) as statement_error:
            _report_statement_error(statement_error, source, masked, start, report)
            found += 1
            if found == MAX_ERRORS_PER_FILE:
                break
    if not found:
        _report_statement_error(error, source, masked, 0, report)


def _report_statement_error(error: Exception, source: Source, masked: str, start: int, report: Reporter) -> None:
    line = source.place(start)[0]
    if isinstance(error, SyntaxError):
        at, end = (offset + start for offset in _place_of(error, masked[start:]))
        report.error(source, Span(at, end), _renumbered(error.msg, line - 1), _syntax_hint(source.text, at))
        return
    message = f"Python cannot parse this: {error}" if isinstance(error, ValueError) else _TOO_DEEP
    end = source.text.find("\n", start)
    report.error(source, Span(start, end if end >= 0 else len(source.text)), message)
