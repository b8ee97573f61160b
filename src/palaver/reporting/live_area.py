"""A live area at the bottom of a terminal. It needs rich, so it is imported only when something is drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from palaver.printable import counted, printable
from palaver.reporting.reporting_limits import MAX_BAR_WIDTH
from palaver.reporting.status import Status

# As wide as the longest label.
_LABEL = len("findings ")


class LiveArea:
    """Bars and lines that are drawn anew again and again. What is printed goes above them."""

    def __init__(self, console: Console | None = None) -> None:
        # Whoever wants a live area gets one, also if standard error does not look like a terminal.
        self._console = console or Console(stderr=True, force_terminal=True)
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            transient=True,
            # What code of a spec prints goes above as well; but what goes into a file still goes there.
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
        )
        self._live.start()

    def draw(self, status: Status, rate: float, seconds: float) -> None:
        """Show how far a run is, how many messages a second there are, and how long it has lasted."""
        # Tables would do this as well, and take three times as long.
        self._live.update(Group(*self._bars(status), *_lines(status, rate, seconds)), refresh=True)

    def print(self, text: str) -> None:
        self._console.print(Text(printable(text)), soft_wrap=True)

    def close(self) -> None:
        """Remove the area, and leave the terminal as it was."""
        self._live.stop()

    def _bars(self, status: Status) -> Iterator[Text]:
        guidance = status.campaign.guidance
        standing = [(goal, f"{reached} of {total}", reached, total) for goal, reached, total in guidance.goal_counts]
        widest = max(len(told) for _, told, _, _ in standing)
        for goal, told, reached, total in standing:
            told = f" {told.rjust(widest)} {guidance.paths.k}-paths"
            bar = _labelled(goal.value, "bold" if goal is guidance.goal_progress.goal else "")
            yield self._drawn(bar, reached / total if total else 1.0, len(told)).append(told)

    def _drawn(self, bar: Text, part: float, room: int) -> Text:
        width = max(0, min(MAX_BAR_WIDTH, self._console.width - _LABEL - room))
        full, empty = ("#", ".") if self._console.options.ascii_only else ("━", "━")
        done = int(width * part)
        return bar.append(full * done, "green").append(empty * (width - done), "bright_black")


def _lines(status: Status, rate: float, seconds: float) -> Iterator[Text]:
    said = f"{counted(status.messages, 'message')}, {rate:.0f}/s"
    yield _line(status.campaign.progress.phase.value, f"{status.sessions}, {said}, {_minutes(seconds)}")
    if status.target:
        yield _line("target", status.target)
    if status.findings:
        yield _line("findings", f"{status.kinds}; latest: {status.latest}", "red")
    else:
        yield _line("findings", "none")


def _line(label: str, text: str, style: str = "") -> Text:
    return _labelled(label).append(printable(text), style)


def _labelled(label: str, style: str = "") -> Text:
    return Text(no_wrap=True, overflow="ellipsis").append(label.ljust(_LABEL), style)


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
