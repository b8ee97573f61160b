"""A page that is replaced while a run goes on."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from made_runs import SHOUT

import palaver
from palaver.campaign.events import SessionEnded
from palaver.publishing.live_page import LivePage
from palaver.publishing.page import page
from palaver.publishing.publishing_limits import REPLACE_EVERY_S, SHARE_OF_REPLACING
from palaver.publishing.run_report import RunReport
from palaver.publishing.whole_files import ReportError, write_whole
from palaver.recording.run_writer import record

REFRESH = '<meta http-equiv="refresh"'


def test_the_page_is_replaced_every_few_seconds_and_asks_to_be_read_again_until_the_end(tmp_path: Path) -> None:
    (tmp_path / "shout.fan").write_text(SHOUT)
    campaign = palaver.talk(tmp_path / "shout.fan", program=["cat"], seed=1, sessions=4)
    record(campaign, tmp_path / "run", {})
    now = 0.0
    file = tmp_path / "live.html"
    campaign.attach(LivePage(tmp_path / "run", file, lambda: now, lambda: 0.0))
    seen = []
    for event in campaign:
        if isinstance(event, SessionEnded):
            seen.append(file.read_text() if file.exists() else "")
            now += REPLACE_EVERY_S * 0.75
    # The first page comes when it is late enough, and not one with each session.
    assert [REFRESH in each for each in seen] == [False, False, True, True]
    assert "Running: 0 new findings so far" in seen[2]
    assert seen[3] == seen[2]
    with palaver.open_run(tmp_path / "run") as run:
        assert REFRESH not in page(RunReport(run), is_live=True)


def test_a_page_that_costs_much_is_replaced_less_often(tmp_path: Path) -> None:
    (tmp_path / "shout.fan").write_text(SHOUT)
    campaign = palaver.talk(tmp_path / "shout.fan", program=["cat"], seed=1, sessions=12)
    record(campaign, tmp_path / "run", {})
    now = 0.0
    file = tmp_path / "live.html"
    # Each page costs nearly as much as may be spent in the time of four.
    costs = count(step=3.9 * REPLACE_EVERY_S * SHARE_OF_REPLACING)
    campaign.attach(LivePage(tmp_path / "run", file, lambda: now, lambda: next(costs)))
    seen = []
    for event in campaign:
        if isinstance(event, SessionEnded):
            seen.append(file.read_text() if file.exists() else "")
            now += REPLACE_EVERY_S
    assert [at for at in range(1, 12) if seen[at] != seen[at - 1]] == [1, 5, 9]


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "page.html"
    write_whole(file, "old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(ReportError, match="No space left on device"):
        write_whole(file, "new")
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
