"""Random specs so small that every tree of them can be written down, by code that palaver has no part in.

How it works
------------
A grammar here is made of `Words` (a few written-out words, with the text that stands for them in a spec), `Named` (a
symbol), `Row`, `Either` and `Several`. `derivations` writes down all trees; a tree is a `Thing` with things in it, and
can do in an expression what the language says a tree can do. A condition is text in the language and, with every
`<symbol>` replaced by a name, plain Python, which is evaluated for every combination of nodes. So nothing but Python
itself decides what is a solution.

The fields are those that solvers get wrong: signs, padding, prefixes, capital letters, blanks, empty words, digits of
other scripts, bits that fill no byte.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from random import Random
from types import CodeType
from typing import Any, TypeAlias

# How far words without end are written down.
FAR = 3

# --- trees ------------------------------------------------------------------------------------------------------------


class Thing:
    """A node of a tree: what it is called, what is in it, and what an expression can do with it."""

    def __init__(self, symbol: str, leaves: tuple[str | bytes, ...], inside: tuple[Thing, ...], kind: str) -> None:
        self.symbol = symbol
        self.leaves = leaves  # of bits: text of 0 and 1
        self.inside = inside  # the nodes directly below
        self.kind = kind

    def __str__(self) -> str:
        joined = self.serialised
        return joined if isinstance(joined, str) else joined.decode("latin-1")

    def __bytes__(self) -> bytes:
        joined = self.serialised
        return joined if isinstance(joined, bytes) else joined.encode()

    def __int__(self) -> int:
        if not self.leaves:
            return 0
        return int("".join(self.leaves), 2) if self.kind == "bits" else int(str(self))  # type: ignore[arg-type]

    @cached_property
    def serialised(self) -> str | bytes:
        if self.kind == "text":
            return "".join(self.leaves)  # type: ignore[arg-type]
        if self.kind == "bits":
            return packed("".join(self.leaves))  # type: ignore[arg-type]
        return b"".join(self.leaves)  # type: ignore[arg-type]

    def like(self, other: object) -> Any:
        """The value in the type of another one."""
        for kind in (str, bytes, int):
            if isinstance(other, kind):
                return kind(self)
        raise TypeError(f"not comparable with {other!r}")

    def own(self) -> Any:
        return int(self) if self.kind == "bits" else self.serialised

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Thing):
            # A number is never a text, whatever is in it.
            if not self.leaves or not other.leaves or (self.kind == "bits") != (other.kind == "bits"):
                return not self.leaves and not other.leaves
            return self.own() == other.own() if self.kind == other.kind else bytes(self) == bytes(other)
        if isinstance(other, str) and self.kind != "text":
            return str(self) == other or bytes(self) == other.encode()
        return bool(self.like(other) == other)

    def __hash__(self) -> int:
        return hash(int(self) if self.kind == "bits" else bytes(self).decode("utf-8", "surrogateescape"))

    def __lt__(self, other: object) -> bool:
        return bool(self.like(other) < other)

    def __le__(self, other: object) -> bool:
        return bool(self.like(other) <= other)

    def __gt__(self, other: object) -> bool:
        return bool(self.like(other) > other)

    def __ge__(self, other: object) -> bool:
        return bool(self.like(other) >= other)

    def __add__(self, other: Any) -> Any:
        return self.like(other) + other

    def __radd__(self, other: Any) -> Any:
        return other + self.like(other)

    def __sub__(self, other: Any) -> Any:
        return self.like(other) - other

    def __rsub__(self, other: Any) -> Any:
        return other - self.like(other)

    def __mod__(self, other: Any) -> Any:
        return self.like(other) % other

    def __mul__(self, other: Any) -> Any:
        return self.own() * other

    __rmul__ = __mul__

    def __neg__(self) -> int:
        return -int(self)

    def __abs__(self) -> int:
        return abs(int(self))

    def __pow__(self, other: int) -> int:
        return int(int(self) ** other)

    def __lshift__(self, other: int) -> int:
        return int(self) << other

    def __floordiv__(self, other: int) -> int:
        return int(self) // other

    def __contains__(self, other: Any) -> bool:
        return other in self.like(other)

    def startswith(self, other: Any) -> bool:
        return bool(self.like(other).startswith(other))

    def endswith(self, other: Any) -> bool:
        return bool(self.like(other).endswith(other))

    @cached_property
    def by_symbol(self) -> dict[str, list[Thing]]:
        """All nodes in this tree, itself too, by name and in the order of the text."""
        found: dict[str, list[Thing]] = {}
        stack = [self]
        while stack:
            thing = stack.pop()
            found.setdefault(thing.symbol, []).append(thing)
            stack.extend(reversed(thing.inside))
        return found


def packed(bits: str) -> bytes:
    """Bits as bytes.

    :raises ValueError: they fill no whole bytes
    """
    if len(bits) % 8:
        raise ValueError("bits that fill no bytes")
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


# --- grammars ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """Some words, and how a spec says them."""

    text: str
    words: tuple[str | bytes, ...]
    kind: str = "text"
    is_complete: bool = True  # whether these are all words that the text stands for


@dataclass(frozen=True)
class Named:
    symbol: str

    @property
    def text(self) -> str:
        return self.symbol


@dataclass(frozen=True)
class Row:
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return " ".join(part.text for part in self.parts)


@dataclass(frozen=True)
class Either:
    options: tuple[Part, ...]

    @property
    def text(self) -> str:
        return f"({' | '.join(option.text for option in self.options)})"


@dataclass(frozen=True)
class Several:
    part: Part
    least: int
    most: int

    @property
    def text(self) -> str:
        if (self.least, self.most) == (0, 1):
            return f"({self.part.text})?"
        return f"({self.part.text}){{{self.least},{self.most}}}"


Part: TypeAlias = Words | Named | Row | Either | Several
Grammar: TypeAlias = dict[str, Part]
# What a part can become: leaves and nodes, in the order of the text.
Piece: TypeAlias = tuple[tuple[str | bytes, str], ...]


def derivations(grammar: Grammar, most: int) -> list[Thing] | None:
    """All trees; None if there are more than `most`."""
    return list(_things("<start>", grammar)) if _amount(Named("<start>"), grammar) <= most else None


def _amount(part: Part, grammar: Grammar) -> int:
    """The number of derivations of a part."""
    match part:
        case Words(_, words):
            return len(words)
        case Named(symbol):
            return _amount(grammar[symbol], grammar)
        case Row(parts):
            return prod(_amount(each, grammar) for each in parts)
        case Either(options):
            return sum(_amount(each, grammar) for each in options)
        case Several(body, least, most):
            return sum(_amount(body, grammar) ** count for count in range(least, most + 1))


def _things(symbol: str, grammar: Grammar) -> Iterator[Thing]:
    for pieces in _pieces(grammar[symbol], grammar):
        leaves: list[str | bytes] = []
        kinds: list[str] = []
        for piece in pieces:
            if isinstance(piece, Thing):
                leaves += piece.leaves
                kinds += [piece.kind] if piece.leaves else []
            else:
                leaves.append(piece[0])
                kinds.append(piece[1])
        kind = next(iter(kinds), "text")
        if any(other != kind for other in kinds):  # bits beside bytes
            kind, leaves = "bytes", [_whole_bytes(pieces)]
        yield Thing(symbol, tuple(leaves), tuple(piece for piece in pieces if isinstance(piece, Thing)), kind)


def _whole_bytes(pieces: Sequence[Any]) -> bytes:
    bits = ""
    for piece in pieces:
        leaves = piece.leaves if isinstance(piece, Thing) else (piece[0],)
        for leaf in leaves:
            bits += leaf if isinstance(leaf, str) else "".join(f"{byte:08b}" for byte in leaf)
    return packed(bits)


def _pieces(part: Part, grammar: Grammar) -> Iterator[tuple[Any, ...]]:
    match part:
        case Words(_, words, kind):
            yield from (((word, kind),) for word in words)
        case Named(symbol):
            yield from ((thing,) for thing in _things(symbol, grammar))
        case Row(parts):
            for chosen in product(*(list(_pieces(each, grammar)) for each in parts)):
                yield tuple(piece for pieces in chosen for piece in pieces)
        case Either(options):
            for option in options:
                yield from _pieces(option, grammar)
        case Several(body, least, most):
            for count in range(least, most + 1):
                yield from _pieces(Row((body,) * count), grammar)


# --- conditions -------------------------------------------------------------------------------------------------------

_MENTION = re.compile(r"(\*?)(<\w+>)((?:\.<\w+>)*)")
YES, NO, RAISED = "yes", "no", "raised"


@dataclass(frozen=True)
class Leaf:
    """A condition in Python, with symbols in it."""

    text: str

    @cached_property
    def _compiled(self) -> tuple[CodeType, list[tuple[bool, str, list[str]]]]:
        mentions: list[tuple[bool, str, list[str]]] = []

        def named(found: re.Match[str]) -> str:
            star, base, steps = found.groups()
            mentions.append((bool(star), base, re.findall(r"<\w+>", steps)))
            return f"_{len(mentions) - 1}"

        python = _MENTION.sub(named, self.text)
        return compile(python, self.text, "eval"), mentions

    def holds(self, tree: Thing, bound: dict[str, Thing]) -> str:
        code, mentions = self._compiled
        options: list[list[Any]] = []
        for star, base, steps in mentions:
            found = _selected(base, steps, tree, bound)
            options.append([found] if star else found)
        for values in product(*options):
            names = {f"_{number}": value for number, value in enumerate(values)}
            try:
                if not eval(code, {"struct": struct}, {**names, **bound}):
                    return NO
            except Exception:
                return RAISED
        return YES


def _selected(base: str, steps: list[str], tree: Thing, bound: dict[str, Thing]) -> list[Thing]:
    found = [bound[base]] if base in bound else tree.by_symbol.get(base, [])
    for symbol in steps:
        found = [inner for thing in found for inner in thing.inside if inner.symbol == symbol]
    return found


@dataclass(frozen=True)
class Joined:
    """Conditions with `and` or `or` between them."""

    word: str
    parts: tuple[Formula, ...]

    @property
    def text(self) -> str:
        return f" {self.word} ".join(f"({part.text})" for part in self.parts)

    def holds(self, tree: Thing, bound: dict[str, Thing]) -> str:
        outcome = NO
        for part in self.parts:
            outcome = part.holds(tree, bound)
            if (outcome == YES) == (self.word == "or"):
                break
        return outcome


@dataclass(frozen=True)
class Implies:
    """`premise -> conclusion`; the premise is one Python expression, and `not` is about each combination."""

    premise: Leaf
    conclusion: Formula

    @property
    def text(self) -> str:
        return f"{self.premise.text} -> {self.conclusion.text}"

    def holds(self, tree: Thing, bound: dict[str, Thing]) -> str:
        if Leaf(f"not ({self.premise.text})").holds(tree, bound) == YES:
            return YES
        return self.conclusion.holds(tree, bound)


@dataclass(frozen=True)
class Quantified:
    """`forall` or `exists` a symbol; or, if the variable is a Python name, `all` or `any`."""

    every: bool
    variable: str
    path: str
    body: Formula

    @property
    def text(self) -> str:
        if self.variable.startswith("<"):
            return f"{'forall' if self.every else 'exists'} {self.variable} in {self.path}: {self.body.text}"
        return f"{'all' if self.every else 'any'}({self.body.text} for {self.variable} in *{self.path})"

    def holds(self, tree: Thing, bound: dict[str, Thing]) -> str:
        base, *steps = re.findall(r"<\w+>", self.path)
        outcome = YES if self.every else NO
        for thing in _selected(base, steps, tree, bound):
            outcome = self.body.holds(tree, {**bound, self.variable: thing})
            if (outcome == YES) != self.every:
                break
        return outcome


Formula: TypeAlias = Leaf | Joined | Implies | Quantified


def needs_own_line(formula: Formula) -> bool:
    """True if a formula can only be a whole constraint: Python cannot read `forall` and `->` inside of something."""
    match formula:
        case Leaf():
            return False
        case Joined(_, parts):
            return any(map(needs_own_line, parts))
        case Quantified(_, variable, _, body):
            return variable.startswith("<") or needs_own_line(body)
        case Implies():
            return True


# --- worlds -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """A small spec, and all that there is in it."""

    grammar: Grammar
    conditions: tuple[Formula, ...]
    trees: list[Thing] = field(repr=False)

    @cached_property
    def text(self) -> str:
        rules = [f"{symbol} ::= {part.text}\n" for symbol, part in self.grammar.items()]
        return "import struct\n" + "".join(rules) + "".join(f"where {each.text}\n" for each in self.conditions)

    @cached_property
    def is_complete(self) -> bool:
        """True if `trees` are all."""
        stack: list[Part] = list(self.grammar.values())
        while stack:
            match stack.pop():
                case Words(is_complete=False):
                    return False
                case Row(parts) | Either(parts):
                    stack += parts
                case Several(part):
                    stack.append(part)
        return True

    def solutions(self, conditions: Sequence[Formula] | None = None) -> list[Thing]:
        """The trees that satisfy all conditions, or all of these."""
        wanted = self.conditions if conditions is None else conditions
        return [tree for tree in self.trees if all(each.holds(tree, {}) == YES for each in wanted)]


def random_world(random: Random, most: int) -> World:
    """A spec with at most so many trees, and one to four conditions."""
    while True:
        grammar = random.choice(_LAYOUTS)(random)
        trees = derivations(grammar, most)
        if trees:
            author = _Author(random, grammar, trees)
            count = random.choice([1, 1, 2, 2, 2, 3, 3, 4])
            return World(grammar, tuple(author.condition() for _ in range(count)), trees)


# --- fields -----------------------------------------------------------------------------------------------------------

# A stretch of a pattern: some characters, and how often one of them comes; None: without end.
Stretch: TypeAlias = tuple[str, int, int | None]


def pattern(*options: Sequence[Stretch], binary: bool = False) -> Words:
    """A regular expression with alternatives that are rows of stretches, and its words."""
    text = "|".join("".join(map(_in_pattern, stretches)) for stretches in options)
    words: dict[str, None] = {}
    for stretches in options:
        choices = [[*_written_out(*stretch)] for stretch in stretches]
        words.update(dict.fromkeys("".join(chosen) for chosen in product(*choices)))
    is_complete = all(most is not None for stretches in options for _, _, most in stretches)
    if binary:
        return Words(f'rb"{text}"', tuple(word.encode("latin-1") for word in words), "bytes", is_complete)
    return Words(f'r"{text}"', tuple(words), "text", is_complete)


def _in_pattern(stretch: Stretch) -> str:
    chars, least, most = stretch
    inside = "".join(f"\\x{ord(char):02x}" if char < " " or "\x7f" <= char <= "\xff" else char for char in chars)
    inside = inside.replace("-", r"\-") if len(chars) > 1 else inside
    once = f"[{inside}]"
    if (least, most) == (1, 1):
        return once
    return once + (f"{{{least},{'' if most is None else most}}}" if least != most else f"{{{least}}}")


def _written_out(chars: str, least: int, most: int | None) -> Iterator[str]:
    for count in range(least, (least + FAR if most is None else most) + 1):
        yield from map("".join, product(chars, repeat=count))


def literals(*words: str) -> Words:
    return Words(f"({' | '.join(map(repr, words))})", words)


def byte_literals(*words: bytes) -> Words:
    return Words(f"({' | '.join(map(repr, words))})", words, "bytes")


def bits(*shape: str) -> Words:
    """Bits: `0`, `1`, or `x` for either."""
    texts = " ".join({"x": "(0 | 1)"}.get(each, each) for each in "".join(shape))
    choices = [{"x": "01"}.get(each, each) for each in "".join(shape)]
    return Words(texts, tuple(map("".join, product(*choices))), "bits")


def some(random: Random, chars: str, least: int = 1, most: int = 4) -> str:
    """Some of the characters, in their order."""
    count = min(len(chars), random.randint(least, most))
    return "".join(chars[at] for at in sorted(random.sample(range(len(chars)), count)))


def text_field(random: Random) -> Part:
    """A field of text that is easily misread."""
    digits = some(random, "0123456789", 2, 5)
    shapes: list[Callable[[], Part]] = [
        lambda: pattern([(digits, 1, random.choice([1, 2]))]),
        lambda: pattern([(digits, 2, 2)]),
        lambda: pattern([("0", 0, 2), (some(random, "123456789"), 1, 1)]),
        lambda: pattern([("-", 0, 1), (digits, 1, 1)]),
        lambda: pattern([("+-", 0, 1), (some(random, "0123", 2, 3), 1, 2)]),
        lambda: pattern([("+", 0, 1), ("0", 0, 1), (digits, 1, 1)]),
        lambda: pattern([(some(random, "0129abcdef", 2, 5), 1, random.choice([1, 2]))]),
        lambda: pattern([(some(random, "019aAbBfF", 2, 6), 1, 2)]),
        lambda: pattern([("0", 1, 1), ("xX", 1, 1), (some(random, "0179abcdef", 2, 4), 1, 1)]),
        lambda: pattern([(some(random, "09af"), 1, 1)], [("0", 1, 1), ("x", 1, 1), (some(random, "09af"), 1, 1)]),
        lambda: pattern([("0", 0, 1), (some(random, "01234567", 2, 5), 1, 2)]),
        lambda: pattern([("0", 1, 1), ("ob", 0, 1), (some(random, "0167", 2, 3), 1, 2)]),
        lambda: pattern([("12", 1, 1), ("_", 0, 1), (some(random, "012", 2, 3), 1, 2)]),
        lambda: pattern([(" \t", 0, 1), (digits, 1, 1), (" ", 0, 1)]),
        lambda: pattern([(digits, 0, 2)]),
        lambda: Several(pattern([(some(random, "0123"), 1, 1)]), 0, 2),
        lambda: literals("", *some(random, "0123456789", 1, 3)),
        lambda: pattern([("ab", 0, 3)]),
        lambda: pattern([(some(random, "abcxyz", 2, 3), 1, random.choice([2, 3]))]),
        lambda: pattern([("a1", 1, 3)]),
        lambda: pattern([(some(random, "aé€z", 2, 3), 1, 2)]),
        lambda: literals(*random.sample(["é", "ab", "€", "a€", "", "abc"], 3)),
        lambda: pattern([(some(random, "13٣２", 2, 4), 1, 2)]),
        lambda: literals(*random.sample(["GET", "PUT", "12", "012", "0", "-1", "1_0", "ab", "a"], 3)),
        lambda: pattern([(digits, 1, None)]),
        lambda: pattern([("ab", 0, None)]),
        lambda: pattern([("a", 1, 1), ("01", 0, None)], [(digits, 1, 1)]),
        lambda: Row((pattern([("12", 1, 1)]), literals("", "0", "5"))),
        lambda: pattern([("01", 1, random.choice([3, 4]))]),
        lambda: pattern([(digits, 1, 1)], [(digits, 3, 3)]),
    ]
    return random.choice(shapes)()


def byte_field(random: Random) -> Part:
    """A field of bytes that is easily misread."""
    wild = some(random, "\x00\x01\x02\x0a1a\x7f\x80\xc3\xa9\xfe\xff", 2, 6)
    digits = some(random, "0123456789", 2, 4)
    shapes: list[Callable[[], Part]] = [
        lambda: pattern([(wild, 1, 1)], binary=True),
        lambda: pattern([(wild, 2, 2)], binary=True),
        lambda: pattern([(wild[:3], 1, 2)], binary=True),
        lambda: pattern([(wild[:4], 0, 2)], binary=True),
        lambda: pattern([("\x00", 1, 1), (wild, 1, 1)], binary=True),
        lambda: pattern([("\x00\xff", 3, 3), (wild[:3], 1, 1)], binary=True),
        lambda: pattern([(digits, 1, 2)], binary=True),
        lambda: pattern([("-", 0, 1), (digits, 1, 1)], binary=True),
        lambda: pattern([(some(random, "019aAfF", 2, 4), 1, 2)], binary=True),
        lambda: pattern([(wild[:2], 1, None)], binary=True),
        lambda: byte_literals(*random.sample([b"\x00\x05", b"ok", b"\xff\xff", b"7", b"", b"\xc3\xa9", b"\xe9"], 3)),
        lambda: Several(pattern([(wild[:3], 1, 1)], binary=True), 0, 2),
    ]
    return random.choice(shapes)()


def bit_fields(random: Random) -> list[Words]:
    """Two or three fields that fill whole bytes together."""
    widths = random.choice([[3, 5], [4, 4], [1, 7], [8], [5, 3, 8], [12, 4], [7, 1, 8], [6, 10]])
    fields, free = [], 9
    for width in widths:
        shape = ["x" if random.random() < 0.8 and free > 0 else random.choice("01") for _ in range(width)]
        while shape.count("x") > min(6, free):
            shape[shape.index("x")] = random.choice("01")
        free -= shape.count("x")
        fields.append(bits(*shape))
    return fields


# --- layouts ----------------------------------------------------------------------------------------------------------


def _text_layout(random: Random) -> Grammar:
    a, b, c, r, bar = (*map(Named, ("<a>", "<b>", "<c>", "<r>")), literals("|"))
    grammar: Grammar = {"<a>": text_field(random), "<b>": text_field(random)}
    shapes: list[tuple[Part, Part | None]] = [
        (a, None),
        (Row((a, bar, b)), None),
        (Row((a, bar, b)), None),
        (Row((a, b)), None),
        (Row((a, bar, Several(b, 0, 1))), None),
        (Row((Several(Row((a, literals(";"))), 0, 2), b)), None),
        (Row((a, literals(";"), a)), None),
        (Row((Several(a, 1, 2), bar, b)), None),
        (Either((Row((a, bar)), Row((literals("!"), b)))), None),
        (Row((r, bar, a)), Row((literals("("), b, literals(")")))),
        (Row((Several(r, 1, 2), bar)), Row((a, literals(":"), b, literals(";")))),
        (Row((Several(r, 0, 2), literals("!"))), Row((a, literals(":"), b, literals(";")))),
        (Row((a, bar, r)), Either((Row((literals("("), a, literals(")"))), b))),
        (Row((r, Several(Row((bar, a)), 0, 1))), Either((b, literals("none")))),
        (Row((r, bar, c)), Row((a, b))),
    ]
    start, inner = random.choice(shapes)
    grammar = {"<start>": start, **grammar}
    if inner is not None:
        grammar["<r>"] = inner
    if "<c>" in start.text:
        grammar["<c>"] = text_field(random)
    return {symbol: part for symbol, part in grammar.items() if _is_used(symbol, grammar)}


def _byte_layout(random: Random) -> Grammar:
    a, b, r, bar = (*map(Named, ("<a>", "<b>", "<r>")), byte_literals(b"|"))
    grammar: Grammar = {"<a>": byte_field(random), "<b>": byte_field(random)}
    shapes: list[tuple[Part, Part | None]] = [
        (a, None),
        (Row((a, bar, b)), None),
        (Row((a, b)), None),
        (Row((a, bar, Several(b, 0, 1))), None),
        (Row((Several(a, 1, 2), bar)), None),
        (Row((Several(r, 1, 2), bar)), Row((a, byte_literals(b":"), b))),
        (Row((a, bar, r)), Either((Row((byte_literals(b"("), a)), b))),
    ]
    start, inner = random.choice(shapes)
    grammar = {"<start>": start, **grammar}
    if inner is not None:
        grammar["<r>"] = inner
    return {symbol: part for symbol, part in grammar.items() if _is_used(symbol, grammar)}


def _bit_layout(random: Random) -> Grammar:
    fields = bit_fields(random)
    names = ["<a>", "<b>", "<c>"][: len(fields)]
    parts: list[Part] = list(map(Named, names))
    grammar: Grammar = dict(zip(names, fields, strict=True))
    if random.random() < 0.4:
        grammar["<d>"] = byte_field(random)
        parts.append(Several(Named("<d>"), 0, 1) if random.random() < 0.3 else Named("<d>"))
    return {"<start>": Row(tuple(parts)), **grammar}


_LAYOUTS = [_text_layout, _text_layout, _text_layout, _byte_layout, _bit_layout]


def _is_used(symbol: str, grammar: Grammar) -> bool:
    return symbol == "<start>" or any(symbol in part.text for part in grammar.values())


# --- conditions, at random --------------------------------------------------------------------------------------------

_NUMBERS = (
    ["int(@)"] * 6 + ["int(str(@))", "int(str(@), 16)", "int(str(@), 16)", "int(str(@), 8)", "int(str(@), 2)"]
    + ["int(str(@), 10)", "len(str(@))", "len(str(@))", "len(bytes(@))", "ord(str(@)[0])", "bytes(@)[0]"]
    + ["bytes(@)[-1]", "bytes(@)[1]", "ord(str(@))", "@", "ord(str(@)[-1])"]
)  # fmt: skip
_NUMBERS_IN_BYTES = (
    ["int.from_bytes(bytes(@), 'big')"] * 3 + ["int.from_bytes(bytes(@), 'little')"] * 2
    + [f"struct.unpack('{layout}', bytes(@))[0]" for layout in (">H", "<H", ">h", "<h", "B", "b", "!i", "<I", ">H")]
)  # fmt: skip
_ARITHMETIC = (
    ["{}"] * 8 + ["{} + {k}", "{k} + {}", "{} - {k}", "{k} - {}", "{} * {k}", "{k} * {}", "-{}", "{} % {m}", "{} % {m}"]
    + ["{} ** 2", "{} << 1", "{} // 2", "abs({})", "({} + {k}) % {m}", "{} * {k} - {k}", "{} * {k} % {m}"]
    + ["{} ** 2 + {k}", "-{} * {k}", "{} % 100", "{} % 97 + 1", "3 * {} ** 3"]
)  # fmt: skip
_TEXTS = ["str(@)"] * 5 + ["@"] * 3 + ["bytes(@)", "bytes(@)", "str(@)[1:3]", "str(@)[:2]", "str(@)[1:]", "str(@)[0]"]
_TEXTS += ["str(@)[-1]", "str(@)[1]", "bytes(@)[0:2]", "str(@)[0:1]", "str(@).lower()", "str(@)[-2:]"]
_COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]


class _Author:
    """Writes conditions about the trees of a grammar, most of which hold for some of them."""

    def __init__(self, random: Random, grammar: Grammar, trees: Sequence[Thing]) -> None:
        self._random = random
        self._trees = trees
        self._fields = [symbol for symbol in grammar if symbol not in ("<start>", "<r>")]
        self._has_record = "<r>" in grammar
        self._record = [symbol for symbol in self._fields if self._has_record and symbol in grammar["<r>"].text]

    def condition(self) -> Formula:
        random = self._random
        draw = random.random()
        if draw < 0.55:
            return self._leaf(self._field())
        if draw < 0.72:
            return self._pair()
        if draw < 0.87:
            return self._quantified()
        if draw < 0.97:
            return self._joined()
        return random.choice([Leaf("1 == 2"), Leaf("True"), self._counted(), Quantified(True, "<x>", "<a>", Leaf("0"))])

    def _field(self) -> str:
        return "<start>" if self._random.random() < 0.04 else self._random.choice(self._fields)

    # --- one field ------------------------------------------------------------------------------------------------

    def _leaf(self, symbol: str, name: str | None = None) -> Leaf:
        """A condition on one symbol, which is called `name`."""
        random = self._random
        text = self._about_number(symbol) if random.random() < 0.65 else self._about_text(symbol)
        if random.random() < 0.07:
            text = f"not ({text})" if random.random() < 0.7 else f"not {text}"
        return Leaf(text.replace("@", symbol if name is None else name))

    def _about_number(self, symbol: str) -> str:
        random = self._random
        number = self._number(symbol)
        value = self._value(number, symbol)
        if not isinstance(value, int):
            value = random.randint(0, 9)
        near = value + random.choice([0, 0, 0, 1, -1, 2, -3, 10])
        draw = random.random()
        if draw < 0.45:
            constant = random.choice([f"{near}"] * 8 + [f"{near}.5", f"{near}.0", f"({near - 1} + 1)", "True"])
            operator = random.choice(_COMPARISONS)
            return f"{number} {operator} {constant}" if random.random() < 0.8 else f"{constant} {operator} {number}"
        if draw < 0.6:
            low, high = near - random.randint(0, 3), near + random.randint(0, 3)
            return f"{low} <= {number} {random.choice(['<', '<='])} {high}"
        several = sorted({near, near + 1, random.randint(0, 20), value * 2})
        shown = random.choice([str(several), str(tuple(several)), str(set(several)), f"range({near}, {near + 4})"])
        return f"{number} {'in' if random.random() < 0.7 else 'not in'} {shown}"

    def _number(self, symbol: str) -> str:
        random = self._random
        thing = next((tree.by_symbol[symbol][0] for tree in self._trees if symbol in tree.by_symbol), None)
        is_text = thing is None or thing.kind == "text"
        options = _NUMBERS if is_text or random.random() < 0.5 else _NUMBERS_IN_BYTES
        shape = random.choice(_ARITHMETIC)
        modulus = random.choice([2, 3, 4, 5, 7, 10, 16, 65])
        return shape.replace("{}", random.choice(options)).format(k=random.randint(1, 4), m=modulus)

    def _about_text(self, symbol: str) -> str:
        random = self._random
        text = random.choice(_TEXTS)
        value = self._value(text, symbol)
        if isinstance(value, Thing):
            try:
                value = value.serialised
            except ValueError:
                value = "a"
        if not isinstance(value, str | bytes):
            value = random.choice(["a", "1", b"\x00", ""])
        draw = random.random()
        if draw < 0.4:
            return f"{text} {random.choice(['==', '==', '!=', '<', '>='])} {self._mutated(value)!r}"
        if draw < 0.55:
            several = [self._mutated(value), value, self._mutated(value[:1])]
            shown = random.choice(["[{}]", "({})", "{{{}}}"]).format(", ".join(map(repr, several)))
            return f"{text} {'in' if random.random() < 0.7 else 'not in'} {shown}"
        part = self._mutated(value[: random.randint(0, 2)] if random.random() < 0.5 else value[-1:])
        if draw < 0.8:
            return f"{text}.{random.choice(['startswith', 'endswith'])}({part!r})"
        return f"{part!r} {'in' if random.random() < 0.7 else 'not in'} {text}"

    def _mutated(self, value: Any) -> Any:
        """The value, or almost."""
        random = self._random
        draw = random.random()
        if draw < 0.7:
            return value
        extra = random.choice(["a", "0", "é", "-", ""]) if isinstance(value, str) else random.choice([b"\x00", b"\xff"])
        if draw < 0.8:
            return value + extra
        if draw < 0.9:
            return extra + value
        if draw < 0.95:
            return value[1:]
        return value.encode() if isinstance(value, str) else value.decode("latin-1")

    def _value(self, expression: str, symbol: str) -> Any:
        """The value of an expression at a place."""
        for _ in range(5):
            found = self._random.choice(self._trees).by_symbol.get(symbol)
            if found:
                try:
                    return eval(expression.replace("@", "_0"), {"struct": struct, "_0": self._random.choice(found)})
                except Exception:
                    continue
        return None

    # --- several fields -------------------------------------------------------------------------------------------

    def _pair(self, one: str | None = None, other: str | None = None) -> Formula:
        random = self._random
        left, right = random.choice(self._fields), random.choice(self._fields)
        one, other = one or left, other or right
        draw = random.random()
        if draw < 0.75:
            numbers = self._number(left).replace("@", one), self._number(right).replace("@", other)
            return Leaf(f"{numbers[0]} {random.choice(['==', '==', '==', '!=', '<', '>='])} {numbers[1]}")
        if draw < 0.9:
            texts = random.choice(_TEXTS).replace("@", one), random.choice(_TEXTS).replace("@", other)
            return Leaf(f"{texts[0]} {random.choice(['==', '==', '!='])} {texts[1]}")
        return Leaf(f"str({one}).startswith(str({other}))")

    def _counted(self) -> Formula:
        random = self._random
        of = random.choice([*self._fields, "<r>" if self._has_record else self._fields[0]])
        if random.random() < 0.5:
            return Leaf(f"len(*{of}) {random.choice(_COMPARISONS)} {random.randint(0, 3)}")
        return Leaf(f"len(*{of}) == {self._number(self._fields[0]).replace('@', random.choice(self._fields))}")

    def _quantified(self) -> Formula:
        random = self._random
        every = random.random() < 0.5
        if self._record and random.random() < 0.5:
            one, other = random.choice(self._record), random.choice(self._record)
            body: Formula = (
                self._leaf(one, f"<x>.{one}") if random.random() < 0.5 else self._pair(f"<x>.{one}", f"<x>.{other}")
            )
            return Quantified(every, "<x>", "<r>", body)
        symbol = random.choice(self._fields)
        draw = random.random()
        if draw < 0.4:
            return Quantified(every, "<x>", symbol, self._leaf(symbol, "<x>"))
        if draw < 0.5:
            return Quantified(every, "<x>", symbol, self._leaf(self._field()))  # what is bound is not used
        if draw < 0.7:
            return Quantified(every, "<x>", symbol, self._pair("<x>"))
        if draw < 0.8:
            return Leaf(f"sum(1 for x in *{symbol} if {self._leaf(symbol, 'x').text}) >= 1")
        return Quantified(every, "x", symbol, self._leaf(symbol, "x"))

    def _joined(self) -> Formula:
        random = self._random
        if random.random() < 0.3:
            return Implies(self._leaf(self._field()), self._leaf(self._field()))
        makers: list[Callable[[], Formula]] = [lambda: self._leaf(self._field()), self._pair, self._quantified]
        parts = [part for _ in range(6) if not needs_own_line(part := random.choice(makers)())][:2]
        return Joined(random.choice(["or", "or", "and"]), tuple(parts)) if len(parts) == 2 else self._pair()
