"""Fields of our messages that others of their fields decide: lengths, checksums, and the like.

They come from the constraints of the spec that are equations, and are written as Python text, with the functions of the
spec that they call, so that a script can compute them anew when a reply has changed what they depend on. An equation is
kept only if that text, evaluated as the script does, says of the recorded message what the constraint says of it.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from palaver.compiled import Spec
from palaver.constraints.node_selectors import Bindings
from palaver.exporting.reproducer_fields import MessagePart, evaluated
from palaver.solving.clauses import Clause, clauses_of
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.trees.node import Node, TreePath
from palaver.trees.tree import Tree


class ByteRange(NamedTuple):
    """A part of a message."""

    start: int
    end: int


class ComputedField(NamedTuple):
    """A field that an equation decides: `condition` is the equation, `value` the side of it that the field is not on.

    In both, the names of `parts` stand for parts of the message; `side` is the one that the field is on.
    """

    field: ByteRange
    width: int  # the digits that a number in it has at least
    condition: str
    side: str
    value: str
    parts: dict[str, ByteRange]


class ComputedFields:
    """Finds the computed fields of messages of a spec."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._helpers: dict[str, None] = {}  # statements of the spec, in the order in which they are needed
        names = spec.namespace.names
        found = (clause for each in spec.grammar.constraints for clause in clauses_of(each, spec.analysis, names))
        self._clauses = [clause for clause in found if _is_equation(clause)]

    @property
    def code(self) -> str:
        """The statements of the spec that the fields found so far need."""
        return "\n".join(self._helpers)

    def of(self, symbol: str, data: bytes) -> list[ComputedField]:
        """The computed fields of a message."""
        node = next(iter(self._spec.readings(symbol, data)), None) if self._clauses else None
        if node is None or Tree(node).contains_bits():
            return []
        root = Tree(node)
        places = dict(_places(root))
        return [
            found
            for clause in self._clauses
            for bound in clause.bindings(root)
            for found in self._fields(clause, bound, root, places, data)
        ]

    def _fields(
        self, clause: Clause, bound: Bindings, root: Tree, places: dict[TreePath, ByteRange], data: bytes
    ) -> Iterator[ComputedField]:
        expression = clause.expression
        assert expression is not None, "only equations come here"
        trees: dict[str, Tree] = {name: tree for name, tree in bound.items() if name in clause.variables}
        for mention in expression.mentions:
            found = clause.select(mention.path, root, bound)
            if mention.kind != "each" or len(found) != 1:
                return
            trees[mention.name] = found[0]
        helpers = _statements_for(self._spec.python, expression.python, trees)
        if helpers is None or any(tree.path not in places for tree in trees.values()):
            return
        parts = {name: places[tree.path] for name, tree in trees.items()}
        assert isinstance(expression.python, ast.Compare), "it is an equation"
        left, right = expression.python.left, expression.python.comparators[0]
        if not _holds_as_script(helpers, expression.python, parts, data):
            return
        for side, value in ((left, right), (right, left)):
            here = [name for name in _names_in(side) if name in trees]
            there = [parts[name] for name in _names_in(value) if name in trees]
            if len(here) == 1 and parts[here[0]] not in there:
                self._helpers.update(dict.fromkeys(helpers))
                texts = ast.unparse(expression.python), ast.unparse(side), ast.unparse(value)
                yield ComputedField(parts[here[0]], self._width(trees[here[0]]), *texts, parts)
                return

    def _width(self, tree: Tree) -> int:
        """The digits that a field has at least: all of them, if it cannot be shorter."""
        text = str(tree)
        node = tree.node
        assert isinstance(node, Node), "a selector selects nodes"
        is_fixed = len(text) > 1 and self._spec.read_as(node.symbol, text[1:]) is None
        return len(text) if is_fixed or text.startswith("0") else 1


def _is_equation(clause: Clause) -> bool:
    match clause.expression.python if clause.expression is not None else None:
        case ast.Compare(ops=[ast.Eq()]):
            return True
    return False


def _places(root: Tree) -> Iterator[tuple[TreePath, ByteRange]]:
    """The places of the nodes of a message."""
    stack = [(root, 0)]
    while stack:
        tree, start = stack.pop()
        yield tree.path, ByteRange(start, start + len(bytes(tree)))
        for child in tree.children:
            stack.append((child, start))
            start += len(bytes(child))


def _names_in(python: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(python) if isinstance(node, ast.Name)]


def _statements_for(modules: Sequence[ast.Module], python: ast.expr, parts: Iterable[str]) -> list[str] | None:
    """The statements of a spec that define the names of an expression; None if a script cannot have all of them."""
    defined: dict[str, ast.stmt] = {}
    for module in modules:
        for each in module.body:
            defined.update(dict.fromkeys(_defines(each), each))
    needed: list[ast.stmt] = []
    todo = [name for name in _names_in(python) if name not in set(parts)]
    while todo:
        name = todo.pop()
        statement = defined.get(name)
        if statement is None:
            if not hasattr(builtins, name):
                return None
        elif statement not in needed:
            needed.append(statement)
            local = set(_bound_in(statement))
            names = [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]
            todo += [each for each in names if each not in local]
    order = [statement for module in modules for statement in module.body if statement in needed]
    return [ast.unparse(statement) for statement in order]


def _defines(statement: ast.stmt) -> list[str]:
    """The names that a statement defines, if it is one that a script may have."""
    match statement:
        case ast.FunctionDef(name=name):
            return [name]
        case ast.Import(names=names) if all(_is_standard(each.name) for each in names):
            return [(each.asname or each.name).partition(".")[0] for each in names]
        case ast.ImportFrom(module=str(module), names=names, level=0) if _is_standard(module):
            return [each.asname or each.name for each in names]
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if not _calls(value):
            return [name]
    return []


def _calls(python: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) for node in ast.walk(python))


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _bound_in(statement: ast.stmt) -> Iterator[str]:
    """The names that are local to a function."""
    if isinstance(statement, ast.FunctionDef):
        for node in ast.walk(statement):
            match node:
                case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                    yield name


def _holds_as_script(helpers: Sequence[str], python: ast.expr, parts: dict[str, ByteRange], data: bytes) -> bool:
    """Tell if the equation holds of the recorded message as a script evaluates it."""
    names: dict[str, Any] = {}
    try:
        exec("\n".join(helpers), names)
        given = {name: MessagePart(data[slice(*place)]) for name, place in parts.items()}
        return evaluated(ast.unparse(python), names, given) is True
    except SPEC_CODE_RAISES:
        return False
