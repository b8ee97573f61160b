"""Room on the disk that a run keeps while it is written, so that it can say how it ended also when the disk is full.

The reserve is a file beside that of the run. When the run cannot be written, all of it but the first block is given
back, for the session that has just ended; the block is written over with how the run ended, which takes no new room.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from palaver.recording.recording_limits import RESERVE_BYTES, RESERVE_LEFT
from palaver.recording.schema import RunError

RESERVE_NAME = "reserve"


class DiskReserve:
    """The reserve of a run that is written."""

    def __init__(self, folder: Path) -> None:
        """:raises RunError: there is no room for it"""
        self._file = folder / RESERVE_NAME
        self._is_used = False
        try:
            self._file.write_bytes(b" " * RESERVE_BYTES)
        except OSError as error:
            self.remove()
            hint = "give another place with --run, or --no-run"
            raise RunError(f"cannot write the run {folder}: {error.strerror}; {hint}") from error

    def give_back(self) -> bool:
        """Make room for what must still be written; return False if that was done before."""
        was_used, self._is_used = self._is_used, True
        with suppress(OSError), self._file.open("r+b") as file:
            file.truncate(RESERVE_LEFT)
        return not was_used

    def note(self, facts: Mapping[str, str]) -> None:
        """Write facts of the run that its own file has no room for."""
        kept = dict(facts)
        while len(text := json.dumps(kept)) > RESERVE_LEFT:
            longest = max(kept, key=lambda name: len(kept[name]))
            kept[longest] = kept[longest][: len(kept[longest]) // 2]
        with suppress(OSError), self._file.open("r+b") as file:
            file.write(text.ljust(RESERVE_LEFT).encode())

    def remove(self) -> None:
        """Give all of it back, unless something was noted in it."""
        if not noted_facts(self._file.parent):
            with suppress(OSError):
                self._file.unlink(missing_ok=True)


def noted_facts(folder: Path) -> dict[str, str]:
    """The facts of a run that its own file had no room for; mostly none."""
    try:
        with (folder / RESERVE_NAME).open("rb") as file:
            text = file.read(RESERVE_LEFT).decode(errors="replace").strip()
        found = json.loads(text or "{}")
    except (OSError, ValueError):
        return {}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}
