"""What a run of conversations shows while it lasts: bars on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from guided import campaign
from rich.console import Console

from palaver.campaign.events import Event, FindingReported, MessageReceived, MessageSent, StillWaiting
from palaver.campaign.run import Budget, Campaign, Phase, Until
from palaver.reporting.display import (
    LineDisplay,
    LiveDisplay,
    NoDisplay,
    display_for,
)
from palaver.reporting.live_area import LiveArea
from palaver.reporting.reporting_limits import DRAW_EVERY_S, LINE_EVERY_S, REST_AFTER_DRAWING, SHOW_AFTER_S
from palaver.reporting.status import Status
from palaver.session.findings import Finding, FindingKind
from palaver.transport.clock import ManualClock

SPEC = """
<start> ::= <Client:ask> <Server:answer> <start> | <Client:bye>
<ask> ::= "ask " <what> "\\n"
<what> ::= "a" | "b"
<answer> ::= "yes\\n" | "no\\n"
<bye> ::= "bye\\n"
"""

ECHO = """
<start> ::= <In:ask> <Out:answer>
<ask> ::= <word> "\\n"
<answer> ::= <word> "\\n"
<word> ::= r"[a-z]{1,8}"
where <ask>.<word> == <answer>.<word>
"""


# Any event will do.
TICK = StillWaiting(0.0, 1)


class Screen:
    """A terminal in memory, of which all that was ever written is kept."""

    def __init__(self, clock: ManualClock | None = None, drawing_takes_s: float = 0.0, width: int = 80) -> None:
        self.file = io.StringIO()
        self.drawn = 0
        self._clock = clock
        self._takes_s = drawing_takes_s
        self._width = width

    def area(self) -> LiveArea:
        screen = self
        console = Console(file=self.file, force_terminal=True, width=self._width, color_system=None)

        class Counting(LiveArea):
            def draw(self, *arguments: Any) -> None:
                screen.drawn += 1
                if screen._clock is not None:
                    screen._clock.advance(screen._takes_s)
                super().draw(*arguments)

        return Counting(console)

    @property
    def text(self) -> str:
        """What was written, without what moves the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.file.getvalue())

    @property
    def latest(self) -> list[str]:
        """The lines that were drawn last."""
        return self.text[self.text.rindex("inputs ") :].split("\n")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def run() -> Campaign:
    return campaign(SPEC, 1, k=3)


def live(run: Campaign, clock: ManualClock, screen: Screen) -> tuple[Status, LiveDisplay]:
    status = Status(run)
    run.attach(status)
    return status, LiveDisplay(status, clock.now, screen.area)


# --- The live area ----------------------------------------------------------------------------------------------------


def test_a_bar_for_each_goal_tells_how_much_of_it_is_covered(run: Campaign, clock: ManualClock) -> None:
    screen = Screen()
    _, display = live(run, clock, screen)
    clock.advance(SHOW_AFTER_S)
    display(TICK)
    before = screen.latest
    run.run()
    clock.advance(1)
    display(TICK)
    after = screen.latest
    display.close()
    for lines, expected in ((before, 0), (after, None)):
        for line, (goal, _, total) in zip(lines, run.guidance.goal_counts, strict=False):
            reached = total if expected is None else expected
            assert re.fullmatch(rf"{goal.value} +━+ +{reached} of {total} 3-paths", line)


def test_the_figures_are_those_of_the_run(run: Campaign, clock: ManualClock) -> None:
    screen = Screen()
    _, display = live(run, clock, screen)
    run.run()
    clock.advance(62)
    display(TICK)
    display.close()
    progress = run.progress
    rate = round(progress.messages / 62)
    assert f"guided   {progress.sessions} sessions, {progress.messages} messages, {rate}/s, 1:02" in screen.latest


def test_a_session_that_goes_on_is_counted_too(clock: ManualClock) -> None:
    screen = Screen()
    run = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=1), k=3)
    _, display = live(run, clock, screen)
    drawn: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, MessageSent | MessageReceived):
            clock.advance(SHOW_AFTER_S)
            display(event)
            drawn.append(screen.latest[3])

    run.attach(watch).run()
    display.close()
    assert [line.split(", ")[1] for line in drawn[:3]] == ["1 message", "2 messages", "3 messages"]
    assert drawn[0].startswith("guided   1 session, ")


def test_the_target_is_shown_while_there_is_one(clock: ManualClock) -> None:
    run = campaign(SPEC, 1, Budget(Until.FOREVER, sessions=1), k=3)
    screen = Screen()
    status, display = live(run, clock, screen)
    clock.advance(SHOW_AFTER_S)
    display(TICK)
    assert not any(line.startswith("target") for line in screen.latest)
    run.run()
    clock.advance(1)
    display(TICK)
    assert status.target
    assert f"target   {status.target}" in screen.latest
    run.progress.phase = Phase.UNGUIDED
    clock.advance(1)
    display(TICK)
    display.close()
    assert not any(line.startswith("target") for line in screen.latest)
    assert any(line.startswith("unguided ") for line in screen.latest)


def test_findings_are_counted_by_kind_and_the_latest_is_shown(run: Campaign, clock: ManualClock) -> None:
    screen = Screen()
    status, display = live(run, clock, screen)
    clock.advance(SHOW_AFTER_S)
    display(TICK)
    assert "findings none" in screen.latest
    for kind, message in (
        (FindingKind.SILENCE, "one"),
        (FindingKind.UNPARSEABLE, "two"),
        (FindingKind.SILENCE, "three\x1b[2J\nmore"),
    ):
        status(FindingReported(0.0, 1, Finding(kind, 0.0, message)))
    clock.advance(1)
    display(TICK)
    display.close()
    assert "findings no response: 2, unexpected response: 1; latest: no response: three\\x1b…" in screen.latest


def test_what_is_shown_goes_above_the_area_and_stays(run: Campaign, clock: ManualClock) -> None:
    screen = Screen(width=40)
    _, display = live(run, clock, screen)
    clock.advance(SHOW_AFTER_S)
    display(TICK)
    text = "a finding that is longer than the screen is wide, and [not] markup\n  with a second line"
    display.show(text)
    assert text in screen.text
    assert screen.text.index(text) < screen.text.rindex("inputs ")
    display.close()


def test_lines_that_do_not_fit_are_cut(run: Campaign, clock: ManualClock) -> None:
    screen = Screen(width=30)
    status, display = live(run, clock, screen)
    status(FindingReported(0.0, 1, Finding(FindingKind.SILENCE, 0.0, "nothing " * 20)))
    clock.advance(SHOW_AFTER_S)
    display(TICK)
    display.close()
    assert max(map(len, screen.latest)) <= 30
    assert any(line.endswith("…") for line in screen.latest)


def test_the_area_is_gone_in_the_end_and_the_cursor_is_back(run: Campaign, clock: ManualClock) -> None:
    screen = Screen()
    _, display = live(run, clock, screen)
    clock.advance(SHOW_AFTER_S)
    display(TICK)
    rows = len(screen.latest) - 1
    display.close()
    written = screen.file.getvalue()
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")
    assert written.endswith("\x1b[1A\x1b[2K" * rows)


def test_the_run_gets_all_but_a_small_part_of_the_time(run: Campaign, clock: ManualClock) -> None:
    screen = Screen(clock, drawing_takes_s=0.01)
    _, display = live(run, clock, screen)
    for _ in range(1000):
        clock.advance(0.01)
        display(TICK)
    display.close()
    assert 10 < screen.drawn <= clock.now() / (REST_AFTER_DRAWING * 0.01)


def test_what_is_fast_is_drawn_no_more_often_than_anybody_can_see(run: Campaign, clock: ManualClock) -> None:
    screen = Screen(clock)
    _, display = live(run, clock, screen)
    for _ in range(1000):
        clock.advance(0.01)
        display(TICK)
    display.close()
    assert 10 < screen.drawn <= 1000 * 0.01 / DRAW_EVERY_S


def test_a_run_that_is_over_soon_draws_nothing(run: Campaign, clock: ManualClock) -> None:
    screen = Screen(clock)
    _, display = live(run, clock, screen)
    clock.advance(SHOW_AFTER_S / 2)
    display(TICK)
    display.close()
    assert screen.file.getvalue() == ""


# --- Lines ------------------------------------------------------------------------------------------------------------


def test_a_long_run_prints_a_line_now_and_then(run: Campaign, clock: ManualClock, capsys: Any) -> None:
    status = Status(run)
    display = LineDisplay(status, clock.now)
    run.attach(status).run()
    for _ in range(100):
        clock.advance(0.11)
        display(TICK)
    progress, aim = run.progress, run.guidance.goal_progress
    line = (
        f"{progress.sessions} sessions, {progress.messages} messages, {aim.reached} of {aim.total} 3-paths, 0 findings"
    )
    assert capsys.readouterr().err == f"{line}\n" * 2


def test_a_short_run_prints_no_line(run: Campaign, clock: ManualClock, capsys: Any) -> None:
    display = LineDisplay(Status(run), clock.now)
    clock.advance(LINE_EVERY_S * 0.9)
    display(TICK)
    assert capsys.readouterr().err == ""


# --- Which it is ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "is_terminal", "term", "verbose", "expected"),
    [
        ("auto", True, "xterm", False, LiveDisplay),
        ("auto", True, "dumb", False, LineDisplay),
        ("auto", False, "xterm", False, LineDisplay),
        ("auto", True, "xterm", True, NoDisplay),
        ("live", False, "xterm", True, LiveDisplay),
        ("plain", True, "xterm", True, LineDisplay),
        ("none", True, "xterm", False, NoDisplay),
    ],
)
def test_what_is_shown_suits_standard_error_or_is_what_was_asked_for(
    run: Campaign,
    monkeypatch: pytest.MonkeyPatch,
    wanted: str,
    is_terminal: bool,
    term: str,
    verbose: bool,
    expected: type,
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    assert type(display_for(wanted, Status(run), verbose=verbose)) is expected


def test_a_run_that_is_not_drawn_does_without_rich(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    script = (
        "import sys; from palaver.cli.main import run\n"
        "try: run(['talk', '-f', 'echo.fan', '-n', '1', 'cat'])\n"
        "except SystemExit: sys.exit('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=palaver.folder, capture_output=True, check=False)
    assert done.returncode == 0


# --- On a real terminal -----------------------------------------------------------------------------------------------


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """A terminal: where to look at it, and what a program writes to."""
    screen, keyboard = os.openpty()
    try:
        yield screen, keyboard
    finally:
        os.close(screen)
        os.close(keyboard)


def test_ctrl_c_leaves_the_terminal_in_order_and_prints_the_summary(palaver: Any) -> None:
    palaver.write(echo_fan=ECHO)
    environment = {**os.environ, "TERM": "xterm"}
    arguments = ("talk", "-f", "echo.fan", "--until", "forever", "--seed", "1", "cat")
    with terminal() as (screen, stderr):
        process = palaver.start(*arguments, stderr=stderr, stdout=subprocess.PIPE, env=environment)
        seen = b""
        while seen.count(b"findings none") < 2:
            seen += os.read(screen, 65536)
        process.send_signal(signal.SIGINT)
        while not re.search(rb"\d+ % of .* waiting for the peer", seen):
            seen += os.read(screen, 65536)
        out, _ = process.communicate()
    assert process.returncode == 130
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")
    lines = out.decode().splitlines()
    assert re.fullmatch(r"\d+ sessions, \d+ messages sent, \d+ received, no findings", lines[0])
    assert "stopped: interrupted" in lines
