"""The recursion limit while a tree is made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec, TypeVar

from palaver.generation.generation_limits import MAX_FRAMES, MAX_SPEC_FRAMES

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@contextmanager
def deep_calls() -> Iterator[None]:
    """Let makers call makers as deep as a tree goes: Python frames live on the heap, so that is no danger."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(MAX_FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def deep(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function`, with as many frames as makers may use."""
    return deep_calls()(function)


def shallow(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`function`, with no more than the usual number of frames: spec code may recurse without end, and through C."""

    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        before, depth = sys.getrecursionlimit(), 0
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        sys.setrecursionlimit(depth + MAX_SPEC_FRAMES)
        try:
            return function(*arguments, **keywords)
        finally:
            sys.setrecursionlimit(before)

    return call
