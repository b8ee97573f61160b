"""Coverage file: the results of a run, for the next one.

Paths are lists of indexes into a list of names, so other programs can read the file. Paths that the spec no longer has
are left out when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from palaver.errors import PalaverError
from palaver.navigation.coverage import Coverage

_FORMAT = "palaver coverage 1"


def paths_as_data(coverage: Coverage) -> dict[str, Any]:
    """The covered paths, as JSON can hold them."""
    names: dict[str, int] = {}
    paths = [[names.setdefault(name, len(names)) for name in path] for path in coverage.covered()]
    return {"k": coverage.paths.k, "names": list(names), "paths": paths}


def check_spec(coverage: Coverage, data: Mapping[str, Any]) -> None:
    """:raises PalaverError: most of the paths that another run has covered are of another spec"""
    below, names = coverage.paths.below, data["names"]
    known = {*below, *(name for found in below.values() for name in found)}
    if 2 * len(known.intersection(names)) < len(names):
        raise PalaverError("this is the coverage of another spec; give each spec a file of its own")


def add_paths(coverage: Coverage, data: Mapping[str, Any]) -> None:
    """Cover the paths that another run has covered and the spec has.

    :raises PalaverError: most of them are of another spec
    """
    check_spec(coverage, data)
    below, names = coverage.paths.below, data["names"]
    for numbers in data["paths"]:
        path = [names[number] for number in numbers][-coverage.paths.k :]
        is_known = path[0] in below or any(path[0] in found for found in below.values())
        if is_known and all(name in below.get(above, ()) for above, name in pairwise(path)):
            coverage.add_path(path)


def write(file: Path, **parts: Any) -> None:
    """Write a coverage file, atomically. :raises PalaverError: it cannot be written"""
    whole = json.dumps({"format": _FORMAT, **parts}, separators=(",", ":"))
    beside = file.with_name(f"{file.name}.new")
    try:
        beside.write_text(whole + "\n", encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        raise PalaverError(f"cannot write the coverage file {file}: {error.strerror}") from error


def check_writable(file: Path) -> None:
    """:raises PalaverError: a coverage file could not be written there"""
    if not file.parent.is_dir():
        raise PalaverError(f"cannot write the coverage file {file}: there is no folder {file.parent}")
    if file.is_dir() or not os.access(file.parent, os.W_OK):
        raise PalaverError(
            f"cannot write the coverage file {file}: {'it is a folder' if file.is_dir() else 'not allowed'}"
        )


@contextmanager
def read(file: Path) -> Iterator[dict[str, Any]]:
    """Read a coverage file, and check how its content is used.

    :raises PalaverError: it cannot be read, is something else, is damaged, or belongs to another spec
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PalaverError(f"cannot read the coverage file {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise PalaverError(f"{file} is not a coverage file: it is not JSON") from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise PalaverError(f"{file} is not a coverage file of this version of palaver")
    try:
        yield data
    except PalaverError as error:
        raise PalaverError(f"{file}: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise PalaverError(f"the coverage file {file} is damaged: it is not in the form that palaver writes") from error
