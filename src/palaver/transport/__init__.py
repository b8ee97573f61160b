"""Transports: how sessions reach their peers.

The doors: `drive` runs sessions on an event loop, `loop` is the event loop of the system, `memory` a network in memory,
`ports` finds the transport of an address, and `blocking` is a connection for libraries that want a socket. What a
transport has to do is in `channel`; each has a module of its own. `palaver.addresses` has the registry of schemes.
"""

from palaver.transport.clock import Clock, ManualClock, SystemClock
from palaver.transport.drive import Carrier, Driver, Talker, Watch, drive
from palaver.transport.loop import Loop

__all__ = ["Carrier", "Clock", "Driver", "Loop", "ManualClock", "SystemClock", "Talker", "Watch", "drive"]
