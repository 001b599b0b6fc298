"""The table of a league. Results update its rows, and it is sorted when it is read.

Points come first and the id last; in between the league's tie-breaks decide. In a league of a game that is ranked by
payoff, the mean payoff of a match comes before the points. A technical loss counts as the lowest payoff of the game,
and the win by it as the highest.

A tie-break is evaluated only for players that are equal in everything before it. Head-to-head points among tied
players are cached until one of these players gets other points. A Sonneborn–Berger score depends on the points of every
opponent. A cached score is corrected by the changes of points since it was computed.

The lot is a SHA-256 of the text ``<seed in hex>:lot:<player id>``; the lower one is first. No draw of a match is made
from such a text, so the lot reveals nothing about the draws. Lots are drawn when the league starts. Before that, a
player could register several times and keep the best.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, structs

from leaguekit.formats.base import TieBreak
from leaguekit.protocol.messages import MAX_STANDINGS, MatchResult, OwnRecord, Standing

WIN_POINTS = 3
MILLION = 1_000_000

# The players with equal points; if the table is ranked by payoff, with equal payoffs and points.
Level = int | tuple[float, int]
# What decides between two players of a level.
Decider = TieBreak | Literal["id"]
# After more changes of points than this, all cached Sonneborn–Berger scores are dropped.
MAX_CHANGES = 256
# These tie-breaks do not depend on how the players have played.
ARBITRARY: tuple[Decider, ...] = ("lot", "id")


class Row(Struct, array_like=True):
    """The results of one player. ``against`` holds the points that it got against each opponent."""

    player_id: str
    display_name: str
    wins: int = 0
    draws: int = 0
    losses: int = 0
    technical_losses: int = 0
    against: dict[str, int] = {}
    # Byes, which count as wins; and all rounds without a played game: byes, absences, and technical losses of either.
    byes: int = 0
    unplayed: int = 0
    # The number of played games against each opponent. It is kept only for Buchholz.
    opponents: dict[str, int] = {}
    # The sum of the payoffs, in millionths, and of how many matches. Sums of fractions would depend on their order.
    payoff_sum: int = 0
    payoff_count: int = 0

    @property
    def payoff(self) -> float:
        """The mean payoff of a match, to six digits; 0 before the first one. Byes do not count."""
        return round(self.payoff_sum / self.payoff_count / MILLION, 6) if self.payoff_count else 0.0

    def count_payoff(self, payoff: float, step: int = 1) -> None:
        """Add the payoff of a match, or remove it with a ``step`` of -1."""
        self.payoff_sum += step * round(MILLION * payoff)
        self.payoff_count += step

    @property
    def played(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> int:
        return WIN_POINTS * self.wins + self.draws

    @property
    def record(self) -> OwnRecord:
        """The record that is sent to the player itself."""
        return OwnRecord(wins=self.wins, losses=self.losses, draws=self.draws, points=self.points)

    def count(self, opponent: str, points: int, *, technical: bool = False, step: int = 1) -> None:
        """Add the points of a match, or remove them with a ``step`` of -1."""
        if points == WIN_POINTS:
            self.wins += step
        elif points:
            self.draws += step
        else:
            self.losses += step
            self.technical_losses += step * technical
        self.against[opponent] = self.against.get(opponent, 0) + step * points

    def count_without_game(self, *, is_bye: bool) -> None:
        """Count a round without a game. A bye counts as a win."""
        self.unplayed += 1
        self.wins += is_bye
        self.byes += is_bye

    def count_opponent(self, opponent: str, *, technical: bool, step: int) -> None:
        """Note for Buchholz whom the player met."""
        if technical:
            self.unplayed += step
        else:
            self.opponents[opponent] = self.opponents.get(opponent, 0) + step


class PlacedRow(Standing, kw_only=True):
    """A row of the table, and how its rank was decided."""

    # As it is displayed: 1= for all players that are equal in everything but the lot or the id.
    shown_rank: str
    # What decided between this player and the one before it; None if points did.
    decided_by: Decider | None = None
    # Points in the matches among the players with equal points, and the Sonneborn–Berger score; only if needed.
    head_to_head: int | None = None
    sonneborn_berger: float | None = None
    # The points of all opponents. A round without a played game counts as one against a player with equal points.
    buchholz: int | None = None


class Table:
    """The rows of all players, and their order."""

    def __init__(
        self,
        tie_breaks: Iterable[TieBreak],
        lot_seed: str | None = None,
        payoff_range: tuple[float, float] | UnsetType = UNSET,
    ) -> None:
        """An empty table. ``lot_seed`` is the league's seed in hex; without one the id decides instead of the lot.

        With a ``payoff_range`` the table is ranked by payoff.
        """
        self.rows: dict[str, Row] = {}
        self._payoff_range = payoff_range
        self._order: tuple[Decider, ...] = (*tie_breaks, "id")
        self._lot_seed = lot_seed
        self._levels: dict[Level, dict[str, None]] = {}
        self._level_of: dict[str, Level] = {}
        self._standings: dict[str, Standing] | None = None
        # What decided between a player and the one before it, if they have equal points; computed with the standings.
        self._deciders: dict[str, Decider] = {}
        # By level: the head-to-head points of each player against the others of the level.
        self._among_tied: dict[Level, dict[str, int]] = {}
        # Cached Sonneborn–Berger scores, doubled, each with the number of changes that it includes; and all changes
        # of points.
        self._doubled_scores: dict[str, tuple[int, int]] = {}
        self._changes: list[tuple[str, int]] = []
        # The players whose score was needed for the standings.
        self._players_with_score: set[str] = set()
        self._points: dict[str, int] = {}
        self._counts_opponents = "buchholz" in self._order
        self._ranking: list[str] = []

    @property
    def ranking(self) -> list[str]:
        """The order of the players by the format. While it is empty, the points decide."""
        return self._ranking

    @ranking.setter
    def ranking(self, ranking: list[str]) -> None:
        self._ranking, self._standings = ranking, None

    def add_player(self, player_id: str, display_name: str) -> None:
        """Add a row for a player, or change the name in its row."""
        row = self.rows.get(player_id)
        if row is None:
            row = self.rows[player_id] = Row(player_id, display_name)
            self._add_to_level(row)
        row.display_name = display_name
        self._standings = None

    @classmethod
    def of(
        cls,
        tie_breaks: Iterable[TieBreak],
        rows: Iterable[Row],
        lot_seed: str | None = None,
        payoff_range: tuple[float, float] | UnsetType = UNSET,
    ) -> Table:
        """A table of the given rows."""
        table = cls(tie_breaks, lot_seed, payoff_range)
        for row in rows:
            table.rows[row.player_id] = row
            table._add_to_level(row)
        return table

    def remove_player(self, player_id: str) -> None:
        """Remove the row of a player that has not played."""
        self._remove_from_level(self.rows.pop(player_id))

    def draw_lots(self, seed_hex: str) -> None:
        """Let the lot decide ties from now on."""
        self._lot_seed, self._standings = seed_hex, None

    def count(self, result: MatchResult, *, undo: bool = False) -> None:
        """Count a result, or remove one that was counted."""
        step = -1 if undo else 1
        technical = is_technical(result)
        for (player, points), opponent in zip(result.score.items(), reversed(result.score), strict=True):
            row = self.rows[player]
            self._remove_from_level(row)
            row.count(self.rows[opponent].player_id, points, technical=technical, step=step)
            if self._payoff_range is not UNSET:
                row.count_payoff(payoff_of(result, player, self._payoff_range), step)
            if self._counts_opponents:
                row.count_opponent(self.rows[opponent].player_id, technical=technical, step=step)
            self._add_to_level(row)
            self._doubled_scores.pop(player, None)
            if points:
                self._changes.append((player, step * points))
        self._limit_changes()

    def count_without_game(self, players: Iterable[str], byes: Iterable[str]) -> None:
        """Count a round for players without a game. A bye counts as a win."""
        for player in players:
            row, is_bye = self.rows[player], player in byes
            self._remove_from_level(row)
            row.count_without_game(is_bye=is_bye)
            self._add_to_level(row)
            if is_bye:
                self._changes.append((player, WIN_POINTS))
        self._limit_changes()
        self._standings = None

    def _limit_changes(self) -> None:
        if len(self._changes) > MAX_CHANGES:
            self._changes.clear()
            self._doubled_scores.clear()

    def standings(self) -> Mapping[str, Standing]:
        """The whole table in the order of ranks, by player. It is cached until the next change; do not modify it."""
        if self._standings is None:
            self._deciders, self._players_with_score = {}, set()
            ids: list[str] = []
            for level in sorted(self._levels, reverse=True):
                tied = self._levels[level]
                ids += self._ordered(level, tied, self._order) if len(tied) > 1 else tied
            if self._ranking:
                ids, self._deciders = self._ranking, {}
            self._standings = {
                player: _standing(rank, self.rows[player], has_payoff=self._payoff_range is not UNSET)
                for rank, player in enumerate(ids, start=1)
            }
        return self._standings

    def placed_rows(self) -> list[PlacedRow]:
        """The whole table in the order of ranks, with how each rank was decided."""
        rows: list[PlacedRow] = []
        standings = self.standings()
        taken = {player: value for level in self._among_tied.values() for player, value in level.items()}
        scored = self._players_with_score
        if self._ranking:
            # The format has decided, and the tie-breaks have not.
            taken, scored = {}, set()
        for player, standing in standings.items():
            row = PlacedRow(
                **structs.asdict(standing),
                shown_rank=str(standing.rank),
                decided_by=self._deciders.get(player),
                head_to_head=taken.get(player),
                sonneborn_berger=self._doubled_scores[player][0] / 2 if player in scored else None,
                buchholz=self._buchholz(player) if self._counts_opponents else None,
            )
            if rows and row.decided_by in ARBITRARY:
                row.shown_rank = rows[-1].shown_rank = f"{rows[-1].shown_rank.removesuffix('=')}="
            rows.append(row)
        return rows

    def rows_for(self, reader: str | None = None) -> list[Standing]:
        """At most 100 rows. Of a longer table, these are the first 99 and the reader's own."""
        standings = self.standings()
        if len(standings) <= MAX_STANDINGS:
            return list(standings.values())
        first = [row for row, _ in zip(standings.values(), range(MAX_STANDINGS), strict=False)]
        own = standings.get(reader or "")
        return first if own is None or own.rank < MAX_STANDINGS else [*first[:-1], own]

    def _remove_from_level(self, row: Row) -> None:
        level = self._level_of.pop(row.player_id)
        tied = self._levels[level]
        del tied[row.player_id]
        if not tied:
            del self._levels[level]
        self._among_tied.pop(level, None)
        self._standings = None

    def _add_to_level(self, row: Row) -> None:
        points = self._points[row.player_id] = row.points
        level = self._level_of[row.player_id] = points if self._payoff_range is UNSET else (row.payoff, points)
        self._levels.setdefault(level, {})[row.player_id] = None
        self._among_tied.pop(level, None)

    def _ordered(self, level: Level, tied: Iterable[str], order: tuple[Decider, ...]) -> list[str]:
        """Sort players of a level that are equal so far; the best comes first."""
        parts: dict[int, list[str]] = {}
        for player, value in self._values(order[0], level, tied):
            parts.setdefault(value, []).append(player)
        ordered: list[str] = []
        for value in sorted(parts, reverse=True):
            part = parts[value]
            if len(part) > 1:
                part = self._ordered(level, part, order[1:])
            if ordered:
                self._deciders[part[0]] = order[0]
            ordered += part
        return ordered

    def _values(self, name: Decider, level: Level, tied: Iterable[str]) -> list[tuple[str, int]]:
        """The value of a tie-break for each player. A higher value is better."""
        rows = self.rows
        match name:
            case "head_to_head":
                among = self._among_tied.get(level)
                if among is None:
                    players = self._levels[level].keys()
                    among = self._among_tied[level] = {
                        player: sum(map(own.__getitem__, own.keys() & players))
                        for player, own in [(player, rows[player].against) for player in players]
                    }
                return [(player, among[player]) for player in tied]
            case "sonneborn_berger":
                return [(player, self._score(player)) for player in tied]
            case "buchholz":
                return [(player, self._buchholz(player)) for player in tied]
            case "wins":
                return [(player, rows[player].wins) for player in tied]
            case "technical_losses":
                return [(player, -rows[player].technical_losses) for player in tied]
            case "lot":
                seed = self._lot_seed
                return [(player, 0 if seed is None else -tie_break_lot(seed, player)) for player in tied]
        return [(player, -int(player[1:])) for player in tied]

    def _buchholz(self, player: str) -> int:
        row, points = self.rows[player], self._points
        met = sum(points[opponent] * times for opponent, times in row.opponents.items())
        return met + row.unplayed * row.points

    def _score(self, player: str) -> int:
        """Twice the Sonneborn–Berger score: the points of beaten opponents, and half the points of drawn opponents.

        Two players meet at most twice, so the points against an opponent determine how many matches were won and drawn.
        """
        against = self.rows[player].against
        score, known = self._doubled_scores.get(player, (0, -1))
        if known < 0:
            points = self._points
            score = sum(
                [(won // WIN_POINTS * 2 + won % WIN_POINTS) * points[other] for other, won in against.items() if won]
            )
        else:
            for other, change in self._changes[known:]:
                if won := against.get(other):
                    score += (won // WIN_POINTS * 2 + won % WIN_POINTS) * change
        self._players_with_score.add(player)
        self._doubled_scores[player] = score, len(self._changes)
        return score


def tie_break_lot(seed_hex: str, player_id: str) -> int:
    """A player's lot in the table; the lowest lot is first. The lots of a format are ``formats.base.lot``."""
    return int(hashlib.sha256(f"{seed_hex}:lot:{player_id}".encode()).hexdigest(), 16)


def payoff_of(result: MatchResult, player: str, payoff_range: tuple[float, float]) -> float:
    """What a player won in a match. A result without payoffs counts as the lowest or the highest."""
    payoffs = result.details.payoffs
    if payoffs is UNSET or player not in payoffs or is_technical(result):
        low, high = payoff_range
        points = result.score[player]
        return high if points == WIN_POINTS else (low + high) / 2 if points else low
    return payoffs[player]


def is_technical(result: MatchResult) -> bool:
    return result.details.status == "TECHNICAL_LOSS"


def _standing(rank: int, row: Row, *, has_payoff: bool = False) -> Standing:
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
        payoff=row.payoff if has_payoff else UNSET,
    )
