"""The limits of the compiled room."""

from palaver.limits import Limit

# An ambiguous input may have more derivations than can be looked at. Those of long inputs take long to check: there the
# number of characters in all of them counts, as long as there are a few.
MAX_REFUSED_DERIVATIONS = Limit(
    10_000, "derivations of one input that violate constraints", "what the input means is left undecided"
)
MAX_REFUSED_CHARACTERS = 2_000_000
MIN_REFUSED_DERIVATIONS = 20
# Beyond so many values the readings of generated values are forgotten; it costs only time.
MAX_CACHED_VALUES = 4096
# Calls of a spec's functions that are looked into to find equations between lengths.
MAX_INLINED_CALLS = 20
# Rules between a node and what a path with `..` selects below it.
MAX_STEPS_DOWN = 6

# Fields that a length is computed from, such as its high and its low byte.
MAX_LENGTH_FIELDS = 4
# Bits by which a length may be shifted, such as `len(bytes(<data>)) >> 2`.
MAX_LENGTH_SHIFT = 16
# Alternatives of a condition that are looked at for equations.
MAX_ALTERNATIVES = 8

# Steps in which a rejected input is read again, without bounds, to tell which constraint fails; without these bounds
# many records take quadratic time. Beyond them, only the place is told.
REREAD_STEPS = 5_000
REREAD_STEPS_PER_CHARACTER = 20
