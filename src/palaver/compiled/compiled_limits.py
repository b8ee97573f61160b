"""The limits of the compiled room."""

from palaver.limits import Limit

# An ambiguous input may have more derivations than can be looked at.
MAX_REFUSED_DERIVATIONS = Limit(
    10_000, "derivations of one input that violate constraints", "the input is rejected without trying the others"
)
# Beyond so many values the readings of generated values are forgotten; it costs only time.
MAX_CACHED_VALUES = 4096
