"""Moved to `coverage`."""

from palaver.navigation.coverage import KPath, KPaths

__all__ = ["KPath", "KPaths"]
