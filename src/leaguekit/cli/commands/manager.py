"""``league manager``: serve a league."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import secrets
import tomllib
from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from leaguekit.agents import serving
from leaguekit.agents.game_loading import NoSuchGame, absolute, known_name
from leaguekit.cli import CommandError, formats, program, read_input, stored_plans
from leaguekit.cli.arguments import add_game_option
from leaguekit.cli.manager_client import read_admin_token
from leaguekit.cli.stores import opened
from leaguekit.games import game, parse_game
from leaguekit.games.base import DEFAULT_GAME
from leaguekit.league.commands.rounds import MAX_MATCHES, match_count
from leaguekit.league.settings import (
    LIMITS,
    MAX_PER_ADDRESS,
    Settings,
    describe_invalid,
    find_fault,
    unknown_setting,
    with_game,
)
from leaguekit.match.draw import league_seed
from leaguekit.protocol.codes import ENTROPY_BYTES, new_code
from leaguekit.protocol.errors import ProtocolError
from leaguekit.store.base import MEMORY, EventLog, LogReader, StoreError, is_postgres, redact_address
from leaguekit.store.disk import DISK
from leaguekit.store.json_files import safe_name
from leaguekit.store.lock import WriterLock
from leaguekit.store.opening import open_log
from leaguekit.transport.server.server import listen

if TYPE_CHECKING:
    from leaguekit.agents.world import World
    from leaguekit.manager.manager import Manager

EXAMPLES = """examples:
  league manager --start-when players=4,referees=2      start as soon as they are there
  league manager --start-at 18:00 --game tic_tac_toe    start at six, today or tomorrow
  league manager                                        wait for `league start`
  league manager --strict-referees                      no referee that shows players its own token
  league manager --profile open                         host agents as they are, and note what they get wrong
  league manager --config league.toml                   settings from a file (docs/settings.md lists them)
  league manager --store postgresql://me@db/league      keep the league in PostgreSQL
  league manager --store postgresql://… --standby       take over when the manager of that league is gone

The league's events are kept in one file (--store). The JSON files that other tools read are written under --data-dir.
Beside the store is STORE.head with the number of its last event: a log that ends before it is not continued. Copy a
store with `league backup`, also while the league runs.
With --store postgresql://… the events are kept in that database, or in its schema that ?search_path=… names: one league
per schema. The password may be in PGPASSWORD or ~/.pgpass, where no list of processes shows it.
With --standby it listens only when it has taken over. Give both machines one --endpoint, that of a proxy in front of
them or of an address that moves (docs/how-to.md, "Go on when a machine dies"). SIGTERM hands a league over.
The admin token, which the operator's commands need, is in a file beside them that only you can read. So is the referee
code, which referees on other machines need. With --require-seat each player needs a seat code: `league seats new 30`.
Started again with the same --store (or --league-id), the manager continues its league: same ids, tokens and schedule.
--host, --port and --allow are kept in the store too. If this machine has another address in the same network now, the
manager listens there.
"""

# Some agents post their answers to this port, whichever referee asked.
DEFAULT_REFEREE_PORT = 8001
REFEREE_PORT_HINT = f"One referee belongs at port {DEFAULT_REFEREE_PORT}, where some agents post their answers"
_OPEN_PROFILE_NOTE = f"\n  profile: open. {REFEREE_PORT_HINT}"
_MEMORY_NOTE = " (nothing is kept: the league is lost when the manager ends)"


def configure(parser: argparse.ArgumentParser) -> None:
    program.add_options(parser, port=stored_plans.DEFAULT_PORT)
    # Without these options, what the store says is done.
    parser.set_defaults(host=None, port=None)
    program.add_allow_option(parser)
    program.add_proxy_options(parser)
    parser.add_argument("--title", metavar="TEXT", help="what pages and reports call the league, such as 'Winter Cup'")
    parser.add_argument("--league-id", metavar="ID", help="the league's id (default: a new one)")
    add_game_option(parser)
    formats.add_options(parser)
    parser.add_argument(
        "--store",
        metavar="STORE",
        help="where the league's events are kept: a file, postgresql://user@host/database, or memory: for nowhere",
    )
    parser.add_argument(
        "--standby",
        action="store_true",
        help="with postgresql://…: wait until no other manager serves this league, and take it over then",
    )
    parser.add_argument(
        "--profile",
        choices=("spec", "open"),
        help="spec: strict (default); open: also accept agents that deviate from the specification",
    )
    starting = parser.add_mutually_exclusive_group()
    starting.add_argument(
        "--start-when",
        metavar="players=N,referees=M",
        help="start when these have registered (league host: referees as --referees)",
    )
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
    parser.add_argument("--seed", metavar="N", type=int, help="make all draws repeatable; it reveals the draws")
    # For `league host`: the URLs of its own referees and its gateway, which may be called whatever --allow says.
    parser.add_argument("--own", metavar="URL", action="append", default=[], help=argparse.SUPPRESS)
    # For `league host`: the URL of the page of its gateway, which the dashboard links to.
    parser.add_argument("--gateway-page", metavar="URL", help=argparse.SUPPRESS)
    # For `league host`: it has taken the league over from another machine. Set for a manager that has done so itself.
    parser.add_argument("--takes-over", action="store_true", help=argparse.SUPPRESS)
    # For `league run`: its n-th player is always P0n, and its plan is stored with the league.
    parser.add_argument("--grant-ids", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--run-plan", help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    settings = settings_from(options)
    when = check_options(options)
    store = options.store or default_store(options.data_dir, settings.league_id)
    asyncio.run(stored_plans.recall_listening(options, store))
    return program.run(
        lambda stop: serve_or_stand_by(options, store, stop, lambda: _serve(options, settings, when, stop)),
        options.parent_fd,
    )


def check_options(options: argparse.Namespace) -> tuple[int, int] | None:
    """The numbers of players and referees with which the league starts. Raises CommandError if an option is wrong."""
    if options.start_at is not None:
        stored_plans.parse_time_of_day(options.start_at)
    if options.max_per_address is not None and options.max_per_address < 1:
        raise CommandError(f"--max-per-address must be at least 1, got {options.max_per_address}")
    return _start_when(options.start_when, is_host="referees" in options)


def settings_from(options: argparse.Namespace) -> Settings:
    """The league's settings. Options have priority over the file, and the file over defaults."""
    chosen = requested_settings(options)
    slug = parse_game(str(chosen.get("game_type", DEFAULT_GAME)))[0]
    chosen.setdefault("league_id", new_league_id(slug, str(chosen.get("title", ""))))
    chosen.setdefault("seed_hex", secrets.token_hex(32))
    try:
        settings = msgspec.convert(chosen, Settings)
    except msgspec.ValidationError as error:
        why = f"the settings are wrong: {describe_invalid(error)}"
        raise CommandError(f"{why}; docs/settings.md says what each setting takes") from None
    for name in LIMITS:
        if (fault := find_fault(name, getattr(settings, name))) is not None:
            raise CommandError(f"the settings are wrong: {fault}")
    try:
        settings = with_game(settings)
    except ProtocolError as error:
        raise CommandError(f"the settings are wrong: game_type: {error.detail}") from None
    formats.check(settings)
    # Raises UnicodeEncodeError for an argument that is not UTF-8, before there is a store.
    msgspec.json.encode(settings)
    return settings


def requested_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that the file and the options contain."""
    chosen = {} if options.config is None else read_settings_file(options.config)
    # `league run` has not all of these options.
    given = vars(options)
    asked = {
        name: given.get(name)
        for name in ("league_id", "title", "announce_lead", "max_players", "max_referees", "profile")
    }
    asked |= {
        "game_type": options.game,
        "require_seat": given.get("require_seat") or None,
        "strict_referees": given.get("strict_referees") or None,
        "seed_hex": None if options.seed is None else league_seed(options.seed).hex(),
    }
    chosen |= formats.requested_settings(options, chosen)
    chosen |= {name: value for name, value in asked.items() if value is not None}
    if isinstance(source := chosen.get("game_type"), str):
        try:
            chosen["game_type"], args = parse_game(known_name(source))
        except NoSuchGame as error:
            raise CommandError(f"the settings are wrong: game_type: {error}") from None
        except ProtocolError as error:
            raise CommandError(f"the settings are wrong: game_type: {error.detail}") from None
        if args:
            chosen["game_args"] = args
    return {name: value for name, value in chosen.items() if value is not UNSET}


def requested_game(options: argparse.Namespace) -> str:
    """The game as the options or the file name it. It may be the path of a file."""
    in_file = {} if options.config is None else read_settings_file(options.config)
    return str(options.game or in_file.get("game_type", DEFAULT_GAME))


def read_settings_file(path: Path) -> dict[str, Any]:
    """The settings in a TOML file. Raises CommandError if it cannot be read, or has a key that is not a setting."""
    try:
        chosen = tomllib.loads(read_input(path).decode())
    except ValueError as error:
        raise CommandError(f"cannot read {path}: {error}") from None
    for name in chosen:
        if name not in Settings.__struct_fields__:
            raise CommandError(f"{path}: {unknown_setting(name)}")
    if isinstance(source := chosen.get("game_type"), str):
        chosen["game_type"] = absolute(source, path.parent)
    return chosen


def new_league_id(game: str, title: str = "") -> str:
    """A new id, such as tic_tac_toe_1231_7k2m or winter_cup_7k2m: the game and the day, or the title."""
    slug, game_slug = (re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:30] for text in (title, game))
    code = new_code(secrets.token_bytes(ENTROPY_BYTES))[:4].lower()
    return f"{slug or f'{game_slug}_{datetime.now().astimezone():%m%d}'}_{code}"


def _start_when(text: str | None, *, is_host: bool) -> tuple[int, int] | None:
    """The numbers of players and referees. For ``league host`` the latter is 0 if the text has none."""
    if text is None:
        return None
    found = re.fullmatch(r"players=(\d+)(?:,referees=(\d+))?", text)
    if found is None or not (found[2] or is_host):
        raise CommandError(f"--start-when must be like players=4,referees=2, got {text!r}")
    return max(2, int(found[1])), max(1, int(found[2])) if found[2] else 0


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
    # `league run` imports this module before it forks. Only the manager needs these, and imports them meanwhile.
    from leaguekit.agents.logs import log_to
    from leaguekit.cli.event_printer import EventPrinter
    from leaguekit.cli.stages import SilencePrinter, print_interruption, print_stage, print_store_problem
    from leaguekit.manager.manager import Manager
    from leaguekit.manager.operator import ADMIN_TOKEN, REFEREE_CODE, new_admin_token
    from leaguekit.manager.server import manager_server

    async with contextlib.AsyncExitStack() as opened:
        world = _world(options)
        proxies = program.proxies_for(options)
        sock, endpoint = program.open_socket(options, program.outward_url(options))
        opened.callback(sock.close)
        store = options.store or default_store(options.data_dir, settings.league_id)
        if isinstance(store, Path):
            store.parent.mkdir(parents=True, exist_ok=True)
        log = await open_log(store)
        opened.push_async_callback(log.close)
        settings = await _resolve_settings(options, settings, log, store)
        start = await stored_plans.resolve_start_plan(log, when, options.start_at)
        folder = default_store(options.data_dir, settings.league_id).parent

        def keep(name: str, secret: str) -> None:
            DISK.write(folder / name, secret.encode(), private=True)

        known, kept_code = read_admin_token(folder / ADMIN_TOKEN), DISK.read(folder / REFEREE_CODE) or b""
        admin_token = known or new_admin_token(secrets.token_bytes)
        if not is_postgres(store):
            # In PostgreSQL, a manager that opens a league ends the previous one.
            opened.callback(_lock_folder(folder, settings.league_id).release)
        opened.push_async_callback(world.close)
        opened.enter_context(log_to(folder / "log.jsonl", "league_manager"))
        manager = Manager(
            world,
            log,
            settings,
            endpoint,
            admin_token,
            grant_ids=options.grant_ids,
            referee_code=os.environ.get(serving.REFEREE_CODE_VARIABLE),
            keep=keep,
            max_per_address=options.max_per_address or MAX_PER_ADDRESS,
            own_servers=options.own,
            gateway_page=options.gateway_page,
            takes_over=options.takes_over,
        )
        try:
            await manager.open()
        except (msgspec.MsgspecError, ValueError, LookupError, AttributeError, TypeError) as error:
            why = f"the league in {redact_address(store)} cannot be taken up: {error!r}"
            raise CommandError(f"{why}; `league verify` checks its log") from None
        # The token is written after the league is created: a token without a league shows that the log was lost.
        keep(ADMIN_TOKEN, admin_token)
        opened.push_async_callback(manager.close)
        referee_code = await manager.provide_referee_code(kept_code.decode(errors="replace").strip())
        manager.runner.start_when, manager.runner.start_at = start.when, start.at
        server = manager_server(manager, sock, names=options.host_name, proxies=proxies, web=_dashboard)
        await server.start()
        opened.push_async_callback(server.stop)
        program.print_notice(
            f"League {manager.ledger.league.settings.full_name} is at {endpoint}\n"
            f"  dashboard: {program.dashboard_url(endpoint)}\n"
            f"  SHA-256 of the seed: {settings.seed_commitment}\n"
            f"{_describe_files(store, folder, has_code=referee_code is not None)}"
            f"{_OPEN_PROFILE_NOTE if settings.profile == 'open' else ''}"
        )
        if options.run_plan is None:
            print_stage(manager.ledger.league, start, endpoint, options.data_dir)
            opened.push_async_callback(EventPrinter(manager.ledger, program.print_notice).close)
            SilencePrinter(manager.runner, manager.ledger.league, endpoint, options.data_dir)
            if manager.ledger.writer_check is not None:
                manager.ledger.writer_check.listeners.append(print_store_problem)
        await _play(manager, stop)
        if options.run_plan is None and store != MEMORY:
            print_interruption(manager.ledger.league)
    return stop.exit_code


async def serve_or_stand_by(
    options: argparse.Namespace, store: str | Path, stop: program.Stop, serve: Callable[[], Coroutine[Any, Any, int]]
) -> int:
    """Serve the league of a store, with ``--standby`` when no other manager serves it. Returns the exit code.

    ``options.takes_over`` is set if another manager served it before.
    """
    if not options.standby:
        return await serve()
    import leaguekit.manager.server  # noqa: F401 - now, so that taking over does not wait for it
    from leaguekit.agents.serving import run_until
    from leaguekit.store.opening import stand_by

    # Nothing listens while this waits, so that a proxy takes the other manager. A port in use is an error at once.
    listen(options.host, options.port).close()

    def notify(sentence: str) -> None:
        program.print_notice(f"{datetime.now().astimezone():%H:%M:%S}  {sentence}")

    lock = await run_until(stop, stand_by(store, notify))
    if lock is None:
        return stop.exit_code
    options.takes_over = lock.was_served
    try:
        return await serve()
    finally:
        lock.release()


def _describe_files(store: str | Path, folder: Path, *, has_code: bool) -> str:
    """Where the league and its secrets are kept, in lines."""
    from leaguekit.manager.operator import ADMIN_TOKEN, REFEREE_CODE

    code_file = folder / REFEREE_CODE
    lost = f"{code_file} does not hold it; `league token rotate --referee-code` makes a new one"
    events = f"{redact_address(store)}{_MEMORY_NOTE if store == MEMORY else ''}"
    files = {"events": events, "log": folder / "log.jsonl", "admin token": folder / ADMIN_TOKEN}
    files |= {"referee code": code_file if has_code else lost}
    return "\n".join(f"  {name}: {where}" for name, where in files.items())


async def _play(manager: Manager, stop: program.Stop) -> None:
    """Play the league, and serve its pages afterwards, until the program is to end."""
    from leaguekit.agents.serving import run_until

    try:
        await run_until(stop, manager.run())
        if not stop.is_set():
            program.print_notice("The manager goes on serving; Ctrl-C ends it.")
            await run_until(stop, manager.serve_forever())
    except StoreError as error:
        raise CommandError(f"the league cannot go on: {error}") from None


async def _resolve_settings(
    options: argparse.Namespace, settings: Settings, log: EventLog, store: str | Path
) -> Settings:
    """The settings of the league in the log, if it has one. Raises CommandError if the options contradict them."""
    from leaguekit.manager.operator import ADMIN_TOKEN

    stored = await stored_plans.read_settings(log)
    if stored is None:
        _check_not_lost(store, default_store(options.data_dir, settings.league_id).with_name(ADMIN_TOKEN))
        _check_size(settings)
    else:
        await _check_options(options, stored, log, store)
        _check_game(stored)
        formats.check(stored)
    if options.run_plan is not None:
        await log.write_document(stored_plans.RUN, options.run_plan.encode())
    else:
        await stored_plans.keep_listening(log, options)
    return stored or settings


async def check_store(options: argparse.Namespace, store: str | Path) -> None:
    """Raise CommandError if the options contradict the league in a store. What cannot be read is reported later."""
    with contextlib.suppress(StoreError):
        async with opened(store) as reader:
            if (stored := await stored_plans.read_settings(reader)) is not None:
                await _check_options(options, stored, reader, store)


async def _check_options(options: argparse.Namespace, stored: Settings, log: LogReader, store: str | Path) -> None:
    asked = requested_settings(options)
    without_file = requested_settings(argparse.Namespace(**{**vars(options), "config": None}))
    in_file = asked.keys() - without_file.keys()
    await stored_plans.check_requested_settings(log, stored, asked, store, in_file)


def _check_game(settings: Settings) -> None:
    """Refuse a league whose game is not known here."""
    try:
        game(settings.game_type, settings.game_args or None)
    except ProtocolError as error:
        raise CommandError(f"the league cannot play {settings.game_type}: {error.detail}") from None


def _check_not_lost(store: str | Path, token: Path) -> None:
    """Refuse to create a league where the admin token of an earlier league is kept."""
    if store != MEMORY and token.exists():
        raise CommandError(
            f"{redact_address(store)} holds no league, but {token} shows that there was one. Put its store back, with "
            "the journal STORE-wal if there was one, or restore a backup with `league restore`. To begin a new league, "
            "take another --league-id, or remove that file"
        )


def _check_size(settings: Settings) -> None:
    """Refuse a new league that could not be started with the maximum of players."""
    matches = match_count(settings, settings.max_players)
    if matches > MAX_MATCHES:
        raise CommandError(
            f"max_players = {settings.max_players} would make {matches:,} matches, and a league has at most "
            f"{MAX_MATCHES:,}: take a lower --max-players"
        )


def default_store(data_dir: Path, league_id: str) -> Path:
    """The default store of a league. The manager's own files are beside it."""
    return data_dir / "agents" / safe_name(league_id) / "manager" / "league.db"


def _lock_folder(folder: Path, league_id: str) -> WriterLock:
    """Lock the manager's folder, so that no manager of a copy of this league writes the same files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return WriterLock(folder / "manager")
    except (OSError, StoreError) as error:
        look = "`league verify`, `log`, `report` and `export` look at a copy without a manager"
        raise CommandError(f"the league {league_id} cannot be served with this --data-dir: {error} {look}") from None


def _dashboard(manager: Any) -> Any:
    """The league's web application, which is imported at the first request."""
    from leaguekit.web.app import Dashboard

    return Dashboard(manager)
