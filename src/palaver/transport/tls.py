"""Encrypts any pipe that carries a stream, from the start or from the middle on.

The library reads and writes bytes in memory, never the socket, so a handshake can begin wherever the conversation in
clear has stopped, and everything stays non-blocking.
"""

from __future__ import annotations

import contextlib
import ssl

from palaver.session.events import Role, Tls
from palaver.transport.certificate import make_certificate
from palaver.transport.pipe import Broken, Ended, Opening, Pipe

RECORDS_AT_ONCE = 65536


def context_for(role: Role, tls: Tls) -> ssl.SSLContext:
    """What both sides agree on.

    :raises Broken: a file cannot be used, or a certificate cannot be made
    """
    purpose = ssl.PROTOCOL_TLS_CLIENT if role == "connect" else ssl.PROTOCOL_TLS_SERVER
    context = ssl.SSLContext(purpose)
    try:
        _trust(context, tls)
        if tls.certificate:
            context.load_cert_chain(tls.certificate, tls.key or None)
        elif role == "listen":
            with make_certificate(tls.server_name) as path:
                context.load_cert_chain(path)
    except (OSError, ValueError) as error:
        names = ", ".join(name for name in (tls.certificate, tls.key, tls.authority) if name)
        raise Broken("tls", f"{names}: {_reason(error)}") from None
    return context


def _trust(context: ssl.SSLContext, tls: Tls) -> None:
    if not tls.authority:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return
    context.load_verify_locations(tls.authority)
    context.verify_mode = ssl.CERT_REQUIRED


class _Channel:
    """A pipe, and what the library makes of its bytes."""

    def __init__(self, pipe: Pipe, context: ssl.SSLContext, role: Role, server_name: str) -> None:
        self.pipe = pipe
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
        """Whether all records have left."""
        while True:
            self.unsent = self.unsent or memoryview(self.outgoing.read())
            if not self.unsent:
                return self.pipe.flush()
            taken = self.pipe.send(self.unsent)
            if taken is None:
                return False
            self.unsent = self.unsent[taken:]


class Handshake(Opening):
    def __init__(self, pipe: Pipe, context: ssl.SSLContext, role: Role, server_name: str, *, deadline: float) -> None:
        if pipe.is_datagram:
            raise Broken("tls", "datagrams cannot be encrypted")
        try:
            self._channel = _Channel(pipe, context, role, server_name)
        except ValueError as error:  # a name that cannot be one
            raise Broken("tls", str(error)) from None
        self.deadline = deadline

    def interests(self) -> dict[int, int]:
        channel = self._channel
        return channel.pipe.interests(reading=True, writing=bool(channel.unsent or channel.outgoing.pending))

    def advance(self, now: float) -> Pipe | None:
        while not self._shake_hands():
            received = self._channel.pipe.receive(now, RECORDS_AT_ONCE)
            if isinstance(received, Ended):
                raise self._broken("the peer hung up")
            if received is not None:
                self._channel.incoming.write(received)
            elif self.deadline is not None and now >= self.deadline:
                raise self._broken("the peer does not answer")
            else:
                return None
        return TlsPipe(self._channel)

    def abandon(self) -> None:
        self._channel.pipe.abandon()

    def _shake_hands(self) -> bool:
        try:
            self._channel.library.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except (ssl.SSLError, ssl.CertificateError) as error:
            raise self._broken(_reason(error)) from None
        finally:
            # Also what the library says when it is not content: the peer should know why we leave.
            self._channel.flush()
        return True

    def _broken(self, reason: str) -> Broken:
        # In good order, or the peer may never read why.
        if not self._channel.pipe.leave(0.0):
            self.abandon()
        return Broken("tls", reason)


class TlsPipe(Pipe):
    def __init__(self, channel: _Channel) -> None:
        self._channel = channel
        self._has_finished = False
        self._has_hung_up = False
        self._end: Ended | None = None

    @property
    def has_news(self) -> bool:  # type: ignore[override]  # here it is found out
        return self._end is not None or self._channel.incoming.pending > 0

    @property
    def deadline(self) -> float | None:  # type: ignore[override]  # that of the pipe below
        return self._channel.pipe.deadline

    @property
    def errors(self) -> bytes | bytearray:  # type: ignore[override]  # those of the pipe below
        return self._channel.pipe.errors

    def interests(self, *, reading: bool, writing: bool) -> dict[int, int]:
        return self._channel.pipe.interests(reading=reading, writing=writing or bool(self._channel.unsent))

    def receive(self, now: float, limit: int) -> bytes | Ended | None:
        if self._end is None:
            received = self._channel.pipe.receive(now, limit)
            if isinstance(received, Ended):
                self._end = received
                self._channel.incoming.write_eof()
            elif received is not None:
                self._channel.incoming.write(received)
        text = self._decrypt()
        self._channel.flush()
        return text or self._end

    def send(self, data: memoryview) -> int | None:
        if not self._channel.flush():
            return None
        piece = data[:RECORDS_AT_ONCE]
        # Nothing can be sent after a failure or after the end; receiving will tell of it.
        with contextlib.suppress(ssl.SSLError):
            if piece:
                self._channel.library.write(piece)
        self._channel.flush()
        return len(piece)

    def flush(self) -> bool:
        if not self._channel.flush():
            return False
        if self._has_finished and not self._has_hung_up:
            self._has_hung_up = True
            self._channel.pipe.finish()
        return self._channel.pipe.flush()

    def finish(self) -> None:
        # Says goodbye; that the answer is still missing is no error.
        with contextlib.suppress(ssl.SSLError):
            self._channel.library.unwrap()
        self._has_finished = True
        self.flush()

    def leave(self, now: float) -> bool:
        return self._channel.pipe.leave(now)

    def reset(self) -> None:
        self._channel.pipe.reset()

    def abandon(self) -> None:
        self._channel.pipe.abandon()

    def _decrypt(self) -> bytes:
        """All that can be read by now, so that nothing is left for which nobody would wake us."""
        pieces: list[bytes] = []
        while True:
            try:
                piece = self._channel.library.read(RECORDS_AT_ONCE)
            except ssl.SSLWantReadError:
                break
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                # With a goodbye or without: many servers just close, and that is no finding.
                self._end = self._end or Ended()
                break
            except ssl.SSLError as error:
                raise Broken("tls", _reason(error)) from None
            if not piece:
                self._end = self._end or Ended()
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
