"""Differential test: the fast path against the Earley parser, and that against a naive definition, at random.

    python tests/matching/differential.py --checks 100000 --seed 1

How it works
------------
A *subject* is a grammar: a random one, or one of the corpus. A *feeding* is one input of a subject, cut into pieces
and fed to a fresh matcher in a certain manner (asking after each piece, or only in the end; looking at trees on the
way, or not). One feeding is one *check*: whatever can be asked of a matcher is asked, and compared with what a
matcher that runs the Earley parser alone says after the same input in one piece. So each check is also one of cuts.

Every random case is made from a seed of its own, so it can be replayed without those before it. If two answers differ,
the case is made smaller as long as they still do, and printed.
"""

from __future__ import annotations

import argparse
import signal
import sys
from ast import Expression as PythonExpression
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, count, islice, pairwise
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, NamedTuple, TypeAlias

from message_corpus import CORPUS, Entry, rules_of
from naive import Naive, random_grammar
from naive_bits import NaiveBits
from random_specs import (
    ABC,
    BYTES,
    WORLD,
    BinaryMaker,
    GrammarMaker,
    Speaker,
    TooLong,
    computed_binary_spec,
    computed_spec,
    from_bits,
    mutated,
)
from test_against_the_definition import failure_offset
from test_computed_repetition import TopDown

from palaver.grammar.printing import show_expr
from palaver.matching.matcher import CompiledMatcher, Matcher, MatchProgress, compile_matcher
from palaver.spec.ast import Choice, Expr, Expression, Literal, Permutation, Repeat, Sequence
from palaver.trees.node import Node, NonTerminal, OpenNode, Part, same_structure
from palaver.trees.values import TreeValue, serialise, to_bytes

Data: TypeAlias = str | bytes

# How many trees of one input are compared. Ambiguous ones have no end of them.
TREES = 10

# After so many feedings all shortcuts are taken.
WARM = 10


# --- Subjects and feedings ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Subject:
    """A grammar to be tried; `name` tells how to make it again."""

    name: str
    rules: dict[str, Expr]
    start: str
    history: tuple[Node, ...] = ()
    is_pure: bool = True  # whether it is told that bounds depend on the text only, as those here do

    @cached_property
    def shape(self) -> CompiledMatcher:
        return compile_matcher(self.rules, self.start, bound=evaluate, is_pure=lambda _: self.is_pure)

    def __str__(self) -> str:
        rules = "".join(f"    {symbol} ::= {show_expr(body)}\n" for symbol, body in self.rules.items())
        return rules + "".join(f"    after {message}\n" for message in self.history)


def evaluate(expression: Expression, node: Node | None) -> int:
    names = {mention.name: TreeValue(node) for mention in expression.mentions if node is not None}
    return int(eval(compile(PythonExpression(expression.python), "<bound>", "eval"), names))


@dataclass(frozen=True)
class Manner:
    """The way a matcher is used. Its final answers must not depend on what it was asked before."""

    asks_at_once: bool = True  # after each piece, and again later; otherwise only later
    looks_at_trees: bool = False  # after each piece
    ends: str = "finish"  # "with a piece": what is fed last is known to be the last; "never": the end is not told
    lazy: bool = True
    seed: int = 0  # for the order in which things are asked


@dataclass(frozen=True, eq=False)
class Feeding:
    subject: Subject
    pieces: tuple[Data, ...]
    whole: bool
    binary: bool | None = None
    manner: Manner = Manner()

    @property
    def data(self) -> Data:
        return self.pieces[0][:0].join(self.pieces)  # type: ignore[arg-type]  # all pieces are of one type

    def matcher(self, *, reference: bool) -> Matcher:
        subject = self.subject
        matcher = subject.shape.matcher(
            whole=self.whole,
            binary=self.binary,
            history=subject.history,
            lazy=self.manner.lazy,
            reference=reference,
        )
        # The fast path is given up where it falls back too often. Here it is to be tried each time.
        matcher._compiled._fallbacks = 0
        return matcher

    def __str__(self) -> str:
        options = f"whole={self.whole}, binary={self.binary}, {self.manner}"
        return f"{self.subject}  input   {self.data!r}\n  pieces  {list(self.pieces)!r}\n  with    {options}\n"


class Disagreement(Exception):
    """Two readers do not say the same."""

    def __init__(self, question: str, found: object, wanted: object) -> None:
        super().__init__(f"  {question}:\n    it says   {found!r}\n    should be {wanted!r}")


def expect(question: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Disagreement(question, found, wanted)


# --- Answers --------------------------------------------------------------------------------------------------------


class Standing(NamedTuple):
    """Everything a `MatchProgress` says."""

    complete: tuple[int, ...]
    complete_here: bool
    longest: int | None
    may_go_on: bool
    failed_at: int | None
    expected: tuple[str, ...]


def standing(progress: MatchProgress, random: Random | None = None) -> Standing:
    """The answers of a progress, asked in any order: some may be computed when first asked for."""
    names = list(Standing._fields)
    if random is not None:
        random.shuffle(names)
    answers = {name: getattr(progress, name) for name in names}
    return Standing(**answers)


def outline(part: Part) -> list[tuple[Any, ...]]:
    """All that there is in a part, in one list: this looks at every child, and at types, which `==` does not."""
    found: list[tuple[Any, ...]] = []
    stack = [part]
    while stack:
        top = stack.pop()
        if isinstance(top, Node):
            found.append((str(top.symbol), len(top.children), isinstance(top, OpenNode), top.parties, top.sources))
            stack.extend(reversed(top.children))
        else:
            found.append((type(top), top))
    return found


class Reference:
    """The answers of the Earley parser alone about one input and its prefixes."""

    def __init__(self, feeding: Feeding) -> None:
        self._feeding = feeding
        self._data = feeding.data
        self._known: dict[tuple[int, bool], Answers] = {}

    def at(self, size: int, *, finished: bool = False) -> Answers:
        """Its answers after so many units, and the end if `finished`."""
        key = size, finished
        if key not in self._known:
            matcher = self._feeding.matcher(reference=True)
            matcher.feed(self._data[:size])
            if finished:
                matcher.finish()
            self._known[key] = Answers(matcher)
        return self._known[key]


class Answers:
    """The answers of a matcher, asked once."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._trees: dict[int | None, list[Node]] = {}

    @cached_property
    def standing(self) -> Standing:
        return standing(self._matcher.progress)

    def trees(self, length: int | None) -> list[Node]:
        if length not in self._trees:
            self._trees[length] = list(islice(self._matcher.trees(length), TREES))
        return self._trees[length]

    @cached_property
    def partial_trees(self) -> list[Node]:
        return list(islice(self._matcher.partial_trees(), TREES))

    @property
    def crashes(self) -> list[str]:
        return self._matcher.crashes


# --- One check ------------------------------------------------------------------------------------------------------


def check(feeding: Feeding, reference: Reference) -> str:
    """Feed, ask and compare; return the name of the parser that answered.

    :raises Disagreement: it is not the Earley parser's answer
    """
    manner = feeding.manner
    random = Random(manner.seed)
    matcher = feeding.matcher(reference=False)
    pieces, last = feeding.pieces, feeding.data[:0]
    if manner.ends == "with a piece":
        pieces, last = feeding.pieces[:-1], feeding.pieces[-1]
    seen: list[tuple[int, MatchProgress]] = [(0, matcher.progress)]
    for piece in pieces:
        seen.append((seen[-1][0] + len(piece), matcher.feed(piece)))
        size, progress = seen[-1]
        if manner.asks_at_once:
            expect(f"after {size}", standing(progress, random), reference.at(size).standing)
        if manner.looks_at_trees:
            compare_trees(matcher, reference.at(size), f"after {size}", random)
    size = seen[-1][0]
    if manner.ends != "with a piece" and random.random() < 0.5:
        parser_name = str(matcher.parser_name)
        compare_trees(matcher, reference.at(size), "in the end", random)
    if manner.ends != "never":
        final = reference.at(len(feeding.data), finished=True)
        finished = matcher.finish(last)
        parser_name = str(matcher.parser_name)
        expect("finished", standing(finished, random), final.standing)
        compare_trees(matcher, final, "finished", random)
        expect("finished, again", standing(matcher.finish(), random), final.standing)
    # A report is a snapshot: what came later must not have changed it.
    for earlier, progress in random.sample(seen, len(seen)):
        expect(f"later about {earlier}", standing(progress, random), reference.at(earlier).standing)
    if manner.ends == "never":
        parser_name = str(matcher.parser_name)
        compare_trees(matcher, reference.at(size), "in the end", random)
    elif len(feeding.pieces) == 1 and not final.standing.complete_here:
        # Which bounds are tried depends on how much of the input is known then, so this holds for single pieces only.
        expect("crashes", sorted(matcher.crashes), sorted(final.crashes))
    expect("length", matcher.length, size + len(last))
    return parser_name


def compare_trees(matcher: Matcher, wanted: Answers, when: str, random: Random) -> None:
    lengths: list[int | None] = [None, *wanted.standing.complete[-3:]]
    if matcher.length:
        lengths.append(random.randrange(matcher.length))
    random.shuffle(lengths)
    for length in lengths:
        found = list(islice(matcher.trees(length), TREES))
        compare_lists(found, wanted.trees(length), f"{when}, trees({length})", random)
        if found:
            compare_values(next(matcher.trees(length)), wanted.trees(length)[0], f"{when}, trees({length})", random)
    compare_lists(list(islice(matcher.partial_trees(), TREES)), wanted.partial_trees, f"{when}, partial trees", random)


def compare_lists(found: list[Node], wanted: list[Node], question: str, random: Random) -> None:
    if len(found) != len(wanted):
        raise Disagreement(question, found, wanted)
    # Looking at a tree may change how it is stored, so the first look is not always the same one.
    looks: list[Callable[[Node, Node], bool]] = [
        lambda one, other: outline(one) == outline(other),
        lambda one, other: one == other,
        lambda one, other: other == one,
        lambda one, other: not (one != other),  # noqa: SIM202  # that they are two methods is the point
        lambda one, other: same_structure(one, other) and same_structure(other, one),
        lambda one, other: hash(one) == hash(other),
        lambda one, other: tuple(one) == tuple(other) and len(one) == len(other) == 4,
    ]
    random.shuffle(looks)
    for one, other in zip(found, wanted, strict=True):
        for look in looks:
            if not look(one, other):
                raise Disagreement(question, outline(one), outline(other))


def compare_values(found: Node, wanted: Node, question: str, random: Random) -> None:
    """Check a fresh tree before its children are made and after."""
    nodes: list[tuple[Part, Part]] = [(found, wanted)]
    if random.random() < 0.5:
        nodes += [
            (one, other) for one, other in zip(found.children, wanted.children, strict=True) if type(one) is not int
        ]
    for one, other in nodes:
        if fills_bytes(other):
            expect(f"{question} serialised", serialise(one), serialise(other))
            expect(f"{question} as bytes", to_bytes(one), to_bytes(other))
    outline(found)
    for one, other in nodes:
        if fills_bytes(other):
            expect(f"{question} serialised once looked at", serialise(one), serialise(other))


def fills_bytes(part: Part) -> bool:
    run = 0
    for kind, leaf in (entry for entry in outline(part) if len(entry) == 2):
        if kind is int:
            run += 1
        elif leaf:
            if run % 8:
                return False
            run = 0
    return run % 8 == 0


# --- How to feed ----------------------------------------------------------------------------------------------------


def cut(data: Data, places: tuple[int, ...]) -> tuple[Data, ...]:
    borders = [0, *places, len(data)]
    return tuple(data[start:end] for start, end in pairwise(borders))


def every_fragmenting(data: Data) -> Iterator[tuple[Data, ...]]:
    """All ways to cut it: two for each place between units."""
    places = range(1, len(data))
    for size in range(max(1, len(data))):
        for chosen in combinations(places, size):
            yield cut(data, chosen)


def every_cut(data: Data) -> Iterator[tuple[Data, ...]]:
    """In one piece, in two at each place, and in pieces of each size."""
    for place in range(len(data)):
        yield cut(data, (place,) if place else ())
    for size in (1, 2, 3, 5, 8):
        yield cut(data, tuple(range(size, len(data), size)))


def some_fragmentings(random: Random, data: Data) -> Iterator[tuple[Data, ...]]:
    yield (data,)
    yield cut(data, tuple(range(1, len(data))))
    for _ in range(3):
        # Places may be equal: a piece may be empty.
        yield cut(data, tuple(sorted(random.choices(range(len(data) + 1), k=random.choice([1, 1, 2, 3])))))


def random_manner(random: Random) -> Manner:
    return Manner(
        asks_at_once=random.random() < 0.5,
        looks_at_trees=random.random() < 0.2,
        ends=random.choice(["finish", "finish", "with a piece", "never"]),
        lazy=random.random() < 0.7,
        seed=random.randrange(1_000_000),
    )


# --- The run --------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """Counts of the checks."""

    checks: Counter[str] = field(default_factory=Counter)  # by kind
    grammars: Counter[str] = field(default_factory=Counter)
    parsers: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and parser_name
    complete: Counter[str] = field(default_factory=Counter)  # inputs that conform

    @property
    def total(self) -> int:
        return self.checks.total()

    def __str__(self) -> str:
        lines = [f"{'kind':12}{'grammars':>9}{'checks':>9}{'complete':>10}{'fast path':>10}{'Earley':>9}"]
        for kind in sorted(self.checks):
            fast, earley = self.parsers[kind, "fast path"], self.parsers[kind, "Earley"]
            counts = f"{self.grammars[kind]:9}{self.checks[kind]:9}{self.complete[kind]:10}{fast:10}{earley:9}"
            lines.append(f"{kind:12}{counts}")
        return "\n".join([*lines, f"{self.total} checks, and all agree"])


class Failure(Exception):
    """A disagreement, with all that is needed to see it again."""


class Run:
    """Makes cases of all kinds and checks them."""

    def __init__(self, seed: int, *, patience: int = 3_000, timeout_s: int = 0) -> None:
        self._seed = seed
        self._patience = patience  # how much to try to make a disagreement smaller
        self._timeout_s = timeout_s  # for each check; 0: no limit, as where somebody else keeps the time
        self.tally = Tally()

    def random_cases(self, checks: int, kinds: Iterable[str] = ()) -> None:
        """Cases of all kinds, or of these, in turn, until there have been so many checks."""
        for number in count():
            for kind in kinds or KINDS:
                if self.tally.total >= checks:
                    return
                self.case(kind, number)

    def case(self, kind: str, number: int) -> None:
        try:
            KINDS[kind](self, f"{kind}:{number}", Random(f"{self._seed} {kind} {number}"))
        except BaseException as problem:
            problem.add_note(f"in --seed {self._seed} --only {kind}:{number}")
            raise

    def feed(self, feeding: Feeding, reference: Reference) -> None:
        kind = feeding.subject.name.split(":")[0]
        try:
            with time_limit(self._timeout_s):
                parser_name = check(feeding, reference)
        except Exception as problem:
            raise Failure(self._told(feeding, problem)) from problem
        self.tally.checks[kind] += 1
        self.tally.parsers[kind, parser_name] += 1
        self.tally.complete[kind] += reference.at(len(feeding.data)).standing.complete_here

    def _told(self, feeding: Feeding, problem: Exception) -> str:
        smaller, problem = shrunk(feeding, problem, self._patience, min(self._timeout_s, 2))
        return (
            f"{describe(problem)}\n{smaller}  found as\n{feeding}"
            f"  replay  {Path(__file__).name} --seed {self._seed} --only {feeding.subject.name}"
        )

    def feedings(self, subject: Subject, data: Data, random: Random, *, binary: bool | None = None) -> None:
        """One input, for whole inputs and streams, in some fragmentings, or if it is short sometimes in all."""
        for whole in (True, False):
            reference = Reference(Feeding(subject, (data,), whole, binary))
            is_short = len(data) <= 5 and random.random() < 0.2
            for pieces in every_fragmenting(data) if is_short else some_fragmentings(random, data):
                self.feed(Feeding(subject, pieces, whole, binary, random_manner(random)), reference)


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """A matcher that never answers is wrong too."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer within {seconds} s")

    if not seconds:
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def describe(problem: Exception) -> str:
    return str(problem) if isinstance(problem, Disagreement) else f"  {type(problem).__name__}: {problem}"


# --- Kinds of cases -------------------------------------------------------------------------------------------------


def texts(run: Run, name: str, random: Random) -> None:
    """Almost deterministic grammars over three letters; the Earley parser is also compared with the definition."""
    rules = GrammarMaker(random, ABC, tidy=random.random() < 0.5).rules()
    subject = Subject(name, rules, "<s>")
    run.tally.grammars["text"] += 1
    inputs = some_inputs(random, rules, ABC.letters)
    for data in inputs:
        run.feedings(subject, data, random)
    if not any(tricky in repr(body) for body in rules.values() for tricky in map(repr, ABC.tricky)):
        for data in inputs[:3]:
            against_definition(run, subject, str(data)[:7])


def general(run: Run, name: str, random: Random) -> None:
    """Grammars as wild as they come."""
    rules = random_grammar(random)
    subject = Subject(name, rules, "<s>")
    run.tally.grammars["general"] += 1
    for data in some_inputs(random, rules, "ab", size=4):
        run.feedings(subject, data, random)


def world(run: Run, name: str, random: Random) -> None:
    """Text beyond ASCII, as text and as bytes, and read as bytes."""
    rules = GrammarMaker(random, WORLD, tidy=random.random() < 0.5).rules()
    subject = Subject(name, rules, "<s>")
    run.tally.grammars["world"] += 1
    for data in some_inputs(random, rules, WORLD.letters, size=2):
        run.feedings(subject, data, random)
        encoded = str(data).encode("utf-8", "surrogateescape")
        run.feedings(subject, encoded, random)
        run.feedings(subject, mutated(random, encoded, "é€a".encode()), random)
        run.feedings(subject, encoded, random, binary=True)


def bits(run: Run, name: str, random: Random) -> None:
    """Fields of bits, and bytes."""
    rules = BinaryMaker(random).rules()
    subject = Subject(name, rules, "<s>")
    run.tally.grammars["bits"] += 1
    inputs = some_binary_inputs(random, rules, "<s>")
    for data in inputs:
        run.feedings(subject, data, random)
    against_definition(run, subject, random.choice(inputs)[:3])


def computed(run: Run, name: str, random: Random) -> None:
    """Repetitions counted by what came before, in the message or in an earlier one."""
    spec = computed_spec(random)
    earlier = tuple(Node(NonTerminal("<n>"), (random.choice("0123"),)) for _ in range(random.choice([0, 0, 1, 2])))
    subject = Subject(name, rules_of(spec), "<start>", earlier, is_pure=random.random() < 0.5)
    run.tally.grammars["computed"] += 1
    inputs = some_inputs(random, subject.rules, "012ab:|()c;", start="<start>")
    for data in inputs:
        run.feedings(subject, data, random)
    if not earlier and "-1" not in spec and "x" not in "".join(map(str, inputs)):
        for data in inputs[:3]:
            against_counting(run, subject, str(data)[:7])


def counted_bytes(run: Run, name: str, random: Random) -> None:
    """The same with lengths in bits and bytes."""
    rules = rules_of(computed_binary_spec(random))
    subject = Subject(name, rules, "<start>", is_pure=random.random() < 0.5)
    run.tally.grammars["lengths"] += 1
    for data in some_binary_inputs(random, rules, "<start>"):
        run.feedings(subject, data, random)


def corpus(run: Run, name: str, random: Random) -> None:
    """One message of the corpus, mutated, perhaps with another behind it."""
    entry = random.choice(CORPUS)
    subject = subject_of(entry, name)
    run.tally.grammars["corpus"] += 1
    message = random.choice(entry.good + entry.bad)
    followers = [other for other in entry.good if type(other) is type(message)]
    if followers and random.random() < 0.2:
        message = message + random.choice(followers)  # type: ignore[operator]  # they are of one type
    letters = message or "a"
    for data in (message, *(mutated(random, message, letters) for _ in range(3))):
        run.feedings(subject, data, random)


KINDS: dict[str, Callable[[Run, str, Random], None]] = {
    "text": texts,
    "bits": bits,
    "computed": computed,
    "general": general,
    "world": world,
    "lengths": counted_bytes,
    "corpus": corpus,
}


def some_inputs(
    random: Random, rules: dict[str, Expr], letters: str, *, start: str = "<s>", size: int = 8
) -> list[Data]:
    """Texts that conform, texts that almost do, and others."""
    found: list[Data] = ["".join(random.choices(letters, k=random.randint(0, 8)))]
    for _ in range(size // 2):
        try:
            said = Speaker(random, rules, letters).text(start)[:30]
        except TooLong:
            continue
        found += [said, mutated(random, said, letters)]
    return list(dict.fromkeys(found))


def some_binary_inputs(random: Random, rules: dict[str, Expr], start: str) -> list[Data]:
    found: list[Data] = [bytes(random.choices(BYTES, k=random.randint(0, 4)))]
    for _ in range(3):
        try:
            said = from_bits(Speaker(random, rules, BYTES, patience=400).bits(start))[:24]
        except TooLong:
            continue
        found += [said, mutated(random, said, BYTES)]
    return list(dict.fromkeys(found))


def subject_of(entry: Entry, name: str) -> Subject:
    if entry.name not in _SUBJECTS:
        _SUBJECTS[entry.name] = Subject("", entry.rules(), "<start>", entry.history)
    known = _SUBJECTS[entry.name]
    subject = replace(known, name=name)
    subject.__dict__["shape"] = known.shape  # compiled once for all its messages
    return subject


_SUBJECTS: dict[str, Subject] = {}


def fragment_corpus(run: Run, longest: int | None = None) -> None:
    """Every message of the corpus in every fragmenting, or if that is too many, with every cut.

    `longest`: leave out longer messages.
    """
    for entry in CORPUS:
        run.tally.grammars["fragments"] += 1
        subject = subject_of(entry, "fragments:0")
        random = Random(entry.name)
        for message in entry.good + entry.bad:
            if longest is not None and len(message) > longest:
                continue
            for whole in (True, False):
                reference = Reference(Feeding(subject, (message,), whole))
                for pieces in every_fragmenting(message) if len(message) <= 8 else every_cut(message):
                    run.feed(Feeding(subject, pieces, whole, None, random_manner(random)), reference)


# --- Against the definition -----------------------------------------------------------------------------------------


def reading_of(subject: Subject, data: Data) -> Naive:
    if isinstance(data, str):
        return Naive(subject.rules, data, patience=5_000)
    return NaiveBits(subject.rules, data, patience=5_000)


def against_definition(run: Run, subject: Subject, data: Data) -> None:
    """Acceptance, prospects and trees of one input, by the Earley parser and by the naive definition."""
    if "<C:" in str(subject):
        return  # the definition knows no parties
    feeding = Feeding(subject, (data,), whole=False, binary=isinstance(data, bytes))
    unit = 1 if isinstance(data, str) else 8
    readings = {data[:size]: reading_of(subject, data[:size]) for size in range(len(data) + 1)}
    reading = readings[data]
    answers = Reference(feeding).at(len(data))
    try:
        found = answers.standing
        lengths = (end // unit for end in sorted(reading.spans["<s>", 0]) if end % unit == 0)
        expect("lengths", found.complete, tuple(lengths))
        expect("may go on", found.may_go_on, reading.may_go_on("<s>"))
        if not found.complete_here:
            expect("dead at", found.failed_at, failure_offset(data, readings))
        wanted = list(islice(reading.trees("<s>"), TREES))
        expect("trees", list(map(outline, answers.trees(None)[: len(wanted)])), list(map(outline, wanted)))
        if len(wanted) < TREES and reading.patience > 0:
            expect("number of trees", len(answers.trees(None)), len(wanted))
    except Disagreement as problem:
        raise Failure(f"the Earley parser and the definition\n{problem}\n{feeding}") from problem
    run.tally.checks["definition"] += 1
    run.tally.parsers["definition", "Earley"] += 1
    run.tally.complete["definition"] += found.complete_here


def against_counting(run: Run, subject: Subject, text: str) -> None:
    """The same for computed repetition, whose definition knows acceptance only."""
    feeding = Feeding(subject, (text,), whole=True)
    found = Reference(feeding).at(len(text)).standing.complete_here
    wanted = bool(TopDown(subject.rules, text).trees())
    if found != wanted:
        raise Failure(f"the Earley parser and the definition\n{Disagreement('complete', found, wanted)}\n{feeding}")
    run.tally.checks["counting"] += 1
    run.tally.parsers["counting", "Earley"] += 1
    run.tally.complete["counting"] += found


# --- Making a case smaller ------------------------------------------------------------------------------------------


def shrunk(feeding: Feeding, problem: Exception, patience: int, timeout_s: int) -> tuple[Feeding, Exception]:
    """A small feeding that still goes wrong, and how."""
    going = True
    while going:
        going = False
        for smaller in chain(smaller_feedings(feeding), smaller_subjects(feeding)):
            patience -= 1
            if patience < 0:
                return feeding, problem
            found = problem_with(smaller, timeout_s)
            if type(found) is type(problem):
                feeding, problem, going = smaller, found, True
                break
    return feeding, problem


def problem_with(feeding: Feeding, timeout_s: int) -> Exception | None:
    reference = Reference(feeding)
    try:
        with time_limit(timeout_s):
            reference.at(len(feeding.data), finished=True)
    except Exception:
        return None  # not a case at all any more
    try:
        # Rules that are read often are read in another way then.
        for _ in range(WARM):
            with time_limit(timeout_s):
                check(feeding, reference)
    except Exception as problem:
        return problem
    return None


def smaller_feedings(feeding: Feeding) -> Iterator[Feeding]:
    pieces = feeding.pieces
    manners = (
        Manner(),
        Manner(ends="never"),
        Manner(ends="with a piece"),
        replace(feeding.manner, looks_at_trees=False),
    )
    for manner in manners:
        if manner.seed < feeding.manner.seed or manner.looks_at_trees < feeding.manner.looks_at_trees:
            yield replace(feeding, manner=manner)
    if not feeding.whole:
        yield replace(feeding, whole=True)
    for number in range(len(pieces) - 1):
        joined = pieces[number] + pieces[number + 1]  # type: ignore[operator]  # all pieces are of one type
        yield replace(feeding, pieces=(*pieces[:number], joined, *pieces[number + 2 :]))
    for number, piece in enumerate(pieces):
        for at in range(len(piece)):
            less = piece[:at] + piece[at + 1 :]  # type: ignore[operator]  # both are of one type
            yield replace(feeding, pieces=(*pieces[:number], less, *pieces[number + 1 :]))


def smaller_subjects(feeding: Feeding) -> Iterator[Feeding]:
    subject = feeding.subject
    if subject.history:
        yield replace(feeding, subject=replace(subject, history=()))
    used = mentioned(subject.rules, subject.start)
    if len(used) < len(subject.rules):
        yield replace(feeding, subject=replace(subject, rules={symbol: subject.rules[symbol] for symbol in used}))
        return
    for symbol, body in subject.rules.items():
        for simpler in simpler_exprs(body):
            yield replace(feeding, subject=replace(subject, rules={**subject.rules, symbol: simpler}))


def mentioned(rules: dict[str, Expr], start: str) -> list[str]:
    """The symbols below `start`, and those that bounds speak of."""
    text = {symbol: show_expr(body) for symbol, body in rules.items()}
    found, queue = [start], [start]
    while queue:
        body = text[queue.pop()].replace("<C:S:", "<").replace("<C:", "<")
        more = [symbol for symbol in rules if symbol in body and symbol not in found]
        found += more
        queue += more
    return [symbol for symbol in rules if symbol in found]


def simpler_exprs(expr: Expr) -> Iterator[Expr]:
    match expr:
        case Sequence(parts) | Choice(parts) | Permutation(parts):
            yield from parts
            for number, part in enumerate(parts):
                rest = parts[:number] + parts[number + 1 :]
                if len(rest) > 1:
                    yield type(expr)(rest)
                yield from (type(expr)((*parts[:number], less, *parts[number + 1 :])) for less in simpler_exprs(part))
        case Repeat(body, least, most):
            yield body
            yield from (Repeat(less, least, most) for less in simpler_exprs(body))
            if most is not None and isinstance(least, int):
                yield Repeat(body, least, None)
            if isinstance(least, int) and least > 0:
                yield Repeat(body, 0, most)
        case Literal(value) if len(value) > 1:
            yield Literal(value[:1])


# --- The command ----------------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--checks", type=int, default=100_000, help="how many at least (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=1, help="what the random cases are made from (default: %(default)s)"
    )
    parser.add_argument("--only", metavar="KIND:NUMBER", help="replay one case")
    parser.add_argument("--kind", choices=KINDS, help="cases of this kind only, and no fragments")
    options = parser.parse_args(arguments)
    run = Run(options.seed, timeout_s=30)
    started = process_time()
    try:
        if options.only:
            kind, number = options.only.split(":")
            fragment_corpus(run) if kind == "fragments" else run.case(kind, int(number))
        elif options.kind:
            run.random_cases(options.checks, [options.kind])
        else:
            fragment_corpus(run)
            run.random_cases(options.checks)
    except Failure as failure:
        print(failure)
        print(f"after {run.tally.total} checks that agree")
        return 1
    print(run.tally)
    print(f"seed {options.seed}, {process_time() - started:.0f} s of CPU time")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
