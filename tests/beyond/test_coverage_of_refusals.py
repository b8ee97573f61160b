"""Coverage of refusals: a place of the dialogue, a kind of wrongness and a message; planned for if it is the goal."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import pytest
from beyond_peers import served, talked

import palaver
from palaver.navigation.knowledge_exchange import KnowledgeExchange
from palaver.navigation.refusal_cells import RefusalCells, places_of
from servers.in_process import StreamSession

SPEC = r"""
<start> ::= <Client:open> <Server:opened> <inside>
<inside> ::= <Client:ask> <Server:answer> <inside> | <Client:lock> <Server:locked> <deep> | <Client:bye> <Server:gone>
<deep> ::= <Client:ask> <Server:answer> <deep> | <Client:unlock> <Server:unlocked> <inside>
<open> ::= "open\n"
<ask> ::= "ask " <name> "\n"
<lock> ::= "lock\n"
<unlock> ::= "unlock\n"
<bye> ::= "bye\n"
<name> ::= r"[a-z]{1,8}"
<opened> ::= "opened\n"
<answer> ::= r"answer [a-z]{1,8}\n"
<locked> ::= "locked\n"
<unlocked> ::= "unlocked\n"
<gone> ::= "gone\n"

<beyond> ::= <again> | <early> | <late> | <too_soon> | <words> | <misspelt>
<again> ::= <Client:any_open> <Server:refusal>
<early> ::= <Client:any_ask> <Server:refusal>
<late> ::= <Client:any_unlock> <Server:refusal>
<too_soon> ::= <Client:any_lock> <Server:refusal>
<words> ::= <Client:any_bye> <Server:refusal>
<misspelt> ::= <Client:any_line> <Server:refusal>
<any_open> ::= "open\n"
<any_ask> ::= r"ask [a-z]{1,8}\n"
<any_lock> ::= "lock\n"
<any_unlock> ::= "unlock\n"
<any_bye> ::= "bye\n"
<any_line> ::= r"[^\n]*\n"
<refusal> ::= "error\n"
"""
PLACES = {
    ("<open>",): 4,
    ("<ask>", "<bye>", "<lock>"): 2,
    ("<ask>", "<unlock>"): 3,
}  # each with the number of messages that belong elsewhere


class Room(StreamSession):
    """Refuses all that is wrong."""

    def __init__(self) -> None:
        self.is_over = False
        self.buffer = b""
        self.state = "outside"

    def greet(self) -> bytes:
        return b""

    def hear(self, data: bytes) -> bytes:
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        return b"".join(self.answer(line) for line in lines if not self.is_over)

    def answer(self, line: bytes) -> bytes:
        """The answer to one line."""
        steps = {
            ("outside", b"open"): ("inside", b"opened\n"),
            ("inside", b"lock"): ("deep", b"locked\n"),
            ("deep", b"unlock"): ("inside", b"unlocked\n"),
            ("inside", b"bye"): ("over", b"gone\n"),
        }
        if re.fullmatch(rb"ask [a-z]{1,8}", line) and self.state in ("inside", "deep"):
            return b"answer " + line[4:] + b"\n"
        self.state, answer = steps.get((self.state, line), (self.state, b"error\n"))
        self.is_over = self.state == "over"
        return answer


@pytest.fixture(scope="module")
def room() -> palaver.Spec:
    return palaver.loads(SPEC)


def refusals(campaign: Any) -> RefusalCells:
    found = campaign.guidance.views.refusals
    assert isinstance(found, RefusalCells)
    return found


def test_a_place_is_what_may_be_said_there(room: palaver.Spec) -> None:
    with palaver.talk(room, client=1, beyond=0.5) as campaign:
        setup = campaign.setup
    assert set(places_of(setup.forecaster, setup.ours, setup.closing)) == set(PLACES)


def test_a_cell_is_a_place_a_kind_and_a_message(room: palaver.Spec) -> None:
    with palaver.talk(room, client=1, beyond=0.5) as campaign:
        cells = list(refusals(campaign).missing())
    for place, elsewhere in PLACES.items():
        kinds = [cell.kind for cell in cells if cell.place == place]
        assert kinds.count("state") == elsewhere
        assert kinds.count("structure") == kinds.count("terminal") == kinds.count("transport") == len(place)


def test_what_no_session_has_come_to_is_told(room: palaver.Spec) -> None:
    with palaver.talk(room, client=1, beyond=0.5) as campaign:
        told = refusals(campaign).reasons()
    assert sum(int(each.split()[0]) for each in told) == refusals(campaign).total
    assert any("no session has come where only <ask> or <unlock> may be said" in each for each in told)


def test_wrong_messages_in_every_place_are_a_goal(room: palaver.Spec) -> None:
    planned = talked(room, Room, 40, goal="beyond")
    plain = talked(room, Room, 40, goal="paths")
    assert planned.findings == plain.findings == []
    cells = refusals(planned)
    assert cells.reached > 1.2 * refusals(plain).reached
    left = [cell for cell in cells.missing() if cell.kind in ("state", "terminal", "transport")]
    assert left == []


def test_the_rest_is_left_out_with_its_reason(room: palaver.Spec) -> None:
    told = refusals(talked(room, Room, 60, goal="beyond")).reasons()
    assert any("extreme: what was made is a right message" in each or "extreme: " in each for each in told), told
    assert not any("not tried" in each or "no session" in each for each in told), told


def test_what_was_covered_is_kept_in_the_coverage_file(room: palaver.Spec, tmp_path: Any) -> None:
    file = tmp_path / "coverage.json"
    with served(Room) as port:
        palaver.talk(room, client=port, sessions=20, seed=1, goal="beyond", coverage_file=file).run()
        with palaver.talk(room, client=port, goal="beyond", coverage_file=file) as again:
            assert refusals(again).reached > 10


def test_the_command_shows_the_view_and_the_reasons(palaver: Any) -> None:
    palaver.write(room_fan=SPEC)
    with served(Room) as port:
        shown = palaver("talk", "room.fan", "--client", str(port), "--goal", "beyond", "--seed", "1", "--no-run")
    assert re.search(r"refusals [0-9]+ of [0-9]+", shown.text), shown.text
    assert re.search(r"^not covered: [0-9]+ refusals?: ", shown.text, re.MULTILINE), shown.text


def test_what_workers_have_refused_is_shared() -> None:
    ours, theirs = (palaver.talk("pop3", client="1", beyond=0.5, goal="beyond", seed=1) for _ in range(2))
    here, there = ours.guidance.views.refusals, theirs.guidance.views.refusals
    assert here is not None
    assert there is not None
    exchange, other = KnowledgeExchange(ours.guidance), KnowledgeExchange(theirs.guidance)
    first, second = islice(here.missing(), 2)
    here.missing_at(first.place)
    here.note(*first, cause="")
    here.note(*second, cause="the session was over")
    other.add(exchange.take())
    assert there.reached == here.reached == 1
    assert there.reasons() == here.reasons()
    assert exchange.take().counts == other.take().counts == {}
    ours.close()
    theirs.close()
