"""The smaller of two conversations is the one with less of our own in it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import palaver as palaver_
from palaver.random_source import RandomSource
from palaver.replaying.shrinking import _is_smaller
from palaver.replaying.simpler_messages import Simplifier, size_of
from palaver.session.findings import SessionMessage
from palaver.trees.tree import Tree

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


def test_letters_of_one_case_are_plainer_than_mixed_ones() -> None:
    spec = palaver_.loads('<start> ::= r"(?i:dele) " <number>\n<number> ::= r"[0-9]"\n')
    mixed = spec.read_as("<start>", "dElE 1")
    assert mixed is not None
    simplest = min(map(size_of, (each.node for each in Simplifier(spec, RandomSource(1)).values(mixed))))
    texts = [str(Tree(each.node)) for each in Simplifier(spec, RandomSource(1)).values(mixed)]
    assert {"DELE 1", "dele 1"} <= set(texts)
    assert simplest.oddness < size_of(mixed).oddness


@given(st.binary(min_size=1, max_size=12))
@example(b"\xff\xb5\xdf")  # in Latin 1, letters with capitals that are elsewhere, or two
def test_every_value_of_bytes_has_simpler_ones(value: bytes) -> None:
    spec = palaver_.loads('<start> ::= <value>\n<value> ::= rb"(?s:.){0,12}"\n')
    message = spec.read_as("<start>", value)
    assert message is not None
    for simpler in Simplifier(spec, RandomSource(1)).values(message):
        assert len(bytes(Tree(simpler.node))) <= len(value)


def test_a_message_with_a_count_is_simplified_to_others_of_the_grammar() -> None:
    spec = palaver_.loads(
        '<start> ::= "put " <size> ":" <word>{int(<size>)} "."\n<size> ::= r"[0-9]"\n<word> ::= r"[a-z]{1,3}"\n'
    )
    message = spec.read_as("<start>", "put 3:abc.")
    assert message is not None
    simplifier = Simplifier(spec, RandomSource(1))
    for changes in (simplifier.subtrees, simplifier.rounds, simplifier.values):
        texts = [str(Tree(each.node)) for each in changes(message)]
        assert [text for text in texts if spec.read_as("<start>", text) is None] == []
    assert "put 3:aac." in texts
