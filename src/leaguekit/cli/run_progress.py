"""Follows a league that ``league run`` has started: displays it, restarts its processes and prints its result."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from leaguekit.agents.game_loading import known_name
from leaguekit.agents.serving import run_until_first
from leaguekit.cli import CommandError, program
from leaguekit.cli.live_display import LiveDisplay
from leaguekit.cli.manager_client import ManagerClient, admin_token, fetch_schedule
from leaguekit.cli.processes import Processes
from leaguekit.cli.screen import supports_screen
from leaguekit.cli.stored_plans import RunPlan, resume_command
from leaguekit.cli.stream import Follower
from leaguekit.cli.tables import json_line, pluralize, shorten, standings_table, total_origins, warn_of_replaced_moves
from leaguekit.league.sentences import add_player_names
from leaguekit.league.settings import full_name
from leaguekit.manager.operator import ADMIN_TOKEN
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.protocol.plain_text import sanitize_line, sanitize_lines
from leaguekit.store.base import MEMORY, redact_address

POLL_SECONDS = 0.2
# How often a manager that does not answer is asked again. Each request has a time limit of ten seconds.
MANAGER_RETRIES = 5
MAX_ROWS = 10
# All moves of a side in connect four fit.
MAX_CHOICES_WIDTH = 41
LAST_BOARD_SECONDS = 4.0


class RunningLeague(NamedTuple):
    """The league that is followed."""

    plan: RunPlan
    store: str | Path
    # The folder of the manager's own files.
    folder: Path
    manager_url: str
    # Whether the manager goes on serving when the league is over.
    stays_after_end: bool
    is_resumed: bool

    @property
    def admin_token(self) -> Path:
        return self.folder / ADMIN_TOKEN

    def operator_command(self, *command: str) -> str:
        """The command line of an operator's command to this league."""
        where = ["--manager", self.manager_url, "--admin-token-file", str(self.admin_token)]
        return shlex.join(["league", *command, *where])


async def follow(league: RunningLeague, processes: Processes, display: RunDisplay, stop: program.Stop) -> int:
    """Display the league until it is over, and restart processes that end. Returns the exit code."""
    plan = league.plan
    again = "" if league.store == MEMORY else f"Go on with: {resume_command(league.store)}"
    who = f"{pluralize(plan.players, 'player')}, {pluralize(plan.referees, 'referee')}"
    display.print_line(
        f"{'' if plan.title else 'League '}{full_name(plan.title, plan.league_id)}: {who}, {known_name(plan.game)}"
    )
    display.print_line(f"  manager: {league.manager_url}\n  dashboard: {program.dashboard_url(league.manager_url)}")
    if again:
        display.print_line(f"  if it is broken off: {resume_command(league.store)}")
    display.begin(league.manager_url)
    if processes.is_interrupted:
        stop.set()
    is_over = False

    async def play() -> None:
        nonlocal is_over
        async with ManagerClient(league.manager_url) as manager:
            await _follow_until_over(league, manager, display)
        is_over = True
        if league.stays_after_end:
            display.print_line(f"\nIts page stays at {program.dashboard_url(league.manager_url)} until Ctrl-C.")
            await stop.wait()

    try:
        await run_until_first(_restart_processes(processes, display), play(), stop.wait())
    except CommandError as error:
        raise CommandError(f"{error}\n{again}" if display.has_begun and again else str(error)) from None
    finally:
        await display.end()
    if is_over:
        return stop.exit_code
    display.print_line("Interrupted; every process is being ended.")
    if again:
        # With --json too: the user must know how to resume.
        print(again, file=sys.stderr if display.quiet else sys.stdout, flush=True)
    return 130


async def _restart_processes(processes: Processes, display: RunDisplay) -> None:
    """Start processes again that end. This never returns. Raises CommandError if that would not help."""
    while True:
        for news in processes.check():
            display.note(news)
            display.resumed = display.resumed or news.startswith("manager ")
        await asyncio.sleep(POLL_SECONDS)


async def _follow_until_over(league: RunningLeague, manager: ManagerClient, display: RunDisplay) -> None:
    if league.is_resumed:
        await _replay_held_matches(league, manager, display)
    while True:
        status = await _ask_with_retries(manager, {"command": "status"})
        display.has_begun = display.has_begun or status["state"] != "WAITING_FOR_REGISTRATIONS"
        await _print_news(manager, status, display)
        print_waits(league, status, display)
        if status["state"] == "LEAGUE_COMPLETED" and status["everybody_told"]:
            if display.is_live and league.plan.move_delay:
                # The last boards, too, are there to be watched.
                await asyncio.sleep(LAST_BOARD_SECONDS)
            await display.end()
            await _print_result(league, manager, status, display)
            return
        await asyncio.sleep(POLL_SECONDS)


async def _replay_held_matches(league: RunningLeague, manager: ManagerClient, display: RunDisplay) -> None:
    """Order rematches of the matches that waited for the operator when the league was interrupted."""
    held = (await _ask_with_retries(manager, {"command": "status"}))["held"]
    try:
        for match_id in held:
            token = admin_token(argparse.Namespace(admin_token_file=league.admin_token))
            params = {"command": "rematch", "match_id": match_id, "reason": "league run --resume", "admin_token": token}
            await manager.call(params)
            display.note(f"{match_id} came to nothing too often, and is played again")
    except CommandError as error:
        display.note(str(error))


async def _ask_with_retries(manager: ManagerClient, params: dict[str, Any]) -> dict[str, Any]:
    """Ask the manager, and retry while it may be restarting."""
    for _ in range(MANAGER_RETRIES):
        with contextlib.suppress(CommandError):
            return await manager.call(params)
        await asyncio.sleep(POLL_SECONDS)
    return await manager.call(params)


async def _schedule(manager: ManagerClient, **params: Any) -> dict[str, Any]:
    return await fetch_schedule(partial(_ask_with_retries, manager), {"command": "schedule", **params})


class RunDisplay:
    """Displays a league in progress: live in a terminal, as lines elsewhere, and not at all if ``quiet``.

    ``paced`` says that there is time between rounds. Only then the table is printed after each round.
    """

    def __init__(self, *, quiet: bool, paced: bool, resumed: bool) -> None:
        self.resumed = resumed
        self.has_begun = False
        self.paced = paced
        self.quiet = quiet
        self.round = 0
        self.printed_matches: set[str] = set()
        # What the league waited for at the last poll.
        self.waits: list[str] = []
        # Set if something could not be printed.
        self.failure: OSError | None = None
        self._live_display: LiveDisplay | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self, manager_url: str) -> None:
        """Start the live display if standard output is a terminal."""
        if not self.quiet and supports_screen(sys.stdout):
            follower = Follower(manager_url)
            self._live_display = LiveDisplay(follower, program.dashboard_url(manager_url))
            self._tasks = [
                asyncio.create_task(follower.run()),
                asyncio.create_task(self._live_display.run(until_over=False)),
            ]

    async def end(self) -> None:
        """Stop the live display and restore the terminal."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._live_display, self._tasks = None, []

    @property
    def is_live(self) -> bool:
        return self._live_display is not None

    def note(self, text: str) -> None:
        """Display a notice, below the live display if there is one."""
        if self._live_display is None:
            program.print_notice(text)
        else:
            self._live_display.notes.append(text)

    def print_line(self, text: str) -> None:
        if not self.quiet:
            try:
                print(sanitize_lines(text), flush=True)
            except OSError as error:
                # The league goes on without output.
                self.failure = error


async def _print_news(manager: ManagerClient, status: dict[str, Any], display: RunDisplay) -> None:
    """Print the rounds that began and the matches that ended since the last poll."""
    if display.quiet or display.is_live:
        return
    if not display.round and status["current_round"] and status["format"] != "round_robin":
        display.print_line(f"  {status['format']}: {status['advancement']}")
    for round_id in range(max(1, display.round), status["current_round"] + 1):
        if round_id > display.round and display.paced and round_id > 1:
            standings = (await _ask_with_retries(manager, {"command": "standings"}))["standings"]
            display.print_line(f"\n{standings_table(standings[:MAX_ROWS])}")
        found = await _schedule(manager, round_id=round_id)
        if round_id > display.round:
            display.round = round_id
            display.print_line(f"\n{found['round'].replace('r', 'R', 1)}")
        for match in found["schedule"]:
            if "result" in match and match["match_id"] not in display.printed_matches:
                display.printed_matches.add(match["match_id"])
                display.print_line(f"  {_match_sentence(match)}")


def print_waits(league: RunningLeague, status: dict[str, Any], display: RunDisplay) -> None:
    """Print what the league newly waits for since the last poll, and the command that helps."""
    # The players that are not there yet are being started.
    waits = [one for one in status["waits_for"] if not one.startswith("more players")]
    if status["paused"]:
        waits.append("the operator: it is paused")
    # Compare reasons without their details as well: the list of matches in a reason changes often.
    before = {*display.waits, *(one.partition(":")[0] for one in display.waits)}
    new = [one for one in waits if one not in before and one.partition(":")[0] not in before - {"the operator"}]
    is_new_to_operator = any(one.startswith("the operator:") for one in new)
    display.waits = waits
    if not display.is_live:
        # The live display contains them already.
        for one in new:
            display.note(f"The league waits for {one}")
    if is_new_to_operator and status["held"]:
        display.note(f"Play what came to nothing again with: {league.operator_command('rematch', '--held')}")
    if is_new_to_operator and status["paused"]:
        display.note(f"Let it go on with: {league.operator_command('resume')}")


def _match_sentence(match: dict[str, Any]) -> str:
    result = match["result"]
    a, b = match["player_A_id"], match["player_B_id"]
    status = result["details"].get("status")
    winner = result["winner"]
    outcome = "draw" if winner is None else f"{winner} wins"
    if status == "TECHNICAL_LOSS":
        outcome = f"{'nobody wins' if winner is None else outcome} ({result['details'].get('ruling', status)})"
    if payoffs := result["details"].get("payoffs"):
        outcome += f", {payoffs[a]:g} to {payoffs[b]:g}"
    texts = [sanitize_line(result["details"]["choices"].get(player) or "-") for player in (a, b)]
    choices = [shorten(choice, MAX_CHOICES_WIDTH) for choice in texts]
    number = result["details"].get("drawn_number")
    drawn = "" if number is None else f", number {number}"
    return f"{match['match_id']:6} {a} ({choices[0]}) – {b} ({choices[1]}){drawn}: {outcome}"


async def _print_result(
    league: RunningLeague, manager: ManagerClient, status: dict[str, Any], display: RunDisplay
) -> None:
    found = await _ask_with_retries(manager, {"command": "standings"})
    standings = found["standings"]
    schedule = (await _schedule(manager))["schedule"]
    stated_moves = (await _ask_with_retries(manager, {"command": "moves"}))["moves"]
    moves = msgspec.convert(stated_moves, dict[str, MoveOrigins])
    technical = sum(one["result"]["details"].get("status") == "TECHNICAL_LOSS" for one in schedule)
    first = standings[0]
    champion = {name: first[name] for name in ("player_id", "display_name", "points", "payoff") if name in first}
    if display.quiet:
        result = {
            "league_id": status["league_id"],
            "title": status["title"],
            "champion": champion,
            "first": found["first"],
            "ties": found["ties"],
            "final_standings": standings,
            "rounds": status["total_rounds"],
            "matches": status["total_matches"],
            "technical_losses": technical,
            "seconds": status["seconds"],
            "moves": stated_moves,
        }
        print(json_line(result))
        _warn(standings, moves)
        return
    display.print_line(f"\n{standings_table(standings, found['tie_breaks'])}\n")
    names = {row["player_id"]: row["display_name"] for row in standings}
    for sentence in [*filter(None, [found.get("ranked_by")]), *found["ties"], found["first"]]:
        display.print_line(add_player_names(sentence, names))
    rate = status["total_matches"] / max(status["seconds"], 0.001)
    # The duration of an interrupted league is not known.
    speed = f" ({rate:.0f} per second)" if rate >= 1 else ""
    pace = "" if display.resumed else f" in {status['seconds']:.2f} s{speed}"
    matches = status["total_matches"]
    display.print_line(f"{matches} {'match' if matches == 1 else 'matches'}{pace}")
    if moves:
        display.print_line(f"Moves, as the players state: {total_origins(moves.values())}")
    display.print_line(f"Log: {league.folder / 'log.jsonl'}\nEvents: {redact_address(league.store)}")
    if league.store != MEMORY:
        display.print_line(
            f"Every match, and what of it is chance: {shlex.join(['league', 'report', redact_address(league.store)])}"
        )
    _warn(standings, moves)


def _warn(standings: list[dict[str, Any]], moves: dict[str, MoveOrigins]) -> None:
    names = {row["player_id"]: f"{row['display_name']} ({row['player_id']})" for row in standings}
    warn_of_replaced_moves({names.get(player, player): origins for player, origins in moves.items()})
