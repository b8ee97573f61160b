"""A new transport is one module and one line: this module is one, and whole sessions run over it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from selectors import EVENT_READ, EVENT_WRITE

import pytest

import palaver
from palaver.addresses import PATH, SCHEMES, Address, AddressScheme, parse_party_address, register, scheme_named
from palaver.errors import PalaverError
from palaver.party import ConnectionMode, NetworkParty, address_of, split_party_spec
from palaver.session.findings import Verdict
from palaver.session.interface import Failed, Open
from palaver.testing import MemoryNetwork, SocketNetwork, run_pair
from palaver.transport.channel import (
    Channel,
    ChannelError,
    EndOfStream,
    Listener,
    OpenOptions,
    PendingChannel,
    ReadyChannel,
    Transport,
)
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.registry import free_port, is_listening, transport_for

# --- The transport: pairs of pipes between two ends in this process ---------------------------------------------------


class PipeChannel(Channel):
    def __init__(self, incoming: int, outgoing: int) -> None:
        self._open = {incoming: EVENT_READ, outgoing: EVENT_WRITE}
        self._incoming, self._outgoing = incoming, outgoing
        for fd in self._open:
            os.set_blocking(fd, False)

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        return {fd: event for fd, event in self._open.items() if (reading if event == EVENT_READ else writing)}

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        try:
            return os.read(self._incoming, limit) or EndOfStream()
        except BlockingIOError:
            return None

    def send(self, data: memoryview) -> int | None:
        try:
            return os.write(self._outgoing, data)
        except BlockingIOError:
            return None
        except BrokenPipeError:
            return len(data)

    def finish(self) -> None:
        self._close(self._outgoing)

    def abandon(self) -> None:
        for fd in list(self._open):
            self._close(fd)

    def _close(self, fd: int) -> None:
        if self._open.pop(fd, None) is not None:
            os.close(fd)


class PipeListener(Listener):
    def __init__(self) -> None:
        self.bell, self.button = os.pipe()
        self.callers: deque[PipeChannel] = deque()

    def close(self) -> None:
        os.close(self.bell)
        os.close(self.button)


class PipeAccepting(PendingChannel):
    def __init__(self, listener: PipeListener) -> None:
        self._listener = listener

    def interests(self) -> dict[int, int]:
        return {self._listener.bell: EVENT_READ}

    def advance(self, now: float) -> Channel | None:
        if not self._listener.callers:
            return None
        os.read(self._listener.bell, 1)
        return self._listener.callers.popleft()

    def abandon(self) -> None:
        pass


class PipeTransport(Transport):
    def __init__(self) -> None:
        self._listeners: dict[str, PipeListener] = {}

    def connect(self, address: Address, options: OpenOptions) -> PendingChannel:
        listener = self._listeners.get(address.path)
        if listener is None:
            raise ChannelError("refused", f"{address}: nobody listens")
        (their_input, our_output), (our_input, their_output) = os.pipe(), os.pipe()
        listener.callers.append(PipeChannel(their_input, their_output))
        os.write(listener.button, b"!")
        return ReadyChannel(PipeChannel(our_input, our_output))

    def listen(self, address: Address) -> Listener:
        self._listeners[address.path] = PipeListener()
        return self._listeners[address.path]

    def accept(self, address: Address, listener: Listener) -> PendingChannel:
        return PipeAccepting(self._listeners[address.path])


PIPES = PipeTransport()

# --- The one line -----------------------------------------------------------------------------------------------------

PIPE_SCHEME = AddressScheme("pipes", f"{__name__}:PIPES", PATH)


@pytest.fixture
def pipes() -> Iterator[None]:
    register(PIPE_SCHEME)
    yield
    del SCHEMES["pipes"]


# --- Sessions over it -------------------------------------------------------------------------------------------------

SPEC = """
<start> ::= <Client:Server:ask> <Server:Client:answer> <Client:Server:bye>
<ask> ::= "ask " <number> "\\n"
<answer> ::= "answer " <number> "\\n"
<bye> ::= "bye\\n"
<number> ::= r"[0-9]{3}"
where str(<answer>.<number>) == str(<ask>.<number>)
"""


@pytest.mark.usefixtures("pipes")
def test_whole_sessions_run_over_a_new_transport() -> None:
    with SocketNetwork() as world:
        pair = run_pair(palaver.loads(SPEC), world=world, address="pipes:here")
    assert [session.verdict for session in pair] == [Verdict.PASS, Verdict.PASS]


@pytest.mark.usefixtures("pipes")
def test_the_network_in_memory_knows_a_new_transport() -> None:
    pair = run_pair(palaver.loads(SPEC), world=MemoryNetwork(), address="pipes:here")
    assert [session.verdict for session in pair] == [Verdict.PASS, Verdict.PASS]


@pytest.mark.usefixtures("pipes")
def test_a_spec_can_name_a_new_transport() -> None:
    party = NetworkParty("Keeper=pipes:here", connection_mode=ConnectionMode.OPEN)
    assert (party.party_name, party.protocol_type, party.ip, party.port) == ("Keeper", "pipes", "here", 0)
    assert address_of(party) == Address("pipes", path="here")
    assert split_party_spec("PIPES:here") == (None, "pipes", "here", 0)


@pytest.mark.usefixtures("pipes")
def test_failures_of_a_new_transport_are_reported() -> None:
    with SelectorEventLoop() as loop:
        loop.carry_out([Open("client", Address("pipes", path="nowhere"), "connect")])
        [failed] = loop.poll()
    assert isinstance(failed, Failed)
    assert (failed.cause, failed.reason) == ("refused", "pipes:nowhere: nobody listens")


@pytest.mark.usefixtures("pipes")
def test_the_message_about_a_wrong_address_tells_all_forms() -> None:
    # Others may have been added between these.
    forms = r"\[NAME=\]\[tcp:\|udp:\|tls:.*\]\[//\]\[HOST:\]PORT or \[NAME=\]unix:PATH or .*\[NAME=\]pipes:PATH"
    with pytest.raises(PalaverError, match=forms):
        parse_party_address("pipes:")


# --- The registry -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_has_a_transport(scheme: str) -> None:
    assert isinstance(transport_for(Address(scheme)), Transport)


def test_an_unregistered_scheme_is_an_error() -> None:
    with pytest.raises(PalaverError, match="there is no transport 'pigeon'; the known ones are: tcp, udp"):
        scheme_named("pigeon")


@pytest.mark.parametrize("scheme", ["program", "target", "helper", "stdio", "stdin", "stdout"])
def test_listening_at_a_program_fails(scheme: str) -> None:
    with SelectorEventLoop() as loop:
        loop.carry_out([Open("server", Address(scheme, command=("cat",)), "listen")])
        [failed] = loop.poll()
    assert isinstance(failed, Failed)
    assert "cannot listen at" in failed.reason


def test_ports_are_found_by_scheme() -> None:
    for scheme in ("tcp", "udp", "tls"):
        port = free_port(scheme)
        assert port
        assert is_listening(scheme, port) in (False, None)
    assert free_port("unix") == 0
    assert is_listening("unix", 0, "no/such/socket") in (False, None)


@pytest.mark.parametrize(
    "uri", ["tcp://127.0.0.1:7", "udp://[::1]:53", "tls://example.org:443", "unix:/a=b:1", "tcp://program:80"]
)
def test_an_address_is_written_as_it_is_read(uri: str) -> None:
    _, scheme, place, port = parse_party_address(uri)
    assert scheme.write(place, port) == uri


def test_a_word_before_the_colon_that_is_not_a_scheme_is_a_host() -> None:
    assert parse_party_address("program:80").address == Address("tcp", "program", 80)
