"""The limits of replaying and shrinking. Times are in seconds."""

from palaver.limits import Limit

# After a session in which the target did something on its own, such as crash, it is watched so long.
END_WATCH = 0.1
# Attempts to shrink a finding, and the time for it, unless given.
MAX_SHRINKING_RUNS = 1000
MAX_SHRINKING_SECONDS = 120.0
# Then the last tries may take some more of that time.
LAST_SHARE = 1.05
# A finding is tried so often before it is given up as one that does not come again.
FIRST_TRIES = 3
# Memory grows only in many sessions: after so many with the same messages it is looked at; the last number is the most.
LEAK_SESSIONS = (60, 120, 200)
# States of a dialogue that are looked at for a shorter way to the last messages; ways that are tried for each message.
MAX_SHORTCUT_NODES = 2000
MAX_SHORTCUTS = 3
# The last messages that are kept when a shorter way to them is tried.
MAX_KEPT_EXCHANGES = 4
# Neighbouring exchanges that are said in fewer messages: so many exchanges, in so many messages; failures in a row.
MAX_PIECE_EXCHANGES = 3
MAX_PIECE_MESSAGES = 2
MAX_PIECE_FAILURES = 24
# Exchanges of a conversation whose order is changed.
MAX_REORDERED_EXCHANGES = 10
# So often the result of shrinking is tried at the end.
LAST_TRIES = 3
# Changes of one message that are tried in a row without one that works.
MAX_FIELD_FAILURES = 24
# Changes of a field that the constraints have undone, as it is a token or a length: then no other is tried.
MAX_FIELD_RESTORATIONS = 2
# Changes of one message that the grammar does not allow, of which so many are looked at.
MAX_UNREADABLE_CHANGES = 1000
MAX_FINDINGS_TRIED_AGAIN = Limit(200, "findings of the other run tried again", "the others are not tried")
