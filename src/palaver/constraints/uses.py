"""What the Python code of a condition does with the nodes that it mentions."""

from __future__ import annotations

import ast
from types import CodeType, FunctionType
from typing import Any

from palaver.spec.ast import Expression, Mention

# How code comes from a node to what is around it.
_UPWARDS = frozenset(("parent", "get_root", "get_path"))


def looks_around(expression: Expression, names: dict[str, Any]) -> bool:
    """Whether a condition may see more than the nodes it mentions, as far as can be seen.

    Which view of a node it gets is also none of its business, so `is` between nodes counts as well.
    """
    used: list[object] = []
    for node in ast.walk(expression.python):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(str(name)) if name in _UPWARDS:
                return True
            case ast.Compare(left, operators, others) if any(
                isinstance(each, ast.Is | ast.IsNot) for each in operators
            ):
                if not any(isinstance(side, ast.Constant) for side in (left, *others)):
                    return True
            case ast.Name(name):
                used.append(names.get(name))
    return _code_looks_around(used, names)


def _code_looks_around(used: list[object], names: dict[str, Any]) -> bool:
    seen: list[CodeType] = []
    while used:
        value = used.pop()
        value = getattr(value, "__wrapped__", value)
        if isinstance(value, type):
            used.extend(vars(value).values())
            continue
        code = value.__code__ if isinstance(value, FunctionType) else value
        if not isinstance(code, CodeType) or code in seen:
            continue
        seen.append(code)
        if not _UPWARDS.isdisjoint(code.co_names) or any(const in _UPWARDS for const in code.co_consts):
            return True
        used.extend(names.get(name) for name in code.co_names)
        used.extend(code.co_consts)
    return False


def is_only_measured(mention: Mention, expression: Expression, names: dict[str, Any]) -> bool:
    """Whether a condition takes nothing but the length of a list."""
    if mention.kind != "list" or "len" in names:
        return False
    uses = measured = 0
    for node in ast.walk(expression.python):
        match node:
            case ast.Name(mention.name):
                uses += 1
            case ast.Call(ast.Name("len"), [ast.Name(mention.name)], []):
                measured += 1
    return uses == measured


def is_upper_bound(python: ast.expr) -> bool:
    """Whether a condition says no more than that things are counted at most so often: then it never recovers."""
    match python:
        case ast.Compare(counted, [ast.Lt() | ast.LtE()], [ast.Constant(int())]):
            pass
        case ast.Compare(ast.Constant(int()), [ast.Gt() | ast.GtE()], [counted]):
            pass
        case _:
            return False
    todo = [counted]
    while todo:
        match todo.pop():
            case ast.BinOp(left, ast.Add(), right):
                todo += [left, right]
            case ast.Name() | ast.Call(ast.Name("len"), [ast.Name()], []):
                pass
            case _:
                return False
    return True
