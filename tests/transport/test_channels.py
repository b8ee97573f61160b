"""Channels and their connections: what they promise to the event loop."""

from __future__ import annotations

import os
import signal
import socket
import sys

import pytest

from palaver.addresses import Address
from palaver.session.interface import Close, Open, Opened, TimePassed
from palaver.transport.blocking import BlockingSocket
from palaver.transport.channel import Channel, EndOfStream, OpenOptions, ReadyChannel
from palaver.transport.clock import ManualClock
from palaver.transport.connection import Connection
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.internet import bound
from palaver.transport.process import TARGET
from palaver.transport.transport_limits import MAX_IDLE_LISTENERS
from transport.recorder import Recorder


class Clogged(Channel):
    """Takes no data."""

    was_abandoned = False

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        return {}

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        return None

    def send(self, data: memoryview) -> int | None:
        return None

    def finish(self) -> None:
        pass

    def abandon(self) -> None:
        self.was_abandoned = True


def clogged() -> tuple[Connection, Clogged]:
    channel = Clogged()
    connection = Connection("link", ReadyChannel(channel))
    assert connection.advance(0.0) == [Opened(0.0, "link")]
    connection.send(b"data")
    return connection, channel


def test_a_connection_that_is_reset_is_closed() -> None:
    connection, channel = clogged()
    connection.reset()
    assert channel.was_abandoned
    assert connection.is_closed
    assert connection.deadline is None


def test_what_is_given_up_before_it_is_open_is_closed() -> None:
    channel = Clogged()
    connection = Connection("link", ReadyChannel(channel))
    assert connection.is_being_opened
    connection.abandon()
    assert channel.was_abandoned
    assert connection.is_closed
    assert not clogged()[0].is_being_opened


@pytest.mark.parametrize(("own", "wakes_at"), [(None, 5.0), (3.0, 3.0), (7.0, 5.0)])
def test_a_connection_that_closes_wants_to_be_woken_at_its_end_or_before(own: float | None, wakes_at: float) -> None:
    connection, channel = clogged()
    channel.deadline = own
    assert connection.deadline == own
    connection.close(5.0)
    assert connection.deadline == wakes_at


def test_what_cannot_be_sent_is_given_up_at_the_end() -> None:
    connection, channel = clogged()
    connection.close(5.0)
    connection.advance(4.9)
    assert not connection.is_closed
    assert not channel.was_abandoned
    connection.advance(5.0)
    assert connection.is_closed
    assert channel.was_abandoned
    assert connection.deadline is None
    assert connection.interests() == {}


def test_nothing_is_sent_or_encrypted_after_the_end_of_the_output() -> None:
    sent: list[bytes] = []
    connection, channel = clogged()
    connection.finish()
    connection.send(b"late")
    connection.encrypt(lambda channel, now: ReadyChannel(channel))

    def send(data: memoryview) -> int:
        sent.append(bytes(data))
        return len(data)

    channel.send = send  # type: ignore[method-assign]
    connection.advance(1.0)
    assert sent == [b"data"]


def test_a_target_is_killed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    options = OpenOptions(0.0, timeout=1.0, patience=0.0, grace=1.0, standard=(0, 1))
    sleeping = Address("target", command=(sys.executable, "-S", "-c", "import time; time.sleep(60)"))
    channel = TARGET.connect(sleeping, options).advance(0.0)
    killed: list[int] = []
    killpg = os.killpg

    def kill(group: int, number: int) -> None:
        killed.append(number)
        killpg(group, number)

    monkeypatch.setattr(os, "killpg", kill)
    channel.abandon()
    channel.abandon()  # by now the number may be another's
    assert killed == [signal.SIGKILL]


def test_a_port_is_free_again_at_once_and_that_of_datagrams_is_not_shared() -> None:
    for kind, is_shared in ((socket.SOCK_STREAM, True), (socket.SOCK_DGRAM, False)):
        with bound(Address("tcp", "127.0.0.1"), kind) as taken:
            assert bool(taken.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)) is is_shared


def test_a_blocking_socket_that_is_closed_gives_its_descriptor_back(
    loop: SelectorEventLoop, listening: socket.socket
) -> None:
    blocking = BlockingSocket(loop, Address("tcp", "127.0.0.1", listening.getsockname()[1]), 10.0)
    accepted, _ = listening.accept()
    with accepted:
        blocking.close()
        assert blocking.fileno() == -1
        assert accepted.recv(1) == b""


def test_so_many_listeners_are_kept_open_for_later(loop: SelectorEventLoop) -> None:
    ports = []
    for number in range(MAX_IDLE_LISTENERS + 5):
        loop.carry_out([Open(f"link {number}", Address("tcp", "127.0.0.1"), "listen")])
        ports.append(loop.port_of(f"link {number}"))
        loop.carry_out([Close(f"link {number}")])
    is_open = []
    for port in ports:
        with socket.socket() as client:
            is_open.append(client.connect_ex(("127.0.0.1", port)) == 0)
    assert is_open == [False] * 5 + [True] * MAX_IDLE_LISTENERS


def test_a_listener_in_use_is_not_closed_for_others(loop: SelectorEventLoop) -> None:
    loop.carry_out([Open("first", Address("tcp", "127.0.0.1"), "listen")])
    for number in range(MAX_IDLE_LISTENERS + 5):
        loop.carry_out([Open(f"link {number}", Address("tcp", "127.0.0.1"), "listen"), Close(f"link {number}")])
    with socket.create_connection(("127.0.0.1", loop.port_of("first"))):
        Recorder(loop).wait_for(Opened, "first")


def test_waiting_ends_also_if_the_clock_stands_still() -> None:
    with SelectorEventLoop(ManualClock()) as loop:
        assert loop.wait(0.01) == [TimePassed(0.01)]
        assert loop.poll() == []
