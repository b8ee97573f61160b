"""A client and a server of one spec talk to each other to the end, whatever the wire does to their data."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import ECHO

import palaver
from amounts import examples
from palaver.session.engine import Timeouts
from palaver.session.findings import Verdict
from palaver.testing import MemoryNetwork, SessionPair, SocketNetwork, Wire, in_pieces, run_pair
from servers.common import needs_openssl
from testing.wires import CALM, dialogues, wires

ROOT = Path(__file__).parent.parent.parent

SPECS = {
    "mail": (ROOT / "examples" / "mail.fan").read_text(),
    "smtp": (ROOT / "benchmarks" / "talking" / "smtp.fan").read_text(),
    "echo": ECHO,
}

# Two connections: what is said on one may overtake what is said on the other.
FILES = """
<start> ::= <transfer>{1,3} <Control:Commands:quit>
<transfer> ::= <Control:Commands:get> <Commands:Control:opening> <Store:Drain:content> <Commands:Control:done>
<get> ::= "GET " <name> "\\n"
<opening> ::= "150\\n"
<content> ::= <name> "=" r"[a-z]{1,20}" "\\n"
<done> ::= "226\\n"
<quit> ::= "QUIT\\n"
<name> ::= r"[a-z]{3}"
where forall <t> in <transfer>: <t>.<get>.<name> == <t>.<content>.<name>

class Control(NetworkParty):
    def __init__(self):
        super().__init__("1")

class Commands(NetworkParty):
    def __init__(self):
        super().__init__("1")

class Drain(NetworkParty):
    def __init__(self):
        super().__init__("1")

class Store(NetworkParty):
    def __init__(self):
        super().__init__("1")
"""


def check(pair: SessionPair) -> None:
    for session in pair:
        assert session.verdict is Verdict.PASS, "\n".join(finding.show() for finding in session.findings)
    # With several connections, the two may not have seen everything in the same order.
    said = [sorted((said.sender, said.symbol, said.data) for said in session.said) for session in pair]
    assert said[0] == said[1]


@pytest.mark.parametrize("name", SPECS)
@given(wire=wires(), seed=st.integers(0, 1000))
@settings(max_examples=12, deadline=None)
def test_two_sessions_of_one_spec_talk_to_the_end(name: str, wire: Wire, seed: int) -> None:
    check(run_pair(palaver.loads(SPECS[name]), world=MemoryNetwork(wire=wire), seed=seed, timeouts=CALM))


@given(text=dialogues(), wire=wires(), seed=st.integers(0, 1000))
@settings(max_examples=examples(60), deadline=None)
def test_two_sessions_of_any_clear_spec_talk_to_the_end(text: str, wire: Wire, seed: int) -> None:
    spec = palaver.loads(text)
    pairs = {"Client": "Server"}
    if len(spec.analysis.parties) < 2:
        return
    check(run_pair(spec, world=MemoryNetwork(wire=wire), seed=seed, timeouts=CALM, pairs=pairs))


@given(wire=wires(), seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_one_connection_overtakes_another(wire: Wire, seed: int) -> None:
    pairs = {"Control": "Commands", "Drain": "Store"}
    check(run_pair(palaver.loads(FILES), pairs=pairs, world=MemoryNetwork(wire=wire), seed=seed, timeouts=CALM))


def test_the_same_seed_gives_the_same_session() -> None:
    spec = palaver.loads(SPECS["smtp"])
    first, second = run_pair(spec, seed=5), run_pair(spec, seed=5)
    assert first.caller.said == second.caller.said
    assert first.caller.said != run_pair(spec, seed=6).caller.said


def test_each_side_may_have_a_spec_of_its_own() -> None:
    stricter = palaver.loads(ECHO, constraints=["len(str(<ask>.<word>)) < 3"])
    pair = run_pair(stricter, palaver.loads(ECHO), seed=1)
    check(pair)
    pair = run_pair(palaver.loads(ECHO), stricter, seed=1)
    assert pair.listener.verdict is Verdict.FAIL
    assert "len(str(<ask>.<word>)) < 3 does not hold" in pair.listener.findings[0].message


def test_unclear_pairs_of_parties_are_an_error() -> None:
    with pytest.raises(palaver.PalaverError, match="the parties are: Control, Commands, Store, Drain"):
        run_pair(palaver.loads(FILES))


# --- both may speak ---------------------------------------------------------------------------------------------------

RACES = {
    "once": "<start> ::= <Client:go> <Server:yes> | <Server:no>\n",
    "with a way back": "<start> ::= <Client:go> <Server:yes> | <Server:no> <Client:go>\n",
    "again and again": "<start> ::= (<Client:go> <Server:yes> | <Server:no> <Client:well>){2}\n",
}
WORDS = '<go> ::= "GO\\n"\n<yes> ::= "YES\\n"\n<no> ::= "NO\\n"\n<well> ::= "WELL\\n"\n'


def moments(length: int) -> list[tuple[bool, ...]]:
    """Every way to overlook an input, but never twice: a session that is about to send polls twice."""
    return [each for each in product([False, True], repeat=length) if (True, True) not in pairwise(each)]


@pytest.mark.parametrize("race", RACES)
@pytest.mark.parametrize("caller", ["Client", "Server"])
def test_a_race_has_only_legal_outcomes(race: str, caller: str) -> None:
    spec = palaver.loads(RACES[race] + WORDS)
    pairs = {caller: "Server" if caller == "Client" else "Client"}
    outcomes = set()
    for client, server in product(moments(4), repeat=2):
        looks = {"Client": iter(client), "Server": iter(server)}
        world = MemoryNetwork(hold=lambda link, looks=looks: next(looks[link], False))  # type: ignore[misc]
        pair = run_pair(spec, pairs=pairs, world=world, timeouts=CALM)
        check(pair)
        outcomes.add(tuple(said.symbol for said in pair.caller.said))
    assert len(outcomes) >= 2


# --- over sockets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize(
    "address",
    [
        "tcp://127.0.0.1:0",
        "tcp://[::1]:0",
        "unix:{folder}/so=cket",
        pytest.param("tls://127.0.0.1:0", marks=needs_openssl),
    ],
)
def test_two_sessions_talk_over_sockets(name: str, address: str, tmp_path: Path) -> None:
    with SocketNetwork() as world:
        place = address.format(folder=tmp_path)
        check(run_pair(palaver.loads(SPECS[name]), world=world, address=place, seed=3))


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
@given(seed=st.integers(0, 1000))
@settings(max_examples=5, deadline=None)
def test_two_sessions_talk_over_udp(host: str, seed: int) -> None:
    # The client has to begin: before it does, nobody knows where it is.
    with SocketNetwork() as world:
        check(run_pair(palaver.loads(SPECS["echo"]), world=world, address=f"udp://{host}:0", seed=seed))


def test_two_connections_over_sockets() -> None:
    with SocketNetwork() as world:
        pairs = {"Control": "Commands", "Drain": "Store"}
        check(run_pair(palaver.loads(FILES), pairs=pairs, world=world, seed=1))


def test_a_slow_wire_is_no_finding() -> None:
    timeouts = Timeouts(timeout=30.0, patience=0.3)
    check(
        run_pair(palaver.loads(SPECS["mail"]), world=MemoryNetwork(wire=in_pieces(1, 0.2)), seed=1, timeouts=timeouts)
    )
