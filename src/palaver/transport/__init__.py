"""How sessions reach the world: one loop, and one module for each kind of pipe."""

from palaver.transport.clock import Clock, ManualClock, SystemClock
from palaver.transport.drive import Carrier, Driver, Talker, Watch, drive
from palaver.transport.loop import Loop

__all__ = ["Carrier", "Clock", "Driver", "Loop", "ManualClock", "SystemClock", "Talker", "Watch", "drive"]
