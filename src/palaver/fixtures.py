"""Fixtures of bundled specs: files that a server needs, made for the parameters of a spec, and how it is started.

A fixture is a folder `specs/fixtures/NAME`. `about.md` tells how servers are started; `fixture.toml` names the port
that is usual there, folders, and files that are all alike; everything else is a file to be written. In all of them
`@USER@` stands for the value of the parameter USER, `@DIR@` for the folder, `@PORT@` for the port, and in `about.md`
`@SET@` for the options that set what was set. A path with a list in it stands for as many paths.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import palaver
from palaver.compiled import Spec
from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass

_FOLDER: Final = Path(palaver.__file__).parent / "specs" / "fixtures"
_ABOUT: Final = "about.md"
_TABLE: Final = "fixture.toml"
_PLACEHOLDER: Final = re.compile(r"@([A-Z_]+)@")


class FixtureError(PalaverError):
    """A fixture cannot be written."""


@dataclass(frozen=True)
class Fixture:
    """The files that the server of a spec needs, with the parameters of that spec."""

    folder: Path
    spec: Spec

    @cached_property
    def _table(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / _TABLE).read_text(encoding="utf-8"))

    @property
    def port(self) -> int:
        """The port that its servers have unless told otherwise."""
        return int(self._table["port"])

    def about(self, place: str, port: int | None = None) -> str:
        """The text on how servers are started, for files in this place."""
        options = "".join(f" --set {shlex.quote(_as_option(*given))}" for given in self.spec.origin.parameters)
        values = self._values(shlex.quote(place), self.port if port is None else port)
        return _filled((self.folder / _ABOUT).read_text(encoding="utf-8"), {**values, "SET": options})

    def write(self, target: Path, port: int | None = None) -> list[Path]:
        """Write everything below a folder, and return the files. :raises FixtureError: that fails"""
        values = self._values(str(target.resolve()), self.port if port is None else port)
        try:
            for pattern in self._table.get("folders", ()):
                for path in _paths(pattern, values):
                    (target / path).mkdir(parents=True, exist_ok=True)
            return [_written(target / path, text) for path, text in self._texts(values)]
        except OSError as error:
            raise FixtureError(f"cannot write {error.filename or target}: {error.strerror}") from error

    def _texts(self, values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
        """The files with their texts."""
        for pattern, text in self._table.get("texts", {}).items():
            yield from ((path, _filled(text, values)) for path in _paths(pattern, values))
        for file in sorted(self.folder.rglob("*")):
            if file.is_file() and file.name not in (_ABOUT, _TABLE):
                yield str(file.relative_to(self.folder)), _filled(file.read_text(encoding="utf-8"), values)

    def _values(self, place: str, port: int) -> dict[str, object]:
        parameters = {each.name: each.value for each in self.spec.parameters.values()}
        return {**parameters, "DIR": place, "PORT": port}


def fixture_of(spec: Spec) -> Fixture | None:
    """The fixture of a spec, or else of one that it includes; None if none of them has one."""
    for source in reversed(spec.origin.sources):
        folder = _FOLDER / Path(source.name).stem
        if (folder / _TABLE).is_file():
            return Fixture(folder, spec)
    return None


def _as_option(name: str, value: object) -> str:
    return f"{name}={','.join(value) if isinstance(value, tuple) else value}"


def _paths(pattern: str, values: Mapping[str, object]) -> list[str]:
    """A path, or one for each item of the list in it; none of them leads out of the folder."""
    lists = [name for name in _PLACEHOLDER.findall(pattern) if isinstance(values.get(name), tuple)]
    if not lists:
        return [_inside(_filled(pattern, values))]
    items = values[lists[0]]
    assert isinstance(items, tuple)
    return [_inside(_filled(pattern, {**values, lists[0]: item})) for item in items]


def _inside(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise FixtureError(f"{path} leads out of the folder")
    return "/".join(parts)


def _filled(text: str, values: Mapping[str, object]) -> str:
    def value(found: re.Match[str]) -> str:
        given = values.get(found[1], found[0])
        return ", ".join(given) if isinstance(given, tuple) else str(given)

    return _PLACEHOLDER.sub(value, text)


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
