"""Conditions on nodes that are still open: who broke them, and our own messages that obey them."""

from __future__ import annotations

import pytest
from driven_session import SERVER, DrivenSession

from palaver.session.findings import FindingKind

VISITS = r"""
<start> ::= <visit>{1,3} <Client:quit>
<visit> ::= <Client:hello> <Server:hi> <exchange>{1,9} <Client:leave> <Server:left>
<exchange> ::= <Client:ask> <Server:answer>
<hello> ::= "HELLO\n"
<hi> ::= "HI\n"
<ask> ::= "ASK " <word> "\n"
<answer> ::= "SAY " <num> "\n"
<leave> ::= "LEAVE\n"
<left> ::= "LEFT\n"
<quit> ::= "QUIT\n"
<word> ::= r"[a-z]{1,2}"
<num> ::= r"[0-9]{1,3}"
def place_of(node, nodes):
    return next((at for at, other in enumerate(nodes) if other is node), -1)
def number_in(node):
    return int(str(next(node.find_subtrees("<num>"))))
def is_counted(visit, exchange):
    return number_in(exchange) == place_of(exchange, visit.find_subtrees("<exchange>")) + 1
def is_next(visit, answer):
    return number_in(answer) == place_of(answer, visit.find_subtrees("<answer>")) + 1
def is_in_its_place(answer):
    visit = answer.parent.parent
    same = [each for each in visit.find_subtrees("<answer>") if each.path <= answer.path]
    return answer.get_root().at(answer.path) is answer and number_in(answer) == len(same)
def is_rare(*nodes):
    import hashlib
    return hashlib.sha1("".join(map(str, nodes)).encode()).digest()[:3] == bytes(3)
def are_rare(nodes):
    return all(map(is_rare, nodes))
"""
NUMBERED = [
    "forall <v> in <visit>: forall <e> in <v>..<exchange>: is_counted(<v>, <e>)",
    "forall <v> in <visit>: all(is_counted(<v>, e) for e in *<v>..<exchange>)",
    "forall <e> in <exchange>: exists <v> in <visit>: is_counted(<v>, <e>)",
    "forall <a> in <answer>: exists <v> in <visit>: is_next(<v>, <a>)",
    "forall <a> in <answer>: is_in_its_place(<a>)",
]


# What this asks of the second answer is searched for at length.
LONG_SEARCH = (NUMBERED[4], 2)


@pytest.mark.parametrize(
    ("condition", "wrong"),
    [
        pytest.param(condition, wrong, marks=pytest.mark.slow if (condition, wrong) == LONG_SEARCH else ())
        for condition in NUMBERED
        for wrong in (None, 2, 4)
    ],
)
def test_nodes_are_the_same_however_they_are_found(condition: str, wrong: int | None) -> None:
    said = [b"HI\n"]
    answers = 0

    def counting(line: bytes) -> bytes:
        nonlocal answers
        if line == b"HELLO\n":
            said.append(b"HI\n")
        elif line == b"LEAVE\n":
            said.append(b"LEFT\n")
        elif line.startswith(b"ASK"):
            before = said[::-1].index(b"HI\n")
            answers += 1
            said.append(b"SAY %d\n" % (before + (6 if answers == wrong else 1)))
        else:
            return b""
        return said[-1]

    session = DrivenSession(f"{VISITS}where {condition}\n", seed=3).open()
    while not session.session.is_over and (asked := session.talk()):
        if answer := counting(asked):
            session.hear(answer)
    if wrong is None or answers < wrong:
        assert session.session.findings == []
        return
    (finding,) = session.session.findings
    given = [each for each in finding.messages if each.symbol == "<answer>"]
    assert (finding.kind, finding.party, len(given)) == (FindingKind.CONSTRAINT, "Server", wrong - 1)
    assert finding.got == [each for each in said if each.startswith(b"SAY")][wrong - 1]


def served(text: str, lines: str) -> DrivenSession:
    """A session in which we are the server of these lines."""
    session = DrivenSession(text, SERVER, "Server", 3).open()
    for line in lines.split():
        if not session.session.is_over:
            session.hear(line.replace("-", " ").encode() + b"\n")
            session.talk()
    return session


@pytest.mark.parametrize("condition", NUMBERED)
def test_our_messages_obey_conditions_on_nodes_that_are_still_open(condition: str) -> None:
    asked = "ASK-a " * 3
    session = served(f"{VISITS}where {condition}\n", f"HELLO {asked} LEAVE HELLO {asked} LEAVE QUIT")
    assert session.session.findings == []
    answers = [each.data for each in session.session.said if each.symbol == "<answer>"]
    assert [int(each[4:]) for each in answers] == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize(
    "condition",
    [
        "forall <a> in <answer>: exists <v> in <visit>: is_rare(<v>, <a>)",
        "exists <a> in <answer>: is_rare(<a>)",
        "exists <v> in <visit>: is_rare(<v>)",
        "are_rare(*<exchange>)",
        "are_rare(<start>.find_subtrees('<answer>'))",
        "is_rare(<start>)",
    ],
)
def test_who_ends_a_session_is_not_to_blame_for_what_we_could_not_satisfy(condition: str) -> None:
    session = served(f"{VISITS}where {condition}\n", "HELLO ASK-a LEAVE QUIT")
    assert session.kinds == [FindingKind.UNSOLVED]


@pytest.mark.parametrize("symbol", ["<answer>", "<exchange>", "<visit>"])
def test_every_node_has_a_place_of_its_own(symbol: str) -> None:
    condition = f"len({{node.path for node in *{symbol}}}) == len(*{symbol})"
    session = served(f"{VISITS}where {condition}\n", "HELLO ASK-a ASK-b LEAVE HELLO ASK-a LEAVE QUIT")
    assert session.session.findings == []
    assert len(session.session.said) == 15
