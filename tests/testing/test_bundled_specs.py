"""A client and a server of each bundled spec talk to each other to the end, in memory and over sockets."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver
from palaver.compiled import Spec
from palaver.session.findings import Verdict
from palaver.testing import MemoryWorld, Pair, SocketWorld, converse, in_pieces, straight

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ["examples", "benchmarks/talking", "src/palaver/specs"]
PATHS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.fan"))

# Which specs cannot be both sides, and why.
ONE_SIDED = {
    "examples/frames.fan": "it has no messages",
    "examples/ledger.fan": "it has no messages",
    "src/palaver/specs/rest.fan": "its client makes HTTP requests with a library, and nothing of ours listens to HTTP",
    "src/palaver/specs/llm.fan": "its client asks a service through a library, and nothing of ours is that service",
}
BOTH_SIDED = [name for path in PATHS if (name := path.relative_to(ROOT).as_posix()) not in ONE_SIDED]

# Where the spec means datagrams, on a stream it would not be clear where a message ends.
DATAGRAMS = {"src/palaver/specs/dns.fan"}


def loaded(name: str) -> Spec:
    if name == "benchmarks/talking/echo.fan":  # the same, but not a thousand times
        return palaver.loads((ROOT / name).read_text().replace("<exchange>{500}", "<exchange>{20}"))
    return palaver.load(ROOT / name)


def talked(name: str, world: MemoryWorld | SocketWorld, seed: int) -> Pair:
    """Who has parties beside these two has classes that know whose side they are on."""
    spec = loaded(name)
    pairs = {"Client": "Server"} if {"Client", "Server"} <= {*spec.analysis.parties} else None
    scheme = "udp" if name in DATAGRAMS else "tcp"
    return converse(spec, pairs=pairs, world=world, address=f"{scheme}://127.0.0.1:0", seed=seed)


def check(pair: Pair) -> None:
    for session in pair:
        assert session.verdict is Verdict.PASS, "\n".join(finding.show() for finding in session.findings)
    # With several connections, the two may not have seen everything in the same order.
    said = [sorted((said.sender, said.symbol, said.data) for said in session.said) for session in pair]
    assert said[0] == said[1]


def test_specs_that_cannot_be_both_sides_are_still_there() -> None:
    assert {path.relative_to(ROOT).as_posix() for path in PATHS} >= ONE_SIDED.keys()


@pytest.mark.parametrize("name", BOTH_SIDED)
def test_both_sides_of_a_bundled_spec_talk_in_memory(name: str) -> None:
    # A piece of a datagram would be another datagram.
    wire = straight if name in DATAGRAMS else in_pieces(7, 0.001)
    check(talked(name, MemoryWorld(wire=wire), seed=1))


@pytest.mark.parametrize("name", BOTH_SIDED)
def test_both_sides_of_a_bundled_spec_talk_over_sockets(name: str) -> None:
    with SocketWorld() as world:
        check(talked(name, world, seed=2))
