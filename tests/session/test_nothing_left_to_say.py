"""Where our messages have left a peer nothing to say that would be right, its silence is not held against it."""

import pytest
from driven_session import DrivenSession

from palaver.session.findings import FindingKind, Verdict

# Once nothing is left, there is no answer.
STOCK = """
<start> ::= <round>{8}
<round> ::= <Client:take> <Server:left>
<take> ::= "TAKE " <n> "\\n"
<n> ::= r"[1-3]"
<left> ::= "LEFT " <m> "\\n"
<m> ::= r"[1-9]"
"""
CODE = """
def amounts(round):
    return [int(str(each)) for name in ("<n>", "<m>") for each in round.find_subtrees(name)]
def is_right(rounds):
    stock = 10
    for round in rounds:
        taken, *left = amounts(round)
        stock -= taken
        if left and left != [stock]:
            return False
    return True
"""
MODEL = """
from functools import reduce
def step(stock, round):
    taken, left = amounts(round)
    return left if left == stock - taken else -1000
where reduce(step, *<round>, 10) > 0
"""
CONDITIONS = [CODE + "where is_right(*<round>)\n", CODE + MODEL]


def served(text: str, until: int) -> DrivenSession:
    """A session whose server answers until its stock would be as low as that."""
    driven = DrivenSession(text).open()
    stock = 10
    while not driven.session.is_over and stock > until:
        stock -= int(driven.talk().split()[1])
        if stock > until:
            driven.hear(f"LEFT {stock}\n".encode())
    return driven


@pytest.mark.parametrize("condition", CONDITIONS, ids=["code", "model"])
@pytest.mark.parametrize("is_silent", [True, False], ids=["silence", "end"])
def test_a_peer_that_could_say_nothing_right_is_not_accused(condition: str, is_silent: bool) -> None:
    driven = served(STOCK + condition, until=0)
    driven.wait(6.0) if is_silent else driven.close()
    (finding,) = driven.session.findings
    assert finding.kind is FindingKind.UNSOLVED
    assert "whatever comes next" in finding.message
    assert driven.session.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("condition", CONDITIONS, ids=["code", "model"])
def test_a_peer_that_could_answer_is_accused(condition: str) -> None:
    driven = served(STOCK + condition, until=3)
    driven.wait(6.0)
    assert driven.kinds == [FindingKind.SILENCE]


def test_a_search_that_would_not_find_the_answer_says_nothing_for_the_peer() -> None:
    code = "import hashlib\nwhere forall <x> in <m>: hashlib.sha256(bytes(<x>)).hexdigest().startswith('abcd')\n"
    text = STOCK.replace('<m> ::= r"[1-9]"', '<m> ::= r"[a-z0-9]{20}"') + code
    driven = DrivenSession(text).open()
    for _ in range(2):
        driven.talk()
        driven.hear(b"LEFT 00000000000000000rwf\n")
    driven.talk()
    driven.wait(6.0)
    assert driven.kinds == [FindingKind.SILENCE]
