"""The explanation of a rejected input, shown at the place where it goes wrong."""

from __future__ import annotations

from palaver.errors import Rejected

_BYTES_PER_LINE = 16


def explain(name: str, data: str | bytes, rejection: Rejected) -> str:
    """The place, the sentence, and an excerpt of the input with the place marked."""
    if isinstance(data, str):
        line, column = _place(data, rejection.offset)
        return f"{name}:{line}:{column}: {rejection.reason}\n{_excerpt(data, rejection.offset)}"
    place = f"{name}: at byte {rejection.offset} (0x{rejection.offset:x})"
    return f"{place}: {rejection.reason}\n{hex_dump(data, rejection.offset)}"


def _place(text: str, offset: int) -> tuple[int, int]:
    line = text.count("\n", 0, offset) + 1
    return line, offset - text.rfind("\n", 0, offset)


def _excerpt(text: str, offset: int) -> str:
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    # A line may be a megabyte long; what matters is near the mark.
    left, right = max(start, offset - 60), min(end, offset + 40)
    before, after = _visible(text[left:offset]), _visible(text[offset:right])
    head = "…" if left > start else ""
    tail = "…" if right < end else ""
    return f"  {head}{before}{after}{tail}\n  {' ' * len(head + before)}^"


def _visible(text: str) -> str:
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    # A byte that is no UTF-8 came in as a lone surrogate; readers want to see the byte.
    return f"\\x{ord(char) - 0xDC00:02x}" if 0xDC80 <= ord(char) <= 0xDCFF else repr(char)[1:-1]


def hex_dump(data: bytes, offset: int) -> str:
    """Three lines of bytes around `offset`, and a mark below the one that stands there."""
    first = max(0, offset // _BYTES_PER_LINE - 1) * _BYTES_PER_LINE
    lines = []
    for start in range(first, min(len(data), offset + 2 * _BYTES_PER_LINE) + 1, _BYTES_PER_LINE):
        row = data[start : start + _BYTES_PER_LINE]
        if not row and start > offset:
            break
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        lines.append(f"  {start:08x}  {row.hex(' '):<{_BYTES_PER_LINE * 3 - 1}}  {text}")
        if start <= offset < start + _BYTES_PER_LINE:
            lines.append(f"  {'':8}  {'   ' * (offset - start)}^^")
    return "\n".join(lines)
