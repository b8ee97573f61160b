"""The recursion limit while a tree is made. It is one for all threads, so the largest that any of them wants holds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Lock, get_ident
from types import FrameType
from typing import ParamSpec, TypeVar

from palaver.generation.generation_limits import MAX_FRAMES, MAX_SPEC_FRAMES

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_lock = Lock()
_wanted: dict[int, int] = {}  # by each thread, in its innermost call
_usual = sys.getrecursionlimit()


class deep_calls:
    """Lets makers call makers as deep as a tree goes: Python frames live on the heap, so that is no danger."""

    __slots__ = ("_before", "_changes", "_limit", "_thread")

    def __init__(self, limit: int = MAX_FRAMES) -> None:
        self._limit = limit

    def __enter__(self) -> None:
        global _usual
        thread = get_ident()
        before = self._before = _wanted.get(thread)
        self._changes = before != self._limit  # calls inside of others mostly want the same
        if not self._changes:
            return
        self._thread = thread  # a generator may be closed by another one
        with _lock:
            if not _wanted:
                _usual = sys.getrecursionlimit()
            _wanted[thread] = self._limit
            sys.setrecursionlimit(self._limit if len(_wanted) == 1 else max(_wanted.values()))

    def __exit__(self, *_: object) -> None:
        if not self._changes:
            return
        with _lock:
            if self._before is None:
                _wanted.pop(self._thread, None)
            else:
                _wanted[self._thread] = self._before
            sys.setrecursionlimit(max(_wanted.values()) if _wanted else _usual)


def deep(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function`, with as many frames as makers may use."""

    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        with deep_calls():
            return function(*arguments, **keywords)

    return call


def shallow(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function`, with no more than the usual number of frames: spec code may recurse without end, and through C."""

    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        depth = 0
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        with deep_calls(depth + MAX_SPEC_FRAMES):
            return function(*arguments, **keywords)

    return call
