"""Mutation of one field: a number a little larger, another character, two characters exchanged."""

from __future__ import annotations

import re

from palaver.random_source import RandomSource
from palaver.regular.language import AutomatonState, Language, Unit
from palaver.solving.assignment import Assigner
from palaver.solving.placement import node_of
from palaver.solving.solving_limits import MAX_MUTATION_TRIES
from palaver.trees.node import Node
from palaver.trees.tree import Tree
from palaver.trees.values import to_bits

# The probability that a field is drawn anew instead of being mutated.
_REDRAW = 0.15

_DIGITS = re.compile(r"[0-9]+")


def mutated(tree: Tree, assigner: Assigner, chance: RandomSource) -> Node | None:
    """A node that differs a little from that of `tree`; None if none is known."""
    symbol = node_of(tree).symbol
    domain = assigner.domain(symbol)
    if domain is None:
        return None
    language, is_limited = domain.language, not domain.is_free
    word = to_bits(tree.node) if language.unit is Unit.BITS else str(tree)
    if word and chance.random() >= _REDRAW:
        for _ in range(MAX_MUTATION_TRIES):
            changed = _changed(word, language, chance)
            if changed != word and (domain.allows(changed) if is_limited else language.accepts(changed)):
                return assigner.node(symbol, changed)
    return assigner.draw(domain, chance) if is_limited else None


def _changed(word: str, language: Language, chance: RandomSource) -> str:
    kind = chance.random()
    if language.unit is Unit.BITS:
        number = int(word, 2) + _step(len(word), chance) if kind < 0.5 else -1
        if 0 <= number < 1 << len(word):
            return f"{number:0{len(word)}b}"
    elif kind < 0.45:
        runs = [found.span() for found in _DIGITS.finditer(word)]
        if runs:
            return _with_number(word, *chance.pick(runs), chance)
        kind = chance.random()
    at = chance.below(len(word))
    if kind < 0.65:
        code = ord(word[at]) + chance.pick((-1, 1, -2, 2, -5, 5))
        return word[:at] + chr(min(max(code, 0), 0x10FFFF)) + word[at + 1 :]
    if kind < 0.9:
        return word[:at] + _another(word[:at], language, chance) + word[at + 1 :]
    other = chance.below(len(word))
    chars = list(word)
    chars[at], chars[other] = chars[other], chars[at]
    return "".join(chars)


def _with_number(word: str, start: int, end: int, chance: RandomSource) -> str:
    """A number inside of the word, larger or smaller by a power of two."""
    digits = word[start:end]
    if len(digits) > 300:  # Python refuses to read numbers that are much longer
        return word
    number = int(digits) + _step(int(digits).bit_length() + 1, chance)
    if number < 0:
        return word
    is_padded = digits[0] == "0" or chance.random() < 0.5
    return word[:start] + (str(number).zfill(len(digits)) if is_padded else str(number)) + word[end:]


def _step(bits: int, chance: RandomSource) -> int:
    return chance.pick((-1, 1)) << chance.below(max(1, min(bits, 40)))


def _another(before: str, language: Language, chance: RandomSource) -> str:
    """A character that can follow in a word that begins so."""
    state: AutomatonState | None = language.automaton.start
    for char in before:
        state = state[char] if state is not None else None
    pairs = [] if state is None else list(state.next_chars().pairs())
    if not pairs:
        return ""
    low, high = chance.pick(pairs)
    return chr(low + chance.below(min(high - low + 1, 256)))
