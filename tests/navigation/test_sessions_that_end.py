"""Guided sessions come to an end, also with peers that remember, and guidance is never behind a walk at random."""

import sys
from collections import Counter
from pathlib import Path

import pytest

import palaver
from amounts import few
from palaver.campaign.campaign_limits import MAX_MESSAGES_OF_CHECK
from palaver.campaign.events import SessionEnded, SessionStarted
from palaver.campaign.run import Campaign

CASES = Path(__file__).parent.parent / "cases"


def run_of(case: str, seed: int, **options: object) -> Campaign:
    program = (sys.executable, str(CASES / f"{case}.py"))
    return palaver.talk(CASES / f"{case}.fan", program=program, seed=seed, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", few(range(1, 5)))
def test_what_sessions_at_random_reach_is_reached_before_a_plateau_is_told(seed: int) -> None:
    run = run_of("shelf", seed).run()
    assert run.coverage.covered == run.coverage.total == 64
    assert run.progress.ended.startswith("goal reached after ")
    assert run.progress.messages < 250


@pytest.mark.parametrize("seed", [1, 2])
def test_no_session_asks_the_same_in_vain_for_long(seed: int) -> None:
    longest, repeated = 0, 0
    run = run_of("stock", seed)
    for event in run:
        if isinstance(event, SessionEnded):
            ours = Counter(message.data for message in event.messages if message.is_ours)
            longest, repeated = max(longest, ours.total()), max(repeated, *ours.values())
    assert run.progress.ended.startswith("plateau after ")
    assert "the others were not" in run.progress.ended
    assert run.progress.messages < 1500
    assert longest < 150
    assert repeated < 50


def test_sessions_at_random_before_the_end_are_short() -> None:
    run = run_of("stock", 1)
    is_guided, longest = True, 0
    for event in run:
        if isinstance(event, SessionStarted):
            is_guided = event.is_guided
        elif isinstance(event, SessionEnded) and not is_guided:
            longest = max(longest, len(event.messages))
    assert 0 < longest <= MAX_MESSAGES_OF_CHECK + 4, "the way to the end is short"


def test_sessions_at_random_before_the_end_are_told_as_unguided() -> None:
    run = run_of("stock", 1)
    is_guided = [event.is_guided for event in run if isinstance(event, SessionStarted)]
    assert is_guided[0]
    assert not is_guided[-1]
