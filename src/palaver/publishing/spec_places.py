"""The places of findings in the spec: the constraint that was violated, or the rule of the message that was wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from palaver.compiled import Spec
from palaver.compiled.bundled import bundled
from palaver.grammar.ir import BEYOND
from palaver.lean_dataclasses import dataclass
from palaver.publishing.publishing_limits import LINES_AROUND
from palaver.recording.run_reader import RecordedFinding, RecordedMessage
from palaver.source import Source, Span

# As findings tell the place of a constraint.
_REQUIRED_BY = re.compile(r"required by (?P<name>.+):(?P<line>\d+):(?P<column>\d+)$", re.MULTILINE)
# As findings about messages that are wrong on purpose tell the rule that they were judged by.
_JUDGED_BY = re.compile(rf"{BEYOND}(?: ::= … \| (?P<alternative><[^<>]+>) \| …)?$")


@dataclass(frozen=True, slots=True)
class SpecPlace:
    """A part of a line of a spec; lines and columns count from 1, and the end is behind the last character."""

    source: Source
    line: int
    column: int
    end_column: int

    @property
    def file(self) -> str:
        return self.source.name

    @property
    def name(self) -> str:
        """The place as compilers write it; a bundled spec has its short name."""
        file = Path(self.file)
        name = file.name if self.file in map(str, bundled().values()) else self.file
        return f"{name}:{self.line}:{self.column}"

    @property
    def parts(self) -> tuple[str, str, str]:
        """The line: before the place, the place, and behind it."""
        line = self.source.line(self.line)
        return line[: self.column - 1], line[self.column - 1 : self.end_column - 1], line[self.end_column - 1 :]

    @property
    def lines(self) -> list[tuple[int, str]]:
        """The line with some lines around it, each with its number."""
        last = self.source.text.count("\n") + (not self.source.text.endswith("\n"))
        first = max(1, self.line - LINES_AROUND)
        return [(number, self.source.line(number)) for number in range(first, min(last, self.line + LINES_AROUND) + 1)]


def _place(source: Source, span: Span) -> SpecPlace:
    line, column = source.place(span.start)
    width = max(1, min(span.end - span.start, len(source.line(line)) - column + 1))
    return SpecPlace(source, line, column, column + width)


def without_place(title: str) -> str:
    """The title of a finding, without the place of its constraint at the end."""
    found = _REQUIRED_BY.search(title)
    return title if found is None else title[: found.start()].removesuffix(", ")


def place_of(spec: Spec | None, finding: RecordedFinding, said: list[RecordedMessage]) -> SpecPlace | None:
    """The place that a finding is about, if there is one in the files of the spec."""
    if spec is None:
        return None
    return next((place for place in _candidates(spec, finding, said) if place.source.text), None)


def _candidates(spec: Spec, finding: RecordedFinding, said: list[RecordedMessage]) -> Iterator[SpecPlace]:
    grammar = spec.grammar
    sources = {source.name: source for source in spec.origin.sources}
    for found in _REQUIRED_BY.finditer(finding.message):
        source = sources.get(found["name"])
        if source is not None:
            line, column = int(found["line"]), int(found["column"])
            whole = next((each for each in grammar.constraints if _holds(each.source, each.span, source, line)), None)
            start = source.offset(line, column)
            end = whole.span.end if whole is not None else source.offset(line + 1, 1)
            yield _place(source, Span(start, max(start, end)))
    for constraint in grammar.constraints:
        if finding.constraint and constraint.text == finding.constraint:
            yield _place(constraint.source, constraint.span)
    if judged := _JUDGED_BY.match(finding.constraint):
        for symbol in (judged["alternative"], BEYOND):
            rule = grammar.beyond.get(symbol or "")
            if rule is not None and rule.source is not None:
                yield _place(rule.source, rule.span)
    for symbol in (*finding.symbols, *(each.symbol for each in reversed(said))):
        rule = grammar.rules.get(symbol)
        if rule is not None and rule.source is not None:
            yield _place(rule.source, rule.span)


def _holds(source: Source, span: Span, wanted: Source, line: int) -> bool:
    if source.name != wanted.name:
        return False
    return source.place(span.start)[0] <= line <= source.place(span.end)[0]
