"""The limits of this room."""

from __future__ import annotations

from palaver.limits import Limit

_NOT_REGULAR = "the symbol is not treated as a regular language"
MAX_EXPRESSION_SIZE = Limit(10_000, "nodes in one regular expression", _NOT_REGULAR)
# Functions recurse over expressions.
MAX_EXPRESSION_DEPTH = Limit(100, "levels in one regular expression", _NOT_REGULAR)
MAX_PERMUTED_PARTS = Limit(5, "parts of a permutation in a regular language", _NOT_REGULAR)  # 120 orders

MAX_WORD_LENGTH = Limit(1 << 17, "characters in one word", "longer words are not searched for")
# About half a second.
MAX_PRODUCT_STATES = Limit(30_000, "states in one product automaton", "words beyond are not found or counted")
# The automaton of remainders has as many states.
MAX_MODULUS = Limit(64, "as the modulus of a number", "the remainder is left to the search")
MAX_PATTERN_TRIES = Limit(1000, "attempts to draw a string with look-around", "the tree is discarded")

# About a tenth of a second; beyond, the text is matched by another method if there is one.
MAX_BACKTRACKING_STEPS = Limit(10_000_000, "steps of `re` with one pattern", "it is left undecided if the text matches")
# A text of so many characters may be tried in exponential time.
MAX_TRIED_LENGTH = 8
# Each is a few operations on whole sets of positions; about a second.
MAX_SET_OPERATIONS = Limit(2_000_000, "steps with one pattern", "it is left undecided if the text matches")

# The counts of longer words alone would fill the memory; such words are drawn by a random walk.
MAX_COUNTED_LENGTH = 1_000
# A longer stretch of several characters stays a repetition in character runs.
MAX_RUN_COPIES = 100

# A larger class is open-ended, and drawn from the usual characters in it.
MAX_CLOSED_CLASS = 512
# A larger class is kept as ranges.
MAX_LISTED_CHARACTERS = 4096

# Random splits of an amount that are guessed before the possible ones are listed: most guesses are good.
MAX_SPLIT_GUESSES = 8
# A language that has few words of this length is asked for its number of words in another way.
MAX_PREFIX_STEPS = 100
# Caches, cleared when they are full.
MAX_CACHED_PARTITIONS = 32
MAX_CACHED_LENGTHS = 64
