"""The messages that the Earley parser reads, and why: found out by examples, and from the grammar where it is certain.

The fast path reads what has one derivation as it comes; whatever it cannot decide is read by the Earley parser, from
the beginning and several times slower. Neither changes what a message means.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from palaver.errors import PalaverError
from palaver.generation.makers import Discarded
from palaver.random_source import RandomSource
from palaver.solving.solving_limits import MAX_NODES, MAX_REPETITIONS
from palaver.trees.tree import Tree

if TYPE_CHECKING:
    from palaver.compiled.spec import Spec

# Examples of each message.
EXAMPLES = 10


class EarleyReading(NamedTuple):
    """A message, or the start symbol of a spec without messages, that the Earley parser reads; and why."""

    symbol: str
    reason: str


def earley_readings(spec: Spec, chance: RandomSource) -> Iterator[EarleyReading]:
    """The messages of which some example is read by the Earley parser, in the order of the spec."""
    messages = list(dict.fromkeys(message.symbol for message in spec.analysis.messages))
    for symbol in messages or [spec.start]:
        reasons = (_reason(spec, symbol, chance / symbol / number, not messages) for number in range(EXAMPLES))
        if reason := next(filter(None, reasons), ""):
            yield EarleyReading(symbol, reason)


def _reason(spec: Spec, symbol: str, chance: RandomSource, whole: bool) -> str:
    """The reason for which the Earley parser reads a random example; "" if it does not, or there is none."""
    matcher = spec.matcher(symbol, binary=spec.is_binary, whole=whole, bounded=True)
    with suppress(Discarded, PalaverError):  # the code of the spec may not like examples that constraints rule out
        data = Tree(spec.random_node(symbol, chance, MAX_NODES, MAX_REPETITIONS)).serialised()
        if whole:
            matcher.finish(data)
        else:
            matcher.feed(data)
        next(islice(matcher.trees(), 1), None)
        return matcher.general_reason
    return ""
