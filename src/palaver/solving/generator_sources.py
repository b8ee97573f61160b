"""Sources of generated parts, recovered after parsing.

A rule `<s> ::= … := f(<a>)` says that `<s>` is made from `<a>`. When `<s>` was parsed instead, its `<a>` is recovered
by the inverse, the generator of `<a>`, and stored as the node's source, so that constraints can refer to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from palaver.grammar.analysis import Analysis, generator_arguments
from palaver.spec.ast import Rule
from palaver.spec.python_code import SPEC_CODE_RAISES, SpecFunction, describe_error, short_repr
from palaver.trees.node import Node, Part
from palaver.trees.tree import Tree


class NoSource(Exception):
    """A source could not be recovered; the text says which and why."""


class MissingInverse(NoSource):
    """There is no inverse by which it could be recovered, whatever the input is."""


class Sources:
    """Recovers sources for one grammar."""

    def __init__(
        self, analysis: Analysis, functions: Mapping[str, SpecFunction], read: Callable[..., Node | None]
    ) -> None:
        """`functions` are the compiled generators by symbol; `read` parses a value as a symbol, with a history."""
        self._rules = analysis.grammar.rules
        self._functions = functions
        self._read = read
        self._made = {
            name: generator_arguments(rule) for name, rule in self._rules.items() if generator_arguments(rule)
        }
        self._below = analysis.below

    def recover(self, node: Node, above: tuple[str, ...] = (), history: Sequence[Node] = ()) -> Node:
        """`node` with the sources of everything in it that a generator makes.

        `history` are the earlier trees that computed repetitions in sources look back at.

        :raises NoSource: there is no inverse, it raised, or its result does not fit
        """
        if not self._made or node.symbol not in self._concerned:
            return node
        # Rebuilt from the leaves up: each frame is a node, what is above it, and its children done so far.
        done: list[Part] = []
        frames: list[tuple[Node, tuple[str, ...], list[Part]]] = [(node, above, [])]
        while frames:
            current, over, children = frames[-1]
            if len(children) < len(current.children):
                child = current.children[len(children)]
                if isinstance(child, Node) and child.symbol in self._concerned:
                    frames.append((child, (*over, current.symbol), []))
                else:
                    children.append(child)
                continue
            frames.pop()
            rebuilt = current._replace(children=tuple(children), sources=self._sources(current, over, history))
            (frames[-1][2] if frames else done).append(rebuilt)
        (result,) = done
        assert isinstance(result, Node), "a node was put in"
        return result

    def made_again(self, node: Node) -> Node:
        """`node` with everything in it that a generator makes from sources made once more, from the same sources.

        That changes nothing, unless the generator depends on more than that, such as on a port that is free now.
        """
        done: list[Part] = []
        frames: list[tuple[Node, list[Part]]] = [(node, [])]
        while frames:
            current, children = frames[-1]
            if len(children) < len(current.children) and not current.sources:
                child = current.children[len(children)]
                if isinstance(child, Node) and child.symbol in self._concerned:
                    frames.append((child, []))
                else:
                    children.append(child)
                continue
            frames.pop()
            made = self._regenerated(current) if current.sources else current._replace(children=tuple(children))
            (frames[-1][1] if frames else done).append(made)
        (result,) = done
        assert isinstance(result, Node), "a node was put in"
        return result

    def _regenerated(self, node: Node) -> Node:
        generator = self._rules[node.symbol].generator
        sources = {str(source.symbol): source for source in node.sources}
        if generator is None or any(mention.path.base not in sources for mention in generator.mentions):
            return node
        try:
            value = self._functions[node.symbol](*(Tree(sources[each.path.base]) for each in generator.mentions))
            made = self._read(node.symbol, value)
        except SPEC_CODE_RAISES:
            return node  # as it was recorded
        return node if made is None else made._replace(sources=node.sources)

    @cached_property
    def _concerned(self) -> frozenset[str]:
        """The symbols of nodes that a generator with arguments makes, or makes something in."""
        return frozenset(name for name in self._rules if not self._made.keys().isdisjoint({name} | self._below(name)))

    def _sources(self, node: Node, above: tuple[str, ...], history: Sequence[Node]) -> tuple[Node, ...]:
        arguments = self._made.get(node.symbol, ())
        # The same rule that stops mutually inverse generators when generating stops them here.
        if any(symbol in above for symbol in arguments):
            return ()
        over = (*above, node.symbol)
        return tuple(self._source(node, self._rules[symbol], over, history) for symbol in arguments)

    def _source(self, node: Node, rule: Rule, above: tuple[str, ...], history: Sequence[Node]) -> Node:
        inverse = rule.generator
        if inverse is None:
            raise MissingInverse(f"{rule.symbol} cannot be computed from {node.symbol}: its rule has no generator")
        others = [mention.path.base for mention in inverse.mentions if mention.path.base != node.symbol]
        if others:
            raise MissingInverse(f"the inverse for {rule.symbol} also needs {others[0]}, which is not in the input")
        try:
            value = self._functions[rule.symbol](*(Tree(node) for _ in inverse.mentions))
            source = self._read(rule.symbol, value, history)
        except SPEC_CODE_RAISES as error:
            raise NoSource(f"the inverse {inverse.text} {describe_error(error)}") from error
        if source is None:
            raise NoSource(f"the inverse {inverse.text} returned {short_repr(value)}, which is not a {rule.symbol}")
        return self.recover(source, above, history)
