"""Limits of matching. Those that change a result are `Limit`s; beyond the others something only takes longer."""

from __future__ import annotations

from palaver.limits import Limit

# Explanations of one history that are followed at a time. An ambiguous dialogue grammar may have more.
MAX_HYPOTHESES = Limit(64, "hypotheses about the state of a session", "the least preferred are dropped")
# Places looked at on the way to the next message. Only rules that begin with each other in thousands of ways have more,
# and such a dialogue grammar has more hypotheses than are kept anyway.
MAX_CLOSURE_PLACES = Limit(20_000, "grammar positions before the next message", "messages beyond are not forecast")
# Dialogue states looked at to find the messages that may still come. Those of most protocols are fewer.
MAX_STATES_AHEAD = Limit(300, "dialogue states ahead", "every message counts as possible")

# The work of the Earley parser: items, completed goals, further ways to them, moves that the next input does not fit,
# and a part of each character that a pattern is tried on. What is not ambiguous takes one to fifteen of them per
# character; an ambiguous input can take any number.
MAX_EARLEY_WORK = Limit(300_000, "steps of reading, and 20 per character", "what the input means is left undecided")
MAX_EARLEY_WORK_PER_CHARACTER = 20
# So much of that work, until it is counted, and asked if the time is over.
WORK_BETWEEN_CHECKS = 200
# A text that is read with a budget is read in pieces of so many characters.
PIECE_WITH_BUDGET = 1 << 16
# Characters that a pattern is tried on for one unit of that work, or that are looked at again by another method.
CHARACTERS_PER_WORK = 8
# Ends of one pattern with look-around that the fast path tries.
MAX_VERIFIED_ENDS = 50

# Waiters in tail position that are looked at one by one; more are compared as sets.
MAX_TAILS_ONE_BY_ONE = 4
# Visits of a looping automaton state before it gets a compiled regex; compiling costs a few hundred single moves.
VISITS_BEFORE_COMPILING = 200

# Messages on which the fast path fell back, after which the Earley parser is asked at once.
MAX_FALLBACKS = 3
# Characters from which on Python's cyclic garbage collector is paused.
MIN_CHARACTERS_TO_PAUSE_COLLECTOR = 2_000
# Characters from which on a regex looks for the end of a loop of an automaton.
MIN_CHARACTERS_TO_RUN = 16
# Characters of a message that is read again to tell what could have stood where it failed.
MAX_CHARACTERS_EXPLAINED = 50_000
# Characters of an incomplete token that are read again when its end has come; a longer one is read rule by rule.
MAX_TOKEN_READ_AGAIN = 500
# Machines that try a continuation for another machine; deeper down, the machine falls back.
MAX_NESTED_TRIALS = 3
# Characters looked ahead, open calls, and moves per character; beyond them the machine falls back.
MAX_LOOKAHEAD_CHARACTERS = 200
MAX_LOOKAHEAD_CALLS = 50
MAX_LOOKAHEAD_MOVES = 3_000
# Calls of a rule before it becomes a generated Python function.
CALLS_BEFORE_GENERATING = 4
# Nested rules and lines of one generated function; rules beyond get functions of their own, or none.
MAX_INLINED_RULES = 8
MAX_FUNCTION_LINES = 600

MAX_AUTOMATON_STATES = 300
MAX_STATE_PAIRS = 2_000
MAX_ALTERNATIVES_COMPARED = 100  # each is compared with each
MAX_REGEX_LENGTH = 20_000
MAX_KEPT_REGEXES = 1_000  # of rules, which several matchers read

# Nodes over so few characters, or bits, are made once and shared: they are values, and the same come again and again.
MAX_SHARED_TEXT = 2
MAX_SHARED_BITS = 16
MAX_SHARED_NODES = 4_096
# Names and the like come again in one message: nodes up to this length, and how many of them, are kept.
MAX_KEPT_TEXT = 32
MAX_KEPT_NODES = 512
# Characters looked at to find the end of a token that is mostly empty, and answers kept.
TOKEN_PEEK_CHARACTERS = 2
MAX_TOKEN_PEEKS = 1_000
# Length of a run of single characters whose nodes are kept, and how many runs.
MAX_KEPT_RUN = 16
MAX_KEPT_RUNS = 1_000
# Dialogue states remembered though nothing refers to them.
MAX_KEPT_STATES = 20_000

# Endings followed to see whether one dialogue state includes another; beyond, both are kept.
MAX_ENDINGS_COMPARED = 4
# Open nodes around the latest message in the recent tree, and finished children in each. Constraints are asked about
# all of them for each message that is made: with more, message 100 costs much more than message 10.
RECENT_DEPTH = 8
RECENT_WIDTH = 8
