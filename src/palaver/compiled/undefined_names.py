"""Names that the Python code of a spec uses and nothing defines: using them would raise NameError.

A name counts as defined if anything in its file or expression binds it, in whatever scope: it is better to miss a name
than to warn of a good one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from palaver.grammar.analysis import Analysis
from palaver.namespace import Namespace
from palaver.source import Source, Span
from palaver.spec.ast import Expression, Quantified, SpecFile
from palaver.spec.diagnostics import Reporter, did_you_mean
from palaver.spec.traversal import expressions_of, walk_formula

# With these, code can define names that do not occur in it.
_HIDDEN_DEFINITIONS = frozenset(("globals", "exec", "eval", "vars", "setattr"))

_TYPE_PARAMETERS = ("TypeVar", "ParamSpec", "TypeVarTuple")  # nodes that Python 3.11 does not have
# Nodes that can bind a name. Most are of other types, which are not looked at further.
_BINDING = frozenset(("Name", "arg", "FunctionDef", "AsyncFunctionDef", "ClassDef", "alias", "ExceptHandler"))
_BINDING |= frozenset(("MatchAs", "MatchStar", "MatchMapping", "Global", *_TYPE_PARAMETERS))


def report_undefined_names(
    files: Sequence[SpecFile],
    analysis: Analysis,
    code: Mapping[int, Sequence[ast.AST]],
    namespace: Namespace,
    report: Reporter,
) -> None:
    """Warn of each undefined name, where it is used. The spec's own code has run in the namespace.

    `code` has the nodes of each syntax tree, by its id.
    """
    # A file can be included more than once.
    modules = {id(file): (file.source, code[id(file.python)]) for file in files}.values()
    if any(name.id in _HIDDEN_DEFINITIONS for _, nodes in modules for name in _names(nodes)):
        return
    known = {*namespace.names, *namespace.names["__builtins__"]}
    for source, nodes in modules:
        _report(nodes, source, known, (), report)
    for expression, variables in _expressions(analysis):
        local = [*(mention.name for mention in expression.mentions), *variables]
        _report(code[id(expression.python)], expression.source, known, local, report)


def _expressions(analysis: Analysis) -> Iterator[tuple[Expression, list[str]]]:
    """All expressions with selectors, each with the Python names that quantifiers around it may bind."""
    grammar = analysis.grammar
    for name, rule in grammar.rules.items():
        yield from ((bound, []) for bound in analysis.computed_bounds.get(name, ()))
        if rule.generator is not None:
            yield rule.generator, []
    for constraint in grammar.all_constraints:
        parts = walk_formula(constraint.formula)
        variables = [part.variable for part in parts if isinstance(part, Quantified)]
        yield from ((expression, variables) for expression in expressions_of(constraint.formula))
    yield from ((objective.expression, []) for objective in grammar.objectives)


def _report(nodes: Sequence[ast.AST], source: Source, known: Set[str], local: Sequence[str], report: Reporter) -> None:
    unknown = [name for name in _names(nodes) if name.id not in known and isinstance(name.ctx, ast.Load)]
    if not unknown:
        return
    bound = {*_bound_in(nodes), *local}
    for name in unknown:
        if name.id not in bound:
            start = _offset(source, name.lineno, name.col_offset)
            message = f"the name {name.id} is not defined, so using it raises NameError"
            candidates = (other for other in (*known, *bound) if other.isascii() and not other.startswith("_"))
            hint = did_you_mean(name.id, candidates) or "define it, or check the spelling"
            report.warning(source, Span(start, start + len(name.id)), message, hint)


def _names(nodes: Sequence[ast.AST]) -> Iterator[ast.Name]:
    """The names in the code, without those that Python itself defines, such as `__class__` in a method."""
    return (node for node in nodes if isinstance(node, ast.Name) and not node.id.startswith("__"))


def _bound_in(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The names that anything in the code binds."""
    for node in nodes:
        if type(node).__name__ not in _BINDING:
            continue
        match node:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                yield name
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                yield name
            case ast.alias(name, other):
                yield other or name.partition(".")[0]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.Global(names):
                yield from names
            case _ if type(node).__name__ in _TYPE_PARAMETERS:
                yield node.name  # type: ignore[attr-defined]


def _offset(source: Source, line: int, column_bytes: int) -> int:
    """The offset of a place as CPython gives it: its columns count bytes."""
    before = source.line(line).encode(errors="surrogatepass")[:column_bytes]
    return source.offset(line, 1 + len(before.decode(errors="surrogatepass")))
