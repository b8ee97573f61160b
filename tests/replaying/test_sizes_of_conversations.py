"""The smaller of two conversations is the one with less of our own in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver as palaver_
from palaver.replaying.shrinking import _is_smaller
from palaver.session.findings import SessionMessage

SPEC = palaver_.loads(
    '<start> ::= <hello> <ask>\n<hello> ::= r"hello [a-z0-9]+"\n<ask> ::= r"ask [a-z]+( [a-z0-9]+)?"\n'
)


def said(*texts: str) -> list[SessionMessage]:
    """A conversation; what begins with "ask" is ours."""
    messages = []
    for text in texts:
        node = SPEC.read_as(f"<{text.split()[0]}>", text)
        assert node is not None
        party = "Client" if text.startswith("ask") else "Server"
        messages.append(SessionMessage(0.0, party, None, node.symbol, text.encode(), node, party == "Client"))
    return messages


@given(st.from_regex(r"[0-9][a-z0-9]{3,20}", fullmatch=True), st.from_regex(r"[0-9][a-z0-9]{3,20}", fullmatch=True))
def test_tokens_of_the_peer_do_not_count(one: str, two: str) -> None:
    small, large = said(f"hello {one}", f"ask z {one}"), said(f"hello {two}", f"ask az {two}")
    assert _is_smaller(small, large)
    assert not _is_smaller(large, small)
    assert not _is_smaller(said(f"hello {one}", f"ask z {one}"), said(f"hello {two}", f"ask z {two}"))


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (["ask a"], ["ask a", "ask a"]),  # fewer messages
        (["ask a"], ["ask abc"]),
        (["ask aaa"], ["ask abc"]),  # plainer
        (["ask a", "hello a"], ["ask abcdef", "hello abcdef"]),  # what the peer repeats is ours
        (["hello abc", "ask a"], ["hello abc", "ask abc"]),  # what it always says is no token
    ],
)
def test_what_is_ours_counts(small: list[str], large: list[str]) -> None:
    assert _is_smaller(said(*small), said(*large))
    assert not _is_smaller(said(*large), said(*small))
