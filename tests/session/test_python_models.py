"""Models of a peer in the Python of a spec: our messages agree with them, and what does not is found where it came."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from driven_session import DrivenSession

import palaver
from amounts import examples
from palaver.session.findings import FindingKind
from palaver.testing import run_pair

TOKENS = r"""
<start> ::= <act>{4,9} <Client:quit> <Server:bye>
<act> ::= <Client:get> <Server:token> | <Client:use> (<Server:good> | <Server:bad>)
<get> ::= "GET\n"
<token> ::= "TOKEN " <hex> "\n"
<use> ::= "USE " <hex> "\n"
<good> ::= "GOOD\n"
<bad> ::= "BAD\n"
<quit> ::= "QUIT\n"
<bye> ::= "BYE\n"
<hex> ::= r"[0-9a-f]{4}"
def given_before(act):
    found = set()
    for other in act.get_root().find_subtrees("<act>"):
        if other.path >= act.path:
            break
        found |= {str(each)[6:-1] for each in other.find_subtrees("<token>")}
    return found
def is_judged(act):
    asked = str(act[0])
    if not asked.startswith("USE") or len(act) < 2:
        return True
    return str(act[1]) == ("GOOD\n" if asked[4:-1] in given_before(act) else "BAD\n")
"""
ACCOUNTS = r"""
<start> ::= <turn>{4,9} <Client:quit> <Server:bye>
<turn> ::= <Client:user> <Server:welcome> | <Client:who> (<Server:name> | <Server:nobody>) | <Client:logout> <Server:ok>
<user> ::= "USER " <id> "\n"
<welcome> ::= "HELLO " <id> "\n"
<who> ::= "WHO\n"
<name> ::= "YOU " <id> "\n"
<nobody> ::= "NOBODY\n"
<logout> ::= "LOGOUT\n"
<ok> ::= "OK\n"
<quit> ::= "QUIT\n"
<bye> ::= "BYE\n"
<id> ::= r"[a-z]{3,6}"
def is_consistent(turns):
    state = {"user": None}
    for turn in turns:
        asked, answer = str(turn[0]), str(turn[1])
        if asked.startswith("USER"):
            state["user"] = asked[5:-1]
            if answer[6:-1] != state["user"]:
                return False
        elif asked.startswith("LOGOUT"):
            state["user"] = None
        elif answer != ("NOBODY\n" if state["user"] is None else f"YOU {state['user']}\n"):
            return False
    return True
"""
COUNTER = r"""
<start> ::= <step>{3,8} <Client:quit> <Server:bye>
<step> ::= <Client:inc> <Server:val> | <Client:zero> <Server:val>
<inc> ::= "INC " <n> "\n"
<zero> ::= "ZERO\n"
<val> ::= "VAL " <total> "\n"
<quit> ::= "QUIT\n"
<bye> ::= "BYE\n"
<n> ::= r"[1-9]"
<total> ::= r"0|[1-9][0-9]{0,3}"
from functools import reduce
def added(total, asked):
    return 0 if asked.startswith("ZERO") else total + int(asked[4:])
def next_total(state, step):
    total = added(state[0], str(step[0]))
    return total, state[1] and int(str(step[1])[4:]) == total
def is_counted(step, steps):
    total = 0
    for other in steps:
        total = added(total, str(other[0]))
        if other.path == step.path:
            return int(str(step[1])[4:]) == total
    return True
"""


class TokenServer:
    def __init__(self) -> None:
        self.given: list[bytes] = []

    def __call__(self, line: bytes, is_wrong: bool) -> bytes:
        if line == b"GET\n":
            self.given.append(b"%04x" % (len(self.given) * 257))
            return b"TOKEN %s\n" % self.given[-1]
        return b"GOOD\n" if (line[4:-1] in self.given) is not is_wrong else b"BAD\n"


class AccountServer:
    def __init__(self) -> None:
        self.user: bytes | None = None

    def __call__(self, line: bytes, is_wrong: bool) -> bytes:
        if line.startswith(b"USER"):
            self.user = line[5:-1]
            return b"HELLO %s\n" % (b"zzz" if is_wrong else self.user)
        if line == b"LOGOUT\n":
            self.user = None
            return b"OK\n"
        if is_wrong:
            return b"YOU zzz\n"
        return b"NOBODY\n" if self.user is None else b"YOU %s\n" % self.user


class CountingServer:
    def __init__(self) -> None:
        self.total = 0

    def __call__(self, line: bytes, is_wrong: bool) -> bytes:
        self.total = 0 if line == b"ZERO\n" else self.total + int(line[4:])
        return b"VAL %d\n" % (self.total + 7 * is_wrong)


Server = Callable[[bytes, bool], bytes]
MODELS: list[tuple[str, Callable[[], Server], str]] = [
    (TOKENS, TokenServer, "forall <a> in <act>: is_judged(<a>)"),
    (TOKENS, TokenServer, "not any(not is_judged(a) for a in *<act>)"),
    (TOKENS, TokenServer, "len({str(t) for t in *<token>}) == |<token>| and all(map(is_judged, *<act>))"),
    (ACCOUNTS, AccountServer, "is_consistent(*<turn>)"),
    (ACCOUNTS, AccountServer, "is_consistent(<start>.find_direct_trees('<turn>'))"),
    (COUNTER, CountingServer, "reduce(next_total, *<step>, (0, True))[1]"),
    (COUNTER, CountingServer, "all(is_counted(s, *<step>) for s in *<step>)"),
    (
        COUNTER,
        CountingServer,
        "forall <s> in <step>: exists <t> in <start>: is_counted(<s>, <t>.find_subtrees('<step>'))",
    ),
]


FORMS = [condition for *_, condition in MODELS]


@pytest.mark.parametrize("text, _, condition", MODELS, ids=FORMS)
def test_both_sides_agree_with_a_model_of_either(text: str, _: object, condition: str) -> None:
    spec = palaver.loads(f"{text}where {condition}\n")
    for seed in range(examples(4)):
        for session in run_pair(spec, seed=seed):
            assert [finding.show() for finding in session.findings] == []


@pytest.mark.parametrize("wrong", [None, 0, 2])
@pytest.mark.parametrize("text, make, condition", MODELS, ids=FORMS)
def test_an_answer_that_a_model_excludes_is_found_when_it_comes(
    text: str, make: Callable[[], Server], condition: str, wrong: int | None
) -> None:
    session, server = DrivenSession(f"{text}where {condition}\n", seed=5).open(), make()
    could_be_wrong = 0
    changed = b""
    while not session.session.is_over and (asked := session.talk()) != b"QUIT\n":
        is_wrong = could_be_wrong == wrong
        said = server(asked, is_wrong)
        if not said.startswith((b"TOKEN", b"OK")):
            could_be_wrong += 1
            changed = said if is_wrong else changed
        session.hear(said)
    if not session.session.is_over:
        session.hear(b"BYE\n")
    assert [(each.kind, each.party, each.got) for each in session.session.findings] == (
        [(FindingKind.CONSTRAINT, "Server", changed)] if changed else []
    )


SUSPECTS = r"""
<start> ::= <exchange>{3}
<exchange> ::= <Client:ask> <Server:answer>
<ask> ::= "ASK\n"
<answer> ::= "SAY " <word> " " <num> "\n"
<word> ::= r"[a-c]"
<num> ::= r"[0-9]{1,2}"
from functools import reduce
def rising(numbers):
    return all(int(one) <= int(two) for one, two in zip(numbers, numbers[1:]))
def noted(state, answer):
    return state[0] + (str(answer[1]),), state[1] and str(answer[1]) not in state[0]
where rising(*<num>)
where reduce(noted, *<answer>, ((), True))[1]
"""


def test_of_two_broken_constraints_the_message_that_came_first_is_named() -> None:
    session = DrivenSession(SUSPECTS).open()
    for answer in (b"SAY a 4\n", b"SAY a 94\n", b"SAY b 52\n"):
        session.talk()
        session.hear(answer)
    (finding,) = session.session.findings
    assert (finding.kind, finding.party, finding.got) == (FindingKind.CONSTRAINT, "Server", b"SAY a 94\n")
