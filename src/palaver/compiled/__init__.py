"""Compiled specs, as `palaver.load` returns them, and how they are made.

Doors: this package itself; `data`, which converts values to text and bytes; `bundled`, the specs of palaver itself;
`earley_readings`, the messages that the Earley parser reads, and why.
"""

from palaver.compiled.loader import examine, load, load_again, loads
from palaver.compiled.reading import Reading
from palaver.compiled.spec import Spec, SpecOrigin

DOOR = ("__init__", "data", "bundled", "earley_readings")

__all__ = ["Reading", "Spec", "SpecOrigin", "examine", "load", "load_again", "loads"]
