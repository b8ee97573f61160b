"""Old names of `palaver.compiled`."""

from palaver.compiled.loader import load, loads

__all__ = ["load", "loads"]
