"""The table: kept row by row as results come, and sorted only where something has changed.

Points come first and the id last; in between the league's tie-breaks decide. Only players with equal points are ever
compared, so each level of points is sorted by itself and stays sorted until one of its players comes or goes.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping

from msgspec import Struct

from leaguekit.league.settings import TieBreak
from leaguekit.protocol.messages import MOST_STANDINGS, MatchResult, OwnRecord, Standing

WIN_POINTS = 3


class Row(Struct, array_like=True):
    """What one player has achieved. ``against`` holds the points taken from each opponent."""

    player_id: str
    display_name: str
    wins: int = 0
    draws: int = 0
    losses: int = 0
    technical_losses: int = 0
    against: dict[str, int] = {}

    @property
    def played(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> int:
        return WIN_POINTS * self.wins + self.draws

    @property
    def record(self) -> OwnRecord:
        """The record as the player itself is told it."""
        return OwnRecord(wins=self.wins, losses=self.losses, draws=self.draws, points=self.points)

    def count(self, opponent: str, points: int, *, technical: bool = False, one: int = 1) -> None:
        """Count the points of a match; with minus one, take them back."""
        if points == WIN_POINTS:
            self.wins += one
        elif points:
            self.draws += one
        else:
            self.losses += one
            self.technical_losses += one * technical
        self.against[opponent] = self.against.get(opponent, 0) + one * points


class Table:
    """The rows of all players, and their order."""

    def __init__(self, tie_breaks: Iterable[TieBreak]) -> None:
        self.rows: dict[str, Row] = {}
        self._tie_breaks = tuple(tie_breaks)
        self._levels: dict[int, dict[str, None]] = {}
        self._sorted: dict[int, list[str]] = {}
        self._standings: dict[str, Standing] | None = None

    def enter(self, player_id: str, display_name: str) -> None:
        """Give a player a row, or the row it has another name."""
        row = self.rows.get(player_id)
        if row is None:
            row = self.rows[player_id] = Row(player_id, display_name)
            self._put(row)
        row.display_name = display_name
        self._standings = None

    @classmethod
    def of(cls, tie_breaks: Iterable[TieBreak], rows: Iterable[Row]) -> Table:
        """The table of rows that were counted elsewhere."""
        table = cls(tie_breaks)
        for row in rows:
            table.rows[row.player_id] = row
            table._put(row)
        return table

    def leave(self, player_id: str) -> None:
        """Take away the row of a player that has played nothing."""
        self._take(self.rows.pop(player_id))

    def count(self, result: MatchResult, *, back: bool = False) -> None:
        """Count a result, or take it back."""
        one = -1 if back else 1
        technical = is_technical(result)
        for (player, points), opponent in zip(result.score.items(), reversed(result.score), strict=True):
            row = self.rows[player]
            self._take(row)
            row.count(self.rows[opponent].player_id, points, technical=technical, one=one)
            self._put(row)

    def standings(self) -> Mapping[str, Standing]:
        """The whole table in the order of ranks, by player; made once after each change, not to be altered."""
        if self._standings is None:
            ids = (player for points in sorted(self._levels, reverse=True) for player in self._level(points))
            self._standings = {player: _standing(rank, self.rows[player]) for rank, player in enumerate(ids, start=1)}
        return self._standings

    def shown_to(self, reader: str | None = None) -> list[Standing]:
        """At most 100 rows: of a longer table the first 99 and the reader's own."""
        standings = self.standings()
        if len(standings) <= MOST_STANDINGS:
            return list(standings.values())
        first = [row for row, _ in zip(standings.values(), range(MOST_STANDINGS), strict=False)]
        own = standings.get(reader or "")
        return first if own is None or own.rank < MOST_STANDINGS else [*first[:-1], own]

    def _take(self, row: Row) -> None:
        points = row.points
        level = self._levels[points]
        del level[row.player_id]
        if not level:
            del self._levels[points]
        self._sorted.pop(points, None)
        self._standings = None

    def _put(self, row: Row) -> None:
        points = row.points
        self._levels.setdefault(points, {})[row.player_id] = None
        self._sorted.pop(points, None)

    def _level(self, points: int) -> list[str]:
        if points not in self._sorted:
            level = self._levels[points]
            tied = level.keys()
            self._sorted[points] = (
                sorted(level, key=lambda player: self._key(self.rows[player], tied)) if len(level) > 1 else [*level]
            )
        return self._sorted[points]

    def _key(self, row: Row, tied: KeysView[str]) -> tuple[int, ...]:
        """What to sort tied players by, the best first."""
        values: dict[TieBreak, int] = {
            "head_to_head": -sum(map(row.against.__getitem__, row.against.keys() & tied)),
            "wins": -row.wins,
            "technical_losses": row.technical_losses,
        }
        return (*(values[name] for name in self._tie_breaks), int(row.player_id[1:]))


def is_technical(result: MatchResult) -> bool:
    return result.details.status == "TECHNICAL_LOSS"


def _standing(rank: int, row: Row) -> Standing:
    return Standing(
        rank=rank,
        player_id=row.player_id,
        display_name=row.display_name,
        played=row.played,
        wins=row.wins,
        draws=row.draws,
        losses=row.losses,
        points=row.points,
        technical_losses=row.technical_losses,
    )
