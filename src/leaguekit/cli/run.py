"""``league run``: a whole league on this machine, each agent a process of its own, from registration to champion."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shlex
import socket
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from leaguekit.agents.registration import Identity, Role, folder_of
from leaguekit.cli import CommandError, program
from leaguekit.cli.manager import check_limit, default_store, new_league_id
from leaguekit.cli.operate import admin_token, ask_manager, fetch_schedule
from leaguekit.cli.processes import FILES_A_PROCESS, Processes
from leaguekit.cli.screen import can_show
from leaguekit.cli.stored_plans import RunPlan, resuming, run_plan
from leaguekit.cli.stream import Follower
from leaguekit.cli.tables import counted, in_all, json_line, standings_table, warn_of_replaced
from leaguekit.cli.watch import Painter
from leaguekit.games import GAMES
from leaguekit.league.sentences import with_names
from leaguekit.manager.operator import ADMIN_TOKEN
from leaguekit.player.strategies import STRATEGIES, CannotPlay, check_can_play, strategies_for
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.protocol.plain_text import harmless, harmless_lines
from leaguekit.store.addresses import MEMORY, shown
from leaguekit.store.base import StoreError
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import CannotListen, listen

POLL_SECONDS = 0.2
STARTING_POLL_SECONDS = 0.02
# How often the manager is asked again that does not answer; each time it has ten seconds.
MANAGER_TRIES = 5
REFEREE_MATCHES = 10
MAX_ROWS = 10
EXAMPLES = """examples:
  league run                                       four players, two referees, even/odd
  league run --players 50 --referees 4 --seed 7    the same league every time
  league run --game tic_tac_toe --strategies random,frequency
  league run --json                                one JSON object at the end, for programs
  league run --resume SHARED/agents/…/manager/league.db     go on with a league that was broken off

The n-th player is always P0n. --strategies are given out in turn. Ctrl-C ends every process, and says how to resume;
a process that is killed is started again. What is resumed, with which players, is all in the store; an agent whose
own token is lost (state.json) gets a new one. --resume plays matches again that waited for the operator. Players that
were withdrawn or disqualified are not started again.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("--resume", metavar="STORE", help="go on with the league in this store")
    parser.add_argument("--players", metavar="N", type=int, help="default 4")
    parser.add_argument("--referees", metavar="N", type=int, help="default 2")
    parser.add_argument("--game", choices=sorted(GAMES), help="default even_odd")
    parser.add_argument(
        "--strategies",
        metavar="A,B,…",
        help=f"of {', '.join(STRATEGIES)}, or module:function (default: all of ours that fit the game)",
    )
    parser.add_argument(
        "--seed", metavar="N", type=int, help="the same league every time; who knows it knows the draws"
    )
    parser.add_argument("--port", type=int, help="the manager's; 0 takes free ports for all (default 8000)")
    parser.add_argument("--announce-lead", metavar="SECONDS", type=float, help="before each round (default 0)")
    parser.add_argument(
        "--max-concurrent", metavar="N", type=int, help=f"matches a referee at once (default {REFEREE_MATCHES})"
    )
    parser.add_argument("--profile", choices=("spec", "open"), help="as for `league manager` (default spec)")
    parser.add_argument("--league-id", metavar="ID", help="default: a new one")
    parser.add_argument("--store", metavar="STORE", help="as for `league manager`; memory: keeps nothing")
    parser.add_argument("--data-dir", metavar="DIR", type=Path, help="default SHARED")
    parser.add_argument("--stay", action="store_true", help="keep the manager and its page up at the end, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    plan = _plan(options) if options.resume is None else _resumed(options)
    # As the user named it, for the user to read.
    usual = default_store(options.data_dir or Path(plan.data_dir if options.resume else "SHARED"), plan.league_id)
    named = options.resume or options.store
    store = named or usual
    # Raises UnicodeEncodeError for an argument that is not UTF-8, before anything is opened.
    msgspec.json.encode(plan)
    program.check_files(FILES_A_PROCESS * (1 + plan.referees + plan.players))
    with Processes(forked=True) as processes:
        token_file = usual.with_name(ADMIN_TOKEN) if options.resume else None
        manager = _start_all(plan, named, _sockets(options, plan), processes, token_file)
        show = _Show(quiet=options.json, paced=plan.announce_lead > 0, resumed=options.resume is not None)
        league = _League(plan, store, usual.parent, manager, options.stay, options.resume is not None)
        code = program.run(lambda stop: _follow(league, processes, show, stop))
    if show.failure is not None:
        where = f"; {resuming(store)} prints the results" if code == 0 and store != MEMORY else ""
        raise CommandError(f"not everything could be printed: {show.failure.strerror}{where}")
    return code


def _plan(options: argparse.Namespace) -> RunPlan:
    """What a new league is to be."""
    game = options.game or "even_odd"
    plan = RunPlan(
        league_id=options.league_id or new_league_id(game),
        players=4 if options.players is None else options.players,
        referees=2 if options.referees is None else options.referees,
        game=game,
        strategies=(options.strategies or ",".join(strategies_for(game))).split(","),
        max_concurrent=REFEREE_MATCHES if options.max_concurrent is None else options.max_concurrent,
        announce_lead=options.announce_lead or 0.0,
        data_dir=str((options.data_dir or Path("SHARED")).absolute()),
        seed=options.seed,
        profile=options.profile or "spec",
    )
    if plan.players < 2 or plan.referees < 1:
        raise CommandError("a league needs at least --players 2 and --referees 1")
    if not 1 <= plan.max_concurrent <= 10:
        raise CommandError("--max-concurrent must be from 1 to 10")
    if plan.announce_lead >= 0:
        # The manager says what is wrong with others.
        check_limit("announce_lead", plan.announce_lead)
    _check_strategies(plan)
    return plan


def _check_strategies(plan: RunPlan) -> None:
    """Refuse strategies that cannot play the game. What an author wrote is loaded by its player only."""
    for name in plan.strategies:
        if name in STRATEGIES:
            try:
                check_can_play(name, STRATEGIES[name], plan.game)
            except CannotPlay as error:
                raise CommandError(str(error)) from None


def _resumed(options: argparse.Namespace) -> RunPlan:
    """What was started with a store before."""
    for name in ("players", "referees", "game", "strategies", "seed", "port", "announce_lead", "max_concurrent",
                 "league_id", "store", "profile"):  # fmt: skip
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise CommandError(f"{option} and --resume exclude each other: the store says what is resumed")
    try:
        plan = asyncio.run(run_plan(options.resume))
    except StoreError as error:
        raise CommandError(str(error)) from None
    try:
        _check_strategies(plan)
    except CommandError as error:
        by_hand = f"league manager --store {shlex.quote(options.resume)}"
        raise CommandError(f"{error}. The league was begun with it: serve it with `{by_hand}`") from None
    return plan if options.data_dir is None else structs.replace(plan, data_dir=str(options.data_dir.absolute()))


def _sockets(options: argparse.Namespace, plan: RunPlan) -> dict[str, socket.socket]:
    """A socket for everybody; what is resumed gets its former ports back as far as they are free."""
    base = 8000 if options.port is None else options.port
    wanted = {"manager": base}
    wanted |= {f"referee {number}": base and base + number for number in range(1, plan.referees + 1)}
    wanted |= {f"player {number}": base and base + 100 + number for number in range(1, plan.players + 1)}
    served: dict[str, socket.socket] = {}
    try:
        for name, port in wanted.items():
            if options.resume is None:
                served[name] = listen("127.0.0.1", port)
                continue
            with contextlib.suppress(CannotListen):
                served[name] = listen("127.0.0.1", plan.ports.get(name, 0))
        # After the others: a port that is free now must not be one that another had.
        for name in wanted:
            if name not in served:
                served[name] = listen("127.0.0.1", 0)
    except CannotListen as error:
        raise CommandError(str(error)) from None
    return served


def _start_all(
    plan: RunPlan,
    store: str | None,
    served: dict[str, socket.socket],
    processes: Processes,
    token_file: Path | None = None,
) -> str:
    """Start every process; the manager's URL. ``token_file`` holds the admin token of a league that is resumed."""
    ports = {name: sock.getsockname()[1] for name, sock in served.items()}
    manager = f"http://127.0.0.1:{ports['manager']}/mcp"
    seed = [] if plan.seed is None else ["--seed", str(plan.seed)]
    shared = ["--data-dir", plan.data_dir]
    processes.start(
        "manager", served["manager"], "manager", *shared, *seed, "--league-id", plan.league_id,
        *([] if store is None else ["--store", store]), "--game", plan.game,
        "--announce-lead", str(plan.announce_lead), "--grant-ids", "--profile", plan.profile,
        "--start-when", f"players={plan.players},referees={plan.referees}",
        "--run-plan", msgspec.json.encode(structs.replace(plan, ports=ports)).decode(),
        comes_back=store != MEMORY,
    )  # fmt: skip
    names = {f"referee {number}": f"Referee {number}" for number in range(1, plan.referees + 1)}
    strategies = {number: plan.strategies[(number - 1) % len(plan.strategies)] for number in range(1, plan.players + 1)}
    names |= {f"player {number}": f"{one.rpartition(':')[2]} {number}" for number, one in strategies.items()}
    lost = {} if token_file is None else _lost_tokens(plan, names)
    seats = asyncio.run(_new_seats(manager, processes, lost, names, token_file)) if lost and token_file else {}
    for number in range(1, plan.referees + 1):
        name = f"referee {number}"
        processes.start(
            name, served[name], "referee", *shared, "--manager", manager, "--name", names[name],
            "--max-concurrent", str(plan.max_concurrent), secrets=seats.get(name),
        )  # fmt: skip
    out = asyncio.run(_referees_registered(plan, manager, processes))["players_out"]
    for number, strategy in strategies.items():
        name, wanted = f"player {number}", f"P{number:02d}"
        if wanted in out:
            served[name].close()
            program.say(f"{name} is not started: {wanted} has left the league")
            continue
        processes.start(
            name, served[name], "player", *shared, *seed, "--manager", manager, "--strategy", strategy,
            "--name", names[name], "--wanted-id", wanted, secrets=seats.get(name),
        )  # fmt: skip
    return manager


def _lost_tokens(plan: RunPlan, names: dict[str, str]) -> dict[str, str]:
    """The agents whose tokens cannot be read, and why."""
    lost = {}
    for name, display_name in names.items():
        role: Role = "referee" if name.startswith("referee ") else "player"
        file = folder_of(Path(plan.data_dir), plan.league_id, role, display_name) / "state.json"
        try:
            if not msgspec.json.decode(file.read_bytes(), type=Identity).auth_token:
                lost[name] = f"{file} holds no token"
        except OSError as error:
            lost[name] = f"{file} cannot be read: {error.strerror}"
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            lost[name] = f"{file} cannot be read: {error}"
    return lost


async def _new_seats(
    manager: str, processes: Processes, lost: dict[str, str], names: dict[str, str], token_file: Path
) -> dict[str, dict[str, str]]:
    """Rotate the tokens that were lost; what brings each of these agents back."""
    caller = HttpCaller(AddressPolicy.local())
    seats = {}
    try:
        out = (await _status(caller, manager, processes))["players_out"]
        params = {"admin_token": admin_token(argparse.Namespace(admin_token_file=token_file))}
        agents = (await ask_manager(caller, manager, params | {"command": "agents"}))["agents"]
        for name, why in lost.items():
            is_referee = name.startswith("referee ")
            wanted = names[name] if is_referee else f"P{int(name.split()[1]):02d}"
            kinds = (one for one in agents if one["id"].startswith("REF") == is_referee)
            found = next((one for one in kinds if one["display_name" if is_referee else "id"] == wanted), None)
            # One that had not come yet registers, and one that has left is not started.
            if found is not None and found["id"] not in out:
                params["agent_id"] = found["id"]
                seat = (await ask_manager(caller, manager, params | {"command": "token_rotate"}))["seat"]
                if seat["code"] is None:
                    # It has come back so before, and nobody knows the code any more.
                    await ask_manager(caller, manager, params | {"command": "seats_revoke", "seat": seat["id"]})
                    seat = (await ask_manager(caller, manager, params | {"command": "token_rotate"}))["seat"]
                seats[name] = {program.SEAT: seat["code"]}
                program.say(f"{why}. {found['id']} gets a new token")
    finally:
        await caller.close()
    return seats


async def _status(caller: HttpCaller, manager: str, processes: Processes) -> dict[str, Any]:
    """Where the league stands, as soon as the manager answers. Raises CommandError if a process has failed."""
    while True:
        await asyncio.sleep(STARTING_POLL_SECONDS)
        asking = asyncio.ensure_future(ask_manager(caller, manager, {"command": "status"}))
        try:
            # A manager that has ended does not answer, but its socket is open.
            while not asking.done():
                processes.raise_interrupt()
                processes.check()
                await asyncio.wait([asking], timeout=STARTING_POLL_SECONDS)
        finally:
            asking.cancel()
        # The manager may not be there yet.
        with contextlib.suppress(CommandError):
            return await asking


async def _referees_registered(plan: RunPlan, manager: str, processes: Processes) -> dict[str, Any]:
    """Where the league stands when the manager has its referees: players register after them."""
    caller = HttpCaller(AddressPolicy.local())
    try:
        while True:
            status = await _status(caller, manager, processes)
            if status["referees"] >= plan.referees:
                return status
    finally:
        await caller.close()


class _League(NamedTuple):
    """The league that is followed."""

    plan: RunPlan
    store: str | Path
    # Where the manager's own files lie.
    folder: Path
    manager: str
    # Whether its manager is to stay when it is over.
    stays: bool
    # Whether it was broken off before.
    is_resumed: bool

    @property
    def admin_token(self) -> Path:
        return self.folder / ADMIN_TOKEN

    def operating(self, *command: str) -> str:
        """A command of the operator to this league."""
        where = ["--manager", self.manager, "--admin-token-file", str(self.admin_token)]
        return shlex.join(["league", *command, *where])


async def _follow(league: _League, processes: Processes, show: _Show, stop: program.Stop) -> int:
    """Show the league as it goes, until it is over; meanwhile, start again whoever was killed."""
    plan = league.plan
    again = "" if league.store == MEMORY else f"Go on with: {resuming(league.store)}"
    who = f"{counted(plan.players, 'player')}, {counted(plan.referees, 'referee')}"
    show.say(f"League {plan.league_id}: {who}, {plan.game}")
    show.say(f"  manager: {league.manager}\n  dashboard: {program.dashboard(league.manager)}")
    if again:
        show.say(f"  if it is broken off: {resuming(league.store)}")
    show.begin(league.manager)
    caller = HttpCaller(AddressPolicy.local())
    following = asyncio.ensure_future(_watch(league, caller, show))
    if processes.is_interrupted:
        stop.set()
    stopping = asyncio.ensure_future(stop.wait())
    try:
        while not (following.done() or stopping.done()):
            for news in processes.check():
                show.note(news)
                show.resumed = show.resumed or news.startswith("manager ")
            await asyncio.wait([following, stopping], timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if following.done():
            code = following.result()
            await _stay(league, processes, show, stopping)
            return code
    except CommandError as error:
        raise CommandError(f"{error}\n{again}" if show.has_begun and again else str(error)) from None
    finally:
        for task in (following, stopping):
            task.cancel()
        await asyncio.gather(following, stopping, return_exceptions=True)
        await show.end()
        await caller.close()
    show.say("Interrupted; every process is being ended.")
    if again:
        # Also where nothing but the result is to be printed, this must be known.
        print(again, file=sys.stderr if show.quiet else sys.stdout, flush=True)
    return 130


async def _stay(league: _League, processes: Processes, show: _Show, stopping: asyncio.Future[Any]) -> None:
    """Let the manager of a league that is over go on serving, until Ctrl-C."""
    if not league.stays:
        return
    show.say(f"\nIts page stays at {program.dashboard(league.manager)} until Ctrl-C.")
    while not stopping.done():
        for news in processes.check():
            show.note(news)
        await asyncio.wait([stopping], timeout=POLL_SECONDS)


async def _watch(league: _League, caller: HttpCaller, show: _Show) -> int:
    if league.is_resumed:
        await _play_held_again(league, caller, show)
    while True:
        status = await _asked(caller, league.manager, {"command": "status"})
        show.has_begun = show.has_begun or status["state"] != "WAITING_FOR_REGISTRATIONS"
        await _show_news(caller, league.manager, status, show)
        _show_waits(league, status, show)
        if status["state"] == "LEAGUE_COMPLETED" and status["everybody_told"]:
            await show.end()
            return await _finish(league, caller, status, show)
        await asyncio.sleep(POLL_SECONDS)


async def _play_held_again(league: _League, caller: HttpCaller, show: _Show) -> None:
    """Have matches played again that waited for the operator when the league was broken off."""
    held = (await _asked(caller, league.manager, {"command": "status"}))["held"]
    try:
        for match_id in held:
            token = admin_token(argparse.Namespace(admin_token_file=league.admin_token))
            params = {"command": "rematch", "match_id": match_id, "reason": "league run --resume", "admin_token": token}
            await ask_manager(caller, league.manager, params)
            show.note(f"{match_id} came to nothing too often, and is played again")
    except CommandError as error:
        show.note(str(error))


async def _asked(caller: HttpCaller, manager: str, params: dict[str, Any]) -> dict[str, Any]:
    """What the manager answers; it may be starting again."""
    for _ in range(MANAGER_TRIES):
        with contextlib.suppress(CommandError):
            return await ask_manager(caller, manager, params)
        await asyncio.sleep(POLL_SECONDS)
    return await ask_manager(caller, manager, params)


async def _schedule(caller: HttpCaller, manager: str, **params: Any) -> list[dict[str, Any]]:
    found = await fetch_schedule(partial(_asked, caller, manager), {"command": "schedule", **params})
    matches: list[dict[str, Any]] = found["schedule"]
    return matches


class _Show:
    """What is shown of a league in progress: a picture in a terminal, and plain lines elsewhere."""

    def __init__(self, *, quiet: bool, paced: bool, resumed: bool) -> None:
        self.resumed = resumed
        self.has_begun = False
        # Between rounds that follow each other at once there is no table that a reader could look at.
        self.paced = paced
        self.quiet = quiet
        self.round = 0
        self.told: set[str] = set()
        # What the league waited for at the last look.
        self.waits: list[str] = []
        # Why something could not be printed.
        self.failure: OSError | None = None
        self._painter: Painter | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self, manager: str) -> None:
        """From now on show the league as a picture, if that can be."""
        if not self.quiet and can_show(sys.stdout):
            follower = Follower(manager)
            self._painter = Painter(follower, program.dashboard(manager))
            self._tasks = [asyncio.create_task(follower.run()), asyncio.create_task(self._painter.run())]

    async def end(self) -> None:
        """Give the terminal back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._painter, self._tasks = None, []

    @property
    def is_picture(self) -> bool:
        return self._painter is not None

    def note(self, text: str) -> None:
        """Tell of something that went wrong."""
        if self._painter is None:
            program.say(text)
        else:
            self._painter.notes.append(text)

    def say(self, text: str) -> None:
        if not self.quiet:
            try:
                print(harmless_lines(text), flush=True)
            except OSError as error:
                # This stops no league.
                self.failure = error


async def _show_news(caller: HttpCaller, manager: str, status: dict[str, Any], show: _Show) -> None:
    """Tell of rounds that began and matches that ended since the last look."""
    if show.quiet or show.is_picture:
        return
    for round_id in range(max(1, show.round), status["current_round"] + 1):
        if round_id > show.round:
            if show.paced and round_id > 1:
                standings = (await _asked(caller, manager, {"command": "standings"}))["standings"]
                show.say(f"\n{standings_table(standings[:MAX_ROWS])}")
            show.round = round_id
            show.say(f"\nRound {round_id} of {status['total_rounds']}")
        for match in await _schedule(caller, manager, round_id=round_id):
            if "result" in match and match["match_id"] not in show.told:
                show.told.add(match["match_id"])
                show.say(f"  {_sentence(match)}")


def _show_waits(league: _League, status: dict[str, Any], show: _Show) -> None:
    """Tell what the league waits for since the last look, and the command that helps."""
    waits = list(status["waits_for"])
    if status["paused"]:
        waits.append("the operator: it is paused")
    # Which matches wait for a pause to end changes often.
    before = {*show.waits, *(one.partition(":")[0] for one in show.waits)}
    new = [one for one in waits if one not in before and one.partition(":")[0] not in before - {"the operator"}]
    is_new_to_operator = any(one.startswith("the operator:") for one in new)
    show.waits = waits
    if not show.is_picture:
        # A picture shows them already.
        for one in new:
            show.note(f"The league waits for {one}")
    if is_new_to_operator and status["held"]:
        show.note(f"Play what came to nothing again with: {league.operating('rematch', '--held')}")
    if is_new_to_operator and status["paused"]:
        show.note(f"Let it go on with: {league.operating('resume')}")


def _sentence(match: dict[str, Any]) -> str:
    result = match["result"]
    a, b = match["player_A_id"], match["player_B_id"]
    status = result["details"].get("status")
    winner = result["winner"]
    outcome = "draw" if winner is None else f"{winner} wins"
    if status == "TECHNICAL_LOSS":
        outcome = f"{'nobody wins' if winner is None else outcome} ({result['details'].get('ruling', status)})"
    choices = [harmless(result["details"]["choices"].get(player) or "-") for player in (a, b)]
    number = result["details"].get("drawn_number")
    drawn = "" if number is None else f", number {number}"
    return f"{match['match_id']:6} {a} ({choices[0]}) – {b} ({choices[1]}){drawn}: {outcome}"


async def _finish(league: _League, caller: HttpCaller, status: dict[str, Any], show: _Show) -> int:
    found = await _asked(caller, league.manager, {"command": "standings"})
    standings = found["standings"]
    schedule = await _schedule(caller, league.manager)
    told_moves = (await _asked(caller, league.manager, {"command": "moves"}))["moves"]
    moves = msgspec.convert(told_moves, dict[str, MoveOrigins])
    technical = sum(one["result"]["details"].get("status") == "TECHNICAL_LOSS" for one in schedule)
    first = standings[0]
    champion = {name: first[name] for name in ("player_id", "display_name", "points")}
    if show.quiet:
        told = {
            "league_id": status["league_id"],
            "champion": champion,
            "first": found["first"],
            "ties": found["ties"],
            "final_standings": standings,
            "rounds": status["total_rounds"],
            "matches": status["total_matches"],
            "technical_losses": technical,
            "seconds": status["seconds"],
            "moves": told_moves,
        }
        print(json_line(told))
        _warn(standings, moves)
        return 0
    show.say(f"\n{standings_table(standings)}\n")
    names = {row["player_id"]: row["display_name"] for row in standings}
    for sentence in [*found["ties"], found["first"]]:
        show.say(with_names(sentence, names))
    rate = status["total_matches"] / max(status["seconds"], 0.001)
    # Of a league that was broken off nobody knows how long it has been played.
    pace = "" if show.resumed else f" in {status['seconds']:.2f} s ({rate:.0f} a second)"
    matches = status["total_matches"]
    show.say(f"{matches} {'match' if matches == 1 else 'matches'}{pace}")
    if moves:
        show.say(f"Moves, as the players state: {in_all(moves.values())}")
    show.say(f"Log: {league.folder / 'log.jsonl'}\nEvents: {shown(league.store)}")
    if league.store != MEMORY:
        show.say(f"Every match, and what of it is chance: {shlex.join(['league', 'report', shown(league.store)])}")
    _warn(standings, moves)
    return 0


def _warn(standings: list[dict[str, Any]], moves: dict[str, MoveOrigins]) -> None:
    names = {row["player_id"]: f"{row['display_name']} ({row['player_id']})" for row in standings}
    warn_of_replaced({names.get(player, player): origins for player, origins in moves.items()})
