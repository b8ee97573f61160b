"""Specs, compiled: what `palaver.load` gives, and how it is made."""

from palaver.compiled.load import examine, load, loads
from palaver.compiled.reading import Reading
from palaver.compiled.spec import Spec

__all__ = ["Reading", "Spec", "examine", "load", "loads"]
