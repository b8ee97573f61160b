"""Static analysis of the Python code of conditions: the nodes and names it uses."""

from __future__ import annotations

import ast
import dis
from collections.abc import Container, Iterable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from palaver.spec.ast import Expression, Mention

# The attributes that lead from a node to its surroundings.
_UPWARDS = frozenset(("parent", "get_root", "get_path"))
# Those that tell where a node stands. Texts that are equal to them say nothing.
_PLACES = frozenset(("path", "step", "get_index"))

# The builtins by which code can assign to names that do not occur in it.
_HIDDEN = frozenset(("globals", "exec", "eval", "vars"))


def sees_surroundings(expression: Expression, names: dict[str, Any]) -> bool:
    """True if a condition may see more than the nodes it mentions."""
    for node in ast.walk(expression.python):
        match node:
            case ast.Attribute(attr=name) if name in _UPWARDS or name in _PLACES:
                return True
            case ast.Constant(str(name)) if name in _UPWARDS:
                return True
    return any(
        not _UPWARDS.isdisjoint(code.co_names)
        or not _PLACES.isdisjoint(code.co_names)
        or any(const in _UPWARDS for const in code.co_consts)
        for code in _code_of(expression, names)
    )


def compares_nodes(expression: Expression, names: dict[str, Any]) -> bool:
    """True if a condition may ask with `is`, or by `id`, if two nodes are the same: it compares views of them."""
    for node in ast.walk(expression.python):
        match node:
            case ast.Compare(left, operators, others) if any(
                isinstance(each, ast.Is | ast.IsNot) for each in operators
            ):
                if not any(isinstance(side, ast.Constant) for side in (left, *others)):
                    return True
            case ast.Call(ast.Name("id")) if "id" not in names:
                return True
    return any(_code_compares_nodes(code, names) for code in _code_of(expression, names))


def _code_compares_nodes(code: CodeType, names: dict[str, Any]) -> bool:
    before = None
    for instruction in dis.get_instructions(code):
        # What is the same as a constant, or as something global, is no node.
        if instruction.opname == "IS_OP" and before not in ("LOAD_CONST", "LOAD_GLOBAL"):
            return True
        if instruction.opname == "LOAD_GLOBAL" and instruction.argval == "id" and "id" not in names:
            return True
        before = instruction.opname
    return False


def _code_of(expression: Expression, names: dict[str, Any]) -> Iterator[CodeType]:
    """The code of all functions and classes of a spec that a condition uses."""
    used = [names.get(node.id) for node in ast.walk(expression.python) if isinstance(node, ast.Name)]
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
        yield code
        used.extend(names.get(name) for name in code.co_names)
        used.extend(code.co_consts)


def takes_only_length(mention: Mention, expression: Expression, names: dict[str, Any]) -> bool:
    """True if a condition takes only the length of a list."""
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


def functions_defined_in(modules: Iterable[ast.Module]) -> dict[str, ast.FunctionDef]:
    """The functions that a spec's own code defines, by name."""
    statements = (statement for module in modules for statement in module.body)
    return {statement.name: statement for statement in statements if isinstance(statement, ast.FunctionDef)}


def reassigned_globals(modules: Iterable[ast.Module]) -> frozenset[str]:
    """The global names that functions of a spec assign to: they may change after the spec is loaded."""
    nodes = (node for module in modules for node in ast.walk(module) if isinstance(node, ast.Global))
    return frozenset(name for node in nodes for name in node.names)


def integer_constants(modules: Iterable[ast.Module], names: dict[str, Any]) -> frozenset[str]:
    """The names of a spec that always stand for the same integer; none if code may assign in hidden ways."""
    modules = list(modules)
    if any(isinstance(node, ast.Name) and node.id in _HIDDEN for module in modules for node in ast.walk(module)):
        return frozenset()
    return frozenset(name for name, value in names.items() if type(value) is int) - reassigned_globals(modules)


def is_upper_bound(python: ast.expr, constants: Container[str] = ()) -> bool:
    """True if a condition only bounds counts from above, by a number or one of the constants: it cannot recover."""
    match python:
        case ast.Compare(counted, [ast.Lt() | ast.LtE()], [limit]) | ast.Compare(
            limit, [ast.Gt() | ast.GtE()], [counted]
        ):
            return _is_number(limit, constants) and _adds_counts(counted)
        case _:
            return False


def demands_distinct(expression: Expression, names: Container[str]) -> bool:
    """True if a condition says that the nodes of a list are all different: two that are equal stay so.

    That is `len(set(map(str, *<x>))) == len(*<x>)`, also with `bytes` or `int`, or without `map`.
    """
    if any(name in names for name in ("len", "set", "map", "str", "bytes", "int")):
        return False
    paths = {mention.name: mention.path for mention in expression.mentions if mention.kind == "list"}
    match expression.python:
        case ast.Compare(
            ast.Call(ast.Name("len"), [ast.Call(ast.Name("set"), [chosen])]),
            [ast.Eq() | ast.GtE()],
            [ast.Call(ast.Name("len"), [ast.Name(every)])],
        ):
            match chosen:
                case ast.Call(ast.Name("map"), [ast.Name("str" | "bytes" | "int"), ast.Name(listed)]):
                    pass
                case ast.Name(listed):
                    pass
                case _:
                    return False
            return every in paths and listed in paths and paths[every] == paths[listed]
        case _:
            return False


def count_limit(python: ast.expr, constants: Mapping[str, int]) -> int | None:
    """The number that a sum of counts must not exceed if the condition is to hold; None if there is none.

    Numbers of nodes only grow, so a sum that is above the limit stays there, also if it has to be equal to a number.
    """
    match python:
        case ast.Compare(counted, [ast.Lt() | ast.LtE() | ast.Eq() as operator], [limit]) | ast.Compare(
            limit, [ast.Gt() | ast.GtE() | ast.Eq() as operator], [counted]
        ) if _is_number(limit, constants) and _adds_counts(counted):
            number = _number_of(limit, constants)
            return number - 1 if isinstance(operator, ast.Lt | ast.Gt) else number
        case _:
            return None


def _is_number(python: ast.expr, constants: Container[str]) -> bool:
    match python:
        case ast.Constant(int()):
            return True
        case ast.Name(name):
            return name in constants
        case _:
            return False


def _number_of(python: ast.expr, constants: Mapping[str, int]) -> int:
    match python:
        case ast.Constant(int(number)):
            return number
        case ast.Name(name):
            return constants[name]
        case _:
            raise ValueError(f"no number: {ast.unparse(python)}")


def _adds_counts(python: ast.expr) -> bool:
    """True if an expression is a count of nodes, or a sum of such counts."""
    todo = [python]
    while todo:
        match todo.pop():
            case ast.BinOp(left, ast.Add(), right):
                todo += [left, right]
            case ast.Name() | ast.Call(ast.Name("len"), [ast.Name()], []):
                pass
            case _:
                return False
    return True
