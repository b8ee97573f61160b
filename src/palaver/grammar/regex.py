"""The one place that understands regular expressions.

How it works
------------
A pattern is Python's `re` syntax plus `\\p{Lu}` and `[[:alpha:]]`. These two are first rewritten to plain ranges, then
the standard library's own parser does the rest, so our syntax cannot drift away from Python's. A bytes pattern is
read as text whose characters are the bytes (latin-1), with `re.ASCII` in force.

From the parsed tree an *outline* is made, a regular expression in the textbook sense: characters, sequences,
alternatives, loops. Everything textbooks do not have is widened (a look-around or an anchor to nothing, a
back-reference to any text), so the outline accepts at least what the pattern accepts. If nothing had to be widened the
pattern is *plain* and the outline is exact; otherwise whoever matches asks `Regex.matches` about each candidate.

The outline becomes a small program, run as a set of *threads* (place in the program, loop counters), and the sets are
turned into the states of a deterministic automaton one by one, as input asks for them. Counted loops stay loops with a
counter: `.{0,65535}` costs a state per character really seen, not 65 535 copies up front.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from re import _constants as op  # type: ignore[attr-defined]  # private, but the only door to the parsed form;
from re import _parser as parser  # type: ignore[attr-defined]  # these two lines are the only place that opens it.
from typing import Any, TypeAlias

from palaver.grammar.charset import ASCII, BYTES, END_OF_UNICODE, EVERY, NO_CHARS, CharSet

__all__ = [
    "CHARACTERS",
    "REPEATS",
    "Automaton",
    "PatternError",
    "Regex",
    "State",
    "characters",
    "compile_pattern",
    "flags_inside",
    "op",
]


class PatternError(ValueError):
    """A pattern cannot be read; `position` counts characters of the pattern as it was written."""

    def __init__(self, message: str, position: int = 0) -> None:
        self.message = message
        self.position = position
        super().__init__(message)


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
    def first_chars(self) -> CharSet:
        """The characters a non-empty match can begin with (if not plain: perhaps more)."""
        return self.automaton.start.next_chars()

    @cached_property
    def _fullmatch(self) -> Callable[[str], object]:
        return _quietly_compile(self.expanded, re.ASCII if isinstance(self.source, bytes) else 0).fullmatch

    def matches(self, text: str) -> bool:
        """Whether the pattern matches exactly `text`, which stands alone: anchors and look-around see nothing else."""
        return self._fullmatch(text) is not None

    def _automaton(self, alphabet: CharSet) -> Automaton:
        return Automaton(_Outliner(alphabet).sequence(self.tree, self.flags))


@cache
def compile_pattern(source: str | bytes) -> Regex:
    """The meaning of a pattern. Raises PatternError if it has none."""
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    flags = re.ASCII if isinstance(source, bytes) else 0
    expanded, places = _expand_properties(text, ASCII if isinstance(source, bytes) else EVERY)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parser.parse(expanded, flags)
            is_plain = _is_plain(tree)
            if not is_plain:
                re.compile(expanded, flags)  # a look-behind of varying width is found only here
    except re.error as error:
        raise PatternError(error.msg, _original_place(places, error.pos or 0)) from None
    except (RecursionError, OverflowError):
        raise PatternError("the pattern is too large or nested too deeply") from None
    least, most = tree.getwidth()
    return Regex(source, tree, tree.state.flags, (least, most if most < op.MAXREPEAT else None), is_plain, expanded)


def _quietly_compile(text: str, flags: int) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(text, flags)


# --- \p{...} and [[:...:]] -------------------------------------------------------------------------------------------

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
_DIGITS, _UPPER, _LOWER = CharSet.of("0123456789"), CharSet((65, 91)), CharSet((97, 123))


def _expand_properties(text: str, alphabet: CharSet) -> tuple[str, list[tuple[int, int]]]:
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


def _original_place(places: list[tuple[int, int]], position: int) -> int:
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
    table: dict[str, Callable[[], CharSet]] = {
        "alpha": lambda: _categories("L Nl"),
        "digit": lambda: _categories("Nd"),
        "alnum": lambda: _categories("L Nl Nd"),
        "upper": lambda: _categories("Lu"),
        "lower": lambda: _categories("Ll"),
        "space": lambda: _SPACES | _categories("Z"),
        "blank": lambda: CharSet.of("\t") | _categories("Zs"),
        "cntrl": lambda: _categories("Cc"),
        # ASCII's symbols ($+<=>^`|~) count as punctuation in POSIX, though not in Unicode.
        "punct": lambda: _categories("P") | (_categories("S") & ASCII),
        "graph": lambda: EVERY - (_categories("Z Cc Cs Cn") | _SPACES),
        "print": lambda: EVERY - (_categories("Zl Zp Cc Cs Cn") | _SPACES),
        "word": lambda: _categories("L M Nd Nl Pc"),
        "xdigit": lambda: _DIGITS | CharSet.of("abcdefABCDEF"),
        "ascii": lambda: ASCII,
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


# --- From the parsed tree to an outline ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Chars:
    chars: CharSet


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple[_Outline, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    options: tuple[_Outline, ...]


@dataclass(frozen=True, slots=True)
class _Loop:
    body: _Outline
    least: int
    most: int | None


_Outline: TypeAlias = _Chars | _Sequence | _Choice | _Loop
_NOTHING = _Sequence(())

CHARACTERS = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_TYPE_FLAGS = re.ASCII | re.LOCALE | re.UNICODE
_PLAIN = frozenset(
    (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN, op.BRANCH, op.SUBPATTERN, op.MAX_REPEAT, op.MIN_REPEAT, op.FAILURE)
)


def _is_plain(tree: Any) -> bool:
    stack = [tree]
    while stack:
        for kind, value in stack.pop():
            if kind not in _PLAIN:
                return False
            if kind is op.SUBPATTERN:
                stack.append(value[3])
            elif kind in REPEATS:
                stack.append(value[2])
            elif kind is op.BRANCH:
                stack.extend(value[1])
    return True


class _Outliner:
    """Makes outlines over one alphabet. What can never match is cut away at once: None stands for it.

    So every part of an outline that is left can be completed, and a thread that is alive has a future.
    """

    def __init__(self, alphabet: CharSet) -> None:
        self.alphabet = alphabet

    def sequence(self, tree: Any, flags: int) -> _Outline | None:
        parts = []
        for kind, value in tree:
            part = self.part(kind, value, flags)
            if part is None:
                return None
            if part is not _NOTHING:
                parts.append(part)
        return parts[0] if len(parts) == 1 else _Sequence(tuple(parts)) if parts else _NOTHING

    def part(self, kind: Any, value: Any, flags: int) -> _Outline | None:
        if kind in REPEATS:
            return self.loop(value, flags)
        if kind is op.SUBPATTERN:
            return self.sequence(value[3], flags_inside(value, flags))
        if kind is op.BRANCH:
            return self.choice(value[1], flags)
        if kind is op.ATOMIC_GROUP:
            return self.sequence(value, flags)
        if kind is op.GROUPREF_EXISTS:
            _, yes, no = value
            return self.choice((yes, no if no is not None else ()), flags)
        if kind is op.GROUPREF:
            return _Loop(_Chars(self.alphabet), 0, None)
        if kind is op.ASSERT_NOT and not value[1]:
            return None  # (?!): nothing is never absent
        if kind in (op.ASSERT, op.ASSERT_NOT, op.AT):
            return _NOTHING
        chars = CharSet() if kind is op.FAILURE else characters(kind, value, flags) & self.alphabet
        return _Chars(chars) if chars else None

    def choice(self, trees: Sequence[Any], flags: int) -> _Outline | None:
        options = tuple(option for tree in trees if (option := self.sequence(tree, flags)) is not None)
        return _Choice(options) if len(options) > 1 else options[0] if options else None

    def loop(self, value: Any, flags: int) -> _Outline | None:
        least, most, tree = value
        body = self.sequence(tree, flags)
        limit = None if most is op.MAXREPEAT or most >= op.MAXREPEAT else int(most)
        if body is None:
            return None if least else _NOTHING
        if body is _NOTHING or limit == 0:
            return _NOTHING
        # If the body can be empty then any number of iterations below the upper limit can be.
        return _Loop(body, 0 if _can_be_empty(body) else int(least), limit)


def flags_inside(group: Any, flags: int) -> int:
    """The flags that hold inside a group, given those around it."""
    _, added, removed, _ = group
    if added & _TYPE_FLAGS:
        flags &= ~_TYPE_FLAGS
    return int((flags | added) & ~removed)


def _can_be_empty(outline: _Outline) -> bool:
    match outline:
        case _Chars():
            return False
        case _Sequence(parts):
            return all(map(_can_be_empty, parts))
        case _Choice(options):
            return any(map(_can_be_empty, options))
        case _Loop(body, least, _):
            return least == 0 or _can_be_empty(body)


def characters(kind: Any, value: Any, flags: int) -> CharSet:
    """The set that one character of a pattern stands for."""
    if kind is op.ANY:
        return EVERY if flags & re.DOTALL else EVERY - CharSet.of("\n")
    if kind is op.LITERAL and not flags & re.IGNORECASE:
        return CharSet((value, value + 1))
    if kind is op.NOT_LITERAL and not flags & re.IGNORECASE:
        return EVERY - CharSet((value, value + 1))
    if kind is op.IN and not flags & re.IGNORECASE and not any(item[0] is op.CATEGORY for item in value):
        pairs = [item[1] if item[0] is op.RANGE else (item[1], item[1]) for item in value if item[0] is not op.NEGATE]
        members = CharSet.ranges(pairs)
        return EVERY - members if value[0][0] is op.NEGATE else members
    if kind is op.LITERAL:
        value = [(op.LITERAL, value)]
    elif kind is op.NOT_LITERAL:
        value = [(op.NEGATE, None), (op.LITERAL, value)]
    return _ask_python("".join(map(_class_item, value)), flags & (re.IGNORECASE | re.ASCII))


_CATEGORY_TEXT = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s", op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _class_item(item: tuple[Any, Any]) -> str:
    kind, value = item
    if kind is op.NEGATE:
        return "^"
    if kind is op.CATEGORY:
        return _CATEGORY_TEXT[value]
    return CharSet.ranges([value if kind is op.RANGE else (value, value)]).as_class()


@cache
def _ask_python(members: str, flags: int) -> CharSet:
    """The set of a bracket expression, found by matching it against every character there is.

    Case-insensitive matching and \\w have so many special cases that only `re` itself knows them all.
    """
    runs = _quietly_compile(f"[{members}]+", flags).finditer(_every_character())
    return CharSet(tuple(bound for run in runs for bound in run.span()))


@cache
def _every_character() -> str:
    return "".join(map(chr, range(END_OF_UNICODE)))


# --- From an outline to an automaton ---------------------------------------------------------------------------------

# A thread is a place in the program and the counters of the loops around it, innermost last. A counter is twice the
# number of finished iterations, plus one while the running iteration has not consumed anything: such an iteration must
# not finish, or a loop over something empty would count without end.
_Thread: TypeAlias = tuple[int, tuple[int, ...]]


class State(dict[str, "State | None"]):
    """A state of the automaton. `state[char]` is the next one, or None if no match goes on so."""

    __slots__ = ("_automaton", "_threads", "accepts", "can_go_on", "visits")

    def __init__(self, automaton: Automaton, threads: frozenset[_Thread], accepts: bool) -> None:
        self._automaton = automaton
        self._threads = threads
        self.accepts = accepts
        self.can_go_on = bool(threads)
        self.visits = 0  # how often a scan went round here; a hot state is worth a faster way

    def __missing__(self, char: str) -> State | None:
        program = self._automaton.program
        moved = [thread for thread in self._threads if char in program[thread[0]].chars]
        following = self[char] = self._automaton.after(moved)
        return following

    # A state is itself and nothing else, however alike its table looks.
    __hash__ = object.__hash__  # type: ignore[assignment]  # dict has none

    def __eq__(self, other: object) -> bool:
        return self is other

    def next_chars(self) -> CharSet:
        """The characters with which a match goes on from here."""
        chars = CharSet()
        for thread in sorted(self._threads):
            chars |= self._automaton.program[thread[0]].chars
        return chars

    def loop_chars(self) -> CharSet:
        """The characters that lead from here back to here."""
        threads = sorted(self._threads)
        sets = [self._automaton.program[thread[0]].chars for thread in threads]
        targets: dict[tuple[bool, ...], bool] = {}
        pairs = []
        bounds = sorted({bound for chars in sets for bound in chars.bounds})
        for low, high in pairwise(bounds):
            taken = tuple(chr(low) in chars for chars in sets)
            if taken not in targets:
                moved = [thread for thread, moves in zip(threads, taken, strict=True) if moves]
                targets[taken] = self._automaton.after(moved) is self
            if targets[taken]:
                pairs.append((low, high - 1))
        return CharSet.ranges(pairs)


@dataclass(slots=True)
class _Instruction:
    """One place of the program: a character to take (`chars`), or one of the moves that take none."""

    chars: CharSet = NO_CHARS
    fork: tuple[int, ...] = ()
    # Loops: `enter` sets up a counter, `head` decides whether to go round once more, `back` counts an iteration.
    enter: int = -1
    head: tuple[int, int, int, int | None] | None = None  # body, exit, least, most
    back: int = -1
    is_end: bool = False
    leasts: tuple[int, ...] = ()  # the lower limits of the loops around it that have counters, innermost last


class Automaton:
    """A deterministic automaton that grows as it is used."""

    def __init__(self, outline: _Outline | None) -> None:
        self.program: list[_Instruction] = []
        self._states: dict[tuple[frozenset[_Thread], bool], State] = {}
        if outline is None:
            self.start = State(self, frozenset(), False)
        else:
            self._emit(outline, ())
            self.program.append(_Instruction(is_end=True))
            self.start = self._state([(0, ())])

    def step(self, state: State, char: str) -> State | None:
        return state[char]

    def accepts(self, state: State) -> bool:
        return state.accepts

    def can_go_on(self, state: State) -> bool:
        return state.can_go_on

    def _emit(self, outline: _Outline, leasts: tuple[int, ...]) -> None:
        """Append the program of `outline`; it runs on into whatever is appended next."""
        program = self.program
        match outline:
            case _Chars(chars):
                program.append(_Instruction(chars=chars, leasts=leasts))
            case _Sequence(parts):
                for part in parts:
                    self._emit(part, leasts)
            case _Choice(options):
                self._emit_choice(options, leasts)
            case _Loop(body, least, most) if most == 1 or (most is None and least < 2):
                self._emit_simple_loop(body, least, most, leasts)
            case _Loop(body, least, most):
                program.append(_Instruction(enter=len(program) + 1))
                head = _Instruction()
                program.append(head)
                at = len(program) - 1
                self._emit(body, (*leasts, least))
                program.append(_Instruction(back=at))
                head.head = (at + 1, len(program), least, most)

    def _emit_choice(self, options: tuple[_Outline, ...], leasts: tuple[int, ...]) -> None:
        program = self.program
        fork = _Instruction()
        program.append(fork)
        starts, exits = [], []
        for option in options:
            starts.append(len(program))
            self._emit(option, leasts)
            exits.append(_Instruction())
            program.append(exits[-1])
        fork.fork = tuple(starts)
        for leave in exits:
            leave.fork = (len(program),)

    def _emit_simple_loop(self, body: _Outline, least: int, most: int | None, leasts: tuple[int, ...]) -> None:
        """`?`, `*` and `+`, which need no counter."""
        program = self.program
        before = _Instruction()
        program.append(before)
        start = len(program)
        self._emit(body, leasts)
        if most is None:
            program.append(_Instruction(fork=(start, len(program) + 1)))
        before.fork = (start,) if least else (start, len(program))

    def after(self, threads: list[_Thread]) -> State | None:
        """Where these threads stand once each has taken its character."""
        if not threads:
            return None
        return self._state([(place + 1, tuple(count & ~1 for count in counts)) for place, counts in threads])

    def _state(self, threads: list[_Thread]) -> State:
        """The state of these threads and of all they reach without taking a character."""
        seen = set(threads)
        resting = []
        accepts = False
        while threads:
            thread = threads.pop()
            here = self.program[thread[0]]
            if here.chars:
                resting.append(thread)
            elif here.is_end:
                accepts = True
            else:
                for reached in _free_moves(thread, here, self.program):
                    if reached not in seen:
                        seen.add(reached)
                        threads.append(reached)
        if len(resting) > 4:
            resting = self._without_needless(resting)
        key = frozenset(resting), accepts
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = State(self, *key)
        return state

    def _without_needless(self, threads: list[_Thread]) -> list[_Thread]:
        """Leave out threads that another one can replace.

        Of two threads that differ in one counter only, both past the lower limit, the smaller count can do
        all that the larger can. Without this, loops in loops would multiply their counts.
        """
        program = self.program
        for level in range(max(len(thread[1]) for thread in threads)):
            best: dict[tuple[object, ...], _Thread] = {}
            for thread in threads:
                place, counts = thread
                leasts = program[place].leasts
                if level < len(counts) and counts[level] >> 1 >= leasts[level]:
                    key = (place, counts[:level], counts[level + 1 :], counts[level] & 1)
                    if key not in best or thread < best[key]:
                        best[key] = thread
                else:
                    best[place, counts] = thread
            threads = list(best.values())
        return threads


def _free_moves(thread: _Thread, here: _Instruction, program: list[_Instruction]) -> Iterator[_Thread]:
    counts = thread[1]
    if here.fork:
        for place in here.fork:
            yield place, counts
    elif here.enter >= 0:
        yield here.enter, (*counts, 0)
    elif here.head is not None:
        body, leave, least, most = here.head
        done = counts[-1] >> 1
        if done >= least:
            yield leave, counts[:-1]
        if most is None or done < most:
            yield body, (*counts[:-1], done * 2 + 1)
    elif not counts[-1] & 1:
        head = program[here.back].head
        assert head is not None  # `back` always points at the head of its loop
        done = (counts[-1] >> 1) + 1
        # Without an upper limit there is nothing to count once the lower one is reached.
        yield here.back, (*counts[:-1], 2 * (min(done, head[2]) if head[3] is None else done))
