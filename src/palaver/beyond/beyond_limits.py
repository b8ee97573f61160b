"""Limits of wrong messages: how many are tried, and how long they become."""

from __future__ import annotations

from typing import Final

# Random messages of each type of ours: they tell which alternatives of `<beyond>` it fits, and how messages end.
SAMPLES: Final = 24
# Mutants that are made for one place until one is proved to be wrong.
MUTANTS_TRIED: Final = 6
# The longest field of a wrong message.
MAX_FIELD_BYTES: Final = 65_537
# Of the wrong messages, the share that may be sent without a judgement, at the end of a session.
UNJUDGED_SHARE: Final = 0.25
# The share of our messages that are wrong, unless another is asked for.
DEFAULT_SHARE: Final = 0.35
# The same where a wrong message is missing that is a goal.
WANTED_SHARE: Final = 0.8
# Derivations of a message that the constraints are asked about; one that has more counts as right.
MAX_DERIVATIONS: Final = 64
# Bytes of an answer in the headline of a finding.
MAX_SHOWN_ANSWER: Final = 40
# Of our right messages, the share that has a field at one of its bounds.
EDGE_SHARE: Final = 0.2
# Pieces of a message that is sent one byte at a time; the last has all that is left.
MAX_PIECES: Final = 24
# Seconds between two pieces of a message, so that they are not read together.
PIECE_SECONDS: Final = 0.001
# Bytes of a datagram of UDP over IPv4, at most; longer ones cannot be sent.
MAX_DATAGRAM: Final = 65_507
# States of a dialogue that are looked at to know what answers what.
MAX_STATES: Final = 20_000
