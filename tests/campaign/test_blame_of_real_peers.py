"""Programs that do nothing wrong are not accused, and one that does is accused of the message that is wrong."""

from __future__ import annotations

import shlex
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from threading import Thread

import pytest

import palaver
from palaver.campaign.events import MessageReceived
from palaver.campaign.run import Campaign
from palaver.session.findings import FindingKind
from servers.common import free_port
from servers.dns import free_port_of_both

CASES = Path(__file__).parents[1] / "cases"


def program(name: str) -> list[str]:
    return [sys.executable, str(CASES / name)]


def served(spec: str, server: str, **options: object) -> Campaign:
    """Some sessions with a server that is given its port."""
    command = f"{shlex.join(program(server))} {{port}}"
    return palaver.talk(CASES / spec, target=command, seed=1, **options).run()  # type: ignore[arg-type]


def test_a_faultless_server_is_not_accused_of_what_must_not_be_repeated() -> None:
    campaign = served("uniq.fan", "echo.py", sessions=2)
    assert campaign.findings == []


@pytest.mark.parametrize(("spec", "command"), [("never.fan", ["cat"]), ("later4.fan", program("later.py"))])
def test_a_faultless_program_is_not_accused(spec: str, command: list[str]) -> None:
    campaign = palaver.talk(CASES / spec, program=command, seed=1, sessions=3).run()
    assert campaign.findings == []


def test_lengths_in_lengths_are_always_found() -> None:
    campaign = palaver.talk(CASES / "ber3.fan", program=["cat"], seed=1, sessions=5, timeout=0.3, patience=0.3).run()
    assert FindingKind.UNSOLVED not in [finding.kind for finding in campaign.findings]


def test_a_wrong_answer_is_accused_although_the_condition_looks_at_everything() -> None:
    campaign = palaver.talk(CASES / "root.fan", program=program("lamp.py"), seed=1, sessions=6).run()
    assert campaign.findings
    for finding in campaign.findings:
        assert (finding.kind, finding.party, finding.got) == (FindingKind.CONSTRAINT, "Out", b"GLOW 7\n")
        assert finding.messages[-1].data in (b"LIGHT 8\n", b"LIGHT 9\n")


def test_either_connection_of_a_server_may_be_faster() -> None:
    port = free_port()
    target = f"{shlex.join(program('two.py'))} {port}"
    clients = [f"A={port}", f"B={port}"]
    campaign = palaver.talk(CASES / "two.fan", client=clients, target=target, seed=1, sessions=2).run()
    assert campaign.findings == []


def test_every_continuation_has_its_share_with_a_real_peer() -> None:
    options = {"seed": 1, "sessions": 12, "guided": False, "quiet_interval": 0.02}
    campaign = palaver.talk(CASES / "bias.fan", program=program("biaspeer.py"), **options)  # type: ignore[arg-type]
    answers = [event for event in campaign if isinstance(event, MessageReceived)]
    assert campaign.findings == []
    assert 4 <= len(answers) <= 24  # of 60 questions one in five


CALLS = """
<start> ::= <Client:Server:hello> <Server:Client:ok> <Client:Server:bye> <Server:Client:end>
<hello> ::= "hello\\n"
<ok> ::= "ok\\n"
<bye> ::= "bye\\n"
<end> ::= "end\\n"
"""


def first_answer(caller: socket.socket) -> bytes:
    """The answer to a first datagram, which is refused as long as nobody listens."""
    while True:
        try:
            caller.send(b"hello\n")
            return caller.recv(100)
        except ConnectionRefusedError:
            continue


def test_a_late_datagram_of_an_earlier_client_is_not_the_first_message_of_the_next() -> None:
    port = free_port_of_both()
    answers: list[bytes] = []

    def call() -> None:
        with ExitStack() as open_sockets:
            earlier: socket.socket | None = None
            for _ in range(3):
                caller = open_sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                caller.settimeout(10)
                caller.connect(("127.0.0.1", port))
                answers.append(first_answer(caller))
                if earlier is not None:
                    earlier.send(b"bye\n")
                caller.send(b"bye\n")
                answers.append(caller.recv(100))
                caller.send(b"bye\n")  # once more than it should
                earlier = caller

    caller = Thread(target=call, daemon=True)
    caller.start()
    campaign = palaver.talk(palaver.loads(CALLS), server=f"udp:{port}", seed=1, sessions=3).run()
    caller.join(20)
    assert campaign.findings == []
    assert answers == [b"ok\n", b"end\n"] * 3
