"""The limits of this room."""

from __future__ import annotations

from palaver.limits import Limit

# `"x"{10**9}` would take an hour and all the memory.
MAX_NODES = Limit(1_000_000, "nodes in one tree", "the tree is not made")
MAX_COMPUTED_COUNT = Limit(2_000, "items in a computed repetition", "the tree is discarded, and another one is made")
# Frames that makers may use. A tree of the default budget needs some thousand at most.
MAX_FRAMES = 1_000_000
# Frames that the code of a spec may use beyond those around it.
MAX_SPEC_FRAMES = 1_000
# Makers of symbols that have no more parts than this need no more frames than Python allows anyway.
MAX_SHALLOW_PARTS = 64
# Pools of more nodes than this cost more to build than they save.
MAX_POOL_SIZE = 256
# Groups of pooled nodes that are kept ready: all bytes' worth of bits, or all single bytes.
MAX_POOL_GROUPS = 256

# Items of a repetition beyond its least count that are made for the sake of what is new in them; and if nothing is new,
# so that room is kept for what is new elsewhere.
MAX_STEERED_ROUNDS = 6
MAX_UNSTEERED_ROUNDS = 3
# Attempts at a field that are steered before chance decides: its conditions may forbid what steering prefers.
MAX_STEERED_ATTEMPTS = 3

# The length fields that people fill have two bytes.
MAX_AMOUNT = Limit(1 << 17, "characters or items as an exact length", "longer ones are not made")
# Bits of masks that are shifted for a table or a draw (some seconds), and kept for a table (64 MB).
MAX_SHIFTED_BITS = 1 << 35
MAX_KEPT_BITS = 1 << 29
# Masks and sums of earlier times; they are forgotten when there are more.
MAX_KEPT_MASKS = 256
# Derivations that are begun because something in the last one could not be made; the last with the least nodes.
MAX_DERIVATIONS = 8
# In one attempt, strings drawn again because the pattern refuses them, and items because they must not be empty.
MAX_RETRIES = 200
# Random counts of items that are guessed before the fewest are taken.
MAX_COUNT_GUESSES = 8

# Symbols that are looked at to tell how rich a part of the grammar is.
MAX_RICH_SYMBOLS = 16
# No class of characters is richer than what people type.
MAX_RICH_CLASS = 100
