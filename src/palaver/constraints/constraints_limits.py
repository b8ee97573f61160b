"""The limits of the room: none changes a verdict, which only the checks give."""

from __future__ import annotations

# Branch distance: what lies beyond these is not measured, so that the distance is coarser.
MAX_COMPARED_CHARACTERS = 256  # of two texts, from where they differ
MAX_COMPARED_ELEMENTS = 1000  # of a collection; a larger set counts as far
MAX_OCCURRENCES = 32  # places where a text might go on as wanted
MAX_AFTER_FAILURE = 100  # elements of `all(…)` behind the first that fails
MAX_NESTING = 8  # collections inside collections; deeper ones count as far
MAX_CALL_DEPTH = 20  # calls inside calls of the spec's functions; deeper ones count 0 or 1
MAX_COMBINATIONS = 2000  # of nodes for one condition; beyond it, a sample from all over is measured

MAX_SHOWN_VALUE = 60  # characters of a value in a message
