"""Parties do what the spec says: they transform, answer, reconfigure each other, and fail without harm."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scenes import Scene

import palaver
from amounts import few
from palaver.addresses import Address
from palaver.errors import PalaverError
from palaver.party import ConnectionMode, PartyHost, PartyNames
from palaver.random_source import RandomSource
from palaver.session.engine import Session
from palaver.session.findings import FindingKind, Verdict
from palaver.session.interface import Close, Closed, Listening, Open, Opened, Received, Send, TimePassed
from palaver.session.setup import RoleAssignment, SessionSetup
from palaver.session.strategy import RandomStrategy
from palaver.testing.socket_network import SocketNetwork
from palaver.transport.memory_network import MemoryNetwork, Wire, in_one_piece, in_pieces
from servers.common import free_port

NOBODY = RoleAssignment()

PAIR = """
class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:7", connection_mode=ConnectionMode.CONNECT)
        self.start()

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:7", connection_mode=ConnectionMode.EXTERNAL)
"""

ASK = """
<start> ::= <Client:Server:ask> <Server:Client:answer>
<ask> ::= "ASK\\n"
<answer> ::= "SAY " r"[a-z]+" "\\n"
"""


def opened(scene: Scene) -> list[tuple[str, Address, str]]:
    return [(each.link, each.address, each.role) for each in scene.actions if isinstance(each, Open)]


def said(scene: Scene) -> list[str]:
    return [each.symbol for each in scene.session.said]


# --- what a spec says about its parties -------------------------------------------------------------------------------


def test_a_party_that_starts_itself_is_connected_when_the_session_begins() -> None:
    scene = Scene(PAIR + ASK, NOBODY)
    assert opened(scene) == [("Client", Address("tcp", "127.0.0.1", 7), "connect")]
    assert scene.open().talk() == b"ASK\n"
    scene.hear(b"SAY hello\n")
    assert scene.session.verdict is Verdict.PASS
    assert scene.actions[-1] == Close("Client")


def test_a_party_that_opens_listens() -> None:
    text = PAIR.replace("CONNECT", "X").replace("EXTERNAL", "CONNECT").replace("X", "EXTERNAL")
    text = text.replace("ConnectionMode.CONNECT", "ConnectionMode.OPEN")
    text = text.replace("        self.start()\n", "") + "        self.start()\n"
    scene = Scene(text + ASK, NOBODY, link="Server")
    assert opened(scene) == [("Server", Address("tcp", "127.0.0.1", 7), "listen")]
    scene.open().hear(b"ASK\n")
    assert scene.talk().startswith(b"SAY ")
    assert scene.session.verdict is Verdict.PASS


def test_a_party_that_was_never_started_is_an_error_of_the_spec() -> None:
    scene = Scene(PAIR.replace("        self.start()\n", "") + ASK, NOBODY)
    assert opened(scene) == []
    scene.talk()
    (finding,) = scene.session.findings
    assert finding.kind is FindingKind.SPEC_CRASH
    assert "start() was not called" in finding.message


def test_address_and_port_may_be_assigned_before_the_start() -> None:
    text = PAIR.replace(
        "        self.start()\n", "        self.ip, self.port = 'localhost', 99\n        self.start()\n"
    )
    assert opened(Scene(text + ASK, NOBODY)) == [("Client", Address("tcp", "localhost", 99), "connect")]


def test_each_session_gets_new_objects_and_all_are_stopped() -> None:
    text = """
lives = []
class Client(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.CONNECT)
        lives.append("made")
    def send(self, message, recipient):
        lives.append(self is Client.instance())
        self.receive("SAY yes\\n", "Server")
    def stop(self):
        lives.append("stopped")
        super().stop()
class Server(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
"""
    spec = palaver.loads(text + ASK)
    lives = spec.namespace.names["lives"]
    spec.fuzz(2, seed=1).__next__()
    spec.parse(b"ASK\nSAY yes\n")
    assert lives == []
    setup = SessionSetup(spec, NOBODY)
    lives.clear()
    for number in range(2):
        chance = RandomSource(number)
        session = Session(setup, RandomStrategy(chance), chance)
        session.handle(TimePassed(0.0))
        assert session.speak(0.0)
        session.commit(0.0)
        assert session.verdict is Verdict.PASS
    assert lives == ["made", True, "stopped"] * 2


def test_sessions_of_one_spec_do_not_share_their_parties() -> None:
    text = PAIR + "n = iter(range(100))\n" + ASK.replace('"ASK\\n"', '"ASK " <port> "\\n"').replace("[a-z]", "[a-z0-9]")
    text += '<port> ::= r"[0-9]+" := str(Client.instance().number)\n'
    text = text.replace("        self.start()\n", "        self.start()\n        self.number = next(n)\n")
    setup = SessionSetup(palaver.loads(text), NOBODY)
    sessions = [Session(setup, RandomStrategy(RandomSource(1)), RandomSource(1)) for _ in range(2)]
    for session in sessions:
        session.handle(TimePassed(0.0))
        session.handle(Opened(0.0, "Client"))
    asked = []
    for session in sessions:
        assert session.speak(0.0)
        asked += [each.data for each in session.commit(0.0) if isinstance(each, Send)]
    assert asked == [b"ASK 1\n", b"ASK 2\n"]


def test_random_numbers_of_a_spec_follow_the_seed_of_the_session() -> None:
    text = "import random\n" + PAIR + ASK.replace('"ASK\\n"', '"ASK " <number> "\\n"')
    text += '<number> ::= r"[0-9]+" := str(random.randint(0, 1000000))\n'
    assert Scene(text, NOBODY, seed=5).open().talk() == Scene(text, NOBODY, seed=5).open().talk()
    assert Scene(text, NOBODY, seed=5).open().talk() != Scene(text, NOBODY, seed=6).open().talk()


# --- answering, and changing what goes by -----------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ['"SAY yes\\n"', 'b"SAY yes\\n"', "ANSWER"])
def test_a_party_may_answer_inside_of_send(answer: str) -> None:
    text = f"""
class Client(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.CONNECT)
    def send(self, message, recipient):
        assert (str(message), recipient) == ("ASK\\n", "Server")
        self.receive({answer}, "Server")
class Server(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
"""
    spec = palaver.loads(ASK)
    tree = spec.parse("ASK\nSAY yes\n").find_all_trees("<answer>")[0]
    scene = Scene(text + ASK, NOBODY)
    scene.spec.namespace.names["ANSWER"] = tree
    assert scene.talk() == b""
    assert said(scene) == ["<ask>", "<answer>"]
    assert scene.session.verdict is Verdict.PASS


RAISING = """
class Client(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.CONNECT)
    def send(self, message, recipient):
        {code}
class Server(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
"""


@pytest.mark.parametrize(
    "code, kind",
    [
        ("raise ConnectionRefusedError", FindingKind.REFUSED),
        ("raise ConnectionResetError", FindingKind.RESET),
        ("raise BrokenPipeError", FindingKind.RESET),
        ("raise TimeoutError", FindingKind.SILENCE),
        ("raise ValueError from ConnectionRefusedError()", FindingKind.REFUSED),
        ("try: raise ConnectionRefusedError\n        except OSError: raise ValueError", FindingKind.REFUSED),
        ("try: raise ConnectionRefusedError\n        except OSError: raise ValueError from None", FindingKind.REFUSED),
        ("raise FileNotFoundError", FindingKind.SPEC_CRASH),
        ("raise ValueError from KeyError()", FindingKind.SPEC_CRASH),
        ("error = ValueError(); raise error from error", FindingKind.SPEC_CRASH),
    ],
)
def test_an_error_of_a_partys_own_connection_is_about_the_peer(code: str, kind: FindingKind) -> None:
    scene = Scene(RAISING.format(code=code) + ASK, NOBODY)
    scene.talk()
    (finding,) = scene.session.findings
    assert finding.kind is kind
    assert "Client.send raised" in finding.message


CHANGING = """
import zlib
class Client(NetworkParty):
    def __init__(self):
        super().__init__("7", connection_mode=ConnectionMode.CONNECT)
        self.start()
        self.rest = b""
    def send(self, message, recipient):
        packed = zlib.compress(bytes(message))
        super().send(len(packed).to_bytes(2) + packed, recipient)
    def receive(self, message, sender):
        if message is None:
            return super().receive(message, sender)
        self.rest += message
        while len(self.rest) >= 2 and len(self.rest) >= 2 + self.rest[1]:
            packed, self.rest = self.rest[2:2 + self.rest[1]], self.rest[2 + self.rest[1]:]
            super().receive(zlib.decompress(packed), sender)
class Server(NetworkParty):
    def __init__(self):
        super().__init__("7", connection_mode=ConnectionMode.EXTERNAL)
"""


def test_send_and_receive_may_change_data_and_collect_it_until_it_is_whole() -> None:
    scene = Scene(CHANGING + ASK, NOBODY).open()
    packed = zlib.compress(b"ASK\n")
    assert scene.talk() == len(packed).to_bytes(2, "big") + packed
    packed = zlib.compress(b"SAY hello\n")
    for byte in len(packed).to_bytes(2, "big") + packed:
        assert not scene.session.is_over
        scene.hear(bytes([byte]))
    assert scene.session.said[-1].data == b"SAY hello\n"
    assert scene.session.verdict is Verdict.PASS


def test_a_message_that_a_party_collects_keeps_the_session_open() -> None:
    more = "<start> ::= <exchange>+\n<exchange> ::= <Server:Client:answer>\n"
    scene = Scene(CHANGING + ASK + more, NOBODY, quiet=0.1, patience=3.0).open()
    packed = zlib.compress(b"SAY hello\n")
    whole = len(packed).to_bytes(2, "big") + packed
    scene.hear(whole)
    for byte in whole:
        assert not scene.session.is_over
        scene.hear(bytes([byte]))
        scene.wait(2.0 if len(said(scene)) == 1 else 0.1)
    assert said(scene) == ["<answer>", "<answer>"]
    assert scene.session.is_over
    assert scene.session.verdict is Verdict.PASS


def test_data_that_a_party_drops_is_not_waited_for_without_end() -> None:
    dropping = "    def receive(self, message, sender):\n        pass\n"
    text = PAIR.replace("        self.start()\n", f"        self.start()\n{dropping}") + ASK
    scene = Scene(text, NOBODY, timeout=1.0, patience=1.0, max_message_bytes=100).open()
    scene.talk()
    for _ in range(20):
        scene.hear(b"0123456789", after=0.9)
    assert scene.kinds == [FindingKind.SILENCE]


def test_data_that_a_party_kept_to_the_end_comes_after_forwarded_data() -> None:
    keeping = """
    def receive(self, message, sender):
        if message is None:
            super().receive(self.kept, sender)
        else:
            message, self.kept = message[:-1], message[-1:]
        super().receive(message, sender)
"""
    scene = Scene(PAIR.replace("        self.start()\n", f"        self.start()\n{keeping}") + ASK, NOBODY).open()
    scene.talk()
    scene.hear(b"SAY hello\n")
    assert not scene.session.is_over
    scene.close()
    assert scene.session.said[-1].data == b"SAY hello\n"
    assert scene.session.verdict is Verdict.PASS


def test_only_messages_can_be_sent() -> None:
    text = PAIR.replace(
        "        self.start()\n", "        self.start()\n    def send(self, m, r):\n        super().send(3, r)\n"
    )
    scene = Scene(text + ASK, NOBODY).open()
    scene.talk()
    (finding,) = scene.session.findings
    assert finding.kind is FindingKind.SPEC_CRASH
    assert "int cannot be sent" in finding.message


# --- FTP: a second connection, made and closed while the first goes on ------------------------------------------------

FTP_CLIENT = """
class Control(NetworkParty):
    def __init__(self):
        super().__init__("21", connection_mode=ConnectionMode.CONNECT)
        self.start()
class Server(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
class Data(NetworkParty):
    def __init__(self):
        super().__init__("20", connection_mode=ConnectionMode.CONNECT)
    def receive(self, message, sender):
        if message is None:
            Mark.instance().receive("closed", "Closing")
        else:
            super().receive(message, sender)
class ServerData(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
class Mark(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.CONNECT)
class Closing(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)

def configure(port):
    Data.instance().port = port
    Data.instance().start()
    return port
"""

FTP_SERVER = """
class Control(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
class Server(NetworkParty):
    def __init__(self):
        super().__init__("21", connection_mode=ConnectionMode.OPEN)
        self.start()
class Data(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
class ServerData(NetworkParty):
    def __init__(self):
        super().__init__("20", connection_mode=ConnectionMode.OPEN)
class Mark(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
class Closing(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.OPEN)
    def send(self, message, recipient):
        ServerData.instance().stop()

def configure(port):
    ServerData.instance().port = port
    ServerData.instance().start()
    return port
"""

FTP = """
<start> ::= <transfer>{2} <Control:Server:quit>
<transfer> ::= <Control:Server:epsv> <Server:Control:port> <Control:Server:list> <Server:Control:begin> <listing>
<listing> ::= <ServerData:Data:names>? (<closed_first> | <done_first>)
<closed_first> ::= <Closing:Mark:closed> <Server:Control:done>
<done_first> ::= <Server:Control:done> <ServerData:Data:names>? <Closing:Mark:closed>
<epsv> ::= "EPSV\\n"
<port> ::= "229 " <open_port> "\\n"
<open_port> ::= <number> := configure(int(<parameter>))
<parameter> ::= <number> := configure(int(<open_port>))
<number> ::= r"[1-5][0-9]{4}|6[0-4][0-9]{3}"
<list> ::= "LIST\\n"
<begin> ::= "150\\n"
<names> ::= r"([a-z]+\\n)+"
<closed> ::= "closed"
<done> ::= "226\\n"
<quit> ::= "QUIT\\n"
"""


class Ftp(Scene):
    """The server's side of `FTP`, on two connections."""

    def __init__(self, text: str = FTP_CLIENT + FTP) -> None:
        super().__init__(text, NOBODY, link="Control")
        self.open()

    def data(self, data: bytes | None) -> None:
        happened = Closed(self.now, "Data") if data is None else Received(self.now, "Data", data)
        self.do(happened)

    def ready(self, port: int) -> None:
        """Up to the point where names are expected."""
        assert self.talk() == b"EPSV\n"
        self.actions.clear()
        self.hear(b"229 %d\n" % port)
        assert opened(self) == [("Data", Address("tcp", "127.0.0.1", port), "connect")]
        self.do(Opened(self.now, "Data"))
        assert self.talk() == b"LIST\n"


def close_in_order(scene: Ftp) -> None:
    scene.hear(b"150\n")
    scene.data(b"one\ntwo\n")
    scene.data(None)
    scene.hear(b"226\n")


def control_overtakes(scene: Ftp) -> None:
    scene.hear(b"150\n226\n")
    scene.wait(0.2)
    scene.data(b"one\ntwo\n")
    scene.data(None)


def data_overtakes(scene: Ftp) -> None:
    scene.data(b"one\n")
    scene.data(b"two\n")
    scene.data(None)
    scene.hear(b"15")
    scene.hear(b"0\n")
    scene.hear(b"226\n")


def no_names(scene: Ftp) -> None:
    scene.hear(b"150\n")
    scene.data(None)
    scene.hear(b"226\n")


ORDERS = [close_in_order, control_overtakes, data_overtakes, no_names]


@pytest.mark.parametrize("first", ORDERS)
@pytest.mark.parametrize("second", ORDERS)
def test_a_data_connection_may_race_with_the_control_connection(first: object, second: object) -> None:
    scene = Ftp()
    for number, order in enumerate((first, second)):
        scene.ready(20000 + number)
        order(scene)  # type: ignore[operator]
        assert scene.session.findings == []
    assert scene.talk() == b"QUIT\n"
    assert scene.session.verdict is Verdict.PASS
    names = [each.data for each in scene.session.said if each.symbol == "<names>"]
    assert set(names) <= {b"one\ntwo\n"}


def test_the_data_connection_may_be_opened_at_the_same_port_again() -> None:
    scene = Ftp()
    for _ in range(2):
        scene.ready(20000)
        close_in_order(scene)
    scene.talk()
    assert scene.session.verdict is Verdict.PASS


def test_a_party_may_configure_another_when_it_receives_data() -> None:
    listening = """        self.start()
    def receive(self, message, sender):
        if message is not None and message.startswith(b"229 "):
            configure(int(message.split()[1]))
        super().receive(message, sender)
"""
    classes = FTP_CLIENT.replace("        self.start()\n", listening)
    grammar = "\n".join(line for line in FTP.splitlines() if not line.startswith(("<open_port>", "<parameter>")))
    scene = Ftp(classes + grammar.replace("<open_port>", "<number>"))
    for _ in range(2):
        scene.ready(20000)
        close_in_order(scene)
    scene.talk()
    assert scene.session.verdict is Verdict.PASS


def test_data_that_was_not_announced_is_a_finding_after_the_timeout() -> None:
    scene = Ftp()
    scene.ready(20000)
    scene.data(b"one\n")
    assert not scene.session.findings
    scene.wait(5.1)
    (finding,) = scene.session.findings
    assert (finding.kind, finding.party, finding.got) == (FindingKind.UNEXPECTED, "ServerData", b"one\n")


def test_data_before_we_have_asked_for_it_is_a_finding_at_once() -> None:
    scene = Ftp()
    assert scene.talk() == b"EPSV\n"
    scene.hear(b"229 20000\n")
    scene.do(Opened(scene.now, "Data"))
    scene.data(b"one\n")
    assert scene.kinds == [FindingKind.UNEXPECTED]


def test_the_control_connection_alone_may_be_lost() -> None:
    scene = Ftp()
    scene.ready(20000)
    scene.close()
    assert scene.kinds == [FindingKind.CLOSED]


@pytest.mark.parametrize("seed", few(range(5)))
def test_the_port_that_a_server_announces_is_the_one_it_listens_at(seed: int) -> None:
    scene = Scene(FTP_SERVER + FTP.replace("{2}", ""), NOBODY, link="Server", seed=seed).open()
    scene.hear(b"EPSV\n")
    answer = scene.talk()
    port = int(answer.split()[1])
    assert opened(scene)[-1] == ("ServerData", Address("tcp", "127.0.0.1", port), "listen")
    scene.hear(b"LIST\n")
    scene.do(Opened(scene.now, "ServerData"))
    scene.talk()
    assert Close("ServerData") in scene.actions
    scene.hear(b"QUIT\n")
    assert scene.session.verdict is Verdict.PASS


ORDERLY = FTP.replace("names>? (<closed_first>", "names> (<closed_first>").replace(" <ServerData:Data:names>? ", " ", 1)


@pytest.mark.parametrize("wire", [in_one_piece, in_pieces(1, 0.001), in_pieces(3)], ids=["whole", "slow", "pieces"])
@pytest.mark.parametrize("seed", few(range(4)))
def test_both_sides_of_one_grammar_talk_to_the_end(seed: int, wire: Wire) -> None:
    world = MemoryNetwork(wire=wire)
    sessions = []
    for side, classes in (("server", FTP_SERVER), ("client", FTP_CLIENT)):
        chance = RandomSource(seed) / side
        setup = SessionSetup(palaver.loads(classes + ORDERLY), NOBODY)
        sessions.append(Session(setup, RandomStrategy(chance / "player"), chance))
        world.add(sessions[-1])
    world.run()
    assert [session.findings for session in sessions] == [[], []]
    for symbol in ("<names>", "<done>", "<closed>"):
        told = [[said.data for said in session.said if said.symbol == symbol] for session in sessions]
        assert told[0] == told[1]
        assert len(told[0]) == 2


def test_both_sides_of_one_grammar_talk_to_the_end_over_sockets() -> None:
    port = free_port()
    # The server takes what is free, whatever the grammar comes up with.
    server = FTP_SERVER.replace("configure(port):", "configure(port):\n    port = free_port()")
    sessions = []
    with SocketNetwork() as world:
        for classes in (server, FTP_CLIENT):
            spec = palaver.loads(classes.replace('"21"', f'"{port}"') + ORDERLY)
            spec.namespace.names["free_port"] = free_port
            sessions.append(Session(SessionSetup(spec, NOBODY), RandomStrategy(RandomSource(1)), RandomSource(1)))
            world.add(sessions[-1])
        world.run()
    assert [session.findings for session in sessions] == [[], []]
    assert [session.said[-1].symbol for session in sessions] == ["<quit>", "<quit>"]


@pytest.mark.parametrize("port", ["'x'", "None", "65536", "-1"])
def test_a_wrong_port_is_an_error_of_the_spec(port: str) -> None:
    text = PAIR.replace("        self.start()\n", f"        self.port = {port}\n        self.start()\n")
    with pytest.raises(PalaverError, match="the port of Client is"):
        Scene(text + ASK, NOBODY)


def test_a_party_that_listens_at_any_port_is_told_its_port() -> None:
    text = PAIR.replace("CONNECT", "X").replace("EXTERNAL", "OPEN").replace("X", "EXTERNAL").replace(":7", ":0")
    text = text.replace("        self.start()\n", "") + "        self.start()\n"
    announced = ASK.replace("<Client:Server:ask> ", "<Server:Client:port> <Client:Server:ask> ")
    announced += '<port> ::= r"[0-9]+" := str(Server.instance().port)\n'
    scene = Scene(text + announced, NOBODY, link="Server")
    scene.do(Listening(0.0, "Server", 40000))
    assert scene.open().talk() == b"40000"


def test_the_driver_tells_a_session_its_port() -> None:
    text = ASK + "<name> ::= 'x'\n"
    spec = palaver.loads(text)
    ports: list[int] = []
    for world in (MemoryNetwork(), SocketNetwork()):
        networks = {"Server": ("0", ConnectionMode.OPEN), "Client": ("0", ConnectionMode.EXTERNAL)}
        session = Session(
            SessionSetup(spec, RoleAssignment(networks)), RandomStrategy(RandomSource(1)), RandomSource(1)
        )
        driver = world.add(session)
        driver.step()
        ports.append(session._roles.party("Server").port)  # type: ignore[attr-defined]
        assert ports[-1] == driver.event_loop.port_of("Server")
        if isinstance(world, SocketNetwork):
            world.close()
    assert all(ports)


def test_a_party_without_a_class_can_be_asked_for_by_its_name() -> None:
    text = ASK.replace('"ASK\\n"', '"ASK " <port> "\\n"')
    text += '<port> ::= r"[0-9]+" := str(Client.instance().port + len(Server.instance().ip))\n'
    networks = {"Client": ("tcp://a:7", ConnectionMode.CONNECT), "Server": ("tcp://host:7", ConnectionMode.EXTERNAL)}
    assert Scene(text, RoleAssignment(networks)).open().talk() == b"ASK 11\n"


def test_a_party_without_a_class_has_no_object_outside_of_a_session() -> None:
    spec = palaver.loads(
        ASK.replace('"ASK\\n"', "<ask_of> ") + '<ask_of> ::= r"[0-9]+" := str(Client.instance().port)\n'
    )
    with pytest.raises(PalaverError, match="no session plays Client now"):
        next(spec.fuzz(1, seed=1))


def test_no_socket_is_opened_unless_a_session_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    started_at_once = "Client.instance().start()\nServer.instance().start()\n"
    spec = palaver.loads(PAIR + started_at_once + ASK)
    assert len(list(spec.fuzz(3, seed=1))) == 3
    assert spec.parse(b"ASK\nSAY yes\n")
    setup = SessionSetup(spec, NOBODY)
    session = Session(setup, RandomStrategy(RandomSource(1)), RandomSource(1))
    # Not even then: it is said that one is wanted, and whoever drives the session opens it.
    assert [type(action) for action in session.handle(TimePassed(0.0))] == [Open]


# --- more than two ----------------------------------------------------------------------------------------------------

THREE = """
class A(NetworkParty):
    def __init__(self):
        super().__init__("1", connection_mode=ConnectionMode.CONNECT)
        self.start()
class B(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
class C(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
<hello> ::= "hello\\n"
<yes> ::= "yes\\n"
<no> ::= "no\\n"
"""


def test_messages_between_two_peers_are_not_part_of_the_session() -> None:
    scene = Scene(THREE + "<start> ::= <A:B:hello> <B:C:hello> <C:B:no> <B:A:yes>\n", NOBODY, link="A").open()
    assert scene.talk() == b"hello\n"
    scene.hear(b"yes\n")
    assert said(scene) == ["<hello>", "<yes>"]
    assert scene.session.verdict is Verdict.PASS


def test_the_sender_is_known_if_only_one_can_send_now() -> None:
    scene = Scene(THREE + "<start> ::= <A:hello> <B:A:yes> <A:hello> <C:A:no>\n", NOBODY, link="A").open()
    scene.talk()
    scene.hear(b"yes\n")
    scene.talk()
    scene.hear(b"no\n")
    assert [each.sender for each in scene.session.said] == ["A", "B", "A", "C"]
    assert scene.session.verdict is Verdict.PASS


def test_the_sender_must_be_given_if_several_can_send() -> None:
    scene = Scene(THREE + "<start> ::= <A:hello> (<B:A:yes> | <C:A:no>)\n", NOBODY, link="A").open()
    scene.talk()
    scene.hear(b"yes\n")
    (finding,) = scene.session.findings
    assert finding.kind is FindingKind.SPEC_CRASH
    assert "unknown sender to A: name it in receive(); possible senders are: B, C" in finding.message


@pytest.mark.parametrize(("data", "sender"), [(b"yes\n", "B"), (b"no\n", "C")])
def test_the_sender_may_be_given_by_the_party(data: bytes, sender: str) -> None:
    told = "    def receive(self, m, s):\n        super().receive(m, 'B' if m == b'yes\\n' else 'C')\n"
    text = THREE.replace("        self.start()\n", f"        self.start()\n{told}")
    scene = Scene(text + "<start> ::= <A:hello> (<B:A:yes> | <C:A:no>)\n", NOBODY, link="A").open()
    scene.talk()
    scene.hear(data)
    assert scene.session.said[-1].sender == sender
    assert scene.session.verdict is Verdict.PASS


def test_a_sender_that_the_party_does_not_give_is_the_only_one_that_can_send_now() -> None:
    told = "    def receive(self, m, s):\n        super().receive(m, None)\n"
    text = THREE.replace("        self.start()\n", f"        self.start()\n{told}")
    scene = Scene(text + "<start> ::= <A:hello> <B:A:yes> <A:hello> <C:A:no>\n", NOBODY, link="A").open()
    scene.talk()
    scene.hear(b"yes\n")
    scene.talk()
    scene.hear(b"no\n")
    assert [each.sender for each in scene.session.said] == ["A", "B", "A", "C"]
    assert scene.session.verdict is Verdict.PASS


def test_a_party_with_another_name_than_its_class_is_still_that_party() -> None:
    text = PAIR.replace('"tcp://127.0.0.1:7", connection_mode=ConnectionMode.CONNECT', '"Other=7"')
    scene = Scene(text + ASK, NOBODY, link="Other")
    assert scene.talk() == b""
    assert scene.open().talk() == b"ASK\n"


def test_a_sender_without_a_class_is_standard_output() -> None:
    text = THREE + "<start> ::= <A:B:hello> <Chorus:no> <B:A:yes>\n"
    assert any("standard output" in each.message for each in palaver.loads(text).warnings)
    scene = Scene(text, NOBODY, link="A").open()
    assert ("StdOut", Address("stdout"), "connect") in opened(scene)
    scene.talk()
    assert said(scene) == ["<hello>", "<no>"]
    scene.hear(b"yes\n")
    assert scene.session.verdict is Verdict.PASS


def test_an_unknown_sender_is_an_error() -> None:
    with pytest.raises(PalaverError, match="no party plays Server"):
        Scene("<start> ::= <Client:Server:x>\n<x> ::= 'x'\n", RoleAssignment({"Client": ("1", ConnectionMode.CONNECT)}))


# --- standard input and output ----------------------------------------------------------------------------------------


def drain(scene: Scene) -> Sequence[tuple[str, bytes]]:
    """Let the session say what it wants to, and tell who said what."""
    while scene.session.wants_to_send and scene.session.speak(scene.now):
        scene.actions += scene.session.commit(scene.now)
    sent = [(each.link, each.data) for each in scene.actions if isinstance(each, Send)]
    scene.sent()
    return sent


def test_terminals_beside_messages_are_printed() -> None:
    text = PAIR + ASK.replace("<Client:Server:ask> ", '"asking " <what> "\\n" <Client:Server:ask> ')
    text = text.replace("<Server:Client:answer>", '(<Server:Client:answer> "good\\n")') + "<what> ::= 'now' | 'then'\n"
    scene = Scene(text, NOBODY).open()
    printed = drain(scene)
    assert [link for link, _ in printed] == ["StdOut"] * 3 + ["Client"]
    assert b"".join(data for _, data in printed) in (b"asking now\nASK\n", b"asking then\nASK\n")
    scene.hear(b"SAY yes\n")
    assert drain(scene) == [("StdOut", b"good\n")]
    assert scene.session.verdict is Verdict.PASS


def test_constraints_hold_for_printed_text() -> None:
    text = PAIR + ASK.replace("<Server:Client:answer>", '<Server:Client:answer> "heard " <word> "\\n"')
    text = text.replace('r"[a-z]+" ', "<word> ") + '<word> ::= r"[a-z]+"\n'
    text += "where str(<answer>.<word>) == str(<start>.<word>)\n"
    scene = Scene(text, NOBODY).open()
    drain(scene)
    scene.hear(b"SAY hello\n")
    assert b"".join(data for _, data in drain(scene)) == b"heard hello\n"
    assert scene.session.verdict is Verdict.PASS


def test_lines_of_standard_input_are_read() -> None:
    text = "<start> ::= <StdOut:ask> <StdIn:name> <StdOut:hello>\n<ask> ::= 'Who?\\n'\n<name> ::= r'[a-z]+\\n'\n"
    text += "<hello> ::= 'Hello ' <who>\n<who> ::= <name>\nwhere str(<hello>.<who>.<name>) == str(<start>.<name>)\n"
    scene = Scene(text, NOBODY, link="StdIn")
    assert [(link, address.scheme) for link, address, _ in opened(scene)] == [("StdOut", "stdout"), ("StdIn", "stdin")]
    scene.open()
    assert drain(scene) == [("StdOut", b"Who?\n")]
    scene.hear(b"ann")
    scene.hear(b"a\n")
    assert drain(scene) == [("StdOut", b"Hello anna\n")]
    assert scene.session.verdict is Verdict.PASS


def test_the_end_of_standard_input_is_noticed() -> None:
    scene = Scene("<start> ::= <StdOut:ask> <StdIn:ask>\n<ask> ::= 'Who?\\n'\n", NOBODY, link="StdIn").open()
    drain(scene)
    scene.close()
    assert scene.kinds == [FindingKind.CLOSED]


# --- spec code that fails ---------------------------------------------------------------------------------------------


def failing(method: str) -> str:
    return f"""
class Client(NetworkParty):
    def __init__(self):
        super().__init__("7", connection_mode=ConnectionMode.CONNECT)
        self.start()
    {method}
        return 1 // 0
class Server(Party):
    def __init__(self):
        super().__init__(connection_mode=ConnectionMode.EXTERNAL)
"""


@pytest.mark.parametrize("method", ["def send(self, m, r):", "def receive(self, m, s):", "def stop(self):"])
def test_an_error_of_a_party_is_reported_with_its_place(method: str) -> None:
    text = failing(method)
    if "stop" in method:
        with pytest.raises(PalaverError, match=r"Client.stop raised ZeroDivisionError.*<string>:7"):
            Scene(text + ASK, NOBODY)
        return
    scene = Scene(text + ASK, NOBODY).open()
    scene.talk()
    scene.hear(b"SAY yes\n")
    (finding,) = scene.session.findings
    assert finding.kind is FindingKind.SPEC_CRASH
    assert "raised ZeroDivisionError: " in finding.message
    assert finding.message.endswith("(<string>:7)")
    assert scene.session.verdict is Verdict.ERROR


def test_a_party_that_cannot_be_made_is_reported_before_the_first_session() -> None:
    with pytest.raises(PalaverError, match=r"Client.__init__ raised ZeroDivisionError.*\(<string>:4\)"):
        Scene(failing("def receive(self, m, s):").replace('super().__init__("7"', "super().__init__(str(1 // 0)") + ASK)


def test_a_party_that_cannot_be_made_again_is_a_finding_and_the_next_session_goes_on() -> None:
    text = PAIR.replace("        self.start()\n", "        self.start()\n        next(moods)()\n")
    text = "moods = iter([dict, list, lambda: 1 // 0, dict])\n" + text + ASK
    setup = SessionSetup(palaver.loads(text), NOBODY)
    verdicts = []
    for _ in range(3):
        session = Session(setup, RandomStrategy(RandomSource(1)), RandomSource(1))
        session.handle(TimePassed(0.0))
        if not session.is_over:
            session.handle(Opened(0.0, "Client"))
            assert session.speak(0.0)
            session.commit(0.0)
            session.handle(Received(0.0, "Client", b"SAY yes\n"))
        verdicts.append(session.verdict)
    assert verdicts == [Verdict.PASS, Verdict.ERROR, Verdict.PASS]


# --- names of the reference -------------------------------------------------------------------------------------------


def test_names_of_the_reference_can_be_imported_and_say_what_to_use_instead() -> None:
    text = """
from fandango import Fandango
from fandango.io import FandangoIO, ProcessManager
from fandango.somewhere import Strange, strange_function
names = (EnvKey, EnvContext, CURRENT_ENV_KEY, ProtocolImplementation, UdpTcpProtocolImplementation)
def annotated(x: ProcessManager) -> Strange: ...
class Mine(ProtocolImplementation): ...
<start> ::= "a"
"""
    assert str(palaver.loads(text).parse("a")) == "a"
    for use, hint in {
        "ProcessManager.instance()": "set_program_command",
        "Strange()": "Strange of the reference",
        "Mine()": "use a class derived from NetworkParty",
        "Fandango('x')": "palaver.load",
        "strange_function(1)": "this function of the reference",
        "FandangoIO.instance().unknown": "FandangoIO has no unknown in palaver",
    }.items():
        with pytest.raises(PalaverError, match=hint.replace("(", "\\(")):
            palaver.loads(f"{text}x = {use}\n")


def test_the_active_parties_can_be_listed() -> None:
    text = PAIR.replace(
        "        self.start()\n",
        """        self.start()
    def send(self, message, recipient):
        assert list(FandangoIO.instance().parties) == ["Client", "Server"]
        assert self.io_instance.parties["Client"] is self
        super().send(message, recipient)
""",
    )
    scene = Scene(text + ASK, NOBODY).open()
    assert scene.talk() == b"ASK\n"


def test_two_sessions_of_a_spec_ask_their_own_parties() -> None:
    spec = palaver.loads(
        """
class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:4711", connection_mode=ConnectionMode.CONNECT)
        self.is_quiet = False

    def is_fuzzer_controlled(self):
        return not Client.instance().is_quiet

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:4711", connection_mode=ConnectionMode.EXTERNAL)

<start> ::= <Client:ask> <Server:answer>
<ask>    ::= "?"
<answer> ::= "!"
"""
    )
    setup = SessionSetup(spec, RoleAssignment({}))
    talking, quiet = (Session(setup, RandomStrategy(RandomSource(1)), RandomSource(1)) for _ in range(2))
    for session in (talking, quiet):
        session.handle(TimePassed(0.0))
        session.handle(Opened(0.0, "Client"))
    client: Any = quiet._roles.party("Client")  # with an attribute of the spec's class
    client.is_quiet = True
    for session, is_ours in ((talking, True), (quiet, False), (talking, True)):
        session.handle(TimePassed(0.1))
        assert session.wants_to_send is is_ours


def test_a_message_that_is_only_made_up_has_no_effect_on_parties() -> None:
    names = PartyNames()
    calls: list[str] = []
    kind: Any = names["NetworkParty"]
    party = kind("Client=tcp://127.0.0.1:1")
    names.play({"Client": party}, cast(PartyHost, SimpleNamespace(start=lambda _: calls.append("start"))))
    with names.rehearsed():
        party.port = 2
        party.start()
        assert not party.is_in_session
    assert party.is_in_session
    assert (calls, party.port, party.is_started) == ([], 1, False)
    party.start()
    assert calls == ["start"]
