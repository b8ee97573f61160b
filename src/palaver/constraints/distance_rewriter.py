"""Testability transformation (Harman et al. 2004): Python rewritten to return branch distance and approach level.

Whatever the original evaluates is evaluated once, in the same order.

======================  ==============================================================================================
``a == b``              ``equal(a, b)``: the relation is evaluated, and measured if it fails (`branch_distance`)
``a and b``             the distance of the first operand that fails, plus 1 for each that was not reached
``a or b``              the least distance; after one that is 0 the rest is not evaluated
``not a``               the distance of `a` from being false: it is pushed down to the comparisons
``all(…)``, ``any(…)``  the sum of the distances of the elements, the least of them
``f(x)``                for a function of the spec: the value of its rewritten form
anything else           0 or 1
======================  ==============================================================================================

Every result is between 0 and 1, so sums are divided by their maximum.

A function is rewritten so that it returns the distance of its result. Its approach level (Wegener, Baresel & Sthamer
2001) counts the conditions that guard a wrong exit: in ``if C: return False`` the distance is that of `C` from being
false, and each such condition that was not reached counts 1. In a loop, a guard that was passed more often before it
failed is nearer. The nearest miss of a right exit (``if C: return True``) counts at the wrong exits after it. Variables
that are only assigned comparisons and the like keep their distance.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import field
from types import FunctionType
from typing import Any, NamedTuple, Protocol

from palaver.constraints.branch_distance import CHARACTER_TESTS, FAR
from palaver.lean_dataclasses import dataclass
from palaver.spec.python_code import SpecFunction


class SpecFunctions(Protocol):
    """The global names of a spec and the functions it defines; `call` gives the rewritten form of one."""

    names: dict[str, Any]
    functions: Mapping[str, ast.FunctionDef]

    def call(self, name: str, wanted: bool) -> SpecFunction: ...


@dataclass
class ConditionRewriter:
    """Rewrites one condition to its distance; `bound` are the names that are local to it."""

    spec: SpecFunctions
    bound: set[str]
    calls: dict[str, SpecFunction] = field(default_factory=dict)  # of the spec's functions, by the names of helpers
    measured: set[str] = field(default_factory=set)  # variables whose distance is kept, as `@of name`
    _temporaries: int = 0

    def distance(self, node: ast.expr, wanted: bool) -> ast.expr:
        """An expression for the distance of `node` from being true, or from being false if that is wanted."""
        while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node, wanted = node.operand, not wanted
        match node:
            case ast.Constant(value):
                return ast.Constant(0.0 if bool(value) is wanted else FAR)
            case ast.BoolOp(op, values):
                parts = [self.distance(value, wanted) for value in values]
                return self._conjunction(parts) if isinstance(op, ast.And) is wanted else self._alternatives(parts)
            case ast.Compare(left, ops, comparators):
                links = self._links(left, ops, comparators, wanted)
                return self._conjunction(links) if wanted else self._alternatives(links)
            case ast.IfExp(test, body, orelse):
                return self._choice(test, body, orelse, wanted)
            case ast.Name(name) if name in self.measured and wanted:
                return _load(f"@of {name}")
            case ast.Call():
                found = self._call(node, wanted)
                if found is not None:
                    return found
        return _call(f"@{wanted}", node)

    def temporary(self) -> str:
        self._temporaries += 1
        return f"@{self._temporaries}"

    def _conjunction(self, parts: list[ast.expr]) -> ast.expr:
        """The first distance that is not 0, plus 1 for each part after it, divided by the number of parts."""
        if len(parts) == 1:
            return parts[0]
        result: ast.expr = ast.BinOp(parts[-1], ast.Div(), ast.Constant(len(parts)))
        for after, part in enumerate(reversed(parts[:-1]), 1):
            name = self.temporary()
            result = ast.IfExp(_named(name, part), _scaled(_load(name), after, len(parts)), result)
        return result

    def _alternatives(self, parts: list[ast.expr]) -> ast.expr:
        """The least distance; after one that is 0 the others are not evaluated."""
        if len(parts) == 1:
            return parts[0]
        temporaries = [self.temporary() for _ in parts]
        result: ast.expr = _call("@least", *map(_load, temporaries))
        for name, part in zip(reversed(temporaries), reversed(parts), strict=True):
            result = ast.IfExp(_named(name, part), result, ast.Constant(0.0))
        return result

    def _links(
        self, left: ast.expr, ops: Sequence[ast.cmpop], comparators: Sequence[ast.expr], wanted: bool
    ) -> list[ast.expr]:
        """The comparisons of a chain, each operand evaluated once."""
        links: list[ast.expr] = []
        for number, (op, right) in enumerate(zip(ops, comparators, strict=True), 1):
            following: ast.expr = right
            if number < len(ops):
                name = self.temporary()
                right, following = _named(name, right), _load(name)
            if isinstance(op, ast.Is | ast.IsNot):
                links.append(_call(f"@{wanted}", ast.Compare(left, [op], [right])))
            else:
                links.append(_call(f"@{type(op).__name__}{wanted}", left, right))
            left = following
        return links

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr, wanted: bool) -> ast.expr:
        """`body if test else orelse`. With a constant on one side it is an `and` or `or`, so the test counts too."""
        for taken, constant, other in ((True, body, orelse), (False, orelse, body)):
            if isinstance(constant, ast.Constant):
                if bool(constant.value) is wanted:
                    return self._alternatives([self.distance(test, taken), self.distance(other, wanted)])
                return self._conjunction([self.distance(test, not taken), self.distance(other, wanted)])
        return ast.IfExp(test, self.distance(body, wanted), self.distance(orelse, wanted))

    def _call(self, node: ast.Call, wanted: bool) -> ast.expr | None:
        match node:
            case ast.Call(ast.Name("bool"), [argument], []) if self._is_builtin("bool"):
                return self.distance(argument, wanted)
            case ast.Call(ast.Name("all" | "any" as word), [argument], []) if self._is_builtin(word):
                return _call("@all" if (word == "all") is wanted else "@any", self._elements(argument, wanted))
            case ast.Call(ast.Name(name)) if self._is_own_function(name):
                helper = f"@{name} {wanted}"
                self.calls[helper] = self.spec.call(name, wanted)
                return ast.Call(_load(helper), node.args, node.keywords)
            case ast.Call(ast.Attribute(subject, "startswith" | "endswith" as name), arguments, []) if wanted:
                return _call(f"@{name}", subject, *arguments)
            case ast.Call(ast.Attribute(subject, name), [], []) if wanted and name in CHARACTER_TESTS:
                return _call(f"@{name}", subject)
        return None

    def _elements(self, argument: ast.expr, wanted: bool) -> ast.expr:
        """The distances of the elements of `all` or `any`."""
        match argument:
            case ast.GeneratorExp(element, generators):
                return ast.GeneratorExp(self.distance(element, wanted), generators)
            case ast.ListComp(element, generators) | ast.SetComp(element, generators):
                return ast.ListComp(self.distance(element, wanted), generators)
            case ast.List(elements) | ast.Tuple(elements) if not any(isinstance(e, ast.Starred) for e in elements):
                return ast.List([self.distance(element, wanted) for element in elements], ast.Load())
        return _call("@each", _load(f"@{wanted}"), argument)

    def _is_own_function(self, name: str) -> bool:
        return name in self.spec.functions and name in self.spec.names and name not in self.bound

    def _is_builtin(self, name: str) -> bool:
        return name not in self.bound and name not in self.spec.names


# The nearest miss of a right exit so far, and the number of guards in loops that have been passed.
_NEAREST = "@nearest"
_PASSED = "@passed"

# The fields of syntax trees with names that parameters, handlers, imports, patterns and definitions bind.
_OTHER_BINDINGS = ("arg", "name", "asname", "rest")


class _Guard(NamedTuple):
    """The variable with the distance from taking the other branch, and True if the branch is in a loop."""

    name: str
    in_loop: bool


class FunctionRewriter(ConditionRewriter):
    """Rewrites one function to return the distance of its result."""

    def __init__(self, spec: SpecFunctions, original: FunctionType, node: ast.FunctionDef, wanted: bool) -> None:
        code = original.__code__
        super().__init__(spec, names_bound_in(node) | {*code.co_varnames, *code.co_cellvars})
        self._node = deepcopy(node)
        self._wanted = wanted
        self.measured = self._measured_variables()
        branches = [each for each in _own_statements(self._node.body) if isinstance(each, ast.If)]
        self._levels = sum(map(self._guards_wrong_exit, branches)) + 1
        self._levels_ahead = self._levels - 1  # those after the current place in the text

    def function(self) -> ast.FunctionDef:
        """The definition. Defaults and annotations are left to the original, which has evaluated them."""
        node = self._node
        node.name = f"@def {node.name}"
        node.returns = None
        node.args.defaults = []
        node.args.kw_defaults = [None for _ in node.args.kwonlyargs]
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        node.body = [
            _assign(_NEAREST, ast.Constant(FAR)),
            _assign(_PASSED, ast.Constant(0)),
            *self._block(node.body, None, in_loop=False),
            self._exit(None, None),
        ]
        return node

    def _block(self, statements: Sequence[ast.stmt], guard: _Guard | None, *, in_loop: bool) -> list[ast.stmt]:
        return [each for statement in statements for each in self._statement(statement, guard, in_loop)]

    def _statement(self, node: ast.stmt, guard: _Guard | None, in_loop: bool) -> list[ast.stmt]:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return [node]  # its returns are not those of this function
            case ast.Return(value):
                return [self._exit(value, guard)]
            case ast.If():
                return [self._branch(node, in_loop)]
            case ast.Assign([ast.Name(name)], value) if name in self.measured:
                distance = f"@of {name}"
                is_true = ast.UnaryOp(ast.Not(), _load(distance))
                return [_assign(distance, self.distance(value, True)), _assign(name, is_true)]
        inside = in_loop or isinstance(node, ast.For | ast.While)
        for block in _blocks(node):
            block[:] = self._block(block, None, in_loop=inside)
        return [node]

    def _branch(self, node: ast.If, in_loop: bool) -> ast.If:
        name = self.temporary()
        if self._guards_wrong_exit(node):
            guard = _Guard(name, in_loop)
            passed: list[ast.stmt] = [_count(_PASSED)] if in_loop else []
            if self._ends(node.body, not self._wanted):
                test: ast.expr = _named(name, self.distance(node.test, False))
                body = self._block(node.body, guard, in_loop=in_loop)
                self._levels_ahead -= 1
                return ast.If(test, body, [*passed, *self._block(node.orelse, None, in_loop=in_loop)])
            test = ast.UnaryOp(ast.Not(), _named(name, self.distance(node.test, True)))
            orelse = self._block(node.orelse, guard, in_loop=in_loop)
            self._levels_ahead -= 1
            return ast.If(test, [*passed, *self._block(node.body, None, in_loop=in_loop)], orelse)
        if self._ends(node.body, self._wanted):
            test = ast.UnaryOp(ast.Not(), _named(name, self.distance(node.test, True)))
            missed = _assign(_NEAREST, _call("@least", _load(_NEAREST), _load(name)))
            body = self._block(node.body, None, in_loop=in_loop)
            return ast.If(test, body, [missed, *self._block(node.orelse, None, in_loop=in_loop)])
        body = self._block(node.body, None, in_loop=in_loop)
        return ast.If(node.test, body, self._block(node.orelse, None, in_loop=in_loop))

    def _guards_wrong_exit(self, node: ast.If) -> bool:
        return self._ends(node.body, not self._wanted) or self._ends(node.orelse, not self._wanted)

    def _ends(self, statements: Sequence[ast.stmt], truth: bool) -> bool:
        """True if the statements end by returning a constant that is true, or false."""
        match statements:
            case [*_, ast.Return(None)]:
                return not truth
            case [*_, ast.Return(ast.Constant(value))]:
                return bool(value) is truth
        return False

    def _exit(self, value: ast.expr | None, guard: _Guard | None) -> ast.Return:
        if value is not None and not isinstance(value, ast.Constant):
            name = self.temporary()
            nearer = _call("@least", _load(name), _load(_NEAREST))
            test = _named(name, self.distance(value, self._wanted))
            return ast.Return(ast.IfExp(test, self._with_level(nearer), ast.Constant(0.0)))
        if bool(value is not None and value.value) is self._wanted:
            return ast.Return(ast.Constant(0.0))
        if guard is None:
            return ast.Return(self._with_level(_load(_NEAREST)))
        distance = _in_loop(_load(guard.name)) if guard.in_loop else _load(guard.name)
        return ast.Return(self._with_level(distance))

    def _with_level(self, distance: ast.expr) -> ast.expr:
        return _scaled(distance, self._levels_ahead, self._levels)

    def _measured_variables(self) -> set[str]:
        """The variables that are only assigned truth values whose distance can be computed."""
        given: dict[str, int] = {}
        for node in _own_statements(self._node.body):
            match node:
                case ast.Assign([ast.Name(name)], value) if self._is_truth_value(value):
                    given[name] = given.get(name, 0) + 1
        for inner in ast.walk(self._node):
            match inner:
                case ast.Name(name, ast.Store() | ast.Del()) if name in given:
                    given[name] -= 1
                case ast.Global(names) | ast.Nonlocal(names):
                    for name in names:
                        given.pop(name, None)
            for attribute in _OTHER_BINDINGS:
                given.pop(getattr(inner, attribute, None) or "", None)
        return {name for name, unaccounted in given.items() if unaccounted == 0}

    def _is_truth_value(self, node: ast.expr) -> bool:
        """True if an expression is a bool whose distance from True can be measured."""
        match node:
            case ast.Constant(bool()) | ast.Compare() | ast.UnaryOp(ast.Not()):
                return True
            case ast.BoolOp(_, values):
                return all(map(self._is_truth_value, values))
            case ast.Call(ast.Name("all" | "any" | "bool" as name)):
                return self._is_builtin(name)
        return False


def _in_loop(distance: ast.Name) -> ast.expr:
    """`(1 + distance / (passed + 1)) / (passed + 2)`: however near, it is farther than after one more pass."""
    once, twice = (ast.BinOp(_load(_PASSED), ast.Add(), ast.Constant(more)) for more in (1, 2))
    share = ast.BinOp(distance, ast.Div(), once)
    return ast.BinOp(ast.BinOp(ast.Constant(1.0), ast.Add(), share), ast.Div(), twice)


def _own_statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements of a function, but not those of functions and classes inside it."""
    stack = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        yield node
        for block in _blocks(node):
            stack.extend(block)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement, in the order of the text."""
    for name, value in ast.iter_fields(node):
        if name in ("body", "orelse", "finalbody"):
            yield value
        elif name in ("handlers", "cases"):
            for each in value:
                yield each.body


def names_bound_in(node: ast.AST) -> set[str]:
    """The names that an expression or function binds."""
    names = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                names.add(name)
    return names


def _scaled(distance: ast.expr, after: int, of: int) -> ast.expr:
    """`(distance + after) / of`."""
    if of == 1:
        return distance
    if after:
        distance = ast.BinOp(distance, ast.Add(), ast.Constant(after))
    return ast.BinOp(distance, ast.Div(), ast.Constant(of))


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_load(name), list(arguments), [])


def _named(name: str, value: ast.expr) -> ast.NamedExpr:
    return ast.NamedExpr(ast.Name(name, ast.Store()), value)


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _count(name: str) -> ast.AugAssign:
    return ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), ast.Constant(1))


def positional(names: Sequence[str]) -> ast.arguments:
    """Positional parameters with these names."""
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
