"""``league restore``: put a backup in the place of a league's store."""

from __future__ import annotations

import argparse
import asyncio
import shlex
from pathlib import Path

from leaguekit.cli import CommandError, add_data_dir_option, stored_plans, stores
from leaguekit.cli.commands.backup import add_common_options, describe_contents, read_league_id, require_sqlite
from leaguekit.cli.commands.manager import default_store
from leaguekit.cli.tables import json_line
from leaguekit.manager.operator import ADMIN_TOKEN, REFEREE_CODE
from leaguekit.store.backups import copy_store
from leaguekit.store.base import StoreError

EXAMPLES = """examples:
  league restore monday.db                         to where the league was under SHARED
  league restore monday.db --data-dir elsewhere    on another machine, under another folder
  league restore monday.db league.db               to a file of this name
  league restore monday.db --force                 in place of the store that is there

The manager must be stopped. The backup is checked, copied, and put in place as a whole, with its head file. The command
that continues the league is printed. The league continues from the moment of the backup, with the same ids, tokens,
seats and draws. What came later is lost, and is played again. Referees keep in journal.jsonl what they have played
since: remove that file, which is named if it is under --data-dir, and start them again. Otherwise such a match waits
for minutes until its attempt is void and the next begins.

The admin token and the referee code are not in a backup. Those in the manager's folder stay valid. If they are missing,
the manager makes a new admin token and shows it; `league token rotate --referee-code` makes a new code. `league
rebuild-files` makes the JSON files again.

A league in PostgreSQL is restored by PostgreSQL's own tools:
  pg_restore league.dump --clean --if-exists --no-owner --dbname=postgresql://user@host/league

The exit code is 0 if the store is in place, 2 if not, 130 after Ctrl-C; then the store is as it was.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("backup", metavar="BACKUP", help="the file that `league backup` wrote")
    parser.add_argument("store", metavar="STORE", nargs="?", help="the file to restore (default: the league's own)")
    add_data_dir_option(parser, "where the league's own store is (default SHARED)")
    add_common_options(parser)


def run(options: argparse.Namespace) -> int:
    for address in (options.backup, options.store or ""):
        require_sqlite(address, ["pg_restore", "league.dump", "--clean", "--if-exists", "--no-owner"])
    backup = Path(options.backup)
    league_id = read_league_id(backup)
    default_file = default_store(options.data_dir, league_id)
    store = Path(options.store or default_file)
    with stores.Progress("MB copied") as progress:
        copied = copy_store(backup, store, replaces=options.force, locks=True, progress=progress.update)
    summary = {"league_id": league_id, "backup": str(backup), "store": str(store), **copied._asdict()}
    missing = [name for name in (ADMIN_TOKEN, REFEREE_CODE) if not (default_file.parent / name).exists()]
    journals = sorted(map(str, default_file.parent.parent.glob("*/journal.jsonl")))
    continue_command = _continue_command(store, options.data_dir, "host" if journals else "manager")
    if options.json:
        print(json_line(summary | {"missing": missing, "journals": journals, "go_on": continue_command}))
        return 0
    print(f"Restored {store}: {describe_contents(summary)}")
    if ADMIN_TOKEN in missing:
        print(f"There is no admin token in {default_file.parent}: the manager makes a new one")
    if REFEREE_CODE in missing:
        print("There is no referee code there: `league token rotate --referee-code` makes a new one")
    if journals:
        print("Stop the referees, and remove what they remember of later matches:")
        print(*(f"  {path}" for path in journals), sep="\n")
    agents = default_file.parent.parent
    if not any(agents.glob("*/state.json")):
        print(f"There are no tokens of agents in {agents}: copy what they had there before they come back")
    print(f"Go on with: {continue_command}")
    return 0


def _continue_command(store: Path, data_dir: Path, command: str) -> str:
    """The command that continues the league; ``command`` unless it is `league run`."""
    more = [] if data_dir == Path("SHARED") else ["--data-dir", str(data_dir)]
    try:
        asyncio.run(stored_plans.read_run_plan(str(store)))
    except (CommandError, StoreError):
        return shlex.join(["league", command, "--store", str(store), *more])
    return stored_plans.resume_command(store, *more)
