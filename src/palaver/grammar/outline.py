"""Transitional names; see `palaver.regular.regex`."""

from palaver.regular.expression import EMPTY_WORD as NOTHING
from palaver.regular.expression import Alternation as Fork
from palaver.regular.expression import CharacterClass as Chars
from palaver.regular.expression import Concatenation as Series
from palaver.regular.expression import RegularExpression as Outline
from palaver.regular.expression import Repetition as Loop
from palaver.regular.expression import can_be_empty as can_be_empty

__all__ = ["NOTHING", "Chars", "Fork", "Loop", "Outline", "Series", "can_be_empty"]
