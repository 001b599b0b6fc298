"""``league export``: write results, standings, agents and events for spreadsheets and programs."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from leaguekit.cli import CommandError, stores
from leaguekit.cli.tables import csv_row, json_line
from leaguekit.formats import FormatError
from leaguekit.league.commands.tournaments import tournament_report
from leaguekit.league.flat_tables import PERSON_COLUMNS, AgentRow, LeagueTables, ResultRow
from leaguekit.league.sentences import EventFormatter
from leaguekit.league.standings import PlacedRow
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.store.base import LogReader
from leaguekit.store.json_files import safe_name

EXAMPLES = """examples:
  league export                                      the results of the newest league, as JSON
  league export --format csv --out results.csv       for a spreadsheet
  league export --what standings --format csv
  league export --format trf --out cup.trf           for programs that check the pairings of a Swiss
  league export --format jsonl --out exports/        results, standings, agents and events, one file each

Every table has the seat of each player, and the person and e-mail address that the seat is for (`league seats new
--names`). The export has no tokens and no hashes of tokens. It has the league's seed only when the league is over, and
endpoints only with --endpoints. In CSV a cell that a spreadsheet would calculate begins with an apostrophe.
CSV is in UTF-8 without a byte order mark: in Excel, open it with Data > From Text/CSV, or accents may be wrong.
"""
Row = dict[str, Any]
# The tables that can be exported, with the columns of their CSV files.
COLUMNS: dict[str, tuple[str, ...]] = {
    "results": (
        *ResultRow.__struct_fields__,
        *(f"{name}_{side}" for side in ("A", "B") for name in PERSON_COLUMNS),
    ),
    "standings": (*PlacedRow.__struct_fields__, *PERSON_COLUMNS),
    "agents": (*AgentRow.__struct_fields__, *PERSON_COLUMNS),
    "events": ("number", "at", "event", "match_id", "player_id", "referee_id", "text", *PERSON_COLUMNS),
}


def configure(parser: argparse.ArgumentParser) -> None:
    stores.add_options(parser)
    parser.add_argument(
        "--format",
        choices=("json", "jsonl", "csv", "trf"),
        default="json",
        help="default json; trf: the tournament report file of FIDE",
    )
    parser.add_argument("--what", choices=tuple(COLUMNS), help="default results, or all of them into a folder")
    parser.add_argument("--out", metavar="FILE|DIR", help="where to (default: standard output); a folder ends with /")
    parser.add_argument("--endpoints", action="store_true", help="also export where agents listen")


def run(options: argparse.Namespace) -> int:
    out = None if options.out is None else Path(options.out)
    is_folder = out is not None and (options.out.endswith("/") or out.is_dir())
    tables = [options.what] if options.what else list(COLUMNS) if is_folder else ["results"]
    return stores.run(options, lambda reader: _export(reader, options, tables, out, is_folder=is_folder))


async def _export(
    reader: LogReader, options: argparse.Namespace, tables: list[str], out: Path | None, *, is_folder: bool
) -> int:
    listing = LeagueTables()
    await stores.feed_events(reader, listing.take)
    if options.format == "trf":
        return _export_trf(listing, out, is_folder=is_folder)
    if not any(match.has_ended for match in listing.league.matches.values()):
        print("Warning: no match of this league has ended", file=sys.stderr)
    for what in tables:
        path = out
        if out is not None and is_folder:
            path = out / f"{safe_name(listing.league.settings.league_id)}-{what}.{options.format}"
        with _open_output(path) as file:
            columns = [
                column
                for column in COLUMNS[what]
                if (options.endpoints or column != "contact_endpoint") and listing.has_column(column)
            ]
            await _write(file, options.format, columns, _rows(what, listing, reader, endpoints=options.endpoints))
        if path is not None:
            print(f"Wrote {path}", file=sys.stderr)
    return 0


def _export_trf(listing: LeagueTables, out: Path | None, *, is_folder: bool) -> int:
    league = listing.league
    if out is not None and is_folder:
        out = out / f"{safe_name(league.settings.league_id)}.trf"
    try:
        text = tournament_report(league)
    except FormatError as error:
        raise CommandError(str(error)) from None
    with _open_output(out) as file:
        file.write(text)
    if out is not None:
        print(f"Wrote {out}", file=sys.stderr)
    return 0


async def _rows(what: str, listing: LeagueTables, reader: LogReader, *, endpoints: bool) -> AsyncIterator[Row]:
    people = listing.people()
    if what == "events":
        formatter = EventFormatter(endpoints=endpoints)
        async for one in stores.iterate_events(reader):
            event = stores.decode_event(one)
            person = people.get(getattr(event, "player_id", ""), {})
            yield {"number": one.number} | formatter.as_json(event) | {"text": formatter.as_text(event)} | person
        return
    rows: dict[str, Iterable[Any]] = {
        "results": listing.results(),
        "standings": listing.standings(),
        "agents": listing.agents(endpoints=endpoints),
    }
    for row in map(msgspec.to_builtins, rows[what]):
        yield row | people_of_row(row, people)


def people_of_row(row: Row, people: Mapping[str, Mapping[str, str]]) -> Row:
    """What a row of a table gets in addition: the seats and the people of its players."""
    if "player_A_id" not in row:
        return dict(people.get(row.get("player_id") or row["agent_id"], {}))
    return {
        f"{name}_{side}": value
        for side in ("A", "B")
        for name, value in people.get(row[f"player_{side}_id"], {}).items()
    }


@contextlib.contextmanager
def _open_output(path: Path | None) -> Iterator[IO[str]]:
    if path is None:
        yield sys.stdout
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None


async def _write(file: IO[str], file_format: str, columns: Sequence[str], rows: AsyncIterator[Row]) -> None:
    """Write rows in one of the formats, one after the other."""
    if file_format == "csv":
        file.write(csv_row(columns))
        async for row in rows:
            file.write(csv_row([cell(row.get(column)) for column in columns]))
    elif file_format == "jsonl":
        async for row in rows:
            file.write(f"{json_line(row)}\n")
    else:
        separator = "[\n"
        async for row in rows:
            file.write(f"{separator}{json_line(row)}")
            separator = ",\n"
        file.write("[]\n" if separator == "[\n" else "\n]\n")


def cell(value: object) -> object:
    """A value as the cell of a spreadsheet."""
    if isinstance(value, list):
        return sanitize_line(" ".join(map(str, value)))
    return sanitize_line(value) if isinstance(value, str) else value
