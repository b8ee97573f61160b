"""Several messages that may be coming, read from one buffer.

What is fed is decoded once and kept once; each candidate has its own machine or chart over it. Who is dead is not asked
any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from palaver.matching.matcher import Matcher, Progress

Name = TypeVar("Name")


class Candidates(Generic[Name]):
    """Fresh matchers, by any names, that read the same data.

    :raises ValueError: one of them has read something already
    """

    def __init__(self, matchers: Mapping[Name, Matcher]) -> None:
        self._matchers = dict(matchers)
        if any(matcher.length for matcher in self._matchers.values()):
            raise ValueError("a candidate has read something already")
        self._sources = {matcher.binary: matcher.source for matcher in self._matchers.values()}
        for matcher in self._matchers.values():
            matcher.source = self._sources[matcher.binary]
        self._progress: dict[Name, Progress] = {}  # nothing before the first piece, which may well be all there is

    def feed(self, data: str | bytes) -> dict[Name, Progress]:
        """Read a further piece; where each candidate stands.

        :raises TypeError: a text is fed partly as str and partly as bytes
        """
        texts = {binary: source.take(data) for binary, source in self._sources.items()}
        return self._read(texts, ended=False)

    def finish(self) -> dict[Name, Progress]:
        """There is no more."""
        return self._read({binary: source.finish() for binary, source in self._sources.items()}, ended=True)

    def _read(self, texts: dict[bool, str], *, ended: bool) -> dict[Name, Progress]:
        for name, matcher in self._matchers.items():
            progress = self._progress.get(name)
            # Only what is complete right here can die of more.
            if progress is None or progress.may_go_on or progress.complete_here:
                self._progress[name] = matcher.read_text(texts[matcher.binary], ended=ended)
        return dict(self._progress)

    @property
    def possible(self) -> list[Name]:
        """Those that can go on, or are complete."""
        if not self._progress:
            self._progress = {name: matcher.progress for name, matcher in self._matchers.items()}
        return [name for name, progress in self._progress.items() if progress.may_go_on or progress.complete]
