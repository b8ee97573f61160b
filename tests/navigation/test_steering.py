"""Steered messages cover missing paths, and little else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice

import pytest

import palaver
from palaver.compiled import Spec
from palaver.navigation.coverage import NOTHING, Coverage, KPaths
from palaver.navigation.goals import CoverageGoal, GoalMembership, GoalProgress
from palaver.navigation.steering import PayloadSteering
from palaver.random_source import RandomSource
from palaver.solving.solving_limits import SolvingLimits
from palaver.trees.tree import Tree

JSON = r"""
<start>   ::= <element>
<element> ::= <space> <value> <space>
<value>   ::= <object> | <array> | <string> | <number> | "true" | "false" | "null"
<object>  ::= "{" <space> "}" | "{" <member> ("," <member>)* "}"
<member>  ::= <space> <string> ":" <element>
<array>   ::= "[" <space> "]" | "[" <element> ("," <element>)* "]"
<string>  ::= "'" <letter>* "'"
<letter>  ::= r"[a-z]" | "\\" <escape>
<escape>  ::= r"[bfnrt]" | "u" <hex>{4}
<hex>     ::= r"[0-9a-f]"
<number>  ::= "-"? <digit>+ <part>? <power>?
<digit>   ::= "0" | r"[1-9]"
<part>    ::= "." <digit>+
<power>   ::= ("e" | "E") ("+" | "-")? <digit>+
<space>   ::= (" " | "\t")*
"""

CHOICES = """
<start> ::= <a> | <b> | <c>
<a>     ::= "0" <b> | "1" (<c> | "2" <d>)
<b>     ::= "3" (<c> | <d>)? | "4"
<c>     ::= <d> <d> | <d> "5" | "6"
<d>     ::= "7" | "8" | "9" | "x"
"""

PARTS = """
<start>   ::= <verb> (" " <flag>)* (" " <name>)? (" " <where>)?
<verb>    ::= "put" | "get"
<flag>    ::= "-" <letter>+
<letter>  ::= "a" | "b" | "c" | "d"
<name>    ::= <letter> ("." <letter>)?
<where>   ::= "@" <host> (":" <port>)?
<host>    ::= <letter> | <letter> "." <host>
<port>    ::= "1" | "2"
"""

LEFT = """
<start>   ::= <sum>
<sum>     ::= <sum> "+" <product> | <sum> "-" <product> | <product>
<product> ::= <product> "*" <factor> | <product> "/" <factor> | <factor>
<factor>  ::= r"[0-9]" | "(" <sum> ")"
"""

DEEP = (
    "<start> ::= <r0>\n"
    + "".join(f'<r{depth}> ::= "a" | "b" <r{depth + 1}> | "c" <r0>\n' for depth in range(12))
    + '<r12> ::= "!" | "?"\n'
)


def coverage_of(spec: Spec, k: int) -> Coverage:
    return Coverage(KPaths(spec.grammar, k))


def steering_for(spec: Spec, coverage: Coverage, seed: int) -> PayloadSteering:
    goals = GoalMembership(coverage.paths, spec.forecaster().dialogue, [])
    return PayloadSteering(GoalProgress(coverage, goals, CoverageGoal.ALL), RandomSource(seed) / "steering")


def messages(spec: Spec, coverage: Coverage, seed: int, *, steered: bool) -> Iterator[Tree]:
    """Trees without end, each of them counted."""
    program = spec.solver_factory.program(20, frozenset())
    steering = steering_for(spec, coverage, seed) if steered else None
    chance = RandomSource(seed)
    while True:
        if steering is not None:
            steering.state = NOTHING
        tree = program.make_tree(spec.start, chance, nodes=200, steering=steering)
        coverage.cover_below(tree.node, NOTHING)
        yield tree


def needed(spec: Spec, k: int, seed: int, most: int, *, steered: bool) -> int:
    """How many messages it takes to cover everything; one more than `most` if those do not suffice."""
    coverage = coverage_of(spec, k)
    for count, _ in enumerate(islice(messages(spec, coverage, seed, steered=steered), most), 1):
        if len(coverage) == coverage.total:
            return count
    return most + 1


@pytest.mark.parametrize(
    ("text", "k", "total", "enough", "too_few_for_chance"),
    [
        (JSON, 3, 150, 12, 20),
        (JSON, 5, 340, 22, 50),
        (CHOICES, 3, 71, 25, 100),
        (PARTS, 5, 123, 10, 25),
        (LEFT, 5, 172, 15, 15),
        (DEEP, 4, 441, 70, 600),
    ],
    ids=["json, 3", "json, 5", "choices", "parts", "left recursion", "deep"],
)
def test_steering_covers_all_paths_in_far_fewer_messages(
    text: str, k: int, total: int, enough: int, too_few_for_chance: int
) -> None:
    spec = palaver.loads(text)
    assert coverage_of(spec, k).total == total
    for seed in range(5):
        assert needed(spec, k, seed, enough, steered=True) <= enough
        assert needed(spec, k, seed, too_few_for_chance, steered=False) > too_few_for_chance


@pytest.mark.parametrize("text", [JSON, CHOICES, PARTS, LEFT, DEEP])
def test_steered_messages_can_be_parsed(text: str) -> None:
    spec = palaver.loads(text)
    for tree in islice(messages(spec, coverage_of(spec, 5), 1, steered=True), 15):
        assert str(spec.parse(str(tree))) == str(tree)


@pytest.mark.parametrize("nodes", [1, 30, 300])
def test_messages_stay_within_their_budget(nodes: int) -> None:
    spec = palaver.loads(JSON)
    coverage = coverage_of(spec, 5)
    program, steering = spec.solver_factory.program(20, frozenset()), steering_for(spec, coverage, 1)
    for seed in range(20):
        steering.state = NOTHING
        # Nothing is ever counted, so everything is worth something in every message.
        tree = program.make_tree(spec.start, RandomSource(seed), nodes=nodes, steering=steering)
        assert tree.size() < 3 * nodes + 60


def test_when_everything_is_covered_steering_changes_nothing() -> None:
    spec = palaver.loads(JSON)
    coverage = coverage_of(spec, 5)
    program, steering = spec.solver_factory.program(20, frozenset()), steering_for(spec, coverage, 1)
    for path in coverage.paths:
        coverage.add_path(path)
    for seed in range(10):
        steering.state = NOTHING
        steered = program.make_tree(spec.start, RandomSource(seed), nodes=200, steering=steering)
        assert str(steered) == str(program.make_tree(spec.start, RandomSource(seed), nodes=200))


def test_only_paths_below_the_parent_of_the_message_are_sought() -> None:
    spec = palaver.loads('<start> ::= <in> | <out>\n<in> ::= <x>\n<out> ::= <x>\n<x> ::= "0" | "1" | "2"\n')
    coverage = coverage_of(spec, 5)
    program, steering = spec.solver_factory.program(20, frozenset()), steering_for(spec, coverage, 1)
    covered = ("<start>", "<in>", "<x>")
    coverage.add_path((*covered, "'0'"))
    coverage.add_path((*covered, "'2'"))
    coverage.add_path(("<start>", "<out>", "<x>", "'1'"))
    made = {}
    for holder in ("<in>", "<out>"):
        steering.state = coverage.state(("<start>", holder))
        made[holder] = {
            program.make("<x>", RandomSource(seed), nodes=9, steering=steering).children for seed in range(3)
        }
    assert made["<in>"] == {("1",)}
    assert made["<out>"] <= {("0",), ("2",)}


def test_messages_do_not_depend_on_the_hash_seed() -> None:
    script = (
        "from test_steering import *\n"
        "for text in (JSON, LEFT):\n"
        "    spec = palaver.loads(text)\n"
        "    print([str(tree) for tree in islice(messages(spec, coverage_of(spec, 5), 3, steered=True), 12)])\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=os.path.dirname(__file__),
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(outputs) == 1


# --- with constraints -------------------------------------------------------------------------------------------------


class Sender:
    """Sends messages that satisfy all constraints of a spec."""

    def __init__(self, text: str, k: int, seed: int) -> None:
        self.spec = palaver.loads(text)
        self.coverage = coverage_of(self.spec, k)
        self.steering = steering_for(self.spec, self.coverage, seed)
        chance = RandomSource(seed)
        constraints = self.spec.grammar.constraints
        self._solver = self.spec.solver_factory.solver(
            constraints, chance, chance / "fuzz", SolvingLimits(), steering=self.steering
        )

    def send(self) -> Tree:
        self.steering.state = NOTHING
        self._solver.begin()
        while not self._solver.is_exhausted:
            tree = self._solver.solve()
            if tree is not None:
                self.spec.validate(tree)
                self.coverage.cover_below(tree.node, NOTHING)
                return tree
        raise AssertionError(self._solver.failure)

    def missing(self) -> set[tuple[str, ...]]:
        return {path for path in self.coverage.missing() if len(path) == 1}


ODD_ONES = """
<start>  ::= <color> "/" <number> "/" <tail>
<color>  ::= "red" | "green" | "blue" | "black"
<number> ::= <digit> <digit>
<digit>  ::= "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9"
<tail>   ::= "x" <tail> | "y"
where sum(ord(c) for c in str(<number>)) % 2 == 0
where str(<color>) != "black"
"""


@pytest.mark.parametrize("seed", range(5))
def test_constraints_that_forbid_some_paths_leave_the_others_covered(seed: int) -> None:
    sender = Sender(ODD_ONES, 3, seed)
    for _ in range(40):
        sender.send()
    assert sender.missing() == {("'black'",)}


def test_a_path_that_is_never_covered_is_given_up() -> None:
    sender = Sender('<start> ::= <a> <b>\n<a> ::= "1" | "2"\n<b> ::= "1" | "2" | "3"\nwhere <a> == <b>\n', 2, 1)
    for _ in range(60):
        sender.send()
    walks = [sender.coverage.walks[state] for state in sender.steering.given_up]
    assert walks == [("<b>", "'3'")]
    assert sender.missing() == {("'3'",)}
