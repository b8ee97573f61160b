"""Our messages satisfy the constraints, whether they had to be solved for or came out right at once."""

from __future__ import annotations

import re

import pytest
from scenes import SERVER, Scene

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


BRIEF = """
<start> ::= <exchange>+
<exchange> ::= <Client:ask> <Server:full> | <Client:peek> <Server:brief>
<ask> ::= "ASK\\n"
<peek> ::= "PEEK\\n"
<full> ::= <size> <mark>* ":" <x>{int(<size>)} "\\n"
<brief> ::= <size> <mark>* "\\n"
<size> ::= r"[1-9]"
<mark> ::= "!" | <odd>
<odd> ::= "?"
<x> ::= "x"
where forall <m> in <full>: len(*<m>..<odd>) == 0
where forall <m> in <brief>: len(*<m>..<odd>) == 0
"""


@pytest.mark.parametrize("seed", range(20))
def test_what_was_said_stays_though_repetitions_elsewhere_count_by_what_is_in_our_message(seed: int) -> None:
    scene = Scene(BRIEF, SERVER, "Server", seed).open()
    for asked in (b"PEEK\n", b"ASK\n", b"PEEK\n"):
        scene.hear(asked)
        answer = scene.talk()
        assert not scene.session.findings
        rest = b":" + b"x" * int(answer[:1]) if asked == b"ASK\n" else b""
        assert re.fullmatch(rb"[1-9]!*" + rest + rb"\n", answer)


LOOKS = r"""
<start> ::= <visit>
<visit> ::= <Client:add> <Server:ok> <looks>
<looks> ::= REPEATED
<look>  ::= <Client:get> <Server:found>
<add>   ::= "ADD\n"
<ok>    ::= "ID " <id> "\n"
<get>   ::= "GET " <id> "\n"
<found> ::= "GOT\n"
<id>    ::= r"[0-9]{4}"
where forall <v> in <visit>: <v>..<get>.<id> == <v>.<ok>.<id>
"""


@pytest.mark.parametrize("repeated", ["<look>{40}", "<look> <looks> | <look>{45}"], ids=["wide", "deep"])
def test_what_was_said_long_ago_in_an_open_state_binds_us_still(repeated: str) -> None:
    scene = Scene(LOOKS.replace("REPEATED", repeated), seed=1).open()
    scene.talk()
    scene.hear(b"ID 4711\n")
    for _ in range(40):
        assert scene.talk() == b"GET 4711\n"
        scene.hear(b"GOT\n")
