"""Prints on the terminal of a manager where its league stands: at the start what it waits for, at an interruption."""

from __future__ import annotations

import shlex
from pathlib import Path

from leaguekit.cli import program
from leaguekit.cli.stored_plans import StartPlan
from leaguekit.cli.tables import pluralize
from leaguekit.league import queries
from leaguekit.league.state import League
from leaguekit.protocol import times


def print_stage(league: League, start: StartPlan, endpoint: str, data_dir: Path) -> None:
    """Print what a league waits for, or where it goes on, and the command that comes next."""
    here = ["--manager", endpoint, "--data-dir", str(data_dir)]
    if not league.is_open:
        verb = "is over" if league.state == "LEAGUE_COMPLETED" else "goes on"
        program.print_notice(f"The league {verb}: {_describe_progress(league)}")
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


def print_interruption(league: League) -> None:
    """Print where a league was interrupted, and that it can go on."""
    if league.state == "LEAGUE_COMPLETED":
        return
    where = "before its start" if league.is_open else f"in {_describe_progress(league)}"
    program.print_notice(f"The league is interrupted {where}. Nothing is lost: players that go on running wait for it.")


def _describe_progress(league: League) -> str:
    status = queries.status(league)
    played = f"{status.matches_played} of {pluralize(status.total_matches, 'match', 'es')} played"
    return f"round {status.current_round} of {status.total_rounds}, {played}"
