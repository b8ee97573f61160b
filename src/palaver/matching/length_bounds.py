"""Bounds that constraints put on the length of a rule: how much it reads, known before it is read.

The grammar of a matcher may be a *bounded* one: some of its rules have a `LengthBound`, and some were added so that a
rule can be bounded in one place and free in another. An added rule makes nodes of the rule it stands for, or none.

Such a bound is advice. It rules out only what a constraint would reject anyway; where it cannot be computed, because
the field was not read or the spec's code raises, the rule is read without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from palaver.lean_dataclasses import dataclass
from palaver.spec.ast import Expression


class BoundMeasure(Enum):
    """The unit that a bound counts."""

    LENGTH = "characters or bytes of the rule"
    TOTAL = "characters or bytes from the beginning of the rule that it is a part of"
    ROUNDS = "rounds of the repetition that the rule is"


@dataclass(frozen=True, slots=True)
class LengthBound:
    """The expression computes from fields before: `(divisor * measure + minus) // rounding`.

    So there is one measure for a value, or a range of them. If `is_encoded`, a length is that of the text in UTF-8. If
    `is_local`, the field is one of the same node as what is measured, the one that the path of the field begins at:
    no other field is ever looked at.
    """

    measure: BoundMeasure
    expression: Expression
    minus: int = 0
    divisor: int = 1
    rounding: int = 1
    is_local: bool = False
    is_encoded: bool = False


@dataclass(frozen=True, slots=True)
class LengthBounds:
    """The bounds of a grammar, by rule, and the symbols of the rules that were added; None: it leaves no node."""

    bounds: Mapping[str, LengthBound] = field(default_factory=dict)
    symbols: Mapping[str, str | None] = field(default_factory=dict)


NO_LENGTH_BOUNDS = LengthBounds()
