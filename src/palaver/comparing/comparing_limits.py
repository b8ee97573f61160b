"""Limits of comparing implementations."""

from __future__ import annotations

from typing import Final

# Answers are fast, slow or very slow: from so many seconds on they are of the next class.
LATENCY_CLASSES: Final = (0.1, 1.0, 5.0)
# Messages of the conversation that are shown for each group of differences.
MAX_SHOWN_MESSAGES: Final = 6
