"""Static checks of a grammar, reported as diagnostics.

Each function below is one check. Errors are reported for what no run could make sense of, warnings for what is legal
and probably not meant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

from palaver.grammar.analysis import Analysis, generator_arguments, reachable
from palaver.grammar.beyond_rules import check_beyond
from palaver.grammar.condition_checks import check_constraint, check_expression
from palaver.grammar.fixpoints import ENDLESS
from palaver.grammar.ir import BEYOND, source_of
from palaver.lean_dataclasses import replace
from palaver.regular.regex import PatternError, compile_pattern
from palaver.source import Span
from palaver.spec.ast import Expression, Index, Pattern, Rule
from palaver.spec.diagnostics import Reporter, did_you_mean

# Parties that need no class in the spec: `talk --client` and `--server` define the first two.
ALWAYS_KNOWN = ("Client", "Server", "In", "Out", "StdIn", "StdOut", "TimerControl", "TimerEvent")


def check_grammar(
    analysis: Analysis, report: Reporter, *, party_classes: Collection[str] | None, is_whole: bool
) -> None:
    """Report every error and warning about a grammar.

    Parties are checked only if their classes are known, unused rules only if the grammar `is_whole`: all of the spec
    could be read.
    """
    rules = [rule for rule in analysis.grammar.rules.values() if rule.symbol in analysis.grammar.own]
    for rule in rules:
        _check_patterns(rule, analysis, report)
        _check_ends(rule, analysis, report)
        _check_generator(rule, analysis, report)
    if is_whole and analysis.grammar.rules[analysis.grammar.start].source is not None:
        _check_used(rules, analysis, report)
    _check_messages(analysis, report)
    if party_classes is not None:
        _check_parties(analysis, report, party_classes)
    if analysis.grammar.beyond:
        _check_beyond(analysis, report, party_classes)
    for constraint in analysis.grammar.all_constraints:
        check_constraint(constraint, analysis, report)
    for objective in analysis.grammar.objectives:
        check_expression(objective.expression, {}, analysis, report)
    for rule in rules:
        for bound in analysis.computed_bounds.get(rule.symbol, ()):
            check_expression(bound, {}, analysis, report)
            _check_bound(bound, report)


def _check_beyond(analysis: Analysis, report: Reporter, party_classes: Collection[str] | None) -> None:
    """Check the rules that only `<beyond>` leads to, as those of the session are."""
    grammar = analysis.grammar
    everything = Analysis(replace(grammar, rules={**grammar.rules, **grammar.beyond}, start=BEYOND, beyond={}))
    for rule in grammar.beyond.values():
        if rule.symbol in grammar.own:
            _check_patterns(rule, everything, report)
            _check_ends(rule, everything, report)
            _check_generator(rule, everything, report)
    apart = Analysis(replace(everything.grammar, rules=dict(grammar.beyond)))
    for rule in grammar.beyond.values():
        for ref in everything.refs[rule.symbol]:
            if ref.sender is not None:
                _check_message(rule, ref.symbol, ref.span, everything, report)
    if party_classes is not None:
        _check_parties(apart, report, {*party_classes, *analysis.all_parties})
    check_beyond(grammar, analysis.all_parties, report)


def _check_patterns(rule: Rule, analysis: Analysis, report: Reporter) -> None:
    for part in analysis.parts[rule.symbol]:
        if isinstance(part, Pattern):
            try:
                compile_pattern(part.source)
            except PatternError as error:
                message = f"invalid regular expression: {error}"
                hint = "r'…' is a regular expression; write '…' for plain text"
                report.error(source_of(rule), part.span, message, hint)


def _check_ends(rule: Rule, analysis: Analysis, report: Reporter) -> None:
    if analysis.sizes[rule.symbol] < ENDLESS:
        return
    stuck = {
        symbol: [child for child in analysis.children[symbol] if analysis.sizes.get(child, 1) >= ENDLESS]
        for symbol in (rule.symbol, *analysis.below(rule.symbol))
        if analysis.sizes.get(symbol, 1) >= ENDLESS
    }
    # A symbol that never ends only because it contains such a symbol is not to blame.
    if not any(rule.symbol in reachable(child, stuck) for child in stuck[rule.symbol]):
        return
    others = [child for child in stuck[rule.symbol] if child != rule.symbol]
    again = [f"{rule.symbol} again"] if rule.symbol in stuck[rule.symbol] else []
    also = f", which never terminate{'s' * (len(others) == 1)} either" if others else ""
    message = f"{rule.symbol} never terminates: every alternative contains {' or '.join(again + others)}{also}"
    report.error(source_of(rule), rule.span, message, f"add an alternative without {' and '.join(stuck[rule.symbol])}")


def _check_used(rules: list[Rule], analysis: Analysis, report: Reporter) -> None:
    grammar = analysis.grammar
    mentioned = {
        symbol
        for rule in grammar.rules.values()
        for symbol in (*analysis.children[rule.symbol], *generator_arguments(rule))
    }
    for rule in rules:
        # A spec may use only some rules of an included file, and may replace those that use the rest.
        if rule.symbol in analysis.used or source_of(rule).is_included:
            continue
        if rule.symbol in mentioned:
            message = f"{rule.symbol} cannot be reached from {grammar.start}"
            hint = f"use it in a rule that {grammar.start} leads to, or start from it with -S"
            report.warning(source_of(rule), rule.span, message, hint)
        else:
            report.warning(source_of(rule), rule.span, f"{rule.symbol} is never used", "use it in a rule, or remove it")


def _check_generator(rule: Rule, analysis: Analysis, report: Reporter) -> None:
    if rule.generator is None:
        return
    for mention in rule.generator.mentions:
        if mention.path.steps or mention.kind != "each":
            message = "a generator's argument must be a plain symbol, not a path or a list"
            hint = f"write {mention.path.base}, and take its parts in Python"
            report.error(rule.generator.source, mention.path.span, message, hint)
    for symbol in generator_arguments(rule):
        argument = analysis.grammar.rules[symbol]
        if argument.generator is None and argument.source is not None:
            report.warning(
                rule.generator.source,
                rule.generator.span,
                f"{rule.symbol} is generated from {symbol}, but has no inverse: inputs with it cannot be parsed",
                f"add the inverse: {symbol} ::= … := f({rule.symbol})",
            )


def _check_bound(bound: Expression, report: Reporter) -> None:
    """A bound must be computable while the input is being read: from one symbol, by its steps down."""
    for mention in bound.mentions:
        if mention.kind != "each":
            message = "a bound can select only a single symbol, not a list or a count"
            report.error(bound.source, mention.path.span, message, f"write {mention.path.base}")
        elif any(
            isinstance(one, Index) and not isinstance(next_, Index) for one, next_ in pairwise(mention.path.steps)
        ):
            message = "in a bound, an index is allowed only at the end of a path"
            report.error(
                bound.source, mention.path.span, message, f"name the children instead: {mention.path.base}.<…>"
            )


def _check_messages(analysis: Analysis, report: Reporter) -> None:
    rules = analysis.grammar.rules
    for rule in rules.values():
        for ref in analysis.refs[rule.symbol]:
            if ref.sender is not None:
                _check_message(rule, ref.symbol, ref.span, analysis, report)
    for rule in rules.values():
        if rule.generator is None:
            continue
        roots = (rule.symbol, *generator_arguments(rule))
        inner = next(_messages_below(roots, analysis), None)
        if inner is not None:
            message = f"{rule.symbol} has a generator, but contains a message: {inner}"
            hint = "a generator can make only parts of messages"
            report.error(rule.generator.source, rule.generator.span, message, hint)


def _check_message(rule: Rule, symbol: str, span: Span, analysis: Analysis, report: Reporter) -> None:
    inner = next(_messages_below((symbol,), analysis), None)
    if inner is not None:
        message = f"the message {symbol} contains another message: {inner}"
        report.error(
            source_of(rule), span, message, "a message is sent as a whole; remove the party from one of the two"
        )


def _messages_below(symbols: Iterable[str], analysis: Analysis) -> Iterator[str]:
    """The messages that these symbols lead to, each with its place."""
    for symbol in symbols:
        if symbol not in analysis.holding_messages:
            continue
        for name in reachable(symbol, analysis.children):
            rule = analysis.grammar.rules[name]
            for ref in analysis.refs[name]:
                if ref.sender is not None:
                    line, column = source_of(rule).place(ref.span.start)
                    yield f"{ref.symbol} at {source_of(rule).name}:{line}:{column}"


def _check_parties(analysis: Analysis, report: Reporter, party_classes: Collection[str]) -> None:
    rules = analysis.grammar.rules.values()
    messages = [(rule, ref) for rule in rules for ref in analysis.refs[rule.symbol] if ref.sender is not None]
    senders = {ref.sender for _, ref in messages if ref.sender is not None}
    known = {*party_classes, *ALWAYS_KNOWN}
    reported: set[str] = set()
    for rule, ref in messages:
        if ref.recipient is not None and ref.recipient not in known and ref.recipient not in senders:
            message = f"unknown recipient {ref.recipient}: no class has that name, and no message comes from it"
            hint = did_you_mean(ref.recipient, known | senders) or f"add class {ref.recipient}(FandangoParty)"
            report.error(source_of(rule), ref.span, message, hint)
        if ref.sender is not None and ref.sender not in known and ref.sender not in reported:
            reported.add(ref.sender)
            message = f"unknown sender {ref.sender}: no class has that name, so its messages go to standard output"
            hint = did_you_mean(ref.sender, known) or f"add class {ref.sender}(FandangoParty)"
            report.warning(source_of(rule), ref.span, message, hint)
