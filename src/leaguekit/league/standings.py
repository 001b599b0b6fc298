"""The table: kept row by row as results come, and sorted when somebody looks at it.

Points come first and the id last; in between the league's tie-breaks decide. A tie-break is evaluated only for players
who are equal in everything before it. Points among the tied are kept until one of these players comes or goes. A
Sonneborn–Berger score depends on the points of every opponent, and is corrected by what has changed since it was used.

The lot is a SHA-256 of the text ``<seed in hex>:lot:<player id>``; the lower one is first. No draw of a match is made
from such a text, so the lot tells nothing about the draws. Lots are drawn when the league starts: before that a player
could register several times and keep the best.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from leaguekit.league.settings import TieBreak
from leaguekit.protocol.messages import MAX_STANDINGS, MatchResult, OwnRecord, Standing

WIN_POINTS = 3

# What decides between two players with equal points.
Decider = TieBreak | Literal["id"]
# After more changes than this, a Sonneborn–Berger score is made from scratch.
MAX_CHANGES = 256
# These say nothing about how the players have played.
ARBITRARY: tuple[Decider, ...] = ("lot", "id")


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


class Placing(Struct, kw_only=True, gc=False):
    """How a player came to its rank."""

    # The best rank among players who are equal in everything but the lot or the id.
    shared_rank: int
    is_shared: bool = False
    # What decided between this player and the one before it; None if that was points.
    decided_by: Decider | None = None
    # Evaluated only between players who are equal in everything before it.
    head_to_head: int | None = None
    sonneborn_berger: float | None = None

    @property
    def shown_rank(self) -> str:
        """The rank as people write it: ``1=`` if it is shared."""
        return f"{self.shared_rank}=" if self.is_shared else str(self.shared_rank)


class Table:
    """The rows of all players, and their order."""

    def __init__(self, tie_breaks: Iterable[TieBreak], lot_seed: str | None = None) -> None:
        """An empty table. ``lot_seed`` is the league's seed in hex; without one the id decides instead of the lot."""
        self.rows: dict[str, Row] = {}
        self._order: tuple[Decider, ...] = (*tie_breaks, "id")
        self._lot_seed = lot_seed
        self._levels: dict[int, dict[str, None]] = {}
        self._standings: dict[str, Standing] | None = None
        # What decided between a player and the one before it, if they have equal points; made with the standings.
        self._deciders: dict[str, Decider] = {}
        # By points: what each player of that level took from the others of it.
        self._among_tied: dict[int, dict[str, int]] = {}
        # Twice the Sonneborn–Berger scores, each with the number of changes that are in it, and all changes of points.
        self._halves: dict[str, tuple[int, int]] = {}
        self._changes: list[tuple[str, int]] = []
        # Whose score was needed for the standings.
        self._scored: set[str] = set()
        self._points: dict[str, int] = {}

    def enter(self, player_id: str, display_name: str) -> None:
        """Give a player a row, or the row it has another name."""
        row = self.rows.get(player_id)
        if row is None:
            row = self.rows[player_id] = Row(player_id, display_name)
            self._put(row)
        row.display_name = display_name
        self._standings = None

    @classmethod
    def of(cls, tie_breaks: Iterable[TieBreak], rows: Iterable[Row], lot_seed: str | None = None) -> Table:
        """The table of rows that were counted elsewhere."""
        table = cls(tie_breaks, lot_seed)
        for row in rows:
            table.rows[row.player_id] = row
            table._put(row)
        return table

    def leave(self, player_id: str) -> None:
        """Take away the row of a player that has played nothing."""
        self._take(self.rows.pop(player_id))

    def draw_lots(self, seed_hex: str) -> None:
        """From now on the lot may decide."""
        self._lot_seed, self._standings = seed_hex, None

    def count(self, result: MatchResult, *, back: bool = False) -> None:
        """Count a result, or take it back."""
        one = -1 if back else 1
        technical = is_technical(result)
        for (player, points), opponent in zip(result.score.items(), reversed(result.score), strict=True):
            row = self.rows[player]
            self._take(row)
            row.count(self.rows[opponent].player_id, points, technical=technical, one=one)
            self._put(row)
            self._halves.pop(player, None)
            if points:
                self._changes.append((player, one * points))
        if len(self._changes) > MAX_CHANGES:
            self._changes.clear()
            self._halves.clear()

    def standings(self) -> Mapping[str, Standing]:
        """The whole table in the order of ranks, by player; made once after each change, not to be altered."""
        if self._standings is None:
            self._deciders, self._scored = {}, set()
            ids: list[str] = []
            for points in sorted(self._levels, reverse=True):
                level = self._levels[points]
                ids += self._ordered(points, level, self._order) if len(level) > 1 else level
            self._standings = {player: _standing(rank, self.rows[player]) for rank, player in enumerate(ids, start=1)}
        return self._standings

    def placings(self) -> dict[str, Placing]:
        """How each player came to its rank, in the order of ranks."""
        standings = self.standings()
        taken = {player: value for level in self._among_tied.values() for player, value in level.items()}
        placings: dict[str, Placing] = {}
        before: Placing | None = None
        for player, row in standings.items():
            decider = self._deciders.get(player)
            own = Placing(
                shared_rank=row.rank,
                decided_by=decider,
                head_to_head=taken.get(player),
                sonneborn_berger=self._halves[player][0] / 2 if player in self._scored else None,
            )
            if before is not None and decider in ARBITRARY:
                own.shared_rank, own.is_shared, before.is_shared = before.shared_rank, True, True
            before = placings[player] = own
        return placings

    def shown_to(self, reader: str | None = None) -> list[Standing]:
        """At most 100 rows: of a longer table the first 99 and the reader's own."""
        standings = self.standings()
        if len(standings) <= MAX_STANDINGS:
            return list(standings.values())
        first = [row for row, _ in zip(standings.values(), range(MAX_STANDINGS), strict=False)]
        own = standings.get(reader or "")
        return first if own is None or own.rank < MAX_STANDINGS else [*first[:-1], own]

    def _take(self, row: Row) -> None:
        points = row.points
        level = self._levels[points]
        del level[row.player_id]
        if not level:
            del self._levels[points]
        self._among_tied.pop(points, None)
        self._standings = None

    def _put(self, row: Row) -> None:
        points = self._points[row.player_id] = row.points
        self._levels.setdefault(points, {})[row.player_id] = None
        self._among_tied.pop(points, None)

    def _ordered(self, points: int, tied: Iterable[str], order: tuple[Decider, ...]) -> list[str]:
        """Players with so many points who are equal so far, the best first."""
        parts: dict[int, list[str]] = {}
        for player, value in self._values(order[0], points, tied):
            parts.setdefault(value, []).append(player)
        ordered: list[str] = []
        for value in sorted(parts, reverse=True):
            part = parts[value]
            if len(part) > 1:
                part = self._ordered(points, part, order[1:])
            if ordered:
                self._deciders[part[0]] = order[0]
            ordered += part
        return ordered

    def _values(self, name: Decider, points: int, tied: Iterable[str]) -> list[tuple[str, int]]:
        """What a tie-break says of each player, the most of the best."""
        rows = self.rows
        match name:
            case "head_to_head":
                among = self._among_tied.get(points)
                if among is None:
                    level = self._levels[points].keys()
                    among = self._among_tied[points] = {
                        player: sum(map(own.__getitem__, own.keys() & level))
                        for player, own in [(player, rows[player].against) for player in level]
                    }
                return [(player, among[player]) for player in tied]
            case "sonneborn_berger":
                return [(player, self._score(player)) for player in tied]
            case "wins":
                return [(player, rows[player].wins) for player in tied]
            case "technical_losses":
                return [(player, -rows[player].technical_losses) for player in tied]
            case "lot":
                seed = self._lot_seed
                return [(player, 0 if seed is None else -lot(seed, player)) for player in tied]
        return [(player, -int(player[1:])) for player in tied]

    def _score(self, player: str) -> int:
        """Twice the Sonneborn–Berger score: the points of beaten opponents, and half the points of those drawn with.

        Two players meet at most twice, so the points taken from an opponent tell how many matches were won and drawn.
        """
        against = self.rows[player].against
        halves, known = self._halves.get(player, (0, -1))
        if known < 0:
            points = self._points
            halves = sum(
                [(won // WIN_POINTS * 2 + won % WIN_POINTS) * points[other] for other, won in against.items() if won]
            )
        else:
            for other, change in self._changes[known:]:
                if won := against.get(other):
                    halves += (won // WIN_POINTS * 2 + won % WIN_POINTS) * change
        self._scored.add(player)
        self._halves[player] = halves, len(self._changes)
        return halves


def lot(seed_hex: str, player_id: str) -> int:
    """A player's lot; the lowest is first."""
    return int(hashlib.sha256(f"{seed_hex}:lot:{player_id}".encode()).hexdigest(), 16)


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
