"""Why paths were not covered: what they need that did not come, how often it was tried, and what came instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from palaver.matching.cut import Dialogue
from palaver.navigation.kpaths import KPath
from palaver.navigation.peer import SILENCE, Peer

# So many of the things that came instead are named.
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class Reason:
    """What a number of paths need."""

    need: str
    paths: int
    attempts: int = 0
    got: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = f"{self.paths} path{'s' * (self.paths != 1)} {'need' if self.paths != 1 else 'needs'} {self.need}"
        tried = f"; {self.attempts} attempt{'s' * (self.attempts != 1)}" if self.attempts else ""
        if not self.got:
            return what + tried
        named = ", ".join(self.got[:_MOST_NAMED])
        more = f" and {len(self.got) - _MOST_NAMED} more" if len(self.got) > _MOST_NAMED else ""
        return f"{what}{tried}; got {named}{more}"


class Reasons:
    """Explains missing paths by what is known of both sides."""

    def __init__(self, dialogue: Dialogue, ours: Peer, peer: Peer) -> None:
        self._ours = ours
        self._peer = peer
        self._own = {move.symbol for move in dialogue.messages} - {
            name for situation in peer.situations for name in situation[1]
        }
        self._states = dialogue.states

    def of(self, missing: Iterable[KPath]) -> list[Reason]:
        """The reasons, that of most paths first."""
        found: dict[tuple[str, int, tuple[str, ...]], int] = {}
        for path in missing:
            reason = next(self._explained(path))
            found[reason] = found.get(reason, 0) + 1
        reasons = [Reason(need, count, attempts, got) for (need, attempts, got), count in found.items()]
        return sorted(reasons, key=lambda reason: (-reason.paths, reason.need))

    def _explained(self, path: KPath) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        """What a path may lack, the most telling first."""
        for name in path:
            yield from self._never_answered(name)
        for pair in pairwise(path):
            if pair[0] not in self._states:
                yield from self._never_contained(self._peer, *pair, by="answers")
                yield from self._never_contained(self._ours, *pair, by="our messages")
        yield f"{' > '.join(path)} in a place where it did not come", 0, ()

    def _never_answered(self, name: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        situations = [situation for situation in self._peer.situations if name in situation[1]]
        if not situations or any(self._peer.answers[situation, name] for situation in situations):
            return
        attempts = sum(self._peer.situations[situation] for situation in situations)
        came = {
            other or "nothing": None
            for situation in situations
            for other in situation[1]
            if other != SILENCE and self._peer.answers[situation, other]
        }
        yield f"{_article(name)} {name} answer", attempts, tuple(came)

    def _never_contained(
        self, speaker: Peer, above: str, below: str, by: str
    ) -> Iterator[tuple[str, int, tuple[str, ...]]]:
        count = speaker.symbols[above]
        if count and not speaker.pairs[above, below]:
            got = tuple(name for symbol, name in speaker.pairs if symbol == above)
            yield f"{below} in {above} of {by}", count, got


def _article(name: str) -> str:
    return "an" if name[1:2].lower() in "aeiou" else "a"
