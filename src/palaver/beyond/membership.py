"""Membership: a proof that some bytes are no message that may be said here, nor the beginning of one, nor several.

How it works
============

This is membership in the union of the admissible types. For each of them a matcher reads the bytes. If one is complete
at the end, and the constraints allow it, the bytes are valid; if one is complete earlier, they are a message with
something behind it; if one could go on, they are the beginning of a message. On a stream the end of a message must be
known as well: bytes without it are still waited for, and with several they are several messages. Only what is left is
wrong, and only that may be judged. A datagram is one message, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from itertools import islice
from typing import NamedTuple

from palaver.beyond.beyond_limits import MAX_DERIVATIONS
from palaver.errors import Undecided
from palaver.lean_dataclasses import dataclass
from palaver.matching.forecaster import MessageType
from palaver.matching.matcher import Matcher
from palaver.trees.node import Node


class Membership(Enum):
    """The relation of some bytes to the messages that may be said."""

    VALID = "a message that may be said here"
    SPLIT = "such a message, with something behind it"
    PREFIX = "the beginning of such a message"
    OPEN = "wrong, but without the end of a message"
    FRAMES = "wrong, and more than one message"
    WRONG = "no message that may be said here"
    UNKNOWN = "too much work to find out"


class MembershipProof(NamedTuple):
    """The result of a proof; of what is wrong, the byte where it is, and what could have stood there."""

    membership: Membership
    offset: int | None = None
    expected: tuple[str, ...] = ()
    refused: frozenset[str] = frozenset()  # the messages that it would be, if the constraints did not forbid it


@dataclass(frozen=True)
class Place:
    """A point of a session: the messages that may be said here, and what is needed to read them."""

    moves: Sequence[MessageType]  # of ours
    matcher: Callable[[str], Matcher]  # for a message that may be followed by anything
    accepts: Callable[[MessageType, Node], bool]  # True if the constraints allow a message here
    end: bytes = b""  # the end that all messages of ours have; empty: there is no such thing
    is_datagram: bool = False
    # For a message that may be followed by anything, whose length is what constraints say; None: as any other.
    bounded: Callable[[str], Matcher] | None = None
    # A message that breaks one constraint, and which; the number rotates what is broken. None: none was found.
    broken: Callable[[MessageType, int], tuple[Node, str] | None] | None = None
    # The bytes of a right message; None: none was found, or connections cannot break here.
    right: Callable[[MessageType], bytes | None] | None = None
    is_program: bool = False  # that is talked to by its standard input and output
    # What was said before: one kind of trouble at a time, so that it is known which one has caused a finding.
    has_wrong_messages: bool = False
    # The peer has just answered as only a rule with a note says: what it takes now, the spec does not tell.
    is_unsure: bool = False


def prove(place: Place, data: bytes) -> MembershipProof:
    """Tell how some bytes relate to the messages that may be said here."""
    try:
        return _proved(place, data)
    except Undecided:
        return MembershipProof(Membership.UNKNOWN)


def _proved(place: Place, data: bytes) -> MembershipProof:
    found: set[Membership] = set()
    refused: set[str] = set()
    offset, expected = -1, list[str]()
    for move in place.moves:
        matcher = place.matcher(move.symbol)
        progress = matcher.feed(data)
        if progress.complete_here and _is_accepted(place, move, matcher, len(data)):
            return MembershipProof(Membership.VALID)
        if place.bounded is not None and not place.end and not place.is_datagram:
            # The end of a message is where its lengths say, for a peer that reads them.
            progress = place.bounded(move.symbol).feed(data)
        if progress.complete_here:
            refused.add(move.symbol)
        if progress.may_go_on:
            found.add(Membership.PREFIX)
        if any(length < len(data) for length in progress.last_lengths(2)):
            found.add(Membership.SPLIT)
        failed_at = progress.failed_at
        if failed_at is not None and failed_at >= offset:
            expected = [*(expected if failed_at == offset else ()), *progress.expected]
            offset = failed_at
    wrong = MembershipProof(
        Membership.WRONG, None if offset < 0 else offset, tuple(dict.fromkeys(expected)), frozenset(refused)
    )
    if place.is_datagram:
        return wrong
    for membership in (Membership.SPLIT, Membership.PREFIX):
        if membership in found:
            return MembershipProof(membership)
    if refused and not place.end:
        return wrong  # it ends where such a message ends, so nothing more is waited for
    return wrong._replace(membership=_framing(data, place.end))


def _is_accepted(place: Place, move: MessageType, matcher: Matcher, length: int) -> bool:
    """Return True if the constraints allow some derivation; also if there are too many to be asked."""
    trees = matcher.trees(length)
    if any(place.accepts(move, node) for node in islice(trees, MAX_DERIVATIONS)):
        return True
    return next(trees, None) is not None


def _framing(data: bytes, end: bytes) -> Membership:
    """Tell if wrong bytes are exactly one message to a peer that looks for the ends of messages."""
    if not end or not data.endswith(end):
        return Membership.OPEN
    # Who takes one character of the end for all of it sees more than one message.
    return Membership.FRAMES if any(byte in end for byte in data[: -len(end)]) else Membership.WRONG
