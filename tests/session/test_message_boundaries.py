"""Grammar and constraints cut data into messages; only where they leave it open, time decides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from driven_session import DrivenSession

from palaver.party import ConnectionMode
from palaver.session.findings import FindingKind, Verdict
from palaver.session.interface import Opened, Received
from palaver.session.setup import RoleAssignment

TWO = "<start> ::= <Client:go> <Server:one> <Server:two>\n<go> ::= 'GO\\n'\n"
EITHER = "<start> ::= <Client:go> (<Server:one> | <Server:two> <Server:three>)\n<go> ::= 'GO\\n'\n"
COUNTED = "<one> ::= <size> r'[a-z]+'\n<size> ::= r'[0-9]'\n<two> ::= r'[a-z]+' '\\n'\n"
COUNTED += "where forall <o> in <one>: len(str(<o>)) == int(<o>.<size>) + 1\n"


def heard(text: str, *pieces: bytes) -> list[tuple[str, bytes]]:
    """The messages that the pieces are read as, if nothing else comes."""
    driven = DrivenSession(text).open()
    driven.talk()
    for piece in pieces:
        driven.hear(piece)
    driven.wait(3.0)
    assert driven.session.verdict is Verdict.PASS, driven.session.findings[0].show()
    return [(said.symbol, said.data) for said in driven.session.said[1:]]


# --- where a message ends ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (f"{TWO}<one> ::= 'a' | 'ab'\n<two> ::= 'bc'\n", [("<one>", b"a"), ("<two>", b"bc")]),
        (f"{TWO}<one> ::= 'a' | 'ab'\n<two> ::= 'bc' | 'c'\n", [("<one>", b"ab"), ("<two>", b"c")]),
        (f"{EITHER}<one> ::= 'ab'\n<two> ::= 'a'\n<three> ::= 'bc'\n", [("<two>", b"a"), ("<three>", b"bc")]),
        (f"{EITHER}<one> ::= 'ab' 'c'?\n<two> ::= 'ab'\n<three> ::= 'c'\n", [("<one>", b"abc")]),
    ],
    ids=["a shorter one", "the longest", "another one", "another one that is longer"],
)
@pytest.mark.parametrize("pieces", [(b"abc",), (b"a", b"bc"), (b"ab", b"c"), (b"a", b"b", b"c")], ids=len)
def test_the_data_behind_a_message_decides_its_end(
    text: str, messages: list[tuple[str, bytes]], pieces: tuple[bytes, ...]
) -> None:
    assert heard(text, *pieces) == messages


def test_a_constraint_decides_the_end_of_a_message() -> None:
    assert heard(TWO + COUNTED, b"3abcdef\n") == [("<one>", b"3abc"), ("<two>", b"def\n")]
    assert heard(TWO + COUNTED, b"1abc", b"def\n") == [("<one>", b"1a"), ("<two>", b"bcdef\n")]


def test_if_no_length_satisfies_the_constraints_the_longest_is_reported() -> None:
    driven = DrivenSession(TWO + COUNTED).open()
    driven.talk()
    driven.hear(b"9abcdef\n")
    (finding,) = driven.session.findings
    assert (finding.kind, finding.got) == (FindingKind.CONSTRAINT, b"9abcdef")


def test_if_nothing_can_follow_the_message_itself_is_accepted() -> None:
    driven = DrivenSession(f"{TWO}<one> ::= 'a' | 'ab'\n<two> ::= 'c'\n").open()
    driven.talk()
    driven.hear(b"abx")
    (finding,) = driven.session.findings
    assert [said.data for said in driven.session.said[1:]] == [b"ab"]
    assert (finding.kind, finding.got, finding.expected) == (FindingKind.UNPARSEABLE, b"x", ("'c'",))


# --- what only time can tell ------------------------------------------------------------------------------------------

OPEN = "<start> ::= <Client:go> (<Server:short> | <Server:long>) <Client:go>\n<go> ::= 'GO\\n'\n"
OPEN += "<short> ::= '250'\n<long> ::= '250 ok'\n"


def test_a_message_that_may_be_the_beginning_of_another_one_waits() -> None:
    driven = DrivenSession(OPEN).open()
    driven.talk()
    driven.hear(b"250")
    assert driven.talk() == b""
    driven.hear(b" o", after=0.1)
    driven.hear(b"k", after=0.1)
    assert [said.symbol for said in driven.session.said[1:]] == ["<long>"]
    assert driven.talk() == b"GO\n"


WORDS = "<start> ::= <Client:go> (<Server:word> <Client:go>)*\n<go> ::= 'GO\\n'\n<word> ::= r'[a-z]+'\n"


def quiet_interval(driven: DrivenSession) -> float:
    """The time that a message is waited for that could go on."""
    assert driven.session.deadline is not None
    return driven.session.deadline - driven.now


@pytest.mark.parametrize(("pause", "interval"), [(0.0001, 0.05), (0.02, 0.08), (0.1, 0.4)])
def test_the_quiet_interval_follows_the_pauses_of_the_peer(pause: float, interval: float) -> None:
    driven = DrivenSession(WORDS).open()
    driven.talk()
    driven.hear(b"a")
    assert quiet_interval(driven) == pytest.approx(0.15)
    driven.hear(b"b", after=pause)
    assert quiet_interval(driven) == pytest.approx(interval)


def test_the_quiet_interval_grows_with_the_pauses_up_to_a_limit() -> None:
    driven = DrivenSession(WORDS).open()
    driven.talk()
    driven.hear(b"a")
    for pause, interval in [(0.1, 0.4), (0.3, 1.2), (1.1, 2.0), (0.1, 2.0)]:
        driven.hear(b"b", after=pause)
        assert quiet_interval(driven) == pytest.approx(interval)


def test_the_quiet_interval_can_be_fixed() -> None:
    driven = DrivenSession(WORDS, quiet=0.7).open()
    driven.talk()
    driven.hear(b"a")
    driven.hear(b"b", after=0.01)
    assert quiet_interval(driven) == pytest.approx(0.7)


# --- several parties --------------------------------------------------------------------------------------------------

BOTH = """
<start> ::= <A:B:go> <B:A:left> <D:C:right> <B:A:left> <C:D:go>
<go> ::= "GO\\n"
<left> ::= "left " r"[0-9]" "\\n"
<right> ::= "right " r"[0-9]" "\\n"
"""
FOUR = RoleAssignment(
    {
        "A": ("1", ConnectionMode.CONNECT),
        "B": ("1", ConnectionMode.EXTERNAL),
        "C": ("2", ConnectionMode.CONNECT),
        "D": ("2", ConnectionMode.EXTERNAL),
    }
)


def merged(left: list[bytes], right: list[bytes]) -> Iterator[list[tuple[str, bytes]]]:
    """Every order in which the pieces of two links can come."""
    if not left or not right:
        yield [("A", piece) for piece in left] + [("C", piece) for piece in right]
        return
    yield from ([("A", left[0]), *rest] for rest in merged(left[1:], right))
    yield from ([("C", right[0]), *rest] for rest in merged(left, right[1:]))


def test_pieces_of_several_parties_may_come_in_every_order() -> None:
    orders = list(merged([b"le", b"ft 1\nleft", b" 2\n"], [b"ri", b"ght", b" 3\n"]))
    assert len(orders) == 20
    for order in orders:
        driven = DrivenSession(BOTH, FOUR, link="A")
        driven.open().do(Opened(0.0, "C"))
        assert driven.talk() == b"GO\n"
        for link, piece in order:
            driven.do(Received(0.0, link, piece))
        assert driven.session.verdict is Verdict.PASS, driven.session.findings[0].show()
        assert [said.data for said in driven.session.said[1:]] == [b"left 1\n", b"right 3\n", b"left 2\n"]
        assert driven.talk() == b"GO\n"


def test_a_message_may_end_with_a_byte_that_begins_a_character() -> None:
    driven = DrivenSession(
        '<start> ::= <Client:ask> <Server:answer>\n<ask> ::= "ASK\\n"\n<answer> ::= b"\\xc3"\n'
    ).open()
    driven.talk()
    driven.hear(b"\xc3")
    assert [said.data for said in driven.session.said] == [b"ASK\n", b"\xc3"]


@pytest.mark.parametrize("after", [0.0, 2.0])
def test_how_long_the_peer_thinks_says_nothing_about_pauses_in_a_message(after: float) -> None:
    text = '<start> ::= <Client:ask> <Server:answer> <Client:ask>\n<ask> ::= "ASK\\n"\n<answer> ::= r"[a-z]+"\n'
    driven = DrivenSession(text).open()
    driven.talk()
    driven.hear(b"abc", after=after)
    quiet = (driven.session.deadline or 0.0) - driven.now
    assert 0.0 < quiet < 0.5
