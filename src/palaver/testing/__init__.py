"""For tests: sessions that talk to each other, peers that follow a script, and networks where both meet.

Doors: this package itself; for the plugin of pytest, `spec_tests`, a spec as tests, and `peer_double`, peers in tests
of others.
"""

from palaver.testing.patched_sockets import patch_sockets
from palaver.testing.scripted_peer import (
    Disconnect,
    Expect,
    HalfClose,
    Pause,
    Reset,
    ScriptedPeer,
    ScriptStep,
    StartTls,
    Write,
)
from palaver.testing.session_pair import SessionPair, run_pair
from palaver.testing.socket_network import SocketEventLoop, SocketNetwork
from palaver.transport.memory_network import Hold, MemoryNetwork, Wire, in_one_piece, in_pieces

DOOR = ("__init__", "spec_tests", "peer_double")

__all__ = [
    "Disconnect", "Expect", "HalfClose", "Hold", "MemoryNetwork", "Pause", "Reset", "ScriptStep", "ScriptedPeer",
    "SessionPair", "SocketEventLoop", "SocketNetwork", "StartTls", "Wire", "Write", "in_one_piece", "in_pieces",
    "patch_sockets", "run_pair",
]  # fmt: skip
