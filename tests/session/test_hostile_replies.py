"""Replies that were made to keep us busy end as findings, in bounded time."""

from __future__ import annotations

import time
from pathlib import Path

from driven_session import DrivenSession

from palaver.session.findings import FindingKind

CASES = Path(__file__).parent.parent / "cases"


def _answered(case: str, answer: bytes) -> DrivenSession:
    driven = DrivenSession((CASES / f"{case}.fan").read_text()).open()
    driven.talk()
    driven.hear(answer)
    return driven


def test_a_reply_with_too_many_readings_is_undecided() -> None:
    driven = _answered("amb2", b"a=b;" * 700 + b"\n")
    assert driven.kinds == [FindingKind.UNDECIDED]
    assert driven.session.verdict.value == "inconclusive"


def test_a_reply_that_makes_a_pattern_backtrack_is_rejected_at_once() -> None:
    began = time.process_time()
    driven = _answered("redos2", b"a" * 40 + b"\n")
    assert driven.kinds == [FindingKind.UNPARSEABLE]
    assert time.process_time() - began < 1
