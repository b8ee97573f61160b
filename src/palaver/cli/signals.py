"""SIGTERM and SIGHUP end palaver as Ctrl-C does: the target is ended, files are written, and the summary is shown."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from palaver.cli.exit_codes import BY_SIGNAL, INTERRUPTED

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """A signal asks palaver to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"terminated by {signal.Signals(number).name}")
        self.number = number


@contextmanager
def termination_raised() -> Iterator[None]:
    """Raise `Terminated` when such a signal comes, unless whoever started palaver wants it to be ignored."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    wanted = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    for number in wanted:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in wanted:
            signal.signal(number, before[number])


def _terminate(number: int, _frame: FrameType | None) -> None:
    raise Terminated(number)


def cause_of(error: BaseException) -> tuple[int, str]:
    """The exit code after an interruption, and what to call it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, Terminated):
        cause = cause.__cause__
    return (INTERRUPTED, "interrupted") if cause is None else (BY_SIGNAL + cause.number, str(cause))
