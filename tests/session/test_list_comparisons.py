"""Lists that must become equal: an answer that repeats a list is right or wrong item by item, and we can give it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from driven_session import SERVER, DrivenSession

import palaver
from palaver.session.findings import FindingKind, Verdict
from palaver.testing import run_pair

RULES = """
<add> ::= "ADD " <n> "\\n"
<list> ::= "LIST\\n"
<n> ::= r"[0-9]{1,2}"
<end> ::= "END\\n"
<quit> ::= "QUIT\\n"
<bye> ::= "BYE\\n"
"""
ONE_MESSAGE = '<echo> ::= "IS" (" " <n>)* "\\n"\n'
MANY_MESSAGES = '<echo> ::= "IS " <n> "\\n"\n'
ONCE = "<start> ::= <Client:add>{2,4} <Client:list> <answer> <Client:quit> <Server:bye>\n"
ROUNDS = """<start> ::= <round>{2} <Client:quit> <Server:bye>
<round> ::= <Client:add>{2,4} <Client:list> <answer>
"""

DIALOGUES = {
    "one message": f"{ONCE}<answer> ::= <Server:echo>\n{ONE_MESSAGE}{RULES}",
    "many messages": f"{ONCE}<answer> ::= <Server:echo>{{1,9}} <Server:end>\n{MANY_MESSAGES}{RULES}",
    "one message a round": f"{ROUNDS}<answer> ::= <Server:echo>\n{ONE_MESSAGE}{RULES}",
    "many messages a round": f"{ROUNDS}<answer> ::= <Server:echo>{{1,9}} <Server:end>\n{MANY_MESSAGES}{RULES}",
}
OF_SESSION: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "[*<echo>.<n>] == [*<add>.<n>]": lambda added: added,
    "[str(n) for n in *<add>.<n>] == [str(n) for n in *<echo>.<n>]": lambda added: added,
    "list(map(int, *<echo>.<n>)) == list(map(int, *<add>.<n>))": lambda added: added,
    '" ".join(map(str, *<echo>.<n>)) == " ".join(map(str, *<add>.<n>))': lambda added: added,
    "sorted(int(n) for n in *<add>.<n>) == [int(n) for n in *<echo>.<n>]": lambda added: sorted(added, key=int),
    "[str(n) for n in *<echo>.<n>] == list(reversed([str(n) for n in *<add>.<n>]))": lambda added: added[::-1],
}
OF_ROUND: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "forall <r> in <round>: [*<r>.<add>.<n>] == [*<r>..<echo>.<n>]": lambda added: added,
    "forall <r> in <round>: [int(n) for n in *<r>..<echo>.<n>] == sorted(int(n) for n in *<r>.<add>.<n>)": (
        lambda added: sorted(added, key=int)
    ),
    "forall <r> in <round>: [str(n) for n in *<r>..<echo>.<n>] == [str(n) for n in *<r>..<add>.<n>]": lambda added: (
        added
    ),
}
WORLDS = [
    (dialogue, condition) for dialogue in DIALOGUES for condition in (OF_ROUND if "round" in dialogue else OF_SESSION)
] + [("one message a round", condition) for condition in list(OF_SESSION)[:4]]

# What is missing from a list of the session, or too much, may be made up for in the next round.
WRONG = [
    (dialogue, condition, how)
    for dialogue, condition in WORLDS
    for how in ("another order", "one too few", "one too many")
    if how == "another order" or "a round" not in dialogue or condition in OF_ROUND
]


def wrong(how: str, items: list[bytes]) -> tuple[list[bytes], int]:
    """The items with one thing wrong, and the number of the first that differs."""
    match how:
        case "another order":
            at = next(at for at in range(len(items) - 1) if items[at] != items[at + 1])
            items = [*items]
            items[at], items[at + 1] = items[at + 1], items[at]
            return items, at
        case "one too few":
            return items[:-1], len(items) - 1
        case _:
            return [*items, items[0]], len(items)


def listed(dialogue: str, condition: str, how: str, seed: int) -> tuple[DrivenSession, list[bytes], int]:
    """A session as the client of a server that repeats the first list wrongly, what it said then, and since when."""
    session = DrivenSession(f"{DIALOGUES[dialogue]}where {condition}\n", seed=seed).open()
    ordered = {**OF_SESSION, **OF_ROUND}[condition]
    added: list[bytes] = []
    replies, first = [b""], -1
    while not session.session.is_over:
        asked = session.talk()
        if not asked:
            session.wait(10)
        for line in asked.splitlines():
            if line.startswith(b"ADD"):
                added.append(line[4:])
            elif line == b"LIST" and first < 0:
                # Where all items are equal, no order is wrong.
                how = how if len(set(added)) > 1 else "one too many"
                items, first = wrong(how, ordered(added))
                if "many" in dialogue:
                    replies = [b"IS " + item + b"\n" for item in items] + [b"END\n"]
                else:
                    replies, first = [b"IS" + b"".join(b" " + item for item in items) + b"\n"], 0
                for reply in replies:
                    if not session.session.is_over:
                        session.hear(reply)
    return session, replies, first


@pytest.mark.parametrize(("dialogue", "condition", "how"), WRONG)
def test_a_wrong_list_is_accused_where_it_goes_wrong(dialogue: str, condition: str, how: str) -> None:
    session, replies, first = listed(dialogue, condition, how, seed=1)
    assert session.kinds == [FindingKind.CONSTRAINT]
    (finding,) = session.session.findings
    assert (finding.party, finding.got) == ("Server", replies[first])


# All lists of the session in several rounds take longest to say: some are enough for the start.
SAID = list(dict.fromkeys([*WORLDS, *product(DIALOGUES, OF_SESSION)]))
SAID_FAST = [each for each in WORLDS if each[0] != "many messages a round"] + [
    ("many messages a round", condition) for condition in (next(iter(OF_ROUND)), list(OF_SESSION)[5])
]
SAID_BY_SEED = [
    pytest.param(*each, seed, marks=() if seed == 1 and each in SAID_FAST else pytest.mark.slow)
    for each in SAID
    for seed in range(1, 5)
]


@pytest.mark.parametrize(("dialogue", "condition", "seed"), SAID_BY_SEED)
def test_both_sides_can_say_such_lists(dialogue: str, condition: str, seed: int) -> None:
    spec = palaver.loads(f"{DIALOGUES[dialogue]}where {condition}\n")
    assert [session.findings for session in run_pair(spec, seed=seed)] == [[], []]


@pytest.mark.parametrize("goes_on", [False, True], ids=["closes", "asks all the same"])
def test_who_could_not_go_on_is_not_accused(*, goes_on: bool) -> None:
    """What the client has added is right, and yet the server said already what cannot come first any more."""
    text = DIALOGUES["many messages a round"].replace("{2,4}", "{2}")
    condition = "[str(n) for n in *<echo>.<n>] == list(reversed([str(n) for n in *<add>.<n>]))"
    session = DrivenSession(f"{text}where {condition}\n", SERVER, "Server").open()
    for asked in (b"ADD 1\n", b"ADD 2\n", b"LIST\n"):
        session.hear(asked)
    assert session.talk().startswith(b"IS 2\n")
    for asked in (b"ADD 5\n", b"ADD 6\n"):
        session.hear(asked)
    if goes_on:
        session.hear(b"LIST\n")
    session.close()
    assert session.kinds == [FindingKind.UNSOLVED]
    (finding,) = session.session.findings
    assert (finding.party, session.session.verdict) == ("", Verdict.INCONCLUSIVE)
    assert "list(reversed(" in finding.message


def test_a_long_list_is_repeated_in_one_message() -> None:
    text = DIALOGUES["one message"].replace("{2,4}", "{25}")
    pair = run_pair(palaver.loads(f"{text}where [*<echo>.<n>] == [*<add>.<n>]\n"), seed=1)
    assert [session.findings for session in pair] == [[], []]


def test_lists_that_code_makes_shorter_again_are_not_judged_item_by_item() -> None:
    """The last two of each are compared, so a difference is none two items later."""
    text = DIALOGUES["many messages"].replace("{2,4}", "{3}")
    condition = "[str(n) for n in *<echo>.<n>][-2:] == [str(n) for n in *<add>.<n>][-2:]"
    session = DrivenSession(f"{text}where {condition}\n", seed=1).open()
    added = [line[4:] for line in session.talk().splitlines() if line.startswith(b"ADD")]
    for item in (b"0", *added[-2:]):
        session.hear(b"IS " + item + b"\n")
    session.hear(b"END\n")
    assert session.talk() == b"QUIT\n"
    session.hear(b"BYE\n")
    assert session.session.findings == []
