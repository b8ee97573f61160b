"""The grammar of a spec: rules by name, in order of declaration, complete and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from palaver.lean_dataclasses import dataclass
from palaver.source import Source
from palaver.spec.ast import Bit, Constraint, Expr, Literal, Objective, Pattern, Rule, Selector, Setting
from palaver.spec.traversal import computed_bounds, refs, walk

# The root of the rules about messages that the session does not have.
BEYOND = "<beyond>"
# An empty message of this name behind a wrong one says that nothing is answered.
SILENCE = "<silence>"


@dataclass(frozen=True)
class Grammar:
    """The rules, constraints, objectives and settings of a spec, with all names resolved."""

    rules: Mapping[str, Rule]
    start: str
    constraints: tuple[Constraint, ...] = ()
    objectives: tuple[Objective, ...] = ()
    settings: tuple[Setting, ...] = ()
    own: frozenset[str] = field(default=frozenset(), compare=False)  # symbols not of the library
    remarks: tuple[Constraint, ...] = ()  # constraints with a note: who breaks them is told of, and not accused
    beyond: Mapping[str, Rule] = field(default_factory=dict)  # the rules that only `<beyond>` leads to

    @cached_property
    def bodies(self) -> dict[str, Expr]:
        """The right-hand sides alone."""
        return {symbol: rule.body for symbol, rule in self.rules.items()}

    @cached_property
    def bodies_with_beyond(self) -> dict[str, Expr]:
        """The right-hand sides alone, also of the rules that only `<beyond>` leads to."""
        return {**self.bodies, **{symbol: rule.body for symbol, rule in self.beyond.items()}}

    @property
    def all_constraints(self) -> tuple[Constraint, ...]:
        """Those that must hold, and those with a note."""
        return (*self.constraints, *self.remarks)

    @cached_property
    def noted(self) -> dict[str, str]:
        """The symbols whose rules have a note, and what it says."""
        return {symbol: rule.note for symbol, rule in self.rules.items() if rule.note}


def source_of(rule: Rule) -> Source:
    """The source of a rule; an empty one if the rule replaces a symbol that is not defined."""
    return rule.source or Source("<rules>", "")


def bodies_below(bodies: Mapping[str, Expr], start: str) -> dict[str, Expr]:
    """The right-hand sides that `start` can lead to, in the order of `bodies`."""
    found = {start}
    todo = [start]
    while todo:
        fresh = [ref.symbol for ref in refs(bodies[todo.pop()]) if ref.symbol not in found]
        found.update(fresh)
        todo += fresh
    return {symbol: body for symbol, body in bodies.items() if symbol in found}


def uses_binary(bodies: Mapping[str, Expr], start: str) -> bool:
    """Return True if a tree of `start` may hold bytes or bits."""
    for body in bodies_below(bodies, start).values():
        for part in walk(body):
            match part:
                case Bit() | Literal(bytes()) | Pattern(bytes()):
                    return True
    return False


def tracked_selectors(grammar: Grammar) -> tuple[Selector, ...]:
    """The selectors that computed bounds mention, in the order of the spec."""
    bounds = (bound for rule in grammar.rules.values() for bound in computed_bounds(rule.body))
    return tuple(dict.fromkeys(mention.path for bound in bounds for mention in bound.mentions))
