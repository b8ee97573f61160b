"""Palaver talks to palaver over random dialogues: the innocent are never accused, and the guilty are."""

from __future__ import annotations

import pytest
from dialogue_worlds import WRONG, Figures, run

from amounts import AT_LENGTH


def check(figures: Figures) -> None:
    troubles = "\n".join(figures.troubles)
    assert not any(figures.counts[what] for what in WRONG), troubles
    assert figures.counts["found"] >= 0.99 * figures.counts["changed"] > 0, troubles


# Seconds of work: on a busy machine, more than the minute that a test has. No clock decides anything in it.
@pytest.mark.timeout(600)
def test_who_is_innocent_is_not_accused_and_who_is_guilty_is() -> None:
    check(run(specs=12, sessions=24, seed=1) if AT_LENGTH else run(specs=6, sessions=12, seed=1))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [2, 3])
def test_the_same_at_length(seed: int) -> None:
    check(run(specs=50, sessions=200, seed=seed))
