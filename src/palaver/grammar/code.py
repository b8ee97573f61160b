"""Python expressions of a spec become plain functions, once.

A mention `<x>` was replaced by an identifier when the spec was read; here those identifiers become the parameters
of a function. Calling one takes half a microsecond where evaluating the same text anew takes thirty.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palaver.errors import Diagnostic
from palaver.spec.ast import Expression

# What spec code gives back is anything at all; those who call it look before they use it.
Function = Callable[..., Any]

# What to catch where spec code is called: anything, also `sys.exit()`, but for the user who presses Ctrl-C.
SPEC_CODE_RAISES = (Exception, SystemExit)


def compile_expression(expression: Expression, names: dict[str, Any], variables: Sequence[str] = ()) -> Function:
    """A function of the expression's mentions, in order, and then of the bound Python `variables`."""
    body = expression.python
    line, column = body.lineno, body.col_offset
    parameters = [mention.name for mention in expression.mentions] + list(variables)
    arguments = [ast.arg(arg=name, lineno=line, col_offset=column) for name in parameters]
    function = ast.Lambda(
        args=ast.arguments(posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=body,
        lineno=line,
        col_offset=column,
    )
    tree = ast.Expression(function)
    # `names` is passed as it is, not copied: a function may use what the spec defines after it.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return eval(compile(tree, expression.source.name, "eval"), names)  # type: ignore[no-any-return]


def is_constant(expression: Expression) -> bool:
    """Whether the expression gives the same value whenever it is asked: no mention, no call, no await."""
    changing = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
    return not expression.mentions and not any(isinstance(node, changing) for node in ast.walk(expression.python))


# What gives the same for the same, and changes nothing.
_PURE = frozenset(("abs", "bool", "bytes", "int", "len", "max", "min", "ord", "round", "str", "sum"))
_PURE_NODES = (
    ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.IfExp, ast.List, ast.Slice, ast.Subscript,
    ast.Tuple, ast.UnaryOp, ast.boolop, ast.cmpop, ast.expr_context, ast.keyword, ast.operator, ast.unaryop,
)  # fmt: skip


def is_pure(expression: Expression, names: Mapping[str, Any]) -> bool:
    """Whether nothing but its mentions decides what the expression gives, as far as can be seen.

    That is so if it calls nothing but a few builtins, and `names`, what the spec defines, does not hide them.
    """
    mentioned = {mention.name for mention in expression.mentions}
    for node in ast.walk(expression.python):
        match node:
            case ast.Name(name):
                is_good = name in mentioned or (name in _PURE and name not in names)
            case ast.Attribute(ast.Name("int"), "from_bytes"):
                is_good = True
            case _:
                is_good = isinstance(node, _PURE_NODES)
        if not is_good:
            return False
    return True


def raised(error: BaseException) -> str:
    """That an error was raised, in words. The error may be the spec's own class, and fail in turn when asked."""
    try:
        return f"raised {type(error).__name__}: {error}"
    except SPEC_CODE_RAISES:
        return "raised an error that cannot be shown"


def place_in(names: Mapping[str, Any], error: BaseException) -> str:
    """The line of spec code, with these globals, that was running when an error came; "" if there was none."""
    place = ""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_globals is names:
            place = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def shorten(value: object) -> str:
    """How what spec code gave back is shown in a sentence."""
    try:
        text = repr(value)
    except SPEC_CODE_RAISES:
        text = "a value that cannot be shown"
    return text if len(text) <= 60 else f"{text[:59]}…"


def describe_crash(what: str, expression: Expression, error: BaseException) -> Diagnostic:
    """What to say when spec code raised."""
    return Diagnostic(
        "error",
        f"{what} {raised(error)}",
        expression.source,
        expression.span,
        "the spec's own Python code failed here",
    )
