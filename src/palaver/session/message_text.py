"""Messages as text, for people: in one line, around a place with a caret, or as the fields of a tree beside its bytes.

Text is shown as Python writes it, with an escape for each byte that cannot be decoded or printed. If that would be
escapes mostly, the bytes are shown in hexadecimal digits; but a first line of text, as before the body of a message, is
shown as text.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from palaver.printable import counted
from palaver.session.session_limits import (
    BYTES_PER_ROW,
    MAX_FIELD_ROWS,
    MAX_ROWS_OF_FIELD,
    MAX_SHARE_OF_ESCAPES,
    MAX_SHOWN_BYTES,
    MIN_HEAD_BYTES,
)
from palaver.trees.node import Node
from palaver.trees.values import leaf_bytes, leaves_of

_ESCAPES_IN_TEXT = "\r\n\t"


def show_data(data: bytes) -> str:
    """Data in one line, its beginning if it is long."""
    shown, rest = data[:MAX_SHOWN_BYTES], f" … ({len(data)} bytes)" if len(data) > MAX_SHOWN_BYTES else ""
    chars = _characters(shown)
    return (_quoted(chars) if _is_text(chars) else _head_and_body(shown)) + rest


def show_all(data: bytes) -> str:
    """All data in one line, however long it is; but of a binary body below a line of text only the beginning."""
    chars = _characters(data)
    if _is_text(chars):
        return _quoted(chars)
    return show_data(data) if _head_size(data) else data.hex(" ")


def _head_and_body(data: bytes) -> str:
    """Binary data in hexadecimal digits, below its first line if that is text."""
    size = _head_size(data)
    return " ".join([_quoted(_characters(data[:size])), data[size:].hex(" ")]) if size else data.hex(" ")


def _head_size(data: bytes) -> int:
    """The length of the first line, if it is printable ASCII and at least a word; otherwise 0."""
    end = data.find(b"\n", 0, MAX_SHOWN_BYTES) + 1
    line = data[:end].rstrip(b"\r\n")
    return end if len(line) >= MIN_HEAD_BYTES and line.isascii() and line.decode("ascii").isprintable() else 0


def show_place(data: bytes, offset: int, label: str) -> list[str]:
    """Data around a byte, and below it a line with a caret there and a label; of binary data as rows of bytes."""
    start = max(0, min(offset - MAX_SHOWN_BYTES // 2, len(data) - MAX_SHOWN_BYTES))
    while start and start < len(data) and data[start] & 0xC0 == 0x80:
        start -= 1  # not in the middle of a character
    shown = data[start : start + MAX_SHOWN_BYTES]
    chars = _characters(shown)
    if not _is_text(chars):
        return [counted(len(data), "byte"), *_rows(shown, start, offset, label)]
    before, after = "… " if start else "", f" … ({len(data)} bytes)" if len(shown) < len(data) else ""
    quote = _quote(chars)
    ends = list(accumulate(_size(char) for char in chars))
    column = len(before) + 1 + sum(len(_escape(char, quote)) for char, end in _until(chars, ends, offset - start))
    return [f"{before}{_quoted(chars)}{after}", f"{' ' * column}^ {label}"]


def show_fields(
    data: bytes,
    node: Node,
    marked: int | None = None,
    *,
    most: int | None = MAX_FIELD_ROWS,
    is_narrow: bool = False,
) -> list[str]:
    """The fields of a message, each with its bytes; `marked` is the first byte of one that is pointed at.

    There are `most` rows, and not so many of one field; None: all. Narrow ones have no more room for bytes than the
    widest field of the message needs.
    """
    rows: list[str] = []
    widest = max((size + 7) // 8 + (bit % 8 > 0) for bit, size, _ in _fields(node)) if is_narrow and data else 0
    room = 3 * min(BYTES_PER_ROW, widest or BYTES_PER_ROW)
    most_of_field = None if most is None else MAX_ROWS_OF_FIELD
    for bit, size, field in _fields(node):
        first, last = bit // 8, (bit + size + 7) // 8
        pieces = [data[at : min(last, at + BYTES_PER_ROW)] for at in range(first, last, BYTES_PER_ROW)]
        for number, piece in enumerate(pieces[:most_of_field]):
            name = field if number == 0 else ""
            mark = "  <- here" if number == 0 and first == marked else ""
            rows.append(f"{first + number * BYTES_PER_ROW:04x}  {piece.hex(' '):{room}} {name}{mark}")
        if most_of_field is not None and len(pieces) > most_of_field:
            rows.append(f"      … {len(pieces) - most_of_field} rows …")
    if most is not None and len(rows) > most:
        rows[most:] = [f"… {len(rows) - most} rows …"]
    return rows


def is_binary(data: bytes) -> bool:
    """Return True if data is shown in hexadecimal digits."""
    return not _is_text(_characters(data[:MAX_SHOWN_BYTES]))


def offset_of(node: Node, symbol: str) -> int | None:
    """The byte where the only node of a symbol begins; None if there is none, or several."""
    found: list[int] = []
    bit = 0
    stack: list[object] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, Node):
            if part.symbol == symbol:
                found.append(bit // 8)
            stack.extend(reversed(part.children))
        else:
            bit += _bits(part)
    return found[0] if len(found) == 1 else None


def _fields(node: Node) -> Iterator[tuple[int, int, str]]:
    """The first bit, the number of bits and the text of each field, from left to right."""
    bit = 0
    stack: list[object] = list(reversed(node.children))
    while stack:
        part = stack.pop()
        if isinstance(part, Node) and not _is_field(part):
            stack.extend(reversed(part.children))
            continue
        size = sum(map(_bits, leaves_of(part))) if isinstance(part, Node) else _bits(part)
        yield bit, size, _field_text(part)
        bit += size


def _is_field(node: Node) -> bool:
    """Return True if a node has no parts worth telling: only terminals, or bits and bytes of one kind."""
    while len(node.children) == 1 and isinstance(child := node.children[0], Node):
        node = child
    inner = [child for child in node.children if isinstance(child, Node)]
    is_one_kind = len({child.symbol for child in inner}) <= 1
    return is_one_kind and all(sum(map(_bits, leaves_of(child))) <= 8 for child in inner)


def _field_text(part: object) -> str:
    if not isinstance(part, Node):
        return show_data(leaf_bytes(part)) if isinstance(part, str | bytes) else f"bit {part}"
    leaves = leaves_of(part)
    if leaves and all(isinstance(leaf, int) for leaf in leaves):
        return f"{part.symbol} = 0b{''.join(map(str, leaves))}"
    data = b"".join(leaf_bytes(leaf) for leaf in leaves if not isinstance(leaf, int))
    if not is_binary(data):
        return f"{part.symbol} = {show_data(data)}"
    return f"{part.symbol} = {int.from_bytes(data, 'big')}" if len(data) <= 8 else f"{part.symbol}"


def _bits(leaf: object) -> int:
    return 8 * len(leaf_bytes(leaf)) if isinstance(leaf, str | bytes) else 1


def _rows(shown: bytes, start: int, offset: int, label: str) -> Iterator[str]:
    """Rows of bytes, with a caret below one of them."""
    for at in range(0, max(1, len(shown)), BYTES_PER_ROW):
        piece = shown[at : at + BYTES_PER_ROW]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        yield f"  {start + at:04x}  {piece.hex(' '):{3 * BYTES_PER_ROW}} {text}"
        column = offset - start - at
        is_last = at + BYTES_PER_ROW >= len(shown)
        if 0 <= column < len(piece) or (is_last and column == len(piece)):
            yield f"{' ' * (8 + 3 * column)}^ {label}"


def _characters(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _is_text(chars: str) -> bool:
    escapes = sum(not char.isprintable() and char not in _ESCAPES_IN_TEXT for char in chars)
    return escapes <= MAX_SHARE_OF_ESCAPES * len(chars)


def _quote(chars: str) -> str:
    return '"' if "'" in chars and '"' not in chars else "'"


def _quoted(chars: str) -> str:
    quote = _quote(chars)
    return quote + "".join(_escape(char, quote) for char in chars) + quote


def _escape(char: str, quote: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    if char in (quote, "\\"):
        return f"\\{char}"
    return char if char.isprintable() else ascii(char)[1:-1]


def _size(char: str) -> int:
    return len(char.encode("utf-8", "surrogateescape"))


def _until(chars: str, ends: list[int], offset: int) -> Iterator[tuple[str, int]]:
    """The characters before a byte."""
    return ((char, end) for char, end in zip(chars, ends, strict=True) if end <= offset)
