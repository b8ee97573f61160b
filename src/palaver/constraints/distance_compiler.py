"""Python conditions, compiled to functions that return their branch distance (Korel 1990; Tracey et al. 1998).

`distance_rewriter` rewrites the code. It runs in the spec's own globals and adds nothing to them: helpers are closure
variables, whose names begin with `@` and so clash with nothing. None of this gives a verdict. Where rewriting is not
possible, the original condition gives 0 or 1.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any, NamedTuple

from palaver.constraints import branch_distance
from palaver.constraints.constraints_limits import MAX_CALL_DEPTH
from palaver.constraints.distance_rewriter import ConditionRewriter, FunctionRewriter, names_bound_in, positional
from palaver.spec.ast import Expression
from palaver.spec.python_code import SpecFunction, compile_expression

_NO_PLAIN_FUNCTION = CO_ASYNC_GENERATOR | CO_COROUTINE | CO_GENERATOR

# Code that is nested too deeply is not rewritten; Python says so in different ways, depending on where.
_CANNOT_COMPILE = (RecursionError, SyntaxError, ValueError, MemoryError)

_HELPERS: dict[str, SpecFunction] = {
    **{f"@{kind.__name__}{wanted}": compare for (kind, wanted), compare in branch_distance.WANTED.items()},
    "@True": branch_distance.truth,
    "@False": branch_distance.untruth,
    "@all": branch_distance.all_of,
    "@any": branch_distance.any_of,
    "@each": map,
    "@least": min,
    "@startswith": branch_distance.starts_with,
    "@endswith": branch_distance.ends_with,
    **{f"@{name}": branch_distance.has_only(name) for name in sorted(branch_distance.CHARACTER_TESTS)},
}


class ConditionDistance(NamedTuple):
    """A condition as its distance, and as it is, should the rewritten form raise where the original does not."""

    distance: SpecFunction
    plain: SpecFunction | None  # None: the rewritten form raises only where the original does


class DistanceCompiler:
    """Compiles the conditions of one spec; `names` are its globals, `functions` the definitions in them."""

    def __init__(self, names: dict[str, Any], functions: Mapping[str, ast.FunctionDef]) -> None:
        self.names = names
        self.functions = functions
        self._calls: dict[tuple[str, bool], SpecFunction] = {}
        self._depth = 0

    def condition(self, expression: Expression, variables: Sequence[str], *, wanted: bool) -> ConditionDistance:
        """The distance of `expression` from `wanted`, as a function of its mentions and then of `variables`."""
        plain = compile_expression(expression, self.names, variables)
        parameters = [mention.name for mention in expression.mentions] + list(variables)
        rewriter = ConditionRewriter(self, names_bound_in(expression.python) | set(parameters))
        try:
            function = ast.Lambda(positional(parameters), rewriter.distance(expression.python, wanted))
            distance = self.build(function, rewriter.calls, expression.source.name)
        except _CANNOT_COMPILE:
            return ConditionDistance(_zero_or_one(plain, wanted), None)
        return ConditionDistance(distance, _zero_or_one(plain, wanted) if rewriter.calls else None)

    def call(self, name: str, wanted: bool) -> SpecFunction:
        """A function of the spec as the distance of its result; rewritten when it is first called."""
        key = (name, wanted)
        if key not in self._calls:
            self._calls[key] = self._distance_call(name, wanted)
        return self._calls[key]

    def _distance_call(self, name: str, wanted: bool) -> SpecFunction:
        names = self.names
        original: Any = names[name]
        rewritten: SpecFunction | None = None

        def call(*arguments: Any, **named: Any) -> float:
            nonlocal original, rewritten
            if rewritten is None or names[name] is not original:  # the spec's code may redefine it
                original = names[name]
                rewritten = self._rewritten(name, original, wanted)
            if self._depth >= MAX_CALL_DEPTH:
                return 0.0 if bool(original(*arguments, **named)) is wanted else branch_distance.FAR
            self._depth += 1
            try:
                return rewritten(*arguments, **named)  # type: ignore[no-any-return]  # rewritten to return a distance
            finally:
                self._depth -= 1

        return call

    def _rewritten(self, name: str, original: Any, wanted: bool) -> SpecFunction:
        node = self.functions[name]
        if not _is_defined_by(original, node):
            return _zero_or_one(original, wanted)
        try:
            rewriter = FunctionRewriter(self, original, node, wanted)
            function = self.build(rewriter.function(), rewriter.calls, original.__code__.co_filename)
        except _CANNOT_COMPILE:
            return _zero_or_one(original, wanted)
        assert isinstance(function, FunctionType), "it was defined with def"
        function.__defaults__, function.__kwdefaults__ = original.__defaults__, original.__kwdefaults__
        return function

    def build(self, node: ast.Lambda | ast.FunctionDef, calls: Mapping[str, SpecFunction], file: str) -> SpecFunction:
        """The function that `node` defines, with its helpers as closure variables."""
        helpers = {**_HELPERS, **calls}
        # Parsed rather than made by hand: which fields a definition needs depends on the version of Python.
        module = ast.parse("def make():\n return made")
        make = module.body[0]
        assert isinstance(make, ast.FunctionDef), "that is what was parsed"
        make.args = positional(list(helpers))
        if isinstance(node, ast.Lambda):
            make.body = [ast.Return(node)]
        else:
            make.body = [node, ast.Return(ast.Name(node.name, ast.Load()))]
        ast.fix_missing_locations(module)
        made: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(module, file, "exec"), self.names, made)
        return made["make"](**helpers)  # type: ignore[no-any-return]  # it returns what it made


def _zero_or_one(function: SpecFunction, wanted: bool) -> SpecFunction:
    return lambda *arguments, **named: 0.0 if bool(function(*arguments, **named)) is wanted else branch_distance.FAR


def _is_defined_by(function: Any, node: ast.FunctionDef) -> bool:
    """True if a value in the spec's globals is a plain function, and the one that `node` defines."""
    if not isinstance(function, FunctionType) or node.decorator_list:
        return False
    code = function.__code__
    return (
        code.co_name == node.name
        and code.co_firstlineno == node.lineno
        and not code.co_freevars
        and not code.co_flags & _NO_PLAIN_FUNCTION
    )
