"""The specs that come with palaver, each usable by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import palaver

_FOLDER = Path(palaver.__file__).parent / "specs"


def bundled() -> Mapping[str, Path]:
    """All of them, by name."""
    return {path.stem: path for path in sorted(_FOLDER.glob("*.fan"))}


def headline(path: Path) -> str:
    """What a spec is about: its first line, which is a comment."""
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").rstrip().rstrip(".")


def spec_files(names: Iterable[str]) -> list[str]:
    """The files that names stand for: a file of that name, or else the spec that comes with palaver."""
    known = bundled()
    return [str(known[name]) if name in known and not Path(name).exists() else name for name in names]
