"""Core files: what the system leaves of a program that a signal has ended, if it is allowed to (core(5))."""

from __future__ import annotations

import re
from pathlib import Path

_PATTERN = Path("/proc/sys/kernel/core_pattern")
_USES_PID = Path("/proc/sys/kernel/core_uses_pid")
_PLACEHOLDER = re.compile(r"%(.)")
_GLOB = re.compile(r"([*?\[])")


class CoreFiles:
    """Knows the core files that are there before a program is started, and so the one that it leaves.

    Where the system hands core files to a program of its own, they are not found.
    """

    def __init__(self, folder: str, pattern: str | None = None) -> None:
        self._place = _place(Path(folder or ".").absolute(), _system_pattern() if pattern is None else pattern)
        self._before = self._files()

    def written(self) -> str:
        """The path of the newest core file since then, or ""."""
        new = [found for found in self._files().items() if found not in self._before.items()]
        newest = max(new, key=lambda found: found[1], default=None)
        return "" if newest is None else newest[0]

    def _files(self) -> dict[str, int]:
        """All files that may be core files, with the time when each was written."""
        if self._place is None:
            return {}
        try:
            paths = Path(self._place.anchor).glob(str(self._place.relative_to(self._place.anchor)))
            return {str(path): path.stat().st_mtime_ns for path in paths if path.is_file()}
        except OSError:
            return {}


def _system_pattern() -> str:
    try:
        pattern = _PATTERN.read_text().rstrip("\n")
        return f"{pattern}.%p" if _USES_PID.read_text().strip() == "1" and "%p" not in pattern else pattern
    except OSError:
        return ""


def _place(folder: Path, pattern: str) -> Path | None:
    """The place of core files, with wildcards for what the system puts into their names."""
    if not pattern or pattern.startswith("|"):
        return None
    escaped = [_GLOB.sub(r"[\1]", part) for part in (str(folder), pattern)]
    return Path(escaped[0]) / _PLACEHOLDER.sub(lambda found: "%" if found[1] == "%" else "*", escaped[1])
