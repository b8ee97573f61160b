"""Computed repetition in the Earley parser: environments, as of data-dependent grammars (Jim et al. 2010).

An *environment* holds, for each path that some bound follows, the node that the path selected last. Items carry it from
left to right, and goals in which it matters are told apart by it. Without computed bounds all environments are `()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from palaver.matching.bound_paths import together
from palaver.matching.bounded_ends import PossibleEnds, ends_of_encoded
from palaver.matching.earley_items import Binding, CompletedGoal, EarleyItem, Environment
from palaver.matching.grammar_slots import Computed, Nonterminal
from palaver.matching.grammar_tables import BoundEvaluator, GrammarTables
from palaver.matching.matching_limits import MAX_SHARED_TEXT
from palaver.matching.token_rules import RuleToken
from palaver.spec.python_code import SPEC_CODE_RAISES, describe_error
from palaver.trees.node import Node

if TYPE_CHECKING:
    from palaver.matching.earley import EarleyParser


class ComputedBounds:
    """The computed bounds of one parse, each evaluated once per environment."""

    # The parser is passed to each call, not kept: a reference cycle would delay when Python frees it.

    def __init__(
        self, tables: GrammarTables, bound: BoundEvaluator, first_tree: Callable[[EarleyParser, CompletedGoal], Node]
    ) -> None:
        self.crashes: list[str] = []
        self._tables = tables
        self._unit = tables.unit
        self._bound = bound
        self._first_tree = first_tree
        self._bounds: dict[tuple[Computed, tuple[Binding, ...]], int | None] = {}
        self._bindings: dict[tuple[int, int, int], Binding] = {}

    def select(self, paths: tuple[int, ...], start: int, end: int, env: Environment) -> Environment:
        """The environment once a node that these paths select has ended."""
        bindings = list(env)
        for path in paths:
            key = path, start, end
            if key not in self._bindings:
                self._bindings[key] = Binding(start, end)
            bindings[path] = self._bindings[key]
        return tuple(bindings)

    def forget(self, paths: tuple[int, ...], env: Environment, before: Environment) -> Environment:
        """The environment at the end of a node, with these paths as they were before it."""
        bindings = list(env)
        for path in paths:
            bindings[path] = before[path]
        return tuple(bindings)

    def select_token(self, item: EarleyItem, token: RuleToken, end: int) -> Environment:
        """The environment once the token that `item` calls has ended before the character number `end`."""
        _, selected = self._tables.bound_paths.descend(item.goal.path_state, token.symbol)
        env = self.select(selected, item.pos, end * self._unit, item.env)
        for path in selected:
            binding = env[path]
            if binding is not None:
                binding.origin = token
        return env

    def of(self, target: Nonterminal, env: Environment, parser: EarleyParser) -> tuple[int, int | None] | None:
        """The bounds of a repetition; None if they cannot be met."""
        said = target.least
        if isinstance(said, Computed) and said.advice is not None:
            return said.advice.bounds(self._evaluate(said, env, parser))
        least = self._evaluate(said, env, parser)
        most = None
        if target.most is not None:
            most = least if target.most is said else self._evaluate(target.most, env, parser)
            if most is None or most < 0:
                return None
        if least is None or (most is not None and least > most):
            return None
        return max(0, least), most

    def ends(self, target: Nonterminal, start: int, env: Environment, parser: EarleyParser) -> PossibleEnds | None:
        """The positions at which a bounded rule may end, if it is counted from `start`; None if nothing is known."""
        if target.length is None or target.length.advice is None:
            return None
        value = self._evaluate(target.length, env, parser)
        if value is None:
            return None
        lengths = target.length.advice.amounts(value)
        if target.is_encoded:
            return ends_of_encoded(parser.buffer, start, lengths)
        return PossibleEnds(start + lengths[0] * self._unit, start + lengths[1] * self._unit)

    def _evaluate(self, bound: int | Computed, env: Environment, parser: EarleyParser) -> int | None:
        """The value of a bound; None if it has none."""
        if isinstance(bound, int):
            return bound
        paths = bound.paths
        if len(paths) == 1 and (binding := env[paths[0]]) is not None:
            bindings: tuple[Binding, ...] = (binding,)
        else:
            bindings = tuple([binding for path in paths if (binding := env[path]) is not None])
            if len(bindings) < len(paths):
                return None
        key = bound, bindings
        if key not in self._bounds:
            self._bounds[key] = self._compute(bound, bindings, parser)
        return self._bounds[key]

    def _compute(self, bound: Computed, bindings: tuple[Binding, ...], parser: EarleyParser) -> int | None:
        text = self._short_text(bindings[0], parser.buffer) if bound.is_pure and len(bindings) == 1 else None
        if text is not None and text in bound.known:
            return bound.known[text]
        nodes = [self._node_of(binding, parser) for binding in bindings]
        try:
            value = int(self._bound(bound.expression, together(nodes)))
        except SPEC_CODE_RAISES as error:
            if bound.advice is not None:
                return None  # the constraint itself will tell
            crash = f"the bound {{{bound.expression.text}}} {describe_error(error)}"
            if crash not in self.crashes:
                self.crashes.append(crash)
            return None
        if text is not None:
            bound.known[text] = value
        return value

    def _short_text(self, binding: Binding, buffer: str) -> str | None:
        """The text of a binding, if it was read from this input and has only a few whole characters."""
        start, bits = divmod(binding.start, self._unit)
        end, more_bits = divmod(binding.end, self._unit)
        is_short = not bits and not more_bits and start >= 0 and end - start <= MAX_SHARED_TEXT
        return buffer[start:end] if is_short else None

    def _node_of(self, binding: Binding, parser: EarleyParser) -> Node:
        if binding.node is None:
            origin = binding.origin
            assert origin is not None  # set as soon as the binding is made
            if isinstance(origin, CompletedGoal):
                # A field that may end anywhere is made into a tree for each of its ends.
                parser.spend((binding.end - binding.start) // self._unit)
                binding.node = self._first_tree(parser, origin)
            else:
                text = parser.buffer[binding.start // self._unit : binding.end // self._unit]
                binding.node = origin.node(text, None, lazy=parser.lazy)
        return binding.node
