"""The findings of the catalogue survive: each replays offline, and live, and becomes about as small as it can be."""

from __future__ import annotations

from pathlib import Path

import pytest
from catalogue_survey import SHORTEST, PlantedBug, catalogue, survival_of

# So much of the catalogue is looked at here; `make catalogue` surveys all of it.
FEW = (
    *("smtp KeepsSender", "smtp OtherName", "smtp LeavesSilently", "smtp client TwoBytes", "pop3 DeletesTwice"),
    *("ftp WrongPort", "dns OneTooMany", "rest OneTooFew"),
)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("bug", [bug for bug in catalogue() if bug.name in FEW], ids=lambda bug: bug.name)
def test_a_finding_is_replayed_and_made_small(bug: PlantedBug, tmp_path: Path) -> None:
    survival = survival_of(bug, tmp_path / "it")
    assert survival.findings
    assert survival.offline == survival.findings, survival.parting
    assert survival.live == survival.tries
    assert survival.shrunk == SHORTEST[bug.name]


def test_every_shortest_conversation_is_that_of_a_bug() -> None:
    assert set(SHORTEST) <= {bug.name for bug in catalogue()}


@pytest.mark.parametrize(
    "name", ["coap", "http", "imap", "modbus", "mqtt", "ntp", "pop3", "redis", "tftp", "websocket"]
)
def test_there_are_eight_bugs_of_a_protocol_at_least(name: str) -> None:
    assert len([bug for bug in catalogue() if bug.name.startswith(f"{name} ")]) >= 8
