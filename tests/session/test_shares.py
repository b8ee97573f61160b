"""A random walk gives every admissible continuation its share, whatever the order of declarations."""

from __future__ import annotations

from collections import Counter

import pytest
from test_blame import case, driven


@pytest.mark.parametrize("order", ["<hit> | <miss>", "<miss> | <hit>"])
def test_alternatives_that_begin_with_the_same_message_are_both_taken(order: str) -> None:
    """In `bias.fan` one of five numbers is a hit; neither alternative may starve the other."""
    text = case("bias.fan").replace("<hit> | <miss>", order)
    rounds: Counter[bool] = Counter()
    for seed in range(30):
        wanted = b""

        def answer(line: bytes) -> bytes:
            nonlocal wanted
            word, number = line.split()
            if word == b"sub":
                wanted = number
                return b""
            rounds[number == wanted] += 1
            return b"yes\n" if number == wanted else b""

        assert driven(text, answer, seed).kinds == []
    assert 0.15 < rounds[True] / rounds.total() < 0.65
