"""The spec, and what guidance makes of it, is looked through for garbage once, and then no more."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from palaver.campaign.campaign_limits import LEAST_THAT_IS_KEPT
from palaver.campaign.run_facts import spec_kept


@pytest.fixture
def collector() -> Iterator[None]:
    """Python's collector as it is for users; it is off while tests run."""
    gc.enable()
    yield
    gc.disable()


@pytest.mark.usefixtures("collector")
def test_what_guidance_has_learnt_is_kept_when_it_has_grown_and_let_go_at_the_end() -> None:
    before = gc.get_freeze_count()
    with spec_kept() as keep:
        at_first = gc.get_freeze_count()
        learnt = [[number] for number in range(1000)]
        keep(LEAST_THAT_IS_KEPT)
        assert gc.get_freeze_count() <= at_first
        keep(LEAST_THAT_IS_KEPT + 1)
        assert gc.get_freeze_count() >= at_first + len(learnt)
    assert gc.get_freeze_count() <= before


def test_a_collector_that_somebody_has_turned_off_stays_off() -> None:
    assert not gc.isenabled()
    with spec_kept() as keep:
        frozen = gc.get_freeze_count()
        keep(LEAST_THAT_IS_KEPT + 1)
        assert gc.get_freeze_count() <= frozen
