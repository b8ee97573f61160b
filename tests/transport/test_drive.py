"""Driving a session: inputs before messages, on sockets and in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from palaver.addresses import Address
from palaver.session.interface import Action, Close, Closed, Input, Open, Opened, Received, Role, Send, TimePassed, Turn
from palaver.transport.clock import ManualClock
from palaver.transport.driver import Driver, EventLoop, drive
from palaver.transport.event_loop import SelectorEventLoop
from palaver.transport.memory_network import MemoryNetwork, in_pieces


@dataclass
class Chatterbox:
    """Sends its messages whenever it may, and is over when the peer has closed."""

    link: str
    role: Role
    address: Address
    to_say: list[bytes]
    must_hear: int = 0
    while_making: Callable[[], None] = lambda: None
    deadline: float | None = None
    is_over: bool = False
    is_open: bool = False
    heard: bytes = b""
    log: list[str] = field(default_factory=list)

    @property
    def wants_to_send(self) -> bool:
        return self.is_open and bool(self.to_say) and len(self.heard) >= self.must_hear

    def handle(self, happened: Input) -> Sequence[Action]:
        self.log.append(type(happened).__name__)
        match happened:
            case TimePassed() if self.log == ["TimePassed"]:
                return [Open(self.link, self.address, self.role)]
            case TimePassed():
                self.is_over = True
            case Opened():
                self.is_open = True
            case Received(_, _, data):
                self.heard += data
            case Closed():
                self.is_over = True
                return [Close(self.link)]
            case _:
                pass
        return []

    def speak(self, at: float) -> bool:
        self.log.append("speak")
        self.while_making()
        return True

    def commit(self, at: float) -> Sequence[Action]:
        self.log.append("commit")
        said = self.to_say.pop(0)
        if self.to_say:
            return [Send(self.link, said)]
        self.is_over = True
        return [Send(self.link, said), Close(self.link)]

    def discard(self) -> None:
        self.log.append("discard")


HERE = Address("tcp", "127.0.0.1", 4000)


def pair_in(world: MemoryNetwork, **more: object) -> tuple[Chatterbox, Chatterbox]:
    server = Chatterbox("server", "listen", HERE, [])
    client = Chatterbox("client", "connect", HERE, [b"one", b"two", b"three"], **more)  # type: ignore[arg-type]
    world.add(server)
    world.add(client)
    return client, server


@pytest.mark.parametrize("wire", [in_pieces(1), in_pieces(2, 0.5), in_pieces(100)])
def test_two_sessions_talk_in_memory(wire: Callable[[str, bytes], list[tuple[float, bytes]]]) -> None:
    world = MemoryNetwork(wire=wire)
    client, server = pair_in(world)
    world.run()
    assert server.heard == b"onetwothree"
    assert client.log == ["TimePassed", "Opened"] + ["speak", "commit"] * 3


def test_a_session_is_driven_while_others_run_in_its_network() -> None:
    world = MemoryNetwork()
    server = Chatterbox("server", "listen", HERE, [])
    world.add(Chatterbox("client", "connect", HERE, [b"hello"]))
    drive(server, world.loop())
    assert server.heard == b"hello"


def test_a_session_is_driven_over_a_socket() -> None:
    # The client has said everything before the server is driven; nothing is lost.
    with SelectorEventLoop() as loop:
        server = Chatterbox("server", "listen", Address("tcp"), [])
        loop.carry_out([Open("server", Address("tcp"), "listen")])
        address = Address("tcp", port=loop.port_of("server"))
        loop.carry_out([Close("server")])
        drive(Chatterbox("client", "connect", address, [b"hello"]), loop)
        drive(server, loop)
    assert server.heard == b"hello"


def test_a_message_is_discarded_if_input_came_first() -> None:
    clock = ManualClock()
    world = MemoryNetwork(clock, wire=in_pieces(100, 0.0))
    loop = world.loop()
    loop.carry_out([Open("server", HERE, "listen")])

    def slowly() -> None:
        if not clock.now():
            clock.advance(1.0)
            loop.carry_out([Send("server", b"I was first")])

    client = Chatterbox("client", "connect", HERE, [b"reply"], while_making=slowly)
    drive(client, world.loop())
    assert client.log == ["TimePassed", "Opened", "speak", "discard", "Received", "speak", "commit"]


@pytest.mark.parametrize("seen_at", [0, 1, 2, 3])
def test_a_message_may_be_seen_at_any_moment(seen_at: int) -> None:
    looks = iter(range(100))
    world = MemoryNetwork(hold=lambda link: link == "client" and next(looks) < seen_at)
    loop = world.loop()
    loop.carry_out([Open("server", HERE, "listen"), Send("server", b"hi")])
    client = Chatterbox("client", "connect", HERE, [b"a", b"b"])
    client.is_open = True
    drive(client, world.loop())
    assert (
        client.log[: 2 + seen_at]
        == {
            0: ["TimePassed", "Opened"],
            1: ["TimePassed", "speak", "discard"],
            2: ["TimePassed", "speak", "commit", "Opened"],
            3: ["TimePassed", "speak", "commit", "speak", "discard"],
        }[seen_at]
    )


def test_a_session_is_woken_at_its_deadline() -> None:
    world = MemoryNetwork()
    server = Chatterbox("server", "listen", HERE, [], deadline=7.0)
    drive(server, world.loop())
    assert (server.log, world.clock.now()) == (["TimePassed", "TimePassed"], 7.0)


def test_every_session_of_a_network_is_woken() -> None:
    world = MemoryNetwork()
    client, server = pair_in(world, must_hear=1, deadline=3.0)
    server.deadline = 5.0
    world.run()
    assert client.log == ["TimePassed", "Opened", "TimePassed"]
    assert world.clock.now() == 5.0


def test_sessions_that_wait_for_each_other_raise() -> None:
    world = MemoryNetwork()
    pair_in(world, must_hear=1)
    with pytest.raises(RuntimeError, match="somebody waits"):
        world.run()


def test_inputs_turns_and_actions_are_observed_in_order() -> None:
    world = MemoryNetwork()
    seen: list[Input | Action | Turn] = []
    world.add(Chatterbox("server", "listen", HERE, []))
    drive(Chatterbox("client", "connect", HERE, [b"hello"]), world.loop(), seen.append)
    kinds = [type(each).__name__ for each in seen]
    assert kinds == ["TimePassed", "Open", "Opened", "Turn", "Send", "Close"]


class Reopens(Chatterbox):
    """Opens its link anew at the first input."""

    def handle(self, happened: Input) -> Sequence[Action]:
        actions = super().handle(happened)
        if isinstance(happened, Received) and self.heard == b"w":
            return [Open(self.link, self.address, self.role)]
        return actions


def test_inputs_of_a_link_are_dropped_when_it_is_opened_anew() -> None:
    world = MemoryNetwork(wire=in_pieces(1))
    session = Reopens("server", "listen", HERE, [], deadline=1.0)
    world.add(Chatterbox("client", "connect", HERE, [b"word"]))
    drive(session, world.loop())
    assert session.heard == b"w"


class Thoughtless(Chatterbox):
    """Wants to send, but has no message."""

    def speak(self, at: float) -> bool:
        self.log.append("speak")
        return False


def test_a_session_without_a_message_waits() -> None:
    world = MemoryNetwork()
    world.add(Chatterbox("server", "listen", HERE, [b"hello"]))
    client = Thoughtless("client", "connect", HERE, [b"?"])
    drive(client, world.loop())
    assert client.heard == b"hello"


def test_both_event_loops_satisfy_the_protocol() -> None:
    with SelectorEventLoop() as loop:
        carriers: list[EventLoop] = [loop, MemoryNetwork().loop()]
    assert all(carrier.clock.now() >= 0 for carrier in carriers)


def test_a_session_is_busy_while_it_handles_something() -> None:
    seen: list[bool] = []
    driver = Driver(
        Chatterbox("client", "connect", HERE, []), MemoryNetwork().loop(), lambda _: seen.append(driver.is_busy)
    )
    driver.deliver([TimePassed(0.0)])
    assert seen == [True, True]  # the input, and what it leads to
    assert not driver.is_busy
