"""Diagnostics of a spec: collected while it is read, raised together at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Literal

from palaver.errors import Diagnostic, SpecError
from palaver.source import Source, Span


class ParseError(Exception):
    """An error in one statement: raised inside the parsers, caught where the next statement starts."""

    def __init__(self, span: Span, message: str, hint: str = "") -> None:
        self.span = span
        self.message = message
        self.hint = hint
        super().__init__(message)


class Reporter:
    """Collects diagnostics, and orders them by file and position."""

    def __init__(self) -> None:
        self._diagnostics: list[Diagnostic] = []
        self.error_count = 0
        self.text_is_missing = False  # a part of the spec could not be read at all, and may define anything

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        files = {name: number for number, name in enumerate(dict.fromkeys(d.source.name for d in self._diagnostics))}
        return tuple(sorted(self._diagnostics, key=lambda each: (files[each.source.name], each.span.start)))

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(each for each in self.diagnostics if each.severity == "error")

    def error(self, source: Source, span: Span, message: str, hint: str = "") -> None:
        self._add("error", source, span, message, hint)

    def warning(self, source: Source, span: Span, message: str, hint: str = "") -> None:
        self._add("warning", source, span, message, hint)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add the diagnostics of another reporter."""
        for diagnostic in diagnostics:
            self._diagnostics.append(diagnostic)
            self.error_count += diagnostic.severity == "error"

    def raise_if_errors(self) -> None:
        """Raise the errors, if there are any. :raises SpecError: with all diagnostics, warnings included"""
        if self.error_count:
            raise SpecError(self.diagnostics)

    def _add(self, severity: Literal["error", "warning"], source: Source, span: Span, message: str, hint: str) -> None:
        # A place outside the text would break the excerpt, and with it the message.
        end = len(source.text)
        start = min(max(span.start, 0), end)
        inside = Span(start, min(max(span.end, start), end))
        self.extend([Diagnostic(severity, message, source, inside, hint)])


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A hint that names the candidate most like `name`, or nothing if none is."""
    # Brackets would make all short symbols look alike: <a> and <b> share two characters of three.
    plain = {candidate.strip("<>").lower(): candidate for candidate in sorted(candidates, reverse=True)}
    # A cutoff that tells <b> from <bs>: in short names every letter counts.
    close = get_close_matches(name.strip("<>").lower(), plain, n=1, cutoff=0.7)
    return f"did you mean {plain[close[0]]}?" if close else ""


def no_such_party(name: str, parties: Sequence[str]) -> str:
    """The message about a party that a spec does not have."""
    hint = did_you_mean(name, parties)
    return f"the spec has no party {name}; its parties are: {', '.join(parties) or 'none'}{'; ' * bool(hint)}{hint}"
