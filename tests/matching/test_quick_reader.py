"""Messages that came as a whole, read by one regex each: the same reading as by the matchers, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver
from palaver.matching.candidates import Candidates, QuickReader
from palaver.trees.node import Node, Parties

REPLIES = r"""
<start>   ::= <Client:ok> <Client:refused> <Client:either> <Client:name> <Client:open>
<ok>      ::= r"(250-[\t -~]*\r\n)*250( [\t -~]*)?" "\r\n"
<refused> ::= r"(5[0-9]{2}-[\t -~]*\r\n)*5[0-9]{2}( [\t -~]*)?" "\r\n"
<either>  ::= r"[25][0-9]{2} [a-z]*" "\r\n"
<name>    ::= "220 " <host> "\r\n"
<host>    ::= r"[a-z]+"
<open>    ::= r"[0-9]+"
"""
SPEC = palaver.loads(REPLIES)
PARTIES = Parties("Client")
LINES = st.lists(
    st.sampled_from(["250-a\r\n", "250 b\r\n", "250\r\n", "503-x\r\n", "503 no\r\n", "220 mail\r\n", "12", "ä"]),
    max_size=3,
)


def reader_of(*symbols: str) -> QuickReader[str] | None:
    shapes = {symbol: SPEC.shape(symbol) for symbol in symbols}
    return QuickReader.of(shapes, dict.fromkeys(symbols, PARTIES), binary=False)


@given(LINES, st.sampled_from([("<ok>",), ("<ok>", "<refused>"), ("<ok>", "<refused>", "<name>")]))
def test_what_is_read_quickly_is_the_only_reading_and_cannot_go_on(lines: list[str], symbols: tuple[str, ...]) -> None:
    data = "".join(lines).encode()
    reader = reader_of(*symbols)
    assert reader is not None
    quick = reader.read(data)
    matchers = {symbol: SPEC.matcher(symbol, binary=False, whole=False) for symbol in symbols}
    progress = Candidates(matchers).feed(data)
    certain = [name for name, each in progress.items() if each.complete == (len(data),) and not each.may_go_on]
    assert (quick is None) == (certain == [] or not data.isascii())
    if quick is not None:
        [name] = certain
        assert [each for each in progress.values() if each.may_go_on] == []
        [tree] = matchers[name].trees(len(data))
        assert quick == (name, tree._replace(parties=PARTIES))


@pytest.mark.parametrize("symbols", [("<ok>", "<either>"), ("<ok>", "<open>"), ("<open>",)])
def test_messages_that_look_alike_or_may_go_on_are_not_read_quickly(symbols: tuple[str, ...]) -> None:
    assert reader_of(*symbols) is None


def test_the_parts_of_a_message_are_made_when_they_are_asked_for() -> None:
    reader = reader_of("<name>")
    assert reader is not None
    found = reader.read(b"220 mail\r\n")
    assert found is not None
    assert [each.symbol for each in found[1].children if isinstance(each, Node)] == ["<host>"]
