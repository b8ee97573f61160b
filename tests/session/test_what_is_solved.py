"""Our messages satisfy the constraints, whether they had to be solved for or came out right at once."""

from __future__ import annotations

import re

import pytest
from scenes import Scene

from palaver.session.findings import Verdict

GRAMMAR = """
<start> ::= <exchange>{1,30} <Client:quit>
<exchange> ::= <Client:ask> <Server:answer> | <Client:noop> <Server:answer>
<ask> ::= "ASK " <word> "\\n"
<noop> ::= "NOOP\\n"
<answer> ::= "OK\\n"
<quit> ::= "QUIT\\n"
<word> ::= r"[ab]{1,8}"
"""


def conversation(constraint: str, seed: int) -> tuple[list[str], Verdict]:
    """What the client says in a conversation whose server always agrees."""
    scene = Scene(GRAMMAR + f"where {constraint}\n", seed=seed).open()
    told: list[str] = []
    while not scene.session.is_over:
        said = scene.talk()
        told += said.decode().splitlines()
        if not scene.session.is_over:
            scene.hear(b"OK\n")
    return told, scene.session.verdict


@pytest.mark.parametrize("seed", range(10))
def test_what_comes_out_right_at_once_satisfies_the_constraints(seed: int) -> None:
    told, verdict = conversation("str(<ask>.<word>)[0] == 'a'", seed)
    assert verdict is Verdict.PASS
    assert all(re.fullmatch("ASK a[ab]*|NOOP|QUIT", line) for line in told)


@pytest.mark.parametrize("seed", range(10))
def test_what_was_said_long_ago_counts(seed: int) -> None:
    told, verdict = conversation("len(set(str(w) for w in *<word>)) == len(*<word>)", seed)
    words = [line for line in told if line.startswith("ASK")]
    assert verdict is Verdict.PASS
    assert len(set(words)) == len(words)


@pytest.mark.parametrize("seed", range(10))
def test_a_message_that_a_constraint_does_not_speak_of_can_be_said_while_it_does_not_hold_yet(seed: int) -> None:
    told, verdict = conversation("exists <a> in <ask>: str(<a>.<word>) == 'abba'", seed)
    assert verdict is Verdict.PASS
    assert "ASK abba" in told
