"""The tree maker: all makers of a grammar, ready to make trees of any of its symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import MappingProxyType

from palaver.generation import mutations
from palaver.generation.compiler import MakerCompiler, Task, remember
from palaver.generation.depth import deep_calls
from palaver.generation.generation_limits import MAX_SHALLOW_PARTS
from palaver.generation.makers import Derivation, Discarded, FieldMakers, One, SpecCode, Steering, ValueSource
from palaver.generation.steered import SteeredCompiler
from palaver.grammar.ir import Grammar, tracked_selectors
from palaver.lean_dataclasses import dataclass
from palaver.random_source import RandomSource
from palaver.regular.words import NoSuchString
from palaver.spec.ast import Selector
from palaver.trees.node import Node
from palaver.trees.tree import Tree

NO_FIELDS: FieldMakers = MappingProxyType({})


@dataclass
class TreeMaker:
    """The makers of one grammar."""

    _task: Task = field(repr=False)
    _compiler: MakerCompiler = field(repr=False)
    _follows_the_grammar: bool  # or breaks it now and then, as settings say
    _shallow: dict[str, bool] = field(default_factory=dict, init=False, repr=False)  # by symbol, when first made

    def make_tree(
        self,
        symbol: str,
        chance: RandomSource,
        *,
        nodes: int,
        fields: FieldMakers = NO_FIELDS,
        steering: Steering | None = None,
        values: ValueSource | None = None,
    ) -> Tree:
        """A random tree of `symbol` that spends about `nodes` nodes.

        `fields` make the nodes of their symbols; `steering` gives choices a value; `values` offers known nodes.

        :raises Discarded: a generator, a field or a computed repetition could not be satisfied this time
        """
        run = Derivation(chance, nodes, fields)
        node = self._make(symbol, run, steering, values)
        # A mutation may change a leaf after it was collected.
        return Tree.with_leaves(node, run.leaves) if self._follows_the_grammar else Tree(node)

    def make(
        self,
        symbol: str,
        chance: RandomSource,
        *,
        nodes: int,
        above: tuple[str, ...] = (),
        history: Sequence[Node] = (),
        pins: Mapping[str, Node] = MappingProxyType({}),
        fields: FieldMakers = NO_FIELDS,
        steering: Steering | None = None,
        values: ValueSource | None = None,
    ) -> Node:
        """A random node of `symbol`, as a part of a larger tree; `fields`, `steering` and `values` as for `make_tree`.

        `above` are the symbols it will stand below, `history` the trees before it that computed repetitions may look
        back at. `pins` are nodes to be used where their symbols are first due; this works for fields that a repetition
        counts by, and what contains them.

        :raises Discarded: a generator, a field or a computed repetition could not be satisfied this time
        """
        run = Derivation(chance, nodes, fields)
        for earlier in history:
            remember(earlier, self._tracked, run)
        run.above.extend(above)
        run.pins.update(pins)
        return self._make(symbol, run, steering, values)

    def _make(self, symbol: str, run: Derivation, steering: Steering | None, values: ValueSource | None) -> Node:
        makers: Mapping[str, One] = self._compiler.makers
        if values is not None:
            values.begin()
            run.values = values
        if steering is not None:
            makers = self._steered_makers
            steering.begin()
            run.steering, run.state = steering, steering.state
        is_shallow = self._shallow.get(symbol)
        if is_shallow is None:
            is_shallow = self._follows_the_grammar and self._task.is_shallow(symbol, MAX_SHALLOW_PARTS)
            self._shallow[symbol] = is_shallow
        try:
            if is_shallow:
                node = makers[symbol](run)
            else:
                with deep_calls():
                    node = makers[symbol](run)
        except NoSuchString:
            raise Discarded("a regular expression could not be instantiated") from None
        except RecursionError:
            raise Discarded("the tree became too deep") from None
        assert isinstance(node, Node), "the maker of a symbol makes a node"
        return node

    @cached_property
    def _tracked(self) -> tuple[Selector, ...]:
        return tracked_selectors(self._task.grammar)

    def prepare_steering(self) -> None:
        """Compile now the makers that would be compiled when something is first steered."""
        assert self._steered_makers, "there is a maker for each symbol"

    @cached_property
    def _steered_makers(self) -> Mapping[str, One]:
        """The steered makers; most programs never need them."""
        with deep_calls():
            return SteeredCompiler(self._task, self._compiler).compile()


def compile_tree_maker(
    grammar: Grammar,
    sizes: Mapping[str, int],
    code: SpecCode,
    *,
    binary: bool,
    most: int,
    fields: frozenset[str] = frozenset(),
    values: frozenset[str] = frozenset(),
    is_shallow: Callable[[str, int], bool] = lambda _symbol, _most: False,
) -> TreeMaker:
    """The makers for `grammar`; the arguments are those of `Task`."""
    task = Task(grammar, sizes, code, binary, most, fields, values, is_shallow)
    compiler = MakerCompiler(task)
    with deep_calls():
        compiler.compile()
    return TreeMaker(task, compiler, not mutations.MutationRates(grammar.settings))
