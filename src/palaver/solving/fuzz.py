"""Old names, until those who import them are redirected."""

from palaver.solving.solutions import Solutions as Fuzz

__all__ = ["Fuzz"]
