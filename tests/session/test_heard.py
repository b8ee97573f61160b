"""What others say again, in the same words, is not read again."""

from __future__ import annotations

from collections.abc import Callable

import palaver
from palaver.matching.forecaster import MessageType
from palaver.matching.matcher import Matcher
from palaver.session.heard import Heard
from palaver.session.inbox import Inbox
from palaver.session.past import Past
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


class Ear:
    """Inboxes that share what was heard, and how often something was read."""

    def __init__(self) -> None:
        self.spec = palaver.loads(SPEC)
        self.heard = Heard(self.spec.analysis)
        self.read: list[str] = []

    def inbox(self) -> Inbox:
        return Inbox(self._matcher, self.heard)

    def _matcher(self, symbol: str, is_whole: bool, past: Past) -> Matcher:
        self.read.append(symbol)
        return self.spec.matcher(symbol, whole=is_whole)

    def hear(self, *pieces: bytes, expected: tuple[MessageType, ...] = (YES, NO)) -> list[tuple[str, str]]:
        """What these are, each way to understand them."""
        inbox = self.inbox()
        for piece in pieces:
            inbox.put(piece, is_whole=False)
            inbox.expect(expected)
        longest = inbox.standing().longest
        return [] if longest is None else [(move.symbol, str(Tree(node))) for move, node in inbox.readings(longest)]


def twice(what: Callable[[], object]) -> object:
    first = what()
    assert what() == first
    return first


def test_what_was_heard_before_is_not_read_again() -> None:
    ear = Ear()
    assert twice(lambda: ear.hear(b"250 OK\r\n")) == [("<yes>", "250 OK\r\n")]
    assert ear.read == ["<yes>", "<no>"]


def test_the_same_words_are_read_again_where_something_else_is_expected() -> None:
    ear = Ear()
    assert ear.hear(b"250 OK\r\n") == [("<yes>", "250 OK\r\n")]
    assert ear.hear(b"250 OK\r\n", expected=(NO,)) == []
    assert ear.read == ["<yes>", "<no>", "<no>"]


def test_it_does_not_matter_in_which_pieces_it_comes() -> None:
    ear = Ear()
    whole = ear.hear(b"250 OK\r\n")
    for at in range(1, len(b"250 OK\r\n")):
        assert ear.hear(b"250 OK\r\n"[:at], b"250 OK\r\n"[at:]) == whole


def test_what_comes_after_words_that_are_known_is_read() -> None:
    ear = Ear()
    ear.hear(b"250 OK\r\n")
    inbox = ear.inbox()
    inbox.put(b"250 OK\r\n", is_whole=False)
    inbox.expect((YES, NO))
    inbox.put(b"550 No\r\n", is_whole=False)
    inbox.expect((YES, NO))
    assert inbox.take(inbox.standing().longest or 0) == b"250 OK\r\n"
    inbox.expect((YES, NO))
    assert [move for move, _ in inbox.readings(len(b"550 No\r\n"))] == [NO]


def test_what_could_go_on_is_read_each_time() -> None:
    ear = Ear()
    assert twice(lambda: ear.hear(b"abc", expected=(WORD,))) == [("<word>", "abc")]
    assert ear.read == ["<word>", "<word>"]


def test_what_depends_on_more_than_its_bytes_is_read_each_time() -> None:
    ear = Ear()
    assert twice(lambda: ear.hear(b"2:ab\n", expected=(ROW,))) == [("<row>", "2:ab\n")]
    assert ear.read == ["<row>", "<row>"]


def test_what_is_wrong_is_told_as_at_the_first_time() -> None:
    ear = Ear()
    for _ in range(2):
        inbox = ear.inbox()
        inbox.put(b"250 O1\r\n", is_whole=False)
        inbox.expect((YES, NO))
        assert inbox.expected()[0] == len(b"250 O")


def test_long_messages_are_not_kept() -> None:
    ear = Ear()
    twice(lambda: ear.hear(b"250 " + b"a" * 1000 + b"\r\n"))
    assert ear.read == ["<yes>", "<no>", "<yes>", "<no>"]


def test_only_what_is_one_thing_is_kept() -> None:
    ear = Ear()
    for tree in ear.spec.fuzz(1, seed=1):
        for readings in ([], [(YES, tree.node), (NO, tree.node)]):
            ear.heard.keep((YES, NO), b"250 OK\r\n", readings)
            assert ear.heard.recall((YES, NO), b"250 OK\r\n") is None
