"""Known findings: a file of those that are counted and no longer reported, with the reason for each.

The file is TOML. A finding is known if some entry agrees with it: every field that the entry has is the same in the
finding's fingerprint. So an entry can be made wider by leaving out fields. New entries are appended; what stands in the
file, comments included, is never rewritten.
"""

from __future__ import annotations

import json
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

from palaver.errors import PalaverError
from palaver.lean_dataclasses import dataclass
from palaver.printable import printable
from palaver.session.findings import Fingerprint

_TABLE = "known"
_REASON = "reason"
_FIELDS = tuple(field.name for field in fields(Fingerprint))
_HEADER = """\
# Findings that are known: palaver counts them, and reports them no more. A finding is known if all fields of an entry
# agree with it; leave fields out to make an entry wider.
"""


class KnownFindingsError(PalaverError):
    """A file of known findings cannot be read or written, or says something that means nothing."""


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """An entry: the reason, and what a finding must agree with."""

    reason: str
    wanted: tuple[tuple[str, str | tuple[str, ...]], ...]  # fields of a fingerprint, with their values

    def agrees_with(self, fingerprint: Fingerprint) -> bool:
        """Return True if the finding with this fingerprint is meant."""
        return all(getattr(fingerprint, name) == value for name, value in self.wanted)


@dataclass(frozen=True, slots=True)
class KnownFindings:
    """All entries of a file."""

    entries: tuple[KnownFinding, ...] = ()

    def reason_for(self, fingerprint: Fingerprint) -> str:
        """The reason why a finding is known; "" if it is not."""
        return next((entry.reason for entry in self.entries if entry.agrees_with(fingerprint)), "")


def read(path: str | PathLike[str]) -> KnownFindings:
    """Read a file of known findings. :raises KnownFindingsError: there is none, or something is wrong with it"""
    import tomllib  # only where there is a file of it: it is slow to import

    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise KnownFindingsError(f"cannot read the known findings in {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise KnownFindingsError(f"{path} is not TOML: {error}") from error
    rows = data.pop(_TABLE, [])
    if data or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise KnownFindingsError(f"{path} has something else in it than [[{_TABLE}]] entries")
    return KnownFindings(tuple(_entry(row, f"{path}, entry {number}") for number, row in enumerate(rows, 1)))


def _entry(row: dict[str, Any], place: str) -> KnownFinding:
    reason = row.pop(_REASON, None)
    if not isinstance(reason, str) or not reason.strip():
        raise KnownFindingsError(f'{place}: there is no {_REASON}; write {_REASON} = "…"')
    wanted = []
    for name, value in row.items():
        if name not in _FIELDS:
            raise KnownFindingsError(f"{place}: {name} is none of {', '.join((_REASON, *_FIELDS))}")
        is_list = name == "expected"
        if not (isinstance(value, list) if is_list else isinstance(value, str)):
            raise KnownFindingsError(f"{place}: {name} is {'a list of texts' if is_list else 'a text'}")
        wanted.append((name, tuple(map(str, value)) if is_list else value))
    if "kind" not in row:
        raise KnownFindingsError(f'{place}: there is no kind, such as kind = "crash"')
    return KnownFinding(reason, tuple(wanted))


def add(path: str | PathLike[str], fingerprint: Fingerprint, reason: str, about: str = "") -> str:
    """Append an entry for a finding, with a comment, unless the file has it; return the reason there, "" if it is new.

    :raises KnownFindingsError: the file cannot be written or read
    """
    place = Path(path)
    if place.exists() and (known := read(place).reason_for(fingerprint)):
        return known
    lines = [f"# {printable(' '.join(about.split()))}"] if about else []
    lines += [f"[[{_TABLE}]]", f"{_REASON} = {_text(reason)}"]
    for name in _FIELDS:
        value = getattr(fingerprint, name)
        if isinstance(value, tuple):
            lines += [f"{name} = [{', '.join(map(_text, value))}]"] if value else []
        elif value:
            lines.append(f"{name} = {_text(value)}")
    try:
        before = place.read_text(encoding="utf-8") if place.exists() else _HEADER
        start = "" if place.exists() else _HEADER
        gap = "\n" if not before or before.endswith("\n") else "\n\n"
        with place.open("a", encoding="utf-8") as file:
            file.write(start + gap + "\n".join(lines) + "\n")
    except OSError as error:
        raise KnownFindingsError(f"cannot write the known findings to {path}: {error.strerror}") from error
    return ""


def _text(value: str) -> str:
    """A text as TOML writes it: as JSON does, but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
