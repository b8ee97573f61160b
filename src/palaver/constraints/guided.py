"""Conditions in Python become functions that tell how far they are from being true, or from being false.

How it works
============

A condition is rewritten, once, into an expression for its distance, in which whatever the condition evaluates is
evaluated once and in the same order:

======================  ==============================================================================================
``a == b``              ``equal(a, b)``: the relation is asked, and measured if it fails (`gaps`)
``a and b``             the distance of the first operand that fails, plus 1 for each that was not reached
``a or b``              the least distance, as soon as one is 0 the rest is not reached
``not a``               the distance of `a` from being false: it is pushed down to the comparisons
``all(…)``, ``any(…)``  the sum of the distances of the elements, the least of them
``f(x)``                for a function of the spec: what its rewritten form returns
anything else           0 or 1
======================  ==============================================================================================

Every result is between 0 and 1, so sums are divided by what they can be at most.

A function is rewritten so that it returns the distance of what it would return. Conditions that guard a wrong exit are
its stages: in ``if C: return False`` the distance is that of `C` from being false, and each stage that was not reached
counts 1. In a loop, a guard that was passed more often before it failed is nearer. The nearest miss of a right exit
(``if C: return True``) is remembered for the wrong exits after it. A variable that is only ever given comparisons and
the like keeps their distance.

The rewritten code runs in the spec's own globals and adds nothing to them: what it needs besides it has as closure
variables, whose names begin with `@` and so clash with nothing. None of this gives a verdict. Where rewriting is not
possible, the condition as it is tells 0 or 1.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any, NamedTuple

from palaver.constraints import gaps
from palaver.grammar.code import Function, compile_expression
from palaver.spec.ast import Expression

# Functions of the spec that call each other in conditions, or themselves, are followed so far.
_DEEPEST_CALL = 20

_NO_PLAIN_FUNCTION = CO_ASYNC_GENERATOR | CO_COROUTINE | CO_GENERATOR

# Code that is nested too deeply is not rewritten; Python says so in different ways, depending on where.
_CANNOT_COMPILE = (RecursionError, SyntaxError, ValueError, MemoryError)

_HELPERS: dict[str, Function] = {
    **{f"@{kind.__name__}{wanted}": compare for (kind, wanted), compare in gaps.WANTED.items()},
    "@True": gaps.truth,
    "@False": gaps.untruth,
    "@all": gaps.all_of,
    "@any": gaps.any_of,
    "@each": map,
    "@least": min,
    "@startswith": gaps.starts_with,
    "@endswith": gaps.ends_with,
    **{f"@{name}": gaps.has_only(name) for name in sorted(gaps.CHARACTER_TESTS)},
}


def own_functions(modules: Iterable[ast.Module]) -> dict[str, ast.FunctionDef]:
    """The functions that a spec's own code defines, by name."""
    return {
        statement.name: statement
        for module in modules
        for statement in module.body
        if isinstance(statement, ast.FunctionDef)
    }


class Graded(NamedTuple):
    """A condition as the distance from what is wanted of it, and as it is, should the former raise on its own."""

    distance: Function
    plain: Function | None  # None: the former is as good


class Guide:
    """Rewrites the conditions of one spec; `names` are its globals, `functions` what they define."""

    def __init__(self, names: dict[str, Any], functions: Mapping[str, ast.FunctionDef]) -> None:
        self.names = names
        self.functions = functions
        self._calls: dict[tuple[str, bool], Function] = {}
        self._depth = 0

    def condition(self, expression: Expression, variables: Sequence[str], *, wanted: bool) -> Graded:
        """How far `expression` is from being true, or false, by its mentions and then by `variables`."""
        plain = compile_expression(expression, self.names, variables)
        parameters = [mention.name for mention in expression.mentions] + list(variables)
        rewriter = _Rewriter(self, _names_bound_in(expression.python) | set(parameters))
        try:
            function = ast.Lambda(_parameters(parameters), rewriter.distance(expression.python, wanted))
            distance = self.build(function, rewriter.calls, expression.source.name)
        except _CANNOT_COMPILE:
            return Graded(_zero_or_one(plain, wanted), None)
        return Graded(distance, _zero_or_one(plain, wanted) if rewriter.calls else None)

    def call(self, name: str, wanted: bool) -> Function:
        """A function of the spec as the distance of what it returns; rewritten when it is first called."""
        key = (name, wanted)
        if key not in self._calls:
            self._calls[key] = self._guided_call(name, wanted)
        return self._calls[key]

    def _guided_call(self, name: str, wanted: bool) -> Function:
        names = self.names
        original: Any = names[name]
        rewritten: Function | None = None

        def call(*arguments: Any, **named: Any) -> float:
            nonlocal original, rewritten
            if rewritten is None or names[name] is not original:  # the spec's code may change its mind
                original = names[name]
                rewritten = self._rewritten(name, original, wanted)
            if self._depth >= _DEEPEST_CALL:
                return 0.0 if bool(original(*arguments, **named)) is wanted else gaps.FAR
            self._depth += 1
            try:
                return rewritten(*arguments, **named)  # type: ignore[no-any-return]  # it was rewritten to do that
            finally:
                self._depth -= 1

        return call

    def _rewritten(self, name: str, original: Any, wanted: bool) -> Function:
        node = self.functions[name]
        if not _is_defined_by(original, node):
            return _zero_or_one(original, wanted)
        try:
            rewriter = _FunctionRewriter(self, original, node, wanted)
            function = self.build(rewriter.function(), rewriter.calls, original.__code__.co_filename)
        except _CANNOT_COMPILE:
            return _zero_or_one(original, wanted)
        assert isinstance(function, FunctionType), "it was defined with def"
        function.__defaults__, function.__kwdefaults__ = original.__defaults__, original.__kwdefaults__
        return function

    def build(self, node: ast.Lambda | ast.FunctionDef, calls: Mapping[str, Function], file: str) -> Function:
        """The function that `node` is, with the helpers it needs around it."""
        helpers = {**_HELPERS, **calls}
        # Parsed rather than made by hand: which fields a definition needs depends on the version of Python.
        module = ast.parse("def make():\n return made")
        make = module.body[0]
        assert isinstance(make, ast.FunctionDef), "that is what was parsed"
        make.args = _parameters(list(helpers))
        if isinstance(node, ast.Lambda):
            make.body = [ast.Return(node)]
        else:
            make.body = [node, ast.Return(_load(node.name))]
        ast.fix_missing_locations(module)
        made: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(module, file, "exec"), self.names, made)
        return made["make"](**helpers)  # type: ignore[no-any-return]  # see above


def _zero_or_one(function: Function, wanted: bool) -> Function:
    return lambda *arguments, **named: 0.0 if bool(function(*arguments, **named)) is wanted else gaps.FAR


def _is_defined_by(function: Any, node: ast.FunctionDef) -> bool:
    """Whether a value of the spec's globals is a plain function, and the one that `node` defines."""
    if not isinstance(function, FunctionType) or node.decorator_list:
        return False
    code = function.__code__
    return (
        code.co_name == node.name
        and code.co_firstlineno == node.lineno
        and not code.co_freevars
        and not code.co_flags & _NO_PLAIN_FUNCTION
    )


# --- conditions -------------------------------------------------------------------------------------------------------


@dataclass
class _Rewriter:
    """One condition or function on its way to telling a distance; `bound` are the names that are its own."""

    guide: Guide
    bound: set[str]
    calls: dict[str, Function] = field(default_factory=dict)  # of the spec's functions, by the name that helpers have
    graded: set[str] = field(default_factory=set)  # variables whose distance is kept, as `@of name`
    _temporaries: int = 0

    def distance(self, node: ast.expr, wanted: bool) -> ast.expr:
        """An expression for how far `node` is from being true, or from being false if that is wanted."""
        while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node, wanted = node.operand, not wanted
        match node:
            case ast.Constant(value):
                return ast.Constant(0.0 if bool(value) is wanted else gaps.FAR)
            case ast.BoolOp(op, values):
                parts = [self.distance(value, wanted) for value in values]
                return self._conjunction(parts) if isinstance(op, ast.And) is wanted else self._alternatives(parts)
            case ast.Compare(left, ops, comparators):
                links = self._links(left, ops, comparators, wanted)
                return self._conjunction(links) if wanted else self._alternatives(links)
            case ast.IfExp(test, body, orelse):
                return self._choice(test, body, orelse, wanted)
            case ast.Name(name) if name in self.graded and wanted:
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
        """The first distance that is not 0, with 1 for each part after it, as a share of all."""
        if len(parts) == 1:
            return parts[0]
        result: ast.expr = ast.BinOp(parts[-1], ast.Div(), ast.Constant(len(parts)))
        for after, part in enumerate(reversed(parts[:-1]), 1):
            name = self.temporary()
            result = ast.IfExp(_kept(name, part), _scaled(_load(name), after, len(parts)), result)
        return result

    def _alternatives(self, parts: list[ast.expr]) -> ast.expr:
        """The least distance; after one that is 0 the others are not computed."""
        if len(parts) == 1:
            return parts[0]
        temporaries = [self.temporary() for _ in parts]
        result: ast.expr = _call("@least", *map(_load, temporaries))
        for name, part in zip(reversed(temporaries), reversed(parts), strict=True):
            result = ast.IfExp(_kept(name, part), result, ast.Constant(0.0))
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
                right, following = _kept(name, right), _load(name)
            if isinstance(op, ast.Is | ast.IsNot):
                links.append(_call(f"@{wanted}", ast.Compare(left, [op], [right])))
            else:
                links.append(_call(f"@{type(op).__name__}{wanted}", left, right))
            left = following
        return links

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr, wanted: bool) -> ast.expr:
        """`body if test else orelse`. With a constant on one side it says `and` or `or`, so the test counts too."""
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
                self.calls[helper] = self.guide.call(name, wanted)
                return ast.Call(_load(helper), node.args, node.keywords)
            case ast.Call(ast.Attribute(subject, "startswith" | "endswith" as name), arguments, []) if wanted:
                return _call(f"@{name}", subject, *arguments)
            case ast.Call(ast.Attribute(subject, name), [], []) if wanted and name in gaps.CHARACTER_TESTS:
                return _call(f"@{name}", subject)
        return None

    def _elements(self, argument: ast.expr, wanted: bool) -> ast.expr:
        """The distances of what `all` or `any` is asked about."""
        match argument:
            case ast.GeneratorExp(element, generators):
                return ast.GeneratorExp(self.distance(element, wanted), generators)
            case ast.ListComp(element, generators) | ast.SetComp(element, generators):
                return ast.ListComp(self.distance(element, wanted), generators)
            case ast.List(elements) | ast.Tuple(elements) if not any(isinstance(e, ast.Starred) for e in elements):
                return ast.List([self.distance(element, wanted) for element in elements], ast.Load())
        return _call("@each", _load(f"@{wanted}"), argument)

    def _is_own_function(self, name: str) -> bool:
        return name in self.guide.functions and name in self.guide.names and name not in self.bound

    def _is_builtin(self, name: str) -> bool:
        return name not in self.bound and name not in self.guide.names


# --- functions --------------------------------------------------------------------------------------------------------

# The nearest miss of a right exit so far, and how many guards in loops have been passed.
_NEAREST = "@nearest"
_PASSED = "@passed"

# Where a syntax tree has the names that parameters, handlers, imports, patterns and definitions bind.
_OTHER_BINDINGS = ("arg", "name", "asname", "rest")


class _Guard(NamedTuple):
    """What holds the distance from not coming here, and whether that is in a loop."""

    name: str
    in_loop: bool


class _FunctionRewriter(_Rewriter):
    """A function on its way to returning the distance of what it would return."""

    def __init__(self, guide: Guide, original: FunctionType, node: ast.FunctionDef, wanted: bool) -> None:
        code = original.__code__
        super().__init__(guide, _names_bound_in(node) | {*code.co_varnames, *code.co_cellvars})
        self._node = deepcopy(node)
        self._wanted = wanted
        self.graded = self._graded_variables()
        branches = [each for each in _own_statements(self._node.body) if isinstance(each, ast.If)]
        self._stages = sum(map(self._guards_wrong_exit, branches)) + 1
        self._left = self._stages - 1  # stages that come after where we are in the text

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
            _assign(_NEAREST, ast.Constant(gaps.FAR)),
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
                return [node]  # what is returned there is not returned here
            case ast.Return(value):
                return [self._exit(value, guard)]
            case ast.If():
                return [self._branch(node, in_loop)]
            case ast.Assign([ast.Name(name)], value) if name in self.graded:
                kept = f"@of {name}"
                return [
                    _assign(kept, self.distance(value, True)),
                    _assign(name, ast.UnaryOp(ast.Not(), _load(kept))),
                ]
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
                test: ast.expr = _kept(name, self.distance(node.test, False))
                body = self._block(node.body, guard, in_loop=in_loop)
                self._left -= 1
                return ast.If(test, body, [*passed, *self._block(node.orelse, None, in_loop=in_loop)])
            test = ast.UnaryOp(ast.Not(), _kept(name, self.distance(node.test, True)))
            orelse = self._block(node.orelse, guard, in_loop=in_loop)
            self._left -= 1
            return ast.If(test, [*passed, *self._block(node.body, None, in_loop=in_loop)], orelse)
        if self._ends(node.body, self._wanted):
            test = ast.UnaryOp(ast.Not(), _kept(name, self.distance(node.test, True)))
            missed = _assign(_NEAREST, _call("@least", _load(_NEAREST), _load(name)))
            body = self._block(node.body, None, in_loop=in_loop)
            return ast.If(test, body, [missed, *self._block(node.orelse, None, in_loop=in_loop)])
        body = self._block(node.body, None, in_loop=in_loop)
        return ast.If(node.test, body, self._block(node.orelse, None, in_loop=in_loop))

    def _guards_wrong_exit(self, node: ast.If) -> bool:
        return self._ends(node.body, not self._wanted) or self._ends(node.orelse, not self._wanted)

    def _ends(self, statements: Sequence[ast.stmt], truth: bool) -> bool:
        """Whether the statements end by returning a constant that is true, or false."""
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
            graded = ast.IfExp(_kept(name, self.distance(value, self._wanted)), self._staged(nearer), ast.Constant(0.0))
            return ast.Return(graded)
        if bool(value is not None and value.value) is self._wanted:
            return ast.Return(ast.Constant(0.0))
        if guard is None:
            return ast.Return(self._staged(_load(_NEAREST)))
        distance: ast.expr = _load(guard.name)
        if guard.in_loop:
            distance = _later(distance)
        return ast.Return(self._staged(distance))

    def _staged(self, distance: ast.expr) -> ast.expr:
        return _scaled(distance, self._left, self._stages)

    def _graded_variables(self) -> set[str]:
        """The variables that are only ever given truth values whose distance can be told."""
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
        """Whether an expression gives True or False, and more can be said about how far it is from the one."""
        match node:
            case ast.Constant(bool()) | ast.Compare() | ast.UnaryOp(ast.Not()):
                return True
            case ast.BoolOp(_, values):
                return all(map(self._is_truth_value, values))
            case ast.Call(ast.Name("all" | "any" | "bool" as name)):
                return self._is_builtin(name)
        return False


def _later(distance: ast.expr) -> ast.expr:
    """`(1 + distance / (passed + 1)) / (passed + 2)`: however near, it is farther than after one more pass."""
    share = ast.BinOp(distance, ast.Div(), ast.BinOp(_load(_PASSED), ast.Add(), ast.Constant(1)))
    return ast.BinOp(
        ast.BinOp(ast.Constant(1.0), ast.Add(), share),
        ast.Div(),
        ast.BinOp(_load(_PASSED), ast.Add(), ast.Constant(2)),
    )


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
    """The blocks of statements that a statement has, in the order of the text."""
    for name, value in ast.iter_fields(node):
        if name in ("body", "orelse", "finalbody"):
            yield value
        elif name in ("handlers", "cases"):
            for each in value:
                yield each.body


def _names_bound_in(node: ast.AST) -> set[str]:
    names = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                names.add(name)
    return names


# --- pieces of code ---------------------------------------------------------------------------------------------------


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


def _kept(name: str, value: ast.expr) -> ast.NamedExpr:
    return ast.NamedExpr(ast.Name(name, ast.Store()), value)


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _count(name: str) -> ast.AugAssign:
    return ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), ast.Constant(1))


def _parameters(names: Sequence[str]) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
