"""Value classes of fields as a goal: equivalence partitioning and boundary values (Myers 1979).

A *field* is a symbol of many words with no other such symbol inside. Its *classes* are the shortest and the longest
word, lengths and numbers at the usual boundaries, each number of digits, and each range of characters. A class is
covered when a message of ours has a word of it in this field.

Plans for classes are made when nothing else is left to plan for: the shortest way to a message that lacks some. This
message is like the last one of its type, with a word of the class in one field. This part stays, and the solver makes
the rest anew around it. So classes go through equations: for a length of two digits, the body becomes longer. A class
that was tried in vain some times is given up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from palaver.compiled import Spec
from palaver.grammar.symbol_languages import Languages
from palaver.matching.dialogue_grammar import MessageType
from palaver.navigation.dialogue_map import DialogueMap, MapNode
from palaver.navigation.navigation_limits import (
    MAX_BYTES_OF_NUMBER,
    MAX_CHARACTER_CLASSES,
    MAX_DIGITS_AS_CLASSES,
    MAX_NODES_FOR_VALUES,
    MAX_TRIES_OF_CLASS,
)
from palaver.navigation.plan_search import AStar, PlanningContext, PossibleEdges, RoutePlan
from palaver.printable import counted
from palaver.random_source import RandomSource
from palaver.regular.charset import drawable
from palaver.regular.language import Language, Unit
from palaver.regular.words import BYTEWISE, Contains, Words, are_digits, of_length, spelled
from palaver.session.strategy import ScriptedMessage
from palaver.trees.node import Node, replace_at
from palaver.trees.tree import Tree

# Numbers and lengths at which programs change from one representation to another.
_BOUNDARIES = (0, 1, 127, 128, 255, 256, 65535)


class ClassKind(Enum):
    """The property that the words of a class have in common."""

    LENGTH = "length"
    NUMBER = "number"
    CHARACTERS = "characters"


class ValueClass(NamedTuple):
    """A class of words of a field of a message."""

    message: str
    field: str
    kind: ClassKind
    value: int  # the length, the number, or the first character of the range
    last: int = 0  # the last character of the range
    base: int = 0  # of the number

    def __str__(self) -> str:
        what = str(self.value)
        if self.kind is ClassKind.CHARACTERS:
            what = f"{chr(self.value)!r} to {chr(self.last)!r}"
        return f"{self.field} in {self.message}: {self.kind.value} {what}"

    def has(self, word: str) -> bool:
        """True if a word of the field is in the class."""
        match self.kind:
            case ClassKind.LENGTH:
                return len(word) == self.value
            case ClassKind.NUMBER:
                number = int.from_bytes(word.encode("latin-1")) if self.base == BYTEWISE else int(word, self.base)
                return number == self.value
            case ClassKind.CHARACTERS:
                return any(self.value <= ord(char) <= self.last for char in word)

    def draw(self, language: Language, chance: RandomSource) -> str | None:
        """A random word of the class; None if there is none."""
        match self.kind:
            case ClassKind.LENGTH:
                return of_length(language, self.value, chance)
            case ClassKind.NUMBER:
                return next(spelled(language, self.base, self.value), None)
            case ClassKind.CHARACTERS:
                char = chr(self.value + chance.below(self.last - self.value + 1))
                return Words(language, (Contains(char),)).draw(chance)


def classes_of(message: str, field: str, language: Language) -> Iterator[ValueClass]:
    """The classes of the words of a field; those that have no word are left out."""
    shortest, longest = language.shortest, language.longest
    base = _base(language)
    if base is None or shortest != longest:
        lengths = {shortest, *_BOUNDARIES, *(() if longest is None else (longest,))}
        if base is not None:
            lengths.update(range(shortest, shortest + MAX_DIGITS_AS_CLASSES))
        for length in sorted(lengths):
            if length >= shortest and Words(language, (), length, length).lengths:
                yield ValueClass(message, field, ClassKind.LENGTH, length)
    if base is not None:
        top = None if longest is None else (256 if base == BYTEWISE else base) ** longest - 1
        for number in sorted({*_BOUNDARIES, *(() if top is None else (top - 1, top))}):
            if (top is None or number <= top) and next(spelled(language, base, number), None) is not None:
                yield ValueClass(message, field, ClassKind.NUMBER, number, base=base)
        return
    ranges = dict.fromkeys(pair for chars in language.classes for pair in drawable(chars).pairs())
    for first, last in list(ranges)[:MAX_CHARACTER_CLASSES]:
        yield ValueClass(message, field, ClassKind.CHARACTERS, first, last)


def _base(language: Language) -> int | None:
    """The base in which every word of a language is a number; None if they are no numbers."""
    has_fixed_length = language.shortest == language.longest
    if language.unit is Unit.BITS:
        return 2 if has_fixed_length else None
    if are_digits(language, 10):
        return 10
    is_small = has_fixed_length and language.shortest <= MAX_BYTES_OF_NUMBER
    return BYTEWISE if language.unit is Unit.BYTES and is_small else None


class ValueClasses:
    """The classes of the fields of our messages, those that were covered, and plans for the others."""

    def __init__(
        self,
        spec: Spec,
        moves: Sequence[MessageType],
        dialogue_map: DialogueMap,
        edges: PossibleEdges,
        chance: RandomSource,
    ) -> None:
        self.reached = 0
        self.chosen: ValueClass | None = None  # the class of the latest variant
        self._read = spec.read_word
        self._chance = chance
        self._search = AStar(dialogue_map, edges, MAX_NODES_FOR_VALUES, counts_messages=True)
        self._languages: dict[str, Language] = {}
        self._missing: dict[str, dict[str, list[ValueClass]]] = {}  # by message and field
        self._latest: dict[str, Node] = {}  # by message
        self._tries: Counter[ValueClass] = Counter()
        self._plans: Counter[str] = Counter()  # by message, since one was made for a class
        self._moves = frozenset(moves)
        analysis = spec.analysis
        languages = Languages(analysis.grammar.rules, binary=analysis.is_binary)
        for message in dict.fromkeys(move.symbol for move in moves):
            fields = [name for name in analysis.fields if name == message or name in analysis.below(message)]
            for field in fields:
                language = languages.of(field)
                if language is not None and language.expression is not None:
                    self._languages[field] = language
                    classes = list(classes_of(message, field, language))
                    self._missing.setdefault(message, {})[field] = classes
        self.total = sum(1 for _ in self.missing())

    def missing(self) -> Iterator[ValueClass]:
        """The classes that were not covered."""
        return (each for fields in self._missing.values() for classes in fields.values() for each in classes)

    def told(self, missing: ValueClass) -> str:
        """A class that was not covered, and how often it was tried, in words."""
        tries = self._tries[missing]
        often = f"tried {counted(tries, 'time')}" if tries else "not tried"
        return f"{missing} ({often})"

    def note(self, move: MessageType, node: Node) -> None:
        """Note a message of any party."""
        fields = self._missing.get(move.symbol)
        if not fields or move not in self._moves:
            return
        self._latest[move.symbol] = node
        root = Tree(node)
        for field, classes in list(fields.items()):
            for tree in root.find_subtrees(field) if classes else ():
                word = self._word(field, tree)
                left = [each for each in classes if not each.has(word)]
                self.reached += len(classes) - len(left)
                classes[:] = left
            if not classes:
                del fields[field]

    def _word(self, field: str, tree: Tree) -> str:
        match self._languages[field].unit:
            case Unit.TEXT:
                return tree.to_string("utf-8")
            case Unit.BYTES:
                return tree.to_bytes().decode("latin-1")
            case Unit.BITS:
                return tree.to_bits()

    def variant(self, move: MessageType) -> ScriptedMessage | None:
        """A message like the last one of its type, with a word of a missing class in one field, if there is one."""
        node = self._latest.get(move.symbol)
        while node is not None and (wanted := self._least_tried(move.symbol)) is not None:
            self._tries[wanted] += 1
            language = self._languages[wanted.field]
            places = [tree.path for tree in Tree(node).find_subtrees(wanted.field)]
            word = wanted.draw(language, self._chance) if places else None
            part = None if word is None else self._read(wanted.field, language, word)
            if part is not None:
                path = self._chance.pick(places)
                whole = replace_at(node, path, part)
                assert isinstance(whole, Node), "a part of a message is replaced by a node"
                self.chosen = wanted
                del self._plans[move.symbol]
                return ScriptedMessage(move, whole, is_exact=False, kept=path)
        return None

    def _least_tried(self, message: str) -> ValueClass | None:
        fields: Mapping[str, Sequence[ValueClass]] = self._missing.get(message, {})
        left = (each for classes in fields.values() for each in classes if self._tries[each] < MAX_TRIES_OF_CLASS)
        return min(left, key=lambda each: self._tries[each], default=None)

    def retry_given_up(self) -> None:
        """Try again what was given up."""
        self._tries.clear()
        self._plans.clear()

    def plan(self, starts: Sequence[MapNode], context: PlanningContext) -> RoutePlan | None:
        """A plan for a message of ours that lacks a class; None if none is left."""
        wanted = {message for message in self._missing if self._is_open(message)}
        if not wanted:
            return None
        found = self._search.search(
            starts, context, lambda edge: edge.is_ours and edge.move.symbol in wanted, lambda _node: 0.0
        )
        if found is None:
            return None
        steps, goal, cost = found
        self._plans[goal.move.symbol] += 1
        return RoutePlan(steps, goal.state, 1.0, cost)

    def _is_open(self, message: str) -> bool:
        """Return True if a class is left to try, and the peer has not kept us from the message too often."""
        return self._plans[message] < MAX_TRIES_OF_CLASS and self._least_tried(message) is not None

    def as_data(self) -> list[list[Any]]:
        """The classes that are missing, as JSON can hold them."""
        return [[*each[:2], each.kind.value, *each[3:]] for each in self.missing()]

    def add_data(self, data: Sequence[Sequence[Any]]) -> None:
        """Leave out the classes that another run has covered: all but these."""
        open_classes = {(*each[:2], ClassKind(each[2]), *each[3:]) for each in data}
        for fields in self._missing.values():
            for classes in fields.values():
                left = [each for each in classes if tuple(each) in open_classes]
                self.reached += len(classes) - len(left)
                classes[:] = left
