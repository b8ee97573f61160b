"""One spec text to its AST, by recursive descent, statement by statement.

How it works. `_SpecReader` tells statements apart by their beginnings. `rule_parser` reads rules, `formula_parser`
constraints, `setting_statements` settings. Python comes last: all other statements are blanked out (`python_mask`), and
CPython parses the rest.

    spec        := { statement ( newline | ';' ) }
    statement   := rule | constraint | setting | include | Python
    rule        := symbol '::=' choice [ ':=' expression ]
    constraint  := 'where' formula | ( 'minimizing' | 'maximizing' ) expression
    setting     := 'setting' ( symbol | '*' | 'all_with_type' '(' NAME ')' ) { NAME '=' literal }
    include     := 'include' '(' string ')'

The lines of comment right above a rule or a constraint are its *note*, if the first of them begins with `[note]`.

A statement with an error is reported and skipped; reading goes on at the next one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from palaver.source import Source, Span
from palaver.spec.ast import Constraint, Include, Objective, Rule, Setting, SpecFile
from palaver.spec.diagnostics import ParseError, Reporter
from palaver.spec.formula_parser import read_formula
from palaver.spec.lexer import (
    GAP,
    NAME,
    RULE_HEAD,
    Token,
    names_in_symbol,
    normalise_line_ends,
    python_tokens,
    rule_tokens,
)
from palaver.spec.python_mask import Statement, masked_text, python_starts
from palaver.spec.python_parser import Places, parse_module
from palaver.spec.rule_parser import RuleParser, literal_value
from palaver.spec.selectors import read_expression
from palaver.spec.setting_statements import read_setting
from palaver.spec.spec_limits import MAX_ERRORS_PER_FILE

_KEYWORD = re.compile(r"(where|minimizing|maximizing|setting)\b")
_INCLUDE = re.compile(r"include[ \t]*(?=\()")
_NAKED_HEAD = re.compile(rf"({NAME})[ \t]*::=")
_ANGLES = re.compile(r"<[^<>\n]*>")
_LINES_BETWEEN = re.compile(r"(?:[ \t\n]|#[^\n]*+)*+")
_NOTE = re.compile(r"[ \t]*#[ \t]*\[note\]")
_CONDITION = re.compile(r"[^=!<>:](==|!=|<=|>=|<|>)")
# Statements that go on with what the Python statement before them began.
_CLAUSES = frozenset(("else", "elif", "except", "finally"))

Result = TypeVar("Result")


def parse_spec(source: Source, report: Reporter) -> SpecFile:
    """The statements of a spec that are correct; errors are reported, in the order of the text."""
    own_report = Reporter()  # errors are counted file by file
    spec_file = _SpecReader(source, own_report).read()
    report.extend(own_report.diagnostics)
    return spec_file


def parse_constraint(text: str, report: Reporter, name: str = "<constraint>") -> Constraint | Objective | None:
    """A constraint of the command line; without a keyword it is a `where`. None if it has an error."""
    source = Source(name, normalise_line_ends(text))
    reader = _SpecReader(source, report)
    at = _behind_gap(source.text, 0)
    keyword = _KEYWORD.match(source.text, at)
    try:
        if keyword is None:
            statement, end = reader.constraint("where", Span(at, at))
        elif keyword.group() == "setting":
            raise ParseError(Span(*keyword.span()), "a setting is not a constraint", "put it into a spec file")
        else:
            statement, end = reader.constraint(keyword.group(), Span(*keyword.span()))
        rest = _behind_gap(source.text, end)
        if rest < len(source.text):
            raise ParseError(
                Span(rest, len(source.text)), "expected one constraint, but there is more", "join conditions with `and`"
            )
    except ParseError as wrong:
        report.error(source, wrong.span, wrong.message, wrong.hint)
        return None
    return statement


class _SpecReader:
    """Reads one text, and collects the statements of each kind."""

    def __init__(self, source: Source, report: Reporter) -> None:
        self.source = source
        self.text = source.text
        self.report = report
        self.rules: list[Rule] = []
        self.constraints: list[Constraint] = []
        self.objectives: list[Objective] = []
        self.settings: list[Setting] = []
        self.includes: list[Include] = []
        self._statements: list[Statement] = []
        self._block_indent: int | None = None  # of the Python statement whose block is open
        self._strays: list[Span] = []  # selectors in plain Python

    def read(self) -> SpecFile:
        text = self.text
        at = _behind_gap(text, 0)
        end = 0
        while at < len(text):
            joined = bool(self._statements) and "\n" not in text[end:at]
            if not joined:
                self._close_block(at)
            statement = Statement(at, at, joined)
            self._statements.append(statement)
            end = statement.end = max(self._statement(statement), at + 1)
            at = _behind_gap(text, end)
            if self.report.error_count >= MAX_ERRORS_PER_FILE:
                self.report.error(self.source, Span(at, at), f"stopped here after {MAX_ERRORS_PER_FILE} errors")
                break
        return self._spec_file()

    def _spec_file(self) -> SpecFile:
        return SpecFile(
            self.source,
            tuple(self.rules),
            tuple(self.constraints),
            tuple(self.objectives),
            tuple(self.settings),
            tuple(self.includes),
            self._python_module(),
        )

    def _statement(self, statement: Statement) -> int:
        """Read one statement; return its end."""
        at = statement.start
        in_block = self._block_indent is not None
        if head := RULE_HEAD.match(self.text, at):
            return self._rule(head)
        if self.text[at] == "<":
            return self._headless_rule(at)
        if self.text[at] == "|":
            return self._skip(
                at, ParseError(Span(at, at + 1), "this line starts with `|`, but there is no rule to continue")
            )
        if naked := _NAKED_HEAD.match(self.text, at):
            name = naked.group(1)
            wrong = ParseError(
                Span(*naked.span(1)), "expected a symbol in angle brackets before `::=`", f"write <{name}> ::= …"
            )
            return self._skip(at, wrong, rule_tokens(self.text, naked.end())[1])
        if not in_block and (keyword := _KEYWORD.match(self.text, at)):
            return self._setting(keyword) if keyword.group() == "setting" else self._constraint(keyword)
        if not in_block and _INCLUDE.match(self.text, at):
            return self._include(at)
        return self._python(statement)

    def _attempt(self, read: Callable[[], Result]) -> Result | None:
        """The result of `read`; None if it raises a ParseError, which is reported."""
        try:
            return read()
        except ParseError as wrong:
            self.report.error(self.source, wrong.span, wrong.message, wrong.hint)
            return None

    def _skip(self, at: int, wrong: ParseError, end: int | None = None) -> int:
        """Report an error and return the end of the statement."""
        self.report.error(self.source, wrong.span, wrong.message, wrong.hint)
        return python_tokens(self.text, at)[1] if end is None else end

    # --- kinds of statements

    def _rule(self, head: re.Match[str]) -> int:
        tokens, end = rule_tokens(self.text, head.end())
        rule = self._attempt(lambda: self._read_rule(head, tokens, end))
        if rule is not None:
            self.rules.append(rule)
        return end

    def _read_rule(self, head: re.Match[str], tokens: list[Token], end: int) -> Rule:
        span = Span(*head.span(1))
        symbol = self._defined_symbol(head.group(1), span)
        parser = RuleParser(self.source, tokens, end, head.end(), self.report)
        body, generator = parser.parse(symbol)
        return Rule(symbol, body, generator, self.source, span, self._note_above(head.start()))

    def _defined_symbol(self, text: str, span: Span) -> str:
        *parties, name = names_in_symbol(text, span.start, self.text)
        if parties:
            raise ParseError(span, "the left side of a rule cannot name a party", f"write <{name}> ::= …")
        return f"<{name}>"

    def _headless_rule(self, at: int) -> int:
        """A statement that starts like a rule, but has no `::=`."""
        found = _ANGLES.match(self.text, at)
        symbol = found.group() if found else "<"
        try:
            names_in_symbol(symbol, at, self.text)
        except ParseError as wrong:
            return self._skip(at, wrong)
        span = Span(at, at + len(symbol))
        line = self.text[span.end :].split("\n", 1)[0]
        if _CONDITION.search(" " + line):
            hint = f"for a condition write where {symbol}{line.rstrip()}"
        else:
            hint = f"for a rule write {symbol} ::= …"
        return self._skip(at, ParseError(span, f"expected `::=` after `{symbol}`", hint))

    def _constraint(self, keyword: re.Match[str]) -> int:
        span = Span(*keyword.span())
        read = self._attempt(lambda: self.constraint(keyword.group(), span))
        if read is None:
            return self._condition_tokens(span)[1]
        statement, end = read
        if isinstance(statement, Objective):
            self.objectives.append(statement)
        else:
            self.constraints.append(statement)
        return end

    def constraint(self, keyword: str, span: Span) -> tuple[Constraint | Objective, int]:
        """The constraint whose keyword stands at `span`, and where it ends. :raises ParseError: there is none"""
        tokens, end = self._condition_tokens(span)
        if not tokens:
            what = "a condition" if keyword == "where" else "an expression"
            raise ParseError(span, f"{keyword} needs {what}")
        if tokens[0].text == "=":
            raise ParseError(span, f"{keyword} is a keyword and cannot be a variable", "choose another name")
        whole = Span(tokens[0].start, tokens[-1].end)
        if keyword == "where":
            try:
                formula = read_formula(self.source, tokens, self.report)
            except RecursionError:
                raise ParseError(whole, "this condition is nested too deeply") from None
            note = self._note_above(span.start)
            return Constraint(self.text[whole.start : whole.end], formula, self.source, whole, note), end
        expression = read_expression(self.source, tokens, self.report)
        return Objective(keyword == "maximizing", expression, self.source, whole), end

    def _note_above(self, at: int) -> str:
        """The text of the comment right above a statement, if it is a note."""
        lines: list[str] = []
        end = self.text.rfind("\n", 0, at)
        # From line to line upwards, so that a spec of many rules is not searched for each of them.
        while end >= 0 and not (lines and _NOTE.match(lines[-1])):
            start = self.text.rfind("\n", 0, end) + 1
            line = self.text[start:end].strip()
            if not line.startswith("#"):
                break
            lines.append(line)
            end = start - 1
        if not lines or not _NOTE.match(lines[-1]):
            return ""
        return " ".join(line.lstrip("#").strip() for line in reversed(lines)).removeprefix("[note]").strip()

    def _condition_tokens(self, keyword: Span) -> tuple[list[Token], int]:
        """The tokens behind a keyword. Behind `forall …:` at the end of a line, indented lines go on."""
        indent = self._indent(keyword.start)
        tokens, end = python_tokens(self.text, keyword.end)
        line = tokens
        while line and line[-1].text == ":" and any(token.kind == "quantifier" for token in line):
            between = _LINES_BETWEEN.match(self.text, end)
            at = between.end() if between else end
            if at >= len(self.text) or self._indent(at) <= indent or RULE_HEAD.match(self.text, at):
                break
            line, end = python_tokens(self.text, at)
            tokens += line
        return tokens, end

    def _setting(self, keyword: re.Match[str]) -> int:
        tokens, end = python_tokens(self.text, keyword.end())
        setting = self._attempt(lambda: read_setting(self.source, Span(*keyword.span()), tokens, self.report))
        if setting is not None:
            self.settings.append(setting)
        return end

    def _include(self, at: int) -> int:
        tokens, end = python_tokens(self.text, at)
        include = self._attempt(lambda: self._read_include(tokens))
        if include is not None:
            self.includes.append(include)
        return end

    def _read_include(self, tokens: list[Token]) -> Include:
        span = Span(tokens[0].start, tokens[-1].end)
        hint = "write include('file.fan')"
        shape = [token.kind if token.kind == "string" else token.text for token in tokens]
        if shape != ["include", "(", "string", ")"]:
            raise ParseError(span, "include takes one plain string literal", hint)
        path = literal_value(tokens[2], self.source, self.report)
        if not isinstance(path, str) or not path:
            raise ParseError(tokens[2].span, "include takes the path of a file, as text", hint)
        return Include(path, span)

    # --- Python

    def _python(self, statement: Statement) -> int:
        statement.is_python = True
        tokens, end = python_tokens(self.text, statement.start)
        if not tokens:
            return end
        if self._block_indent is None and not statement.joined:
            indent = self._indent(statement.start)
            statement.top_level = indent == 0 and tokens[0].text not in _CLAUSES
            if tokens[-1].text == ":":
                self._block_indent = indent
        self._refuse_selectors(tokens)
        return end

    def _refuse_selectors(self, tokens: Sequence[Token]) -> None:
        strays = [token for token in _with_fields(tokens) if token.kind == "symbol"]
        if not strays:
            return
        hint = "selectors are allowed in where, minimizing, maximizing, generators and bounds"
        if self._block_indent is not None and _KEYWORD.match(tokens[0].text):
            hint = f"this {tokens[0].text} belongs to the Python block above; indent it less"
        elif tokens[0].text == "assert":
            hint = "write where instead of assert"
        self.report.error(self.source, strays[0].span, "a Python statement cannot contain a selector", hint)
        self._strays.extend(token.span for token in strays)

    def _close_block(self, at: int) -> None:
        if self._block_indent is not None and self._indent(at) <= self._block_indent:
            self._block_indent = None

    def _indent(self, at: int) -> int:
        """The indentation of the line of `at`; tabs go to multiples of 8, as in Python."""
        start = self.text.rfind("\n", 0, at) + 1
        line = self.text[start:at]
        return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(8))

    def _python_module(self) -> ast.Module:
        if not any(statement.is_python for statement in self._statements):
            return ast.Module(body=[], type_ignores=[])
        masked, fillers = masked_text(self.text, self._statements, self._strays)
        module = parse_module(self.source, masked, python_starts(self.text, self._statements), self.report)
        if fillers:
            places = Places(Source("", masked))
            starts = [places.offset(node.lineno, node.col_offset) for node in module.body]
            module.body = [node for node, start in zip(module.body, starts, strict=True) if start not in fillers]
        return module


def _behind_gap(text: str, at: int) -> int:
    gap = GAP.match(text, at)
    assert gap is not None, "a gap may be empty"
    return gap.end()


def _with_fields(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, and those in the fields of f-strings."""
    found = []
    waiting = list(reversed(tokens))
    while waiting:
        token = waiting.pop()
        found.append(token)
        waiting.extend(reversed(token.inner))
    return found
