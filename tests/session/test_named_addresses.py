"""Addresses that a peer names in a session: if nobody is there, the message is wrong that has named it."""

from __future__ import annotations

from driven_session import DrivenSession

from palaver.party import ConnectionMode
from palaver.session.findings import FindingKind, Verdict
from palaver.session.interface import Failed, Listening, Open, Opened
from palaver.session.setup import RoleAssignment

SPEC = """
<start> ::= <Client:Server:passive> <Server:Client:at> <ClientData:ServerData:data> <Client:Server:quit>
<passive> ::= "PASV\\n"
<at> ::= "AT " <port> "\\n"
<port> ::= <number> := named(<chosen>)
<chosen> ::= <number> := named(<port>)
<number> ::= r"[1-9][0-9]{3}"
<data> ::= "data"
<quit> ::= "QUIT\\n"

def named(port):
    party = (ClientData if Client.instance().is_fuzzer_controlled() else ServerData).instance()
    party.stop()
    party.port = PORT_OF(int(str(port)))
    party.start()
    return str(port)

PORT_OF = lambda port: port

class Client(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1", connection_mode=ConnectionMode.CONNECT)

class Server(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:1", connection_mode=ConnectionMode.EXTERNAL)

class ClientData(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:20", connection_mode=Client.instance().connection_mode)

class ServerData(NetworkParty):
    def __init__(self):
        super().__init__("tcp://127.0.0.1:20", connection_mode=Server.instance().connection_mode)
"""
AS_CLIENT = RoleAssignment(
    {"Client": ("tcp://127.0.0.1:1", ConnectionMode.CONNECT), "Server": ("1", ConnectionMode.EXTERNAL)}
)
AS_SERVER = RoleAssignment(
    {"Client": ("1", ConnectionMode.EXTERNAL), "Server": ("tcp://127.0.0.1:1", ConnectionMode.OPEN)}
)


def refused(text: str) -> DrivenSession:
    """A session as the client, after the connection that the server told of was refused."""
    session = DrivenSession(text, AS_CLIENT).open()
    assert session.talk() == b"PASV\n"
    session.hear(b"AT 4711\n")
    assert [action for action in session.actions if isinstance(action, Open) and action.link == "ClientData"]
    session.do(Failed(session.now, "ClientData", "refused", "connection refused"))
    return session


def test_a_peer_that_names_an_address_where_nobody_is_is_accused_of_the_message() -> None:
    session = refused(SPEC)
    (finding,) = session.session.findings
    assert (finding.kind, finding.verdict) == (FindingKind.MISDIRECTED, Verdict.FAIL)
    assert (finding.party, finding.got) == ("Server", b"AT 4711\n")
    assert [message.symbol for message in finding.messages] == ["<passive>"]


def test_an_address_that_was_there_before_is_not_the_peers() -> None:
    session = refused(SPEC.replace("PORT_OF = lambda port: port", "PORT_OF = lambda port: 20"))
    (finding,) = session.session.findings
    assert (finding.kind, finding.verdict) == (FindingKind.REFUSED, Verdict.INCONCLUSIVE)


def test_a_peer_that_does_not_come_where_it_was_told_to_is_accused() -> None:
    text = SPEC.replace("<ClientData:ServerData:data>", "<ServerData:ClientData:data>")
    session = DrivenSession(text, AS_SERVER, link="Server").open()
    session.hear(b"PASV\n")
    assert session.talk().startswith(b"AT ")
    session.wait(10)
    (finding,) = session.session.findings
    assert (finding.kind, finding.party) == (FindingKind.SILENCE, "ClientData")
    assert "ClientData did not connect to ServerData, as it was told, in" in finding.message


def test_a_client_that_never_came_at_all_is_not_accused() -> None:
    text = SPEC.replace("<start> ::= ", "<start> ::= <Server:Client:hello> ").replace(
        "<passive> ::=", '<hello> ::= "HELLO\\n"\n<passive> ::='
    )
    session = DrivenSession(text, AS_SERVER, link="Server")
    session.do(Listening(0.0, "Server", 1))
    session.wait(1000)
    assert all(finding.verdict is not Verdict.FAIL for finding in session.session.findings)


def test_the_connection_goes_on_where_somebody_is() -> None:
    session = DrivenSession(SPEC, AS_CLIENT).open()
    session.talk()
    session.hear(b"AT 4711\n")
    session.do(Opened(session.now, "ClientData"))
    assert session.talk() == b"dataQUIT\n"
    assert session.session.findings == []
