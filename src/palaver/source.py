"""Source texts of specs, spans in them, and excerpts with a caret."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from functools import cached_property

from palaver.lean_dataclasses import dataclass

# Of a longer line only the part around the mark is shown, and at most so much to the left of it.
_MAX_EXCERPT_WIDTH, _MAX_WIDTH_LEFT_OF_MARK = 160, 80


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters in one source."""

    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """One spec text, with its name in messages.

    Line ends are normalised to ``\\n`` before a Source is made, so an offset, a line and a column always agree.
    `is_included`: another text includes this one, and may not need all of it.
    """

    name: str
    text: str = field(repr=False)
    is_included: bool = field(default=False, compare=False, repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        find = self.text.find
        while (at := find("\n", starts[-1])) >= 0:
            starts.append(at + 1)
        return starts

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of `offset`, both counted from 1, as editors do."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, the inverse of `place`; clipped to the text."""
        starts = self._line_starts
        if line > len(starts):
            return len(self.text)
        return min(starts[line - 1] + column - 1, len(self.text))

    def line(self, number: int) -> str:
        """The text of one line, without its end."""
        return self.text[self._line_starts[number - 1] :].split("\n", 1)[0]

    def excerpt(self, span: Span) -> str:
        """The line that holds `span`, and a second line that marks it with carets."""
        number, column = self.place(span.start)
        line = self.line(number)
        width = max(1, min(span.end - span.start, len(line) - column + 1))
        first = max(0, column - 1 - _MAX_WIDTH_LEFT_OF_MARK) if len(line) > _MAX_EXCERPT_WIDTH else 0
        last = min(len(line), first + _MAX_EXCERPT_WIDTH)
        head, tail = "…" if first else "", "…" if last < len(line) else ""
        # Tabs stay tabs under the line, so that the caret stands where the editor shows it.
        indent = "".join("\t" if char == "\t" else " " for char in head + line[first : column - 1])
        marks = "^" * max(1, min(width, last - column + 1))
        return f"  {head}{line[first:last]}{tail}\n  {indent}{marks}"
