"""Random sources: a tree of named pseudo-random streams of one seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")


class RandomSource:
    """One stream of random numbers; `source / "fuzz" / 7` is another.

    A stream depends only on the seed and the names that lead to it, so an extra draw from one stream does not change
    the numbers of another.
    """

    __slots__ = ("_key", "random", "stream")

    stream: Random
    random: Callable[[], float]  # a float in [0, 1); bound once, because generators call it for every decision

    def __init__(self, seed: int | bytes) -> None:
        self._key = seed if isinstance(seed, bytes) else str(seed).encode()

    def __getattr__(self, name: str) -> Any:
        """Make the stream at first use: many sources only serve to name others."""
        if name not in ("random", "stream"):
            raise AttributeError(name)
        # blake2b, not hash(): str hashes change with PYTHONHASHSEED.
        self.stream = Random(blake2b(self._key, digest_size=16).digest())
        self.random = self.stream.random
        return self.random if name == "random" else self.stream

    @classmethod
    def fresh(cls) -> RandomSource:
        """A source with a seed from the operating system."""
        return cls(cls.fresh_seed())

    @staticmethod
    def fresh_seed() -> int:
        """A seed from the operating system, short enough to be typed again."""
        return Random().getrandbits(32)

    @property
    def seed(self) -> str:
        """The seed and the names that lead to this stream."""
        return self._key.decode()

    def __truediv__(self, name: str | int) -> RandomSource:
        return RandomSource(self._key + b"/" + str(name).encode())

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1."""
        return int(self.random() * limit)

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`, which must be ordered: a set has no first element."""
        return options[int(self.random() * len(options))]
