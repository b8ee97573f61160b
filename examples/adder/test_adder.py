"""Tests of this project's own. The tests of the server are in adder.fan, where pytest finds them by itself."""

import client


def test_the_client_follows_the_spec(palaver_peer):
    server = palaver_peer("adder.fan", server="0")
    assert client.add(server.port, 98, 7) == 105
    server.check()
    assert server.received("request") == [b"add 98 7\n"]
