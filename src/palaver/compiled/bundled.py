"""The specs that come with palaver, each usable by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import palaver

_FOLDER = Path(palaver.__file__).parent / "specs"


@cache
def bundled() -> Mapping[str, Path]:
    """The bundled specs, by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.fan"))}


def headline(path: Path) -> str:
    """The first line of a spec, a comment that says what it is about."""
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").rstrip().rstrip(".")


def spec_files(names: Iterable[str | Path]) -> list[str]:
    """Replace names of bundled specs by their files, unless there is a file of that name; a folder is none."""
    known = bundled()
    return [str(known[str(name)] if str(name) in known and not _is_file(Path(name)) else name) for name in names]


def _is_file(path: Path) -> bool:
    return path.exists() and not path.is_dir()
