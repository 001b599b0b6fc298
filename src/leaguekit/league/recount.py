"""The table made from scratch, by other means than the league's own: to hold against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from leaguekit.league.settings import TieBreak
from leaguekit.league.standings import is_technical
from leaguekit.protocol.messages import MatchResult


class Counted(NamedTuple):
    """What a standing result is worth to its two players."""

    points: tuple[tuple[str, int], tuple[str, int]]
    is_technical: bool


class Line(NamedTuple):
    """A player's line of the table."""

    player_id: str
    played: int
    wins: int
    draws: int
    losses: int
    points: int
    technical_losses: int

    def __str__(self) -> str:
        return (
            f"{self.player_id} with {self.points} points from {self.played} matches "
            f"({self.wins} won, {self.draws} drawn, {self.losses} lost, {self.technical_losses} of them technically)"
        )


def counted(result: MatchResult) -> Counted:
    """A result as the table needs it; by the score alone."""
    one, other = result.score.items()
    return Counted((one, other), is_technical(result))


def table(
    players: Iterable[str], results: Iterable[Counted], tie_breaks: Sequence[TieBreak], lot_seed: str | None
) -> list[Line]:
    """The lines of all players, the first first. ``lot_seed`` is the league's seed in hex once lots are drawn."""
    taken: dict[str, list[tuple[str, int, bool]]] = {player: [] for player in players}
    for (one, other), technical in results:
        taken[one[0]].append((other[0], one[1], technical))
        taken[other[0]].append((one[0], other[1], technical))
    lines = {player: _line(player, matches) for player, matches in taken.items()}

    def head_to_head(line: Line) -> int:
        rivals = (match for match in taken[line.player_id] if lines[match[0]].points == line.points)
        return -sum(points for _, points, _ in rivals)

    def sonneborn_berger(line: Line) -> float:
        worth = {3: 1.0, 1: 0.5, 0: 0.0}
        return -sum(worth[points] * lines[opponent].points for opponent, points, _ in taken[line.player_id])

    def lot(line: Line) -> str:
        return "" if lot_seed is None else sha256(f"{lot_seed}:lot:{line.player_id}".encode()).hexdigest()

    by: dict[TieBreak, Callable[[Line], float | str]] = {
        "head_to_head": head_to_head,
        "sonneborn_berger": sonneborn_berger,
        "wins": lambda line: -line.wins,
        "technical_losses": lambda line: line.technical_losses,
        "lot": lot,
    }
    return sorted(
        lines.values(),
        key=lambda line: (-line.points, *(by[name](line) for name in tie_breaks), int(line.player_id[1:])),
    )


def _line(player: str, matches: list[tuple[str, int, bool]]) -> Line:
    points = [worth for _, worth, _ in matches]
    return Line(
        player,
        played=len(points),
        wins=points.count(3),
        draws=points.count(1),
        losses=points.count(0),
        points=sum(points),
        technical_losses=sum(technical and not worth for _, worth, technical in matches),
    )
