"""Calls of a spec's own small functions, replaced by what they return, so that equations inside of them are seen.

A function is inlined if it only assigns names and returns an expression: `def size(x): return len(bytes(x))`. The
result is read for hints, and never run in place of the condition.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import deepcopy
from types import FunctionType
from typing import Any

from palaver.compiled.compiled_limits import MAX_INLINED_CALLS


def with_helpers_inlined(
    python: ast.expr, functions: Mapping[str, ast.FunctionDef], names: Mapping[str, Any]
) -> ast.expr:
    """The expression with the calls of simple functions replaced, also those inside of them."""
    inliner = _Inliner(functions, names)
    for _ in range(MAX_INLINED_CALLS):
        before = inliner.count
        python = inliner.visit(deepcopy(python))
        if inliner.count == before or inliner.count > MAX_INLINED_CALLS:
            break
    return python


class _Inliner(ast.NodeTransformer):
    def __init__(self, functions: Mapping[str, ast.FunctionDef], names: Mapping[str, Any]) -> None:
        self._functions = functions
        self._names = names
        self.count = 0

    def visit_Call(self, call: ast.Call) -> ast.expr:
        self.generic_visit(call)
        if not isinstance(call.func, ast.Name) or call.keywords or self.count > MAX_INLINED_CALLS:
            return call
        function = self._functions.get(call.func.id)
        if function is None or not _is_itself(function, self._names.get(call.func.id)):
            return call
        returned = _returned(function, call.args)
        self.count += returned is not None
        return returned or call


def _is_itself(function: ast.FunctionDef, value: object) -> bool:
    """Return True if a name still has the function that was defined, undecorated."""
    is_defined = isinstance(value, FunctionType) and value.__name__ == function.name
    return is_defined and not function.decorator_list


def _returned(function: ast.FunctionDef, arguments: list[ast.expr]) -> ast.expr | None:
    """The expression that a call returns; None if there is more to the function than that."""
    takes = function.args
    parameters = [each.arg for each in (*takes.posonlyargs, *takes.args)]
    if len(parameters) != len(arguments) or takes.vararg or takes.kwarg or takes.kwonlyargs:
        return None
    values = dict(zip(parameters, arguments, strict=True))
    for statement in function.body:
        match statement:
            case ast.Expr(ast.Constant()):
                continue  # a docstring
            case ast.Assign([ast.Name(name)], value) if not _binds_names(value):
                values[name] = _Substitution(values).visit(deepcopy(value))
            case ast.Return(value) if value is not None and not _binds_names(value):
                returned: ast.expr = _Substitution(values).visit(deepcopy(value))
                return returned
            case _:
                return None
    return None


def _binds_names(python: ast.expr) -> bool:
    """Return True for code with names of its own, which could be mistaken for others."""
    scopes = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)
    return any(isinstance(node, scopes) for node in ast.walk(python))


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, name: ast.Name) -> ast.expr:
        return deepcopy(self._values[name.id]) if name.id in self._values else name
