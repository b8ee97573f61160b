"""A context in which Python's cyclic garbage collector is paused."""

from __future__ import annotations

import gc


class CollectorPaused:
    """Pauses the collector in a `with` block: to search the many objects of a parse takes longer than to make them."""

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
