"""Transitional names; see `palaver.regular.words`."""

from palaver.regular.words import Words as Words
from palaver.regular.words import of_length as of_length
from palaver.regular.words import possible_lengths as possible_lengths
