"""Limits of navigation: where searches stop, and when something is given up."""

from palaver.limits import Limit

MAX_EDGES_OF_NODE = Limit(1_000, "edges from one node of the dialogue map", "the others are not planned for")
MAX_LEFT_RECURSIVE_CHAINS = Limit(200, "chains of left-recursive symbols", "the others are not on the dialogue map")
MAX_PATHS_BELOW_MESSAGE = Limit(4_000, "uncovered k-paths below one message", "the others are not planned for")
MAX_NODES_OF_TARGET_SEARCH = Limit(20_000, "map nodes searched for one target", "the target counts as unreachable")
MAX_NODES_OF_FAR_SEARCH = Limit(100_000, "map nodes searched for one plan", "no plan is made")
MAX_PATHS_EXPLAINED = Limit(500_000, "uncovered k-paths explained", "the others are only counted")
MAX_NODES_EXPLAINED = Limit(20_000, "map nodes searched for reasons", "paths beyond count as unreachable")

# Nodes beyond these have no distance to what is missing, and a search takes them to be near.
MAX_NODES_WITH_DISTANCE = 100_000
MAX_NODES_WITH_TARGET_DISTANCE = 20_000
# After so many nodes, a search for the best plan nearby leaves it to the distances.
MAX_NODES_NEARBY = 300
# Once it has found a plan, it explores at most so many nodes that no search has come to before. With twenty ways in
# each state, there are always more of them, and one is as good as another.
MAX_NEW_NODES_NEARBY = 8
# Beyond it, the strategy does not know the way to the end of the session, and draws a message.
MAX_NODES_TO_END = 5_000
# So many plans are made for one message before the strategy heads for the end of the session.
MAX_PLANS_PER_MESSAGE = 12

# An answer or a part of one that did not come so often is given up. With 10, something that comes every third time
# would be given up in one of sixty cases; with 20, in one of three thousand.
PATIENCE = 20
# Each answer that may come adds this share of the patience before one that never came is given up. Of two that are
# equally likely, one is given up wrongly once in two thousand cases; of three, once in a thousand.
PATIENCE_SHARE_PER_ANSWER = 0.275
# The same while the peer has given one and the same answer to each message of ours, in each situation: of two that are
# equally likely, one is given up wrongly once in two hundred and fifty cases.
UNVARIED_SHARE_PER_ANSWER = 0.2
# Something with a known likelihood is given up after the patience divided by this and by the likelihood: 5 times for
# something certain, 15 times for something that comes every third time; so one in a hundred is given up wrongly.
CERTAIN_PATIENCE_DIVISOR = 4
# Paths in answers that are less likely are not planned for.
MIN_LIKELIHOOD = 0.005
# A message that is expected to cover less is not planned for.
MIN_GAIN = 0.002
# So many plans for one coverage state may be in vain in a session before it is worth less, half with each further one.
FREE_PLANS_IN_VAIN = 2
# A coverage state for which more plans were in vain in so many sessions in a row is given up.
MAX_SESSIONS_IN_VAIN = 4
# After so many plans in a row that were in vain, a session takes the shortest way to its end.
MAX_PLANS_IN_VAIN = 10
# A message of ours counts for at most so many paths in a plan, because none covers all that is missing below it.
MAX_GAIN_OF_MESSAGE = 6
# A coverage target that was drawn so often is given up.
MAX_DRAWS_OF_TARGET = 12
# A path that messages contained so often without covering it is no longer steered to.
MAX_FRUITLESS_STEERING = 8
# So many attempts at one message are steered; the next ones are made at random.
MAX_STEERED_ATTEMPTS = 4

# A state machine beyond these is cut off, and says that it is incomplete.
MAX_FUTURES = 2_000
MAX_OPEN_RULES = 64
# So many futures of one state are expanded. They lead to the same states, except where a computed repetition is one of
# them; but there may be infinitely many.
MAX_FUTURES_OF_STATE = 3
# Caches: so many rows of children for each rule, and so many steps of sessions whose states are not looked up yet.
MAX_CACHED_ROWS = 1_000
MAX_NOTED_STEPS = 10_000
# So many different histories before an answer are counted.
MAX_HISTORIES = 10_000
# So many names are listed in a reason before "and more".
MAX_NAMES_IN_REASON = 4
# So many paths are kept as examples of a reason.
MAX_EXAMPLES_OF_REASON = 5
# So many sweeps improve the order and the position of the boxes in a diagram.
LAYOUT_SWEEPS = 12

# So many sessions with the same messages must have ended in a known finding before their last message is barred there,
# and so many prefixes, or plans that led to it in vain, make it a dead end wherever the dialogue is in that state.
DEATHS_OF_BARRED_PREFIX = 2
PREFIXES_OF_DEAD_END = 3
MAX_REMEMBERED_PLACES = Limit(200_000, "messages in their places", "dead ends are taken for such too easily")
# So many messages are said once more after a known finding has followed them; others are not.
MAX_UNANSWERED_MESSAGES = 1_000

# So many values of each symbol are remembered, of this session and of earlier ones.
MAX_KNOWN_VALUES = 64
# So many values of one message are remembered, and so many inside of each other: a peer may nest them without end.
MAX_VALUES_OF_MESSAGE = 256
MAX_NESTED_VALUES = 4
# A value of so many characters is kept for the next run.
MAX_KEPT_VALUE = 500
# So many attempts at one message use known values; the next ones are fresh, because a constraint may want that.
MAX_RECALLING_ATTEMPTS = 4

# If values of earlier sessions were used so often, and less than this share of them brought an answer that fresh ones
# did not bring, then the peer forgets between sessions, and such values are offered only so often.
USES_BEFORE_FORGOTTEN = 8
SHARE_THAT_REMEMBERS = 0.1
SHARE_OF_FORGOTTEN = 0.1

# Nodes of the dialogue map that are searched for feasible pairs of messages, and for the best plan for some of them.
MAX_NODES_WITH_PAIRS = 20_000
MAX_NODES_FOR_PAIRS = 100
# A pair of messages for which so many plans were made is given up.
MAX_TRIES_OF_PAIR = 5
# Pairs are affordable if the dialogue has at most so many messages, and its map fewer nodes than this; then plans for
# them may take this share of the messages that everything else has taken: together at most one and a half times.
MAX_MESSAGES_WITH_PAIRS = 50
MAX_NODES_OF_MAP = 2_000
SHARE_OF_MESSAGES_FOR_PAIRS = 0.45

# Nodes of the dialogue map that are searched for a message with a value class to cover.
MAX_NODES_FOR_VALUES = Limit(20_000, "nodes searched for a message of a value class", "the class is not planned for")
# A value class that was tried so often is given up.
MAX_TRIES_OF_CLASS = 3
# Nodes of the dialogue map that are searched for a place where a wrong message is missing.
MAX_NODES_FOR_REFUSALS = Limit(20_000, "nodes searched for a place of wrong messages", "the place is not planned for")
# Sets of futures that are searched for places where wrong messages can be said.
MAX_PLACES = Limit(2_000, "sets of futures searched for places of wrong messages", "other places are not counted")
# A wrong message that was tried so often at a place, and never judged, is given up.
MAX_TRIES_OF_CELL = 12
# A place that so many plans in a row did not lead to is given up.
MAX_PLANS_FOR_PLACE = 12
# A field of so many bytes, all of which may be anything, is a number.
MAX_BYTES_OF_NUMBER = 8
# Of a field, so many numbers of digits are classes, and so many ranges of characters.
MAX_DIGITS_AS_CLASSES = 6
MAX_CHARACTER_CLASSES = 8

# A message of ours that could not be made so often is tried no more in a session in which it was refused.
MAX_REFUSALS = 8

# A preparation has at most so many messages.
MAX_PREPARATION = 60
# Until an answer has come that did not come at first, preparations grow by this share of what they do then, and the
# contents of an answer are prepared so many times. So a peer without a memory costs few messages.
UNPAID_SHARE_OF_LENGTH = 0.4
MAX_UNPAID_PREPARATIONS = 3
# After so many preparations that led elsewhere, the answer is asked for without.
MAX_PREPARATIONS_IN_A_ROW = 3
# So many of our messages before an answer are said again when it is prepared.
REPEATED_MESSAGES = 3
# Once a session has had so many messages of ours, this share of preparations ends it instead. With none, peers that
# must be empty again are not covered; with a tenth, most others take more messages.
MESSAGES_BEFORE_RESTART = 4
RESTART_SHARE = 0.03
MAX_RESTART_SHARE = 0.3
# If our messages, which are answered in several ways elsewhere, have had one answer each after an exchange, so often in
# all, then the peer is taken to have come to an absorbing state there, and this share of preparations is cut short,
# or ends the session.
ANSWERS_UNTIL_FINAL = 30
FINAL_RESTART_SHARE = 0.8
# After so many preparations for an answer, this share of them is two rounds of what led to another answer.
PREPARATIONS_BEFORE_ROUNDS = 16
SHARE_OF_ROUNDS = 0.5
# This share of the other preparations is of the kind that has paid most often.
SHARE_BY_YIELD = 0.5
# So many nodes are searched for an answer that is prepared.
MAX_NODES_KEPT_IN_REACH = 400
# An answer that was missed so often is half as likely as the peer's other answers say.
MISSES_THAT_HALVE = 2

# Sessions that go on at the same time plan so many steps ahead. With more, the peer diverges before they are taken;
# with fewer, sessions walk the same ways.
STEPS_OF_TOUR = 12
# A session is begun beside others if its plan covers so many paths per message.
MIN_RATIO_OF_SESSION = 0.3
# So much of all messages may be spent on the beginnings of sessions beside others.
MAX_SHARE_OF_BEGINNINGS = 0.4
