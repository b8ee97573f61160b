"""Which wrong messages are chosen, and when: every sample has its turn, and nobody is asked who cannot answer."""

from __future__ import annotations

import re

from beyond_peers import talked

import palaver
from palaver.beyond.wrong_messages import Place, WrongMessages
from palaver.random_source import RandomSource

SPEC = r"""
<start> ::= <Client:first> <Server:fine> <Client:last>
<first> ::= "first " <name> "\n"
<last> ::= "last " <name> "\n"
<name> ::= r"[a-z]{1,8}"
<fine> ::= "fine\n"

<beyond> ::= <disordered> | <misspelt>
<disordered> ::= (<Client:any_first> | <Client:any_last>) <Server:error>
<misspelt> ::= <Client:any_line> <Server:error>
<any_first> ::= r"first [a-z]*\n"
<any_last> ::= r"last [a-z]*\n"
<any_line> ::= r"[^\n]*\n"
<error> ::= "error\n"
"""


def test_every_sample_of_a_message_is_said_where_it_is_wrong() -> None:
    spec = palaver.loads(SPEC)
    chance = RandomSource(1)
    with palaver.talk(spec, client=1) as campaign:
        wrong = WrongMessages(campaign.setup, chance, share=1.0)
    first, last = wrong.ours
    place = Place([first], lambda symbol: spec.matcher(symbol, whole=False), lambda move, node: True, b"\n")
    proposed = [wrong.propose(place, 0, chance / "turn" / turn) for turn in range(2000)]
    said = {each.data for each in proposed if each is not None and each.kind.value == "state"}
    assert said == set(wrong.rules.samples(last.symbol))


class LeavesEarly:
    """Answers, and sends no more."""

    def __init__(self) -> None:
        self.is_over = False
        self.buffer = b""

    def greet(self) -> bytes:
        return b""

    def hear(self, data: bytes) -> bytes:
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        answers = b""
        for line in lines:
            self.is_over = self.is_over or re.fullmatch(rb"first [a-z]{1,8}", line) is not None
            answers += b"fine\n" if self.is_over else b"error\n"
        return answers


def test_a_peer_that_has_closed_is_not_asked_what_it_cannot_answer() -> None:
    campaign = talked(palaver.loads(SPEC), LeavesEarly, 30, beyond=0.9, timeout=0.2)
    assert campaign.findings == []
