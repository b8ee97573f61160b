"""palaver tests protocol implementations from one executable spec."""

from palaver.compiled import Spec, load, loads
from palaver.errors import (
    ConversionError,
    Diagnostic,
    PalaverError,
    Rejected,
    SpecCrash,
    SpecError,
    Unsolvable,
)
from palaver.trees.tree import Tree

__all__ = [
    "ConversionError",
    "Diagnostic",
    "PalaverError",
    "Rejected",
    "Spec",
    "SpecCrash",
    "SpecError",
    "Tree",
    "Unsolvable",
    "load",
    "loads",
]
