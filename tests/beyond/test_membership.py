"""Proofs that some bytes are no message: never of one that the grammar accepts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import palaver
from amounts import examples
from palaver.beyond.membership import Membership, Place, prove
from palaver.beyond.mutants import MAKERS, WrongnessKind, operator_of, spans_of
from palaver.compiled import Spec
from palaver.compiled.data import message_bytes
from palaver.matching.matcher import Matcher
from palaver.random_source import RandomSource
from palaver.trees.tree import Tree

LINES = palaver.loads(
    r"""
<start> ::= <Client:put> <Server:ok> | <Client:get> <Server:ok> | <Client:both> <Server:ok>
<put>   ::= "put " <key> " " <size> "\r\n"
<get>   ::= "get " <key> ("," <key>)* "\r\n"
<both>  ::= "get put\r\n"
<key>   ::= r"[a-z]{1,8}"
<size>  ::= r"[0-9]{1,3}"
<ok>    ::= "ok\r\n"
where int(<size>) < 500
"""
)


def place(spec: Spec, *, is_datagram: bool = False) -> Place:
    moves = [move for move in spec.forecaster().begin().moves if move.sender == "Client"]
    checks = spec.checks

    def matcher(symbol: str) -> Matcher:
        return spec.matcher(symbol, whole=False)

    def accepts(_: object, node: object) -> bool:
        return all(check.failure(Tree(node)) is None for check in checks)  # type: ignore[arg-type]

    return Place(moves, matcher, accepts, b"\r\n", is_datagram)


def proved(data: bytes, *, is_datagram: bool = False) -> Membership:
    return prove(place(LINES, is_datagram=is_datagram), data).membership


def test_each_relation_has_its_name() -> None:
    assert proved(b"get a,b\r\n") is Membership.VALID
    assert proved(b"get a\r\nget b\r\n") is Membership.SPLIT
    assert proved(b"get a") is Membership.PREFIX
    assert proved(b"git a") is Membership.OPEN
    assert proved(b"git a\r\ngit b\r\n") is Membership.FRAMES
    assert proved(b"git\n a\r\n") is Membership.FRAMES
    assert proved(b"git a\r\n") is Membership.WRONG


def test_what_violates_a_constraint_is_wrong() -> None:
    assert proved(b"put a 499\r\n") is Membership.VALID
    assert proved(b"put a 500\r\n") is Membership.WRONG


def test_a_datagram_is_one_message_or_none() -> None:
    assert proved(b"get a", is_datagram=True) is Membership.WRONG
    assert proved(b"get a\r\nget b\r\n", is_datagram=True) is Membership.WRONG
    assert proved(b"get a\r\n", is_datagram=True) is Membership.VALID


def test_the_place_of_the_mistake_is_told() -> None:
    proof = prove(place(LINES), b"git a\r\n")
    assert proof.offset == 1
    assert proof.expected


@settings(max_examples=examples(300))
@given(st.integers(0, 10**6), st.sampled_from(list(MAKERS)), st.sampled_from(["<put>", "<get>", "<both>"]))
def test_nothing_that_is_called_wrong_is_accepted_by_the_reference(seed: int, kind: WrongnessKind, symbol: str) -> None:
    node = LINES.random_tree(symbol, RandomSource(seed))
    assert node is not None
    mutant = MAKERS[kind](message_bytes(Tree(node)), spans_of(node), RandomSource(seed), seed)
    if mutant is None or proved(mutant.data) is not Membership.WRONG:
        return
    for each in ("<put>", "<get>", "<both>"):
        matcher = LINES.matcher(each, reference=True)
        if matcher.finish(mutant.data).complete_here:
            trees = [Tree(tree) for tree in matcher.trees()]
            assert all(any(check.failure(tree) is not None for check in LINES.checks) for tree in trees)


def test_the_parts_of_a_message_have_their_bytes() -> None:
    node = LINES.read_as("<put>", "put abc 12\r\n")
    assert node is not None
    data = b"put abc 12\r\n"
    found = {(span.symbol, data[span.start : span.end]) for span in spans_of(node) if not span.is_leaf}
    assert found == {("<key>", b"abc"), ("<size>", b"12")}


def test_findings_of_one_operator_are_alike() -> None:
    assert operator_of("a NUL in 'GET ' of <get>") == operator_of("a NUL in a part of <key>")
    assert operator_of("<key> of 255 bytes") == operator_of("<size> of 256 bytes")
    assert operator_of("<key> left out") != operator_of("<key> said twice")
