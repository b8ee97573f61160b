"""How a link is follows from what was asked for and from what has happened."""

from __future__ import annotations

import pytest

from palaver.errors import PalaverError
from palaver.session.events import Address, Close, Closed, Finish, Open, Role, Send, Tls
from palaver.session.links import Links

PLACE: tuple[Address, Role] = (Address("tcp", "127.0.0.1", 25), "connect")
ELSEWHERE: tuple[Address, Role] = (Address("tcp", "127.0.0.1", 26), "connect")


def opened(*names: str) -> Links:
    """Links that are open, with nothing left to be done."""
    links = Links()
    for name in names:
        links.open(name, PLACE)
        links.opened(name)
    links.take_actions()
    return links


def test_an_action_is_to_be_done_once() -> None:
    links = Links()
    links.open("Client", PLACE, {"server_name": "here"})
    assert links.take_actions() == [Open("Client", *PLACE, tls=Tls(server_name="here"))]
    assert links.take_actions() == []


def test_a_link_that_is_up_is_opened_again_only_to_lead_elsewhere() -> None:
    links = opened("Client")
    links.open("Client", PLACE)
    assert links.take_actions() == []
    links.open("Client", ELSEWHERE)
    assert links.take_actions() == [Open("Client", *ELSEWHERE)]


def test_a_link_that_listens_at_any_port_is_known_by_the_one_it_got() -> None:
    links = Links()
    links.open("Server", (Address("tcp", "127.0.0.1", 0), "listen"))
    links.settled("Server", 4025)
    links.take_actions()
    links.open("Server", (Address("tcp", "127.0.0.1", 4025), "listen"))
    assert links.take_actions() == []


def test_printing_needs_nobody_to_connect() -> None:
    links = Links()
    links.open("StdOut", (Address("stdout"), "connect"))
    assert links.can_send("StdOut")
    assert not links.are_only_opening()


def test_nothing_is_sent_where_nothing_was_opened() -> None:
    with pytest.raises(PalaverError, match="nobody to say it to"):
        Links().send("Client", b"hello")


def test_we_may_speak_to_a_peer_that_says_no_more() -> None:
    links = opened("Client")
    links.closed(Closed(1.0, "Client"))
    assert links.can_send("Client")
    assert not links.is_up("Client")
    links.send("Client", b"bye")
    assert links.take_actions() == [Send("Client", b"bye")]


@pytest.mark.parametrize("event", [Closed(1.0, "Client", "reset"), Closed(1.0, "Client", exit_code=1)])
def test_nobody_is_spoken_to_who_has_gone(event: Closed) -> None:
    links = opened("Client")
    links.closed(event)
    assert not links.can_send("Client")
    assert links.is_lost("Client")
    assert links.are_all_down()
    assert links.is_any_reset() == (event.trouble == "reset")


def test_who_has_said_the_last_word_still_listens_until_the_link_is_opened_anew() -> None:
    links = opened("Client")
    links.finish("Client")
    assert links.take_actions() == [Finish("Client")]
    assert links.is_up("Client")
    assert not links.can_send("Client")
    links.open("Client", ELSEWHERE)
    links.opened("Client")
    assert links.can_send("Client")


def test_one_open_link_is_enough_to_be_talked_to() -> None:
    links = opened("Client")
    links.open("Other", PLACE)
    assert not links.are_only_opening()
    links.failed("Client")
    assert links.are_only_opening()
    links.failed("Other")
    assert not links.are_only_opening()
    assert links.are_all_down()


def test_a_link_is_closed_once() -> None:
    links = opened("Client", "Other")
    links.close("Client")
    assert links.take_actions() == [Close("Client")]
    links.close_all()
    links.close_all()
    assert links.take_actions() == [Close("Other")]
    assert not links.is_known("Other")
