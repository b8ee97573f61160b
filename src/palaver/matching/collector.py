"""Python's garbage collector, kept quiet while many objects are made."""

from __future__ import annotations

import gc


class CollectorPaused:
    """While inside, Python does not look for cyclic garbage.

    A reading makes many objects and throws few away. Looking through all of them again and again takes longer than
    making them, and finds nothing.
    """

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
