"""Prints on the terminal of a manager how far its league is, and which silent players it waits for."""

from __future__ import annotations

import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from leaguekit.cli import program
from leaguekit.cli.event_printer import add_names, champion_sentence
from leaguekit.cli.stored_plans import StartPlan
from leaguekit.cli.tables import pluralize
from leaguekit.league import queries
from leaguekit.league.commands.tournaments import describe_round
from leaguekit.league.state import League
from leaguekit.protocol import times
from leaguekit.protocol.messages import MatchProgress

if TYPE_CHECKING:
    from leaguekit.manager.rounds.league_runner import LeagueRunner

# Limits for a class. docs/settings.md explains them.
CLASS_LIMITS = "announce_lead=5 choice_seconds=5 max_retries=1 retry_seconds=1"
# If the tries of one move take longer, a line says how to set shorter limits.
LONG_SECONDS = 30.0


def print_stage(league: League, start: StartPlan, endpoint: str, data_dir: Path) -> None:
    """Print what a league waits for, or where it goes on, and the command that comes next."""
    here = ["--manager", endpoint, "--data-dir", str(data_dir)]
    if league.state == "LEAGUE_COMPLETED":
        champion = add_names(champion_sentence(league), league)
        program.print_notice(f"The league is over: {_describe_progress(league)}. {champion}")
        return
    if not league.is_open:
        program.print_notice(f"The league goes on: {_describe_progress(league)}")
        return
    lines = []
    if league.settings.require_seat and all(seat.revoked for seat in league.seats.values()):
        lines.append(f"Players need seat codes: {shlex.join(['league', 'seats', 'new', '30', *here])}")
    players = pluralize(len(league.table.rows), "player")
    if start.when is not None:
        wanted = f"{start.players} players and {pluralize(start.when[1], 'referee')}"
        lines.append(f"The league starts with {wanted}; {players} registered so far")
    elif start.at is not None:
        at = f"{times.parse_timestamp(start.at).astimezone():%Y-%m-%d %H:%M}"
        lines.append(f"The league starts at {at}; {players} registered so far")
    else:
        lines.append(f"{players} registered so far. Start the league with: {shlex.join(['league', 'start', *here])}")
    program.print_notice("\n".join(lines))


class SilencePrinter:
    """Prints which players a match waits for, once per attempt at the match.

    The first time it also prints how to set shorter time limits, unless they are short.
    """

    def __init__(self, runner: LeagueRunner, league: League, endpoint: str, data_dir: Path) -> None:
        self._runner = runner
        self._league = league
        here = shlex.join(["--manager", endpoint, "--data-dir", str(data_dir)])
        self._advice = f"Shorter time limits, such as for a class: league set {CLASS_LIMITS} {here}"
        # By match, the latest attempt that was printed.
        self._printed: dict[str, int] = {}
        runner.progress.silence_listeners.append(self._react)

    def _react(self, report: MatchProgress) -> None:
        if self._printed.get(report.match_id) == report.attempt:
            return
        settings = self._league.settings
        is_first, self._printed[report.match_id] = not self._printed, report.attempt
        at = f"{datetime.now().astimezone():%H:%M:%S}"
        program.print_notice(f"{at}  The league waits for {self._runner.progress.describe_silence(report)}")
        if is_first and settings.choice_seconds * (settings.max_retries + 1) > LONG_SECONDS:
            program.print_notice(self._advice)


def print_interruption(league: League) -> None:
    """Print where a league was interrupted, and that it can go on."""
    if league.state == "LEAGUE_COMPLETED":
        return
    where = "before its start" if league.is_open else f"in {_describe_progress(league)}"
    program.print_notice(f"The league is interrupted {where}. Nothing is lost: players that go on running wait for it.")


def print_store_problem(problem: str | None) -> None:
    """Print that a league waits for its store, or, with None, that it goes on."""
    text = "The store answers again" if problem is None else f"The league waits for its store: {problem}"
    program.print_notice(f"{datetime.now().astimezone():%H:%M:%S}  {text}")


def _describe_progress(league: League) -> str:
    status = queries.status(league)
    played = f"{status.matches_played} of {pluralize(status.total_matches, 'match', 'es')} played"
    return f"{describe_round(league, status.current_round)}, {played}"
