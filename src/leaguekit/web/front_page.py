"""What the front page says about matches: the form of players, what comes next, and what to look at when it is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from leaguekit.league.analysis.figures import mark, matches_of
from leaguekit.league.pairings import stages, view_of
from leaguekit.league.records import Match
from leaguekit.league.state import League
from leaguekit.web.api_types import Highlight
from leaguekit.web.rows import match_row, winner_of

MAX_FORM = 5
MAX_UPCOMING = 6
# A surprise is looked for among the matches of this number of players, or of the upper half of the table.
MAX_FAVOURITES = 10
# Leagues of more players have a report by `league report` only: to make it takes long, and it is large.
MAX_REPORTED_PLAYERS = 100


class RecentResults:
    """The marks of each player's last matches. They are made when they are asked for."""

    def __init__(self, league: League) -> None:
        self._league = league
        self._made: dict[str, str] = {}

    def forget(self, players: Iterable[str]) -> None:
        """A match of these players has another result than before."""
        for player in players:
            self._made.pop(player, None)

    def of(self, player: str) -> str:
        if player not in self._made:
            ended = [match for match in matches_of(self._league, player) if match.has_ended]
            self._made[player] = "".join(mark(match, player) for match in ended[-MAX_FORM:])
        return self._made[player]


def rank_sum(league: League, match: Match) -> int:
    """The sum of the ranks of both players. The lower it is, the more spectators want to see the match."""
    table = league.table.standings()
    return sum(table[player].rank for player in match.players if player in table)


def upcoming_matches(league: League) -> list[Match]:
    """The matches that begin next: those that are left of this round or, if none is, those of the next."""
    for round_ in islice(league.rounds, max(0, league.current_round - 1), league.current_round + 1):
        matches = [league.matches[name] for name in round_.matches]
        left = [match for match in matches if not match.has_ended and not match.in_play]
        if left:
            return sorted(left, key=lambda match: rank_sum(league, match))[:MAX_UPCOMING]
    return []


def highlights(league: League) -> list[Highlight]:
    """The matches of a league that is over which are worth a look: the decisive one, and the greatest surprise."""
    found = {match.id: reason for match, reason in (*_surprise(league), *_decisive(league))}
    return [Highlight(reason=found[name], match=match_row(league, league.matches[name])) for name in reversed(found)]


def _decisive(league: League) -> Iterator[tuple[Match, str]]:
    """The final of a bracket. Without a bracket, the last match of the first two of the table."""
    if view_of(league) == "bracket":
        reason = "The final"
        met = [match for place in stages(league)[-1].pairings if not place.title for match in place.matches]
    else:
        reason = "The first two of the table"
        first, second = islice(league.table.standings(), 2)
        met = [match for match in matches_of(league, first) if second in match.players]
    if played := [match for match in met if _was_played(match)]:
        yield played[-1], reason


def _surprise(league: League) -> Iterator[tuple[Match, str]]:
    """The match that one of the best players lost to the player that is furthest behind it in the final table."""
    table = league.table.standings()
    lost = [
        (table[winner].rank - table[favourite].rank, match, favourite, winner)
        for favourite in islice(table, min(MAX_FAVOURITES, (len(table) + 1) // 2))
        for match in matches_of(league, favourite)
        if _was_played(match) and (winner := winner_of(match)) is not None and winner != favourite
    ]
    if lost and (most := max(lost, key=lambda one: one[0]))[0] > 0:
        _, match, favourite, winner = most
        ranks = f"number {table[winner].rank} of the table, beat {favourite}, number {table[favourite].rank}"
        yield match, f"The greatest surprise: {winner}, {ranks}"


def _was_played(match: Match) -> bool:
    return match.outcome is not None and match.outcome.status != "TECHNICAL_LOSS"


def has_report(league: League) -> bool:
    """Whether the dashboard serves the report of the league."""
    return league.state == "LEAGUE_COMPLETED" and len(league.table.rows) <= MAX_REPORTED_PLAYERS
