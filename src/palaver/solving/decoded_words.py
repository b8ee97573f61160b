"""The inverse of a function of the spec by enumeration: words of a field, sorted by the number that they decode to.

Lengths are often encoded in a way that only the spec knows (BER, varints). Such a function cannot be inverted, but it
can be asked: few words are needed to find a length that occurs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from palaver.solving.solving_limits import MAX_DECODED_WORDS, USUAL_DECODED_WORDS
from palaver.spec.python_code import SPEC_CODE_RAISES
from palaver.trees.node import Node
from palaver.trees.tree import Tree


class DecodedWords:
    """The nodes of a field by what `function` returns for them, or for their text (`reads_as`)."""

    def __init__(self, nodes: Iterator[Node | None], function: Callable[[Any], Any], reads_as: str) -> None:
        self._nodes = nodes
        self._function = function
        self._reads_as = reads_as
        self._found: defaultdict[int, list[Node]] = defaultdict(list)
        self._asked = 0

    def of(self, number: int) -> list[Node]:
        """The nodes known for a number; more words are decoded if there is none."""
        while self._asked < USUAL_DECODED_WORDS or number not in self._found:
            try:
                node = next(self._nodes)
            except StopIteration:
                break
            self._asked += 1
            if node is not None:
                self._decode(node)
        if self._asked == MAX_DECODED_WORDS and number not in self._found:
            MAX_DECODED_WORDS.reached()
        return self._found.get(number, [])

    def _decode(self, node: Node) -> None:
        tree = Tree(node)
        try:
            read = {"bytes": bytes, "str": str}.get(self._reads_as)
            decoded = self._function(tree if read is None else read(tree))
        except SPEC_CODE_RAISES:
            return
        if type(decoded) is int:
            self._found[decoded].append(node)
