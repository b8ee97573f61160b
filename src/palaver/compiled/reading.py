"""Parsing one input: its derivations that satisfy the constraints, or the reason why there is none.

There are three outcomes: the input conforms, it is rejected, or it was too much work to find out (`Undecided`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from palaver.compiled.compiled_limits import (
    MAX_REFUSED_CHARACTERS,
    MAX_REFUSED_DERIVATIONS,
    MIN_REFUSED_DERIVATIONS,
    REREAD_STEPS,
    REREAD_STEPS_PER_CHARACTER,
)
from palaver.compiled.data import as_data
from palaver.constraints.checks import Failure
from palaver.errors import Rejected, Undecided
from palaver.limits import recorded
from palaver.matching.matcher import ReadingBudget
from palaver.solving.generator_sources import NoSource
from palaver.trees.node import Node
from palaver.trees.tree import SliceTree, Tree
from palaver.trees.values import pieces

if TYPE_CHECKING:
    from palaver.compiled.spec import Spec


class Reading:
    """The parse trees of one input, to iterate over; `rejection` tells why there was none.

    With `bounded`, lengths that constraints decide are used while reading: that is faster, and has the same result.

    :raises Undecided: while iterating, or at once, if a limit was reached before all trees were found
    """

    def __init__(
        self,
        spec: Spec,
        data: str | bytes | int | Tree,
        *,
        prefix: bool = False,
        reference: bool = False,
        bounded: bool = True,
        budget: ReadingBudget | None = None,
    ) -> None:
        self._spec = spec
        self._data = as_data(data)
        self._prefix = prefix
        self._failure: Failure | None = None  # the first that was met
        self._lost_source: str | None = None  # the first
        binary = spec.is_binary and isinstance(self._data, bytes)
        self._is_bounded = bounded and binary == spec.is_binary and bool(spec.bounded_rules.bounds)
        self._matcher = spec.matcher(binary=binary, reference=reference, bounded=self._is_bounded)
        self._matcher.budget = budget
        self._progress = self._matcher.feed(self._data) if prefix else self._matcher.finish(self._data)

    def __iter__(self) -> Iterator[Tree]:
        refused = 0
        for node in self._nodes():
            tree = self._accepted(node)
            if tree is not None:
                yield tree
                continue
            refused += 1
            if refused >= self._most_refused:
                MAX_REFUSED_DERIVATIONS.reached()
                raise Undecided(f"all of the first {refused} derivations are rejected, and there may be more")

    def _nodes(self) -> Iterator[Node]:
        return self._matcher.partial_trees() if self._prefix else self._matcher.trees()

    @property
    def _most_refused(self) -> int:
        """The number of derivations that may be rejected before the input is left undecided."""
        most = max(MIN_REFUSED_DERIVATIONS, MAX_REFUSED_CHARACTERS // max(1, len(self._data)))
        return min(most, MAX_REFUSED_DERIVATIONS)

    def _accepted(self, node: Node) -> Tree | None:
        try:
            tree = Tree(self._spec.sources.recover(node))
        except NoSource as error:
            self._lost_source = self._lost_source or str(error)
            return None
        for check in self._spec.checks:
            if (failure := check.failure(tree)) is not None:
                self._failure = self._failure or failure
                return None
        return tree

    def rejection(self) -> Rejected:
        """The error, once the iteration has ended without a tree."""
        if self._failure is not None:
            return self._violation(self._failure)
        if self._lost_source is not None:
            return Rejected(self._lost_source, offset=0)
        return self._unbounded_rejection() if self._is_bounded else self._misread()

    def _unbounded_rejection(self) -> Rejected:
        """The constraint that the first derivation violates if lengths are not bounded, rather than where it ended."""
        steps = REREAD_STEPS + REREAD_STEPS_PER_CHARACTER * len(self._data)
        try:
            with recorded():  # that it is wrong is known, so no limit changes that
                plain = Reading(
                    self._spec, self._data, prefix=self._prefix, bounded=False, budget=ReadingBudget(steps, sys.maxsize)
                )
                for node in islice(plain._nodes(), 1):
                    plain._accepted(node)
        except Undecided:
            return self._misread()
        return plain.rejection()

    def _misread(self) -> Rejected:
        progress = self._progress
        offset = progress.failed_at if progress.failed_at is not None else len(self._data)
        ended = offset >= len(self._data)
        found = "end of input" if ended else _found_at(self._data, offset)
        expected = f"expected {' or '.join(progress.expected)}" if progress.expected else "no input can continue here"
        crashed = f" ({self._matcher.crashes[0]})" if self._matcher.crashes else ""
        return Rejected(
            f"unexpected {found} at offset {offset}: {expected}{crashed}", offset=offset, expected=progress.expected
        )

    def _violation(self, failure: Failure) -> Rejected:
        """The constraint that does not hold; of a model, its state, and the message that contradicts it."""
        breach = failure.breach(self._spec.namespace.names)
        if breach is None:
            return Rejected(failure.tell(), offset=self._offset_of(failure))
        told, node = breach
        messages = node.protocol_msgs()
        place = messages[-1].msg if messages else node
        return Rejected(told.tell(), offset=_start_of(place, in_bytes=isinstance(self._data, bytes)))

    def _offset_of(self, failure: Failure) -> int:
        """The offset of the first node that a failing check looked at."""
        for _, value in failure.values:
            tree = value[0] if isinstance(value, list) and value else value
            while isinstance(tree, SliceTree):
                tree = tree.children[0] if tree.children else tree.whole
            if isinstance(tree, Tree):
                return _start_of(tree, in_bytes=isinstance(self._data, bytes))
        return 0


def _found_at(data: str | bytes, offset: int) -> str:
    if isinstance(data, str) and 0xDC80 <= ord(data[offset]) <= 0xDCFF:
        return f"byte 0x{ord(data[offset]) - 0xDC00:02x} (not UTF-8)"
    return repr(data[offset : offset + 1])


def _start_of(tree: Tree, *, in_bytes: bool) -> int:
    """The number of bytes, or else characters, before a node."""
    bits = 0
    while (parent := tree.parent) is not None:
        # A source is not part of the input; what was made from it is.
        before = parent.node.children[: max(tree.step, 0)] if isinstance(parent.node, Node) else ()
        for piece in (piece for part in before for piece in pieces(part)):
            if isinstance(piece, str) and in_bytes:
                piece = piece.encode("utf-8", "surrogateescape")
            bits += 1 if isinstance(piece, int) else 8 * len(piece)
        tree = parent
    return bits // 8


def message_readings(spec: Spec, symbol: str, data: bytes, history: Sequence[Node]) -> Iterator[Node]:
    """The derivations of a whole message; see `Spec.readings`.

    Those with lengths as the constraints decide them, if there are any: without that, every place where a field may end
    is a derivation of its own, and the right one is found late.
    """
    for bounded in (True, False) if spec.bounded_rules.bounds else (False,):
        matcher = spec.matcher(symbol, binary=spec.is_binary, history=history, bounded=bounded)
        is_read = False
        try:
            matcher.finish(data)
            for node in matcher.trees():
                is_read = True
                try:
                    yield spec.sources.recover(node, history=history)
                except NoSource:
                    yield node
        except Undecided:
            continue
        if is_read:
            return
