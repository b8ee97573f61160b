"""The reading cache: data that comes again is not read again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import palaver
from palaver.matching.forecaster import MessageType
from palaver.matching.matcher import Matcher
from palaver.session.inbox import Inbox, ReadingCache
from palaver.session.references import Referenced
from palaver.session.session_limits import MAX_CACHED_BYTES
from palaver.trees.node import Node
from palaver.trees.tree import Tree

SPEC = """
<start> ::= (<Server:Client:yes> | <Server:Client:no> | <Server:Client:row> | <Server:Client:word>)*
<yes> ::= "250 " <text> "\\r\\n"
<no> ::= "550 " <text> "\\r\\n"
<row> ::= <n> ":" <item>{int(<n>)} "\\n"
<word> ::= r"[a-z]+"
<text> ::= r"[A-Za-z ]*"
<n> ::= r"[1-9]"
<item> ::= r"[a-z]"
"""
YES, NO, ROW, WORD = (MessageType(f"<{name}>", "Server", "Client") for name in ("yes", "no", "row", "word"))


class Inboxes:
    """Inboxes that share a cache, and the symbols that were really read."""

    def __init__(self) -> None:
        self.spec = palaver.loads(SPEC)
        self.cache = ReadingCache(self.spec.analysis)
        self.read: list[str] = []

    def inbox(self) -> Inbox:
        return Inbox(self._matcher, self.cache)

    def _matcher(self, symbol: str, is_whole: bool, earlier: Referenced) -> Matcher:
        self.read.append(symbol)
        return self.spec.matcher(symbol, whole=is_whole)

    def readings(self, *pieces: bytes, expected: tuple[MessageType, ...] = (YES, NO)) -> list[tuple[str, str]]:
        """All readings of these pieces."""
        inbox = self.inbox()
        for piece in pieces:
            inbox.put(piece, is_whole=False)
            inbox.expect(expected)
        longest = inbox.status().longest
        return [] if longest is None else [(move.symbol, str(Tree(node))) for move, node in inbox.readings(longest)]


def twice(what: Callable[[], object]) -> object:
    first = what()
    assert what() == first
    return first


def test_data_that_came_before_is_not_read_again() -> None:
    inboxes = Inboxes()
    assert twice(lambda: inboxes.readings(b"250 OK\r\n")) == [("<yes>", "250 OK\r\n")]
    assert inboxes.read == ["<yes>", "<no>"]


def test_the_same_data_is_read_again_if_another_message_is_expected() -> None:
    inboxes = Inboxes()
    assert inboxes.readings(b"250 OK\r\n") == [("<yes>", "250 OK\r\n")]
    assert inboxes.readings(b"250 OK\r\n", expected=(NO,)) == []
    assert inboxes.read == ["<yes>", "<no>", "<no>"]


def test_pieces_of_cached_data_have_the_same_reading() -> None:
    inboxes = Inboxes()
    whole = inboxes.readings(b"250 OK\r\n")
    for at in range(1, len(b"250 OK\r\n")):
        assert inboxes.readings(b"250 OK\r\n"[:at], b"250 OK\r\n"[at:]) == whole


def test_data_after_a_cached_message_is_read() -> None:
    inboxes = Inboxes()
    inboxes.readings(b"250 OK\r\n")
    inbox = inboxes.inbox()
    inbox.put(b"250 OK\r\n", is_whole=False)
    inbox.expect((YES, NO))
    inbox.put(b"550 No\r\n", is_whole=False)
    inbox.expect((YES, NO))
    assert inbox.take(inbox.status().longest or 0) == b"250 OK\r\n"
    inbox.expect((YES, NO))
    assert [move for move, _ in inbox.readings(len(b"550 No\r\n"))] == [NO]


def test_a_message_that_could_go_on_is_not_cached() -> None:
    inboxes = Inboxes()
    assert twice(lambda: inboxes.readings(b"abc", expected=(WORD,))) == [("<word>", "abc")]
    assert inboxes.read == ["<word>", "<word>"]


def test_a_message_with_a_computed_repetition_is_not_cached() -> None:
    inboxes = Inboxes()
    assert twice(lambda: inboxes.readings(b"2:ab\n", expected=(ROW,))) == [("<row>", "2:ab\n")]
    assert inboxes.read == ["<row>", "<row>"]


def test_an_error_is_reported_again() -> None:
    inboxes = Inboxes()
    for _ in range(2):
        inbox = inboxes.inbox()
        inbox.put(b"250 O1\r\n", is_whole=False)
        inbox.expect((YES, NO))
        assert inbox.expected()[0] == len(b"250 O")


def test_long_messages_are_not_cached() -> None:
    inboxes = Inboxes()
    twice(lambda: inboxes.readings(b"250 " + b"a" * 1000 + b"\r\n"))
    assert inboxes.read == ["<yes>", "<no>", "<yes>", "<no>"]


def test_only_a_single_reading_is_cached() -> None:
    inboxes = Inboxes()
    for tree in inboxes.spec.fuzz(1, seed=1):
        assert isinstance(tree.node, Node)
        for readings in ([], [(YES, tree.node), (NO, tree.node)]):
            inboxes.cache.add((YES, NO), b"250 OK\r\n", readings)
            assert inboxes.cache.get((YES, NO), b"250 OK\r\n") is None


@pytest.mark.parametrize(("size", "times"), [(MAX_CACHED_BYTES, 1), (MAX_CACHED_BYTES + 1, 2)])
def test_messages_up_to_a_length_are_cached(size: int, times: int) -> None:
    inboxes = Inboxes()
    twice(lambda: inboxes.readings(b"250 " + b"a" * (size - 6) + b"\r\n"))
    assert inboxes.read == ["<yes>", "<no>"] * times
