"""Random grammars that are almost deterministic, and inputs that almost conform to them.

Grammars drawn evenly from all grammars are hopelessly ambiguous, and a shortcut that is only right for tidy
ones would never be taken. So these are put together from the shapes people write (choices told apart by one character,
lists with separators, optional tails, right recursion, counted loops), and every now and then one of the shapes is
spoilt a little: two options begin alike, a loop is followed by what it repeats, a pattern runs into what comes after.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random
from typing import Any

from naive import all_end

from palaver.spec.ast import (
    Bit,
    Child,
    Choice,
    Descendant,
    Expr,
    Expression,
    Literal,
    Pattern,
    Permutation,
    Ref,
    Repeat,
    Sequence,
)

NAMES = "stuvw"


@dataclass(frozen=True)
class Words:
    """The alphabet of the terminals of a grammar."""

    letters: str
    literals: tuple[str, ...]
    patterns: tuple[str, ...]
    tricky: tuple[str, ...] = ()  # patterns of which only the outline is known


ABC = Words(
    "abc",
    ("a", "b", "c", "ab", "ba", "abc", "bc", "cc", "aab", ""),
    (
        "a+",
        "b*",
        "[ab]",
        "[abc]",
        "[ab]+",
        "[^c]*",
        "a?b",
        "a|ab",
        "(?:ab)*",
        "[ab]*b",
        "a{1,2}",
        "(?:a|b){2}",
        "c|a*",
        "b+c?",
        "a*?",
        "(?:a|bc)+",
        "[bc]{0,2}",
        "ab?c?",
        "(?:aa|b)*",
    ),
    ("(?!b)[ab]+", "a+$", "^b", "(?=ab)[ab]+", "[ab]+(?<!a)", "(a|b)\\1", "\\b[ab]+\\b", "(?!ab$)[ab]*c?", "a(?=b)"),
)
WORLD = Words(
    "aé€😀",
    ("a", "é", "€", "😀", "aé", "é€", "€😀", "éa", ""),
    (".", "[^a]", "\\w", "\\W+", "é*", "[é-€]", "(?:é|€)+", "a?é", "[a€]{1,2}", "[^😀]*", "😀|a+", "(?s:.)*", "(?i:É)"),
    ("(?!é).", "é(?!€)", "\\bé", "(.)\\1", "(?=€).+"),
)


class GrammarMaker:
    """Makes grammars from `words`; which shapes it takes is up to `random`. A `tidy` one spoils them less often."""

    def __init__(self, random: Random, words: Words, *, tidy: bool = False) -> None:
        self._random = random
        self._words = words
        self._tidy = tidy
        self._symbols: list[str] = []
        self._level = 0  # the number of the symbol that is being made

    def rules(self) -> dict[str, Expr]:
        """A grammar in which every symbol can end; its start is `<s>`."""
        while True:
            self._symbols = [f"<{name}>" for name in NAMES[: self._random.randint(1, len(NAMES))]]
            rules = {}
            for level, symbol in enumerate(self._symbols):
                self._level = level
                rules[symbol] = self._body(Ref(symbol))
            if all_end(rules):
                return rules

    def _body(self, itself: Ref) -> Expr:
        shape = self._random.randrange(20)
        part = self._expr(1)
        if shape == 0:
            return Choice((part, Sequence((part, itself))))
        if shape == 1:
            return Choice((Sequence((part, itself)), Literal("")))
        if shape == 2:
            return Choice((Sequence((part, self._token(), itself)), part))
        if shape == 3:
            return Choice((Sequence((itself, part)), self._token()))
        if shape == 4:
            left, right = self._random.choices(self._words.letters, k=2)
            return Choice((Sequence((Literal(left), itself, Literal(right))), part))
        return self._expr(2)

    def _expr(self, depth: int) -> Expr:
        if depth == 0:
            return self._atom()
        shape = self._random.choice(_TIDY_SHAPES if self._tidy else _SHAPES)
        return shape(self, depth - 1)

    # --- Shapes -----------------------------------------------------------------------------------------------------

    def _atom(self, _: int = 0) -> Expr:
        if self._random.random() < 0.4:
            return self._reference()
        return self._token()

    def _token(self) -> Expr:
        draw = self._random.random()
        if self._tidy and draw < 0.8:
            return Literal(self._random.choice(self._words.letters))
        if draw < 0.65:
            return Literal(self._random.choice(self._words.literals))
        if draw < 0.95 or not self._words.tricky:
            return Pattern(self._random.choice(self._words.patterns))
        return Pattern(self._random.choice(self._words.tricky))

    def _reference(self) -> Expr:
        later = self._symbols[self._level + 1 :]
        # A reference back or to itself is a recursion, often a left one.
        if not later or self._random.random() < 0.05:
            later = self._symbols if self._random.random() < 0.2 else []
        if not later:
            return self._token()
        symbol = self._random.choice(later)
        if self._random.random() < 0.05:
            return Ref(symbol, "C", self._random.choice([None, "S"]))
        return Ref(symbol)

    def _sequence(self, depth: int) -> Expr:
        return Sequence(tuple(self._expr(depth) for _ in range(self._random.randint(2, 3))))

    def _branches(self, depth: int) -> Expr:
        """Options told apart by their first character, most of the time."""
        letters = self._random.sample(self._words.letters, self._random.randint(2, len(self._words.letters)))
        if self._random.random() < 0.2:
            letters.append(self._random.choice(letters))
        options: list[Expr] = []
        for letter in letters:
            head = Literal(letter)
            options.append(head if self._random.random() < 0.3 else Sequence((head, self._expr(depth))))
        if self._random.random() < 0.2:
            options.append(self._atom())
        return Choice(tuple(options))

    def _choice(self, depth: int) -> Expr:
        return Choice(tuple(self._expr(depth) for _ in range(self._random.randint(2, 3))))

    def _common_prefix(self, depth: int) -> Expr:
        prefix = self._expr(depth)
        options: list[Expr] = [Sequence((prefix, self._expr(depth))) for _ in range(2)]
        if self._random.random() < 0.3:
            options.append(prefix)
        return Choice(tuple(options))

    def _optional_tail(self, depth: int) -> Expr:
        return Sequence((self._expr(depth), Repeat(self._expr(depth), 0, 1)))

    def _list(self, depth: int) -> Expr:
        item, separator = self._expr(depth), Literal(self._random.choice(self._words.letters))
        return Sequence((item, Repeat(Sequence((separator, item)), *self._limits())))

    def _loop(self, depth: int) -> Expr:
        return Repeat(self._expr(depth), *self._limits())

    def _loop_before_alike(self, depth: int) -> Expr:
        body = self._expr(depth)
        after = body if self._random.random() < 0.3 else self._expr(depth)
        return Sequence((Repeat(body, *self._limits()), after))

    def _nullable_loop(self, depth: int) -> Expr:
        return Repeat(Choice((self._expr(depth), Literal(""))), *self._limits())

    def _nested_loop(self, depth: int) -> Expr:
        inner = Repeat(self._atom(), *self._limits())
        return Repeat(Sequence((self._expr(depth), inner)), *self._limits())

    def _permutation(self, depth: int) -> Expr:
        return Permutation(tuple(self._expr(depth) for _ in range(self._random.randint(2, 3))))

    def _limits(self) -> tuple[int, int | None]:
        least = self._random.choice([0, 0, 0, 1, 1, 2])
        return least, self._random.choice([None, None, None, least + 1, least + 2, max(1, least)])


_TIDY_SHAPES: list[Callable[[GrammarMaker, int], Expr]] = [
    *[GrammarMaker._atom] * 3,
    *[GrammarMaker._sequence] * 4,
    *[GrammarMaker._branches] * 6,
    *[GrammarMaker._common_prefix, GrammarMaker._optional_tail] * 2,
    *[GrammarMaker._list, GrammarMaker._loop] * 2,
]
_SHAPES = _TIDY_SHAPES + (
    [GrammarMaker._loop_before_alike] * 2
    + [GrammarMaker._choice, GrammarMaker._nullable_loop, GrammarMaker._nested_loop, GrammarMaker._permutation]
)


# --- Bits and bytes -------------------------------------------------------------------------------------------------

ANY_BIT = Ref("<bit>")
BYTES = b"\x00\x01ab\x7f\x80\xc3\xff"
BYTE_PATTERNS = (rb"[\x00-\x7f]", rb"(?s).", rb"[^\x00]*", rb"a+", rb"[\x80-\xff]{1,2}", rb"(?:ab)*", rb"\x00|\x01a?")
BYTE_LITERALS: tuple[str | bytes, ...] = (b"\x00", b"\x01", b"a", b"ab", b"\xff\x00", b"\x80", "a", "é", b"")


class BinaryMaker:
    """Makes grammars of bit fields and bytes: fields across byte borders, flags that decide, variable parts between."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._rules: dict[str, Expr] = {}

    def rules(self) -> dict[str, Expr]:
        self._rules = {"<s>": ANY_BIT, "<bit>": Choice((Bit(0), Bit(1)))}
        parts = [self._part() for _ in range(self._random.randint(1, 4))]
        self._rules["<s>"] = parts[0] if len(parts) == 1 else Sequence(tuple(parts))
        if self._random.random() < 0.2:
            self._rules["<s>"] = Repeat(self._named(self._rules["<s>"]), self._random.randint(0, 2), None)
        return self._rules

    def _part(self) -> Expr:
        makers = [self._fields, self._fields, self._fields, self._tagged, self._chain, self._loop, self._bytes]
        made = self._random.choice([*makers, self._bytes, self._flagged])()
        return self._named(made) if self._random.random() < 0.5 else made

    def _named(self, body: Expr) -> Ref:
        symbol = f"<f{len(self._rules)}>"
        self._rules[symbol] = body
        return Ref(symbol)

    def _fields(self) -> Expr:
        """Fields that fill whole bytes together, most of the time."""
        left = 8 * self._random.randint(1, 3)
        if self._random.random() < 0.04:
            left += 1
        fields: list[Expr] = []
        while left:
            width = min(left, self._random.choice([1, 1, 2, 3, 4, 4, 5, 8, 11]))
            fields.append(self._field(width))
            left -= width
        if self._random.random() < 0.04:
            fields.insert(self._random.randint(0, len(fields)), self._bytes())
        return fields[0] if len(fields) == 1 else Sequence(tuple(fields))

    def _field(self, width: int) -> Expr:
        draw = self._random.randrange(8)
        if draw == 0 and width > 1:
            return Sequence(tuple(Bit(self._random.randint(0, 1)) for _ in range(width)))
        if draw == 1 and width > 1:
            two = [Sequence(tuple(Bit(self._random.randint(0, 1)) for _ in range(width))) for _ in range(2)]
            return Choice(tuple(two))
        if draw < 4:
            return self._named(Repeat(ANY_BIT, width, width))
        if draw == 4:
            return Repeat(Choice((Bit(0), Bit(1))), width, width)
        if draw == 5:
            return Repeat(Bit(self._random.randint(0, 1)), width, width)
        return Repeat(ANY_BIT, width, width)

    def _tagged(self) -> Expr:
        """One bit says whether one byte follows or two."""
        short, long = self._random.choice([(7, 15), (15, 7), (7, 7), (7, 23)])
        return Choice(
            (Sequence((Bit(0), Repeat(ANY_BIT, short, short))), Sequence((Bit(1), Repeat(ANY_BIT, long, long))))
        )

    def _chain(self) -> Expr:
        """Numbers of any length, as in many formats: the first bit says whether another byte follows."""
        seven = self._named(Repeat(ANY_BIT, 7, 7))
        return Sequence((Repeat(Sequence((Bit(1), seven)), 0, self._random.choice([None, 1, 2])), Bit(0), seven))

    def _loop(self) -> Expr:
        bodies: list[Expr] = [ANY_BIT, Bit(0), Repeat(ANY_BIT, 4, 4), Repeat(ANY_BIT, 8, 8), Sequence((Bit(1), Bit(0)))]
        body = self._random.choice(bodies)
        least = self._random.choice([0, 1, 2, 4, 8])
        return Repeat(body, least, self._random.choice([None, least + 1, least + 8]))

    def _flagged(self) -> Expr:
        rest = Repeat(ANY_BIT, 7, 7)
        return Choice((Sequence((Bit(1), rest, self._bytes())), Sequence((Bit(0), rest))))

    def _bytes(self) -> Expr:
        draw = self._random.random()
        if draw < 0.5:
            return Literal(self._random.choice(BYTE_LITERALS))
        atom = Pattern(self._random.choice(BYTE_PATTERNS))
        return atom if draw < 0.8 else Repeat(atom, self._random.randint(0, 1), self._random.choice([None, 2]))


# --- Computed repetition --------------------------------------------------------------------------------------------


def computed_spec(random: Random) -> str:
    """The text of a spec whose repetitions count by what came before them."""
    unit = random.choice(["'a'", "<x>", "<x>", "<n>", "('a' | 'b')", "r'[ab]'", "<y>", "('a' <x>)", "r'a*'", "<z>"])
    bound = random.choice(["int(<n>)"] * 4 + ["1,int(<n>)", "int(<n>),", ",int(<n>)", "int(<n>)-1", "int(<n>),2"])
    tail = random.choice(["", "", "'c'", "'a'", "<n>", "'a'*", "<x>?", "'b'"])
    gap = random.choice(["", "", "':'", "':'?", "<x>", "<n>"])
    number = random.choice(["r'[0-3]'", "r'[0-3]'", "<d>", "r'[0-3x]'", "r'[0-9]{1,2}'", "<d> <d>?", "'0' <n> | <d>"])
    start = random.choice(
        [
            f"<n> {gap} ({unit}){{{bound}}} {tail}",
            f"<record>{random.choice(['', '+', '*', '{1,2}', '{2}'])} {tail}",
            f"<head> {gap} <body> {tail}",
            f"<tlv>{random.choice(['', '+', '*'])} {tail}",
            f"<head> ({unit}){{int(<head>.<n>)}} {tail} <head> ({unit}){{{bound}}}",
            f"(<n> ':')* ({unit}){{{bound}}} {tail}",
            f"<n> <outer>{{{bound}}} {tail}",
            f"<q> ({unit}){{int(<q>..<n>)}} {tail} | {unit} {tail}",
        ]
    )
    return (
        f"<start> ::= {start}\n"
        f"<record> ::= <n> {gap} ({unit}){{{bound}}}\n"
        f"<head> ::= <n> '|' | '(' <n> <x>? ')'\n"
        f"<body> ::= {random.choice(['', '<x>'])} ({unit}){{{bound}}}\n"
        f"<tlv> ::= <n> ({unit}){{{bound}}} | '(' <n> <tlv>{{int(<n>)}} ')'\n"
        f"<outer> ::= {random.choice(['', '<n>'])} ({unit}){{{bound}}} ';'\n"
        f"<q> ::= <n> | 'b' <n> <x>\n"
        f"<x> ::= {random.choice(['a', 'ab', 'b'])!r}\n"
        f"<y> ::= 'a' 'b'? | 'b'\n"
        f"<z> ::= <x> <z> | 'c'\n"
        f"<n> ::= {number}\n"
        f"<d> ::= '0' | '1' | '2' | '3'\n"
    )


def computed_binary_spec(random: Random) -> str:
    """The same with lengths in bits or bytes."""
    length, count = random.choice(
        [
            ("<bit>{8}", "int(<n>)"),
            ("0{6} <bit>{2}", "int(<n>)"),
            ("<bit>{4} <m>", "int(<m>)"),
            ("rb'[\\x00-\\x04]'", "bytes(<n>)[0]"),
            ("rb'(?s).'", "bytes(<n>)[0]"),
            ("rb'\\x00(?s:.)'", "int.from_bytes(bytes(<n>), 'big')"),
            ("b'\\x00' | b'\\x02'", "ord(bytes(<n>))"),
        ]
    )
    unit = random.choice(
        ["<byte>", "<byte>", "b'a'", "rb'[^\\x00]'", "<bit>{8}", "<record>?", "(b'a' <byte>)", "rb'a{1,2}'"]
    )
    bound = random.choice([count] * 4 + [f"1,{count}", f"{count},", f"{count}-1", f"{count} * 8"])
    tail = random.choice(["", "", "b'\\x00'", "<byte>*", "b'a'", "<bit>{8}"])
    if bound.endswith("* 8"):
        unit = "<bit>"
    start = random.choice(
        [
            f"<n> ({unit}){{{bound}}} {tail}",
            f"<record>{random.choice(['', '+', '*', '{2}'])} {tail}",
            f"<n> <record>{{{count}}} {tail}",
            f"b'a' <n> <body> {tail} | b'b' <record> {tail}",
        ]
    )
    return (
        f"<start> ::= {start}\n"
        f"<record> ::= <n> ({unit.replace('<record>?', '<byte>')}){{{bound}}}\n"
        f"<body> ::= ({unit}){{{bound}}}\n"
        f"<n> ::= {length}\n<m> ::= <bit>{{4}}\n<byte> ::= rb'(?s).'\n<bit> ::= 0 | 1\n"
    )


# --- Inputs ---------------------------------------------------------------------------------------------------------


class TooLong(Exception):
    """A random sentence does not come to an end."""


class Speaker:
    """Says random sentences of a grammar.

    Computed bounds are guessed from the last symbol of that name, which is mostly right.
    """

    def __init__(self, random: Random, rules: Mapping[str, Expr], letters: str | bytes, patience: int = 150) -> None:
        self._random = random
        self._rules = rules
        self._letters = letters
        self._patience = patience
        self._said: dict[str, str] = {}

    def bits(self, start: str) -> str:
        """A sentence of a binary grammar as zeros and ones."""
        return "".join(self._say(self._rules[start], binary=True))

    def text(self, start: str) -> str:
        return "".join(self._say(self._rules[start], binary=False))

    def _say(self, expr: Expr, *, binary: bool) -> Iterator[str]:
        self._patience -= 1
        if self._patience < 0:
            raise TooLong
        match expr:
            case Bit(value):
                yield str(value)
            case Literal(value):
                yield as_bits(value) if binary else str(value)
            case Pattern(source):
                found = samples(source, self._letters)
                value = self._random.choice(found) if found else ""
                yield as_bits(value) if binary else str(value)
            case Ref(symbol):
                self._said[symbol] = said = "".join(self._say(self._rules[symbol], binary=binary))
                yield said
            case Sequence(parts):
                for part in parts:
                    yield from self._say(part, binary=binary)
            case Choice(options):
                yield from self._say(self._random.choice(options), binary=binary)
            case Permutation(parts):
                for part in self._random.sample(parts, len(parts)):
                    yield from self._say(part, binary=binary)
            case Repeat(body, least, most):
                for _ in range(self._count(least, most, binary)):
                    yield from self._say(body, binary=binary)

    def _count(self, least: int | Expression, most: int | Expression | None, binary: bool) -> int:
        low = self._guess(least, binary)
        if most is None:
            return low + self._random.choice([0, 0, 1, 1, 2, 3, 7])
        return self._random.randint(low, max(low, self._guess(most, binary)))

    def _guess(self, bound: int | Expression, binary: bool) -> int:
        if isinstance(bound, int):
            return bound
        if not bound.mentions:
            return 1
        path = bound.mentions[0].path
        last = path.steps[-1] if path.steps else None
        name = last.symbol if isinstance(last, Child | Descendant) else path.base
        try:
            return min(20, int(self._said.get(name, ""), 2 if binary else 10))
        except ValueError:
            return 1


def as_bits(value: str | bytes) -> str:
    data = value.encode() if isinstance(value, str) else value
    return "".join(f"{byte:08b}" for byte in data)


def from_bits(bits: str) -> bytes:
    """Whole bytes; what is left over is filled up with zeros."""
    return bytes(int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8))


@cache
def samples(source: str | bytes, letters: str | bytes) -> list[str | bytes]:
    """Short texts of these letters that match a pattern."""
    if isinstance(source, bytes):
        units = [bytes([code]) for code in (letters.encode() if isinstance(letters, str) else letters)]
        blobs = (b"".join(some) for size in range(3) for some in product(units, repeat=size))
        return [some for some in blobs if re.fullmatch(source, some)]
    text = letters if isinstance(letters, str) else letters.decode("latin-1")
    texts = ("".join(some) for size in range(4) for some in product(text, repeat=size))
    return [some for some in texts if re.fullmatch(source, some)]


def mutated(random: Random, data: str | bytes, letters: str | bytes) -> str | bytes:
    """The same with one thing wrong, or two."""
    for _ in range(random.choice([1, 1, 2])):
        data = random.choice(_MUTATIONS)(random, data, letters)
    return data


def _unit(random: Random, letters: str | bytes) -> Any:  # text or bytes, as are the letters
    at = random.randrange(len(letters))
    return letters[at : at + 1]


def _replaced(random: Random, data: Any, letters: str | bytes, width: int = 1) -> str | bytes:
    at = random.randint(0, len(data))
    changed: str | bytes = data[:at] + _unit(random, letters) + data[at + width :]
    return changed


def _inserted(random: Random, data: str | bytes, letters: str | bytes) -> str | bytes:
    return _replaced(random, data, letters, width=0)


def _deleted(random: Random, data: Any, _: str | bytes) -> str | bytes:
    at = random.randint(0, len(data))
    changed: str | bytes = data[:at] + data[at + 1 :]
    return changed


def _doubled(random: Random, data: Any, _: str | bytes) -> str | bytes:
    start, end = sorted(random.choices(range(len(data) + 1), k=2))
    changed: str | bytes = data[:end] + data[start:]
    return changed


def _truncated(random: Random, data: str | bytes, _: str | bytes) -> str | bytes:
    return data[: random.randint(0, len(data))]


def _followed(random: Random, data: str | bytes, letters: str | bytes) -> str | bytes:
    for _ in range(random.randint(1, 3)):
        data = data + _unit(random, letters)
    return data


def _flipped(random: Random, data: str | bytes, letters: str | bytes) -> str | bytes:
    if isinstance(data, str) or not data:
        return _replaced(random, data, letters)
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


_MUTATIONS: list[Callable[[Random, str | bytes, str | bytes], str | bytes]] = [
    _replaced,
    _inserted,
    _deleted,
    _doubled,
    _truncated,
    _followed,
    _flipped,
]
