"""``league export``: results, standings, agents and events for spreadsheets and programs."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from leaguekit.cli import CommandError, stores
from leaguekit.cli.tables import json_line
from leaguekit.league.flat_tables import AgentRow, Listing, ResultRow
from leaguekit.league.sentences import Teller, sentence
from leaguekit.league.ties import PlacedRow
from leaguekit.protocol.plain_text import harmless
from leaguekit.store.base import LogReader
from leaguekit.store.files import safe_name
from leaguekit.store.spreadsheets import csv_row

EXAMPLES = """examples:
  league export                                      the results of the newest league, as JSON
  league export --format csv --out results.csv       for a spreadsheet
  league export --what standings --format csv
  league export --format jsonl --out exports/        results, standings, agents and events, a file each

There are no tokens in it, nor what stands for them, and the league's seed only when the league is over. Where agents
listen is told only with --endpoints. In CSV a cell that a spreadsheet would calculate begins with an apostrophe.
"""
Row = dict[str, Any]
# What there is, with the columns of its CSV file.
HEADS: dict[str, tuple[str, ...]] = {
    "results": ResultRow.__struct_fields__,
    "standings": PlacedRow.__struct_fields__,
    "agents": AgentRow.__struct_fields__,
    "events": ("number", "at", "event", "match_id", "player_id", "referee_id", "text"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    stores.add_options(parser)
    parser.add_argument("--format", choices=("json", "jsonl", "csv"), default="json", help="default json")
    parser.add_argument("--what", choices=tuple(HEADS), help="default results, or all of them into a folder")
    parser.add_argument("--out", metavar="FILE|DIR", help="where to (default: standard output); a folder ends with /")
    parser.add_argument("--endpoints", action="store_true", help="also tell where agents listen")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    out = None if options.out is None else Path(options.out)
    into_folder = out is not None and (options.out.endswith("/") or out.is_dir())
    asked = [options.what] if options.what else list(HEADS) if into_folder else ["results"]
    return stores.run(options, lambda reader: _export(reader, options, asked, out, into_folder=into_folder))


async def _export(
    reader: LogReader, options: argparse.Namespace, asked: list[str], out: Path | None, *, into_folder: bool
) -> int:
    listing = Listing()
    await stores.feed(reader, listing.take)
    for what in asked:
        path = out
        if out is not None and into_folder:
            path = out / f"{safe_name(listing.league.settings.league_id)}-{what}.{options.format}"
        with _opened(path) as file:
            hidden = () if options.endpoints else ("contact_endpoint",)
            write = _Writer(file, options.format, [head for head in HEADS[what] if head not in hidden])
            async for row in _rows(what, listing, reader, endpoints=options.endpoints):
                write.row(row)
            write.end()
        if path is not None:
            print(f"Wrote {path}", file=sys.stderr)
    return 0


async def _rows(what: str, listing: Listing, reader: LogReader, *, endpoints: bool) -> AsyncIterator[Row]:
    if what == "events":
        teller = Teller(endpoints=endpoints)
        async for one in stores.stored(reader):
            event = stores.read(one)
            yield {"number": one.number} | teller.as_json(event) | {"text": sentence(event)}
        return
    rows: dict[str, Iterable[Any]] = {
        "results": listing.results(),
        "standings": listing.standings(),
        "agents": listing.agents(endpoints=endpoints),
    }
    for row in rows[what]:
        yield msgspec.to_builtins(row)


@contextlib.contextmanager
def _opened(path: Path | None) -> Iterator[IO[str]]:
    if path is None:
        yield sys.stdout
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None


class _Writer:
    """Writes rows as they come, in one of the formats."""

    def __init__(self, file: IO[str], form: str, heads: Sequence[str]) -> None:
        self._file, self._form, self._heads = file, form, heads
        self._between = "[\n"
        if form == "csv":
            file.write(csv_row(heads))

    def row(self, row: Row) -> None:
        if self._form == "csv":
            self._file.write(csv_row([cell(row.get(head)) for head in self._heads]))
        elif self._form == "jsonl":
            self._file.write(f"{json_line(row)}\n")
        else:
            self._file.write(f"{self._between}{json_line(row)}")
            self._between = ",\n"

    def end(self) -> None:
        if self._form == "json":
            self._file.write("[]\n" if self._between == "[\n" else "\n]\n")


def cell(value: object) -> object:
    """What stands in a spreadsheet for a value."""
    if isinstance(value, list):
        return harmless(" ".join(map(str, value)))
    return harmless(value) if isinstance(value, str) else value
