"""Old names, until those who import them are redirected."""

from palaver.solving.generator_sources import NoSource, Sources

__all__ = ["NoSource", "Sources"]
