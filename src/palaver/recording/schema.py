"""The tables of a run: one SQLite file, whose columns are explained in `docs/runs.md`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from palaver.errors import PalaverError

# Raised whenever a reader of the version before would misunderstand the tables; those before it that can be read.
SCHEMA_VERSION: Final = 4
_EARLIER: Final = (1, 2, 3)
FILE_NAME: Final = "run.sqlite"

_TABLES = """
CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE sources (number INTEGER PRIMARY KEY, name TEXT, text TEXT, is_included INTEGER);
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY, started REAL, ended REAL, is_guided INTEGER, verdict TEXT, cut_off TEXT, ends_at REAL,
    watched REAL, sent INTEGER, received INTEGER, covered INTEGER, total INTEGER, silence TEXT, has_details INTEGER,
    recoveries TEXT
);
CREATE TABLE messages (
    session INTEGER, number INTEGER, at REAL, sender TEXT, recipient TEXT, symbol TEXT, data BLOB, is_ours INTEGER,
    aside TEXT, PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE TABLE wire (
    session INTEGER, number INTEGER, at REAL, kind TEXT, link TEXT, data BLOB, detail TEXT,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE TABLE target (
    session INTEGER, number INTEGER, at REAL, kind TEXT, data BLOB, detail TEXT,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE TABLE findings (
    number INTEGER PRIMARY KEY, session INTEGER, at REAL, kind TEXT, label TEXT, severity TEXT, party TEXT,
    message TEXT, expected TEXT, got BLOB, got_offset INTEGER, "constraint" TEXT, cause TEXT, symbols TEXT,
    messages INTEGER, has_before INTEGER, output BLOB, fingerprint TEXT, digest TEXT, explanation TEXT,
    known TEXT
);
CREATE INDEX findings_of_sessions ON findings (session);
CREATE TABLE shrunk (
    finding INTEGER, number INTEGER, sender TEXT, recipient TEXT, symbol TEXT, data BLOB, is_ours INTEGER,
    aside TEXT, PRIMARY KEY (finding, number)
) WITHOUT ROWID;
CREATE TABLE shrinkings (
    finding INTEGER PRIMARY KEY, attempts INTEGER, reproduced INTEGER, of INTEGER, seconds REAL, reason TEXT,
    headline TEXT, explanation TEXT, got BLOB, got_offset INTEGER
);
CREATE TABLE state (name TEXT PRIMARY KEY, session INTEGER, data TEXT) WITHOUT ROWID;
"""


class RunError(PalaverError):
    """A run directory cannot be written, read, or found."""


def create(file: Path) -> sqlite3.Connection:
    """A new file with empty tables; it is there as a whole or not at all. :raises RunError: it cannot be written"""
    beside = file.with_name(f"{file.name}.new")
    try:
        with closing(sqlite3.connect(beside)) as connection, connection:
            # One transaction: else each table waits for the disk.
            connection.executescript(f"BEGIN;{_TABLES}COMMIT;")
            connection.execute("INSERT INTO run VALUES ('schema', ?)", (str(SCHEMA_VERSION),))
        beside.replace(file)
        return connect(file)
    except (sqlite3.Error, OSError) as error:
        raise RunError(f"cannot write the run {file.parent}: {error}") from error


def connect(file: Path) -> sqlite3.Connection:
    """A connection that writes; a session is lost at most if palaver is killed, and none if it ends."""
    # Events of one campaign come from one thread, which need not be the one that made the campaign.
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def bring_up_to_date(file: sqlite3.Connection) -> None:
    """Give the tables of an earlier version what this one writes. :raises sqlite3.Error: they cannot be written"""
    version = _version_of(file)
    if version in _EARLIER:
        file.execute("BEGIN")
        if version < 2:
            file.execute("ALTER TABLE findings ADD COLUMN known TEXT")
        if version < 3:
            file.execute("ALTER TABLE messages ADD COLUMN aside TEXT")
            file.execute("ALTER TABLE shrunk ADD COLUMN aside TEXT")
        file.execute("ALTER TABLE shrinkings ADD COLUMN got BLOB")
        file.execute("ALTER TABLE shrinkings ADD COLUMN got_offset INTEGER")
        file.execute("UPDATE run SET value = ? WHERE name = 'schema'", (str(SCHEMA_VERSION),))
        file.execute("COMMIT")


def has_run(folder: Path) -> bool:
    """Return True if there is a run in a folder. :raises RunError: nobody may look there"""
    try:
        return (folder / FILE_NAME).is_file()
    except PermissionError as error:
        raise RunError(f"cannot read the run {folder}: {error.strerror}") from error


def connect_to_read(file: Path) -> sqlite3.Connection:
    """A connection that only reads. :raises RunError: there is no run, or one that this palaver cannot read"""
    if not has_run(file.parent):
        raise RunError(f"{file.parent} is not a run directory: there is no {file.name} in it")
    place = file.resolve().as_uri()
    try:
        connection = sqlite3.connect(f"{place}?mode=ro", uri=True, check_same_thread=False)
        try:
            version = _version_of(connection)
        except sqlite3.OperationalError:  # a folder where nothing can be written, not even beside the file
            connection = sqlite3.connect(f"{place}?immutable=1", uri=True, check_same_thread=False)
            version = _version_of(connection)
    except sqlite3.Error as error:
        raise RunError(f"{file} is not a run, or it is damaged: {error}") from error
    if version != SCHEMA_VERSION and version not in _EARLIER:
        raise RunError(
            f"{file} has version {version} of the tables, and this palaver reads version {SCHEMA_VERSION}; "
            "use the palaver that wrote it"
        )
    return connection


def _version_of(connection: sqlite3.Connection) -> int:
    found = connection.execute("SELECT value FROM run WHERE name = 'schema'").fetchone()
    return 0 if found is None else int(found[0])
