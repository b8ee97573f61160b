"""TLS: from the start, from the middle of a session on, and with peers that do not follow."""

import shutil
import socket
import ssl
from collections.abc import Callable

import pytest

from palaver.addresses import Address
from palaver.session.interface import (
    Close,
    Closed,
    Failed,
    Finish,
    Input,
    Open,
    Opened,
    Role,
    Secure,
    Secured,
    Send,
    Tls,
)
from palaver.transport.certificate import make_certificate
from palaver.transport.channel import Channel, ChannelError, EndOfStream
from palaver.transport.clock import ManualClock
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.tls import Handshake, context_for
from servers.common import needs_openssl
from transport.recorder import Recorder

pytestmark = needs_openssl


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("certificates") / "right.pem"
    with make_certificate() as made:
        shutil.copy(made, path)
    return str(path)


@pytest.fixture
def pair(loop: SelectorEventLoop) -> Recorder:
    """A client and a server without TLS."""
    loop.carry_out([Open("server", Address("tcp"), "listen")])
    loop.carry_out([Open("client", Address("tcp", port=loop.port_of("server")), "connect")])
    recorder = Recorder(loop)
    recorder.wait_for(Opened, "client")
    recorder.wait_for(Opened, "server")
    return recorder


def connect(loop: SelectorEventLoop, tls: Tls | None) -> Recorder:
    loop.carry_out([Open("client", Address("tcp", port=loop.port_of("server")), "connect", tls)])
    return Recorder(loop)


def listen(loop: SelectorEventLoop, tls: Tls | None) -> None:
    loop.carry_out([Open("server", Address("tcp"), "listen", tls)])


def test_a_trusted_certificate_is_accepted(loop: SelectorEventLoop, certificate: str) -> None:
    listen(loop, Tls(certificate=certificate))
    recorder = connect(loop, Tls(authority=certificate))
    loop.carry_out([Send("client", b"secret")])
    assert recorder.bytes_on("server", 6) == b"secret"


def test_an_untrusted_certificate_is_refused(loop: SelectorEventLoop, certificate: str) -> None:
    listen(loop, Tls())
    recorder = connect(loop, Tls(authority=certificate))
    failed = recorder.wait_for(Failed, "client")
    assert (failed.cause, failed.reason[:31]) == ("tls", "the certificate is not trusted:")
    assert recorder.wait_for(Failed, "server").cause == "tls"


def test_a_certificate_for_another_name_is_refused(loop: SelectorEventLoop, certificate: str) -> None:
    listen(loop, Tls(certificate=certificate))
    recorder = connect(loop, Tls(authority=certificate, server_name="elsewhere.test"))
    assert "elsewhere.test" in recorder.wait_for(Failed, "client").reason


def test_a_certificate_is_made_for_the_name_that_is_asked_for(loop: SelectorEventLoop) -> None:
    with make_certificate("mail.example.test") as path:
        listen(loop, Tls(certificate=path))
        recorder = connect(loop, Tls(authority=path, server_name="mail.example.test"))
        assert recorder.wait_for(Opened, "client")


def test_the_server_may_send_first(loop: SelectorEventLoop) -> None:
    listen(loop, Tls())
    loop.carry_out([Send("server", b"220 welcome\r\n")])
    recorder = connect(loop, Tls())
    assert recorder.bytes_on("client", 13) == b"220 welcome\r\n"


def test_a_server_without_tls_fails_the_handshake(loop: SelectorEventLoop) -> None:
    listen(loop, None)
    loop.carry_out([Send("server", b"220 welcome\r\n")])
    recorder = connect(loop, Tls())
    assert recorder.wait_for(Failed, "client").cause == "tls"


def test_a_client_without_tls_fails_the_handshake(loop: SelectorEventLoop) -> None:
    listen(loop, Tls())
    recorder = connect(loop, None)
    loop.carry_out([Send("client", b"GET / HTTP/1.0\r\n\r\n")])
    failed = recorder.wait_for(Failed, "server")
    assert (failed.cause, failed.reason) == ("tls", "http request")


def test_closing_during_the_handshake_is_a_tls_failure(loop: SelectorEventLoop) -> None:
    listen(loop, None)
    recorder = connect(loop, Tls())
    recorder.wait_for(Opened, "server")
    loop.carry_out([Close("server")])
    assert recorder.wait_for(Failed, "client").reason == "the peer closed the connection during the TLS handshake"


def test_a_handshake_times_out(listening: socket.socket) -> None:
    clock = ManualClock()
    with SelectorEventLoop(clock, connect_timeout=5.0) as loop:
        address = Address("tcp", port=listening.getsockname()[1])
        loop.carry_out([Open("client", address, "connect", Tls())])
        with listening.accept()[0] as silent:
            silent.settimeout(10)
            while loop.poll() == [] and not silent.recv(1, socket.MSG_PEEK):
                pass
            clock.advance(5.0)
            assert (
                Recorder(loop).wait_for(Failed, "client").reason
                == "the TLS handshake did not complete in time (--timeout)"
            )


def test_a_session_can_switch_to_tls(pair: Recorder) -> None:
    loop = pair.event_loop
    loop.carry_out([Send("client", b"STARTTLS\r\n")])
    assert pair.bytes_on("server", 10) == b"STARTTLS\r\n"
    # What is sent before is still in clear, and what is sent after is not.
    loop.carry_out([Send("server", b"220 go\r\n"), Secure("server", "listen", Tls()), Send("server", b"hello")])
    assert pair.bytes_on("client", 8) == b"220 go\r\n"
    loop.carry_out([Secure("client", "connect", Tls()), Send("client", b"EHLO\r\n")])
    assert pair.wait_for(Secured, "client")
    assert pair.wait_for(Secured, "server")
    assert pair.bytes_on("client", 5) == b"hello"
    assert pair.bytes_on("server", 6) == b"EHLO\r\n"


def test_the_handshake_waits_until_all_clear_text_has_left(pair: Recorder) -> None:
    loop, plenty = pair.event_loop, bytes(5_000_000)
    loop.carry_out([Send("server", plenty), Secure("server", "listen", Tls())])
    assert pair.bytes_on("client", len(plenty)) == plenty
    loop.carry_out([Secure("client", "connect", Tls())])
    assert pair.wait_for(Secured, "server")


def test_either_end_may_be_the_tls_server(pair: Recorder) -> None:
    pair.event_loop.carry_out([Secure("server", "connect", Tls()), Secure("client", "listen", Tls())])
    assert pair.wait_for(Secured, "server")
    assert pair.wait_for(Secured, "client")


def test_who_listens_may_be_the_client_of_the_handshake(loop: SelectorEventLoop, certificate: str) -> None:
    listen(loop, Tls(role="client", authority=certificate))
    recorder = connect(loop, Tls(role="server", certificate=certificate))
    loop.carry_out([Send("server", b"secret")])
    assert recorder.bytes_on("client", 6) == b"secret"


def test_a_role_that_there_is_not_is_a_tls_failure(pair: Recorder) -> None:
    pair.event_loop.carry_out([Secure("client", "connect", Tls(role="clint"))])
    assert pair.wait_for(Failed, "client").reason == "the role is 'clint': it must be client or server"


def test_clear_text_after_the_handshake_is_a_tls_failure(pair: Recorder) -> None:
    pair.event_loop.carry_out([Secure("client", "connect", Tls()), Send("server", b"what?")])
    assert pair.wait_for(Failed, "client").cause == "tls"
    # The other one has never heard of encryption. It got our greeting, and then we were gone.
    assert pair.wait_for(Closed, "server")


def test_a_missing_certificate_file_is_a_tls_failure(loop: SelectorEventLoop) -> None:
    listen(loop, Tls(certificate="/no/such/file.pem"))
    failed = Recorder(loop).wait_for(Failed, "server")
    assert (failed.cause, failed.reason) == ("tls", "/no/such/file.pem: No such file or directory")


def test_a_missing_certificate_file_is_reported_after_the_clear_text(pair: Recorder) -> None:
    pair.event_loop.carry_out([Send("server", b"go"), Secure("server", "listen", Tls(certificate="/no/such/file.pem"))])
    assert pair.wait_for(Failed, "server").cause == "tls"
    assert pair.rest_of("client") == b"go"


def test_without_openssl_no_certificate_can_be_made(loop: SelectorEventLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    listen(loop, Tls())
    assert "the program openssl" in Recorder(loop).wait_for(Failed, "server").reason


def test_datagrams_are_not_encrypted(loop: SelectorEventLoop) -> None:
    loop.carry_out([Open("client", Address("udp", port=9), "connect", Tls())])
    assert Recorder(loop).wait_for(Failed, "client").reason == "datagrams cannot be encrypted"


@pytest.mark.parametrize("says_goodbye", [True, False])
def test_a_server_may_close_with_or_without_close_notify(
    loop: SelectorEventLoop, listening: socket.socket, certificate: str, says_goodbye: bool
) -> None:
    loop.carry_out([Open("client", Address("tcp", port=listening.getsockname()[1]), "connect", Tls())])
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    library = context.wrap_bio(incoming, outgoing, server_side=True)
    with listening.accept()[0] as server:
        server.setblocking(False)
        heard = shake_hands(loop, server, library, incoming, outgoing)
        library.write(b"bye")
        if says_goodbye:
            with pytest.raises(ssl.SSLWantReadError):
                library.unwrap()
        server.sendall(outgoing.read())
    recorder = Recorder(loop)
    recorder.unread += heard
    assert recorder.rest_of("client") == b"bye"


def shake_hands(
    loop: SelectorEventLoop,
    server: socket.socket,
    library: ssl.SSLObject,
    incoming: ssl.MemoryBIO,
    outgoing: ssl.MemoryBIO,
) -> list[Input]:
    heard: list[Input] = []
    while True:
        heard += loop.wait(loop.clock.now())
        try:
            incoming.write(server.recv(65536))
            library.do_handshake()
        except (BlockingIOError, ssl.SSLWantReadError):
            server.sendall(outgoing.read())
            continue
        server.sendall(outgoing.read())
        return heard


def test_close_notify_ends_one_direction_only(loop: SelectorEventLoop) -> None:
    listen(loop, Tls())
    recorder = connect(loop, Tls())
    loop.carry_out([Send("client", b"question"), Finish("client")])
    assert recorder.rest_of("server") == b"question"
    loop.carry_out([Send("server", b"answer " * 10_000), Close("server")])
    assert recorder.rest_of("client") == b"answer " * 10_000


class Flood(Channel):
    """A peer that sends the same bytes as often as one reads, and never waits."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece
        self.reads = 0
        self.is_closed = False

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        return {}

    def receive(self, now: float, limit: int) -> bytes:
        self.reads += 1
        return (self.piece * (limit // len(self.piece) + 1))[:limit]

    def send(self, data: memoryview) -> int:
        return len(data)

    def flush(self) -> bool:
        return True

    def finish(self) -> None:
        pass

    def abandon(self) -> None:
        self.is_closed = True


HELLO_REQUEST = b"\x16\x03\x03\x00\x04\x00\x00\x00\x00"


@pytest.mark.parametrize("role", ["connect", "listen"])
@pytest.mark.parametrize("piece", [HELLO_REQUEST, b"\x16\x03\x01\xff", b"\x15\x03\x03\x00\x02\x01\x5a", b"x", b"\x00"])
def test_a_handshake_ends_whatever_arrives(piece: bytes, role: Role) -> None:
    flood = Flood(piece)
    handshake = Handshake(flood, context_for(role, Tls()), role, "localhost", deadline=5.0)
    with pytest.raises(ChannelError) as error:
        handshake.advance(1.0)
    assert error.value.cause == "tls"
    assert flood.is_closed
    assert flood.reads < 100


def test_a_handshake_that_is_given_up_closes_its_connection() -> None:
    flood = Flood(HELLO_REQUEST)
    Handshake(flood, context_for("connect", Tls()), "connect", "localhost", deadline=5.0).abandon()
    assert flood.is_closed


def test_a_flood_does_not_outlast_the_time_of_a_handshake() -> None:
    flood = Flood(HELLO_REQUEST)
    handshake = Handshake(flood, context_for("connect", Tls()), "connect", "localhost", deadline=5.0)
    with pytest.raises(ChannelError, match="did not complete in time"):
        handshake.advance(5.0)
    assert flood.reads == 1


class InMemory(Channel):
    """One end of a stream in memory."""

    def __init__(self) -> None:
        self.came: list[bytes | EndOfStream] = []
        self.other = self
        self.is_abandoned = False

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        return {}

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        return self.came.pop(0) if self.came else None

    def send(self, data: memoryview) -> int | None:
        self.other.came.append(bytes(data))
        return len(data)

    def finish(self) -> None:
        self.other.came.append(EndOfStream())

    def abandon(self) -> None:
        self.is_abandoned = True


def encrypted(certificate: str) -> tuple[Channel, Channel, InMemory]:
    """The two ends of an encrypted stream, and what is below the client's."""
    below, above = InMemory(), InMemory()
    below.other, above.other = above, below
    client_context, server_context = context_for("connect", Tls()), context_for("listen", Tls(certificate=certificate))
    shaking: list[tuple[Handshake, InMemory]] = [
        (Handshake(below, client_context, "connect", "", deadline=10.0), below),
        (Handshake(above, server_context, "listen", "", deadline=10.0), above),
    ]
    done: list[Channel] = []
    while shaking:
        handshake, _ = pair = shaking.pop(0)
        channel = handshake.advance(0.0)
        shaking += [pair] if channel is None else []
        done += [] if channel is None else [channel]
    client, server = done
    assert client.receive(0.0, 100) is None
    return client, server, below


def records(below: InMemory) -> bytes:
    """What was encrypted and has not been read, in one piece."""
    return b"".join(each for each in below.came if isinstance(each, bytes))


def test_the_end_that_came_with_the_last_data_is_news(certificate: str) -> None:
    client, server, below = encrypted(certificate)
    assert not client.has_news
    server.send(memoryview(b"the last"))
    server.finish()
    below.came = [records(below), EndOfStream()]
    assert client.receive(0.0, 100) == b"the last"
    assert client.has_news  # also if no file descriptor is ready any more
    assert isinstance(client.receive(0.0, 100), EndOfStream)


def test_close_notify_is_the_end_also_if_the_connection_stays_open(certificate: str) -> None:
    client, server, below = encrypted(certificate)
    server.send(memoryview(b"the last"))
    server.finish()
    below.came = [records(below)]
    assert client.receive(0.0, 100) == b"the last"
    assert client.receive(0.0, 100) == EndOfStream()


def test_many_records_that_came_at_once_are_read_at_once(certificate: str) -> None:
    client, server, below = encrypted(certificate)
    said = [b"a" * 20_000, b"b" * 30_000, b"c"]
    for each in said:
        view = memoryview(each)
        while view:
            view = view[server.send(view) :]
    below.came = [records(below)]
    assert client.receive(0.0, 1_000_000) == b"".join(said)
    assert not client.has_news
    assert client.receive(0.0, 1_000_000) is None


def test_a_record_that_came_in_part_is_no_news(certificate: str) -> None:
    client, server, below = encrypted(certificate)
    server.send(memoryview(b"hello"))
    record = records(below)
    below.came = [record[:9], record[9:]]
    assert client.receive(0.0, 100) is None
    assert not client.has_news
    assert client.receive(0.0, 100) == b"hello"


def test_a_reset_below_an_encrypted_stream_is_a_reset(certificate: str) -> None:
    client, _, below = encrypted(certificate)
    below.came = [EndOfStream("reset")]
    assert client.receive(0.0, 100) == EndOfStream("reset")


def test_the_end_of_the_connection_without_close_notify_is_the_end(certificate: str) -> None:
    client, _, below = encrypted(certificate)
    below.came = [EndOfStream()]
    assert client.receive(0.0, 100) == EndOfStream()


def test_a_record_that_was_changed_on_its_way_is_a_tls_failure(certificate: str) -> None:
    client, server, below = encrypted(certificate)
    server.send(memoryview(b"hello"))
    record = records(below)
    below.came = [record[:-1] + bytes([record[-1] ^ 1])]
    with pytest.raises(ChannelError) as error:
        client.receive(0.0, 100)
    assert error.value.cause == "tls"


@pytest.mark.parametrize("how", [Channel.abandon, Channel.reset])
def test_an_encrypted_stream_that_is_given_up_is_closed(certificate: str, how: Callable[[Channel], None]) -> None:
    client, _, below = encrypted(certificate)
    getattr(client, how.__name__)()
    assert below.is_abandoned
