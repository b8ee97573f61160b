"""Loading: text, statements, grammar, the spec's own Python (run once), analysis; then a `Spec`, or diagnostics."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from palaver.compiled.bundled import bundled, spec_files
from palaver.compiled.spec import Spec, SpecOrigin, count
from palaver.compiled.undefined_names import report_undefined_names
from palaver.grammar.analysis import Analysis
from palaver.grammar.ir import Grammar
from palaver.grammar.lowering import check_grammar, lower
from palaver.lean_dataclasses import replace
from palaver.namespace import Namespace
from palaver.source import Source, Span
from palaver.spec.ast import Bound, Expression, Rule, SpecFile
from palaver.spec.diagnostics import Reporter
from palaver.spec.python_code import (
    NOT_RUN,
    SPEC_CODE_RAISES,
    compile_expression,
    describe_error,
    is_constant,
    nodes_of,
)
from palaver.spec.spec_files import (
    load_files,
    load_texts,
    parse_constraint,
    parse_spec,
    with_parameters,
    with_templates,
)
from palaver.spec.traversal import computed_bounds, expressions_of, map_bounds

_NO_PARAMETERS: Mapping[str, object] = MappingProxyType({})


def load(
    *paths: str | Path,
    constraints: Iterable[str] = (),
    start: str = "<start>",
    stdlib: bool = True,
    include_dirs: Sequence[str | Path] = (),
    run_python: bool = True,
    parameters: Mapping[str, object] = _NO_PARAMETERS,
) -> Spec:
    """The spec in these files, or of these bundled names, read as one. :raises SpecError: with the errors of the spec

    `parameters` are values of those that the spec declares.
    Unless `run_python`, none of its Python code is run, now or later, and what needs it fails.
    """
    report = Reporter()
    spec = examine(
        *paths,
        report=report,
        constraints=constraints,
        start=start,
        stdlib=stdlib,
        include_dirs=include_dirs,
        run_python=run_python,
        parameters=parameters,
    )
    return _without_errors(spec, report)


def loads(
    text: str,
    *more_texts: str,
    constraints: Iterable[str] = (),
    start: str = "<start>",
    stdlib: bool = True,
    parameters: Mapping[str, object] = _NO_PARAMETERS,
) -> Spec:
    """The spec in these texts, read one after the other. :raises SpecError: with the errors of the spec"""
    for each in (text, *more_texts):
        if not isinstance(each, str):
            raise TypeError(f"loads() takes text, not {type(each).__name__}; load() reads files")
    report = Reporter()
    files = load_texts([text, *more_texts], report, environ=os.environ, bundled=bundled())
    spec = _build(files, report, constraints=constraints, start=start, stdlib=stdlib, parameters=parameters)
    return _without_errors(spec, report)


def load_again(origin: SpecOrigin) -> Spec:
    """The spec that was made of this, loaded once more; no file is read. :raises SpecError: it has become wrong

    Python modules that the spec imports are not part of it, and are looked for where they were.
    """
    report = Reporter()
    files = [parse_spec(source, report) for source in origin.sources]
    spec = _build(
        files,
        report,
        constraints=origin.constraints,
        start=origin.start,
        stdlib=origin.has_library,
        parameters=dict(origin.parameters),
    )
    return _without_errors(spec, report)


def _without_errors(spec: Spec | None, report: Reporter) -> Spec:
    report.raise_if_errors()
    assert spec is not None, "without an error there is a spec"
    return spec


def examine(
    *paths: str | Path,
    report: Reporter,
    constraints: Iterable[str] = (),
    start: str = "<start>",
    stdlib: bool = True,
    include_dirs: Sequence[str | Path] = (),
    run_python: bool = True,
    parameters: Mapping[str, object] = _NO_PARAMETERS,
) -> Spec | None:
    """Load as far as possible, and report errors instead of raising them; None if there are any."""
    folders = [Path(folder) for folder in include_dirs]
    files = load_files(spec_files(paths), report, include_dirs=folders, environ=os.environ, bundled=bundled())
    return _build(
        files,
        report,
        constraints=constraints,
        start=start,
        stdlib=stdlib,
        run_python=run_python,
        parameters=parameters,
    )


def _build(
    files: Sequence[SpecFile],
    report: Reporter,
    *,
    constraints: Iterable[str],
    start: str,
    stdlib: bool,
    run_python: bool = True,
    parameters: Mapping[str, object] = _NO_PARAMETERS,
) -> Spec | None:
    if isinstance(constraints, str):
        raise TypeError("constraints must be a list of strings, not one string")
    constraints = tuple(constraints)
    extra = [each for text in constraints if (each := parse_constraint(text, report)) is not None]
    files, declared = with_parameters(files, parameters, report)
    files = with_templates(files, report)
    could_be_read = not report.error_count
    assumed = None if report.text_is_missing else () if could_be_read else _names_in_broken_text(files)
    if start and not start.startswith("<"):
        start = f"<{start}>"
    grammar = lower(files, report, start=start, stdlib=stdlib, extra=extra, assumed=assumed)
    rules = (*grammar.rules.values(), *grammar.beyond.values())
    bounds = {rule.symbol: found for rule in rules if (found := computed_bounds(rule.body))}
    code = {id(python): nodes_of(python) for python in _all_code(files, grammar, bounds)}
    used = {node.id for nodes in code.values() for node in nodes if isinstance(node, ast.Name)}
    namespace = Namespace(used, _folders(files), files[-1].source.name if files else "<string>")
    if not run_python:
        namespace.names[NOT_RUN] = True
    ran = run_python and not report.errors and _run_python(files, namespace, report)
    if ran:
        grammar = _fold_bounds(grammar, bounds, namespace, report)
    analysis = Analysis(grammar)
    for name in analysis.parties:
        namespace.names.setdefault(name, namespace.parties.named(name))
    if ran:
        report_undefined_names(files, analysis, code, namespace, report)
    check_grammar(analysis, report, party_classes=namespace.party_classes if ran else None, is_whole=could_be_read)
    if report.errors:
        return None
    given = tuple((name, declared[name.lower()].value) for name in parameters)
    origin = SpecOrigin(tuple(file.source for file in files), constraints, start, stdlib, given)
    python = tuple(file.python for file in files)
    return Spec(grammar, analysis, namespace, tuple(report.diagnostics), python, origin, declared)


def _names_in_broken_text(files: Sequence[SpecFile]) -> frozenset[str]:
    """The symbols that seem to be defined in a text with errors, so that these are not reported twice."""
    found = (name for file in files for name in re.findall(r"<\s*(\w+)\s*>\s*::=", file.source.text))
    return frozenset(f"<{name}>" for name in found)


def _all_code(
    files: Sequence[SpecFile], grammar: Grammar, bounds: Mapping[str, Sequence[Expression]]
) -> Iterator[ast.AST]:
    for file in files:
        yield file.python
    yield from (bound.python for found in bounds.values() for bound in found)
    for rule in (*grammar.rules.values(), *grammar.beyond.values()):
        if rule.generator is not None:
            yield rule.generator.python
    for constraint in grammar.all_constraints:
        yield from (expression.python for expression in expressions_of(constraint.formula))
    yield from (goal.expression.python for goal in grammar.objectives)


def _folders(files: Sequence[SpecFile]) -> list[Path]:
    places = (Path(file.source.name) for file in files)
    return list(dict.fromkeys(place.parent.resolve() for place in places if place.is_file()))


def _run_python(files: Sequence[SpecFile], namespace: Namespace, report: Reporter) -> bool:
    for file in files:
        if not file.python.body:
            continue
        namespace.names["__file__"] = file.source.name
        try:
            exec(compile(file.python, file.source.name, "exec"), namespace.names)
        except SPEC_CODE_RAISES as error:
            span = _crash_span(file.source, error)
            message = f"the spec's Python code {describe_error(error)}"
            report.error(file.source, span, message, "the Python code of a spec runs once, when the spec is loaded")
            return False
    return True


def _crash_span(source: Source, error: BaseException) -> Span:
    """The line of the source that raised an error, or that CPython refused to compile."""
    line = error.lineno or 1 if isinstance(error, SyntaxError) and error.filename == source.name else 1
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == source.name:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    text = source.line(line)
    start = source.offset(line, 1 + len(text) - len(text.lstrip()))
    return Span(start, start + len(text.strip()))


def _fold_bounds(
    grammar: Grammar, bounds: Mapping[str, Sequence[Expression]], namespace: Namespace, report: Reporter
) -> Grammar:
    """Bounds that are constant expressions become numbers; the others are computed for each repetition."""
    if not any(is_constant(bound) for found in bounds.values() for bound in found):
        return grammar
    known: dict[Expression, int] = {}  # `{n}` is one expression, and both bounds

    def fold(bound: Bound) -> Bound:
        if isinstance(bound, int) or not is_constant(bound):
            return bound
        if bound not in known:
            try:
                known[bound] = count(compile_expression(bound, namespace.names)())
            except SPEC_CODE_RAISES as error:
                known[bound] = 0
                report.error(
                    bound.source, bound.span, f"this bound {describe_error(error)}", "a bound must be a whole number"
                )
        return known[bound]

    def folded(rules: Mapping[str, Rule]) -> Mapping[str, Rule]:
        return MappingProxyType(
            {
                name: replace(rule, body=map_bounds(rule.body, fold)) if name in bounds else rule
                for name, rule in rules.items()
            }
        )

    return replace(grammar, rules=folded(grammar.rules), beyond=folded(grammar.beyond))
