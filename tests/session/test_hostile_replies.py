"""Replies that were made to keep us busy end as findings, in bounded time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from driven_session import DrivenSession

from palaver.session import receiver
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


def test_a_reply_that_only_opens_brackets_is_undecided() -> None:
    brackets = '<start> ::= <Client:ask> <Server:list>\n<ask> ::= "GET\\n"\n<list> ::= "(" <list>* ")" | "x"\n'
    driven = DrivenSession(brackets).open()
    driven.talk()
    while not driven.kinds:
        driven.hear(b"(" * 60_000)
    assert driven.kinds == [FindingKind.UNDECIDED]
    assert driven.session.verdict.value == "inconclusive"


def test_data_behind_a_reply_that_is_undecided_changes_nothing() -> None:
    driven = _answered("amb2", b"a=b;" * 700)
    driven.hear(b"\n")
    assert driven.kinds == [FindingKind.UNDECIDED]


@pytest.mark.parametrize(("size", "kinds"), [(1 << 20, [FindingKind.UNDECIDED]), (64 << 20, [])])
def test_where_longer_messages_are_allowed_reading_may_take_more_work(
    size: int, kinds: list[FindingKind], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver, "MAX_READING_WORK", 1_000)
    sums = '<start> ::= <Client:ask> <Server:e>\n<ask> ::= "GET\\n"\n'
    sums += '<e> ::= <e> "+" <t> | <t> "."\n<t> ::= <t> "*" <f> | <f>\n<f> ::= "1"\n'
    driven = DrivenSession(sums, max_message_bytes=size).open()
    driven.talk()
    driven.hear(b"1." + b"+1*1" * 300)
    assert driven.kinds == kinds
