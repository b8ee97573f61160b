"""Candidates: several message types that may be coming, read from one input.

The input is decoded once and kept once; each candidate has its own parser over it. Those that failed read no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from palaver.matching.matcher import Matcher, MatchProgress

Name = TypeVar("Name")


class Candidates(Generic[Name]):
    """Fresh matchers, by name, that read the same data.

    :raises ValueError: one of them has read something already
    """

    def __init__(self, matchers: Mapping[Name, Matcher]) -> None:
        self._matchers = dict(matchers)
        if any(matcher.length for matcher in self._matchers.values()):
            raise ValueError("a candidate has read something already")
        self._sources = {matcher.binary: matcher.source for matcher in self._matchers.values()}
        for matcher in self._matchers.values():
            matcher.source = self._sources[matcher.binary]
        self._progress: dict[Name, MatchProgress] = {}  # empty before the first piece, which may be the only one

    def feed(self, data: str | bytes) -> dict[Name, MatchProgress]:
        """Read a further piece; return the progress of each candidate.

        :raises TypeError: a text is fed partly as str and partly as bytes
        """
        texts = {binary: source.take(data) for binary, source in self._sources.items()}
        return self._read(texts, ended=False)

    def finish(self) -> dict[Name, MatchProgress]:
        """Tell the end of the input; return the progress of each candidate."""
        return self._read({binary: source.finish() for binary, source in self._sources.items()}, ended=True)

    def _read(self, texts: dict[bool, str], *, ended: bool) -> dict[Name, MatchProgress]:
        for name, matcher in self._matchers.items():
            progress = self._progress.get(name)
            # Of those that cannot go on, only one that is complete right here changes with more input.
            if progress is None or progress.may_go_on or progress.complete_here:
                self._progress[name] = matcher.read_text(texts[matcher.binary], ended=ended)
        return dict(self._progress)

    @property
    def possible(self) -> list[Name]:
        """The names of the candidates that can go on, or are complete."""
        if not self._progress:
            self._progress = {name: matcher.progress for name, matcher in self._matchers.items()}
        return [name for name, progress in self._progress.items() if progress.may_go_on or progress.complete]
