"""``league manager``: serve a league."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import socket
import sys
import tomllib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from leaguekit.cli import CommandError, program, read_input, stored_plans
from leaguekit.cli.operate import read_admin_token
from leaguekit.games import GAMES
from leaguekit.league.schedule import MAX_MATCHES, match_count
from leaguekit.league.settings import MAX_PER_ADDRESS, Settings
from leaguekit.match.draw import league_seed
from leaguekit.store.addresses import MEMORY, is_postgres
from leaguekit.store.base import EventLog, StoreError
from leaguekit.store.disk import DISK
from leaguekit.store.files import safe_name
from leaguekit.store.lock import WriterLock
from leaguekit.store.opening import open_log, shown

if TYPE_CHECKING:
    from leaguekit.agents.world import World

EXAMPLES = """examples:
  league manager --start-when players=4,referees=2      start as soon as they are there
  league manager --start-at 18:00 --game tic_tac_toe    start at six, today or tomorrow
  league manager                                        wait for `league start`
  league manager --strict-referees                      no referee that shows players its own token
  league manager --profile open                         host agents as they are, and note what they get wrong
  league manager --config league.toml                   settings from a file: league_id, game_type, announce_lead …
  league manager --store postgresql://me@db/league      keep the league in PostgreSQL

The league's events are kept in one file (--store); the JSON files that other tools read are written under --data-dir.
Beside the store lies STORE.head with the number of its last event: a log that ends before it is not continued. Copy a
store with `league backup`, which may be done while the league runs.
With --store postgresql://… they are kept in that database, or in the schema of it that ?search_path=… names: one league
in each. The password may stand in PGPASSWORD or ~/.pgpass, where no list of processes shows it.
The admin token, which the operator's commands need, lies beside them in a file that only you can read; so does the
referee code, which referees on other machines need. They are printed on a terminal only. With --require-seat players
need a seat code each: `league seats new 30`.
Started again with the same --store (or --league-id) it goes on where it was: same ids, same tokens, same schedule.
"""

# Where some agents post their answers, whoever has asked them.
USUAL_PORT = 8001
USUAL_NEEDED = f"One referee belongs at port {USUAL_PORT}, where some agents post their answers"
_OPEN = f"\n  profile: open. {USUAL_NEEDED}"
_NOT_KEPT = " (nothing is kept: the league is lost when the manager ends)"

# What a new league may be set to: beyond the types of the settings, so that older leagues can still be read.
_DAY = 86_400
_LIMITS: dict[str, tuple[float, int]] = {
    "announce_lead": (0, _DAY),
    "join_seconds": (0.01, _DAY),
    "choice_seconds": (0.01, _DAY),
    "game_over_seconds": (0.01, _DAY),
    "retry_seconds": (0, _DAY),
    "max_retries": (0, 20),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    program.add_options(parser, port=8000)
    program.add_policy(parser)
    program.add_names(parser)
    parser.add_argument("--league-id", metavar="ID", help="the league's name (default: a new one)")
    parser.add_argument("--game", choices=sorted(GAMES), help="the game (default even_odd)")
    parser.add_argument(
        "--store",
        metavar="STORE",
        help="where the league's events are kept: a file, postgresql://user@host/database, or memory: for nowhere",
    )
    parser.add_argument(
        "--profile",
        choices=("spec", "open"),
        help="spec: to the letter (default); open: also agents that speak as they do in the field",
    )
    starting = parser.add_mutually_exclusive_group()
    starting.add_argument("--start-when", metavar="players=N,referees=M", help="start when so many have registered")
    starting.add_argument("--start-at", metavar="HH:MM", help="start at that time of day")
    parser.add_argument(
        "--announce-lead", metavar="SECONDS", type=float, help="from announcement to match (default 60)"
    )
    parser.add_argument("--max-players", metavar="N", type=int, help="default 1000")
    parser.add_argument(
        "--max-per-address",
        metavar="N",
        type=int,
        help="players that may register from one address, or listen at one host, without a seat code (default 200); "
        "this machine may have any number",
    )
    parser.add_argument("--max-referees", metavar="N", type=int)
    parser.add_argument(
        "--strict-referees",
        action="store_true",
        help="take only referees that know the token scheme; others show players their own token",
    )
    parser.add_argument("--require-seat", action="store_true", help="let players in by seat code only (league seats)")
    parser.add_argument("--config", metavar="FILE", type=Path, help="settings from a TOML file; options win over it")
    parser.add_argument("--seed", metavar="N", type=int, help="make all draws repeatable; who knows it knows the draws")
    # For `league host`: where its own referees and its gateway listen, whatever agents may name.
    parser.add_argument("--own", metavar="URL", action="append", default=[], help=argparse.SUPPRESS)
    # For `league run`, whose n-th player is always P0n, and which keeps what it has started with the league.
    parser.add_argument("--grant-ids", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--run-plan", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    settings = settings_from(options)
    when = _start_when(options.start_when)
    if options.start_at is not None:
        stored_plans.checked_time(options.start_at)
    if options.max_per_address is not None and options.max_per_address < 1:
        raise CommandError(f"--max-per-address must be at least 1, got {options.max_per_address}")
    return program.run(lambda stop: _serve(options, settings, when, stop), options.parent_fd)


def settings_from(options: argparse.Namespace) -> Settings:
    """The league's settings: defaults, then the file, then the options."""
    chosen = asked_settings(options)
    chosen.setdefault("league_id", new_league_id(str(chosen.get("game_type", "even_odd"))))
    chosen.setdefault("seed_hex", secrets.token_hex(32))
    try:
        settings = msgspec.convert(chosen, Settings)
    except msgspec.ValidationError as error:
        raise CommandError(f"the settings are wrong: {error}") from None
    for name in _LIMITS:
        check_limit(name, getattr(settings, name))
    # Raises UnicodeEncodeError for an argument that is not UTF-8, before there is a store.
    msgspec.json.encode(settings)
    return settings


def check_limit(name: str, value: float) -> None:
    """Raise CommandError for a limit with which no match could be played, or none could end."""
    least, most = _LIMITS[name]
    # Not the other way round: no comparison holds for NaN.
    if not least <= value <= most:
        raise CommandError(f"the settings are wrong: {name} must be from {least:g} to {most:,}, got {value:g}")


def asked_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What the file and the options say."""
    chosen: dict[str, Any] = {}
    if options.config is not None:
        try:
            chosen = tomllib.loads(read_input(options.config).decode())
        except ValueError as error:
            raise CommandError(f"cannot read {options.config}: {error}") from None
    asked = {
        "league_id": options.league_id,
        "game_type": options.game,
        "announce_lead": options.announce_lead,
        "max_players": options.max_players,
        "max_referees": options.max_referees,
        "require_seat": options.require_seat or None,
        "strict_referees": options.strict_referees or None,
        "profile": options.profile,
        "seed_hex": None if options.seed is None else league_seed(options.seed).hex(),
    }
    return chosen | {name: value for name, value in asked.items() if value is not None}


def new_league_id(game: str) -> str:
    return f"league_{datetime.now().astimezone():%Y%m%d_%H%M%S}_{game}_{secrets.token_hex(2)}"


def _start_when(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"players=(\d+),referees=(\d+)", text)
    if found is None:
        raise CommandError(f"--start-when must be like players=4,referees=2, got {text!r}")
    return max(2, int(found[1])), max(1, int(found[2]))


def _world(options: argparse.Namespace) -> World:
    from leaguekit.agents.world import World
    from leaguekit.transport.addresses import MAX_THREADS_FOR_APPLICANTS
    from leaguekit.transport.client.caller import HttpCaller
    from leaguekit.transport.mcp.calling import McpCaller

    policy = program.policy_for(options).trusting(*options.own)
    for_applicants = HttpCaller(policy, max_look_ups=MAX_THREADS_FOR_APPLICANTS)
    return World(McpCaller(HttpCaller(policy)), options.data_dir, policy=policy, applicants_caller=for_applicants)


async def _serve(
    options: argparse.Namespace,
    settings: Settings,
    when: tuple[int, int] | None,
    stop: program.Stop,
) -> int:
    from leaguekit.agents.logs import log_to
    from leaguekit.agents.serving import until
    from leaguekit.manager.manager import Manager
    from leaguekit.manager.operator import ADMIN_TOKEN, REFEREE_CODE, new_admin_token
    from leaguekit.manager.server import manager_server

    world = _world(options)
    proxies = program.proxies_for(options)
    served, endpoint = program.opened(options, program.facing(options))
    store = options.store or default_store(options.data_dir, settings.league_id)
    log = await _open(store, served)
    try:
        settings = await _settled(options, settings, log, store)
        start = await stored_plans.resolve_start_plan(log, when, options.start_at)
        folder = default_store(options.data_dir, settings.league_id).parent
        keep = _keeper(folder)
        known, kept_code = read_admin_token(folder / ADMIN_TOKEN), DISK.read(folder / REFEREE_CODE) or b""
        admin_token = known or new_admin_token(secrets.token_bytes)
        # In PostgreSQL, a manager that takes over ends the one before it.
        lock = None if is_postgres(store) else _locked(folder, settings.league_id)
    except (CommandError, StoreError) as error:
        served.close()
        await log.close()
        raise CommandError(str(error)) from None
    with log_to(folder / "log.jsonl", "league_manager"):
        manager = Manager(
            world,
            log,
            settings,
            endpoint,
            admin_token,
            grant_ids=options.grant_ids,
            referee_code=os.environ.get(program.REFEREE_CODE),
            keep=keep,
            max_per_address=options.max_per_address or MAX_PER_ADDRESS,
        )
        # The token is kept when there is a league: a token without one shows that the log was lost.
        await _take_up(manager, shown(store), lambda: keep(ADMIN_TOKEN, admin_token))
        referee_code = await manager.provide_referee_code(kept_code.decode(errors="replace").strip())
        manager.conductor.outages.gateways = frozenset(options.own)
        manager.conductor.start_when, manager.conductor.start_at = start.when, start.at
        server = manager_server(manager, served, names=options.host_name, proxies=proxies, web=_dashboard)
        await server.start()
        kept = f"{shown(store)}{_NOT_KEPT if store == MEMORY else ''}"
        program.say(
            f"League {manager.league_id} is at {endpoint}\n  dashboard: {program.dashboard(endpoint)}\n"
            f"  SHA-256 of the seed: {settings.seed_commitment}\n"
            f"  events: {kept}\n  log: {folder / 'log.jsonl'}\n  admin token: {folder / ADMIN_TOKEN}\n"
            f"{_secrets(None if known else admin_token, referee_code, folder / REFEREE_CODE)}"
            f"{_OPEN if settings.profile == 'open' else ''}"
        )
        try:
            await until(stop, manager.run())
            if not stop.is_set():
                program.say("The league is over. The manager goes on serving; Ctrl-C ends it.")
                await until(stop, manager.serve_on())
        except StoreError as error:
            raise CommandError(f"the league cannot go on: {error}") from None
        finally:
            await server.stop()
            await manager.close()
            await world.close()
            if lock is not None:
                lock.release()
        return 0


def _secrets(new_admin_token: str | None, referee_code: str | None, code_file: Path) -> str:
    """The secrets on a terminal. Anything else may be a file that others read."""
    lost = f"{code_file} does not hold it; `league token rotate --referee-code` makes a new one"
    if not sys.stderr.isatty():
        return f"  referee code: {code_file if referee_code else lost}"
    shown_once = f"  admin token (shown once): {new_admin_token}\n" if new_admin_token else ""
    return f"{shown_once}  referee code: {referee_code or lost}"


async def _settled(options: argparse.Namespace, settings: Settings, log: EventLog, store: str | Path) -> Settings:
    """The settings of the league in the log, if it holds one; they are not to be contradicted."""
    from leaguekit.manager.operator import ADMIN_TOKEN

    stored = await stored_plans.settings_in(log)
    if stored is None:
        _check_not_lost(store, default_store(options.data_dir, settings.league_id).with_name(ADMIN_TOKEN))
        _check_size(settings)
    else:
        stored_plans.check_requested_settings(stored, asked_settings(options), store)
    if options.run_plan is not None:
        await log.keep(stored_plans.RUN, options.run_plan.encode())
    return stored or settings


def _check_not_lost(store: str | Path, token: Path) -> None:
    """Refuse to begin a league where the admin token of an earlier one is kept."""
    if store != MEMORY and token.exists():
        raise CommandError(
            f"{shown(store)} holds no league, but {token} shows that there was one. Put its store back, with the "
            "journal STORE-wal if there was one, or restore a backup with `league restore`. To begin a new league, "
            "take another --league-id, or remove that file"
        )


def _check_size(settings: Settings) -> None:
    """Refuse a new league that could not be started if it were full."""
    matches = match_count(settings.max_players, settings.rounds)
    if matches > MAX_MATCHES:
        raise CommandError(
            f"max_players = {settings.max_players} would make {matches:,} matches, and a league has at most "
            f"{MAX_MATCHES:,}: take a lower --max-players"
        )


def default_store(data_dir: Path, league_id: str) -> Path:
    """Where a league's events are kept unless --store says otherwise; the manager's own files lie beside."""
    return data_dir / "agents" / safe_name(league_id) / "manager" / "league.db"


async def _open(store: str | Path, served: socket.socket) -> EventLog:
    try:
        if isinstance(store, Path):
            store.parent.mkdir(parents=True, exist_ok=True)
        return await open_log(store)
    except (OSError, StoreError) as error:
        served.close()
        raise CommandError(str(error)) from None


def _locked(folder: Path, league_id: str) -> WriterLock:
    """Make sure that no manager of a copy of this league writes the same files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return WriterLock(folder / "manager")
    except (OSError, StoreError) as error:
        look = "`league verify`, `log`, `report` and `export` look at a copy without a manager"
        raise CommandError(f"the league {league_id} cannot be served with this --data-dir: {error} {look}") from None


def _keeper(folder: Path) -> Callable[[str, str], None]:
    """Keeps secrets in files that only their owner can read."""
    return lambda name, secret: DISK.write(folder / name, secret.encode(), private=True)


async def _take_up(manager: Any, store: str, keep_token: Callable[[], None]) -> None:
    try:
        await manager.open()
        keep_token()
    except StoreError as error:
        raise CommandError(str(error)) from None
    except (msgspec.MsgspecError, ValueError, LookupError, AttributeError, TypeError) as error:
        why = f"the league in {store} cannot be taken up: {error!r}"
        raise CommandError(f"{why}; `league verify` checks its log") from None


def _dashboard(manager: Any) -> Any:
    """What is shown of the league in a browser; loaded when somebody first looks."""
    from leaguekit.web.app import Dashboard

    return Dashboard(manager)
