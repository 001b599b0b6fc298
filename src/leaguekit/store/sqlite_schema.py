"""The tables of a SQLite store: connections, versions, and migrations."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from leaguekit.store.base import StoreError

# The statements of each migration; the first one leads from an empty file to version 1. Append only.
# Events are stored as JSON texts, so that people can query them with SQLite's JSON functions.
MIGRATIONS: list[Sequence[str]] = [
    (
        "CREATE TABLE leaguekit (version INTEGER NOT NULL)",
        "INSERT INTO leaguekit VALUES (0)",
        "CREATE TABLE events (number INTEGER PRIMARY KEY, event TEXT NOT NULL)",
        "CREATE TABLE kept (name TEXT PRIMARY KEY, content BLOB NOT NULL)",
    ),
    # Version 2 has settings that older releases cannot read (tie_breaks with a lot). The tables are the same.
    (),
    # Version 3 has events that older releases do not know: SettingsChanged, PlayerReadmitted, RegistrationRefused. The
    # tables are the same.
    (),
    # Version 4 has events and settings that older releases do not know: RoundDrawn, format, game_args; and results with
    # records and payoffs. The tables are the same.
    (),
]

_ADVICE = {
    sqlite3.SQLITE_NOTADB: "It is not a SQLite database: name another file.",
    sqlite3.SQLITE_CORRUPT: "The file is damaged: restore a copy, or name another file.",
    sqlite3.SQLITE_READONLY: "Make the file and its folder writable for this user, or name another file.",
    sqlite3.SQLITE_CANTOPEN: "Make the file and its folder writable for this user, or name another file.",
    sqlite3.SQLITE_FULL: "Make room on its disk, then start again: everything acknowledged so far is kept.",
    sqlite3.SQLITE_IOERR: "Look after its disk, then start again: everything acknowledged so far is kept.",
    sqlite3.SQLITE_BUSY: "Another program holds the database: end it, then start again.",
}


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """Connect to an existing file. ``mode`` is that of SQLite's URIs: rw, ro, or ro&immutable=1."""
    # A connection is opened in one thread and used in another, but never in two at the same time.
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.text_factory = bytes
    return connection


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the tables; 0 if there are none. Raises StoreError if they belong to another program."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return 0
    if b"leaguekit" not in tables:
        raise StoreError(f"{path} is the SQLite database of some other program: name another file.")
    (version,) = connection.execute("SELECT max(version) FROM leaguekit").fetchone()
    if not isinstance(version, int) or version < 1:
        raise StoreError(f"{path} is damaged: it does not say of which version it is. Restore a backup.")
    return version


def last_number(connection: sqlite3.Connection, version: int) -> int:
    """The number of the last event, 0 if there is none."""
    if version == 0:
        return 0
    (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM events").fetchone()
    return int(last)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Apply the migrations after a version, within a transaction of the caller."""
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in statements:
            connection.execute(statement)
        connection.execute("UPDATE leaguekit SET version = ?", (number,))


def store_error(what: str, error: Exception) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    advice = _ADVICE.get(code & 0xFF, "") if code is not None else ""
    reason = error.strerror if isinstance(error, OSError) else error
    return StoreError(f"{what}: {reason}. {advice}".rstrip())
