r"""Templates: rules that stand for several, one for each alternative of another rule.

    # [for each <body>]
    <sized_body> ::= <length> <body>
    <body>       ::= <greeting> | <question>
    where forall <s> in <sized_body>: <s>.<length> == u16(len(bytes(<s>.<body>)))

So there are `<sized_greeting>` and `<sized_question>`, each with a constraint of its own: wherever a rule or a
constraint of the template says `<body>` or `<sized_body>`, it is that alternative, and the rule for it.

How it works. Files are changed after they were parsed. Rules are made that others ask for, and that nobody defines;
each is a copy with other symbols, at the place of the template. Constraints that speak of a template are copied for
each of its rules. The template itself, and the rule that lists the alternatives, are left out unless others refer to
them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from typing import TypeAlias

from palaver.lean_dataclasses import dataclass, replace
from palaver.source import Source, Span
from palaver.spec.ast import Choice, Constraint, Ref, Rule, SpecFile
from palaver.spec.diagnostics import Reporter, did_you_mean
from palaver.spec.renaming import renamed_constraint, renamed_rule
from palaver.spec.traversal import computed_bounds, symbols_in, symbols_of

_MARK = re.compile(r"^[ \t]*#[ \t]*(\[for each[^\]\n]*\]?)", re.MULTILINE)
_WHOLE_MARK = re.compile(r"\[for each[ \t]+(<\w+>)\]\Z")


# The rules that were made, by their templates and the alternatives that they are for.
_Made: TypeAlias = dict[str, dict[str, Rule]]


@dataclass(frozen=True, slots=True)
class _Template:
    """A rule with a mark, the symbol that varies, and the symbols of the rules that it stands for."""

    rule: Rule
    varying: str
    instances: Mapping[str, str]  # from the alternatives of the varying symbol


def with_templates(files: Sequence[SpecFile], report: Reporter) -> list[SpecFile]:
    """The files with the rules and constraints that their templates stand for; what is wrong is reported."""
    if not any("[for each" in file.source.text for file in files):
        return list(files)
    rules = {rule.symbol: rule for file in files for rule in file.rules}
    distinct = {id(file): file for file in files}
    templates = {each.rule.symbol: each for file in distinct.values() for each in _templates(file, rules, report)}
    made = _instances(rules, templates)
    unused = _unused_symbols(files, rules, templates)
    changed = {key: _changed(file, templates, made, unused) for key, file in distinct.items()}
    return [changed[id(file)] for file in files]


def _templates(file: SpecFile, rules: Mapping[str, Rule], report: Reporter) -> Iterator[_Template]:
    """The templates of a file that are right."""
    source = file.source
    below = {source.place(rule.span.start)[0] - 1: rule for rule in reversed(file.rules)}
    for mark in _MARK.finditer(source.text):
        span = Span(*mark.span(1))
        line, _ = source.place(span.start)
        while line not in below and source.line(line + 1).lstrip().startswith("#"):
            line += 1
        found, rule = _WHOLE_MARK.match(mark[1]), below.get(line)
        if found is None:
            report.error(source, span, "this mark names no symbol", "write [for each <name>]")
        elif rule is None:
            report.error(source, span, f"there is no rule below {mark[1]}", "put the mark right above a rule")
        elif found[1] not in rules:
            hint = did_you_mean(found[1], rules) or f"define it: {found[1]} ::= <one> | <another>"
            report.error(source, span, f"there is no rule {found[1]} whose alternatives {rule.symbol} is for", hint)
        elif rules[rule.symbol] is rule and (each := _template(rule, rules[found[1]], source, report)) is not None:
            yield each


def _template(rule: Rule, varying: Rule, source: Source, report: Reporter) -> _Template | None:
    name = varying.symbol[1:-1]
    word = re.compile(rf"(?<![^_<]){re.escape(name)}(?![^_>])")
    if rule.symbol == varying.symbol or not word.search(rule.symbol):
        hint = f"call it <some_{name}>, so that each of its rules has a name of its own"
        report.error(source, rule.span, f"{rule.symbol} is for each {varying.symbol}, but is not named after it", hint)
        return None
    alternatives = varying.body.options if isinstance(varying.body, Choice) else (varying.body,)
    instances: dict[str, str] = {}
    for each in alternatives:
        if not isinstance(each, Ref) or each.sender is not None:
            message = f"{rule.symbol} is for each {varying.symbol}, so each alternative of it has to be one symbol"
            report.error(varying.source or source, varying.span, message, "give the others a rule of their own")
            return None
        instances[each.symbol] = word.sub(each.symbol[1:-1], rule.symbol)
    return _Template(rule, varying.symbol, instances)


def _instances(rules: Mapping[str, Rule], templates: Mapping[str, _Template]) -> _Made:
    """The rules of templates that others ask for, and nobody defines."""
    possible = {
        symbol: (template, alternative, family)
        for family in _families(templates)
        for template in family
        for alternative, symbol in template.instances.items()
        if symbol not in rules
    }
    made: _Made = {symbol: {} for symbol in templates}
    todo = [symbol for rule in rules.values() for symbol in _symbols_of_rule(rule)]
    while todo:
        asked = possible.pop(todo.pop(), None)
        if asked is not None:
            template, alternative, family = asked
            rule = renamed_rule(template.rule, _names(alternative, family))
            made[template.rule.symbol][alternative] = rule
            todo += _symbols_of_rule(rule)
    return made


def _symbols_of_rule(rule: Rule) -> list[str]:
    """The symbols that a rule needs."""
    code = [*computed_bounds(rule.body), *([rule.generator] if rule.generator else [])]
    return [*symbols_in(rule.body), *(mention.path.base for each in code for mention in each.mentions)]


def _unused_symbols(
    files: Sequence[SpecFile], rules: Mapping[str, Rule], templates: Mapping[str, _Template]
) -> frozenset[str]:
    """The templates, and the rules that list alternatives, that nothing else refers to."""
    marked = {*templates, *(each.varying for each in templates.values())}
    used = {symbol for rule in rules.values() if rule.symbol not in marked for symbol in _symbols_of_rule(rule)}
    used |= {mention.path.base for file in files for goal in file.objectives for mention in goal.expression.mentions}
    used |= {setting.selector for file in files for setting in file.settings}
    todo = sorted(used & marked)
    while todo:
        more = marked.intersection(_symbols_of_rule(rules[todo.pop()])) - used
        used |= more
        todo += sorted(more)
    return frozenset(marked - used)


def _changed(file: SpecFile, templates: Mapping[str, _Template], made: _Made, unused: Container[str]) -> SpecFile:
    """A file with what is made of its templates in their places."""
    rules: list[Rule] = []
    for rule in file.rules:
        if rule.symbol not in unused:
            rules.append(rule)
        template = templates.get(rule.symbol)
        if template is not None and template.rule is rule:
            rules += [made[rule.symbol][each] for each in template.instances if each in made[rule.symbol]]
    constraints = tuple(new for each in file.constraints for new in _copies(each, templates, made, unused))
    return replace(file, rules=tuple(rules), constraints=constraints)


def _copies(
    constraint: Constraint, templates: Mapping[str, _Template], made: _Made, unused: Container[str]
) -> list[Constraint]:
    """A constraint for each rule of the templates that it speaks of; and itself, if all that it speaks of is there."""
    copies = [constraint]
    for family in _families(templates):
        marks = {family[0].varying, *(each.rule.symbol for each in family)}
        copies = [new for each in copies for new in _for_each(each, family, marks, made, unused)]
    return copies


def _for_each(
    constraint: Constraint, family: Sequence[_Template], marks: Set[str], made: _Made, unused: Container[str]
) -> Iterator[Constraint]:
    """The constraint for all templates that are for each of the same symbol."""
    spoken_of = {symbol for symbol in symbols_of(constraint.formula) if symbol in marks}
    if not any(symbol in unused for symbol in spoken_of):
        yield constraint
    asked = {symbol for symbol in spoken_of if symbol in made} or {each.rule.symbol for each in family}
    for alternative in family[0].instances if spoken_of else ():
        if any(alternative in made[symbol] for symbol in asked):
            yield renamed_constraint(constraint, _names(alternative, family))


def _families(templates: Mapping[str, _Template]) -> list[list[_Template]]:
    """The templates that are for each of the same symbol."""
    families: dict[str, list[_Template]] = {}
    for each in templates.values():
        families.setdefault(each.varying, []).append(each)
    return list(families.values())


def _names(alternative: str, family: Sequence[_Template]) -> dict[str, str]:
    """The symbols of the rule that is made for an alternative, by those that stand in the template."""
    return {family[0].varying: alternative, **{each.rule.symbol: each.instances[alternative] for each in family}}
