"""A context in which Python's cyclic garbage collector is paused."""

from __future__ import annotations

import gc


class CollectorPaused:
    """Pauses the cyclic garbage collector inside a `with` block.

    A parse makes many objects and drops few. Searching them again and again takes longer than making them.
    """

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
