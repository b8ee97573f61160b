"""A session whose time is over is cut."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from palaver import interruption
from palaver.campaign.lanes import SessionLane


class Late:
    """A session whose time is over while it works, and still is while it is cut."""

    ends_at = 1.0
    is_over = False

    def step(self) -> bool:
        interruption.check()
        raise AssertionError("its time is over")

    def cut(self, _error: BaseException) -> list[Any]:
        interruption.check()
        self.is_over = True
        return ["cut"]


def test_a_session_whose_time_is_over_is_cut_in_peace() -> None:
    carried_out: list[Any] = []
    line: Any = SimpleNamespace(clock=SimpleNamespace(now=lambda: 2.0), carry_out=carried_out.extend)
    session: Any = Late()
    lane = SessionLane(strategies=SimpleNamespace(), event_loop=line)  # type: ignore[arg-type]  # not asked for
    pauses = list(lane.talk(session, session, Counter()))
    assert (pauses, carried_out) == ([], ["cut"])
