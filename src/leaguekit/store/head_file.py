"""The head file: ``<store>.head`` holds the number of the last event that is durable in a SQLite store.

The beginning of a log is itself a valid log. So only a number outside of the log shows that its end is missing. This
happens, for example, if ``league.db`` is copied without its journal ``league.db-wal``. The number is written after the
commit. It may be too low after a crash, and is never too high.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from threading import Condition, Thread

from leaguekit.store.base import StoreError, is_postgres
from leaguekit.store.disk import DISK

log = logging.getLogger(__name__)

# The pause between two writes. With 0.3 seconds for the write itself, the file is at most a second old.
PAUSE_SECONDS = 0.7


def head_path(store: Path) -> Path:
    """The path of the head file of a store."""
    return store.with_name(f"{store.name}.head")


def read_head(store: str | Path) -> int | None:
    """The number in a store's head file, or None if there is no such file. PostgreSQL needs none.

    Read it before the log: a manager may be writing both.
    """
    if is_postgres(store):
        return None
    path = head_path(Path(os.path.realpath(store)))
    content = DISK.read(path)
    # A power failure may leave an empty file.
    if not content:
        return None
    try:
        return int(content)
    except ValueError:
        raise StoreError(
            f"{path} holds no event number: {content[:40]!r}. Remove it if the store beside it is complete."
        ) from None


def write_head(store: Path, number: int, *, durable: bool = False) -> None:
    """Write the head file of a store, all of it or nothing."""
    # Not synced for a running league: a number that is too low is harmless, and each sync delays those of the store.
    DISK.write(head_path(store), b"%d\n" % number, private=durable)


class MissingEnd(StoreError):
    """The log of a store ends before the number in its head file."""


def missing_end(store: str | Path, last: int, head: int) -> str:
    """The error text for a log that ends before the number in its head file."""
    name = Path(store).name
    return (
        f"{store} ends at event {last:,}, but {name}.head says that event {head:,} was written: the last "
        f"{head - last:,} events are missing. If they are in the journal {name}-wal, put it back beside the store; if "
        "not, restore a backup with `league restore`. Copy a store with `league backup`, not with cp."
    )


def check_head(store: Path, last: int) -> None:
    """Raise StoreError if the end of a log is missing: the league would continue differently from the lost events."""
    if (head := read_head(store)) is not None and last < head:
        raise StoreError(
            f"{missing_end(store, last, head)} To go on without these events, remove {head_path(store).name}."
        )


def check_not_missing(store: Path) -> None:
    """Raise MissingEnd if a store without tables has a head file: its whole log is in a journal that is missing."""
    if head := read_head(store):
        raise MissingEnd(missing_end(store, 0, head))


class HeadFileWriter:
    """Updates the head file of a store in its own thread, so that the writer of the store never waits for it.

    A new number is written at once, or after a pause if the previous one was written recently. A failure to write is
    logged once, until a write succeeds. It does not stop the league.
    """

    def __init__(self, store: Path, last: int) -> None:
        self._store = store
        self._last = last
        self._written = read_head(store) or 0
        self._is_urgent = self._is_closed = self._is_failing = False
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="store-head", daemon=True)
        self._thread.start()

    def committed(self, number: int) -> None:
        """Set the number of the last durable event."""
        with self._changed:
            self._last = number
            self._changed.notify()

    def write_now(self) -> None:
        """Write the last number without a pause."""
        with self._changed:
            self._is_urgent = True
            self._changed.notify()

    def close(self) -> None:
        """Write the last number, and stop the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        is_last = False
        while not is_last:
            with self._changed:
                self._changed.wait_for(lambda: self._last != self._written or self._is_closed)
                number, is_last = self._last, self._is_closed
            if number != self._written:
                self._write(number)
            with self._changed:
                self._changed.wait_for(lambda: self._is_urgent or self._is_closed, PAUSE_SECONDS)
                self._is_urgent = False

    def _write(self, number: int) -> None:
        try:
            write_head(self._store, number)
        except StoreError as error:
            if not self._is_failing:
                log.warning("%s The league goes on, and `league verify` cannot say if its log is complete", error)
            self._is_failing = True
        else:
            self._written, self._is_failing = number, False
