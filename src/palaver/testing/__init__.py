"""For tests: sessions that talk to each other, peers that follow a script, and networks where both meet."""

from palaver.testing.conversations import Pair, converse
from palaver.testing.libraries import libraries_in
from palaver.testing.peers import Encrypt, HangUp, Hear, Pause, Reset, Say, ScriptedPeer, Step, StopTalking
from palaver.testing.sockets import SocketLoop, SocketWorld
from palaver.transport.memory import Hold, MemoryWorld, Wire, in_pieces, straight

DOOR = ("__init__",)

__all__ = [
    "Encrypt",
    "HangUp",
    "Hear",
    "Hold",
    "MemoryWorld",
    "Pair",
    "Pause",
    "Reset",
    "Say",
    "ScriptedPeer",
    "SocketLoop",
    "SocketWorld",
    "Step",
    "StopTalking",
    "Wire",
    "converse",
    "in_pieces",
    "libraries_in",
    "straight",
]
