"""A grammar as spec text, which reads back as the same grammar, and as a list of state transitions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple, assert_never

from palaver.grammar.analysis import Analysis
from palaver.grammar.ir import Grammar
from palaver.spec.ast import (
    Bit,
    Bound,
    Choice,
    Expr,
    Expression,
    Literal,
    Pattern,
    Permutation,
    Ref,
    Repeat,
    Rule,
    Sequence,
    Setting,
)

_SHORT = {(0, 1): "?", (0, None): "*", (1, None): "+"}


def show_grammar(grammar: Grammar) -> str:
    """The spec's own rules, constraints, objectives and settings. Python code and library rules are left out."""
    lines = [show_rule(rule) for rule in grammar.rules.values() if rule.symbol in grammar.own]
    lines += [show_setting(setting) for setting in grammar.settings]
    lines += [f"where {constraint.text}" for constraint in grammar.constraints]
    lines += [f"{_show_note(constraint.note)}where {constraint.text}" for constraint in grammar.remarks]
    lines += [
        f"{'maximizing' if each.maximize else 'minimizing'} {each.expression.text}" for each in grammar.objectives
    ]
    return "".join(f"{line}\n" for line in lines)


def _show_note(note: str) -> str:
    return f"# [note] {note}\n" if note else ""


def show_rule(rule: Rule) -> str:
    """One rule, on one line unless its generator needs more."""
    text = f"{_show_note(rule.note)}{rule.symbol} ::= {show_expr(rule.body)}"
    return text if rule.generator is None else f"{text} := {rule.generator.text}"


def show_expr(expr: Expr) -> str:
    """The right-hand side of a rule."""
    match expr:
        case Choice(options):
            return " | ".join(_inside(option, Choice) for option in options)
        case Sequence(parts):
            return " ".join(_inside(part, Choice, Sequence) for part in parts)
        case Repeat(body, least, most):
            return _inside(body, Choice, Sequence, Repeat, Permutation) + _operator(least, most)
        case Permutation(parts):
            return f"[[{' '.join(_inside(part, Choice, Sequence, Repeat, Permutation) for part in parts)}]]"
        case Ref(symbol, sender, recipient):
            return f"<{':'.join(name for name in (sender, recipient, symbol[1:-1]) if name is not None)}>"
        case Pattern(source):
            return show_pattern(source)
        case Literal(value):
            return repr(value)
        case Bit(value):
            return str(value)
        case _:
            assert_never(expr)


def _inside(expr: Expr, *loose: type) -> str:
    """`expr` as part of something, in parentheses if it is of a class that binds less tightly."""
    text = show_expr(expr)
    return f"({text})" if isinstance(expr, loose) else text


def _operator(least: Bound, most: Bound | None) -> str:
    if isinstance(least, int) and (most is None or isinstance(most, int)) and (least, most) in _SHORT:
        return _SHORT[least, most]
    if most is None:
        return f"{{{_bound(least)},}}"
    if least == most:
        return f"{{{_bound(least)}}}"
    return f"{{{_bound(least)},{_bound(most)}}}"


def _bound(bound: Bound) -> str:
    return bound.text if isinstance(bound, Expression) else str(bound)


def show_pattern(source: str | bytes) -> str:
    """A regular expression as a raw string literal."""
    prefix, text = ("r", source) if isinstance(source, str) else ("rb", source.decode("latin-1"))
    for quote in ("'", '"', "'''", '"""'):
        if quote not in text and not text.endswith(quote[0]) and ("\n" not in text or len(quote) == 3):
            return f"{prefix}{quote}{text}{quote}"
    # Both kinds of quotes are in it, and it came from a raw literal: then each was written with a backslash before it.
    return f"{prefix}'{text}'" if "\n" not in text else f"{prefix}'''{text}'''"


def show_setting(setting: Setting) -> str:
    """One `setting` statement."""
    selector = setting.selector
    if selector != "*" and not selector.startswith("<"):
        selector = f"all_with_type({selector})"
    pairs = (f"{key} = {value!r}" for key, value in setting.values)
    return " ".join(["setting", selector, *pairs])


END = "[*]"


class RuleTransition(NamedTuple):
    """A transition between two states, with the messages sent on it."""

    state: str
    target: str
    messages: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.state} --> {self.target}" + (f": {' '.join(self.messages)}" if self.messages else "")


def transitions(analysis: Analysis) -> Iterator[RuleTransition]:
    """The transitions of the state machine that a dialogue grammar embeds, from the start symbol on.

    A rule is a state. Each of its alternatives is a transition: its last symbol is the next state, and the items before
    that are sent on the way. An alternative that ends otherwise ends the session. Messages are not expanded.
    """
    yield RuleTransition(END, analysis.grammar.start)
    met = {analysis.grammar.start}
    todo = [Ref(analysis.grammar.start)]
    while todo:
        state = todo.pop(0)
        if state.sender is not None:
            yield RuleTransition(show_expr(state), END, (show_expr(state),))
            continue
        for items in _alternatives(analysis.grammar.rules[state.symbol].body):
            last = items[-1] if items else None
            if not isinstance(last, Ref):
                yield RuleTransition(state.symbol, END, tuple(map(show_expr, items)))
                continue
            target = show_expr(last)
            yield RuleTransition(state.symbol, target, tuple(map(show_expr, items[:-1])))
            if target not in met:
                met.add(target)
                todo.append(last)


def _alternatives(expr: Expr) -> list[list[Expr]]:
    """The sequences that `expr` is a choice of."""
    match expr:
        case Choice(options):
            return [items for option in options for items in _alternatives(option)]
        case Sequence(parts):
            combined = product(*(_alternatives(part) for part in parts))
            return [[item for items in combination for item in items] for combination in combined]
        case _:
            return [[expr]]
