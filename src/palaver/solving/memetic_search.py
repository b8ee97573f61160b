"""Memetic algorithm (Moscato 1989): stochastic hill climbing by branch distance, within an evolving population.

How it works
============

A tree is measured by its distance from satisfying every constraint; the distance also names nodes to blame. One of
these is mutated, the equations are solved again, and the result is kept unless it is worse. A field that an equation
computes passes its blame on to the fields it is computed from, because to change it would be in vain.

A climb ends after many steps without a gain, and its result joins the population. The next climb starts from a fresh
tree, or from a crossover of two parents chosen by tournament: a part of one in the place of a part with the same symbol
in the other. This is the paper's evolution, with climbing as its mutation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from palaver import interruption
from palaver.constraints.checks import Failure
from palaver.constraints.distance import Fitness
from palaver.generation.makers import Discarded
from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.regular.language import AutomatonState, Language, Unit
from palaver.solving.assignment import Assigner
from palaver.solving.placement import Placing, node_of
from palaver.solving.solving_limits import (
    DEFAULT_RATES,
    MAX_MUTATION_TRIES,
    MAX_STEPS_ON_PLATEAU,
    MAX_STEPS_WITHOUT_GAIN,
    EvolutionRates,
)
from palaver.trees.node import Node, TreePath
from palaver.trees.tree import Tree
from palaver.trees.values import leaves_of, to_bits

# The probabilities that a field computed by an equation is mutated nevertheless, and that a part of a field is.
_MUTATE_COMPUTED = 0.1
_MUTATE_PART = 0.3
# The probability that a field is drawn anew instead of being mutated.
_REDRAW = 0.15
# The probability that a field of a message becomes equal to one of an earlier message: answers often repeat a part of
# what was asked, and code that demands it need not have a gradient.
_COPY = 0.4

# The probability that a number which is not regular, such as one of digits that contain each other, is changed as one.
_CHANGE_NUMBER = 0.3

# A distance from which on a gain is no reason to go on for longer.
_VERY_NEAR = 1e-4

_DIGITS = re.compile(r"[0-9]+")


@dataclass(slots=True)
class StepBudget:
    """The steps of a search, counted in trees that were measured; their limit, and the latest condition that failed."""

    limit: int
    spent: int = 0
    failure: Failure | None = None

    @property
    def is_spent(self) -> bool:
        return self.spent >= self.limit


@dataclass(frozen=True, slots=True)
class NearMiss:
    """The tree that a climb ended with, and its distance."""

    distance: float
    tree: Tree


@dataclass
class MemeticSearch:
    """Searches among the trees of one symbol."""

    distances: Sequence[Callable[[Tree], Fitness]]
    derive: Callable[[Tree], Tree]
    placing: Placing
    assigner: Assigner
    chance: RandomSource
    budget: StepBudget
    passes_blame: Mapping[str, frozenset[str]]  # from a computed field to the symbols it is computed from
    rates: EvolutionRates = DEFAULT_RATES
    is_frozen: Callable[[TreePath], bool] | None = None
    population: list[NearMiss] = field(default_factory=list)
    left_out: frozenset[int] = frozenset()  # the distances, by their positions, that do not count

    def measure(self, tree: Tree) -> Fitness:
        """The distance of a tree, and the nodes to blame."""
        self.budget.spent += 1
        parts = [distance(tree) for at, distance in enumerate(self.distances) if at not in self.left_out]
        blamed = [node for part in parts for node in part.blamed]
        return Fitness(sum(part.distance for part in parts), tuple(blamed))

    def climb(self, tree: Tree, most: int | None = None) -> NearMiss:
        """The tree after small changes, at most so many, none of which made it worse."""
        enough = self.budget.limit if most is None else min(self.budget.limit, self.budget.spent + most)
        tree = self.derive(tree)
        distance, blamed = self.measure(tree)
        waited, last, differs = 0, None, False
        while distance > 0 and self.budget.spent < enough:
            interruption.check()
            if waited >= (MAX_STEPS_WITHOUT_GAIN if differs else MAX_STEPS_ON_PLATEAU):
                break
            target = self._target(tree, blamed, last)
            if target is None:
                break
            changed = self._changed(tree, target)
            if changed is None:
                waited += 3
                self.budget.spent += 1
                continue
            changed = self.derive(changed)
            now, to_blame = self.measure(changed)
            differs = differs or now != distance
            is_better = now < distance
            # Numbers with a fraction come nearer for ever; whole numbers are never so near.
            waited = 0 if is_better and now > _VERY_NEAR else waited + 1
            if now <= distance:
                last = target.path if is_better else last
                tree, distance, blamed = changed, now, to_blame
            else:
                last = None
        return NearMiss(distance, tree)

    def _target(self, tree: Tree, blamed: Sequence[Tree], last: TreePath | None) -> Tree | None:
        """The node to change next: the one that helped last, or one of those to blame."""
        chance = self.chance
        if last is not None and chance.random() < 0.5:
            try:
                helped = tree.at(last)
            except IndexError:
                helped = None
            # What is derived may have put a leaf there.
            if helped is not None and isinstance(helped.node, Node):
                return helped
        movable = [free for node in blamed if isinstance(node.node, Node) for free in self._free_parts(node)]
        if not movable:
            return None
        target = chance.pick(movable)
        computed_from = self.passes_blame.get(node_of(target).symbol)
        if computed_from and chance.random() >= _MUTATE_COMPUTED:
            sources = [node for symbol in sorted(computed_from) for node in tree.find_subtrees(symbol)]
            sources = [node for node in sources if not self._is_fixed(node)]
            target = chance.pick(sources) if sources else target
        return self._descended(target)

    def _descended(self, target: Tree) -> Tree:
        """A field inside of the node if that is no field itself; at times a part of a field.

        Of a generated node it is a field of a source, or the node itself if it has none: its generator runs again.
        """
        while True:
            if node_of(target).symbol in self.placing.generated:
                if not target.sources:
                    return target
                target = self.chance.pick(target.sources)
                continue
            is_field = self.assigner.languages.of(node_of(target).symbol) is not None
            if is_field and self.chance.random() >= _MUTATE_PART:
                return target
            inner = [child for child in target.children if isinstance(child.node, Node)]
            if not inner or (not is_field and self.chance.random() < (_CHANGE_NUMBER if _is_number(target) else 0.05)):
                return target
            target = self.chance.pick(inner)

    def _free_parts(self, tree: Tree) -> Sequence[Tree]:
        """The node itself, if it may be changed; otherwise the outermost nodes in it that may."""
        if not self._is_fixed(tree):
            return [tree]
        free: list[Tree] = []
        todo = [tree]
        while todo:
            for child in todo.pop().children:
                if isinstance(child.node, Node):
                    (todo if self._is_fixed(child) else free).append(child)
        return free

    def _is_fixed(self, tree: Tree) -> bool:
        return self.is_frozen is not None and self.is_frozen(tree.path)

    def _changed(self, tree: Tree, target: Tree) -> Tree | None:
        if self._is_fixed(target):
            return None
        try:
            is_generated = node_of(target).symbol in self.placing.generated
            if not is_generated and (copied := self._with_copy(tree, target)) is not None:
                return copied
            if not is_generated and self.placing.can_write(target, self.is_frozen):
                node = _mutated(target, self.assigner, self.chance)
                if node is not None:
                    return self.placing.put(tree, target, node)
            return self.placing.renewed(tree, target)
        except Discarded:
            return None

    def _with_copy(self, tree: Tree, target: Tree) -> Tree | None:
        """At times, the tree with a node in the target that is equal to one of a part that is given."""
        if self.is_frozen is None or self.chance.random() >= _COPY:
            return None
        places = [place for place in target.flattened() if isinstance(place.node, Node)]
        places = [place for place in places if self.placing.can_write(place, self.is_frozen)]
        if not places:
            return None
        place = self.chance.pick(places)
        nodes = (node_of(each) for each in tree.find_subtrees(node_of(place).symbol) if self._is_fixed(each))
        others = [node for node in nodes if node != place.node]
        return self.placing.put(tree, place, self.chance.pick(others)) if others else None

    def remember(self, near: NearMiss) -> None:
        """Add the end of a climb to the population."""
        population = self.population
        population.append(near)
        population.sort(key=lambda each: each.distance)
        if len(population) > self.rates.population_size:
            elite = int(len(population) * self.rates.elitism_rate)
            del population[elite + self.chance.below(len(population) - elite)]

    def start(self, fresh: Callable[[], Tree]) -> Tree:
        """The start of the next climb: a crossover of two of the population, or a fresh tree.

        :raises Discarded: a fresh tree could not be made this time
        """
        chance, rates = self.chance, self.rates
        if len(self.population) < 2 or chance.random() < rates.destruction_rate:
            return fresh()
        if chance.random() >= rates.crossover_rate:
            return fresh()
        crossed = self._crossed(self._parent(), self._parent())
        if crossed is None:
            return fresh()
        if chance.random() < rates.mutation_rate:
            target = self._descended(crossed)
            changed = self._changed(crossed, target)
            return crossed if changed is None else changed
        return crossed

    def _parent(self) -> Tree:
        size = max(2, int(len(self.population) * self.rates.tournament_size))
        # The population is sorted, so the best of several is the first.
        return self.population[min(self.chance.below(len(self.population)) for _ in range(size))].tree

    def _crossed(self, one: Tree, other: Tree) -> Tree | None:
        """The crossover: `one` with a part of `other` in the place of a part with the same symbol."""
        places = [tree for tree in one.flattened()[1:] if isinstance(tree.node, Node)]
        places = [tree for tree in places if self.placing.can_write(tree, self.is_frozen)]
        if not places:
            return None
        place = self.chance.pick(places)
        donors = list(other.find_subtrees(node_of(place).symbol))
        if not donors:
            return None
        donor = self.chance.pick(donors)
        try:
            return self.placing.put(one, place, node_of(donor))
        except Discarded:
            return None


def _mutated(tree: Tree, assigner: Assigner, chance: RandomSource) -> Node | None:
    """A node that differs a little from that of `tree`; None if none is known."""
    symbol = node_of(tree).symbol
    domain = assigner.domain(symbol)
    if domain is None:
        return _with_another_number(tree, assigner, chance)
    language, is_limited = domain.language, not domain.is_free
    word = to_bits(tree.node) if language.unit is Unit.BITS else str(tree)
    if word and chance.random() >= _REDRAW:
        for _ in range(MAX_MUTATION_TRIES):
            changed = _changed_word(word, language, chance)
            if changed != word and (domain.allows(changed) if is_limited else language.accepts(changed)):
                return assigner.node(symbol, changed)
    return assigner.draw(domain, chance) if is_limited else None


def _with_another_number(tree: Tree, assigner: Assigner, chance: RandomSource) -> Node | None:
    """A node with a text that is a number, larger or smaller by a power of two; None if it is more than that.

    Beside brackets, say, a rule may have an alternative that is a pattern: then no symbol stands for the number.
    """
    if not _is_number(tree) or chance.random() < _REDRAW:
        return None
    digits = str(tree)
    return assigner.read(node_of(tree).symbol, _with_number(digits, 0, len(digits), chance))


def _is_number(tree: Tree) -> bool:
    """Return True if a node consists of decimal digits, as text."""
    leaves = leaves_of(tree.node)
    return bool(leaves) and all(isinstance(leaf, str) and _DIGITS.fullmatch(leaf) for leaf in leaves)


def _changed_word(word: str, language: Language, chance: RandomSource) -> str:
    kind = chance.random()
    if language.unit is Unit.BITS:
        number = int(word, 2) + _step(len(word), chance) if kind < 0.5 else -1
        if 0 <= number < 1 << len(word):
            return f"{number:0{len(word)}b}"
    elif kind < 0.45:
        runs = [found.span() for found in _DIGITS.finditer(word)]
        if runs:
            return _with_number(word, *chance.pick(runs), chance)
        kind = chance.random()
    at = chance.below(len(word))
    if kind < 0.65:
        code = ord(word[at]) + chance.pick((-1, 1, -2, 2, -5, 5))
        return word[:at] + chr(min(max(code, 0), 0x10FFFF)) + word[at + 1 :]
    if kind < 0.9:
        return word[:at] + _another(word[:at], language, chance) + word[at + 1 :]
    other = chance.below(len(word))
    chars = list(word)
    chars[at], chars[other] = chars[other], chars[at]
    return "".join(chars)


def _with_number(word: str, start: int, end: int, chance: RandomSource) -> str:
    """A number inside of the word, larger or smaller by a power of two."""
    digits = word[start:end]
    if len(digits) > 300:  # Python refuses to read numbers that are much longer
        return word
    number = int(digits) + _step(int(digits).bit_length() + 1, chance)
    if number < 0:
        return word
    is_padded = digits[0] == "0" or chance.random() < 0.5
    return word[:start] + (str(number).zfill(len(digits)) if is_padded else str(number)) + word[end:]


def _step(bits: int, chance: RandomSource) -> int:
    return chance.pick((-1, 1)) << chance.below(max(1, min(bits, 40)))


def _another(before: str, language: Language, chance: RandomSource) -> str:
    """A character that can follow in a word that begins so."""
    state: AutomatonState | None = language.automaton.start
    for char in before:
        state = state[char] if state is not None else None
    pairs = [] if state is None else list(state.next_chars().pairs())
    if not pairs:
        return ""
    low, high = chance.pick(pairs)
    return chr(low + chance.below(min(high - low + 1, 256)))
