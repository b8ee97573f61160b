"""The nodes of the Python of a spec: those of `ast.walk` that anybody looks for, in its order."""

import ast
import inspect
import textwrap

import pytest

from palaver.spec import python_code, spec_files, traversal
from palaver.spec.python_code import nodes_of

UNUSUAL = """
    @decorator(1)
    async def f(a, /, b: int = 2, *c, d=(lambda x: x), **e) -> None:
        global g
        async with a as b, c: pass
        try:
            async for (x, y[0]) in z: yield await w
        except* (A, B) as error: raise C from error
        match a:
            case {"k": v, **rest} | [1, *other] | K(z, q=w) as whole if v: del a.b[1:2]
        return f"{a!r:>{b}}" if not -a < b <= c else [*{**d}, *(i for i in j if i for k in l)]
    class K(L, metaclass=M):
        x: int = 1
        x += 1
"""


def sought(tree: ast.AST) -> list[ast.AST]:
    """The nodes that `ast.walk` finds, without those that only say how another one is meant."""
    aside = (ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
    return [node for node in ast.walk(tree) if not isinstance(node, aside)]


@pytest.mark.parametrize("module", [python_code, spec_files, traversal])
def test_code_of_palaver_has_the_nodes_that_walk_finds(module: object) -> None:
    tree = ast.parse(inspect.getsource(module))  # type: ignore[arg-type]  # modules have a source
    assert nodes_of(tree) == sought(tree)


def test_unusual_syntax_has_the_nodes_that_walk_finds() -> None:
    tree = ast.parse(textwrap.dedent(UNUSUAL))
    assert nodes_of(tree) == sought(tree)
