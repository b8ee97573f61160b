"""A repetition in one message may count by a field of an earlier one, whoever said which."""

from __future__ import annotations

import pytest
from scenes import CLIENT, SERVER, Scene

from palaver.session.findings import Kind, Verdict

ORDER = r"""
<start> ::= <round>{3}
<round> ::= <Server:hello> <Client:items>
<hello> ::= "WANT " <count> "\n"
<count> ::= r"[0-9]"
<items> ::= "HAVE" <item>{BOUND} "\n"
<item> ::= " " r"[a-z]"
"""

BOUNDS = ["int(<hello>.<count>)", "int(<count>)", "int(<round>.<hello>.<count>)", "0, int(<hello>..<count>)"]
EXACT = BOUNDS[:3]


def order(bound: str = EXACT[0], more: str = "") -> str:
    return ORDER.replace("BOUND", bound) + more


def number_of_items(said: bytes) -> int:
    assert said.startswith(b"HAVE"), said
    assert said.endswith(b"\n"), said
    return said.count(b" ")


@pytest.mark.parametrize("bound", EXACT)
def test_we_say_as_many_as_the_other_has_asked_for_in_this_exchange(bound: str) -> None:
    scene = Scene(order(bound)).open()
    for count in (3, 0, 7):
        scene.hear(b"WANT %d\n" % count)
        assert number_of_items(scene.talk()) == count
    assert scene.session.verdict is Verdict.PASS


@pytest.mark.parametrize("seed", range(5))
def test_we_say_no_more_than_the_other_has_asked_for(seed: int) -> None:
    scene = Scene(order(BOUNDS[3]), seed=seed).open()
    for count in (1, 2, 0):
        scene.hear(b"WANT %d\n" % count)
        assert number_of_items(scene.talk()) <= count
    assert scene.session.verdict is Verdict.PASS


@pytest.mark.parametrize("bound", EXACT)
def test_who_says_as_many_as_we_have_asked_for_is_right(bound: str) -> None:
    scene = Scene(order(bound), SERVER, "Server").open()
    for _ in range(3):
        count = int(scene.talk().split()[1])
        scene.hear(b"HAVE" + b" x" * count + b"\n")
    assert scene.session.verdict is Verdict.PASS


@pytest.mark.parametrize("bound", EXACT)
@pytest.mark.parametrize("wrong_at", range(3))
def test_who_says_more_than_we_have_asked_for_is_found_out(bound: str, wrong_at: int) -> None:
    scene = Scene(order(bound), SERVER, "Server").open()
    for number in range(wrong_at + 1):
        count = int(scene.talk().split()[1])
        scene.hear(b"HAVE" + b" x" * (count + (number == wrong_at)) + b"\n")
    assert scene.kinds == [Kind.UNPARSEABLE]


def test_what_is_asked_of_the_items_holds_however_many_there_are() -> None:
    scene = Scene(order(more="where len(set(map(str, *<item>))) == len(*<item>)\n"), seed=3).open()
    for count in (5, 6, 4):
        scene.hear(b"WANT %d\n" % count)
        assert number_of_items(scene.talk()) == count
    assert scene.session.verdict is Verdict.PASS


def test_several_messages_count_by_the_same_field_and_the_latest_counts() -> None:
    text = r"""
<start> ::= <Server:hello> <Client:items> <Client:items> <Server:hello> <Client:items>
<hello> ::= "WANT " <count>? "\n"
<count> ::= r"[0-9]"
<items> ::= "HAVE" (" " r"[a-z]"){int(<count>)} "\n"
"""
    scene = Scene(text).open()
    scene.hear(b"WANT 4\n")
    assert [line.count(b" ") for line in scene.talk().splitlines()] == [4, 4]
    scene.hear(b"WANT \n")  # says nothing new
    assert number_of_items(scene.talk()) == 4


def test_what_counts_by_a_message_can_come_together_with_it() -> None:
    text = r"""
<start> ::= <Client:go> (<Server:hello> <Server:items>){2}
<go> ::= "GO\n"
<hello> ::= r"[0-9]+" <count> "\n"?
<count> ::= r"[0-9]"
<items> ::= "x"{int(<count>)} "."
"""
    scene = Scene(text, CLIENT).open()
    scene.talk()
    scene.hear(b"12\nxx.103\nxxx.")
    assert scene.session.verdict is Verdict.PASS


@pytest.mark.parametrize("casting, link", [(CLIENT, "Client"), (SERVER, "Server")])
def test_what_was_said_in_other_conversations_does_not_count(casting: object, link: str) -> None:
    text = order().replace("<round>{3}", "<Client:items> <round>")
    scene = Scene(text, casting, link).open()  # type: ignore[arg-type]
    scene.talk()
    if link == "Server":
        scene.hear(b"HAVE x\n")
    assert scene.kinds == [Kind.UNSOLVED if link == "Client" else Kind.UNPARSEABLE]
