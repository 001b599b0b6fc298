"""The referee's journal: its rulings, which are stored before they are sent.

Each line is a JSON object: ``{"ruling": …}`` for a ruling, ``{"delivered": …}`` when the manager has received it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from threading import Lock

import msgspec
from msgspec import Raw

from leaguekit.store.base import StoreError
from leaguekit.store.disk import DISK, AppendFile, Files


class _Key(msgspec.Struct, frozen=True):
    """The key of a ruling. A match may be played again, as another attempt."""

    match_id: str
    attempt: int


class _Line(msgspec.Struct):
    ruling: Raw = Raw(b"")
    delivered: _Key | None = None


_line = msgspec.json.Decoder(_Line)
_key = msgspec.json.Decoder(_Key)


class Journal:
    """A journal file, which one referee opens at a time. Its methods may be called from any thread.

    Opening the journal removes an incomplete last line, because that ruling was never sent. It also removes the
    rulings that were delivered, and keeps their keys: a late copy of an assignment must not start the match again.
    Unless ``is_ours``, the whole content is removed.
    """

    def __init__(self, path: Path, files: Files = DISK, *, is_ours: bool = True) -> None:
        self.path = path
        self._files = files
        self._lock = files.lock(path)
        try:
            self._pending, self._delivered = _read(path, (files.read(path) if is_ours else None) or b"")
            self._file: AppendFile | None = self._open_rewritten()
        except BaseException:
            self._lock.release()
            raise
        # Lines for delivered rulings that are not written yet.
        self._notes: list[bytes] = []
        self._writing, self._syncing = Lock(), Lock()
        self._written = self._synced = 0
        self._failure: StoreError | None = None

    def write(self, *entries: bytes) -> None:
        """Write rulings, which are JSON objects with ``match_id`` and ``attempt``. They are durable on return."""
        keys = [_key_of(entry) for entry in entries]
        with self._writing:
            self._append(*map(_ruling_line, entries))
            self._written += 1
            number, file = self._written, self._file
        # While a thread waits here, the sync of another thread often includes its line.
        with self._syncing:
            if self._file is not file:
                raise StoreError(f"The journal {self.path} failed and was rewritten without this ruling.")
            if self._synced < number:
                self._sync()
        with self._writing:
            self._pending.update(zip(keys, entries, strict=True))

    def mark_delivered(self, match_id: str, attempt: int) -> None:
        """Record that the manager has a ruling.

        The record is written with the next ruling, by ``flush_delivered``, or by ``close``.
        If the record is lost, the ruling is delivered twice, which is harmless.
        """
        key = _Key(match_id, attempt)
        with self._writing:
            if self._pending.pop(key, None) is not None:
                self._delivered[key] = None
                self._notes.append(_delivered_line(key))

    def flush_delivered(self) -> None:
        """Write which rulings have been delivered."""
        with self._writing:
            if self._notes:
                self._append()

    def pending(self) -> list[bytes]:
        """The rulings that are not delivered yet, in order."""
        with self._writing:
            return list(self._pending.values())

    def delivered_keys(self) -> list[tuple[str, int]]:
        """The matches and attempts of the delivered rulings, in order."""
        with self._writing:
            return [(key.match_id, key.attempt) for key in self._delivered]

    def close(self) -> None:
        with self._writing, self._syncing:
            if self._file is not None:
                if self._failure is None and self._notes:
                    with contextlib.suppress(OSError):
                        self._file.write(b"".join(self._notes))
                self._file.close()
                self._file = None
                self._lock.release()

    def _append(self, *lines: bytes) -> None:
        if self._failure is not None:
            self._rewrite()
        try:
            self._opened().write(b"".join([*self._notes, *lines]))
        except OSError as error:
            raise self._failed(error.strerror) from error
        self._notes.clear()

    def _sync(self) -> None:
        upto = self._written
        if self._failure is not None:
            raise StoreError(str(self._failure))
        try:
            self._opened().sync()
        except OSError as error:
            raise self._failed(error.strerror) from error
        self._synced = upto

    def _rewrite(self) -> None:
        """Rewrite the journal after a failure: a line after an incomplete one would be lost."""
        with self._syncing:
            # Closed first: Windows does not replace a file that is open.
            with contextlib.suppress(OSError):
                self._opened().close()
            self._file = self._open_rewritten()
            self._failure = None
            self._notes.clear()

    def _open_rewritten(self) -> AppendFile:
        lines = [*map(_delivered_line, self._delivered), *map(_ruling_line, self._pending.values())]
        return self._files.open_to_append(self.path, b"".join(lines))

    def _opened(self) -> AppendFile:
        if self._file is None:
            raise StoreError(f"The journal {self.path} is closed.")
        return self._file

    def _failed(self, reason: str | None) -> StoreError:
        self._failure = StoreError(f"The journal {self.path} could not be written: {reason}.")
        return self._failure


def _key_of(entry: bytes) -> _Key:
    if b"\n" in entry:
        raise ValueError("a ruling is one line")
    try:
        return _key.decode(entry)
    except msgspec.DecodeError as error:
        raise ValueError(f"a ruling is a JSON object with match_id and attempt: {error}") from error


def _ruling_line(entry: bytes) -> bytes:
    return b'{"ruling":%b}\n' % entry


def _delivered_line(key: _Key) -> bytes:
    return b'{"delivered":%b}\n' % msgspec.json.encode(key)


def _read(path: Path, content: bytes) -> tuple[dict[_Key, bytes], dict[_Key, None]]:
    """The pending rulings, and the keys of the delivered ones."""
    pending: dict[_Key, bytes] = {}
    delivered: dict[_Key, None] = {}
    *lines, _incomplete = content.split(b"\n")
    for number, text in enumerate(lines, 1):
        try:
            line = _line.decode(text)
            if line.delivered is not None:
                pending.pop(line.delivered, None)
                delivered[line.delivered] = None
            else:
                pending[_key.decode(line.ruling)] = bytes(line.ruling)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise StoreError(
                f"{path}, line {number}, is not a line of a journal ({error}): repair or remove it."
            ) from None
    return pending, delivered
