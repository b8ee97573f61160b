"""The state of a connection follows from requests and events."""

from __future__ import annotations

import pytest

from palaver.addresses import Address
from palaver.errors import PalaverError
from palaver.session.interface import Close, Closed, Finish, Open, Role, Send, Tls
from palaver.session.roles import Connections

PLACE: tuple[Address, Role] = (Address("tcp", "127.0.0.1", 25), "connect")
ELSEWHERE: tuple[Address, Role] = (Address("tcp", "127.0.0.1", 26), "connect")


def opened(*names: str) -> Connections:
    """Connections that are open, with no action left."""
    connections = Connections()
    for name in names:
        connections.open(name, PLACE)
        connections.opened(name)
    connections.take_actions()
    return connections


def test_an_action_is_returned_once() -> None:
    connections = Connections()
    connections.open("Client", PLACE, {"server_name": "here"})
    assert connections.take_actions() == [Open("Client", *PLACE, tls=Tls(server_name="here"))]
    assert connections.take_actions() == []


def test_a_connection_that_is_up_is_reopened_only_for_another_place() -> None:
    connections = opened("Client")
    connections.open("Client", PLACE)
    assert connections.take_actions() == []
    connections.open("Client", ELSEWHERE)
    assert connections.take_actions() == [Open("Client", *ELSEWHERE)]


def test_a_connection_that_listens_at_any_port_is_known_by_its_port() -> None:
    connections = Connections()
    connections.open("Server", (Address("tcp", "127.0.0.1", 0), "listen"))
    connections.listening("Server", 4025)
    connections.take_actions()
    connections.open("Server", (Address("tcp", "127.0.0.1", 4025), "listen"))
    assert connections.take_actions() == []


def test_standard_output_is_always_open() -> None:
    connections = Connections()
    connections.open("StdOut", (Address("stdout"), "connect"))
    assert connections.can_send("StdOut")
    assert not connections.are_only_opening()


def test_nothing_is_sent_without_a_connection() -> None:
    with pytest.raises(PalaverError, match="cannot send without a connection"):
        Connections().send("Client", b"hello")


def test_we_may_send_to_a_peer_that_sends_no_more() -> None:
    connections = opened("Client")
    connections.closed(Closed(1.0, "Client"))
    assert connections.can_send("Client")
    assert not connections.is_up("Client")
    connections.send("Client", b"bye")
    assert connections.take_actions() == [Send("Client", b"bye")]


@pytest.mark.parametrize("event", [Closed(1.0, "Client", "reset"), Closed(1.0, "Client", exit_code=1)])
def test_nothing_is_sent_to_a_peer_that_has_gone(event: Closed) -> None:
    connections = opened("Client")
    connections.closed(event)
    assert not connections.can_send("Client")
    assert connections.is_lost("Client")
    assert connections.are_all_down()
    assert connections.is_any_reset() == (event.cause == "reset")


def test_a_half_closed_connection_still_receives_until_it_is_reopened() -> None:
    connections = opened("Client")
    connections.finish("Client")
    assert connections.take_actions() == [Finish("Client")]
    assert connections.is_up("Client")
    assert not connections.can_send("Client")
    connections.open("Client", ELSEWHERE)
    connections.opened("Client")
    assert connections.can_send("Client")


def test_one_open_connection_is_enough_to_receive() -> None:
    connections = opened("Client")
    connections.open("Other", PLACE)
    assert not connections.are_only_opening()
    connections.failed("Client")
    assert connections.are_only_opening()
    connections.failed("Other")
    assert not connections.are_only_opening()
    assert connections.are_all_down()


def test_a_connection_is_closed_once() -> None:
    connections = opened("Client", "Other")
    connections.close("Client")
    assert connections.take_actions() == [Close("Client")]
    connections.close_all()
    connections.close_all()
    assert connections.take_actions() == [Close("Other")]
    assert not connections.is_known("Other")
