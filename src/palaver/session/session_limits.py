"""The limits of the session room."""

from __future__ import annotations

from palaver.limits import Limit

MAX_MESSAGE_ENDS = Limit(256, "possible ends of a message", "shorter messages are not tried")
# Derivations of received data that the constraints are asked about. Those of long messages take long: there the number
# of bytes in all of them counts, as long as there are a few.
MAX_WEIGHED_DERIVATIONS = Limit(2_000, "derivations of a received message", "what the message means is left undecided")
MAX_WEIGHED_BYTES = 500_000
MIN_WEIGHED_DERIVATIONS = 20
# Further readings of a message that are looked at after one that breaks a constraint, for one that does not.
MAX_READINGS_BESIDE_DOUBTFUL = 8
# The steps of the Earley parser, in all readings of one message, that a message of up to a megabyte may take, and the
# rules that may be open in it: more would take more than 200 MB. Where longer messages are allowed, so are more steps.
MAX_READING_WORK = 500_000
MAX_OPEN_RULES = 100_000
# Libraries wrap an error three or four times; an error that is its own cause would be followed without end.
MAX_CAUSES = Limit(10, "nested causes of an error in a spec", "deeper causes are ignored")

# Only messages up to this length, in bytes, are kept in the reading cache.
MAX_CACHED_BYTES = 512
# Beyond so many messages the reading cache is emptied.
MAX_CACHED_READINGS = 1_000
# A program may take this long to exit, in seconds, after the last message; it may crash only then.
MAX_EXIT_SECONDS = 1.0
# The first session that ends with a message of some name is watched so long for what must not come behind it.
FIRST_END_SECONDS = 0.1
# A timer of a spec expires after this time at the latest.
MAX_TIMER_SECONDS = 1e9
# For a client to come, if nobody has said how long the run lasts.
MAX_CLIENT_SECONDS = 600.0
# Attempts to make a message in one of the places where it may stand, before another is tried; and of so many places
# the first is drawn.
ATTEMPTS_IN_A_PLACE = 16
MAX_PLACES = 60
# So many of the messages that a session may have are left for the way to its end.
MAX_LAST_MESSAGES = 10
# Seconds of silence after which a message that could go on is complete: before any pause was seen, then so many times
# the longest pause inside of the peer's messages, within bounds.
FIRST_QUIET_SECONDS = 0.15
MIN_QUIET_SECONDS = 0.05
MAX_QUIET_SECONDS = 2.0
QUIET_PAUSES = 4
# A peer that has sent this share of a session's messages in a row may be one that never stops.
NEARLY_ALL_MESSAGES = 0.95
# Beyond this share of escapes, data is no text.
MAX_SHARE_OF_ESCAPES = 0.3
# Findings show at most so many bytes of a message, and so many messages at the session's beginning and at its end.
MAX_SHOWN_BYTES = 200
# A line above binary data is shown as text if it has so many bytes; fewer may look like text by chance.
MIN_HEAD_BYTES = 4
MAX_SHOWN_MESSAGES = 20
# Of a binary message so many rows of fields are shown, of so many bytes.
MAX_FIELD_ROWS = 64
MAX_ROWS_OF_FIELD = 4
BYTES_PER_ROW = 16
# The names of so many messages are told that something could have been.
MAX_SHOWN_NAMES = 3
# The first line of a finding shows so many bytes of what came, and so many of the texts that were expected.
MAX_BYTES_IN_HEADLINE = 40
MAX_EXPECTED_IN_HEADLINE = 3
# So long are these texts together in the first line; and a line below it, where all of them are.
MAX_EXPECTED_CHARACTERS_IN_HEADLINE = 80
MAX_EXPECTED_CHARACTERS_IN_LINE = 100
# The fingerprint of a finding has so many bytes of a line that was received, and so many of binary data: that which is
# wrong. Those behind it are fields of their own.
MAX_FINGERPRINT_BYTES = 40
MAX_FINGERPRINT_BINARY = 1
# They are taken from so much of it; of a sentence, also.
MAX_FINGERPRINT_SOURCE = 4_096
# What it repeats is looked for in so many bytes of our messages, the last ones, in words of so many characters.
MAX_FINGERPRINT_SAID = 65_536
MIN_REPEATED_WORD = 3
# A part of a word counts as repeated from our message if it has so many characters; longer parts than this are not
# looked for.
MIN_REPEATED_PART = 4
MAX_FINGERPRINT_WORD = 64
# Before a party is accused in doubt, so many random messages that it could have sent instead are tried, of each type,
# before they are searched for.
MAX_ALTERNATIVES = 20
# Where a list must become equal to another one, so many nodes are copied into a message, and so many random messages
# are tried for one that has room for them.
MAX_LISTED_NODES = 200
MAX_LIST_DRAFTS = 10
# A constraint that could not be made to hold before is sought again for so many steps only.
SEARCH_STEPS = 150
# Steps of a search for a message that breaks one constraint; where it finds none, another wrongness is tried.
BREAKING_STEPS = 80
# Searches in a row that found none, for one message and one way to break a constraint, before they are given up.
MAX_VAIN_NEGATIONS = 2
# A constraint that we have to break counts as recovering if it does so in one of so many continuations, each of so many
# messages.
CONTINUATIONS = 12
MESSAGES_OF_CONTINUATION = 4
# A continuation ends with the last of so many messages that may not come.
MAX_REFUSALS = 4
# If it does so in none, an answer with which it holds is searched for, with so many steps.
ANSWER_SEARCH_STEPS = 600
# A peer is accused of a message when it comes only if the constraint holds in none of so many continuations.
ACCUSING_CONTINUATIONS = 60
# A session that is cut may be looked at so long, in seconds, for what its peer has broken before.
LAST_WORD_SECONDS = 0.3
# A party that could have gone on is accused of what fails at the end only if that holds in a longer continuation, after
# one of so many messages that it could have sent.
MESSAGES_OF_REPAIR = 12
MAX_REPAIRS = 3
# So many messages after a constraint was broken the session may end, although it is not repaired.
MESSAGES_BEFORE_ACCUSING = 8
# An early value that is false after messages of a name is asked about so often in vain, until it recovered with one.
MAX_QUESTIONS = 3

# Of a message whose bytes are known, so many trees are tried until one violates no constraint.
MAX_READINGS = 50
# Before another party is accused, a session of so many messages is read again if one of them fits several messages of
# the spec: so many readings of each are tried, and so many of all of them are followed.
MAX_MESSAGES_READ_AGAIN = Limit(2_000, "messages of a session that is read again", "nobody is excused by it")
MAX_READINGS_OF_ONE = 4
MAX_OTHER_READINGS = 16
