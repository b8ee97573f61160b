"""The exchanges of a session, each a message of ours and an answer, and whether one is new."""

from __future__ import annotations

from hashlib import blake2b


class NewExchanges:
    """Notes what is said. Messages may be long, and there may be many, so only their digests are kept."""

    def __init__(self) -> None:
        self._asked = b""  # our last message
        self._met: set[tuple[bytes, bytes]] = set()

    def note(self, data: str | bytes, *, is_ours: bool) -> bool:
        """Note a message; return True if it is an answer that the last message of ours has not had yet."""
        whole = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
        message = blake2b(whole, digest_size=16).digest()
        if is_ours:
            self._asked = message
            return False
        is_new = (self._asked, message) not in self._met
        self._met.add((self._asked, message))
        return is_new
