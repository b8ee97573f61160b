"""Character classes that Python's `re` does not have, rewritten to ones that it has: `\\p{Lu}` and `[[:alpha:]]`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

from palaver.regular.charset import ASCII, END_OF_UNICODE, EVERY, CharSet


class PatternError(ValueError):
    """A pattern cannot be read; `position` counts characters of the pattern as it was written."""

    def __init__(self, message: str, position: int = 0) -> None:
        self.message = message
        self.position = position
        super().__init__(message)


_PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)([^{}]*)\}|([A-Za-z]))")
_POSIX = re.compile(r"\[:(\^?)([A-Za-z]*):\]")

# Long names of major categories, and of the properties people use most, by the general categories they stand for.
_PROPERTY_NAMES = {
    "letter": "L", "mark": "M", "number": "N", "punctuation": "P", "symbol": "S", "separator": "Z", "other": "C",
    "alphabetic": "L Nl", "alpha": "L Nl", "uppercase": "Lu", "upper": "Lu", "lowercase": "Ll", "lower": "Ll",
    "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt", "modifierletter": "Lm",
    "otherletter": "Lo", "decimalnumber": "Nd", "digit": "Nd", "letternumber": "Nl", "othernumber": "No",
    "alnum": "L Nl Nd", "punct": "P", "control": "Cc", "cntrl": "Cc", "casedletter": "Lu Ll Lt", "lc": "Lu Ll Lt",
    "spaceseparator": "Zs", "mathsymbol": "Sm", "currencysymbol": "Sc", "any": "L M N P S Z C",
}  # fmt: skip
_SPACES = CharSet.of("\t\n\x0b\x0c\r\x85")


def expand_classes(text: str, alphabet: CharSet) -> tuple[str, list[tuple[int, int]]]:
    """`text` with properties and POSIX classes written out, and pairs (place there, place in `text`) to map back."""
    if not (_PROPERTY.search(text) or "[:" in text):
        return text, [(0, 0)]
    pieces: list[str] = []
    places = [(0, 0)]
    size = at = 0
    in_class = False
    while at < len(text):
        match = _PROPERTY.match(text, at)
        if match:
            negated = (match[1] == "P") ^ bool(match[2])
            piece = _class_text(_property(match[3] or match[4] or "", alphabet, at), negated, in_class)
            end = match.end()
        elif text[at] == "\\":
            end = at + 2
            piece = text[at:end]
        elif in_class and (match := _POSIX.match(text, at)):
            piece = _class_text(_posix(match[2], alphabet, at), bool(match[1]), in_class)
            end = match.end()
        elif not in_class and text[at] == "[":
            # A bracket right after the opening (or after the ^) is a member, not the end.
            end = at + 1 + text.startswith("^", at + 1)
            end += text.startswith("]", end)
            piece, in_class = text[at:end], True
        else:
            end = at + 1
            piece = text[at]
            in_class = in_class and piece != "]"
        pieces.append(piece)
        size += len(piece)
        at = end
        places.append((size, at))
    return "".join(pieces), places


def original_place(places: list[tuple[int, int]], position: int) -> int:
    """The place in the original pattern of a `position` in the expanded one, given the pairs of `expand_classes`."""
    expanded, original = max(pair for pair in places if pair[0] <= position)
    return original + position - expanded if len(places) == 1 else original


def _class_text(members: CharSet, negated: bool, in_class: bool) -> str:
    if negated:
        members = EVERY - members
    if in_class:
        return members.as_class()
    return f"[{members.as_class()}]" if members else f"[^{EVERY.as_class()}]"


def _property(name: str, alphabet: CharSet, position: int) -> CharSet:
    key = name.partition("=")[2] if "=" in name else name
    if (simple := key.lower().replace("_", "").replace(" ", "").replace("-", "")) == "ascii":
        return ASCII
    if simple in ("whitespace", "space"):
        return (_SPACES | _categories("Z")) & alphabet
    members = _categories(_PROPERTY_NAMES.get(simple, key))
    if not members:
        raise PatternError(f"there is no character property {name!r}", position)
    return members & alphabet


def _posix(name: str, alphabet: CharSet, position: int) -> CharSet:
    if name in ("alpha", "digit", "alnum", "upper", "lower", "space", "cntrl", "ascii"):
        return _property(name, alphabet, position) & alphabet
    table: dict[str, Callable[[], CharSet]] = {
        "blank": lambda: CharSet.of("\t") | _categories("Zs"),
        # ASCII's symbols ($+<=>^`|~) count as punctuation in POSIX, though not in Unicode.
        "punct": lambda: _categories("P") | (_categories("S") & ASCII),
        "graph": lambda: EVERY - (_categories("Z Cc Cs Cn") | _SPACES),
        "print": lambda: EVERY - (_categories("Zl Zp Cc Cs Cn") | _SPACES),
        "word": lambda: _categories("L M Nd Nl Pc"),
        "xdigit": lambda: CharSet.of("0123456789abcdefABCDEF"),
    }
    if name not in table:
        raise PatternError(f"there is no character class [:{name}:]", position)
    return table[name]() & alphabet


@cache
def _categories(names: str) -> CharSet:
    """All characters of the general categories (or major categories: one letter) in `names`, which blanks divide."""
    table = _category_table()
    wanted = names.split()
    return CharSet.ranges(
        pair for category in sorted(table) for pair in table[category] if category in wanted or category[0] in wanted
    )


@cache
def _category_table() -> dict[str, list[tuple[int, int]]]:
    table: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for code in range(1, END_OF_UNICODE):
        category = unicodedata.category(chr(code))
        if category != current:
            table.setdefault(current, []).append((start, code - 1))
            start, current = code, category
    table.setdefault(current, []).append((start, END_OF_UNICODE - 1))
    return table
