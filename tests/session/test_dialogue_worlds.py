"""Palaver talks to palaver over random dialogues: the innocent are never accused, and the guilty are."""

from __future__ import annotations

import pytest
from dialogue_worlds import Figures, run


def check(figures: Figures) -> None:
    troubles = "\n".join(each for each in figures.troubles if not each.startswith("=== inconclusive"))
    assert figures.counts["crash"] == 0, troubles
    assert figures.counts["innocent accused"] == 0, troubles
    assert figures.counts["wrong side"] == 0, troubles
    assert figures.counts["found"] >= 0.99 * figures.counts["changed"] > 0, troubles


def test_who_is_innocent_is_not_accused_and_who_is_guilty_is() -> None:
    check(run(specs=12, sessions=24, seed=1))


@pytest.mark.slow
def test_the_same_at_length() -> None:
    check(run(specs=100, sessions=400, seed=2))
