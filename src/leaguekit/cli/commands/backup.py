"""``league backup``: copy a league's store, also while the league runs."""

from __future__ import annotations

import argparse
import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from leaguekit.cli import CommandError, stores
from leaguekit.cli.tables import json_line
from leaguekit.league import events as e
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.store.backups import copy_store, first_event
from leaguekit.store.base import MEMORY, is_postgres, redact_address
from leaguekit.store.json_files import safe_name

EXAMPLES = """examples:
  league backup                                    the newest league under SHARED, into this folder
  league backup --out backups/                     into another one; the name is LEAGUE-DATE-TIME.db
  league backup SHARED/agents/…/manager/league.db --out monday.db
  league backup --out monday.db --force            replace an older backup
  league verify monday.db                          a backup is a store, and can be read as one

The league may run: the copy is made by SQLite's own backup, holds everything that was acknowledged before it began, and
does not delay the league. Do not copy league.db with cp: what was written last is in league.db-wal. The copy is checked
before it gets its name: SQLite's integrity check, the count of events, and the number in the head file. Beside it is
its own head file (monday.db.head). It holds keys, so only its owner can read it.

In the backup: all events, transcripts, the snapshot, and the plan by which `league run` goes on.
Not in it: the admin token and the referee code (files in the manager's folder; without them a manager makes new ones),
logs, the JSON files (`league rebuild-files` makes those of the league again), and what players and referees keep.

A league in PostgreSQL is copied by PostgreSQL's own tools:
  pg_dump --format=custom --file=league.dump --dbname=postgresql://user@host/league

The exit code is 0 if the backup is good, 2 if there is none, 130 after Ctrl-C; then nothing is left of it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    stores.add_options(parser)
    parser.add_argument("--out", metavar="FILE|DIR", help="where to (default: this folder, with the league's name)")
    add_common_options(parser)


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add the common options of ``league backup`` and ``league restore``."""
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(options: argparse.Namespace) -> int:
    address = options.store or stores.newest_store(options.data_dir)
    require_sqlite(address, ["pg_dump", "--format=custom", "--file=league.dump"])
    store = Path(address)
    league_id = read_league_id(store)
    out = Path(options.out or ".")
    if out.is_dir() or str(options.out).endswith(os.sep):
        out /= f"{safe_name(league_id)}-{datetime.now().astimezone():%Y%m%d-%H%M%S}.db"
    with stores.Progress("MB copied") as progress:
        copied = copy_store(store, out, replaces=options.force, locks=False, progress=progress.update)
    summary = {"league_id": league_id, "store": str(store), "backup": str(out), **copied._asdict()}
    if options.json:
        print(json_line(summary))
    else:
        print(f"Wrote {out}: {describe_contents(summary)}")
        print("Not in it: the admin token, the referee code, logs and JSON files (league backup --help)")
    return 0


def require_sqlite(address: str | Path, tool: list[str]) -> None:
    """Raise CommandError if a store is not a SQLite file. ``tool`` is the command of PostgreSQL for the same."""
    if address == MEMORY:
        raise CommandError(f"{MEMORY} keeps nothing: name the file of a league")
    if is_postgres(address):
        database, mark, query = redact_address(address).partition("?")
        options = parse_qsl(query)
        # PostgreSQL's tools take the schema as an option and not in the address.
        schemas = [f"--schema={value}" for name, value in options if name == "search_path"]
        query = urlencode([(name, value) for name, value in options if name != "search_path"], safe="*/,:")
        command = shlex.join([*tool, *schemas, f"--dbname={database}{mark if query else ''}{query}"])
        raise CommandError(f"the league is in PostgreSQL, which has tools of its own for this. Use: {command}")


def read_league_id(store: Path) -> str:
    """The id of the league in a store."""
    try:
        created = e.decode(first_event(store))
    except DECODE_ERRORS as error:
        raise CommandError(f"event 1 of {store} cannot be read: {error}; `league verify` checks it") from None
    if not isinstance(created, e.LeagueCreated):
        raise CommandError(f"{store} does not begin with a league's creation; `league verify` checks it")
    return created.settings.league_id


def describe_contents(summary: dict[str, Any]) -> str:
    """A sentence about the contents of a copy."""
    size = f"{summary['bytes'] / 1e6:,.1f} MB"
    compared = "as its head file says" if summary["is_compared"] else "with no head file to compare with"
    return sanitize_line(
        f"{summary['league_id']}, {summary['events']:,} events and {summary['texts']:,} texts beside them ({size}), "
        f"checked and complete as far as event {summary['events']:,}, {compared}"
    )
