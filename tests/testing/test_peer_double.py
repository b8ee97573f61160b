"""Peers that are played in tests of others."""

from __future__ import annotations

import socket

import pytest

from palaver.compiled import loads
from palaver.testing.peer_double import PeerDouble

SPEC = loads(r"""<start> ::= <Client:ask> <Server:answer> <Client:ask>
<ask> ::= "hello\n"
<answer> ::= "welcome\n"
""")


def test_a_double_that_nobody_has_talked_to_ends_when_the_test_is_over() -> None:
    peer = PeerDouble(SPEC, server="0")
    assert peer.port
    peer.close()
    peer.finish()
    assert peer.messages == []
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", peer.port))


def test_a_double_ends_in_the_middle_of_a_session_when_the_test_is_over() -> None:
    peer = PeerDouble(SPEC, server="0")
    with socket.create_connection(("127.0.0.1", peer.port)) as client:
        client.sendall(b"hello\n")
        assert client.recv(100) == b"welcome\n"
        peer.close()
        peer.finish()
        assert client.recv(100) == b""
    assert peer.received("ask") == [b"hello\n"]


def test_only_the_test_is_shown_where_a_double_was_wronged() -> None:
    peer = PeerDouble(SPEC, server="0")
    with socket.create_connection(("127.0.0.1", peer.port)) as client:
        client.sendall(b"good day\n")
        with pytest.raises(AssertionError, match="unexpected response from Client") as told:
            peer.check()
    assert [entry.name for entry in told.traceback.filter(told)][1:] == []
