"""The common parts of commands that read a league's store: choosing it, reading its events in pages, progress."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self

from msgspec import UNSET

from leaguekit.cli import CommandError, add_data_dir_option, formats
from leaguekit.cli.arguments import add_own_game_option
from leaguekit.formats import FormatError, parse_call
from leaguekit.games.base import Moves
from leaguekit.league import events as e
from leaguekit.league.outcomes import read_record, record_name
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import MatchTranscript
from leaguekit.store.base import LogReader, Stored, StoreError
from leaguekit.store.head_file import missing_end, read_head
from leaguekit.store.opening import open_reader

PAGE_EVENTS = 2_000
# Progress is displayed only for work that takes longer than this.
PROGRESS_DELAY_SECONDS = 1.0
PROGRESS_INTERVAL_SECONDS = 0.1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the argument STORE, which comes before all others, and ``--data-dir``."""
    parser.add_argument(
        "store", metavar="STORE", nargs="?", help="the league's file or postgresql://… (default: the newest)"
    )
    add_data_dir_option(parser, "where the newest store is looked for (default SHARED)")
    add_own_game_option(parser, ", if the league played it")


def add_format_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--format``, with which ``run`` loads the format of a league that is not known here."""
    parser.add_argument(
        "--format",
        metavar="FILE.py:CLASS",
        dest="own_format",
        help="a format of your own, if the league was played in it",
    )


def run(
    options: argparse.Namespace, work: Callable[[LogReader], Coroutine[Any, Any, int]], *, warns: bool = True
) -> int:
    """Open the store for reading and do some work with it. Returns the exit code of the work.

    With ``warns``, there is a warning on stderr if the end of the log is missing. MissingEnd is raised if the whole log
    is missing.
    """
    options.store = options.store or newest_store(options.data_dir)

    async def read() -> int:
        async with opened(options.store) as reader:
            if warns:
                await _warn_if_end_is_missing(options.store, reader)
            if getattr(options, "own_format", None) is not None:
                await _load_format(options.own_format, reader)
            return await work(reader)

    return asyncio.run(read())


async def _load_format(text: str, reader: LogReader) -> None:
    """Make a format known by the name that it has in the settings of this league. Raises CommandError."""
    for one in await reader.read(0, 1):
        # The command itself says what is wrong with a log that begins otherwise.
        with suppress(FormatError, *DECODE_ERRORS):
            event = e.decode(one.event)
            if isinstance(event, e.LeagueCreated):
                formats.load(text, parse_call(event.settings.format_text)[0])


@asynccontextmanager
async def opened(address: str | Path) -> AsyncIterator[LogReader]:
    """A reader of a store, which is closed in the end. Raises StoreError."""
    reader = await open_reader(address)
    try:
        yield reader
    finally:
        await reader.close()


def newest_store(data_dir: Path) -> Path:
    # While a manager runs, it writes to the file league.db-wal beside the store.
    stores = list(data_dir.glob("agents/*/manager/league.db"))
    if not stores:
        raise CommandError(
            f"there is no league under {data_dir}; name its store, or its folder with --data-dir. A league of another "
            "host is on its page, at the manager's address without mcp"
        )
    newest = max(stores, key=lambda store: max(_modified_at(store), _modified_at(store.with_name("league.db-wal"))))
    print(f"Reading {newest}", file=sys.stderr)
    return newest


def _modified_at(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


async def _warn_if_end_is_missing(address: str | Path, reader: LogReader) -> None:
    try:
        warning = await describe_missing_events(address, reader)
    except StoreError as error:
        warning = str(error)
    if warning is not None:
        print(f"Warning: {warning}", file=sys.stderr)


async def describe_missing_events(address: str | Path, reader: LogReader) -> str | None:
    """A sentence if the log ends before the number in its head file, and otherwise None."""
    head = read_head(address)
    if not head or await reader.read(head - 1, 1):
        return None
    last = 0
    async for one in iterate_events(reader):
        last = one.number
    return missing_end(address, last, head)


async def iterate_events(reader: LogReader, after: int = 0) -> AsyncIterator[Stored]:
    """The stored events after a number. Only one page of them is in memory at a time."""
    while page := await reader.read(after, PAGE_EVENTS):
        for one in page:
            yield one
        after = page[-1].number


async def feed_events(reader: LogReader, take: Callable[[e.Event], None]) -> None:
    """Call ``take`` with every event of the log, in order. Raises CommandError if an event does not fit."""
    is_empty = True
    with Progress("events read") as progress:
        async for one in iterate_events(reader):
            is_empty = False
            progress.update(one.number)
            try:
                take(decode_event(one))
            except (LookupError, ValueError, AttributeError) as error:
                why = f"event {one.number} does not fit those before it ({error!r})"
                raise CommandError(f"{why}; `league verify` checks the whole log") from None
    if is_empty:
        raise CommandError("no league was ever created in this store")


async def read_posted_record(reader: LogReader, recorded: e.ResultRecorded) -> list[Moves] | None:
    """The record of a long match, which its referee posted before the report; None if there is none."""
    if recorded.result.details.record_sha256 is UNSET:
        return None
    return read_record(
        await reader.read_document(record_name(recorded.match_id, recorded.attempt)), recorded.result.details
    )


async def read_transcript(reader: LogReader, match_id: str) -> MatchTranscript | None:
    """The transcript that a referee delivered of a match, if there is one."""
    kept = await reader.read_document(f"transcript/{match_id}")
    try:
        return None if kept is None else of_type(MatchTranscript, decode(kept))
    except ProtocolError as error:
        raise CommandError(f"the transcript of {match_id} cannot be read: {error}") from None


def decode_event(one: Stored) -> e.Event:
    """Decode a stored event. Raises CommandError if this version does not know it."""
    try:
        return e.decode(one.event)
    except DECODE_ERRORS as error:
        raise CommandError(
            f"event {one.number} cannot be read: {error}; `league verify` checks the whole log"
        ) from None


class Progress:
    """Displays progress on a terminal, if the work takes longer than a moment."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + PROGRESS_DELAY_SECONDS if sys.stderr.isatty() else float("inf")
        self._is_visible = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_visible:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def update(self, count: int, what: str | None = None) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next, self._is_visible = now + PROGRESS_INTERVAL_SECONDS, True
            print(f"\r\x1b[K{count:,} {what or self._what} …", end="", file=sys.stderr, flush=True)
