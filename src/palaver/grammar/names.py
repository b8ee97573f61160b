"""What stands in a rule, by name: symbols with their brackets, terminals by a label that says how the spec writes them.

Terminals are told apart by what the spec writes: text, bytes, bits, patterns.
"""

from __future__ import annotations

from collections.abc import Iterator

from palaver.spec.ast import Bit, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence


def names_in(expr: Expr) -> Iterator[str]:
    """All names, in the order of the spec. Groups and repetitions are looked through, but not what stands there zero
    times."""
    stack = [expr]
    while stack:
        match stack.pop():
            case Ref(symbol):
                yield symbol
            case Literal() | Bit() | Pattern() as terminal:
                yield label_of(terminal)
            case Sequence(parts) | Permutation(parts) | Choice(parts):
                stack.extend(reversed(parts))
            case Repeat(body, _, most) if most != 0:
                stack.append(body)


def label_of(terminal: Literal | Bit | Pattern) -> str:
    """A terminal as Python writes it."""
    return f"r{terminal.source!r}" if isinstance(terminal, Pattern) else repr(terminal.value)
