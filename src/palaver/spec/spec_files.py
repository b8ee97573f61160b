"""Files and their includes, loaded in the order in which they are to be processed.

An include goes in front of everything collected so far for the file that includes it: the includer overrides, and of
several includes the first. So a file's list is its includes' lists from the last include to the first, then itself.
A file that is included twice stands there twice, as its second appearance may override what stands between.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from palaver.source import Source, Span
from palaver.spec.ast import NOWHERE, Include, SpecFile
from palaver.spec.diagnostics import Reporter, did_you_mean
from palaver.spec.lexer import normalise_line_ends
from palaver.spec.parameters import Parameter as Parameter
from palaver.spec.parameters import ParameterValue as ParameterValue
from palaver.spec.parameters import with_parameters as with_parameters
from palaver.spec.spec_limits import MAX_FILES, MAX_INCLUDE_DEPTH
from palaver.spec.spec_parser import parse_constraint as parse_constraint
from palaver.spec.spec_parser import parse_spec as parse_spec
from palaver.spec.templates import with_templates as with_templates

_UTF8_MARK = b"\xef\xbb\xbf"
_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_NO_SPEC = "check that this is the right file"
_EMPTY: Mapping[str, str] = MappingProxyType({})
_NONE_BUNDLED: Mapping[str, Path] = MappingProxyType({})


def load_files(
    paths: Sequence[str | Path],
    report: Reporter,
    *,
    include_dirs: Sequence[Path] = (),
    environ: Mapping[str, str] = _EMPTY,
    bundled: Mapping[str, Path] = _NONE_BUNDLED,
) -> list[SpecFile]:
    """The specs in `paths` with their includes, which may be bundled ones; unreadable files are reported."""
    loader = _Loader(report, include_dirs, environ, bundled)
    loaded = []
    for given in paths:
        path = Path(given)
        try:
            text = _read_text(path, bundled)
        except _Unreadable as unreadable:
            report.text_is_missing = True
            problem = _unless_it_is_text(str(given), unreadable)
            source = Source(str(path) if problem is unreadable else "<string>", problem.text)
            report.error(source, problem.span, problem.message, problem.hint)
        else:
            loaded += loader.load(Source(str(path), text), path)
    return loaded


def load_texts(
    texts: Sequence[str],
    report: Reporter,
    *,
    include_dirs: Sequence[Path] = (),
    environ: Mapping[str, str] = _EMPTY,
    bundled: Mapping[str, Path] = _NONE_BUNDLED,
) -> list[SpecFile]:
    """The specs in `texts` with their includes, which are looked for in the current directory first."""
    loader = _Loader(report, include_dirs, environ, bundled)
    loaded = []
    for number, text in enumerate(texts, start=1):
        name = "<string>" if number == 1 else f"<string {number}>"
        loaded += loader.load(Source(name, normalise_line_ends(text.removeprefix("\ufeff"))), None)
    return loaded


class _Unreadable(Exception):
    """A file that cannot be read as text; `text` and `span` show the place, if some of it is text."""

    def __init__(self, message: str, hint: str = "", *, text: str = "", span: Span = NOWHERE) -> None:
        self.message = message
        self.hint = hint
        self.text = text
        self.span = span
        super().__init__(message)


class _FileMissing(_Unreadable):
    """A file that is not there; the search for it may go on elsewhere."""


class _FileIsDirectory(_Unreadable):
    """A directory in the place of a file; the search may go on, and it is reported if nothing else is found."""


def _unless_it_is_text(name: str, problem: _Unreadable) -> _Unreadable:
    """The problem of a file, or another one if its name is rather the text of a spec."""
    if "\n" not in name and "::=" not in name:
        return problem
    text = normalise_line_ends(name)
    hint = "write it to a file; in Python, palaver.loads takes the text of a spec"
    return _Unreadable("this is the text of a spec, and no name of a file", hint, text=text, span=Span(0, 1))


class _Loader:
    def __init__(
        self,
        report: Reporter,
        include_dirs: Sequence[Path],
        environ: Mapping[str, str],
        bundled: Mapping[str, Path],
    ) -> None:
        self._report = report
        self._bundled = bundled
        self._dirs = [*include_dirs, *_path_list(environ, "PALAVER_PATH"), *_path_list(environ, "FANDANGO_PATH")]
        self._parsed: dict[str, SpecFile] = {}
        self._count = 0
        self._reported_includes: set[tuple[str, Span]] = set()

    def load(self, source: Source, path: Path | None, includers: tuple[Path, ...] = ()) -> list[SpecFile]:
        """The spec in `source` behind its includes. `path` is None for a spec that is no file."""
        self._count += 1
        spec_file = self._parse(source, path)
        if path is not None:
            includers = (*includers, path)
        loaded = [spec_file]
        for include in spec_file.includes:
            loaded = self._include(include, source, includers) + loaded
        return loaded

    def _parse(self, source: Source, path: Path | None) -> SpecFile:
        """The spec of `source`; the same file is parsed, and its errors are reported, only once."""
        if path is None:
            return parse_spec(source, self._report)
        key = os.path.realpath(path)
        if key not in self._parsed:
            self._parsed[key] = parse_spec(source, self._report)
        return self._parsed[key]

    def _include(self, include: Include, source: Source, includers: tuple[Path, ...]) -> list[SpecFile]:
        try:
            self._refuse_too_many(includers)
            path, text = self._find(include, includers)
            _refuse_loop(path, includers)
        except _Unreadable as unreadable:
            self._report.text_is_missing = True
            # The same include fails again wherever this file is included.
            if (source.name, include.span) not in self._reported_includes:
                self._reported_includes.add((source.name, include.span))
                self._report.error(source, include.span, unreadable.message, unreadable.hint)
            return []
        return self.load(Source(str(path), text, is_included=True), path, includers)

    def _refuse_too_many(self, includers: tuple[Path, ...]) -> None:
        if len(includers) > MAX_INCLUDE_DEPTH:
            raise _Unreadable(f"includes are nested more than {MAX_INCLUDE_DEPTH} deep here")
        if self._count >= MAX_FILES:
            raise _Unreadable(
                f"the spec has more than {MAX_FILES} files",
                "include a file that many others need only once, at the top",
            )

    def _find(self, include: Include, includers: tuple[Path, ...]) -> tuple[Path, str]:
        """The first file of that name, and its text."""
        here = includers[-1].parent if includers else Path()
        problem: _Unreadable | None = None
        for directory in (here, *self._dirs):
            path = directory / include.path
            try:
                return path, _read_text(path)
            except _FileMissing:
                continue
            except _FileIsDirectory as directory_found:
                problem = problem or directory_found
        if problem is not None:
            raise problem
        if (bundled := self._bundled.get(include.path.removesuffix(".fan"))) is not None:
            return bundled, _read_text(bundled)
        places = ", ".join(dict.fromkeys(str(directory) for directory in (here, *self._dirs)))
        hint = did_you_mean(include.path.removesuffix(".fan"), self._bundled)
        hint = f"{hint[:-1]}, which comes with palaver? looked in {places}" if hint else f"looked in {places}"
        raise _FileMissing(f"the included file {include.path} does not exist", hint)


def _path_list(environ: Mapping[str, str], variable: str) -> list[Path]:
    return [Path(entry) for entry in environ.get(variable, "").split(":") if entry]


def _refuse_loop(path: Path, includers: tuple[Path, ...]) -> None:
    real = [os.path.realpath(includer) for includer in includers]
    if os.path.realpath(path) in real:
        loop = includers[real.index(os.path.realpath(path)) :]
        raise _Unreadable(
            "this include is circular: " + " → ".join(str(member) for member in (*loop, path)),
            "move what both need into a file of its own",
        )


def _read_text(path: Path, bundled: Mapping[str, Path] = _NONE_BUNDLED) -> str:
    """The text of a file, with `\\n` as its only line ends. :raises _Unreadable: it cannot be read, or not as text"""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise _FileMissing(f"there is no file {path}", _similar_file(path, bundled)) from None
    except IsADirectoryError:
        raise _FileIsDirectory(f"{path} is a directory", "name a file in it") from None
    except OSError as error:
        raise _Unreadable(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise _FileMissing(f"{str(path)!r} is not a file name") from None
    return normalise_line_ends(_decoded(data, path))


def _decoded(data: bytes, path: Path) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _Unreadable(f"{path} is not UTF-8 but UTF-16", "save it as UTF-8")
    null = data.find(b"\0")
    if null >= 0:
        raise _Unreadable(f"{path} is not a text file: it has a NUL byte at offset {null}", _NO_SPEC)
    if len(_CONTROL.findall(data)) * 20 > len(data):
        raise _Unreadable(f"{path} is not a text file: it is full of control characters", _NO_SPEC)
    start = len(_UTF8_MARK) if data.startswith(_UTF8_MARK) else 0
    try:
        return data[start:].decode()
    except UnicodeDecodeError as error:
        offset = error.start + start
        text = data[start:].decode(errors="replace")
        place = len(data[start:offset].decode())
        raise _Unreadable(
            f"{path} is not UTF-8: byte 0x{data[offset]:02x} at offset {offset}",
            "save it as UTF-8",
            text=text,
            span=Span(place, place + 1),
        ) from None


def _similar_file(path: Path, bundled: Mapping[str, Path]) -> str:
    """A hint at a spec file, or a bundled spec, with a similar name."""
    try:
        beside = {each.stem: each.name for each in sorted(path.parent.iterdir()) if each.suffix == ".fan"}
    except OSError:
        return f"there is no folder {path.parent} either"
    close = get_close_matches(path.stem, beside, n=1)
    if close:
        return f"did you mean {path.parent / beside[close[0]]}?"
    hint = did_you_mean(path.stem, bundled) if path.parent == Path() else ""
    return f"{hint[:-1]}, which comes with palaver?" if hint else "check the path"
