"""Python inside a spec: selectors are lifted out, the rest is CPython's.

How it works. `lift` replaces every selector (`<a>.<b>`, `*<a>`, `|<a>|`) by a Python identifier of exactly the same
length, so that whatever CPython says about the result, a position in it is a position in the spec. The identifiers are
Egyptian hieroglyphs padded with underscores: legal in Python, one letter suffices, and no spec uses them by accident.
`parse_lifted` hands the text to CPython and moves the nodes of the answer to their lines and columns in the spec, so
tracebacks of spec code point there too. Users never see a hieroglyph: messages get the author's text back.

Plain Python statements come as one masked text of the whole spec, everything else blanked out: see `parse_module`.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from typing import Literal as OneOf

from palaver.source import Source, Span
from palaver.spec.ast import Child, Descendant, Expression, Index, Mention, Path, Step
from palaver.spec.diagnose import MAX_ERRORS, Reporter, Wrong
from palaver.spec.scan import Token, names_in_symbol, why_no_symbol

# Egyptian hieroglyphs, all of which may start an identifier.
_LETTERS = [chr(code) for code in range(0x13000, 0x1342F)]
# More parentheses around one path than this are no path; it also keeps the recursion in `_Lifter.path` short.
_MAX_GROUPS = 50
_INDENTED_KEYWORD = re.compile(r"[ \t]+(where|minimizing|maximizing|setting)[ \t]+\S")
_TOO_DEEP = "this is nested too deeply for Python"

StaticIndex = int | tuple[int | None, int | None, int | None]


@dataclass(frozen=True)
class Lifted:
    """A stretch of Python with identifiers in the place of selectors: `text` stands at `start` of the source."""

    source: Source
    start: int
    end: int
    text: str
    mentions: dict[str, Mention]
    tokens: Sequence[Token]

    def authors_words(self, text: str) -> str:
        """The text with selectors back in the place of their identifiers."""
        if text.isascii():
            return text
        for name, mention in self.mentions.items():
            span = mention.path.span
            text = text.replace(name, self.source.text[span.start : span.end])
        return text


def read_expression(source: Source, tokens: Sequence[Token], report: Reporter) -> Expression:
    """The Python expression that `tokens`, at least one, make up. Raises Wrong."""
    lifted = lift(source, tokens)
    return whole_expression(lifted, parse_lifted(lifted, report))


def whole_expression(lifted: Lifted, node: ast.expr) -> Expression:
    """All of the lifted text as one expression. Raises Wrong if a selector stands where none can."""
    used = loaded_mentions(node, lifted)
    refuse_unused(lifted, {mention.name for mention in used})
    text = lifted.source.text[lifted.start : lifted.end]
    return Expression(text, used, node, lifted.source, Span(lifted.start, lifted.end))


def loaded_mentions(node: ast.AST, lifted: Lifted) -> tuple[Mention, ...]:
    """The mentions whose value `node` uses, in the order of the text. Raises Wrong for one that is bound there."""
    used = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in lifted.mentions:
            mention = lifted.mentions[inner.id]
            if not isinstance(inner.ctx, ast.Load):
                raise _misplaced_binding(mention, lifted)
            used.append(mention)
    return tuple(sorted(used, key=lambda mention: mention.path.span.start))


def refuse_unused(lifted: Lifted, used: set[str]) -> None:
    """Raises Wrong for a selector that became something else than a value: a parameter, a keyword."""
    for name, mention in lifted.mentions.items():
        if name not in used:
            raise Wrong(mention.path.span, "a selector cannot stand here: it is a value, not a name")


def _misplaced_binding(mention: Mention, lifted: Lifted) -> Wrong:
    symbol = mention.path.base
    return Wrong(
        mention.path.span,
        f"{lifted.authors_words(mention.name)} cannot be bound here",
        f"only all(… for {symbol} in *<path>) and any(…), without `if` and as conditions of their own, bind a symbol; "
        "elsewhere use a Python name",
    )


# --- Lifting ---------------------------------------------------------------------------------------------------------


def lift(source: Source, tokens: Sequence[Token]) -> Lifted:
    """The text of `tokens`, at least one, without its selectors. Raises Wrong."""
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
    """The path that starts with token number `at`, and the number of the token behind it. Raises Wrong."""
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
            word = token.text[:6]
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
            base, steps, behind = _bare_symbol(token, self.source.text), [], at + 1
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
                symbol = _bare_symbol(tokens[at + 1], self.source.text)
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
        node = _parse(lifted, Reporter(), "_[", "]")
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


def _bare_symbol(token: Token, text: str) -> str:
    *parties, name = names_in_symbol(token.text, token.start, text)
    if parties:
        raise Wrong(token.span, "parties are named in rules only", f"write <{name}>")
    return f"<{name}>"


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
        if token.kind != "operator":
            continue
        if token.text in ("(", "[", "{"):
            open_brackets.append(number)
        elif token.text in (")", "]", "}") and open_brackets:
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


# --- Handing over to CPython -----------------------------------------------------------------------------------------


def parse_lifted(lifted: Lifted, report: Reporter) -> ast.expr:
    """What CPython makes of an expression; its nodes stand where they stand in the spec. Raises Wrong."""
    # Inside the braces of a bound, lines may end where Python would not allow it, and a walrus at the top
    # needs parentheses. They are not added always, because CPython's advice is another inside of them.
    if _needs_parentheses(lifted):
        return _parse(lifted, report, "(", ")")
    return _parse(lifted, report, "", "")


def _needs_parentheses(lifted: Lifted) -> bool:
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
        if token.kind == "operator":
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        end = token.end
    return False


def _parse(lifted: Lifted, report: Reporter, before: str, behind: str) -> ast.expr:
    text = before + lifted.text + behind
    try:
        tree = _quietly_parse(text, "eval", lifted.source, lifted.start, report)
    except SyntaxError as error:
        raise _explain(error, lifted, before) from None
    except (RecursionError, MemoryError):
        raise Wrong(Span(lifted.start, lifted.end), _TOO_DEEP) from None
    except ValueError as error:
        raise Wrong(Span(lifted.start, lifted.end), f"Python cannot read this: {error}") from None
    assert isinstance(tree, ast.Expression), "that is what mode eval gives"
    _move_to_spec(tree, text, lifted, len(before))
    _restore_debug_fields(tree, lifted)
    _unpack_in_displays(tree, lifted)
    return tree.body


def _unpack_in_displays(tree: ast.AST, lifted: Lifted) -> None:
    """Let `*<x>` among the items of a list, a set or a tuple unpack, as Python's `*` does; elsewhere it is one list."""
    for display in ast.walk(tree):
        if isinstance(display, ast.List | ast.Set | ast.Tuple):
            display.elts = [_starred(item) if _is_list(item, lifted) else item for item in display.elts]


def _is_list(item: ast.expr, lifted: Lifted) -> bool:
    mention = lifted.mentions.get(item.id) if isinstance(item, ast.Name) else None
    return mention is not None and mention.kind == "list"


def _starred(item: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Starred(item, ast.Load()), item)


def _quietly_parse(text: str, mode: OneOf["eval", "exec"], source: Source, start: int, report: Reporter) -> ast.AST:
    """What CPython makes of `text`, which stands at `start`; what it warns about is reported at its line."""
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


def _explain(error: SyntaxError, lifted: Lifted, before: str) -> Wrong:
    if error.offset == 0:
        # That is how CPython says that it came to the end of the text and wanted more.
        return Wrong(Span(lifted.end, lifted.end), error.msg, "something is missing here")
    start, end = _place_of(error, before + lifted.text)
    shift = lifted.start - len(before)
    start = min(max(start + shift, lifted.start), lifted.end)
    end = min(max(end + shift, start), lifted.end)
    first_line = lifted.source.place(lifted.start)[0]
    message = lifted.authors_words(_renumbered(error.msg, first_line - 1))
    return Wrong(Span(start, end), message, _syntax_hint(lifted.source.text, start))


def _place_of(error: SyntaxError, text: str) -> tuple[int, int]:
    """Start and end of what CPython complains about, as offsets in `text`."""
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
        return f"this {misplaced.group(1)} is inside the Python block above; give it less indentation"
    for operator, word in (("&&", "and"), ("||", "or")):
        if operator in text[max(at - 1, 0) : at + 2]:
            return f"Python writes `{word}` for {operator}"
    if text.startswith("=", at):
        return "Python writes == to compare"
    return "Python writes `not` for !" if text.startswith("!", at) else ""


def _move_to_spec(tree: ast.AST, text: str, lifted: Lifted, shift: int) -> None:
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
        """How many bytes stand before each character of a line, and before its end."""
        if line not in self._widths_of_line:
            start, end = self._source.offset(line, 1), self._source.offset(line + 1, 1)
            widths = (len(char.encode(errors="surrogatepass")) for char in self._source.text[start:end])
            self._widths_of_line[line] = list(accumulate(widths, initial=0))
        return self._widths_of_line[line]


def _restore_debug_fields(tree: ast.AST, lifted: Lifted) -> None:
    """`f"{<x>=}"` shows its own text, and that is the author's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    part.value = lifted.authors_words(part.value)


# --- Python statements -----------------------------------------------------------------------------------------------


def parse_module(source: Source, masked: str, starts: Sequence[int], report: Reporter) -> ast.Module:
    """All Python statements of a spec; errors are reported.

    `masked` is the text of the source with everything else blanked out; `starts` are the offsets of its top-level
    statements, so that after one error the others can still be read.
    """
    try:
        tree = _quietly_parse(masked, "exec", source, 0, report)
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
            _quietly_parse(masked[start:end], "exec", source, start, Reporter())
        except (SyntaxError, RecursionError, MemoryError, ValueError) as statement_error:
            _report_statement_error(statement_error, source, masked, start, report)
            found += 1
            if found == MAX_ERRORS:
                break
    if not found:
        _report_statement_error(error, source, masked, 0, report)


def _report_statement_error(error: Exception, source: Source, masked: str, start: int, report: Reporter) -> None:
    line = source.place(start)[0]
    if isinstance(error, SyntaxError):
        at, end = (offset + start for offset in _place_of(error, masked[start:]))
        report.error(source, Span(at, end), _renumbered(error.msg, line - 1), _syntax_hint(source.text, at))
        return
    message = f"Python cannot read this: {error}" if isinstance(error, ValueError) else _TOO_DEEP
    end = source.text.find("\n", start)
    report.error(source, Span(start, end if end >= 0 else len(source.text)), message)
