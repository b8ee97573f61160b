"""Spec files to one grammar, in which later rules replace earlier ones; and a grammar to its part for some messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from types import MappingProxyType
from typing import assert_never

from palaver.grammar.beyond_rules import beyond_alternatives as beyond_alternatives
from palaver.grammar.beyond_rules import closing_answers as closing_answers
from palaver.grammar.beyond_rules import silent_answers as silent_answers
from palaver.grammar.beyond_rules import split_beyond
from palaver.grammar.fixpoints import ENDLESS, least_sizes
from palaver.grammar.grammar_checks import check_grammar as check_grammar
from palaver.grammar.ir import Grammar, source_of
from palaver.grammar.library import LIBRARY_SYMBOLS, library_rule
from palaver.grammar.unsolicited_messages import with_unsolicited_messages
from palaver.lean_dataclasses import replace
from palaver.source import Source, Span
from palaver.spec.ast import (
    And,
    Bit,
    Choice,
    Constraint,
    Expr,
    Expression,
    Formula,
    Literal,
    Not,
    Objective,
    Or,
    Pattern,
    Permutation,
    PythonCondition,
    Quantified,
    Ref,
    Repeat,
    Rule,
    Selector,
    Setting,
    SpecFile,
)
from palaver.spec.ast import Sequence as SequenceExpr
from palaver.spec.diagnostics import Reporter, did_you_mean
from palaver.spec.traversal import bounds_among, first_expression, selectors_of, step_symbols, walk


def lower(
    files: Sequence[SpecFile],
    report: Reporter,
    *,
    start: str = "<start>",
    stdlib: bool = True,
    extra: Iterable[Constraint | Objective] = (),
    assumed: Collection[str] | None = (),
) -> Grammar:
    """The grammar that `files` define together; undefined symbols are reported.

    Symbols that are `assumed` to be defined in files that could not be read are not reported (None: any symbol). An
    undefined symbol stands for the empty text from then on, so that other errors are found as well.
    """
    rules = _collect_rules(files, report)
    own = frozenset(rules)
    extra = tuple(extra)
    # A file that is included twice overrides what stands between, but states its constraints only once.
    distinct = list({id(file): file for file in files}.values())
    constraints = tuple(c for file in distinct for c in file.constraints)
    constraints += tuple(c for c in extra if isinstance(c, Constraint))
    objectives = tuple(o for file in distinct for o in file.objectives)
    objectives += tuple(o for o in extra if isinstance(o, Objective))
    settings = tuple(s for file in distinct for s in file.settings)
    resolver = _Resolver(rules, report, stdlib, assumed)
    resolver.require_start(start, files)
    resolver.resolve_rules()
    for constraint in constraints:
        resolver.resolve_formula(constraint.formula, frozenset())
    for objective in objectives:
        resolver.resolve_expression(objective.expression, frozenset())
    for setting in settings:
        if setting.selector.startswith("<"):
            resolver.require(setting.selector, setting.source, setting.span)
    resolver.resolve_rules()
    session_rules, beyond = split_beyond(rules, start, _mentioned(constraints, objectives, settings))
    rules = with_unsolicited_messages(session_rules)
    required = tuple(constraint for constraint in constraints if not constraint.note)
    remarks = tuple(constraint for constraint in constraints if constraint.note)
    return Grammar(MappingProxyType(rules), start, required, objectives, settings, own, remarks, beyond)


def _mentioned(
    constraints: Iterable[Constraint], objectives: Iterable[Objective], settings: Iterable[Setting]
) -> frozenset[str]:
    """The symbols that constraints, objectives and settings speak of."""
    paths = [path for constraint in constraints for path in selectors_of(constraint.formula)]
    paths += [mention.path for objective in objectives for mention in objective.expression.mentions]
    found = {symbol for path in paths for symbol in (path.base, *step_symbols(path))}
    return frozenset(found | {setting.selector for setting in settings})


def _collect_rules(files: Sequence[SpecFile], report: Reporter) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for file in files:
        for rule in file.rules:
            earlier = rules.pop(rule.symbol, None)
            rules[rule.symbol] = rule
            # A file that replaces another file's rule is meant; one that replaces its own is probably a mistake.
            if earlier is not None and earlier is not rule and earlier.source is file.source:
                line, column = file.source.place(earlier.span.start)
                message = f"{rule.symbol} replaces the definition at {file.source.name}:{line}:{column}"
                report.warning(file.source, rule.span, message, "join the two with | or rename one")
    return rules


class _Resolver:
    """Finds the definition of every symbol that is mentioned anywhere."""

    def __init__(self, rules: dict[str, Rule], report: Reporter, stdlib: bool, assumed: Collection[str] | None) -> None:
        self._rules = rules
        self._assumed = assumed
        self._report = report
        self._stdlib = stdlib
        self._resolved: set[str] = set()

    def require_start(self, start: str, files: Sequence[SpecFile]) -> None:
        if self._known(start):
            return
        source = files[-1].source if files else Source("<nothing>", "")
        own = list(self._rules)
        hint = did_you_mean(start, own) or (
            f"define {start}, or start from another symbol with -S" if own else f"add a rule {start} ::= …"
        )
        if not self._is_assumed(start):
            self._report.error(source, Span(0, 0), f"no rule defines the start symbol {start}", hint)
        self._rules[start] = Rule(start, Literal(""))

    def resolve_rules(self) -> None:
        while fresh := [rule for rule in self._rules.values() if rule.symbol not in self._resolved]:
            for rule in fresh:
                self._resolved.add(rule.symbol)
                self._resolve_rule(rule)

    def _resolve_rule(self, rule: Rule) -> None:
        parts = walk(rule.body)
        for part in parts:
            if isinstance(part, Ref):
                self.require(part.symbol, source_of(rule), part.span)
        for bound in bounds_among(parts):
            self.resolve_expression(bound, frozenset())
        if rule.generator is not None:
            self.resolve_expression(rule.generator, frozenset())

    def resolve_formula(self, formula: Formula, bound: frozenset[str]) -> None:
        match formula:
            case PythonCondition(expression):
                self.resolve_expression(expression, bound)
            case And(parts) | Or(parts):
                for part in parts:
                    self.resolve_formula(part, bound)
            case Not(part):
                self.resolve_formula(part, bound)
            case Quantified(_, variable, path, body):
                source = first_expression(body).source
                self._resolve_path(path, source, bound)
                self.resolve_formula(body, bound | {variable})
            case _:
                assert_never(formula)

    def resolve_expression(self, expression: Expression, bound: frozenset[str]) -> None:
        for mention in expression.mentions:
            self._resolve_path(mention.path, expression.source, bound)

    def _resolve_path(self, path: Selector, source: Source, bound: frozenset[str]) -> None:
        if path.base not in bound:
            self.require(path.base, source, path.span)
        for symbol in step_symbols(path):
            self.require(symbol, source, path.span)

    def require(self, symbol: str, source: Source, span: Span) -> None:
        if self._known(symbol):
            return
        if self._is_assumed(symbol):
            self._rules[symbol] = Rule(symbol, Literal(""))
            return
        defined = (name for name, rule in self._rules.items() if rule.source is not None)
        known = [*defined, *(LIBRARY_SYMBOLS if self._stdlib else ())]
        hint = did_you_mean(symbol, known) or f"add a rule {symbol} ::= …"
        self._report.error(source, span, f"no rule defines {symbol}", hint)
        self._rules[symbol] = Rule(symbol, Literal(""))

    def _is_assumed(self, symbol: str) -> bool:
        return self._assumed is None or symbol in self._assumed

    def _known(self, symbol: str) -> bool:
        if symbol in self._rules:
            return True
        rule = library_rule(symbol) if self._stdlib else None
        if rule is not None:
            self._rules[symbol] = rule
        return rule is not None


def slice_parties(grammar: Grammar, parties: Collection[str]) -> Grammar:
    """`grammar` without messages that none of `parties` sends; a start symbol that becomes empty is the empty text."""
    return slice_messages(grammar, lambda message: message.sender in parties)


def slice_messages(grammar: Grammar, is_kept: Callable[[Ref], bool]) -> Grammar:
    """`grammar` without the messages that are not kept, and without the rules that become empty by that."""
    gone: set[str] = set()
    while True:
        bodies = {name: _kept(rule.body, is_kept, gone) for name, rule in grammar.rules.items() if name not in gone}
        rules = {name: replace(grammar.rules[name], body=body) for name, body in bodies.items() if body is not None}
        # A loop whose only exit was another party's message never ends, and is removed as well.
        sizes = least_sizes(rules)
        lost = {name for name in bodies if sizes.get(name, ENDLESS) >= ENDLESS}
        if not lost:
            break
        gone |= lost
    rules.setdefault(grammar.start, Rule(grammar.start, Literal("")))
    for name in sorted(gone):
        # Constraints may still mention these symbols; they hold, as there are no such nodes.
        rules.setdefault(name, Rule(name, Literal("")))
    return replace(grammar, rules=MappingProxyType(rules), own=grammar.own - gone)


def _kept(expr: Expr, is_kept: Callable[[Ref], bool], gone: Collection[str]) -> Expr | None:
    """`expr` without the messages that are not kept; None if nothing is left."""
    match expr:
        case Ref(symbol, sender):
            return None if symbol in gone or (sender is not None and not is_kept(expr)) else expr
        case SequenceExpr(parts) | Permutation(parts):
            kept = tuple(left for part in parts if (left := _kept(part, is_kept, gone)) is not None)
            if len(kept) > 1:
                return replace(expr, parts=kept)
            return kept[0] if kept else None
        case Choice(options):
            kept = tuple(left for option in options if (left := _kept(option, is_kept, gone)) is not None)
            if len(kept) > 1:
                return replace(expr, options=kept)
            return kept[0] if kept else None
        case Repeat(body):
            left = _kept(body, is_kept, gone)
            return None if left is None else replace(expr, body=left)
        case Literal() | Bit() | Pattern():
            return expr
        case _:
            assert_never(expr)
