"""Recounts the table of a league from its results. The audit compares it with the table that the league keeps.

The code is independent of ``standings`` on purpose: an error there must not be repeated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from leaguekit.formats.base import TieBreak
from leaguekit.league.standings import is_technical
from leaguekit.protocol.messages import MatchResult


class CountedResult(NamedTuple):
    """The points of the two players of a match."""

    points: tuple[tuple[str, int], tuple[str, int]]
    is_technical: bool
    # What each of them won, if the game has payoffs.
    payoffs: Mapping[str, float] = {}


class RecountedRow(NamedTuple):
    """A player's row of the table."""

    player_id: str
    played: int
    wins: int
    draws: int
    losses: int
    points: int
    technical_losses: int
    # The mean payoff of a match; None in a league that is not ranked by it.
    payoff: float | None = None

    def __str__(self) -> str:
        return (
            f"{self.player_id} with {self.points} points from {self.played} matches "
            f"({self.wins} won, {self.draws} drawn, {self.losses} lost, {self.technical_losses} of them technically)"
            + ("" if self.payoff is None else f" and a payoff of {self.payoff:g}")
        )


def count_result(result: MatchResult) -> CountedResult:
    """The part of a result that the table needs. Only the score counts, and payoffs if the game has them."""
    one, other = result.score.items()
    return CountedResult((one, other), is_technical(result), result.details.payoffs or {})


def recount_table(
    players: Iterable[str],
    results: Iterable[CountedResult],
    tie_breaks: Sequence[TieBreak],
    lot_seed: str | None,
    payoff_range: tuple[float, float] | UnsetType = UNSET,
    *,
    byes: Sequence[str] = (),
    absences: Sequence[str] = (),
    ranking: Sequence[str] = (),
) -> list[RecountedRow]:
    """The rows of all players in the order of ranks. ``lot_seed`` is the league's seed in hex once lots are drawn.

    ``byes`` and ``absences`` name a player once for each round. A ``ranking`` by the format replaces the order.
    """
    played: dict[str, list[tuple[str, int, bool]]] = {player: [] for player in players}
    # In millionths.
    won: dict[str, list[int]] = {player: [] for player in played}
    for (one, other), technical, payoffs in results:
        played[one[0]].append((other[0], one[1], technical))
        played[other[0]].append((one[0], other[1], technical))
        if payoff_range is not UNSET:
            low, high = payoff_range
            by_points = {3: high, 1: (low + high) / 2, 0: low}
            for player, points in (one, other):
                stated = None if technical else payoffs.get(player)
                won[player].append(round(1_000_000 * (by_points[points] if stated is None else stated)))
    rows = {player: _recounted_row(player, matches, byes.count(player)) for player, matches in played.items()}
    if payoff_range is not UNSET:
        rows = {player: row._replace(payoff=_mean(won[player])) for player, row in rows.items()}

    def head_to_head(row: RecountedRow) -> int:
        against = ((rows[opponent], points) for opponent, points, _ in played[row.player_id])
        return -sum(points for rival, points in against if (rival.payoff, rival.points) == (row.payoff, row.points))

    def sonneborn_berger(row: RecountedRow) -> float:
        worth = {3: 1.0, 1: 0.5, 0: 0.0}
        return -sum(worth[points] * rows[opponent].points for opponent, points, _ in played[row.player_id])

    def buchholz(row: RecountedRow) -> int:
        met = [opponent for opponent, _, technical in played[row.player_id] if not technical]
        empty = len(played[row.player_id]) - len(met) + byes.count(row.player_id) + absences.count(row.player_id)
        return -sum(rows[opponent].points for opponent in met) - empty * row.points

    def lot(row: RecountedRow) -> str:
        return "" if lot_seed is None else sha256(f"{lot_seed}:lot:{row.player_id}".encode()).hexdigest()

    by: dict[TieBreak, Callable[[RecountedRow], float | str]] = {
        "buchholz": buchholz,
        "head_to_head": head_to_head,
        "sonneborn_berger": sonneborn_berger,
        "wins": lambda row: -row.wins,
        "technical_losses": lambda row: row.technical_losses,
        "lot": lot,
    }
    if ranking:
        return [rows[player] for player in ranking]
    return sorted(
        rows.values(),
        key=lambda row: (
            -(row.payoff or 0),
            -row.points,
            *(by[name](row) for name in tie_breaks),
            int(row.player_id[1:]),
        ),
    )


def _mean(millionths: Sequence[int]) -> float:
    return round(sum(millionths) / len(millionths) / 1_000_000, 6) if millionths else 0.0


def _recounted_row(player: str, matches: list[tuple[str, int, bool]], byes: int) -> RecountedRow:
    points = [worth for _, worth, _ in matches] + [3] * byes
    return RecountedRow(
        player,
        played=len(points),
        wins=points.count(3),
        draws=points.count(1),
        losses=points.count(0),
        points=sum(points),
        technical_losses=sum(technical and not worth for _, worth, technical in matches),
    )
