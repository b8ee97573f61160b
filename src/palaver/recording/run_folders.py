"""The places of run directories: where a new one goes, which there are, and which one a name means."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from palaver.recording.disk_reserve import RESERVE_NAME
from palaver.recording.recording_limits import MAX_RUNS_OF_ONE_NAME
from palaver.recording.schema import FILE_NAME, RunError, connect_to_read, has_run

__all__ = [
    "RunError",
    "default_place",
    "find",
    "is_written",
    "lock",
    "new_folder",
    "remove",
    "remove_files",
    "runs_in",
    "unlock",
]

# The variable of the environment that names the folder of all runs; empty: none are kept unless one is asked for.
VARIABLE = "PALAVER_RUNS"
_DEFAULT = Path(".palaver", "runs")
_LATEST = "latest"
_LOCK = "lock"


def default_place(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of all runs; None if none are to be kept."""
    named = environ.get(VARIABLE)
    return _DEFAULT if named is None else Path(named) if named else None


def new_folder(place: Path, spec: str) -> Path:
    """A folder for a new run of a spec, named after the time and the spec. :raises RunError: it cannot be made"""
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{Path(spec).stem or 'spec'}"
    for number in range(1, MAX_RUNS_OF_ONE_NAME):
        folder = place / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if not place.is_dir():
                raise RunError(f"cannot write the run {folder}: {place} is no folder") from None
            continue
        except OSError as error:
            hint = "give another place with --run, or --no-run"
            raise RunError(f"cannot write the run {folder}: {error.strerror}; {hint}") from error
        return folder
    raise RunError(f"there are too many runs {place / name}")


def runs_in(place: Path) -> list[Path]:
    """The runs in a folder, the oldest first, with those that cannot be read. :raises RunError: the folder cannot"""
    try:
        return sorted(filter(_may_have_run, place.iterdir()), key=_age_key)
    except FileNotFoundError:
        return []  # nothing was kept yet
    except OSError as error:
        raise RunError(f"cannot read {place}: {error.strerror}") from error


def _may_have_run(folder: Path) -> bool:
    """Return True if there is a run in a folder, or if nobody may look there."""
    try:
        return has_run(folder)
    except RunError:
        return True


def _age_key(folder: Path) -> tuple[str, str]:
    """The time when a run began, and its name; a run that cannot be read began when it was written the last time."""
    try:
        with closing(connect_to_read(folder / FILE_NAME)) as file:
            (started,) = file.execute("SELECT value FROM run WHERE name = 'started'").fetchone() or ("",)
    except (RunError, sqlite3.Error):
        started = ""
    try:
        written = datetime.fromtimestamp((folder / FILE_NAME).stat().st_mtime, UTC)
    except OSError:
        written = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    return started or written.isoformat(timespec="seconds"), folder.name


def find(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """The run that is meant: a folder, the name of a run in the usual place, or `latest`. :raises RunError: none is"""
    place = default_place(environ) or _DEFAULT
    if has_run(Path(name)):
        return Path(name)
    if has_run(place / name):
        return place / name
    runs = runs_in(place)
    if name == _LATEST and runs:
        return runs[-1]
    if Path(name).is_dir():
        raise RunError(f"{name} is not a run directory: there is no {FILE_NAME} in it")
    hint = "palaver runs lists them" if runs else f"there are none in {place}"
    raise RunError(f"there is no run {name}; {hint}")


# The runs that this process writes: the system tells only of the locks of others.
_OURS: set[Path] = set()


def lock(folder: Path) -> TextIO:
    """Keep others from writing the run, until the file that this returns is given to `unlock`.

    :raises RunError: somebody else writes it, or it cannot be written
    """
    try:
        file = (folder / _LOCK).open("a", encoding="utf-8")
    except OSError as error:
        is_new = not (folder / FILE_NAME).exists()
        hint = "give another place with --run, or --no-run" if is_new else "go on with a copy of it"
        raise RunError(f"cannot write the run {folder}: {error.strerror}; {hint}") from error
    try:
        if folder.resolve() in _OURS:
            raise BlockingIOError
        # A lock of POSIX: no process that we start keeps it when we are killed.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise RunError(f"the run {folder} is written by another palaver") from error
    _OURS.add(folder.resolve())
    return file


def unlock(folder: Path, file: TextIO) -> None:
    """Let others write the run."""
    file.close()
    _OURS.discard(folder.resolve())


def is_written(folder: Path) -> bool:
    """Return True if some palaver writes the run just now."""
    if folder.resolve() in _OURS:
        return True
    try:
        with (folder / _LOCK).open(encoding="utf-8") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def remove_files(folder: Path) -> None:
    """Remove the files of a run that holds nothing; and its folder, unless there is more in it."""
    with suppress(OSError):
        for file in (*folder.glob(f"{FILE_NAME}*"), folder / _LOCK, folder / RESERVE_NAME):
            file.unlink(missing_ok=True)
        folder.rmdir()


def remove(folder: Path) -> None:
    """Remove a run with everything in it. :raises RunError: it cannot be removed"""
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise RunError(f"cannot remove the run {folder}: {error.strerror}") from error
