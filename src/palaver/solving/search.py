"""Search where nothing better is known: trees are changed a little, and what is not worse is kept.

How it works
============

A tree is judged by how far it is from satisfying every constraint, and which nodes are to blame. One of these is
changed, the equations are solved again, and the result is judged. A field that an equation computes passes its blame on
to the fields it is computed from: to change it would be in vain.

A climb ends when it has seen no gain for long. Where it ends becomes one of a *population*; the next one starts from a
fresh tree, or from a cross between two of the population, with a part of one in the place of a part with the same
symbol in the other. This is the evolution of the paper, with climbing as its mutation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from palaver.chance import Chance
from palaver.constraints.distance import Judgement
from palaver.generation.makers import Discarded
from palaver.solving.assign import Assigner
from palaver.solving.meter import Meter
from palaver.solving.mutate import mutated
from palaver.solving.placing import Placing
from palaver.trees.node import Node
from palaver.trees.paths import Path
from palaver.trees.tree import Tree

# So many steps without a gain end a climb.
_PATIENCE = 300

# If the first steps of a climb make no difference at all, there is nothing to climb.
_FLAT = 20

# How often a field that an equation computes is changed nevertheless, and how often a part of what is blamed.
_DERIVED_TOO = 0.1
_DEEPER = 0.3


@dataclass(frozen=True, slots=True)
class Rates:
    """How a population evolves. Names and meanings are those of the reference implementation where it has them."""

    population_size: int = 100
    max_generations: int = 500  # climbs, for one tree
    elitism_rate: float = 0.1  # this part of the population, the best, is never replaced
    crossover_rate: float = 0.4  # how often a climb starts from a cross
    mutation_rate: float = 0.2  # how often a cross is changed before it climbs
    tournament_size: float = 0.1  # this part of the population competes to be a parent
    destruction_rate: float = 0.0  # how often a fresh tree is taken instead


DEFAULT_RATES = Rates()


@dataclass(frozen=True, slots=True)
class Near:
    """A tree that a search ended with, and how far off it is."""

    distance: float
    tree: Tree


@dataclass
class Search:
    """Searches among the trees of one symbol."""

    judges: Sequence[Callable[[Tree], Judgement]]
    derive: Callable[[Tree], Tree]
    placing: Placing
    assigner: Assigner
    chance: Chance
    meter: Meter
    passes_blame: Mapping[str, frozenset[str]]  # from a computed field to the symbols it is computed from
    rates: Rates = DEFAULT_RATES
    is_frozen: Callable[[Path], bool] | None = None
    population: list[Near] = field(default_factory=list)

    def judge(self, tree: Tree) -> Judgement:
        """How far a tree is off, and what is to blame."""
        self.meter.spent += 1
        judgements = [judge(tree) for judge in self.judges]
        blamed = [node for judgement in judgements for node in judgement.blamed]
        return Judgement(sum(judgement.distance for judgement in judgements), tuple(blamed))

    def climb(self, tree: Tree) -> Near:
        """What a tree becomes by small changes, each of which does not make it worse."""
        tree = self.derive(tree)
        distance, blamed = self.judge(tree)
        waited, last, differs = 0, None, False
        while distance > 0 and waited < (_PATIENCE if differs else _FLAT) and not self.meter.is_empty:
            target = self._target(tree, blamed, last)
            if target is None:
                break
            changed = self._changed(tree, target)
            if changed is None:
                waited += 3
                self.meter.spent += 1
                continue
            changed = self.derive(changed)
            now, to_blame = self.judge(changed)
            differs = differs or now != distance
            is_better = now < distance
            waited = 0 if is_better else waited + 1
            if now <= distance:
                last = target.path if is_better else last
                tree, distance, blamed = changed, now, to_blame
            else:
                last = None
        return Near(distance, tree)

    def _target(self, tree: Tree, blamed: Sequence[Tree], last: Path | None) -> Tree | None:
        """The node to change next: what helped last, or one of those to blame."""
        chance = self.chance
        if last is not None and chance.random() < 0.5:
            try:
                return tree.at(last)
            except IndexError:
                pass
        movable = [node for node in blamed if isinstance(node.node, Node) and not self._is_fixed(node)]
        if not movable:
            return None
        target = chance.pick(movable)
        assert isinstance(target.node, Node), "only these were taken"
        computed_from = self.passes_blame.get(target.node.symbol)
        if computed_from and chance.random() >= _DERIVED_TOO:
            sources = [node for symbol in sorted(computed_from) for node in tree.find_subtrees(symbol)]
            sources = [node for node in sources if not self._is_fixed(node)]
            target = chance.pick(sources) if sources else target
        return self._descended(target)

    def _descended(self, target: Tree) -> Tree:
        """A field inside of the node, if it is too large to be changed as a whole; at times also if it is not."""
        while True:
            assert isinstance(target.node, Node), "only nodes are descended into"
            is_field = self.assigner.languages.of(target.node.symbol) is not None
            if is_field and self.chance.random() >= _DEEPER:
                return target
            inner = [child for child in target.children if isinstance(child.node, Node)]
            if not inner or (not is_field and self.chance.random() < 0.05):
                return target
            target = self.chance.pick(inner)

    def _is_fixed(self, tree: Tree) -> bool:
        return self.is_frozen is not None and self.is_frozen(tree.path)

    def _changed(self, tree: Tree, target: Tree) -> Tree | None:
        if self._is_fixed(target):
            return None
        try:
            if self.placing.can_write(target, self.is_frozen):
                node = mutated(target, self.assigner, self.chance)
                if node is not None:
                    return self.placing.put(tree, target, node)
            return self.placing.renewed(tree, target)
        except Discarded:
            return None

    # --- evolution ----------------------------------------------------------------------------------------------------

    def remember(self, near: Near) -> None:
        """Let the end of a climb take part in the evolution."""
        population = self.population
        population.append(near)
        population.sort(key=lambda each: each.distance)
        if len(population) > self.rates.population_size:
            elite = int(len(population) * self.rates.elitism_rate)
            del population[elite + self.chance.below(len(population) - elite)]

    def start(self, fresh: Callable[[], Tree]) -> Tree:
        """Where the next climb starts: a cross between two of the population, or a fresh tree.

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
        # They are sorted, so the best of several is the first.
        return self.population[min(self.chance.below(len(self.population)) for _ in range(size))].tree

    def _crossed(self, one: Tree, other: Tree) -> Tree | None:
        """`one` with a part of `other` in the place of one with the same symbol."""
        places = [tree for tree in one.flattened()[1:] if isinstance(tree.node, Node)]
        places = [tree for tree in places if self.placing.can_write(tree, self.is_frozen)]
        if not places:
            return None
        place = self.chance.pick(places)
        assert isinstance(place.node, Node), "only nodes are exchanged"
        donors = list(other.find_subtrees(place.node.symbol))
        if not donors:
            return None
        donor = self.chance.pick(donors).node
        assert isinstance(donor, Node), "what has a symbol is a node"
        try:
            return self.placing.put(one, place, donor)
        except Discarded:
            return None
