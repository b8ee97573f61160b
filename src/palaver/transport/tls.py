"""TLS over any channel that carries a stream, from the start or from the middle of a session on.

OpenSSL reads and writes memory, never the socket, so a handshake can begin after any byte that was sent in clear, and
nothing blocks.
"""

from __future__ import annotations

import contextlib
import ssl

from palaver.session.interface import Role, Tls
from palaver.transport.channel import Channel, ChannelError, EndOfStream, PendingChannel
from palaver.transport.transport_limits import MAX_HANDSHAKE_BYTES, TLS_CHUNK_BYTES

_SIDES: dict[str, Role] = {"client": "connect", "server": "listen"}


def side_of_handshake(role: Role, tls: Tls) -> Role:
    """Our side of a handshake: who connects is the client, unless the options say otherwise (FTP, active mode).

    :raises ChannelError: there is no such side
    """
    if not tls.role:
        return role
    if tls.role not in _SIDES:
        raise ChannelError("tls", f"the role is {tls.role!r}: it must be client or server")
    return _SIDES[tls.role]


def context_for(role: Role, tls: Tls) -> ssl.SSLContext:
    """Return the settings of our side of a handshake. :raises ChannelError: a certificate cannot be used or made"""
    purpose = ssl.PROTOCOL_TLS_CLIENT if role == "connect" else ssl.PROTOCOL_TLS_SERVER
    context = ssl.SSLContext(purpose)
    try:
        _trust(context, tls)
        if tls.certificate:
            context.load_cert_chain(tls.certificate, tls.key or None)
        elif role == "listen":
            from palaver.transport.certificate import make_certificate  # few need one

            with make_certificate(tls.server_name) as path:
                context.load_cert_chain(path)
    except (OSError, ValueError) as error:
        names = ", ".join(name for name in (tls.certificate, tls.key, tls.authority) if name)
        raise ChannelError("tls", f"{names}: {_reason(error)}") from None
    return context


def _trust(context: ssl.SSLContext, tls: Tls) -> None:
    if not tls.authority:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return
    context.load_verify_locations(tls.authority)
    context.verify_mode = ssl.CERT_REQUIRED


class _TlsEngine:
    """OpenSSL between two buffers in memory, and the channel that carries its records."""

    def __init__(self, channel: Channel, context: ssl.SSLContext, role: Role, server_name: str) -> None:
        self.channel = channel
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.library = context.wrap_bio(
            self.incoming,
            self.outgoing,
            server_side=role == "listen",
            server_hostname=server_name or None if role == "connect" else None,
        )
        self.unsent = memoryview(b"")

    def flush(self) -> bool:
        """Send records; True if all of them have left."""
        while True:
            self.unsent = self.unsent or memoryview(self.outgoing.read())
            if not self.unsent:
                return self.channel.flush()
            taken = self.channel.send(self.unsent)
            if taken is None:
                return False
            self.unsent = self.unsent[taken:]


class Handshake(PendingChannel):
    """A TLS handshake over an open channel."""

    def __init__(
        self, channel: Channel, context: ssl.SSLContext, role: Role, server_name: str, *, deadline: float
    ) -> None:
        if channel.is_datagram:
            raise ChannelError("tls", "datagrams cannot be encrypted")
        try:
            self._engine = _TlsEngine(channel, context, role, server_name)
        except ValueError as error:  # a name that cannot be one
            raise ChannelError("tls", str(error)) from None
        self.deadline = deadline
        self._received = 0  # bytes

    def interests(self) -> dict[int, int]:
        engine = self._engine
        return engine.channel.interests(reading=True, writing=bool(engine.unsent or engine.outgoing.pending))

    def advance(self, now: float) -> Channel | None:
        while not self._shake_hands():
            received = self._engine.channel.receive(now, TLS_CHUNK_BYTES)
            if isinstance(received, EndOfStream):
                raise self._broken("the peer closed the connection during the TLS handshake")
            # Whatever comes: OpenSSL takes some messages, such as HelloRequest, without end.
            if self.deadline is not None and now >= self.deadline:
                raise self._broken("the TLS handshake did not complete in time (--timeout)")
            if received is None:
                return None
            self._received += len(received)
            if self._received > MAX_HANDSHAKE_BYTES:
                raise self._broken(f"the peer sent more than {MAX_HANDSHAKE_BYTES} bytes in the TLS handshake")
            self._engine.incoming.write(received)
        return TlsChannel(self._engine)

    def abandon(self) -> None:
        self._engine.channel.abandon()

    def _shake_hands(self) -> bool:
        try:
            self._engine.library.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except (ssl.SSLError, ssl.CertificateError) as error:
            raise self._broken(_reason(error)) from None
        finally:
            # Also the alert of a handshake that fails: the peer should know why we leave.
            self._engine.flush()
        return True

    def _broken(self, reason: str) -> ChannelError:
        # In good order, or the peer may never read why.
        if not self._engine.channel.leave(0.0):
            self.abandon()
        return ChannelError("tls", reason)


class TlsChannel(Channel):
    """An encrypted stream."""

    def __init__(self, engine: _TlsEngine) -> None:
        self._engine = engine
        self._has_finished = False
        self._has_hung_up = False
        self._end: EndOfStream | None = None

    @property
    def has_news(self) -> bool:  # type: ignore[override]  # computed here
        # All that had come was decrypted; only the end may be left.
        return self._end is not None

    @property
    def deadline(self) -> float | None:  # type: ignore[override]  # that of the channel below
        return self._engine.channel.deadline

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        return self._engine.channel.interests(reading=reading, writing=writing or bool(self._engine.unsent))

    def receive(self, now: float, limit: int) -> bytes | EndOfStream | None:
        if self._end is None:
            received = self._engine.channel.receive(now, limit)
            if isinstance(received, EndOfStream):
                self._end = received
                self._engine.incoming.write_eof()
            elif received is not None:
                self._engine.incoming.write(received)
        text = self._decrypt()
        self._engine.flush()
        return text or self._end

    def send(self, data: memoryview) -> int | None:
        if not self._engine.flush():
            return None
        piece = data[:TLS_CHUNK_BYTES]
        # Nothing can be sent after a failure or after the end; receiving will tell of it.
        with contextlib.suppress(ssl.SSLError):
            if piece:
                self._engine.library.write(piece)
        self._engine.flush()
        return len(piece)

    def flush(self) -> bool:
        if not self._engine.flush():
            return False
        if self._has_finished and not self._has_hung_up:
            self._has_hung_up = True
            self._engine.channel.finish()
        return self._engine.channel.flush()

    def finish(self) -> None:
        # Send close_notify; that the answer is still missing is no error.
        with contextlib.suppress(ssl.SSLError):
            self._engine.library.unwrap()
        self._has_finished = True
        self.flush()

    def leave(self, now: float) -> bool:
        return self._engine.channel.leave(now)

    def reset(self) -> None:
        self._engine.channel.reset()

    def abandon(self) -> None:
        self._engine.channel.abandon()

    def _decrypt(self) -> bytes:
        """Return all that can be decrypted now: nobody would wake us for a rest."""
        pieces: list[bytes] = []
        while True:
            try:
                piece = self._engine.library.read(TLS_CHUNK_BYTES)
            except ssl.SSLWantReadError:
                break
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                # With close_notify or without: many servers just close, and that is no finding.
                self._end = self._end or EndOfStream()
                break
            except ssl.SSLError as error:
                raise ChannelError("tls", _reason(error)) from None
            if not piece:
                self._end = self._end or EndOfStream()
                break
            pieces.append(piece)
        return b"".join(pieces)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
