"""Python expressions of a spec: selectors are lifted out, the rest is CPython's."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from palaver.source import Source, Span
from palaver.spec.ast import Expression, Mention
from palaver.spec.cpython import Lifted, parse_lifted
from palaver.spec.diagnose import Reporter, Wrong
from palaver.spec.lift import lift
from palaver.spec.scan import Token


def read_expression(source: Source, tokens: Sequence[Token], report: Reporter) -> Expression:
    """The Python expression that `tokens`, at least one, make up.

    :raises Wrong: they make up none
    """
    lifted = lift(source, tokens)
    return whole_expression(lifted, parse_lifted(lifted, report))


def whole_expression(lifted: Lifted, node: ast.expr) -> Expression:
    """All of the lifted text as one expression, of which CPython made `node`.

    :raises Wrong: a selector stands where none can
    """
    used = loaded_mentions(node, lifted)
    refuse_unused(lifted, {mention.name for mention in used})
    text = lifted.source.text[lifted.start : lifted.end]
    return Expression(text, used, node, lifted.source, Span(lifted.start, lifted.end))


def loaded_mentions(node: ast.AST, lifted: Lifted) -> tuple[Mention, ...]:
    """The mentions whose value `node` uses, in the order of the text.

    :raises Wrong: one of them is bound there
    """
    used = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in lifted.mentions:
            mention = lifted.mentions[inner.id]
            if not isinstance(inner.ctx, ast.Load):
                raise _misplaced_binding(mention, lifted)
            used.append(mention)
    return tuple(sorted(used, key=lambda mention: mention.path.span.start))


def refuse_unused(lifted: Lifted, used: set[str]) -> None:
    """See to it that every selector became a value.

    :raises Wrong: one became something else, a parameter or a keyword
    """
    for name, mention in lifted.mentions.items():
        if name not in used:
            raise Wrong(mention.path.span, "a selector cannot stand here: it is a value, not a name")


def _misplaced_binding(mention: Mention, lifted: Lifted) -> Wrong:
    symbol = mention.path.base
    return Wrong(
        mention.path.span,
        f"{lifted.authors_words(mention.name)} cannot be bound here",
        f"only all(… for {symbol} in *<path>) and any(…), without `if` and as conditions of their own, bind a symbol; "
        "elsewhere use a Python name",
    )
