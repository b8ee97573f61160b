"""Python expressions of a spec, compiled to functions once.

The parser replaced each mention `<x>` by an identifier; these identifiers become the parameters of a function. Calling
it takes half a microsecond where evaluating the same text anew takes thirty.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from palaver.errors import Diagnostic, SpecCrash
from palaver.spec.ast import Expression

# Spec code may return anything; its callers check.
SpecFunction = Callable[..., Any]

# The exceptions to catch where spec code is called: all, also `sys.exit()`, but not Ctrl-C.
SPEC_CODE_RAISES = (Exception, SystemExit)


# A key in the globals of a spec whose Python is not to be run; no spec can have such a name.
NOT_RUN = "(not run)"


def compile_expression(expression: Expression, names: dict[str, Any], variables: Sequence[str] = ()) -> SpecFunction:
    """A function of the expression's mentions, in order, and then of the bound Python `variables`."""
    if NOT_RUN in names:
        return partial(_refuse, expression)
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


def _refuse(expression: Expression, *_: object) -> NoReturn:
    raise SpecCrash(Diagnostic("error", "this Python is not run", expression.source, expression.span))


# Fields of syntax trees with texts, contexts and operators in them, which nobody looks for by walking.
_NO_NODES = frozenset(("arg", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "op", "ops", "simple"))
_NO_NODES |= {"type_comment"}


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """The nodes of a syntax tree in the order of `ast.walk`, without contexts and operators, in a third of the time."""
    found = [tree]
    for node in found:  # it grows meanwhile
        kind = type(node)
        fields = _FIELDS_WITH_NODES.get(kind)
        if fields is None:
            fields = tuple(name for name in kind._fields if name not in _NO_NODES) if kind is not ast.Constant else ()
            _FIELDS_WITH_NODES[kind] = fields
        for name in fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found += [item for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


_FIELDS_WITH_NODES: dict[type[ast.AST], tuple[str, ...]] = {}


def is_constant(expression: Expression) -> bool:
    """Return True if the expression always has the same value: no mention, no call, no await."""
    changing = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
    return not expression.mentions and not any(isinstance(node, changing) for node in ast.walk(expression.python))


# Builtins and syntax whose value depends only on their operands.
_PURE = frozenset(("abs", "bool", "bytes", "int", "len", "max", "min", "ord", "round", "str", "sum"))
_PURE_NODES = (
    ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.IfExp, ast.List, ast.Slice, ast.Subscript,
    ast.Tuple, ast.UnaryOp, ast.boolop, ast.cmpop, ast.expr_context, ast.keyword, ast.operator, ast.unaryop,
)  # fmt: skip


def is_pure(expression: Expression, names: Mapping[str, Any]) -> bool:
    """Return True if the value certainly depends on nothing but the mentions.

    The expression may call only a few builtins, and `names`, those the spec defines, must not hide them.
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


def describe_error(error: BaseException) -> str:
    """The sentence part "raised …". The error may be of a class of the spec, whose `str` fails."""
    try:
        # In one line: its text may be that of a peer, and a line of ours may not begin with it.
        text = "\\n".join(str(error).splitlines())
        return f"raised {type(error).__name__}: {text}"
    except SPEC_CODE_RAISES:
        return "raised an error that cannot be shown"


def raising_line(names: Mapping[str, Any], error: BaseException) -> str:
    """The innermost line of spec code, with these globals, that raised an error; "" if there was none."""
    place = ""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_globals is names:
            place = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def raising_line_of(file: str, error: BaseException) -> str:
    """The innermost line of spec code that raised an error, if an expression in a file of the spec did."""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            return raising_line(traceback.tb_frame.f_globals, error)
        traceback = traceback.tb_next
    return ""


def short_repr(value: object) -> str:
    """The repr of a value that spec code returned, shortened to fit into a sentence."""
    try:
        text = repr(value)
    except SPEC_CODE_RAISES:
        text = "a value that cannot be shown"
    return text if len(text) <= 60 else f"{text[:59]}…"


def crash_diagnostic(what: str, expression: Expression, error: BaseException) -> Diagnostic:
    """The diagnostic of an error that spec code raised, with the line if that is elsewhere."""
    source = expression.source
    place = raising_line_of(source.name, error)
    is_elsewhere = place and place != f"{source.name}:{source.place(expression.span.start)[0]}"
    return Diagnostic(
        "error",
        f"{what} {describe_error(error)}{f', at {place}' if is_elsewhere else ''}",
        expression.source,
        expression.span,
        "this is an error in the spec's Python code",
    )
