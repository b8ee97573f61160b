"""The exceptions of palaver.

PalaverError
├── SpecError            the spec is wrong: has its diagnostics, each with place, excerpt and hint
├── SpecCrash            Python code inside the spec raised while it was used
├── Rejected             an input does not conform: offset, expected items, reason
├── Undecided            an input was too much work to read: neither accepted nor rejected
├── Unsolvable           no (further) tree satisfies the constraints within the budget
└── ConversionError      a tree has no such value: three bits are no bytes, "abc" is no number

An error of a peer is a finding, not an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from palaver.lean_dataclasses import dataclass
from palaver.source import Source, Span


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning about a spec: place, message and hint."""

    severity: Literal["error", "warning"]
    message: str
    source: Source
    span: Span
    hint: str = ""

    def __str__(self) -> str:
        line, column = self.source.place(self.span.start)
        head = f"{self.source.name}:{line}:{column}: {self.severity}: {self.message}"
        # Of an empty or unreadable file there is nothing to show.
        text = f"{head}\n{self.source.excerpt(self.span)}" if self.source.text else head
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class PalaverError(Exception):
    """The base class of all errors palaver raises on purpose."""


class SpecError(PalaverError):
    """The spec cannot be used; `diagnostics` has all errors and warnings."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)  # the arguments for copying and pickling

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


class SpecCrash(PalaverError):
    """Python code of the spec raised: in a generator, an inverse, or a bound."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic)

    def __str__(self) -> str:
        return str(self.diagnostic)


class Rejected(PalaverError):
    """An input does not conform to the spec.

    `offset` counts units of the input (characters of a str, bytes of bytes) up to the first unexpected one; `expected`
    names the items expected there, in the order of the spec; `reason` is one sentence with all of this.
    """

    def __init__(self, reason: str, *, offset: int = 0, expected: Sequence[str] = ()) -> None:
        self.reason = reason
        self.offset = offset
        self.expected = tuple(expected)
        super().__init__(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Rejected, offset=self.offset, expected=self.expected), (self.reason,)


class Undecided(PalaverError):
    """Reading an input took more work than is allowed: it may conform or not. The text says what took so much."""


class Unsolvable(PalaverError):
    """The search ended without a tree that satisfies every constraint."""


class ConversionError(PalaverError, ValueError):
    """A tree has no value of the requested type."""
