"""What a careful reader would object to in a grammar.

Each function below is one objection. Errors are things no run could make sense of; warnings are things that are legal
and probably not meant.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations, count

from palaver.grammar.analyse import ENDLESS, Analysis, generator_arguments, reachable
from palaver.grammar.ir import computed_bounds, refs, walk
from palaver.grammar.lower import expressions_of
from palaver.grammar.regex import PatternError, compile_pattern
from palaver.source import Source, Span
from palaver.spec.ast import (
    And,
    Child,
    Constraint,
    Descendant,
    Expression,
    Formula,
    Index,
    Leaf,
    Literal,
    Mention,
    Not,
    Or,
    Path,
    Pattern,
    Quantified,
    Rule,
)
from palaver.spec.diagnose import Reporter

# Parties that need no class in the spec: `talk --client` and `--server` define the first two.
ALWAYS_KNOWN = ("Client", "Server", "In", "Out", "StdIn", "StdOut", "TimerControl", "TimerEvent")


def check_grammar(
    analysis: Analysis, report: Reporter, *, party_classes: Collection[str] | None, is_whole: bool
) -> None:
    """Report every objection to a grammar; those about parties only if it is known which classes there are, those
    about what nobody uses only if the grammar `is_whole`: everything of the spec could be read."""
    rules = [rule for rule in analysis.grammar.rules.values() if rule.symbol in analysis.grammar.own]
    for rule in rules:
        _check_patterns(rule, report)
        _check_ends(rule, analysis, report)
        _check_generator(rule, analysis, report)
    if is_whole and analysis.grammar.rules[analysis.grammar.start].source is not None:
        _check_used(rules, analysis, report)
    _check_messages(analysis, report)
    if party_classes is not None:
        _check_parties(analysis, report, party_classes)
    for constraint in analysis.grammar.constraints:
        _check_constraint(constraint, analysis, report)
    for goal in analysis.grammar.goals:
        _check_expression(goal.expression, {}, analysis, report)
    for rule in rules:
        for bound in computed_bounds(rule.body):
            _check_expression(bound, {}, analysis, report)


# --- rules ------------------------------------------------------------------------------------------------------------


def _source(rule: Rule) -> Source:
    return rule.source or Source("<rules>", "")


def _check_patterns(rule: Rule, report: Reporter) -> None:
    for part in walk(rule.body):
        if isinstance(part, Pattern):
            try:
                compile_pattern(part.source)
            except PatternError as error:
                report.error(
                    _source(rule),
                    part.span,
                    f"this regular expression does not compile: {error}",
                    "r'…' is a regular expression; write '…' for plain text",
                )


def _check_ends(rule: Rule, analysis: Analysis, report: Reporter) -> None:
    if analysis.sizes[rule.symbol] < ENDLESS:
        return
    stuck = {
        symbol: [child for child in analysis.children[symbol] if analysis.sizes.get(child, 1) >= ENDLESS]
        for symbol in (rule.symbol, *analysis.below(rule.symbol))
        if analysis.sizes.get(symbol, 1) >= ENDLESS
    }
    # What never ends only because it contains such a symbol is not to blame, and ends once that one does.
    if not any(rule.symbol in reachable(child, stuck) for child in stuck[rule.symbol]):
        return
    others = [child for child in stuck[rule.symbol] if child != rule.symbol]
    again = [f"{rule.symbol} again"] if rule.symbol in stuck[rule.symbol] else []
    also = f", which never end{'s' * (len(others) == 1)} either" if others else ""
    report.error(
        _source(rule),
        rule.span,
        f"{rule.symbol} never ends: every alternative contains {' or '.join(again + others)}{also}",
        f"add an alternative without {' and '.join(stuck[rule.symbol])}",
    )


def _check_used(rules: list[Rule], analysis: Analysis, report: Reporter) -> None:
    grammar = analysis.grammar
    mentioned = {
        symbol
        for rule in grammar.rules.values()
        for symbol in (*analysis.children[rule.symbol], *generator_arguments(rule))
    }
    for rule in rules:
        if rule.symbol in analysis.used:
            continue
        if rule.symbol in mentioned:
            report.warning(
                _source(rule),
                rule.span,
                f"{rule.symbol} cannot be reached from {grammar.start}",
                f"use it below {grammar.start}, or start from it with -S",
            )
        else:
            report.warning(
                _source(rule), rule.span, f"{rule.symbol} is never used", "remove it, or refer to it in a rule"
            )


def _check_generator(rule: Rule, analysis: Analysis, report: Reporter) -> None:
    if rule.generator is None:
        return
    for mention in rule.generator.mentions:
        if mention.path.steps or mention.kind != "each":
            report.error(
                rule.generator.source,
                mention.path.span,
                "a generator's argument is a plain symbol; paths and lists have no meaning here",
                f"write {mention.path.base} and take it apart in Python",
            )
    for symbol in generator_arguments(rule):
        argument = analysis.grammar.rules[symbol]
        if argument.generator is None and argument.source is not None:
            report.warning(
                rule.generator.source,
                rule.generator.span,
                f"{rule.symbol} is made from {symbol}, but nothing makes {symbol} from {rule.symbol}: "
                "inputs that contain it cannot be parsed",
                f"add the inverse: {symbol} ::= … := f({rule.symbol})",
            )


# --- messages and parties ---------------------------------------------------------------------------------------------


def _check_messages(analysis: Analysis, report: Reporter) -> None:
    rules = analysis.grammar.rules
    for rule in rules.values():
        for ref in refs(rule.body):
            if ref.sender is not None:
                _check_message(rule, ref.symbol, ref.span, analysis, report)
    for rule in rules.values():
        if rule.generator is None:
            continue
        roots = (rule.symbol, *generator_arguments(rule))
        inner = next(_messages_below(roots, analysis), None)
        if inner is not None:
            report.error(
                rule.generator.source,
                rule.generator.span,
                f"{rule.symbol} has a generator, but leads to a message: {inner}",
                "generators make parts of messages, not conversations",
            )


def _check_message(rule: Rule, symbol: str, span: Span, analysis: Analysis, report: Reporter) -> None:
    inner = next(_messages_below((symbol,), analysis), None)
    if inner is not None:
        report.error(
            _source(rule),
            span,
            f"the message {symbol} contains another message: {inner}",
            "a message is sent as a whole; take the party off one of the two",
        )


def _messages_below(symbols: Iterable[str], analysis: Analysis) -> Iterator[str]:
    """The messages that these symbols lead to, each with its place."""
    for symbol in symbols:
        for name in reachable(symbol, analysis.children):
            rule = analysis.grammar.rules[name]
            for ref in refs(rule.body):
                if ref.sender is not None:
                    line, column = _source(rule).place(ref.span.start)
                    yield f"{ref.symbol} at {_source(rule).name}:{line}:{column}"


def _check_parties(analysis: Analysis, report: Reporter, party_classes: Collection[str]) -> None:
    rules = analysis.grammar.rules.values()
    messages = [(rule, ref) for rule in rules for ref in refs(rule.body) if ref.sender is not None]
    senders = {ref.sender for _, ref in messages}
    known = {*party_classes, *ALWAYS_KNOWN}
    told: set[str] = set()
    for rule, ref in messages:
        if ref.recipient is not None and ref.recipient not in known and ref.recipient not in senders:
            report.error(
                _source(rule),
                ref.span,
                f"nobody is called {ref.recipient}: no class of that name, and it sends nothing",
                f"add class {ref.recipient}(FandangoParty)",
            )
        if ref.sender is not None and ref.sender not in known and ref.sender not in told:
            told.add(ref.sender)
            report.warning(
                _source(rule),
                ref.span,
                f"no class is called {ref.sender}: in a session its messages go to standard output",
                f"add class {ref.sender}(FandangoParty)",
            )


# --- constraints ------------------------------------------------------------------------------------------------------


def _check_constraint(constraint: Constraint, analysis: Analysis, report: Reporter) -> None:
    _check_formula(constraint.formula, {}, analysis, report)
    told: set[str] = set()
    for expression, mention, also in _entangled(constraint.formula, frozenset()):
        symbol = _last_symbol(mention.path)
        if symbol in told or not analysis.may_repeat(symbol):
            continue
        told.add(symbol)
        report.warning(
            expression.source,
            mention.path.span,
            f"{symbol} is mentioned twice, and each mention stands for every {symbol} by itself"
            + ("" if also is expression else ": all of them satisfy the one side, or all of them the other"),
            f"to speak of one {symbol} at a time, bind it: {_bound_form(constraint, mention.path, analysis)}",
        )


def _bound_form(constraint: Constraint, path: Path, analysis: Analysis) -> str:
    """The constraint with one variable for all mentions of `path`."""
    text = constraint.source.text
    variable = next(name for name in _variables() if name not in analysis.grammar.rules and name not in text)
    parts, end = [], constraint.span.start
    for mention in (each for expression in expressions_of(constraint.formula) for each in expression.mentions):
        if mention.path == path and mention.kind == "each":
            parts += [text[end : mention.path.span.start], variable]
            end = mention.path.span.end
    condition = "".join([*parts, text[end : constraint.span.end]]).removeprefix("where").strip()
    over = text[path.span.start : path.span.end]
    return f"where forall {variable} in {over}: {' '.join(condition.split())}"


def _variables() -> Iterator[str]:
    yield from ("<x>", "<y>", "<z>")
    yield from (f"<x{number}>" for number in count(1))


def _check_formula(formula: Formula, bound: dict[str, frozenset[str]], analysis: Analysis, report: Reporter) -> None:
    match formula:
        case Leaf(expression):
            _check_expression(expression, bound, analysis, report)
        case And(parts) | Or(parts):
            for part in parts:
                _check_formula(part, bound, analysis, report)
        case Not(part):
            _check_formula(part, bound, analysis, report)
        case Quantified(_, variable, path, body):
            source = next(expressions_of(body)).source
            symbols = _check_path(path, source, bound, analysis, report)
            _check_formula(body, {**bound, variable: symbols}, analysis, report)


def _check_expression(
    expression: Expression, bound: dict[str, frozenset[str]], analysis: Analysis, report: Reporter
) -> None:
    for mention in expression.mentions:
        _check_path(mention.path, expression.source, bound, analysis, report)
        _check_index(expression, mention, analysis, report)
    _check_together(expression, bound, analysis, report)
    mentions = {mention.name: mention for mention in expression.mentions}
    for node in ast.walk(expression.python):
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in mentions:
                _check_length(expression, mentions[name], analysis, report)


def _check_length(expression: Expression, mention: Mention, analysis: Analysis, report: Reporter) -> None:
    rule = analysis.grammar.rules.get(_last_symbol(mention.path))
    if mention.kind == "each" and rule is not None and isinstance(rule.body, Pattern | Literal):
        text = expression.source.text[mention.path.span.start : mention.path.span.end]
        report.warning(
            expression.source,
            mention.path.span,
            f"len({text}) counts children, and {rule.symbol} always has one",
            f"for the number of characters write len(str({text}))",
        )


def _check_index(expression: Expression, mention: Mention, analysis: Analysis, report: Reporter) -> None:
    rule = analysis.grammar.rules.get(_last_symbol(mention.path))
    is_indexed = bool(mention.path.steps) and isinstance(mention.path.steps[-1], Index)
    if is_indexed and rule is not None and isinstance(rule.body, Pattern | Literal):
        report.warning(
            expression.source,
            mention.path.span,
            f"an index counts children, and {rule.symbol} always has one",
            f"for a character write str({rule.symbol})[…]",
        )


def _check_together(
    expression: Expression, bound: dict[str, frozenset[str]], analysis: Analysis, report: Reporter
) -> None:
    """A condition on symbols that never occur in one tree is satisfied by every tree."""
    mentions = [each for each in expression.mentions if each.kind == "each" and each.path.base not in bound]
    symbols = {symbol: each for each in mentions if (symbol := each.path.base) in analysis.reachable}
    for (one, _), (other, mention) in combinations(symbols.items(), 2):
        if not analysis.can_meet(one, other):
            report.warning(
                expression.source,
                mention.path.span,
                f"{one} and {other} never occur together, so this is always satisfied",
                "a condition holds if one of its symbols is absent; split it, or check the rules",
            )


def _check_path(
    path: Path, source: Source, bound: dict[str, frozenset[str]], analysis: Analysis, report: Reporter
) -> frozenset[str]:
    """The symbols that `path` can end at; steps that lead nowhere are reported."""
    if path.base in bound:
        symbols = bound[path.base]
    else:
        symbols = frozenset((path.base,))
        rule = analysis.grammar.rules.get(path.base)
        # What stands for an undefined symbol has no source; that it is undefined has been said.
        if rule is not None and rule.source is not None and path.base not in analysis.used:
            report.warning(
                source,
                path.span,
                f"{path.base} can never occur below {analysis.grammar.start}, so this is always satisfied",
                f"use {path.base} in a rule that {analysis.grammar.start} leads to",
            )
    for step in path.steps:
        match step:
            case Child(symbol):
                _check_child(symbols, symbol, path, source, analysis, report)
                symbols = frozenset((symbol,))
            case Descendant(symbol):
                if symbols and not any(symbol == name or symbol in analysis.below(name) for name in symbols):
                    report.error(source, path.span, f"{_names(symbols)} can contain no {symbol}", "check the path")
                symbols = frozenset((symbol,))
            case Index(tuple()):
                pass  # a slice has the children of what it was cut from
            case Index():
                symbols = frozenset(child for name in symbols for child in analysis.children.get(name, ()))
    return symbols


def _check_child(
    symbols: frozenset[str], child: str, path: Path, source: Source, analysis: Analysis, report: Reporter
) -> None:
    children = {name for symbol in symbols for name in analysis.children.get(symbol, ())}
    if child in children or not symbols:
        return
    hidden = [name for name in children if name.startswith("<_") and child in analysis.below(name)]
    if hidden:
        report.warning(
            source,
            path.span,
            f"{child} is no direct child of {_names(symbols)}, so this is always satisfied",
            f"write ..{child} to look deeper",
        )
        return
    deeper = any(child in analysis.below(symbol) for symbol in symbols)
    hint = f"write ..{child} to look deeper" if deeper else "check the path"
    report.error(source, path.span, f"{_names(symbols)} has no direct child {child}", hint)


def _entangled(formula: Formula, bound: frozenset[str]) -> Iterator[tuple[Expression, Mention, Expression]]:
    """Mentions whose path is mentioned before, in the same leaf or in another alternative of an `or`."""
    match formula:
        case Leaf(expression):
            seen: set[Path] = set()
            for mention in expression.mentions:
                if mention.kind == "each" and mention.path.base not in bound:
                    if mention.path in seen:
                        yield expression, mention, expression
                    seen.add(mention.path)
        case And(parts):
            for part in parts:
                yield from _entangled(part, bound)
        case Or(parts):
            for part in parts:
                yield from _entangled(part, bound)
            yield from _shared(parts, bound)
        case Not(part):
            yield from _entangled(part, bound)
        case Quantified(_, variable, _, body):
            yield from _entangled(body, bound | {variable})


def _shared(parts: tuple[Formula, ...], bound: frozenset[str]) -> Iterator[tuple[Expression, Mention, Expression]]:
    earlier: dict[Path, Expression] = {}
    for part in parts:
        here: dict[Path, Expression] = {}
        for expression in expressions_of(part):
            for mention in expression.mentions:
                if mention.kind != "each" or mention.path.base in bound:
                    continue
                if mention.path in earlier:
                    yield expression, mention, earlier[mention.path]
                here[mention.path] = expression
        earlier.update(here)


def _last_symbol(path: Path) -> str:
    symbols = [step.symbol for step in path.steps if isinstance(step, Child | Descendant)]
    return symbols[-1] if symbols else path.base


def _names(symbols: frozenset[str]) -> str:
    return " or ".join(sorted(symbols))
