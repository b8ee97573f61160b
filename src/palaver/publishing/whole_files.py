"""Files that are replaced as a whole: whoever reads one sees the old text or the new one, and never a part."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from palaver.errors import PalaverError


class ReportError(PalaverError):
    """A report cannot be written."""


def check_place(file: Path) -> None:
    """Check that a file can be written, before there is anything to write. :raises ReportError: it cannot"""
    try:
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not file.exists() or file.is_file():
            NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.").close()
    except OSError as error:
        raise ReportError(f"cannot write {file}: {error.strerror}") from error


def write_whole(file: Path, text: str) -> None:
    """Write a file, or replace it. :raises ReportError: it cannot be written"""
    try:
        if file.exists() and not file.is_file():  # a pipe, a terminal: there is nothing to be replaced
            file.write_text(text, encoding="utf-8")
            return
        with NamedTemporaryFile(
            "w", dir=file.parent, prefix=f".{file.name}.", encoding="utf-8", delete=False
        ) as beside:
            name = beside.name
            try:
                beside.write(text)
                beside.flush()
                os.fchmod(beside.fileno(), 0o666 & ~_umask())
                os.replace(name, file)
            except BaseException:
                os.unlink(name)
                raise
    except OSError as error:
        raise ReportError(f"cannot write {file}: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
