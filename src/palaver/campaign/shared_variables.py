"""Variables of a spec's Python code that its functions change: sessions that go on at the same time would mix them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

# Methods that change what they are called on.
_CHANGING = frozenset(
    (
        *("append", "appendleft", "add", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "remove"),
        *("reverse", "setdefault", "sort", "update"),
    )
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def shared_variables(modules: Sequence[ast.Module]) -> list[str]:
    """The names of the variables outside of functions that code inside of functions changes."""
    outside = {name for module in modules for statement in module.body for name in _assigned(statement)}
    found: dict[str, None] = {}
    for module in modules:
        at_load = _run_at_load(module)
        for function in ast.walk(module):
            if isinstance(function, _FUNCTIONS) and function not in at_load:
                own = set(_own_names(function))
                found.update(dict.fromkeys(name for name in _changed(function) if name in outside - own))
                found.update(dict.fromkeys(_declared_global(function)))
    return list(found)


def _run_at_load(module: ast.Module) -> set[ast.AST]:
    """Code that runs before any session: decorators, and functions that are called only outside of functions."""
    defined = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    decorators = {name for node in defined for each in node.decorator_list for name in _mentioned(each)}
    outside = {name for node in module.body if isinstance(node, ast.Expr) for name in _mentioned(node)}
    inside = {name for node in defined for each in node.body for name in _mentioned(each)}
    names = decorators | (outside - inside)
    return {inner for node in defined if node.name in names for inner in ast.walk(node)}


def _mentioned(node: ast.AST) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def _assigned(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement outside of functions gives values to."""
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _own_names(function: ast.AST) -> Iterator[str]:
    """The names that a function binds itself: parameters, and what it assigns to without `global`."""
    declared = set(_declared_global(function))
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in declared:
            yield node.id


def _declared_global(function: ast.AST) -> Iterator[str]:
    return (name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names)


def _changed(function: ast.AST) -> Iterator[str]:
    """The names of the objects that a function changes in place."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            yield from _base(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            yield from _base(node.func.value)


def _base(node: ast.expr) -> Iterable[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return (node.id,) if isinstance(node, ast.Name) else ()
