"""The one door to regular expressions.

A pattern is Python's `re` syntax plus `\\p{Lu}` and `[[:alpha:]]`. These two are first rewritten to plain ranges
(`classes`), then the standard library's own parser does the rest, so our syntax cannot drift away from Python's. A
bytes pattern is read as text whose characters are the bytes (latin-1), with `re.ASCII` in force. From the parsed tree
an outline is made (`outline`), and from that an automaton (`automaton`). Where a pattern is not plain, whoever
matches asks `Regex.matches` about each candidate.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from palaver.grammar.automaton import Automaton
from palaver.grammar.charset import ASCII, BYTES, EVERY, CharSet
from palaver.grammar.classes import PatternError, expand_classes, original_place
from palaver.grammar.outline import Outline, Outliner, is_plain, op, parser, quietly_compile

__all__ = ["PatternError", "Regex", "compile_pattern"]


@dataclass(frozen=True, eq=False)
class Regex:
    """A pattern that has been read. `tree` is the standard library's parsed form (a `SubPattern`)."""

    source: str | bytes
    tree: Any = field(repr=False)
    flags: int
    width: tuple[int, int | None]
    is_plain: bool
    expanded: str = field(repr=False)

    @cached_property
    def automaton(self) -> Automaton:
        """Accepts what the pattern accepts, or more if it is not plain."""
        return self._automaton(BYTES if isinstance(self.source, bytes) else EVERY)

    @cached_property
    def byte_automaton(self) -> Automaton:
        """The same for input that consists of bytes, seen as the characters up to U+00FF."""
        return self.automaton if isinstance(self.source, bytes) else self._automaton(BYTES)

    @cached_property
    def _fullmatch(self) -> Callable[[str], object]:
        return quietly_compile(self.expanded, re.ASCII if isinstance(self.source, bytes) else 0).fullmatch

    def matches(self, text: str) -> bool:
        """Whether the pattern matches exactly `text`, which stands alone: anchors and look-around see nothing else."""
        return self._fullmatch(text) is not None

    def outline(self, alphabet: CharSet) -> Outline | None:
        """What the pattern accepts, or more if it is not plain; None if that is nothing."""
        return Outliner(alphabet).sequence(self.tree, self.flags)

    def _automaton(self, alphabet: CharSet) -> Automaton:
        return Automaton(self.outline(alphabet))


@cache
def compile_pattern(source: str | bytes) -> Regex:
    """The meaning of a pattern.

    :raises PatternError: it has none
    """
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    flags = re.ASCII if isinstance(source, bytes) else 0
    expanded, places = expand_classes(text, ASCII if isinstance(source, bytes) else EVERY)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parser.parse(expanded, flags)
            plain = is_plain(tree)
            if not plain:
                re.compile(expanded, flags)  # a look-behind of varying width is found only here
    except re.error as error:
        raise PatternError(error.msg, original_place(places, error.pos or 0)) from None
    except (RecursionError, OverflowError):
        raise PatternError("the pattern is too large or nested too deeply") from None
    least, most = tree.getwidth()
    return Regex(source, tree, tree.state.flags, (least, most if most < op.MAXREPEAT else None), plain, expanded)
