r"""Parameters of a spec: values of its Python that a user may set without writing a spec.

    USER = "the_user"  # [parameter] the account that logs in
    FOLDERS = ["/docs", "/empty"]  # [parameter] folders that can be visited

    # [set by USER]
    <user> ::= "USER the_user\r\n"

A parameter is a constant of the spec's Python with a comment behind it. Another file that is read later may give it
another value, and a user may set it. Rules that stand below `[set by …]` have the default value in them, and get the
value in its place; for whoever does not know of this, a spec is the same spec with its defaults.

How it works. Files are changed after they were parsed: an assignment of the value follows each assignment to the name,
and in the terminals of marked rules the default is replaced. A list becomes the alternatives of its rule, unless it is
empty, which leaves the rule as it is. `[set by ZONE as labels]` is for names of domains as DNS has them on the wire.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from palaver.lean_dataclasses import dataclass, replace
from palaver.source import Source, Span
from palaver.spec.ast import NOWHERE, Choice, Expr, Literal, Pattern, Rule, SpecFile
from palaver.spec.diagnostics import Reporter, did_you_mean
from palaver.spec.traversal import map_terminals, walk

ParameterValue: TypeAlias = str | int | float | bool | tuple[str, ...]

_DECLARED = re.compile(r"#[ \t]*\[parameter\][ \t]*(.*)$")
_SET_BY = re.compile(r"[ \t]*#[ \t]*\[set by ([^\]]*)\]")
_USE = re.compile(r"(\w+)(?:[ \t]+as[ \t]+(\w+))?\Z")
_SWITCHES = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name in the spec's Python, its default, what it is, where it stands, and its value."""

    name: str
    default: ParameterValue
    about: str
    source: Source
    span: Span
    value: ParameterValue

    @property
    def kind(self) -> str:
        """The kind of its values in words."""
        return _kind_of(self.default)


@dataclass(frozen=True, slots=True)
class _Use:
    """A mark above a rule: the parameter that it names, and the form that its value has there."""

    name: str
    form: str


def declared_parameters(files: Sequence[SpecFile], report: Reporter) -> dict[str, Parameter]:
    """The parameters of a spec by their names in small letters, with the values that its files give them."""
    found: dict[str, Parameter] = {}
    for file in files:
        if "[parameter]" not in file.source.text:
            continue
        for node, name in _assignments(file):
            mark = _DECLARED.search(file.source.line(node.lineno))
            if mark is None or name.lower() in found:
                continue
            value, span = _constant(node.value), _span(file.source, node)
            if value is None:
                hint = "a text, a number, True, False, or a list of texts"
                report.error(file.source, span, f"the parameter {name} has no constant value", hint)
                continue
            found[name.lower()] = Parameter(name, value, mark[1].strip(), file.source, span, value)
    return {key: _with_last_value(each, files, report) for key, each in found.items()} if found else {}


def with_parameters(
    files: Sequence[SpecFile], given: Mapping[str, object], report: Reporter
) -> tuple[list[SpecFile], dict[str, Parameter]]:
    """The files with these values of their parameters, and all parameters; what is wrong is reported."""
    parameters = declared_parameters(files, report)
    for name, value in given.items():
        parameter = parameters.get(name.lower())
        if parameter is None:
            _report_unknown(name, parameters, report)
            continue
        converted = converted_value(value, parameter.default)
        if converted is None:
            text = f"the parameter {name} is {parameter.kind}, and not {value!r}"
            report.error(parameter.source, parameter.span, text, parameter.about)
            continue
        parameters[name.lower()] = replace(parameter, value=converted)
    named = {each.name: each for each in parameters.values()}
    return [_changed(file, named, report) for file in files], parameters


def converted_value(given: object, default: ParameterValue) -> ParameterValue | None:
    """A value that was given for a parameter, as its default is; a text may stand for any. None if it does not fit."""
    if isinstance(default, tuple):
        if isinstance(given, str):
            return tuple(part.strip() for part in given.split(",") if part.strip())
        return (
            tuple(given) if isinstance(given, list | tuple) and all(isinstance(each, str) for each in given) else None
        )
    if isinstance(default, bool):
        return _SWITCHES.get(given.lower()) if isinstance(given, str) else given if isinstance(given, bool) else None
    if isinstance(given, bool):
        return None
    if isinstance(default, str):
        return given if isinstance(given, str) else None
    if isinstance(default, int):
        return given if isinstance(given, int) else _read(int, given)
    return float(given) if isinstance(given, int | float) else _read(float, given)


def _read(kind: Callable[[str], ParameterValue], given: object) -> ParameterValue | None:
    try:
        return kind(given) if isinstance(given, str) else None
    except ValueError:
        return None


def _kind_of(value: ParameterValue) -> str:
    match value:
        case bool():
            return "true or false"
        case int():
            return "a whole number"
        case float():
            return "a number"
        case str():
            return "a text"
        case _:
            return "a list of texts"


def _report_unknown(name: str, parameters: Mapping[str, Parameter], report: Reporter) -> None:
    hint = did_you_mean(name, parameters)
    if not hint:
        hint = (
            f"its parameters are: {', '.join(parameters)}" if parameters else "it has none: define rules anew in a file"
        )
    report.error(Source("<parameters>", name), NOWHERE, f"the spec has no parameter {name}", hint)


def _assignments(file: SpecFile) -> Iterable[tuple[ast.Assign, str]]:
    """The assignments to plain names at the top of a file, with each name."""
    for node in file.python.body:
        if isinstance(node, ast.Assign):
            yield from ((node, target.id) for target in node.targets if isinstance(target, ast.Name))


def _constant(node: ast.expr) -> ParameterValue | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if isinstance(value, list | tuple):
        return tuple(value) if all(isinstance(each, str) for each in value) else None
    return value if isinstance(value, str | int | float) else None


def _span(source: Source, node: ast.Assign) -> Span:
    start = source.offset(node.lineno, 1)
    return Span(start, start + len(source.line(node.lineno).split("#")[0].rstrip()))


def _with_last_value(parameter: Parameter, files: Sequence[SpecFile], report: Reporter) -> Parameter:
    """The parameter with the value of the last file that assigns to it."""
    for file in files:
        for node, name in _assignments(file):
            if name != parameter.name:
                continue
            value = _constant(node.value)
            fitting = None if value is None else converted_value(value, parameter.default)
            if fitting is None or isinstance(value, str) is not isinstance(parameter.default, str):
                text = f"the parameter {name} is {parameter.kind} that stands here"
                report.error(file.source, _span(file.source, node), text, parameter.about)
            else:
                parameter = replace(parameter, value=fitting)
    return parameter


def _changed(file: SpecFile, parameters: Mapping[str, Parameter], report: Reporter) -> SpecFile:
    """A file with the values of the parameters in its Python and in its marked rules."""
    if "[set by" in file.source.text:
        rules = tuple(_changed_rule(rule, file.source, parameters, report) for rule in file.rules)
        file = replace(file, rules=rules)
    changed = {name for _, name in _assignments(file) if name in parameters and _is_set(parameters[name])}
    if not changed:
        return file
    body: list[ast.stmt] = []
    for node in file.python.body:
        body.append(node)
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name) and target.id in changed]
            body += [_assignment(name, parameters[name].value, node) for name in names]
    return replace(file, python=ast.Module(body=body, type_ignores=[]))


def _is_set(parameter: Parameter) -> bool:
    return parameter.value != parameter.default


def _assignment(name: str, value: ParameterValue, place: ast.Assign) -> ast.Assign:
    constant: ast.expr
    if isinstance(value, tuple):
        constant = ast.List([ast.Constant(each) for each in value], ast.Load())
    else:
        constant = ast.Constant(value)
    made = ast.Assign([ast.Name(name, ast.Store())], constant)
    return ast.fix_missing_locations(ast.copy_location(made, place))


def _changed_rule(rule: Rule, source: Source, parameters: Mapping[str, Parameter], report: Reporter) -> Rule:
    for use in _uses_above(rule, source):
        parameter = parameters.get(use.name)
        if parameter is None:
            hint = did_you_mean(use.name, parameters) or "write it with a comment: NAME = value  # [parameter] …"
            report.error(source, rule.span, f"there is no parameter {use.name} that {rule.symbol} could have", hint)
            continue
        body = _changed_body(rule.body, parameter, use.form)
        if body is None:
            hint = f"its terminals have to have the default in them: {parameter.default!r}"
            report.error(source, rule.span, f"{rule.symbol} cannot be set by {use.name}", hint)
        elif _is_set(parameter):
            rule = replace(rule, body=body)
    return rule


def _uses_above(rule: Rule, source: Source) -> list[_Use]:
    """The marks in the comment right above a rule."""
    number, _ = source.place(rule.span.start)
    uses: list[_Use] = []
    while number > 1 and (line := source.line(number - 1)).lstrip().startswith("#"):
        number -= 1
        if mark := _SET_BY.match(line):
            parts = (_USE.match(part.strip()) for part in mark[1].split(","))
            uses += [_Use(part[1], part[2] or "text") if part else _Use(mark[1], "text") for part in parts]
    return uses


def _changed_body(body: Expr, parameter: Parameter, form: str) -> Expr | None:
    """The body of a rule with the value in the place of the default; None if it cannot be."""
    default, value = parameter.default, parameter.value
    if isinstance(default, str) and isinstance(value, str):
        before, after = (_in_labels(default), _in_labels(value)) if form == "labels" else (default, value)
        changed = map_terminals(body, lambda terminal: _replaced(terminal, before, after))
        marked = map_terminals(body, lambda terminal: _replaced(terminal, before, before + "\0"))
        return None if marked == body else changed
    if not isinstance(default, tuple) or not isinstance(value, tuple):
        return None
    terminals = list(body.options) if isinstance(body, Choice) else [body]
    texts = tuple(each.value for each in terminals if isinstance(each, Literal))
    if default and tuple(_as_text(each) for each in texts) != default:
        return None
    is_binary = any(isinstance(_content(part), bytes) for part in walk(body))
    literals = tuple(Literal(each.encode() if is_binary else each) for each in value)
    return body if not literals else literals[0] if len(literals) == 1 else Choice(literals)


def _content(part: Expr) -> object:
    return part.value if isinstance(part, Literal) else part.source if isinstance(part, Pattern) else None


def _as_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


def _in_labels(name: str) -> str:
    """A name of a domain as it is on the wire: each label behind its length (RFC 1035, 3.1)."""
    return "".join(chr(len(label)) + label for label in name.strip(".").split("."))


def _replaced(terminal: Literal | Pattern, before: str, after: str) -> Literal | Pattern:
    if isinstance(terminal, Pattern):
        before, after = re.escape(before), re.escape(after)
        if isinstance(terminal.source, bytes):
            return replace(terminal, source=terminal.source.replace(before.encode(), after.encode()))
        return replace(terminal, source=terminal.source.replace(before, after))
    if isinstance(terminal.value, bytes):
        return replace(terminal, value=terminal.value.replace(before.encode(), after.encode()))
    return replace(terminal, value=terminal.value.replace(before, after))
