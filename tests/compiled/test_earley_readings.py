"""The messages that the Earley parser reads, and why."""

from __future__ import annotations

import pytest

import palaver
from palaver.compiled.earley_readings import EarleyReading, earley_readings
from palaver.random_source import RandomSource


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ('<a> ::= <a> "x" | "x"', "left recursion in <a>"),
        ('<a> ::= "(" <a> ")" | <b> | <c>\n<b> ::= "x"\n<c> ::= "x"', "where <a> goes on, several ways look alike"),
        (
            '<a> ::= <n> ":" <b>\n<n> ::= r"[0-9]"\n<b> ::= r"[a-z]*"\nwhere len(str(<b>)) == int(<n>)',
            "a constraint decides the length of <b>",
        ),
    ],
)
def test_the_reason_names_the_rule(rules: str, reason: str) -> None:
    spec = palaver.loads(f"<start> ::= <Client:a> <Client:end>\n<end> ::= '.'\n{rules}\n")
    [told] = earley_readings(spec, RandomSource(1))
    assert told.symbol == "<a>"
    assert told.reason.startswith(reason)


def test_what_the_fast_path_reads_is_not_told() -> None:
    spec = palaver.loads("<start> ::= <n> ('+' <n>)*\n<n> ::= r'[0-9]+'\n")
    assert list(earley_readings(spec, RandomSource(1))) == []


def test_a_spec_without_messages_is_read_as_a_whole() -> None:
    spec = palaver.loads("<start> ::= <start> 'a' | 'b'\n")
    assert list(earley_readings(spec, RandomSource(1))) == [EarleyReading("<start>", "left recursion in <start>")]
