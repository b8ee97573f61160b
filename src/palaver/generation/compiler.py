"""Random derivations (Hanford 1970): rules, compiled to closures (Feeley & Lapalme 1987) that make trees.

A `MakerCompiler` turns each rule, once, into functions, put together from those in `makers`. Each is called with a
`Derivation`: the randomness, the nodes that may still be spent, and what computed repetitions and generators need to
know about the tree so far. The grammar is never looked at again.

Four things keep it fast. A rule with only one tree is one shared node. A symbol with a few small trees (`<bit>`,
`<byte>`, `<digit>`) is a pool of shared nodes. Leaves are collected as they are made. And the symbols above a node are
only kept where a generator or a computed repetition asks for them.

Once the budget of nodes is spent, every choice takes one of its cheapest options, so recursion ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import assert_never

import palaver.spec.ast as ast
from palaver.generation import makers as plain
from palaver.generation import mutations
from palaver.generation.depth import shallow
from palaver.generation.generation_limits import MAX_COMPUTED_COUNT, MAX_NODES, MAX_POOL_SIZE
from palaver.generation.makers import Attempts, Body, Derivation, Discarded, Many, One
from palaver.generation.makers import SpecCode as SpecCode  # exported until all import it from there
from palaver.grammar.analysis import (
    can_be_empty,
    cyclic_symbols,
    generator_arguments,
    least_size,
    nullable_symbols,
    reachable,
)
from palaver.grammar.ir import Grammar, tracked_selectors
from palaver.lean_dataclasses import dataclass
from palaver.regular.regex import compile_pattern
from palaver.regular.words import compile_draw, drawn_from
from palaver.spec.ast import Bit, Bound, Choice, Expr, Literal, Pattern, Permutation, Ref, Repeat, Sequence
from palaver.spec.traversal import last_symbol, refs
from palaver.trees.node import Leaf, Node, NonTerminal, Part, new
from palaver.trees.values import leaves_of


@dataclass(frozen=True, slots=True)
class Task:
    """The input of a compiler."""

    grammar: Grammar
    sizes: Mapping[str, int]
    code: SpecCode
    binary: bool  # all leaves are bytes or bits
    most: int  # limits unbounded repetition
    fields: frozenset[str]  # symbols that may get makers of their own in a run
    values: frozenset[str]  # symbols whose known values may be used again
    is_shallow: Callable[[str, int], bool]  # True if trees of the symbol have at most that depth


class MakerCompiler:
    """Makes the makers of one grammar."""

    def __init__(self, task: Task) -> None:
        grammar = task.grammar
        self._rules = grammar.rules
        self._fields = task.fields
        self._values = task.values
        self._sizes = task.sizes
        self._code = SpecCode(shallow(task.code.bound), shallow(task.code.generate))
        self._binary = task.binary
        self._most = task.most
        self._mutation_rates = mutations.MutationRates(grammar.settings)
        self._tracked = tracked_selectors(grammar)
        with_arguments = any(generator_arguments(rule) for rule in grammar.rules.values())
        self._keep_above = with_arguments or any(path.steps for path in self._tracked)
        counted = {last_symbol(path) for path in self._tracked}
        children = {name: [ref.symbol for ref in refs(rule.body)] for name, rule in grammar.rules.items()}
        # Fields that are counted by, and all that can contain one.
        self._pinnable = {
            name for name in grammar.rules if counted and not counted.isdisjoint(reachable(name, children))
        }
        self._pools: dict[str, tuple[Node, ...] | None] = {}
        self._nullable = nullable_symbols(grammar.rules)
        self._cyclic = cyclic_symbols(grammar.rules, self._nullable)
        # Rules mention each other, so functions look these up when they run; both are complete by then.
        self._bodies: dict[str, Body] = {}
        self.makers: dict[str, One] = {}
        self._argument_makers: Mapping[str, One] = self.makers

    def compile(self) -> Mapping[str, One]:
        """A maker for each symbol."""
        for symbol, rule in self._rules.items():
            self._bodies[symbol] = self._body(rule.body, symbol)
            self.makers[symbol] = self.symbol(Ref(symbol), symbol)
        return self.makers

    def symbol(self, ref: Ref, rule: str) -> One:
        """A maker for a reference that stands in `rule`."""
        if self._sizes[ref.symbol] > MAX_NODES:
            return plain.too_large(ref.symbol)
        pool = self._pool_for(ref)
        if pool is not None:
            return plain.from_pool(pool)
        make = self._generated(ref) or self._given(ref) or self.expanded(ref)
        if self._is_recalled(ref.symbol):
            make = plain.recalled(ref.symbol, ref.parties, make)
        make = self._track(ref.symbol, plain.without_rounds(make) if ref.symbol in self._cyclic else make)
        other = self._mutation_rates.rates(ref, rule).get("non_terminal_use_other_rule", 0)
        return mutations.mutated_part(other, self._other_rule(ref), make) if other else make

    def _is_recalled(self, symbol: str) -> bool:
        """Return True if a known value may stand for a symbol."""
        return symbol in self._values

    def expanded(self, ref: Ref) -> One:
        """A maker that expands the rule."""
        symbol, parties, bodies = NonTerminal(ref.symbol), ref.parties, self._bodies

        def expand(run: Derivation) -> Node:
            run.left -= 1
            return new(Node, (symbol, bodies[symbol](run), (), parties))

        def expand_below(run: Derivation) -> Node:
            run.left -= 1
            run.above.append(symbol)
            node = new(Node, (symbol, bodies[symbol](run), (), parties))
            run.above.pop()
            return node

        return expand_below if self._keep_above else expand

    def _generated(self, ref: Ref) -> One | None:
        rule = self._rules[ref.symbol]
        if rule.generator is None:
            return None
        arguments, parties = generator_arguments(rule), ref.parties
        expand, generate, makers = self.expanded(ref), self._code.generate, self._argument_makers

        def run_generator(run: Derivation) -> Part:
            # A generator whose argument is being made just now is the inverse of that one; the rule alone decides then.
            if any(symbol in run.above for symbol in arguments):
                return expand(run)
            run.left -= 1
            run.above.append(rule.symbol)
            before = len(run.leaves)
            made = [makers[symbol](run) for symbol in arguments]
            del run.leaves[before:]  # arguments are not part of the text
            run.above.pop()
            sources = tuple(source for source in made if isinstance(source, Node))
            node = generate(rule, sources, run.last)
            run.leaves += leaves_of(node)
            return Node(node.symbol, node.children, sources, parties)

        return run_generator

    def _given(self, ref: Ref) -> One | None:
        """A maker that calls the run's maker of this field, if there is one."""
        if ref.symbol not in self._fields:
            return None
        symbol, parties, expand, attempts = ref.symbol, ref.parties, self.expanded(ref), self._attempts(ref)

        def give(run: Derivation) -> Part:
            field = run.fields.get(symbol)
            if field is None:
                return expand(run)
            before, left = len(run.leaves), run.left
            node = field(attempts(run))
            run.left = left - 1
            del run.leaves[before:]  # candidates are not part of the text
            run.leaves += leaves_of(node)
            return node if node.parties == parties else node._replace(parties=parties)

        return give

    def _attempts(self, ref: Ref) -> Attempts:
        """Candidates for a node, for the maker of a field."""
        return plain.by_the_rule(self.expanded(ref))

    def _other_rule(self, ref: Ref) -> One:
        symbol, parties = NonTerminal(ref.symbol), ref.parties
        names, bodies = list(self._rules), self._bodies

        def expand_another(run: Derivation) -> Part:
            run.left -= 1
            return Node(symbol, bodies[names[int(run.random() * len(names))]](run), (), parties)

        return expand_another

    def _track(self, symbol: str, make: One) -> One:
        """`make`, which also remembers its node for the bounds that mention it, and can be told which node to use."""
        if symbol not in self._pinnable:
            return make
        tracked = self._tracked
        paths = [path for path in tracked if last_symbol(path) == symbol]

        def remembered(run: Derivation) -> Part:
            pinned = run.pins.pop(symbol, None)
            if pinned is not None:
                remember(pinned, tracked, run)
                run.leaves += leaves_of(pinned)
                return pinned
            node = make(run)
            assert isinstance(node, Node), "the maker of a symbol makes a node"
            for path in paths:
                if selects(path, [*run.above, symbol]):
                    run.last[path] = node
            return node

        return remembered

    def _pool_for(self, expr: Expr) -> tuple[Node, ...] | None:
        return self._pool(expr.symbol) if isinstance(expr, Ref) and expr.sender is None else None

    def _pool(self, symbol: str) -> tuple[Node, ...] | None:
        """All trees of a symbol that is one of a few small things, each as likely as the others; else None."""
        if symbol not in self._pools:
            self._pools[symbol] = None  # a symbol that contains itself has no pool
            self._pools[symbol] = self._build_pool(symbol)
        return self._pools[symbol]

    def _build_pool(self, symbol: str) -> tuple[Node, ...] | None:
        rule = self._rules[symbol]
        if rule.generator is not None or symbol in self._pinnable or symbol in self._fields or self._mutation_rates:
            return None
        choices = self._alternatives(rule.body)
        if choices is None or len(choices) > MAX_POOL_SIZE:
            return None
        name = NonTerminal(symbol)
        return tuple(Node(name, children) for children in choices)

    def _alternatives(self, expr: Expr) -> list[tuple[Part, ...]] | None:
        match expr:
            case Literal() | Bit():
                return [(self._leaf(expr),)]
            case Pattern(source):
                chars = drawn_from(compile_pattern(source), binary=self._binary)
                return None if not chars else [(char.encode("latin-1") if self._binary else char,) for char in chars]
            case Ref(symbol, None):
                pool = self._pool(symbol)
                return None if pool is None else [(node,) for node in pool]
            case Choice(options):
                each = [self._alternatives(option) for option in options]
                # Only if every option is one thing are the things as likely as the options.
                return [one[0] for one in each if one] if all(one and len(one) == 1 for one in each) else None
            case Sequence(parts):
                each = [self._alternatives(part) for part in parts]
                is_one = all(one and len(one) == 1 for one in each)
                return [tuple(part for one in each if one for part in one[0])] if is_one else None
            case Ref() | Repeat() | Permutation():
                return None
            case _:
                assert_never(expr)

    def _body(self, expr: Expr, rule: str) -> Body:
        """A maker for all children of a node."""
        parts = expr.parts if isinstance(expr, Sequence) else (expr,)
        ones = [one for part in parts if (one := self._one(part, rule)) is not None]
        if len(ones) == len(parts):
            return plain.all_of(ones)
        several = self._many(expr, rule)

        def body(run: Derivation) -> tuple[Part, ...]:
            out: list[Part] = []
            several(run, out)
            return tuple(out)

        return body

    def _one(self, expr: Expr, rule: str) -> One | None:
        """A maker for an expression that is always exactly one part; None for any other."""
        match expr:
            case Ref():
                return self.symbol(expr, rule)
            case Literal() | Bit() | Pattern() if not self._mutation_rates:
                return self._terminal(expr)
            case Choice(options) if not self._mutation_rates:
                ones = [one for option in options if (one := self._one(option, rule)) is not None]
                return self._choice_of_ones(ones, options) if len(ones) == len(options) else None
            case Literal() | Bit() | Pattern() | Choice() | Sequence() | Repeat() | Permutation():
                return None
            case _:
                assert_never(expr)

    def _many(self, expr: Expr, rule: str) -> Many:
        """A maker for any expression."""
        one = self._one(expr, rule)
        if one is not None:
            return plain.appending(one)
        match expr:
            case Literal() | Bit() | Pattern():
                return self._mutated_terminal(expr, rule)
            case Sequence(parts):
                return plain.in_turn([self._many(part, rule) for part in parts])
            case Choice(options):
                makers = [self._many(option, rule) for option in options]
                choose = self._choice_of_many(makers, options)
                rate = self._mutation_rates.rates(expr, rule).get("alternatives_should_concatenate", 0)
                return mutations.mutated(rate, mutations.several_of(makers), choose, grows=True) if rate else choose
            case Repeat():
                return self.repeat(expr, rule)
            case Permutation(parts):
                return plain.shuffled([self._many(part, rule) for part in parts])
            case Ref():
                raise AssertionError("a reference is always one part")
            case _:
                assert_never(expr)

    def _choice_of_ones(self, makers: list[One], options: tuple[Expr, ...]) -> One:
        return plain.choice_of_ones(makers, self._costs(options))

    def _choice_of_many(self, makers: list[Many], options: tuple[Expr, ...]) -> Many:
        return plain.choice_of_many(makers, self._costs(options))

    def _costs(self, options: tuple[Expr, ...]) -> list[int]:
        return [least_size(option, self._sizes) for option in options]

    def _terminal(self, expr: Literal | Bit | Pattern) -> One:
        if not isinstance(expr, Pattern):
            return plain.constant(self._leaf(expr))
        draw = compile_draw(compile_pattern(expr.source), binary=self._binary, most=self._most)
        return plain.drawn(draw)

    def _leaf(self, expr: Literal | Bit) -> Leaf:
        if isinstance(expr, Bit) or isinstance(expr.value, bytes):
            return expr.value
        return expr.value.encode() if self._binary else expr.value

    def _mutated_terminal(self, expr: Literal | Bit | Pattern, rule: str) -> Many:
        """A terminal with the mutations of the settings."""
        make, rates = plain.appending(self._terminal(expr)), self._mutation_rates.rates(expr, rule)
        if isinstance(expr, Pattern) and (rate := rates.get("invert_regex", 0)):
            tries = int(rates.get("max_out_of_regex_tries", 10_000))
            make = mutations.mutated(rate, mutations.outside(compile_pattern(expr.source).matches, make, tries), make)
        if rate := rates.get("terminal_should_repeat", 0):
            make = mutations.mutated(rate, mutations.repeated(make, (0, 2, 3, 4, 5)), make)
        if rate := rates.get("havoc_probability", 0):
            make = mutations.mutated(rate, mutations.havoc(make, int(rates.get("max_stack_pow", 7))), make)
        return make

    def repeat(self, expr: Repeat, rule: str) -> Many:
        """A maker for a repetition that stands in `rule`."""
        once = self._many(expr.body, rule)
        repeat = self._counted(expr, once)
        kind, rates = mutations.node_type(expr), self._mutation_rates.rates(expr, rule)
        if kind == "Plus" and (rate := rates.get("plus_should_return_nothing", 0)):
            return mutations.mutated(rate, mutations.nothing, repeat)
        if kind == "Option" and (rate := rates.get("option_should_return_multiple", 0)):
            return mutations.mutated(rate, mutations.repeated(once, (2, 3, 4, 5)), repeat, grows=True)
        return repeat

    def _counted(self, expr: Repeat, once: Many) -> Many:
        least, most = expr.least, expr.most
        if isinstance(least, int) and (most is None or isinstance(most, int)):
            if least == most:
                pool = self._pool_for(expr.body)
                return plain.exactly(once, least) if pool is None else plain.exactly_from(pool, least)
            cost = least_size(expr.body, self._sizes)
            further = plain.if_not_empty(once) if can_be_empty(expr.body, self._nullable) else once
            if most is None:
                return plain.unbounded(once, further, least, self._most, cost)
            pool = self._pool_for(expr.body)
            if pool is not None and further is once:
                several = plain.times_from(pool)
                return plain.between(several, several, least, most, self._most, cost)
            return plain.between(plain.times(once), plain.times(further), least, most, self._most, cost)
        return self._computed(least, most, once)

    def _computed(self, least: Bound, most: Bound | None, once: Many) -> Many:
        lowest = self._bound(least)
        highest = None if most is None else lowest if most == least else self._bound(most)
        spread = self._most

        def computed(run: Derivation, out: list[Part]) -> None:
            low = lowest(run)
            high = low + spread if highest is None else low if highest is lowest else highest(run)
            if low > MAX_COMPUTED_COUNT:
                MAX_COMPUTED_COUNT.reached()
                raise Discarded(f"a bound asks for more than {MAX_COMPUTED_COUNT} repetitions")
            if low > high:
                raise Discarded(f"a bound asks for {low} to {high} repetitions")
            high = min(high, low + spread)
            for _ in range(low + int(run.random() * (high - low + 1))):
                once(run, out)

        return computed

    def _bound(self, bound: Bound) -> Callable[[Derivation], int]:
        if isinstance(bound, int):
            return lambda run: bound
        evaluate = self._code.bound
        if not bound.mentions:
            return lambda run: evaluate(bound, None)
        path = bound.mentions[0].path

        def from_field(run: Derivation) -> int:
            node = run.last.get(path)
            if node is None:
                raise Discarded(f"nothing precedes {{{bound.text}}} that it could count")
            return evaluate(bound, node)

        return from_field


def remember(node: Node, paths: tuple[ast.Selector, ...], run: Derivation) -> None:
    """Note every node inside a given one that a bound mentions, as if it had just been made."""
    todo: list[tuple[Part, list[str]]] = [(node, run.above)]
    while todo:
        part, above = todo.pop()
        if isinstance(part, Node):
            symbols = [*above, part.symbol]
            for path in paths:
                if last_symbol(path) == part.symbol and selects(path, symbols):
                    run.last[path] = part
            todo.extend((child, symbols) for child in reversed(part.children))


def selects(path: ast.Selector, symbols: list[str]) -> bool:
    """Return True if `path` selects a node, given the symbols from the root down to it."""
    steps = [step for step in path.steps if isinstance(step, ast.Child | ast.Descendant)]
    # The places in `symbols` that the path has reached after each step.
    reached = [at for at, symbol in enumerate(symbols) if symbol == path.base]
    for step in steps:
        if isinstance(step, ast.Child):
            following = [at + 1 for at in reached]
        else:
            following = list(range(min(reached, default=len(symbols)), len(symbols)))
        reached = [at for at in following if at < len(symbols) and symbols[at] == step.symbol]
    return len(symbols) - 1 in reached
