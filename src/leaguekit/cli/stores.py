"""What commands share that read a league's store: which store, its events page by page, and how far they are."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, Self

import msgspec

from leaguekit.cli import CommandError
from leaguekit.league import events as e
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import MatchTranscript
from leaguekit.store.base import LogReader, Stored, StoreError
from leaguekit.store.head import MissingEnd, missing_end, read_head
from leaguekit.store.opening import open_reader

PAGE = 2_000
# Nobody need be told of what takes no time.
PATIENCE = 1.0
PAUSE = 0.1


def add_options(parser: argparse.ArgumentParser) -> None:
    """The store, which comes before any other argument, and where to look for one."""
    parser.add_argument(
        "store", metavar="STORE", nargs="?", help="the league's file or postgresql://… (default: the newest)"
    )
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        default=Path("SHARED"),
        help="where the newest store is looked for (default SHARED)",
    )


def run(
    options: argparse.Namespace, work: Callable[[LogReader], Coroutine[Any, Any, int]], *, warns: bool = True
) -> int:
    """Do something with a store that is open for reading. ``warns`` says on stderr if the end of its log is missing.

    Without it, MissingEnd is raised if all of the log is missing.
    """
    options.store = options.store or newest(options.data_dir)
    try:
        return asyncio.run(_with_reader(options.store, work, warns=warns))
    except StoreError as error:
        if isinstance(error, MissingEnd) and not warns:
            raise
        raise CommandError(str(error)) from None


def newest(data_dir: Path) -> Path:
    # While a manager is at work, what it writes goes to the file beside the store.
    stores = list(data_dir.glob("agents/*/manager/league.db"))
    if not stores:
        raise CommandError(f"there is no league under {data_dir}; name its store, or its folder with --data-dir")
    newest = max(stores, key=lambda store: max(_changed(store), _changed(store.with_name("league.db-wal"))))
    print(f"Reading {newest}", file=sys.stderr)
    return newest


def _changed(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


async def _with_reader(
    address: str | Path, work: Callable[[LogReader], Coroutine[Any, Any, int]], *, warns: bool
) -> int:
    reader = await open_reader(address)
    try:
        if warns:
            await _warn_of_missing_end(address, reader)
        return await work(reader)
    finally:
        await reader.close()


async def _warn_of_missing_end(address: str | Path, reader: LogReader) -> None:
    try:
        warning = await missing_events(address, reader)
    except StoreError as error:
        warning = str(error)
    if warning is not None:
        print(f"Warning: {warning}", file=sys.stderr)


async def missing_events(address: str | Path, reader: LogReader) -> str | None:
    """What to say if the log ends before the number in its head file."""
    head = read_head(address)
    if not head or await reader.read(head - 1, 1):
        return None
    last = 0
    async for one in stored(reader):
        last = one.number
    return missing_end(address, last, head)


async def stored(reader: LogReader, after: int = 0) -> AsyncIterator[Stored]:
    """The events behind a number as they lie in the log; never more than a page of them in memory."""
    while page := await reader.read(after, PAGE):
        for one in page:
            yield one
        after = page[-1].number


async def feed(reader: LogReader, take: Callable[[e.Event], None]) -> None:
    """Hand all events on; whoever takes them may fold them."""
    is_empty = True
    with Progress("events read") as progress:
        async for one in stored(reader):
            is_empty = False
            progress.show(one.number)
            try:
                take(read(one))
            except (LookupError, ValueError, AttributeError) as error:
                why = f"event {one.number} does not fit those before it ({error!r})"
                raise CommandError(f"{why}; `league verify` checks the whole log") from None
    if is_empty:
        raise CommandError("no league was ever created in this store")


async def transcript(reader: LogReader, match_id: str) -> MatchTranscript | None:
    """What a referee handed in of a match."""
    kept = await reader.kept(f"transcript/{match_id}")
    try:
        return None if kept is None else of_type(MatchTranscript, decode(kept))
    except ProtocolError as error:
        raise CommandError(f"the transcript of {match_id} cannot be read: {error}") from None


def read(one: Stored) -> e.Event:
    """An event, which must be one that this version knows."""
    try:
        return e.decode(one.event)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CommandError(
            f"event {one.number} cannot be read: {error}; `league verify` checks the whole log"
        ) from None


class Progress:
    """Says on a terminal how far something is, once that takes longer than a moment."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + PATIENCE if sys.stderr.isatty() else float("inf")
        self._is_shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def show(self, count: int, what: str | None = None) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next, self._is_shown = now + PAUSE, True
            print(f"\r\x1b[K{count:,} {what or self._what} …", end="", file=sys.stderr, flush=True)
