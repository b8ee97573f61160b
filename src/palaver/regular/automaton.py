"""Lazy subset construction (Rabin and Scott 1959) over a Thompson automaton (Thompson 1968) with counters.

A regular expression becomes a small program, run as a set of *threads* (place in the program, counters of the
repetitions around it); each set is a state of a deterministic automaton, made when input first leads to it. A counted
repetition keeps its counter: `.{0,65535}` costs a state per character really seen, not 65 535 copies up front.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias, assert_never

from palaver.lean_dataclasses import dataclass
from palaver.regular.charset import NO_CHARS, CharSet
from palaver.regular.expression import Alternation, CharacterClass, Concatenation, RegularExpression, Repetition

# A thread is a place in the program and the counters of the loops around it, innermost last. A counter is twice the
# number of finished iterations, plus one while the running iteration has not consumed anything: such an iteration must
# not finish, or a loop over something empty would count without end.
_Thread: TypeAlias = tuple[int, tuple[int, ...]]


class AutomatonState(dict[str, "AutomatonState | None"]):
    """A state of the automaton. `state[char]` is the next one, or None if no word goes on so."""

    __slots__ = ("_automaton", "_threads", "accepts", "can_go_on", "visits", "width")

    def __init__(self, automaton: Automaton, threads: frozenset[_Thread], accepts: bool) -> None:
        self._automaton = automaton
        self._threads = threads
        self.accepts = accepts
        self.can_go_on = bool(threads)
        self.width = len(threads)  # a step costs as much
        self.visits = 0  # the number of loops of a scan here; a hot state is worth a faster way

    def __missing__(self, char: str) -> AutomatonState | None:
        program = self._automaton.program
        moved = [thread for thread in self._threads if char in program[thread[0]].chars]
        following = self[char] = self._automaton.after(moved)
        return following

    # A state is itself and nothing else, however alike its table looks.
    __hash__ = object.__hash__  # type: ignore[assignment]  # dict has none

    def __eq__(self, other: object) -> bool:
        return self is other

    def next_chars(self) -> CharSet:
        """The characters with which a match goes on from here."""
        chars = CharSet()
        for thread in sorted(self._threads):
            chars |= self._automaton.program[thread[0]].chars
        return chars

    def loop_chars(self) -> CharSet:
        """The characters that lead from here back to here."""
        threads = sorted(self._threads)
        sets = [self._automaton.program[thread[0]].chars for thread in threads]
        targets: dict[tuple[bool, ...], bool] = {}
        pairs = []
        bounds = sorted({bound for chars in sets for bound in chars.bounds})
        for low, high in pairwise(bounds):
            taken = tuple(chr(low) in chars for chars in sets)
            if taken not in targets:
                moved = [thread for thread, moves in zip(threads, taken, strict=True) if moves]
                targets[taken] = self._automaton.after(moved) is self
            if targets[taken]:
                pairs.append((low, high - 1))
        return CharSet.ranges(pairs)


@dataclass(slots=True)
class _Instruction:
    """One place of the program: a character to take (`chars`), or one of the moves that take none."""

    chars: CharSet = NO_CHARS
    fork: tuple[int, ...] = ()
    # Loops: `enter` sets up a counter, `head` decides whether to go round once more, `back` counts an iteration.
    enter: int = -1
    head: tuple[int, int, int, int | None] | None = None  # body, exit, least, most
    back: int = -1
    is_end: bool = False
    leasts: tuple[int, ...] = ()  # the lower limits of the loops around it that have counters, innermost last


class Automaton:
    """A deterministic automaton that grows as it is used."""

    def __init__(self, expression: RegularExpression | None) -> None:
        self.program: list[_Instruction] = []
        self._states: dict[tuple[frozenset[_Thread], bool], AutomatonState] = {}
        if expression is None:
            self.start = AutomatonState(self, frozenset(), False)
        else:
            self._emit(expression, ())
            self.program.append(_Instruction(is_end=True))
            self.start = self._state([(0, ())])

    def _emit(self, expression: RegularExpression, leasts: tuple[int, ...]) -> None:
        """Append the program of `expression`; it runs on into whatever is appended next."""
        program = self.program
        match expression:
            case CharacterClass(chars):
                program.append(_Instruction(chars=chars, leasts=leasts))
            case Concatenation(parts):
                for part in parts:
                    self._emit(part, leasts)
            case Alternation(options):
                self._emit_choice(options, leasts)
            case Repetition(body, least, most) if most == 1 or (most is None and least < 2):
                self._emit_simple_loop(body, least, most, leasts)
            case Repetition(body, least, most):
                program.append(_Instruction(enter=len(program) + 1))
                head = _Instruction()
                program.append(head)
                at = len(program) - 1
                self._emit(body, (*leasts, least))
                program.append(_Instruction(back=at))
                head.head = (at + 1, len(program), least, most)
            case _:
                assert_never(expression)

    def _emit_choice(self, options: tuple[RegularExpression, ...], leasts: tuple[int, ...]) -> None:
        program = self.program
        fork = _Instruction()
        program.append(fork)
        starts, exits = [], []
        for option in options:
            starts.append(len(program))
            self._emit(option, leasts)
            exits.append(_Instruction())
            program.append(exits[-1])
        fork.fork = tuple(starts)
        for leave in exits:
            leave.fork = (len(program),)

    def _emit_simple_loop(self, body: RegularExpression, least: int, most: int | None, leasts: tuple[int, ...]) -> None:
        """`?`, `*` and `+`, which need no counter."""
        program = self.program
        before = _Instruction()
        program.append(before)
        start = len(program)
        self._emit(body, leasts)
        if most is None:
            program.append(_Instruction(fork=(start, len(program) + 1)))
        before.fork = (start,) if least else (start, len(program))

    def after(self, threads: list[_Thread]) -> AutomatonState | None:
        """The state of these threads once each has taken its character."""
        if not threads:
            return None
        return self._state([(place + 1, tuple(count & ~1 for count in counts)) for place, counts in threads])

    def _state(self, threads: list[_Thread]) -> AutomatonState:
        """The state of these threads and of all they reach without taking a character."""
        seen = set(threads)
        resting = []
        accepts = False
        while threads:
            thread = threads.pop()
            here = self.program[thread[0]]
            if here.chars:
                resting.append(thread)
            elif here.is_end:
                accepts = True
            else:
                for reached in _free_moves(thread, here, self.program):
                    if reached not in seen:
                        seen.add(reached)
                        threads.append(reached)
        if len(resting) > 4:
            resting = self._without_needless(resting)
        key = frozenset(resting), accepts
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = AutomatonState(self, *key)
        return state

    def _without_needless(self, threads: list[_Thread]) -> list[_Thread]:
        """Leave out threads that another one can replace.

        Of two threads that differ in one counter only, both past the lower limit, the smaller count can do
        all that the larger can. Without this, loops in loops would multiply their counts.
        """
        program = self.program
        for level in range(max(len(thread[1]) for thread in threads)):
            best: dict[tuple[object, ...], _Thread] = {}
            for thread in threads:
                place, counts = thread
                leasts = program[place].leasts
                if level < len(counts) and counts[level] >> 1 >= leasts[level]:
                    key = (place, counts[:level], counts[level + 1 :], counts[level] & 1)
                    if key not in best or thread < best[key]:
                        best[key] = thread
                else:
                    best[place, counts] = thread
            threads = list(best.values())
        return threads


def _free_moves(thread: _Thread, here: _Instruction, program: list[_Instruction]) -> Iterator[_Thread]:
    counts = thread[1]
    if here.fork:
        for place in here.fork:
            yield place, counts
    elif here.enter >= 0:
        yield here.enter, (*counts, 0)
    elif here.head is not None:
        body, leave, least, most = here.head
        done = counts[-1] >> 1
        if done >= least:
            yield leave, counts[:-1]
        if most is None or done < most:
            yield body, (*counts[:-1], done * 2 + 1)
    elif not counts[-1] & 1:
        head = program[here.back].head
        assert head is not None  # `back` always points at the head of its loop
        done = (counts[-1] >> 1) + 1
        # Without an upper limit there is nothing to count once the lower one is reached.
        yield here.back, (*counts[:-1], 2 * (min(done, head[2]) if head[3] is None else done))
