"""Fields that computed repetitions count by, while a tree is made."""

from __future__ import annotations

from palaver.generation.makers import Run
from palaver.grammar.bounds import last_symbol
from palaver.spec.ast import Child, Descendant, Path
from palaver.trees.node import Node, Part


def remember(node: Node, paths: tuple[Path, ...], run: Run) -> None:
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


def selects(path: Path, symbols: list[str]) -> bool:
    """Whether a node is selected by `path`, given the symbols from the root down to it."""
    steps = [step for step in path.steps if isinstance(step, Child | Descendant)]
    # The places in `symbols` that the path has reached after each step.
    reached = [at for at, symbol in enumerate(symbols) if symbol == path.base]
    for step in steps:
        if isinstance(step, Child):
            following = [at + 1 for at in reached]
        else:
            following = list(range(min(reached, default=len(symbols)), len(symbols)))
        reached = [at for at in following if at < len(symbols) and symbols[at] == step.symbol]
    return len(symbols) - 1 in reached
