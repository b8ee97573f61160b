"""Text that may be shown on a terminal, wherever it came from.

A terminal obeys control characters: they move the cursor, change the title, or write to the clipboard (OSC 52). So
whatever comes from a peer, a program, a spec or a file name is shown with escapes in their place.
"""

from __future__ import annotations

import re

# Line ends and tabs stay. What is between them is mostly printable.
_BETWEEN = re.compile(r"[^\n\t]+")


# As ECMA-48 has them. Programs write them to a terminal, and a pseudo-terminal is one.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def without_colours(text: str) -> str:
    """The text without sequences that change colours and fonts."""
    return _COLOURS.sub("", text)


def counted(count: int, what: str, many: str = "") -> str:
    """A number of things, with `many` as the plural if that does not end in s: `1 session`, `2 sessions`."""
    return f"{count} {what if count == 1 else many or what + 's'}"


def printable(text: str) -> str:
    """The text with an escape, as Python writes it, for each character that is not printable. Twice is as once."""
    return _BETWEEN.sub(lambda found: found[0] if found[0].isprintable() else _escaped(found[0]), text)


def _escaped(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
