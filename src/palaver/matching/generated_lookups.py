"""Memo functions (Michie 1968) of generated functions: answers found when first asked, and kept within limits."""

from __future__ import annotations

from palaver.matching.instructions import NodeCache, ParseInstruction
from palaver.matching.lookahead import UNDECIDED, LookaheadState
from palaver.matching.matching_limits import MAX_KEPT_RUN, MAX_KEPT_RUNS, MAX_TOKEN_PEEKS, TOKEN_PEEK_CHARACTERS
from palaver.matching.rule_regexes import MatchText
from palaver.regular.language import AutomatonState
from palaver.trees.node import Node


class GaveUp(Exception):
    """Raised by a generated function: the machine has to read the rule."""


def settle(state: LookaheadState, text: str, at: int, size: int, is_whole: bool, has_ended: bool) -> int:
    """The option to take from `state`, before the character number `at`; negative if that is not decided.

    If the text is not a whole message, anything may follow an option that has come to its end.
    """
    while state.way == UNDECIDED and at < size:
        state = state[text[at]]
        at += 1
        if state.may_be_last and not is_whole:
            return UNDECIDED
    return state.way_at_end if state.way == UNDECIDED and is_whole and has_ended else state.way


class NextCharacterTable(dict[str, int]):
    """The option to take by the next character alone; negative if that is not enough."""

    def __init__(self, lookahead_state: LookaheadState) -> None:
        self._lookahead_state = lookahead_state

    def __missing__(self, char: str) -> int:
        way = self[char] = self._lookahead_state[char].way
        return way


class TokenPeeks(dict[str, tuple[Node | None, int]]):
    """The node and length of a token that begins with two characters, or all that are left; None if unclear."""

    def __init__(self, op: ParseInstruction, *, ended: bool) -> None:
        self._op = op
        self._ended = ended

    def __missing__(self, ahead: str) -> tuple[Node | None, int]:
        state: AutomatonState | None = self._op.rule_pattern.start
        for char in ahead:
            state = None if state is None else state[char]
        # If no token goes on after them, the next characters do not matter.
        is_enough = state is None or (self._ended and len(ahead) < TOKEN_PEEK_CHARACTERS)
        match = self._op.match(ahead, 0) if is_enough else None
        if len(self) >= MAX_TOKEN_PEEKS:
            self.clear()
        peek = self[ahead] = (None, 0) if match is None else (self._op.known[match[0]], match.end())
        return peek


class RunCache(dict[str, tuple[Node, ...]]):
    """The nodes of runs of single characters; short ones come again and again, and are kept."""

    def __init__(self, known: NodeCache, match: MatchText | None) -> None:
        self._known = known
        self._match = match

    def __missing__(self, text: str) -> tuple[Node, ...]:
        if self._match is not None:
            match = self._match(text, 0)
            if match is None or match.end() < len(text):
                raise GaveUp
        nodes = tuple(map(self._known.__getitem__, text))
        if len(text) <= MAX_KEPT_RUN:
            if len(self) >= MAX_KEPT_RUNS:
                self.clear()
            self[text] = nodes
        return nodes
