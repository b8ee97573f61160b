"""Token rules: rules that the Earley parser reads at once by a regex, like terminals.

Where the fast path falls back, most of a message is certain all the same: numbers, names and fields that one regex can
read (`regex_rules`). Such a rule has at most one end from any start, and one derivation, so the parser need not
predict it: the regex finds the end. Its node is made with the tree, as on the fast path. A *character run* is a
repetition of a rule over single characters whose end is certain: it has a fixed length, or none of them can follow.

If the regex does not see the end because the rest has not come yet, the parser predicts the rule after all.

A parser with tokens finds the same trees and lengths. But it does not know what was expected inside a token, or is open
there; a parser without tokens does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from palaver.matching.grammar_slots import Nonterminal
from palaver.matching.instructions import Expansion, NodeCache
from palaver.matching.matching_limits import MAX_SHARED_NODES, MAX_SHARED_TEXT
from palaver.matching.rule_regexes import MatchText, RulePattern
from palaver.trees.lazy import LazyNode
from palaver.trees.node import Node, NonTerminal, Part, Parties, new

if TYPE_CHECKING:
    from palaver.matching.fast_path import FastPath

# In place of an end: it may be anywhere, so predict the rule; or the token cannot be here.
UNSURE: Final = -1
NEVER: Final = -2


class RuleToken:
    """A rule read by one regex. `binary`: leaves are bytes."""

    def __init__(self, symbol: NonTerminal, rule_pattern: RulePattern, expand: Expansion, *, binary: bool) -> None:
        self.symbol = symbol
        self._match = rule_pattern.pattern.match
        self._is_closed = rule_pattern.is_closed
        self._longest = rule_pattern.most
        self._expand = expand
        self._known = NodeCache(symbol, expand, most=MAX_SHARED_NODES, pattern=rule_pattern.pattern)
        self._binary = binary

    def end(self, buffer: str, at: int, limit: int | None = None) -> int:
        """The place of its end; `limit`: the place, if it has been read, beyond which it does not go."""
        if limit is not None:
            match = self._match(buffer, at, limit)
            return NEVER if match is None else match.end()
        match = self._match(buffer, at)
        if match is None:
            is_seen = self._longest is not None and at + self._longest < len(buffer)
            return NEVER if is_seen else UNSURE
        end = match.end()
        return end if end < len(buffer) or self._is_closed else UNSURE

    def parts(self, text: str, parties: Parties | None, *, lazy: bool) -> tuple[Part, ...]:
        return (self.node(text, parties, lazy=lazy),)

    def node(self, text: str, parties: Parties | None, *, lazy: bool) -> Node:
        if parties is None and len(text) <= MAX_SHARED_TEXT:
            known: Node = self._known[text]
            return known
        if not lazy or not text:
            return new(Node, (self.symbol, self._expand.children(text), (), parties))
        said = text.encode("latin-1") if self._binary else text
        return new(LazyNode, (self.symbol, (said, self._expand), (), parties))


class CharacterRun:
    """A repetition of a rule over single characters, of which `match` finds the longest run."""

    def __init__(self, match: MatchText, known: NodeCache, *, is_computed: bool) -> None:
        self._match = match
        self._known = known
        self._is_computed = is_computed

    def end(self, buffer: str, at: int, limits: tuple[int, int | None], limit: int | None = None) -> int:
        """The place of its end; `limit`: the place, if it has been read, beyond which it does not go."""
        least, most = limits
        if self._is_computed and least != most:
            return UNSURE  # a constraint that could not say how long it is: any length is possible
        size = len(buffer) if limit is None else limit
        match = self._match(buffer, at, size if most is None else min(size, at + most))
        assert match is not None  # none is a match, too
        end = match.end()
        if limit is None and end == size and end - at != most:
            return UNSURE  # more may come
        return end if end - at >= least else NEVER

    def parts(self, text: str, _parties: Parties | None, *, lazy: bool) -> tuple[Part, ...]:
        return tuple(map(self._known.__getitem__, text))


class TokenTable(dict[Nonterminal, RuleToken | CharacterRun | None]):
    """The tokens of a grammar, made when first asked for; None for a nonterminal that is not one."""

    def __init__(self, fast_path: FastPath) -> None:
        self._binary = fast_path.tables.binary
        self._regex_rules = fast_path.regex_rules
        self._expander = fast_path
        # Bits in a text are no bytes, and have no regex.
        self._is_possible = self._binary or fast_path.tables.unit == 1

    def __missing__(self, nonterminal: Nonterminal) -> RuleToken | CharacterRun | None:
        found: RuleToken | CharacterRun | None = None
        if self._is_possible:
            found = self._run(nonterminal) if nonterminal.symbol is None else self._token(nonterminal)
        self[nonterminal] = found
        return found

    def _token(self, rule: Nonterminal) -> RuleToken | None:
        rule_pattern = self._regex_rules.pattern_of(rule)
        if rule_pattern is None:
            return None
        assert rule.symbol is not None  # a rule has a name
        return RuleToken(rule.symbol, rule_pattern, self._expander.rule(rule), binary=self._binary)

    def _run(self, repetition: Nonterminal) -> CharacterRun | None:
        chars = self._regex_rules.chars_of_run(repetition)
        rule = repetition.alternatives[0].target
        if chars is None or rule is None or rule.symbol is None:
            return None
        characters = f"[{chars.as_class()}]"
        known = NodeCache(rule.symbol, self._expander.rule(rule), most=MAX_SHARED_NODES, pattern=re.compile(characters))
        return CharacterRun(re.compile(f"{characters}*+").match, known, is_computed=repetition.bounds is None)
