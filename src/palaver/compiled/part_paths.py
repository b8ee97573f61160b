"""Paths to the parts of a node: `..` and indices replaced by the children that they lead to, where that is certain."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import islice

from palaver.compiled.compiled_limits import MAX_STEPS_DOWN
from palaver.grammar.analysis import Analysis
from palaver.spec.ast import Bit, Child, Choice, Descendant, Expr, Index, Literal, Mention, Pattern, Ref, Selector
from palaver.spec.ast import Sequence as Parts
from palaver.spec.traversal import refs


def by_children(path: Selector, symbol: str, analysis: Analysis) -> Selector:
    """A path from a node of `symbol` with `..` replaced; as it is if there are several ways."""
    steps: list[Child | Descendant | Index] = []
    for step in path.steps:
        if isinstance(step, Index) and isinstance(step.value, int):
            part = _part_of(analysis.grammar.bodies.get(symbol), step.value)
            if part is None:
                return path
            step = Child(part)
        if isinstance(step, Descendant):
            # The node itself counts as well, if it has the symbol.
            ways = list(islice(_ways_down(symbol, step.symbol, analysis, ()), 2))
            if len(ways) != 1 or step.symbol == symbol:
                return path
            steps += ways[0]
        else:
            steps.append(step)
        if not isinstance(step, Index):
            symbol = step.symbol
    return Selector(path.base, tuple(steps))


def _ways_down(symbol: str, wanted: str, analysis: Analysis, before: tuple[Child, ...]) -> Iterator[tuple[Child, ...]]:
    if len(before) > MAX_STEPS_DOWN:
        yield from ((), ())  # too many to know
        return
    body = analysis.grammar.bodies.get(symbol)
    for child in dict.fromkeys(ref.symbol for ref in refs(body)) if body is not None else ():
        if child == wanted:
            yield (*before, Child(child))
        if wanted in analysis.below(child):
            yield from _ways_down(child, wanted, analysis, (*before, Child(child)))


class PartMentions(ast.NodeTransformer):
    """Turns `<r>.children[0]` and `<r>[0]` in Python into mentions of that part, and `x.to_bytes()` into `bytes(x)`.

    `symbols` has the symbol of each name that stands for a node; `mentions` gets those that are added.
    """

    def __init__(self, mentions: dict[str, Mention], symbols: dict[str, str], bodies: Mapping[str, Expr]) -> None:
        self.mentions = mentions
        self._symbols = symbols
        self._bodies = bodies

    def visit_Subscript(self, item: ast.Subscript) -> ast.expr:
        self.generic_visit(item)
        match item:
            case ast.Subscript(ast.Name(name) | ast.Attribute(ast.Name(name), "children"), index):
                return self._part(name, index) or item
            case ast.Subscript(ast.Call(ast.Attribute(ast.Name(name), "children"), [], []), index):
                return self._part(name, index) or item
        return item

    def visit_Call(self, call: ast.Call) -> ast.expr:
        self.generic_visit(call)
        match call:
            case ast.Call(ast.Attribute(ast.Name(name), "to_bytes"), [], []) if name in self._symbols:
                return ast.Call(ast.Name("bytes", ast.Load()), [ast.Name(name, ast.Load())], [])
            case ast.Call(ast.Attribute(ast.Name(name), "to_string"), [], []) if name in self._symbols:
                return ast.Call(ast.Name("str", ast.Load()), [ast.Name(name, ast.Load())], [])
        return call

    def _part(self, name: str, index: ast.expr) -> ast.expr | None:
        try:
            number = ast.literal_eval(index)
        except ValueError:
            return None
        symbol = self._symbols.get(name)
        if symbol is None or not isinstance(number, int):
            return None
        part = _part_of(self._bodies.get(symbol), number)
        if part is None:
            return None
        mention = self.mentions[name]
        inner = f"{name}_{part.strip('<>')}"
        self.mentions[inner] = Mention(inner, Selector(mention.path.base, (*mention.path.steps, Child(part))))
        self._symbols[inner] = part
        return ast.Name(inner, ast.Load())


def _part_of(body: Expr | None, number: int) -> str | None:
    """The symbol of a child of a node, if it is the same in all alternatives, and there is no other of its name."""
    found = set()
    for option in _options(body):
        parts = option.parts if isinstance(option, Parts) else (option,)
        # Children are counted from the near side, where each part must be one child.
        near = parts[: number + 1] if number >= 0 else parts[number:]
        if len(near) < (number + 1 if number >= 0 else -number):
            return None
        at = near[-1] if number >= 0 else near[0]
        if not isinstance(at, Ref) or sum(ref.symbol == at.symbol for ref in refs(option)) != 1:
            return None
        if not all(isinstance(part, Ref | Literal | Bit | Pattern) for part in near):
            return None
        found.add(at.symbol)
    return found.pop() if len(found) == 1 else None


def _options(body: Expr | None) -> list[Expr]:
    if isinstance(body, Choice):
        return [option for each in body.options for option in _options(each)]
    return [] if body is None else [body]
