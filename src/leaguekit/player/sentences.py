"""Sentences for the author of a player, about the player's league."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leaguekit.league.sentences import add_player_names
from leaguekit.player.context import PastMatch
from leaguekit.protocol.ids import CHECK_LEAGUE_PREFIX
from leaguekit.protocol.messages import FinalStanding, Standing
from leaguekit.protocol.plain_text import sanitize_line

CHECK = "This is a conformance check. It provokes errors, refusals and losses, but no replaced moves."
CHECK_OVER = "The conformance check is over. Its losses and points say nothing about this player."


def is_league_of_check(league_id: str | None) -> bool:
    """Whether a league is one of ``league check``."""
    return league_id is not None and league_id.startswith(CHECK_LEAGUE_PREFIX)


def result_sentence(past: PastMatch, own: dict[str, str], standings: Iterable[Standing]) -> str:
    """The result of a match, with the names of its players. ``own`` has the player's name by its id."""
    names = dict(own)
    for row in standings:
        if row.player_id == past.opponent_id:
            names[row.player_id] = sanitize_line(row.display_name)
    return f"{past.match_id}: {past.result}. {add_player_names(past.reason, names)}"


def place_sentence(name: str, own: FinalStanding, rows: Sequence[FinalStanding]) -> str:
    """The place of a player in a final table.

    The table does not say how ties were broken, so players with equal points share their places here.
    """
    points = f"{own.points} point{'' if own.points == 1 else 's'}"
    ranks = [row.rank for row in rows if row.points == own.points]
    if len(ranks) == 1:
        return f"{name} is number {own.rank} with {points}"
    others = "1 other player" if len(ranks) == 2 else f"{len(ranks) - 1} other players"
    return f"{name} has {points}, as many as {others}: by points they share places {min(ranks)} to {max(ranks)}"
