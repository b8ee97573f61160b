"""The Python of a spec, with everything else blanked out: so CPython's line numbers are right by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence

from palaver.lean_dataclasses import dataclass
from palaver.source import Span


@dataclass(slots=True)
class Statement:
    """The extent of a statement. `joined`: it follows another one on the same line, behind `;`."""

    start: int
    end: int
    joined: bool
    is_python: bool = False
    top_level: bool = False  # Python of its own, not part of a block


def masked_text(text: str, statements: Sequence[Statement], strays: Sequence[Span]) -> tuple[str, set[int]]:
    """The text with blanks in the place of everything that is not Python, and the offsets of fillers.

    Where Python follows another statement on its line, that statement leaves a filler, `0` or over several lines
    `(0 )`, behind: Python would take blanks at the start of a line for indentation. `strays` are selectors in plain
    Python, reported already; names stand in their place.
    """
    pieces = []
    fillers = set()
    at = 0
    python_before = python_behind = False
    for statement, python_behind_it in zip(statements, _python_behind(statements), strict=True):
        gap = text[at : statement.start]
        pieces.append(gap if python_before or (python_behind and statement.joined) else gap.replace(";", " "))
        body = text[statement.start : statement.end]
        python_before, python_behind = statement.is_python, python_behind_it
        if python_before:
            pieces.append(body)
        elif python_behind:
            fillers.add(statement.start)
            pieces.append(f"(0{_blank(body[2:-1])})" if "\n" in body else f"0{_blank(body[1:])}")
        else:
            pieces.append(_blank(body))
        at = statement.end
    pieces.append(_blank(text[at:]))
    return _with_names("".join(pieces), strays), fillers


def python_starts(text: str, statements: Sequence[Statement]) -> list[int]:
    """The offsets of the top-level Python statements; a decorated definition starts at its first decorator."""
    starts = []
    decorated = False
    for statement in statements:
        if statement.top_level:
            if not decorated:
                starts.append(statement.start)
            decorated = text[statement.start] == "@"
    return starts


def _python_behind(statements: Sequence[Statement]) -> list[bool]:
    """One flag per statement: True if Python follows it on its line."""
    answers = []
    answer = False
    following: Statement | None = None
    for statement in reversed(statements):
        answer = following is not None and following.joined and (answer or following.is_python)
        answers.append(answer)
        following = statement
    return answers[::-1]


def _with_names(text: str, spans: Sequence[Span]) -> str:
    for span in spans:
        text = text[: span.start] + "_" * (span.end - span.start) + text[span.end :]
    return text


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
