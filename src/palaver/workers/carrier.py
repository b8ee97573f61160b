"""The interface of carriers: messages to workers and from them, and news of workers that come and go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, TypeAlias

from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass


class CarrierError(PalaverError):
    """There are no workers any more, and no way to get others."""


@dataclass(frozen=True, slots=True)
class WorkerJoined:
    """A worker is there, and waits for its first message."""

    worker: int


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker is gone; what it had sent before was told before."""

    worker: int
    reason: str


@dataclass(frozen=True, slots=True)
class WorkerSaid:
    """A worker has sent a message."""

    worker: int
    message: Any


WorkerNews: TypeAlias = WorkerJoined | WorkerLost | WorkerSaid


class Carrier(ABC):
    """Starts workers, and carries messages between them and the one who coordinates them.

    Every worker has a number, which is never given again.
    """

    @abstractmethod
    def send(self, worker: int, message: object) -> None:
        """Send a message; nothing happens if the worker is gone."""

    @abstractmethod
    def receive(self, seconds: float) -> list[WorkerNews]:
        """Wait for news, at most so long. :raises CarrierError: there will be none any more"""

    @abstractmethod
    def close(self, seconds: float) -> list[WorkerNews]:
        """Let all workers end, wait at most so long, and return what they have said meanwhile."""


class Mailbox(Protocol):
    """The end of a carrier that a worker holds."""

    def receive(self) -> Any:
        """Wait for a message. :raises EOFError: no more will come"""

    def send(self, message: object) -> None:
        """Send a message. :raises OSError: nobody is left who would want it"""


def entry_of(name: str) -> Callable[[int, Mailbox], None]:
    """The function that a worker runs, by its name, such as `package.module:function`."""
    module, _, function = name.partition(":")
    entry: Callable[[int, Mailbox], None] = getattr(import_module(module), function)
    return entry
