"""A client and a server of each bundled spec talk to each other to the end, in memory and over sockets."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

import palaver
from amounts import few
from palaver.compiled import Spec
from palaver.session.engine import Timeouts
from palaver.session.findings import Verdict
from palaver.testing import MemoryNetwork, SessionPair, SocketNetwork, in_one_piece, in_pieces, patch_sockets, run_pair
from servers.common import needs_openssl

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ["examples", "benchmarks/talking", "src/palaver/specs"]
PATHS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.fan"))

# Which specs cannot be both sides, and why.
ONE_SIDED = {
    "examples/frames.fan": "it has no messages",
    "examples/ledger.fan": "it has no messages",
    "src/palaver/specs/binary.fan": "it has no messages",
    "src/palaver/specs/mqtt.fan": "it has two clients; mqtt_clients.fan is the broker",
}
BOTH_SIDED = [name for path in PATHS if (name := path.relative_to(ROOT).as_posix()) not in ONE_SIDED]

# Where the spec means datagrams, on a stream it would not be clear where a message ends.
DATAGRAMS = {f"src/palaver/specs/{name}.fan" for name in ("coap", "dns", "ntp", "tftp")}

# Where there is encryption, over sockets a certificate is needed.
ENCRYPTED = {f"src/palaver/specs/{name}.fan" for name in ("ftp_full", "ftp_tls", "smtp_full", "smtp_starttls")}

# Where not any seed will do: long lists of quotes are searched for at length; by this seed a short one is asked for.
SEEDS = {"src/palaver/specs/rest.fan": 5}

# Over sockets, the others repeat at length what these show of each kind of wire: a stream, datagrams, encryption,
# several connections, and a library that connects by itself.
FAST_OVER_SOCKETS = {
    "examples/echo.fan",
    "src/palaver/specs/ftp.fan",
    "src/palaver/specs/ftp_tls.fan",
    "src/palaver/specs/llm.fan",
    "src/palaver/specs/ntp.fan",
    "src/palaver/specs/smtp_starttls.fan",
    "src/palaver/specs/tftp.fan",
}

# In memory, these take several seconds each; small servers of their own talk to them, too.
SLOW_IN_MEMORY = {f"src/palaver/specs/{name}.fan" for name in ("ftp_clients", "imap", "redis", "tftp")}

# Who speaks through a library that connects by itself.
LIBRARIES = {"src/palaver/specs/rest.fan", "src/palaver/specs/llm.fan"}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the_password")


def loaded(name: str) -> Spec:
    if name == "benchmarks/talking/echo.fan":  # the same, but not a thousand times
        return palaver.loads((ROOT / name).read_text().replace("<exchange>{500}", "<exchange>{20}"))
    if name == "src/palaver/specs/ntp.fan":  # as a server it is done when it has told the time
        return palaver.loads(
            (ROOT / name).read_text().replace("return 5 if", "return 1 if").replace("return 10", "return 1")
        )
    if name == "src/palaver/specs/tftp.fan":  # as a server it is done after one transfer
        return palaver.loads((ROOT / name).read_text().replace("LEAST = 4", "LEAST = 1").replace("2 * LEAST", "LEAST"))
    if name == "src/palaver/specs/coap.fan":  # as a server it is done after one exchange, and suffers no mistakes
        text = (ROOT / name).read_text().replace(" | <rejected> | <ignored>", "")
        return palaver.loads(text.replace("return 15 if", "return 1 if").replace("return 25 if", "return 1 if"))
    return palaver.load(ROOT / name)


def talked(name: str, world: MemoryNetwork | SocketNetwork, seed: int, timeouts: Timeouts | None = None) -> SessionPair:
    """Parties beside these two have classes that know which side they are on."""
    spec = loaded(name)
    pairs = {"Client": "Server"} if {"Client", "Server"} <= {*spec.analysis.parties} else None
    scheme = "udp" if name in DATAGRAMS else "tcp"
    other = loaded(name) if name in LIBRARIES else None
    with patch_sockets(world) if name in LIBRARIES else nullcontext():
        address = f"{scheme}://127.0.0.1:0"
        return run_pair(spec, other, pairs=pairs, world=world, address=address, seed=seed, timeouts=timeouts)


def check(pair: SessionPair) -> None:
    for session in pair:
        assert session.verdict is Verdict.PASS, "\n".join(finding.show() for finding in session.findings)
    # With several connections, the two may not have seen everything in the same order; the end of a connection is a
    # message only to the one who did not end it; and some commands of redis are two messages of its spec.
    said = [sorted((said.sender, said.data) for said in session.said if said.data) for session in pair]
    assert said[0] == said[1]


def test_the_list_of_one_sided_specs_is_up_to_date() -> None:
    assert {path.relative_to(ROOT).as_posix() for path in PATHS} >= ONE_SIDED.keys()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW_IN_MEMORY)) for name in BOTH_SIDED]
)
def test_both_sides_of_a_bundled_spec_talk_in_memory(name: str) -> None:
    # A piece of a datagram would be another datagram.
    wire = in_one_piece if name in DATAGRAMS else in_pieces(7, 0.001)
    check(talked(name, MemoryNetwork(wire=wire), SEEDS.get(name, 1)))


def marks_over_sockets(name: str) -> list[pytest.MarkDecorator]:
    slow = [] if name in FAST_OVER_SOCKETS else [pytest.mark.slow]
    return [*slow, needs_openssl] if name in ENCRYPTED else slow


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_over_sockets(name)) for name in BOTH_SIDED])
def test_both_sides_of_a_bundled_spec_talk_over_sockets(name: str) -> None:
    with SocketNetwork() as world:
        check(talked(name, world, SEEDS.get(name, 2)))


@pytest.mark.parametrize("seed", few([5, 2, 3, 4, 6, 7]))
@pytest.mark.parametrize("name", few(sorted(LIBRARIES)))
def test_a_library_talks_to_a_session_in_memory(name: str, seed: int) -> None:
    # An answer in such pieces is long on its way; whoever gave it must not think that nothing more is asked.
    check(talked(name, MemoryNetwork(wire=in_pieces(7, 0.001)), seed, Timeouts(quiet=1.0)))
