"""Messages that break one constraint are refused, or found out; extremes inside the language are right messages."""

from __future__ import annotations

from collections import Counter

import pytest
from beyond_peers import first_violation, served, talked
from parcels import SPEC, UNCHECKED, Parcels, ShortTexts

import palaver
from palaver.campaign.events import MessageSent
from palaver.session.findings import FindingKind


@pytest.fixture(scope="module")
def parcels() -> palaver.Spec:
    return palaver.loads(SPEC)


def test_a_server_that_checks_everything_is_not_suspected(parcels: palaver.Spec) -> None:
    campaign = talked(parcels, Parcels, 40, beyond=0.5)
    assert campaign.findings == []
    wrong = campaign.sessions.wrong
    assert wrong is not None
    kinds = Counter(cell.kind for cell in wrong.cells)
    assert kinds["constraint"] > 0
    assert wrong.tally.refused == wrong.tally.judged


@pytest.mark.parametrize("server", UNCHECKED, ids=lambda kind: kind.__name__)
def test_a_constraint_that_is_not_checked_is_found(parcels: palaver.Spec, server: type[Parcels]) -> None:
    found = first_violation(parcels, server, 300, beyond=0.6)
    assert found is not None
    assert found.kind is FindingKind.ACCEPTED
    # A number at one of its extremes breaks the same constraint.
    assert "(constraint)" in found.message or "(extreme)" in found.message


def test_numbers_are_wrong_by_one_first(parcels: palaver.Spec) -> None:
    with served(Parcels) as port:
        campaign = palaver.talk(parcels, client=port, sessions=60, seed=1, beyond=0.6)
        told = [event.message.aside for event in campaign if isinstance(event, MessageSent) and event.message.aside]
    broken = Counter(each.partition(", ")[2].partition(":")[0] for each in told if each.startswith("constraint"))
    assert {"one too large", "one too small", "breaks"} <= set(broken)


def test_the_longest_field_that_is_allowed_is_a_right_message(parcels: palaver.Spec) -> None:
    found = first_violation(parcels, ShortTexts, 60)
    assert found is not None
    assert found.kind not in (FindingKind.ACCEPTED, FindingKind.REFUSAL, FindingKind.STATE_CHANGED)
    assert not found.messages[-1].is_aside
