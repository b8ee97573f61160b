"""Transitional names; see `palaver.regular.language` and `palaver.grammar.symbol_languages`."""

from palaver.grammar.symbol_languages import Languages as Languages
from palaver.regular.language import Language as Language
from palaver.regular.language import Unit as Unit
from palaver.regular.language import packed as packed
