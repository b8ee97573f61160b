"""Limits: numbers that can tell that they were reached."""

from palaver import limits
from palaver.limits import Limit

HYPOTHESES = Limit(64, "hypotheses", "the least likely are dropped")


def test_a_limit_is_its_number() -> None:
    assert HYPOTHESES == 64
    assert HYPOTHESES < 65


def test_reached_limits_are_recorded_and_told() -> None:
    with limits.recorded() as reached:
        HYPOTHESES.reached()
        HYPOTHESES.reached()
    HYPOTHESES.reached()  # nobody records it any more
    assert [limit.told(times) for limit, times in reached.items()] == [
        "limit reached 2 times: 64 hypotheses; the least likely are dropped"
    ]


def test_an_inner_record_keeps_what_it_records_to_itself() -> None:
    with limits.recorded() as outer, limits.recorded() as inner:
        HYPOTHESES.reached()
    assert not outer
    assert inner[HYPOTHESES] == 1
