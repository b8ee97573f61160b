"""The value of a part, which is text, bytes, bits or empty, and its conversion to other types.

The value of a part is the sequence of its leaves. If all are text, it is text; if all are bits, it is bits, a number of
any width; without leaves it is *empty*; everything else is bytes. In bytes, text counts as UTF-8, and a run of bits is
packed most significant bit first as soon as other data follows it or the part ends. A run that does not fill its last
byte has no bytes, and so no text: asking for them raises ConversionError.

Read as text, bytes become latin-1, one character per byte, because that loses nothing. Read as a number, bits are
unsigned; text and bytes are decimal digits, as Python's int() reads them; empty is 0.

All of this runs for every message that is made or checked, so each function first gathers the leaves in one flat loop
and then tries the plain cases, all text and all bytes, with a single join: testing the type of each leaf first would
cost more than the join, which tests it anyway and raises TypeError at the first leaf of another type.

A lazy node stores its serialisation, so its leaves need not be made: `pieces` has the serialisation in their place. Two
things are lost there. Its bytes may be bits, so before a value counts as bytes, its leaves are checked (`_read`). And
bits around a lazy node of bits form one run with it, so before a run that fills no byte is refused, the leaves are
gathered after all (`_utf8`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import groupby
from typing import TypeAlias

from palaver.errors import ConversionError
from palaver.trees.forwarding import Forwarding as Forwarding
from palaver.trees.lazy import LazyNode
from palaver.trees.node import Leaf, Node, NonTerminal, Part, same_structure

# The symbol of a slice of a tree, which no rule has made.
ANONYMOUS = NonTerminal("<>")

PlainValue: TypeAlias = str | bytes | int

_LEAF_TYPES = frozenset({str, bytes, int})


class ValueType(Enum):
    """The type of a value. FANDANGO's names for the same types are aliases."""

    TEXT = "string"
    BYTES = "bytes"
    BITS = "trailing_bits"
    EMPTY = "empty"

    STRING = TEXT
    TRAILING_BITS_ONLY = BITS


def leaves_of(part: Part) -> list[Leaf]:
    """The leaves below `part`, left to right; as a list, which is faster than to yield them one by one."""
    if not isinstance(part, Node):
        return [part]
    found: list[Leaf] = []
    stack = list(part.children)
    pop, extend, add = stack.pop, stack.extend, found.append
    # The top of the stack is the rightmost part, so leaves come out from right to left.
    while stack:
        top = pop()
        if isinstance(top, Node):
            extend(top.children)
        else:
            add(top)
    found.reverse()
    return found


def pieces(part: Part, lazy: list[LazyNode] | None = None) -> list[Leaf]:
    """The leaves of `part`, with the serialisation of lazy nodes in place of theirs. Lazy nodes are added to `lazy`."""
    if type(part) is Node and len(part.children) == 1 and type(part.children[0]) in _LEAF_TYPES:
        return [part.children[0]]  # type: ignore[list-item]  # it is a leaf; most fields of text are like this
    found: list[Leaf] = []
    stack = [part]
    pop, extend, add = stack.pop, stack.extend, found.append
    # As in `leaves_of`. The types that most parts have come first, because isinstance with a base class takes longer.
    while stack:
        top = pop()
        kind = type(top)
        if kind is Node:
            extend(top.children)  # type: ignore[union-attr]  # it is a node
        elif kind in _LEAF_TYPES:
            add(top)  # type: ignore[arg-type]  # it is a leaf
        elif isinstance(top, LazyNode):
            add(top.unexpanded[0])
            if lazy is not None:
                lazy.append(top)
        elif isinstance(top, Node):
            extend(top.children)
        else:
            add(top)
    found.reverse()
    return found


def kind_of(part: Part) -> ValueType:
    """The type of the value of `part`."""
    lazy: list[LazyNode] = []
    return _read(part, pieces(part, lazy), lazy)[1]


def to_bytes(part: Part, encoding: str = "utf-8") -> bytes:
    """The value as bytes, text encoded. :raises ConversionError: bits fill no whole bytes, or a character is lacking"""
    found = pieces(part)
    if found and type(found[0]) is bytes and encoding == "utf-8":
        return _utf8(part, found)
    try:
        return encode(part, "".join(found), encoding)  # type: ignore[arg-type]  # tried, not known
    except TypeError:
        # Text in the serialisation of a lazy node was encoded as UTF-8; another encoding must start from the leaves.
        return _utf8(part, found) if encoding == "utf-8" else _bytes(part, leaves_of(part), encoding)


def to_text(part: Part, encoding: str = "latin-1") -> str:
    """The value as text, bytes decoded by `encoding`.

    :raises ConversionError: bits fill no whole bytes, or the bytes are not of that encoding
    """
    data = serialise(part)
    return data if isinstance(data, str) else decode(part, data, encoding)


def serialise(part: Part) -> str | bytes:
    """Text if all leaves are text, else bytes. :raises ConversionError: bits fill no whole bytes"""
    return joined(part, pieces(part))


def joined(part: Part, found: Sequence[Leaf]) -> str | bytes:
    """The serialisation of a part whose leaves or pieces are known already."""
    if found and type(found[0]) is bytes:
        return _utf8(part, found)  # the join below would fail
    try:
        return "".join(found)  # type: ignore[arg-type]  # tried, not known
    except TypeError:
        return _utf8(part, found)


def to_int(part: Part) -> int:
    """The value as a number. :raises ConversionError: it is none"""
    lazy: list[LazyNode] = []
    found = pieces(part, lazy)
    if not found:
        return 0
    try:
        text = "".join(found)  # type: ignore[arg-type]  # tried, not known
    except TypeError:
        found, kind = _read(part, found, lazy)
        if kind is ValueType.BITS:
            return _number(found)
        text = _utf8(part, found).decode("latin-1")
    try:
        return int(text)
    except ValueError as error:
        raise ConversionError(f"{name_of(part)} is {_brief(text)}, which int() does not read as a number") from error


def to_bits(part: Part) -> str:
    """The value as a string of 0 and 1. Unlike bytes this always exists."""
    return "".join(map(_leaf_bits, leaves_of(part)))


def value_of(part: Part) -> PlainValue:
    """The value in its own type: text as str, bytes as bytes, bits as int; empty is the empty text."""
    lazy: list[LazyNode] = []
    found = pieces(part, lazy)
    try:
        return "".join(found)  # type: ignore[arg-type]  # tried, not known
    except TypeError:
        found, kind = _read(part, found, lazy)
        return _number(found) if kind is ValueType.BITS else _utf8(part, found)


def is_truthy(part: Part) -> bool:
    """The truth of the value: a number that is not 0, or text or bytes that are not empty."""
    lazy: list[LazyNode] = []
    found, kind = _read(part, pieces(part, lazy), lazy)
    if kind is ValueType.BITS:
        return 1 in found
    # A bit among text is a byte, or a part of one, whatever its value.
    return any(isinstance(leaf, int) or leaf for leaf in found)


def name_of(part: Part) -> str:
    """The name of `part` in messages to users."""
    return str(part.symbol) if isinstance(part, Node) else repr(part)


def equals_plain(part: Part, other: object) -> bool:
    """Return True if the value, converted to the type of `other`, equals it.

    :raises ConversionError: the value cannot be read in that type
    :raises TypeError: `other` is no text, bytes or whole number
    """
    if isinstance(other, str):
        return _equals_text(part, other)
    if isinstance(other, bytes | bytearray):
        return to_bytes(part) == other
    if isinstance(other, int):
        return to_int(part) == other
    raise TypeError(
        f"{name_of(part)} compares with text, bytes, whole numbers and trees, not with {type(other).__name__}; "
        f"convert it first, as in float(str({name_of(part)}))"
    )


def equal_parts(one: Part, other: Part) -> bool:
    """Return True if two parts are equal: of one symbol, in structure; of different symbols, in value."""
    if one is other:
        return True
    if isinstance(one, Node) and isinstance(other, Node) and one.symbol == other.symbol != ANONYMOUS:
        if isinstance(one, LazyNode) and isinstance(other, LazyNode) and one.unexpanded == other.unexpanded:
            return one.parties == other.parties
        # Text equals bytes here: a message that we sent is made of text, the same message received of bytes.
        return same_structure(one, other, equal_values)
    return equal_values(one, other)


def equal_values(one: Part, other: Part) -> bool:
    """Return True if the values are equal: text and bytes by their bytes, bits by their number, never across these."""
    key, other_key = _key(one), _key(other)
    return type(key) is type(other_key) and key == other_key


def hash_of(part: Part) -> int:
    """A hash that equal parts share. That of text is the text's own, so that `tree in {"a", "b"}` works."""
    key = _key(part)
    return hash(key.decode("utf-8", "surrogateescape") if isinstance(key, bytes) else key)


def _equals_text(part: Part, other: str) -> bool:
    data = serialise(part)
    if isinstance(data, str):
        return data == other
    if data.decode("latin-1") == other:
        return True
    # Bytes on the wire may well be UTF-8, and what the spec writes as "é" was sent as that.
    return data == other.encode("utf-8", "surrogateescape") if _is_encodable(other) else False


def _key(part: Part) -> bytes | int | str:
    """The key that decides equality of values; keys of different types differ."""
    lazy: list[LazyNode] = []
    found, kind = _read(part, pieces(part, lazy), lazy)
    if kind is ValueType.BITS:
        return _number(found)
    try:
        return _utf8(part, found)
    except ConversionError:
        # Neither bytes nor a number, but it must equal itself.
        return to_bits(part)


class TreeValue(Forwarding):
    """The value of a part without its place, from `tree.value()`. It behaves as the tree does in expressions."""

    __slots__ = ("_part",)

    def __init__(self, part: Part) -> None:
        self._part = part

    @property
    def type_(self) -> ValueType:
        return kind_of(self._part)

    @property
    def trailing_bits(self) -> tuple[int, ...] | None:
        """The bits, if the value is nothing but bits."""
        found = leaves_of(self._part)
        return tuple(int(leaf) for leaf in found) if _kind(found) is ValueType.BITS else None

    def is_type(self, kind: ValueType) -> bool:
        return self.type_ is kind

    def to_string(self, encoding: str = "latin-1") -> str:
        return to_text(self._part, encoding)

    def to_bytes(self, encoding: str = "utf-8") -> bytes:
        return to_bytes(self._part, encoding)

    def to_int(self) -> int:
        return to_int(self._part)

    def to_bits(self) -> str:
        return to_bits(self._part)

    def _own(self) -> PlainValue:
        return value_of(self._part)

    def __bool__(self) -> bool:
        return is_truthy(self._part)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TreeValue):
            return equal_values(self._part, other._part)
        if isinstance(other, Forwarding):
            return NotImplemented  # a tree, which compares itself
        return equals_plain(self._part, other)

    def __hash__(self) -> int:
        return hash_of(self._part)

    def __repr__(self) -> str:
        if self.type_ is ValueType.BITS:
            return self.to_bits()
        try:
            return repr(self._own())
        except ConversionError:  # bits that fill no byte, beside other data
            return self.to_bits()


_DIGITS = bytes.maketrans(b"\x00\x01", b"01")


def _read(part: Part, found: list[Leaf], lazy: Sequence[LazyNode]) -> tuple[list[Leaf], ValueType]:
    """The leaves or pieces of `part` and their type, by its pieces `found` and the lazy nodes among them."""
    kind = _kind(found)
    if lazy and kind is ValueType.BYTES and _has_only_bits(part):
        return leaves_of(part), ValueType.BITS
    return found, kind


def _has_only_bits(part: Part) -> bool:
    """Return True if all leaves of `part` are bits. Stops at the first that is none."""
    stack = [part]
    while stack:
        top = stack.pop()
        if isinstance(top, Node):
            if isinstance(top, LazyNode) and isinstance(top.unexpanded[0], str):
                return False
            stack.extend(top.children)
        elif not isinstance(top, int):
            return False
    return True


def _kind(found: Sequence[Leaf]) -> ValueType:
    types = set(map(type, found))
    if len(types) != 1:
        return ValueType.BYTES if types else ValueType.EMPTY
    only = types.pop()
    if issubclass(only, str):
        return ValueType.TEXT
    return ValueType.BITS if issubclass(only, int) else ValueType.BYTES


def _utf8(part: Part, found: Sequence[Leaf]) -> bytes:
    """The bytes of `part` by its pieces, or by its leaves if the pieces have none."""
    try:
        return _bytes(part, found, "utf-8")
    except ConversionError:
        pass  # if the leaves have none either, the message should be about them
    return _bytes(part, leaves_of(part), "utf-8")


def _bytes(part: Part, found: Sequence[Leaf], encoding: str) -> bytes:
    try:
        return b"".join(found)  # type: ignore[arg-type]  # tried, not known
    except TypeError:
        pass
    try:
        return encode(part, "".join(found), encoding)  # type: ignore[arg-type]  # tried, not known
    except TypeError:
        return _packed(part, found, encoding)


def _packed(part: Part, found: Sequence[Leaf], encoding: str) -> bytes:
    if "" in found or b"" in found:
        # An empty leaf is no data, so bits may go on behind it.
        found = [leaf for leaf in found if isinstance(leaf, int) or leaf]
    pieces: list[bytes] = []
    for kind, run in groupby(found, type):
        if kind is bytes:
            pieces += run  # type: ignore[arg-type]  # a run of one type, and it is bytes
        elif kind is str:
            pieces.append(encode(part, "".join(run), encoding))  # type: ignore[arg-type]  # likewise text
        else:
            pieces.append(_packed_bits(part, list(run)))
    return b"".join(pieces)


def _packed_bits(part: Part, bits: Sequence[Leaf]) -> bytes:
    if len(bits) % 8:
        raise ConversionError(f"{name_of(part)} has a run of {len(bits)} bits, which fill no whole number of bytes")
    return _number(bits).to_bytes(len(bits) // 8, "big")


def _number(bits: Sequence[Leaf]) -> int:
    # By way of digits: shifting bit after bit would be quadratic.
    return int(bytes(bits).translate(_DIGITS), 2)  # type: ignore[arg-type]  # only called for bits


def encode(part: Part, text: str, encoding: str) -> bytes:
    """The text of `part` as bytes. :raises ConversionError: the encoding lacks a character"""
    try:
        # surrogateescape: text that was made from stray bytes becomes those bytes again.
        return text.encode(encoding, "surrogateescape")
    except UnicodeEncodeError as error:
        raise ConversionError(f"{name_of(part)} is {_brief(text)}, which {encoding} cannot encode") from error


def decode(part: Part, data: bytes, encoding: str) -> str:
    """The bytes of `part` as text. :raises ConversionError: they are not of that encoding"""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ConversionError(f"{name_of(part)} is {_brief(data)}, which is not {encoding}") from error


def _leaf_bits(leaf: Leaf) -> str:
    if isinstance(leaf, int):
        return str(leaf)
    data = leaf_bytes(leaf)
    return f"{int.from_bytes(data, 'big'):0{8 * len(data)}b}" if data else ""


def leaf_bytes(leaf: str | bytes) -> bytes:
    """The bytes of a leaf; for comparing and showing, also of lone surrogates, which have no encoding."""
    if isinstance(leaf, bytes):
        return leaf
    return leaf.encode("utf-8", "surrogateescape" if _is_encodable(leaf) else "surrogatepass")


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _brief(value: str | bytes) -> str:
    shown = repr(value[:60])
    return shown if len(value) <= 60 else f"{shown}…"
