"""``league report``: write a league as one HTML page, and its figures as files for programs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from leaguekit.cli import CommandError, stores
from leaguekit.cli.commands.export import COLUMNS, cell, people_of_row
from leaguekit.cli.tables import csv_row, json_line
from leaguekit.league import events as e
from leaguekit.league.analysis.figures import Figures, PlayerFigures, figures
from leaguekit.league.flat_tables import PERSON_COLUMNS, LeagueTables
from leaguekit.league.sentences import add_player_names
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.store.base import LogReader

if TYPE_CHECKING:
    from leaguekit.web.report.page import Report, ReportedMatch

EXAMPLES = """examples:
  league report                                 the newest league under SHARED, into the folder report
  league report league.db --out report
  league report postgresql://me@db/league --public --out /var/www/league

index.html needs nothing else: no network, no scripts, no other file. Beside it are standings.csv (with ratings and
their intervals), results.csv, cross-table.csv, points.csv and figures.json. The manager may run meanwhile: the report
has the league's state of now. It contains neither tokens nor endpoints. The CSV files have the seat of each player, and
the person and e-mail address that the seat is for (`league seats new --names`). --public leaves the people out.
--own-moves-only rates no match in which a move was replaced: a language model without an answer, a program that fails.
"""
PAGE = "index.html"


def configure(parser: argparse.ArgumentParser) -> None:
    stores.add_options(parser)
    stores.add_format_option(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("report"), help="the folder (default report)")
    parser.add_argument("--public", action="store_true", help="leave the people of seats out of the CSV files")
    parser.add_argument(
        "--own-moves-only", action="store_true", help="leave matches with replaced moves out of the ratings"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object: the figures and the files")


def run(options: argparse.Namespace) -> int:
    return stores.run(options, lambda reader: _report(reader, options))


async def _report(reader: LogReader, options: argparse.Namespace) -> int:
    from leaguekit.web.report.page import Period, Report

    listing, period = LeagueTables(), Period("", "")

    def take(event: e.Event) -> None:
        nonlocal period
        listing.take(event)
        period = Period(period.since or event.at, event.at)

    await stores.feed_events(reader, take)
    out: Path = options.out
    found = figures(listing.league, unrated=listing.with_replaced_moves() if options.own_moves_only else ())
    tables: dict[str, Callable[[Figures], Rows]] = {
        "standings.csv": partial(_standings, listing),
        "cross-table.csv": _cross_table,
        "points.csv": _points,
    }
    people = listing.people()
    if options.public:
        people = {player: {"seat": person["seat"]} for player, person in people.items()}
    files = {name: "".join(map(csv_row, _with_people(rows(found), people))) for name, rows in tables.items()}
    files["results.csv"] = "".join(map(csv_row, _results(listing, people)))
    files["figures.json"] = f"{json_line(msgspec.to_builtins(found))}\n"
    report = Report(listing.league, found, period, files)
    try:
        _write(out, files)
        with (out / PAGE).open("w", encoding="utf-8", newline="") as file:
            async for piece in report.page(_matches(reader, listing, report)):
                file.write(piece)
    except OSError as error:
        raise CommandError(f"cannot write {error.filename}: {error.strerror}") from None
    if options.json:
        print(json_line({"figures": msgspec.to_builtins(found), "files": [str(out / name) for name in (PAGE, *files)]}))
        return 0
    names = {line.player_id: line.display_name or "" for line in found.lines}
    print("\n".join(sanitize_line(add_player_names(sentence, names)) for sentence in found.sentences))
    print(f"Wrote {out / PAGE} ({_format_size((out / PAGE).stat().st_size)}), and beside it {', '.join(files)}")
    if any(person.get("email") for person in people.values()):
        print("The CSV files have e-mail addresses. For a web server, make the report with --public.", file=sys.stderr)
    return 0


def _format_size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8", newline="")


async def _matches(reader: LogReader, listing: LeagueTables, report: Report) -> AsyncIterator[ReportedMatch]:
    from leaguekit.web.report.page import ReportedMatch

    reasons = {row.match_id: row.reason for row in listing.results()}
    with stores.Progress("matches written") as progress:
        for number, match in enumerate(listing.league.matches.values()):
            progress.update(number)
            wanted = match.has_ended and report.full_from is None
            transcript = await stores.read_transcript(reader, match.id) if wanted else None
            yield ReportedMatch(match, reasons.get(match.id), transcript)


Rows = Iterable[Sequence[object]]


def _standings(listing: LeagueTables, found: Figures) -> Rows:
    columns = [*filter(listing.has_column, PlayerFigures.__struct_fields__)]
    yield columns
    yield from ([cell(getattr(line, column)) for column in columns] for line in found.lines)


def _cross_table(found: Figures) -> Rows:
    ids = [line.player_id for line in found.lines]
    yield ["player_id", "display_name", *ids]
    for line in found.lines:
        met = found.cross_table[line.player_id]
        # With a blank, because a spreadsheet takes 01 for a number.
        marks = [" ".join(meeting.mark for meeting in met.get(other, [])) for other in ids]
        yield [line.player_id, cell(line.display_name), *marks]


def _points(found: Figures) -> Rows:
    yield ["player_id", "display_name", *(f"round {number}" for number in range(1, found.round + 1))]
    yield from ([line.player_id, cell(line.display_name), *found.points[line.player_id]] for line in found.lines)


def _results(listing: LeagueTables, people: Mapping[str, Mapping[str, str]]) -> Rows:
    columns = [*filter(listing.has_column, COLUMNS["results"])]
    yield columns
    for row in map(msgspec.to_builtins, listing.results()):
        whole = row | people_of_row(row, people)
        yield [cell(whole.get(head)) for head in columns]


def _with_people(rows: Rows, people: Mapping[str, Mapping[str, str]]) -> Rows:
    """The rows of a table with the seat and the person of each player. One column is the player's id."""
    heads, *lines = rows
    at = list(heads).index("player_id")
    yield [*heads, *PERSON_COLUMNS]
    for line in lines:
        person = people.get(str(line[at]), {})
        yield [*line, *(cell(person.get(name, "")) for name in PERSON_COLUMNS)]
