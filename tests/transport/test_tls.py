"""Encrypted links: from the start, from the middle on, and with peers that do not play along."""

import shutil
import socket
import ssl

import pytest
from hearing import Ear

from palaver.addresses import Address
from palaver.session.events import Close, Closed, Failed, Finish, Open, Opened, Secure, Secured, Send, Tls
from palaver.transport import Loop, ManualClock
from palaver.transport.certificate import make_certificate

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("certificates") / "right.pem"
    with make_certificate() as made:
        shutil.copy(made, path)
    return str(path)


@pytest.fixture
def pair(loop: Loop) -> Ear:
    """A client and a server that speak in clear."""
    loop.carry_out([Open("server", Address("tcp"), "listen")])
    loop.carry_out([Open("client", Address("tcp", port=loop.port_of("server")), "connect")])
    ear = Ear(loop)
    ear.wait_for(Opened, "client")
    ear.wait_for(Opened, "server")
    return ear


def connect(loop: Loop, tls: Tls | None) -> Ear:
    loop.carry_out([Open("client", Address("tcp", port=loop.port_of("server")), "connect", tls)])
    return Ear(loop)


def listen(loop: Loop, tls: Tls | None) -> None:
    loop.carry_out([Open("server", Address("tcp"), "listen", tls)])


def test_a_certificate_that_is_trusted(loop: Loop, certificate: str) -> None:
    listen(loop, Tls(certificate=certificate))
    ear = connect(loop, Tls(authority=certificate))
    loop.carry_out([Send("client", b"secret")])
    assert ear.bytes_on("server", 6) == b"secret"


def test_a_certificate_that_is_not_trusted(loop: Loop, certificate: str) -> None:
    listen(loop, Tls())
    ear = connect(loop, Tls(authority=certificate))
    failed = ear.wait_for(Failed, "client")
    assert (failed.trouble, failed.reason[:31]) == ("tls", "the certificate is not trusted:")
    assert ear.wait_for(Failed, "server").trouble == "tls"


def test_a_certificate_for_another_name(loop: Loop, certificate: str) -> None:
    listen(loop, Tls(certificate=certificate))
    ear = connect(loop, Tls(authority=certificate, server_name="elsewhere.test"))
    assert "elsewhere.test" in ear.wait_for(Failed, "client").reason


def test_a_certificate_is_made_for_the_name_that_is_asked_for(loop: Loop) -> None:
    with make_certificate("mail.example.test") as path:
        listen(loop, Tls(certificate=path))
        ear = connect(loop, Tls(authority=path, server_name="mail.example.test"))
        assert ear.wait_for(Opened, "client")


def test_the_server_may_speak_first(loop: Loop) -> None:
    listen(loop, Tls())
    loop.carry_out([Send("server", b"220 welcome\r\n")])
    ear = connect(loop, Tls())
    assert ear.bytes_on("client", 13) == b"220 welcome\r\n"


def test_a_server_that_speaks_in_clear(loop: Loop) -> None:
    listen(loop, None)
    loop.carry_out([Send("server", b"220 welcome\r\n")])
    ear = connect(loop, Tls())
    assert ear.wait_for(Failed, "client").trouble == "tls"


def test_a_client_that_speaks_in_clear(loop: Loop) -> None:
    listen(loop, Tls())
    ear = connect(loop, None)
    loop.carry_out([Send("client", b"GET / HTTP/1.0\r\n\r\n")])
    failed = ear.wait_for(Failed, "server")
    assert (failed.trouble, failed.reason) == ("tls", "http request")


def test_a_peer_that_hangs_up_during_the_handshake(loop: Loop) -> None:
    listen(loop, None)
    ear = connect(loop, Tls())
    ear.wait_for(Opened, "server")
    loop.carry_out([Close("server")])
    assert ear.wait_for(Failed, "client").reason == "the peer hung up"


def test_a_peer_that_does_not_shake_hands(listening: socket.socket) -> None:
    clock = ManualClock()
    with Loop(clock, connect_timeout=5.0) as loop:
        address = Address("tcp", port=listening.getsockname()[1])
        loop.carry_out([Open("client", address, "connect", Tls())])
        with listening.accept()[0] as silent:
            silent.settimeout(10)
            while loop.poll() == [] and not silent.recv(1, socket.MSG_PEEK):
                pass
            clock.advance(5.0)
            assert Ear(loop).wait_for(Failed, "client").reason == "the peer does not answer"


def test_a_conversation_may_go_on_encrypted(pair: Ear) -> None:
    loop = pair.carrier
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


def test_the_handshake_waits_until_everything_in_clear_has_left(pair: Ear) -> None:
    loop, plenty = pair.carrier, bytes(5_000_000)
    loop.carry_out([Send("server", plenty), Secure("server", "listen", Tls())])
    assert pair.bytes_on("client", len(plenty)) == plenty
    loop.carry_out([Secure("client", "connect", Tls())])
    assert pair.wait_for(Secured, "server")


def test_roles_do_not_depend_on_who_called(pair: Ear) -> None:
    pair.carrier.carry_out([Secure("server", "connect", Tls()), Secure("client", "listen", Tls())])
    assert pair.wait_for(Secured, "server")
    assert pair.wait_for(Secured, "client")


def test_a_peer_that_goes_on_in_clear(pair: Ear) -> None:
    pair.carrier.carry_out([Secure("client", "connect", Tls()), Send("server", b"what?")])
    assert pair.wait_for(Failed, "client").trouble == "tls"
    # The other one has never heard of encryption. It got our greeting, and then we were gone.
    assert pair.wait_for(Closed, "server")


def test_a_file_that_is_not_there(loop: Loop) -> None:
    listen(loop, Tls(certificate="/no/such/file.pem"))
    failed = Ear(loop).wait_for(Failed, "server")
    assert (failed.trouble, failed.reason) == ("tls", "/no/such/file.pem: No such file or directory")


def test_a_file_that_is_not_there_in_the_middle(pair: Ear) -> None:
    pair.carrier.carry_out([Send("server", b"go"), Secure("server", "listen", Tls(certificate="/no/such/file.pem"))])
    assert pair.wait_for(Failed, "server").trouble == "tls"
    assert pair.rest_of("client") == b"go"


def test_without_openssl_no_certificate_can_be_made(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    listen(loop, Tls())
    assert "openssl is missing" in Ear(loop).wait_for(Failed, "server").reason


def test_datagrams_are_not_encrypted(loop: Loop) -> None:
    loop.carry_out([Open("client", Address("udp", port=9), "connect", Tls())])
    assert Ear(loop).wait_for(Failed, "client").reason == "datagrams cannot be encrypted"


@pytest.mark.parametrize("says_goodbye", [True, False])
def test_a_server_may_leave_with_or_without_a_goodbye(
    loop: Loop, listening: socket.socket, certificate: str, says_goodbye: bool
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
    ear = Ear(loop)
    ear.unheard += heard
    assert ear.rest_of("client") == b"bye"


def shake_hands(
    loop: Loop, server: socket.socket, library: ssl.SSLObject, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO
) -> list[object]:
    heard: list[object] = []
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


def test_a_goodbye_ends_one_direction_only(loop: Loop) -> None:
    listen(loop, Tls())
    ear = connect(loop, Tls())
    loop.carry_out([Send("client", b"question"), Finish("client")])
    assert ear.rest_of("server") == b"question"
    loop.carry_out([Send("server", b"answer " * 10_000), Close("server")])
    assert ear.rest_of("client") == b"answer " * 10_000
