"""A capture of packets: read by a small parser here, and by tshark where it is installed."""

from __future__ import annotations

import json
import os
import shlex
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from palaver.addresses import Address
from palaver.exporting.conversation import StepKind, WireConversation, WireLink, WireStep
from palaver.exporting.pcapng import capture, internet_checksum
from palaver.recording.run_reader import RecordedFinding
from palaver.session.findings import FindingKind, Fingerprint, Severity

FINDING = RecordedFinding(
    number=1,
    session=2,
    at=0.0,
    kind=FindingKind.CRASH,
    label="crash",
    severity=Severity.VIOLATION,
    party="",
    message="the system under test was killed by SIGSEGV",
    expected=(),
    got=b"",
    offset=None,
    constraint="",
    cause="",
    symbols=(),
    messages=0,
    has_before=False,
    output=b"",
    fingerprint=Fingerprint("crash", "", "", "", "", ()),
    digest="",
    explanation="",
)
HEADLINE = "finding 1 in session 2, crash: the system under test was killed by SIGSEGV"


# --- a small parser ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Packet:
    """A packet, as far as these tests look at it."""

    at: float
    source: tuple[str, int]
    destination: tuple[str, int]
    protocol: int
    data: bytes
    comments: list[str]
    flags: int = 0
    sequence: int = 0
    acknowledged: int = 0


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The blocks of a pcapng file."""
    while data:
        kind, length = struct.unpack_from("<II", data)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, length - 4) == (length,)
        yield kind, data[8 : length - 4]
        data = data[length:]


def comments_in(options: bytes) -> list[str]:
    found = []
    while options:
        code, length = struct.unpack_from("<HH", options)
        if code == 1:
            found.append(options[4 : 4 + length].decode())
        options = options[4 + length + -length % 4 :]
        assert code or not options
    return found


def packets(data: bytes) -> list[Packet]:
    """All packets of a capture, with their checksums checked."""
    section, interface, *rest = blocks(data)
    assert section[0] == 0x0A0D0D0A
    assert struct.unpack_from("<IHH", section[1]) == (0x1A2B3C4D, 1, 0)
    assert comments_in(section[1][16:]) == [HEADLINE]
    assert (interface[0], struct.unpack_from("<H", interface[1])) == (1, (1,))
    found = []
    for kind, body in rest:
        assert kind == 6
        _, high, low, captured, original = struct.unpack_from("<IIIII", body)
        assert captured == original
        at = ((high << 32) + low) / 1e6
        found.append(packet(at, body[20 : 20 + captured], comments_in(_options_of(body))))
    return found


def _options_of(body: bytes) -> bytes:
    """The options of a packet block."""
    (captured,) = struct.unpack_from("<I", body, 12)
    return body[20 + captured + -captured % 4 :]


def packet(at: float, frame: bytes, comments: list[str]) -> Packet:
    is_v4 = frame[12:14] == b"\x08\x00"
    inner = frame[14:]
    if is_v4:
        assert internet_checksum(inner[:20]) == 0
        assert struct.unpack_from("!H", inner, 2) == (len(inner),)
        places, protocol, segment = inner[12:20], inner[9], inner[20:]
    else:
        assert frame[12:14] == b"\x86\xdd"
        assert struct.unpack_from("!H", inner, 4) == (len(inner) - 40,)
        places, protocol, segment = inner[8:40], inner[6], inner[40:]
    assert internet_checksum(places + struct.pack("!II", protocol, len(segment)) + segment) == 0
    half = len(places) // 2
    hosts = [str(ip_address(places[:half])), str(ip_address(places[half:]))]
    ports = struct.unpack_from("!HH", segment)
    source, destination = (hosts[0], ports[0]), (hosts[1], ports[1])
    if protocol == socket.IPPROTO_UDP:
        assert struct.unpack_from("!H", segment, 4) == (len(segment),)
        return Packet(at, source, destination, protocol, segment[8:], comments)
    sequence, acknowledged = struct.unpack_from("!II", segment, 4)
    return Packet(at, source, destination, protocol, segment[20:], comments, segment[13], sequence, acknowledged)


# --- captures ---------------------------------------------------------------------------------------------------------


def talked(link: WireLink, *steps: tuple[StepKind, bytes, tuple[str, ...]]) -> WireConversation:
    made = [WireStep(1_700_000_000.25 + number, link, *step) for number, step in enumerate(steps)]
    return WireConversation(FINDING, tuple(made))


TCP = WireLink("Client", Address("tcp", "127.0.0.1", 2525), is_listening=False)
LONG = bytes(range(256)) * 20
STEPS = (
    (StepKind.OPENED, b"", ()),
    (StepKind.RECEIVED, b"220 hi\r\n", ("<greeting>",)),
    (StepKind.SENT, LONG, ("<ehlo>", "<mail>")),
    (StepKind.RECEIVED, b"odd", ()),
    (StepKind.ENDED, b"", ()),
    (StepKind.CLOSED, b"", ()),
)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "192.0.2.77", "2001:db8::7"])
@pytest.mark.parametrize("is_listening", [False, True])
def test_a_connection_is_whole_and_says_what_was_said(host: str, is_listening: bool) -> None:
    link = WireLink("Client", Address("tcp", host, 2525), is_listening)
    found = packets(capture(talked(link, *STEPS)))
    own_port = 2525 if is_listening else 49152
    streams = {True: b"", False: b""}
    numbers: dict[tuple[str, int], int] = {}
    for each in found:
        if not each.flags & 2:
            assert each.sequence == numbers[each.source]
            assert each.acknowledged == numbers[each.destination]
        numbers[each.source] = each.sequence + len(each.data) + bool(each.flags & 3)
        streams[each.source[1] == own_port] += each.data
    assert (streams[True], streams[False]) == (LONG, b"220 hi\r\nodd")
    assert [each.flags for each in found[:3]] == [2, 18, 16]
    assert (found[0].source[1] == own_port) is not is_listening
    assert [each.flags for each in found if each.flags & 1] == [17, 17]
    told = [(each.data[-4:], each.comments) for each in found if each.comments]
    assert told == [(b"hi\r\n", ["<greeting>"]), (LONG[-4:], ["<ehlo>", "<mail>"]), (b"", [HEADLINE])]
    assert found[0].at == 1_700_000_000.25


def test_a_broken_connection_is_reset() -> None:
    steps = (*STEPS[:3], (StepKind.BROKEN, b"", ()), (StepKind.CLOSED, b"", ()))
    assert packets(capture(talked(TCP, *steps)))[-1].flags == 20


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_each_datagram_is_a_packet(host: str) -> None:
    link = WireLink("Client", Address("udp", host, 53), is_listening=False)
    found = packets(capture(talked(link, STEPS[0], *STEPS[1:4])))
    assert [each.data for each in found] == [b"220 hi\r\n", LONG, b"odd"]
    assert [each.source[1] for each in found] == [53, 49152, 53]


def test_what_has_no_port_is_shown_as_tcp() -> None:
    link = WireLink("Client", Address("unix", path="/run/it.sock"), is_listening=False)
    assert packets(capture(talked(link, *STEPS)))[0].comments == ["unix:/run/it.sock, shown as TCP"]


def test_a_link_that_is_opened_again_is_another_connection() -> None:
    conversation = talked(TCP, *STEPS)
    twice = replace(conversation, steps=conversation.steps * 2)
    assert {each.source[1] for each in packets(capture(twice))} == {2525, 49152, 49153}


# --- from end to end --------------------------------------------------------------------------------------------------

SPEC = r"""
<start>  ::= <Client:ask> <Server:answer> <Client:again> <Server:answer>
<ask>    ::= "ask\n"
<again>  ::= "again\n"
<answer> ::= "well\n"
"""
SERVER = """
import os, socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        connection, _ = server.accept()
        for line in connection.makefile("rb"):
            if line == b"again\\n":
                os.abort()
            connection.sendall(b"we")
            connection.sendall(b"ll\\n")
"""


def exported(palaver: Any) -> Path:
    palaver.write(talk_fan=SPEC, server_py=SERVER)
    target = f"{shlex.join([sys.executable, '-SE', 'server.py'])} {{port}}"
    assert palaver("talk", "talk.fan", "--target", target, "-n", "1", "--run", "kept").code == 1
    assert palaver("export", "kept", "1", "--pcapng", "-o", "it.pcapng").code == 0
    file: Path = palaver.folder / "it.pcapng"
    return file


def test_a_finding_of_a_run_is_exported(palaver: Any) -> None:
    file = exported(palaver)
    assert palaver("export", "kept", "1", "--pcapng").out == file.read_bytes()
    section, _, *rest = blocks(file.read_bytes())
    assert comments_in(section[1][16:]) == [
        "finding 1 in session 1, crash: the system under test was killed by SIGABRT"
    ]
    comments = [comment for _, body in rest for comment in comments_in(_options_of(body))]
    assert comments[:3] == ["<ask>", "<answer>", "<again>"]


def test_a_capture_is_not_written_to_a_terminal(palaver: Any) -> None:
    exported(palaver)
    leader, terminal = os.openpty()
    command = [sys.executable, "-m", "palaver", "export", "kept", "1", "--pcapng"]
    done = subprocess.run(command, cwd=palaver.folder, stdout=terminal, stderr=subprocess.PIPE, check=False)
    os.close(terminal)
    os.close(leader)
    assert (done.returncode, b"a capture is not for a terminal: give -o FILE" in done.stderr) == (2, True)


@pytest.mark.servers("tshark")
def test_tshark_reads_a_capture_and_finds_nothing_wrong(palaver: Any) -> None:
    file = exported(palaver)
    checks = [f"-o{name}.check_checksum:TRUE" for name in ("ip", "tcp", "udp")]
    command = ["tshark", "-r", str(file), *checks, "-T", "json"]
    done = subprocess.run(command, capture_output=True, check=True)
    layers = [each["_source"]["layers"] for each in json.loads(done.stdout)]
    assert all(each["tcp"]["tcp.checksum.status"] == "1" for each in layers)
    assert all(each["ip"]["ip.checksum.status"] == "1" for each in layers)
    assert not any("tcp.analysis.flags" in each["tcp"].get("tcp.analysis", {}) for each in layers)
    text = done.stdout.decode()
    assert "finding 1 in session 1, crash: the system under test was killed by SIGABRT" in text
    assert all(name in text for name in ("<ask>", "<answer>", "<again>"))
    follow = ["tshark", "-r", str(file), "-q", "-z", "follow,tcp,ascii,0"]
    followed = subprocess.run(follow, capture_output=True, check=True).stdout.decode()
    assert "ask\n" in followed
    assert "again\n" in followed
