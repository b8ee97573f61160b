"""Transitional names; see `palaver.regular.words`."""

from palaver.regular.words import are_digits as are_digits
from palaver.regular.words import spelled as spelled
from palaver.regular.words import spells_all as spells_all
