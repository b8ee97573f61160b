"""The findings of the catalogue survive: each replays offline, and live, and becomes about as small as it can be."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
import smtp_bugs
from catalogue import Bug

import palaver
from palaver.recording.run_writer import record
from palaver.replaying.live_replay import LiveTarget, recorded_script, replay_live
from palaver.replaying.offline_replay import replay_offline
from palaver.replaying.shrinking import ShrinkLimits, shrink
from servers.common import started

# The messages of the shortest conversation that shows a bug. It takes nine messages, from the greeting on, until we are
# logged in; then comes what is wrong, and what that needs before.
LOGGED_IN = 9
SHORTEST = {
    "RcptBeforeMail": LOGGED_IN + 1,
    "KeepsRecipients": LOGGED_IN + 7,  # MAIL, RCPT, RSET with their answers, and DATA
    "KeepsSender": LOGGED_IN + 5,  # MAIL, RSET with their answers, and MAIL
    "LoginTwice": LOGGED_IN + 1,
    "NoSpaceAtTheEnd": 2,
    "OtherName": 2,
    "ForgetsItsName": 2,
    "NoopTwice": LOGGED_IN + 2,
    "HelpHangsUp": LOGGED_IN + 1,
    "EndlessReply": 4,
    "LeavesSilently": 4,
    "AnyPassword": 8,
    "TellsWhoThereIs": 6,
}
# So much of that is looked at in every test run; the rest is slow.
FEW = ("KeepsSender", "OtherName", "LeavesSilently")


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Where all the servers are, by their names."""
    log = tmp_path_factory.mktemp("servers") / "log"
    with started([sys.executable, smtp_bugs.__file__], is_ready=lambda: "ready" in log.read_text(), log=log):
        yield dict(re.findall(r"^(\w+) (\d+)$", log.read_text(), re.MULTILINE))


def kept(bug: Bug, port: str, folder: Path) -> palaver.Run:
    """A run in which a bug was found."""
    with palaver.talk("smtp", client=port, sessions=bug.sessions, seed=1) as campaign:
        record(campaign, folder, {"client": [port], "sessions": bug.sessions})
        campaign.run()
    return palaver.open_run(folder)


@pytest.mark.parametrize("bug", [bug for bug in smtp_bugs.BUGS if bug.name in FEW], ids=lambda bug: bug.name)
def test_a_finding_is_replayed_and_made_small(bug: Bug, ports: dict[str, str], tmp_path: Path) -> None:
    run = kept(bug, ports[bug.name], tmp_path / "run")
    assert all(replay_offline(run, finding).is_found for finding in run.findings)
    first = run.findings[0]
    attempts = replay_live(LiveTarget(run, first), recorded_script(run, first), 3)
    assert [attempt.is_reproduced for attempt in attempts] == [True] * 3
    small = shrink(run, first, ShrinkLimits(runs=200))
    assert small is not None
    assert len(small.messages) == SHORTEST[bug.name]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_finding_of_the_catalogue_survives(ports: dict[str, str], tmp_path: Path) -> None:
    offline, live, ratios = [], [], {}
    for bug in smtp_bugs.BUGS:
        run = kept(bug, ports[bug.name], tmp_path / bug.name)
        assert run.findings, bug.name
        offline += [(bug.name, each.number, replay_offline(run, each).is_found) for each in run.findings]
        first = run.findings[0]
        attempts = replay_live(LiveTarget(run, first), recorded_script(run, first), 5)
        live += [(bug.name, attempt.is_reproduced) for attempt in attempts]
        if bug.name in SHORTEST:
            small = shrink(run, first, ShrinkLimits(runs=300))
            assert small is not None, bug.name
            ratios[bug.name] = len(small.messages) / SHORTEST[bug.name]
    assert all(is_found for *_, is_found in offline), offline
    assert sum(is_found for _, is_found in live) >= 0.99 * len(live), live
    assert min(ratios.values()) >= 1, ratios  # or what is called the shortest is not
    assert median(ratios.values()) <= 1.2, ratios
