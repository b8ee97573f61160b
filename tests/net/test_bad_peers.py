"""Whatever a peer does, a session ends soon, with a finding of the right kind, and the next one goes on."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from palaver.session.interface import Tls
from palaver.testing import Disconnect, Expect, HalfClose, Pause, Reset, ScriptedPeer, ScriptStep, SocketNetwork, Write
from servers.common import needs_openssl

SPEC = """
<start> ::= <Server:hello> (<Client:ask> <Server:answer>){2} <Client:quit> <Server:bye>
<hello> ::= "HI\\n"
<ask> ::= "ASK\\n"
<answer> ::= "250 " r"[a-z]{1,8}" "\\n"
<quit> ::= "QUIT\\n"
<bye> ::= "BYE\\n"
"""

# What a good server says.
HELLO = Write(b"HI\n")
ANSWER: list[ScriptStep] = [Expect(b"ASK\n"), Write(b"250 well\n")]
GOODBYE: list[ScriptStep] = [Expect(b"QUIT\n"), Write(b"BYE\n")]
GOOD: list[ScriptStep] = [HELLO, *ANSWER, *ANSWER, *GOODBYE]

BAD: dict[str, tuple[list[ScriptStep], str]] = {
    "closes after connect": ([Disconnect()], "connection closed"),
    "closes in the middle of a message": ([Write(b"H"), Disconnect()], "connection closed"),
    "closes between messages": ([HELLO, *ANSWER, Expect(b"ASK\n"), Disconnect()], "connection closed"),
    "stops talking": ([HELLO, HalfClose()], "connection closed"),
    "resets after connect": ([Reset()], "connection reset"),
    "resets in the middle of a message": ([HELLO, Expect(), Write(b"250 "), Pause(0.02), Reset()], "connection reset"),
    "resets between messages": ([HELLO, *ANSWER, Expect(b"ASK\n"), Reset()], "connection reset"),
    "never says anything": ([], "no response"),
    "never answers": ([HELLO, *ANSWER], "no response"),
    "says half a reply": ([HELLO, Expect(), Write(b"250 we")], "no response"),
    "says garbage": ([Write(bytes(range(256)))], "unexpected response"),
    "says garbage in the middle": ([HELLO, Expect(), Write(b"250 \xff\xfe\n")], "unexpected response"),
    "says garbage without end": ([HELLO, Expect(), Write(b"\x00\xff" * 10_000, endlessly=True)], "unexpected response"),
    "answers before it is asked": ([Write(b"HI\n250 well\n")], "out of turn"),
    "answers twice at once": ([HELLO, Expect(), Write(b"250 well\n250 well\n")], "out of turn"),
    "is slower than we are patient": ([Write(b"HI\n", size=1, every=2.0)], "no response"),
}


@pytest.mark.parametrize("behaviour", BAD)
def test_a_bad_peer_gives_a_finding(behaviour: str, talk_to: Callable[..., Any], world: SocketNetwork) -> None:
    script, label = BAD[behaviour]
    begun = world.clock.now()
    talked = talk_to(ScriptedPeer(script, times=2), SPEC, "-n", "2", "--timeout", "0.2", "--patience", "0.15")
    assert talked.code == 1, talked.said
    assert talked.summary.startswith("2 sessions, ")
    assert talked.summary.endswith(f"received, 2 findings ({label}: 2)")
    assert f"finding 1 in session 1, {label}" in talked.text
    assert world.clock.now() - begun < 3.0


@pytest.mark.parametrize("every", [0.05, 0.2])
def test_a_slow_peer_gives_no_finding(every: float, talk_to: Callable[..., Any]) -> None:
    script = [Write(b"HI\n", size=1, every=every), *GOOD[1:]]
    talked = talk_to(ScriptedPeer(script, times=2), SPEC, "-n", "2", "--timeout", "0.3", "--patience", "0.4")
    assert (talked.code, talked.said) == (0, "")


def test_a_peer_may_close_before_our_last_message(
    talk: Callable[..., Any], world: SocketNetwork, tmp_path: Path
) -> None:
    spec = '<start> ::= <Client:quit> <Server:bye>\n<quit> ::= "QUIT\\n"\n<bye> ::= "BYE\\n"\n'
    address = f"unix:{tmp_path / 'socket'}"
    world.add(ScriptedPeer([Write(b"QUIT\n"), Disconnect()], role="connect", address=address, times=2))
    talked = talk(spec, "--server", address, "-n", "2")
    assert (talked.code, talked.said) == (0, "")


# --- too much ---------------------------------------------------------------------------------------------------------

LINES = """
<start> ::= <Client:list> <Server:item>* <Server:end>
<list> ::= "LIST\\n"
<item> ::= r"[a-z]+" "\\n"
<end> ::= ".\\n"
"""


@pytest.mark.parametrize(
    ("much", "limit", "complaint"),
    [
        (b"well\n" * 1000, ["--max-messages", "100"], "more than 100 messages"),
        (b"w" * 65536, [], "more than 1048576 bytes without completing a message"),
        (b"w" * 65536, ["--max-message-bytes", "5000"], "more than 5000 bytes without completing a message"),
    ],
    ids=["lines", "a line", "a line that we say may not be long"],
)
def test_endless_data_stops_at_a_limit(
    much: bytes, limit: list[str], complaint: str, talk_to: Callable[..., Any]
) -> None:
    peer = ScriptedPeer([Expect(b"LIST\n"), Write(much, endlessly=True)], times=2)
    talked = talk_to(peer, LINES, "-n", "2", *limit)
    assert talked.code == 1
    assert talked.summary.endswith("2 findings (limit exceeded: 2)")
    assert complaint in talked.text


# --- nobody, or somebody else -----------------------------------------------------------------------------------------


def test_a_port_without_a_server_is_inconclusive(palaver: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    palaver.write(talk_fan=SPEC)
    talked = palaver("talk", "-f", "talk.fan", "-n", "2", "--client", str(port), "--wait-for-server", "0.05")
    assert talked.code == 4
    assert talked.summary == "2 sessions, 0 messages sent, 0 received, 2 findings (connection refused: 2)"


def test_the_command_line_sets_the_time_to_start_and_to_answer(
    palaver: Any, world: SocketNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(
        "palaver.campaign.campaign_factory.SelectorEventLoop", lambda **options: given.update(options) or world.loop()
    )
    world.add(ScriptedPeer(GOOD))
    palaver.write(talk_fan=SPEC)
    port = str(world.port_of("peer"))
    palaver("talk", "-f", "talk.fan", "-n", "1", "--client", port, "--timeout", "2", "--wait-for-server", "3")
    assert (given["connect_timeout"], given["startup_patience"]) == (2.0, 3.0)


def test_a_port_in_use_is_an_error_of_ours(talk: Callable[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        talked = talk(SPEC, "-n", "2", "--server", str(server.getsockname()[1]))
    assert talked.code == 2
    assert talked.summary == "2 sessions, 0 messages sent, 0 received, 2 findings (address in use: 2)"


@pytest.mark.parametrize(
    "script", [[Write(b"HI, how are you?\n")], [Disconnect()], [Expect(), Write(b"\x15\x03\x03\x00\x02\x02\x28")]]
)
def test_a_peer_that_does_not_encrypt_gives_a_finding(script: list[ScriptStep], talk_to: Callable[..., Any]) -> None:
    talked = talk_to(ScriptedPeer(script, times=2), SPEC, "-n", "2", scheme="tls")
    assert talked.code == 1
    assert talked.summary == "2 sessions, 0 messages sent, 0 received, 2 findings (TLS failure: 2)"


@pytest.mark.timeout(8)  # or it would be twice as long as a loop waits if nobody says anything
def test_an_endless_handshake_ends_at_the_timeout(palaver: Any) -> None:
    palaver.write(talk_fan=SPEC)
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"tls://127.0.0.1:{server.getsockname()[1]}"
        talked = palaver("talk", "-f", "talk.fan", "-n", "2", "--client", place, "--timeout", "0.05")
    assert talked.code == 1
    assert talked.summary == "2 sessions, 0 messages sent, 0 received, 2 findings (TLS failure: 2)"


@needs_openssl
def test_a_peer_that_encrypts_is_talked_to(talk_to: Callable[..., Any]) -> None:
    talked = talk_to(ScriptedPeer(GOOD, times=2, tls=Tls()), SPEC, "-n", "2", scheme="tls")
    assert (talked.code, talked.said) == (0, "")
