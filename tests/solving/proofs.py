"""Holds the solver against brute force, over and over: nothing is proved that is not so, and what there is is found.

    python tests/solving/proofs.py --cases 2500 --seed 1

How it works
------------
A case is a small random spec of which all trees are written down (`small_worlds`), so its solutions are known. Then:

- if the plan has a proof then there is no solution,
- if there is a solution then a run with the usual budget finds one, and one of those that are written down,
- if there is none then the run says so, and the constraints that it blames are without a solution, too; if it says that
  this is proved, then without any of them there is one.

What is proved must be true. A solution that is not found is no lie, and what was not found may be blamed on too few
constraints or too many, so these are counted and shown. Each case is made from a seed of its own, and can be run again
without those before it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from time import process_time

from small_worlds import Formula, Thing, World, random_world

import palaver


class Disagreement(Exception):
    """The solver says what is not so."""


@dataclass
class Tally:
    """The number of specs, trees and proofs so far."""

    cases: int = 0
    satisfiable: int = 0
    unsatisfiable: int = 0  # for sure: all trees were written down
    proofs: int = 0
    found: int = 0
    found_by_search: int = 0
    cores: Counter[int] = field(default_factory=Counter)  # by their size
    misses: list[str] = field(default_factory=list)
    # Cores of proofs of which some constraint could be left out, though the rest is not proved.
    too_large: list[str] = field(default_factory=list)
    # Cores of what was not found that have solutions, though none of all constraints.
    innocent: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        sizes = ", ".join(f"{count} of {size}" for size, count in sorted(self.cores.items()))
        return (
            f"{self.cases} cases: {self.satisfiable} with solutions, {self.unsatisfiable} surely without\n"
            f"proofs: {self.proofs}, all true; cores that are larger than needed: {len(self.too_large)}\n"
            f"found: {self.found} of {self.satisfiable} ({self.found_by_search} by search); "
            f"not found: {len(self.misses)}\n"
            f"sizes of cores: {sizes}; blamed without proof, but satisfiable: {len(self.innocent)}"
        )


@dataclass(frozen=True)
class Run:
    """Makes cases and checks them. With a `budget` that is what a run may spend where there is nothing to be found."""

    seed: int
    most: int = 1_000  # trees of one case
    budget: int = 5_000
    samples: int = 3  # how many sentences are parsed, to see that brute force means the same as the language
    tally: Tally = field(default_factory=Tally)

    def case(self, number: int) -> None:
        """Make and check one case.

        :raises Disagreement: the solver is wrong
        """
        world = random_world(Random(f"{self.seed} {number}"), self.most)
        try:
            self.check(world, number)
        except Exception as problem:
            smaller, why = self._shrunk(world, problem)
            told = f"{why}\n{smaller.text}  replay  proofs.py --seed {self.seed} --only {number}"
            raise Disagreement(told) from problem

    def check(self, world: World, number: int = 0) -> None:
        tally = self.tally
        spec = palaver.loads(world.text)
        solutions = world.solutions()
        tally.cases += 1
        tally.satisfiable += bool(solutions)
        tally.unsatisfiable += world.is_complete and not solutions
        self._agree_on_the_law(spec, world, solutions, Random(number))
        proof = spec.solver_factory.plan(spec.grammar.constraints).proof
        tally.proofs += proof is not None
        if proof is not None and solutions:
            raise Disagreement(f"false proof: {proof.why}; but {solutions[0].serialised!r} is a solution")
        if solutions:
            self._find(spec, world, solutions, number)
        elif world.is_complete:
            self._blame(spec, world, number, is_proved=proof is not None)

    def _agree_on_the_law(self, spec: palaver.Spec, world: World, solutions: Sequence[Thing], random: Random) -> None:
        """Brute force and the checks of the language must mean the same by a solution."""
        good = {thing.serialised for thing in solutions}
        samples = [random.sample(trees, min(self.samples, len(trees))) for trees in (world.trees, solutions)]
        for tree in [*samples[0], *samples[1]]:
            is_good = next(spec.parses(tree.serialised), None) is not None
            # A sentence may have trees that were not written down.
            if is_good != (tree.serialised in good) and (world.is_complete or not is_good):
                raise Disagreement(f"{tree.serialised!r} is{'' if is_good else ' not'} a solution, says the language")

    def _find(self, spec: palaver.Spec, world: World, solutions: Sequence[Thing], number: int) -> None:
        fuzz = spec.fuzz(1, seed=number)
        try:
            (tree,) = fuzz
        except palaver.Unsolvable:
            share = f"{len(solutions)} of {len(world.trees)} trees are solutions, like {solutions[0].serialised!r}"
            self.tally.misses.append(f"case {number}: {share}\n{world.text}")
            return
        self.tally.found += 1
        self.tally.found_by_search += fuzz.solver.found_by_search
        if world.is_complete and tree.serialised() not in {thing.serialised for thing in solutions}:
            raise Disagreement(f"{tree.serialised()!r} is no solution")

    def _blame(self, spec: palaver.Spec, world: World, number: int, *, is_proved: bool) -> None:
        try:
            found = list(spec.fuzz(1, seed=number, budget=self.budget))
        except palaver.Unsolvable as unsolvable:
            text = str(unsolvable)
        else:
            raise Disagreement(f"{found[0].serialised()!r} is no solution")
        if ("proved" in text) != is_proved:
            raise Disagreement(f"it is{'' if is_proved else ' not'} proved, but is told otherwise: {text}")
        core = named_in(text, world)
        self.tally.cores[len(core)] += 1
        if world.solutions(core):
            if is_proved:
                raise Disagreement(f"these can be satisfied: {[each.text for each in core]}\n{text}")
            self.tally.innocent.append(f"case {number}: {text}\n{world.text}")
        if is_proved:
            rests = [[each for each in core if each is not left_out] for left_out in core]
            if any(rest and not world.solutions(rest) for rest in rests):
                self.tally.too_large.append(f"case {number}: {text}\n{world.text}")

    def _shrunk(self, world: World, problem: Exception) -> tuple[World, Exception]:
        """The world without those conditions that the problem does not need."""
        for condition in world.conditions:
            fewer = replace(world, conditions=tuple(each for each in world.conditions if each is not condition))
            try:
                replace(self, tally=Tally()).check(fewer)
            except Exception as still:
                if type(still) is type(problem):
                    world, problem = fewer, still
        return world, problem


def named_in(text: str, world: World) -> list[Formula]:
    """The conditions that a message lists as those to blame; all of them if it lists none."""
    lines = [int(line) for line in re.findall(r"^  <string>:(\d+):\d+: ", text, re.MULTILINE)]
    first = 2 + len(world.grammar)  # an import and the rules come before
    return [world.conditions[line - first] for line in lines] or list(world.conditions)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=2_500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the number of one case")
    parser.add_argument("--budget", type=int, default=1_000, help="steps where there is nothing to be found")
    options = parser.parse_args(arguments)
    run = Run(options.seed, budget=options.budget)
    failures = 0
    for number in range(options.cases) if options.only is None else [options.only]:
        before = process_time()
        try:
            run.case(number)
        except Disagreement as problem:
            failures += 1
            print(f"{problem}\n")
        if process_time() - before > 10:
            print(f"case {number} took {process_time() - before:.0f} s")
    for miss in run.tally.misses:
        print(f"not found: {miss}")
    for core in run.tally.too_large:
        print(f"too large a core: {core}")
    for core in run.tally.innocent:
        print(f"blamed, but satisfiable: {core}")
    print(run.tally)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
