"""Text renderings of a part: as a nested tree, as annotated rules, as one value, as Python.

Nothing here recurses, and nothing here fails on an unusual tree: a part whose bits fill no byte is shown as bits.
Trees may be very deep, so indentation stops growing at some depth and comments are cut at some length; otherwise the
output of a deep tree would grow with the square of its depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TypeAlias

from palaver.lean_dataclasses import dataclass
from palaver.trees.node import Leaf, Node, Part
from palaver.trees.trees_limits import MAX_COMMENT_CHARACTERS, MAX_INDENT_DEPTH
from palaver.trees.values import ValueType, kind_of, leaf_bytes, leaves_of, name_of

# Work still to be done: a part at some depth, or finished text.
_Job: TypeAlias = tuple[Part, int] | str
_JobsOf: TypeAlias = Callable[[Part, int], list[_Job]]


def show_tree(part: Part) -> str:
    """``Tree(<start>, Tree('abc'))``: one child stays on its parent's line, more get a line each."""
    return _write(part, _tree_jobs)


def show_repr(part: Part) -> str:
    """``DerivationTree(<start>, [DerivationTree('abc')])``."""
    return _write(part, _repr_jobs)


def show_value(part: Part) -> str:
    """Text as it is, bits as ``0b0101``, bytes as a Python literal."""
    return _value(leaves_of(part), kind_of(part))


def show_grammar(part: Part) -> str:
    """One rule per node, children indented below their parent, with positions and values as comments."""
    if not isinstance(part, Node):
        return repr(part)
    return "\n".join(map(_rule_line, _node_lines(part)))


def _write(part: Part, jobs_of: _JobsOf) -> str:
    written: list[str] = []
    stack: list[_Job] = [(part, 0)]
    while stack:
        job = stack.pop()
        if isinstance(job, str):
            written.append(job)
        else:
            stack.extend(reversed(jobs_of(*job)))
    return "".join(written)


def _tree_jobs(part: Part, depth: int) -> list[_Job]:
    if not isinstance(part, Node):
        return [f"Tree({part!r})"]
    if not part.sources and len(part.children) < 2:
        return [f"Tree({part.symbol}", *_separated(part.children, depth), ")"]
    items = list(_lines(part.children, depth + 1, end="," if part.sources else ""))
    if part.sources:
        items += [_line(depth + 1), "sources=[", *_lines(part.sources, depth + 2), _line(depth + 1), "]"]
    return [f"Tree({part.symbol},", *items, _line(depth), ")"]


def _repr_jobs(part: Part, depth: int) -> list[_Job]:
    if not isinstance(part, Node):
        return [f"DerivationTree({part!r})"]
    if not part.sources and len(part.children) < 2:
        return [f"DerivationTree({part.symbol}, [", *((child, depth) for child in part.children), "])"]
    items = [_line(depth + 1), "[", *_lines(part.children, depth + 2), _line(depth + 1), "]"]
    if part.sources:
        items += [",", _line(depth + 1), "sources=[", *_lines(part.sources, depth + 2), _line(depth + 1), "]"]
    return [f"DerivationTree({part.symbol},", *items, _line(depth), ")"]


def _separated(parts: Sequence[Part], depth: int) -> Iterator[_Job]:
    for part in parts:
        yield ", "
        yield part, depth


def _lines(parts: Sequence[Part], depth: int, end: str = ",") -> Iterator[_Job]:
    """Each part on a line of its own, with commas between them and `end` behind the last."""
    last = len(parts) - 1
    for position, part in enumerate(parts):
        yield _line(depth)
        yield part, depth
        yield end if position == last else ","


def _line(depth: int) -> str:
    return "\n" + _indent(depth)


def _indent(depth: int) -> str:
    return "  " * min(depth, MAX_INDENT_DEPTH)


def _value(found: Sequence[Leaf], kind: ValueType) -> str:
    if kind is ValueType.BITS:
        return "0b" + "".join(map(str, found))
    if kind is ValueType.BYTES:
        return " ".join(_literals(found)) or "b''"
    return "".join(map(str, found))


def _literals(found: Sequence[Leaf]) -> Iterator[str]:
    """One bytes literal, as a rule; several pieces where a run of bits fills no byte."""
    bits = ""
    pieces: list[bytes] = []
    for leaf in [*found, None]:
        if isinstance(leaf, int):
            bits += str(leaf)
            continue
        if leaf == "" or leaf == b"":
            continue
        if len(bits) % 8 == 0:
            pieces.append(int(bits or "0", 2).to_bytes(len(bits) // 8, "big"))
        else:
            if data := b"".join(pieces):
                yield repr(data)
            yield f"0b{bits}"
            pieces = []
        bits = ""
        if leaf is not None:
            pieces.append(leaf_bytes(leaf))
    if data := b"".join(pieces):
        yield repr(data)


@dataclass(slots=True)
class _Output:
    """Leaves in order of output, with counts. The sources of a node have an output of their own."""

    has_positions: bool
    leaves: list[Leaf] = field(default_factory=list)
    bits: int = 0
    counts: dict[type, int] = field(default_factory=lambda: {str: 0, bytes: 0, int: 0})

    def add(self, leaf: Leaf) -> None:
        self.leaves.append(leaf)
        if isinstance(leaf, int):
            self.bits += 1
            self.counts[int] += 1
        else:
            self.bits += 8 * len(leaf_bytes(leaf))
            self.counts[bytes if isinstance(leaf, bytes) else str] += 1

    def mark(self) -> _Extent:
        return _Extent(len(self.leaves), self.bits, self.counts[str], self.counts[bytes], self.counts[int])


@dataclass(frozen=True, slots=True)
class _Extent:
    """The counts of an output at some moment. The difference of two is the size of the part between."""

    leaves: int
    bits: int
    text_leaves: int
    bytes_leaves: int
    bit_leaves: int


@dataclass(slots=True)
class _NodeLine:
    node: Node
    depth: int
    output: _Output
    start: _Extent
    end: _Extent


def _node_lines(root: Node) -> list[_NodeLine]:
    """A line for every node, parents first, with the start and end of its value."""
    lines: list[_NodeLine] = []
    # A part to visit, or a line whose node has been written.
    stack: list[tuple[Part, int, _Output] | _NodeLine] = [(root, 0, _Output(has_positions=True))]
    while stack:
        job = stack.pop()
        if isinstance(job, _NodeLine):
            job.end = job.output.mark()
            continue
        part, depth, output = job
        if not isinstance(part, Node):
            output.add(part)
            continue
        mark = output.mark()
        line = _NodeLine(part, depth, output, mark, mark)
        lines.append(line)
        stack.extend((source, depth + 1, _Output(has_positions=False)) for source in reversed(part.sources))
        stack.append(line)
        stack.extend((child, depth + 1, output) for child in reversed(part.children))
    return lines


def _rule_line(line: _NodeLine) -> str:
    node = line.node
    right = " ".join(map(name_of, node.children)) or "''"
    if node.sources:
        right += f" := f({', '.join(source.symbol for source in node.sources)})"
    remarks = "; ".join(filter(None, (_position(line), _comment(line))))
    return f"{_indent(line.depth)}{node.symbol} ::= {right}{'  # ' if remarks else ''}{remarks}"


def _position(line: _NodeLine) -> str:
    """The position of the value; only for nodes with a leaf of their own, the others start where a child does."""
    if not line.output.has_positions or all(isinstance(child, Node) for child in line.node.children):
        return ""
    shown = f"Position {_byte(line.start.bits // 8)}"
    if _kind_of_line(line) is not ValueType.BITS:
        return shown
    first, last = line.start.bits, line.end.bits - 1
    if first == last:
        return f"{shown}, bit {7 - first % 8}"
    if first // 8 == last // 8:
        return f"{shown}, bits {7 - first % 8}-{7 - last % 8}"
    return f"{shown}, bit {7 - first % 8} to {_byte(last // 8)}, bit {7 - last % 8}"


def _byte(position: int) -> str:
    return f"0x{position:04x} ({position})"


def _comment(line: _NodeLine) -> str:
    """The value, where the rule alone does not show it."""
    if len(line.node.children) < 2:
        return ""
    first, last = line.start.leaves, line.end.leaves
    # Every leaf but the empty ones adds a character, so this many are enough to fill the comment.
    found = line.output.leaves[first : min(last, first + MAX_COMMENT_CHARACTERS)]
    shown = _value(found, _kind_of_line(line))
    if not shown.isprintable():
        shown = repr(shown)
    is_cut = len(shown) > MAX_COMMENT_CHARACTERS or last - first > MAX_COMMENT_CHARACTERS
    return f"{shown[:MAX_COMMENT_CHARACTERS]}…" if is_cut else shown


def _kind_of_line(line: _NodeLine) -> ValueType:
    kinds = []
    if line.end.text_leaves > line.start.text_leaves:
        kinds.append(ValueType.TEXT)
    if line.end.bytes_leaves > line.start.bytes_leaves:
        kinds.append(ValueType.BYTES)
    if line.end.bit_leaves > line.start.bit_leaves:
        kinds.append(ValueType.BITS)
    if not kinds:
        return ValueType.EMPTY
    return kinds[0] if len(kinds) == 1 else ValueType.BYTES
