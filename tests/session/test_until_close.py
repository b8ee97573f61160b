"""A peer that sends until it closes: as long as the limit allows, in linear work and a few bytes of memory per byte."""

from __future__ import annotations

import tracemalloc
from functools import partial
from pathlib import Path

import pytest
from driven_session import DrivenSession

from cost import lines_run

CASE = (Path(__file__).parents[1] / "cases" / "until_close.fan").read_text()
BYTEWISE = CASE.replace('rb"[\\x00-\\xff]+"', "<byte>+")


def content(size: int, text: str = CASE, piece: int = 1 << 14) -> DrivenSession:
    """A session with a server that sends so many bytes and closes."""
    session = DrivenSession(text).open()
    assert session.talk() == b"GET\n"
    for sent in range(0, size, piece):
        session.hear(b"x" * min(piece, size - sent))
    session.close()
    return session


@pytest.mark.parametrize("text", [CASE, BYTEWISE], ids=["as one terminal", "byte by byte"])
def test_all_that_comes_until_the_close_is_one_message(text: str) -> None:
    session = content(20_000, text)
    assert session.kinds == []
    assert [len(each.data) for each in session.session.said] == [4, 20_000]


def test_the_work_is_linear_in_the_number_of_pieces() -> None:
    content(1000)
    few, many = (lines_run(partial(content, size)) for size in (1 << 16, 1 << 19))
    assert many < 8 * few


def test_it_takes_a_few_bytes_of_memory_for_each_byte() -> None:
    content(1000)
    size = 1 << 19
    tracemalloc.start()
    try:
        session = content(size)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert session.kinds == []
    assert peak < 12 * size
