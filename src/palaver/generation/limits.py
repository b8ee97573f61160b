"""Transitional names; see `palaver.regular.words`."""

from palaver.regular.conditions import BYTEWISE as BYTEWISE
from palaver.regular.conditions import CharAt as CharAt
from palaver.regular.conditions import Contains as Contains
from palaver.regular.conditions import EndsWith as EndsWith
from palaver.regular.conditions import InRange as InRange
from palaver.regular.conditions import NoneOf as NoneOf
from palaver.regular.conditions import Remainder as Remainder
from palaver.regular.conditions import StartsWith as StartsWith
from palaver.regular.conditions import WordCondition as Limit
from palaver.regular.conditions import digits_of as digits_of

__all__ = [
    "BYTEWISE",
    "CharAt",
    "Contains",
    "EndsWith",
    "InRange",
    "Limit",
    "NoneOf",
    "Remainder",
    "StartsWith",
    "digits_of",
]
