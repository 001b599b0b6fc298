"""Copies a SQLite store with SQLite's backup function. The copy is complete, also if a manager is writing.

The copy is one file with its own head file. It is written under a temporary name, checked, and then renamed. SQLite's
backup reads one state of the store, and the manager can continue to write.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from leaguekit.store import sqlite_schema
from leaguekit.store.base import StoreError, check_version
from leaguekit.store.disk import sync
from leaguekit.store.head_file import head_path, missing_end, read_head, write_head
from leaguekit.store.lock import WriterLock
from leaguekit.store.sqlite_reader import connect_readonly

# The pages that are copied between two reports of progress: 4 MB.
PAGES_PER_STEP = 1_000
POLL_SECONDS = 0.1
# SQLite's own files beside a store.
SIDE_FILES = ("-wal", "-shm", "-journal")

# Called with a number and its unit.
Progress = Callable[[int, str], None]


class Copied(NamedTuple):
    """The content of a copy."""

    events: int
    texts: int
    bytes: int
    # Whether the log was compared with its head file.
    is_compared: bool = False


def first_event(store: Path) -> bytes:
    """The event that created the league in a store. Raises StoreError if there is none."""
    with _opened(store) as connection:
        try:
            found = connection.execute("SELECT event FROM events WHERE number = 1").fetchone()
        except sqlite3.Error as error:
            raise sqlite_schema.store_error(f"{store} cannot be read as a store", error) from error
    if found is None:
        raise StoreError(f"{store} holds no league yet: there is nothing to copy.")
    return bytes(found[0])


def copy_store(source: Path, target: Path, *, replaces: bool, locks: bool, progress: Progress) -> Copied:
    """Copy a store, and check the copy. Raises StoreError.

    ``replaces`` allows the target to exist. ``locks`` ensures that no manager uses the target. An existing target is
    always locked.
    """
    source, target = (Path(os.path.realpath(path)) for path in (source, target))
    if source == target:
        raise StoreError(f"{target} is the store itself: name another file.")
    if target.is_dir():
        raise StoreError(f"{target} is a folder: name a file in it.")
    if target.exists() and not replaces:
        raise StoreError(f"{target} exists: name another file, or replace it with --force.")
    # The head is read before the log, because the log may grow in between.
    head = read_head(source)
    with ExitStack() as held:
        connection = held.enter_context(_opened(source))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if locks or target.exists():
                held.callback(WriterLock(target).release)
            temporary = held.enter_context(_temporary(target))
            copied = _copy(connection, source, temporary, head or 0, progress)
            _move(temporary, target)
        except (sqlite3.Error, OSError) as error:
            raise _failed(source, target, error) from error
        if head is not None:
            write_head(target, copied.events, durable=True)
        return copied._replace(is_compared=head is not None)


@contextmanager
def _opened(store: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads a store of this version or an older one."""
    connection, copies = connect_readonly(store, _check_copyable)
    with copies or nullcontext(), closing(connection):
        yield connection


def _check_copyable(store: str, version: int, migrations: Sequence[Sequence[str]]) -> None:
    check_version(store, version, len(migrations))
    if version == 0:
        raise StoreError(f"{store} holds no league yet: there is nothing to copy.")


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """A new private file beside the target. It is removed in the end, unless it was renamed."""
    path = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield path
    finally:
        for end in ("", *SIDE_FILES):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)


def _copy(source: sqlite3.Connection, store: Path, path: Path, head: int, progress: Progress) -> Copied:
    # One transaction for all steps. Otherwise SQLite starts the backup again whenever the manager writes.
    source.execute("BEGIN")
    expected = _counts(source)
    if expected[0] < head:
        raise StoreError(missing_end(store, expected[0], head))
    with closing(sqlite_schema.connect(path)) as copy:
        source.backup(
            copy,
            pages=PAGES_PER_STEP,
            progress=lambda _status, remaining, total: progress((total - remaining) * 4096 // 1_000_000, "MB copied"),
        )
        source.execute("ROLLBACK")
        # The copy must be one file, without a journal.
        copy.execute("PRAGMA journal_mode = DELETE")
        found = _run_with_progress(copy, lambda: copy.execute("PRAGMA integrity_check(1)").fetchone(), progress)
        if found != (b"ok",):
            raise StoreError(f"{store} is damaged: {found[0].decode(errors='replace')}. Restore an older backup.")
        last, events, texts = _run_with_progress(copy, lambda: _counts(copy), progress)
    if (last, events, texts) != expected or last != events:
        raise StoreError(f"{store} has a gap: its last event is {last:,}, and it has {events:,}. Restore a backup.")
    sync(path)
    return Copied(events, texts, path.stat().st_size)


def _counts(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """The number of the last event, the number of events, and the number of kept texts."""
    query = "SELECT (SELECT coalesce(max(number), 0) FROM events), (SELECT count(*) FROM events), count(*) FROM kept"
    last, events, texts = connection.execute(query).fetchone()
    return last, events, texts


def _run_with_progress(connection: sqlite3.Connection, work: Callable[[], Any], progress: Progress) -> Any:
    """Run a long operation in a thread, so that it can be interrupted and its progress is reported."""
    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(work)
        try:
            for tenths in count():
                progress(tenths // 10, "seconds of checking the copy")
                with suppress(TimeoutError):
                    return working.result(POLL_SECONDS)
        except BaseException:
            connection.interrupt()
            raise


def _move(temporary: Path, target: Path) -> None:
    """Rename a finished copy to the target. The journal of a replaced store must not be applied to the copy."""
    side_files = [target.with_name(f"{target.name}{end}") for end in SIDE_FILES]
    if target.exists() and any(path.exists() for path in side_files):
        # The old store stays complete until it is replaced.
        with suppress(sqlite3.Error), closing(sqlite_schema.connect(target)) as replaced:
            replaced.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for path in (head_path(target), *side_files):
        path.unlink(missing_ok=True)
    temporary.replace(target)


def _failed(source: Path, target: Path, error: sqlite3.Error | OSError) -> StoreError:
    reason = error.strerror if isinstance(error, OSError) else error
    remedy = f"Make room on the disk of {target.parent}, or name a file in another folder that this user may write to."
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        remedy = "The store is damaged: restore an older backup."
    return StoreError(f"{source} cannot be copied to {target}: {reason}. {remedy}")
