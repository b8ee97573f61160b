"""The abstract syntax tree of a spec, as frozen data.

The right-hand side of a rule is a tree of `Expr`s, which is also the intermediate representation of the matcher, the
generator and every analysis. Spans do not take part in comparison, so equal rules are equal wherever they stand.
"""

from __future__ import annotations

import ast
from dataclasses import field
from typing import Literal as OneOf
from typing import TypeAlias

from palaver.lean_dataclasses import dataclass
from palaver.source import Source, Span
from palaver.trees.node import Parties

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Literal:
    """A terminal of fixed text or bytes."""

    value: str | bytes
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Bit:
    """One bit, 0 or 1; the first of eight is the most significant."""

    value: int
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, over text or (if `source` is bytes) over bytes."""

    source: str | bytes
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a rule. With a sender it is a message."""

    symbol: str  # with brackets: "<name>"
    sender: str | None = None
    recipient: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def parties(self) -> Parties | None:
        return None if self.sender is None else Parties(self.sender, self.recipient)


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Expr, ...]  # two or more
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Choice:
    options: tuple[Expr, ...]  # two or more, in the order of the spec
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` times the body; None as `most`: no limit (generators bring their own budget)."""

    body: Expr
    least: Bound
    most: Bound | None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Permutation:
    """All parts, each exactly once, in any order."""

    parts: tuple[Expr, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Expr: TypeAlias = Literal | Bit | Pattern | Ref | Sequence | Choice | Repeat | Permutation
Bound: TypeAlias = "int | Expression"  # an Expression is computed anew for each repetition


@dataclass(frozen=True, slots=True)
class Child:
    """`.<b>`: the direct children of that name."""

    symbol: str


@dataclass(frozen=True, slots=True)
class Descendant:
    """`..<b>`: every node of that name in the subtree, the node itself included."""

    symbol: str


@dataclass(frozen=True, slots=True)
class Index:
    """`[i]` or `[i:j:k]`: child or children. A computed index has no selectors in it."""

    value: int | tuple[int | None, int | None, int | None] | Expression


SelectorStep: TypeAlias = Child | Descendant | Index


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector: all nodes named `base` (or the one bound to that name by a quantifier), then the steps from there."""

    base: str
    steps: tuple[SelectorStep, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Mention:
    """A selector in Python text.

    `each` stands for one node at a time, `list` (`*P`) for all of them, `count` (`|P|`) for how many. `name` is the
    Python identifier that stands for the mention in `Expression.python`.
    """

    name: str
    path: Selector
    kind: OneOf["each", "list", "count"] = "each"


@dataclass(frozen=True, slots=True)
class Expression:
    """A Python expression of the spec: its text, and the syntax tree in which identifiers replace the selectors.

    Every mention in the text is a variable of its own, in the order of the text.
    """

    text: str
    mentions: tuple[Mention, ...]
    python: ast.expr = field(compare=False, repr=False)
    source: Source = field(compare=False, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PythonCondition:
    """A Python condition; it holds if it holds for every combination of the nodes that its mentions select."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Only around formulas that bind a symbol; any other `not` is part of a Python condition."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Quantified:
    """`forall`/`all` (every) or `exists`/`any` (not every) over the nodes of a path.

    `variable` is a symbol with brackets, usable as the base of paths, or a Python identifier.
    """

    every: bool
    variable: str
    path: Selector
    body: Formula


Formula: TypeAlias = PythonCondition | And | Or | Not | Quantified


@dataclass(frozen=True, slots=True)
class Rule:
    symbol: str
    body: Expr
    generator: Expression | None = None
    source: Source | None = field(default=None, compare=False, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)  # of the symbol that is defined
    note: str = field(default="", compare=False, repr=False)  # what a `[note]` above it says


@dataclass(frozen=True, slots=True)
class Constraint:
    """`where`: a condition that must hold. `text` is the text after the keyword."""

    text: str
    formula: Formula
    source: Source = field(compare=False, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    note: str = field(default="", compare=False, repr=False)  # what a `[note]` above it says

    def __hash__(self) -> int:
        return hash(self.text)  # hashing the whole formula would take longer than the lookups it serves


@dataclass(frozen=True, slots=True)
class Objective:
    """`minimizing` or `maximizing`: an expression to optimise."""

    maximize: bool
    expression: Expression
    source: Source = field(compare=False, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Setting:
    """`setting SELECTOR key = value …`; `selector` is a symbol, ``*``, or the name of a node type."""

    selector: str
    values: tuple[tuple[str, object], ...]
    source: Source = field(compare=False, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Include:
    path: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SpecFile:
    """All statements of one source, by kind, each kind in the order of the text."""

    source: Source
    rules: tuple[Rule, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    objectives: tuple[Objective, ...] = ()
    settings: tuple[Setting, ...] = ()
    includes: tuple[Include, ...] = ()
    python: ast.Module = field(default_factory=lambda: ast.Module(body=[], type_ignores=[]), compare=False, repr=False)
