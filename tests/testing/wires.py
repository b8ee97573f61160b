"""Hypothesis strategies: wires that cut and delay data, and specs that stay clear over all of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle

from hypothesis import strategies as st

from palaver.session.engine import Timeouts
from palaver.testing import Wire

# Nothing is on its way for longer than this.
LONGEST_S = 1.0
# So whoever waits longer has heard everything.
CALM = Timeouts(timeout=60.0, patience=60.0, quiet=5 * LONGEST_S)


@st.composite
def wires(draw: st.DrawFn) -> Wire:
    """Cyclic cuts and delays, others for each link."""
    sizes = draw(st.lists(st.integers(1, 20), min_size=1, max_size=5))
    delays = draw(st.lists(st.sampled_from([0.0, 0.0, 0.01, 0.3, LONGEST_S]), min_size=1, max_size=4))
    rounds: dict[str, tuple[cycle[int], cycle[float]]] = {}

    def wire(link: str, data: bytes) -> Iterable[tuple[float, bytes]]:
        size, delay = rounds.setdefault(link, (cycle(sizes), cycle(delays[::-1] if rounds else delays)))
        start = 0
        while start < len(data):
            end = start + next(size)
            yield next(delay), data[start:end]
            start = end

    return wire


class DialogueWriter:
    """Writes a random spec in which it is always clear who speaks next, and where each message ends."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._rules: list[str] = []
        self._messages = 0

    def write(self) -> str:
        first = self._speaker()
        start = f"<start> ::= {self._block(first, 3)} {self._draw(st.sampled_from(['', self._optional()]))}"
        return "\n".join([start, *self._rules]) + "\n"

    def _speaker(self) -> str:
        return self._draw(st.sampled_from(["Client", "Server"]))

    def _optional(self) -> str:
        return f"({self._block(self._speaker(), 1)})?"

    def _block(self, speaker: str, depth: int) -> str:
        """Something that begins with a message of the speaker, which is said nowhere else."""
        shape = self._draw(st.integers(0, 5)) if depth else 0
        below = depth - 1
        match shape:
            case 0:
                return self._message(speaker)
            case 1:
                return f"{self._message(speaker)} {self._block(self._speaker(), below)}"
            case 2:
                other = "Server" if speaker == "Client" else "Client"
                return f"{self._message(speaker, has_an_end=False)} {self._block(other, below)}"
            case 3:
                return f"({self._block(speaker, below)} | {self._block(speaker, below)})"
            case 4:
                times = self._draw(st.sampled_from(["*", "+", "?", "{2}", "{1,3}"]))
                return f"({self._block(speaker, below)}){times} {self._block(speaker, below)}"
            case _:
                name = f"<list{len(self._rules)}>"
                self._rules.append("")
                place = len(self._rules) - 1
                again, last = self._block(speaker, below), self._block(speaker, below)
                self._rules[place] = f"{name} ::= {again} {name} | {last}"
                return name

    def _message(self, speaker: str, *, has_an_end: bool = True) -> str:
        self._messages += 1
        name = f"m{self._messages}"
        end = '"\\n"' if has_an_end else ""
        self._rules.append(f'<{name}> ::= "{name}:" r"[a-z]{{0,9}}" {end}')
        return f"<{speaker}:{name}>"


@st.composite
def dialogues(draw: st.DrawFn) -> str:
    return DialogueWriter(draw).write()
