"""Who meets whom, as pages, the terminal and the report show it.

It is the stages of a bracket, the matches of each challenger of a gauntlet, or the round drawn last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from leaguekit.formats.base import BracketPlace, BracketStage
from leaguekit.league.analysis.figures import Mark, mark
from leaguekit.league.commands.tournaments import tournament_so_far
from leaguekit.league.records import Match
from leaguekit.league.standings import WIN_POINTS
from leaguekit.league.state import League

_IN_WORDS: dict[Mark, str] = {"1": "won", "+": "won", "½": "drawn", "0": "lost", "-": "lost"}
View = Literal["bracket", "challengers", "rounds"]


class Pairing(NamedTuple):
    """Two players that meet, or a player without an opponent. A player that is not known yet is None."""

    a: str | None
    b: str | None
    matches: list[Match]
    winner: str | None = None
    by_lot: bool = False
    # Why ``a`` has no opponent.
    alone: Literal["bye", "rests"] | None = None
    title: str = ""
    # The points of both before the round; only in rounds.
    points: tuple[int, int] | None = None

    def marks(self, match: Match) -> tuple[Mark, Mark] | None:
        """The result of one of its matches for ``a`` and for ``b``; None if it has not ended."""
        if not match.has_ended or self.a is None or self.b is None:
            return None
        return mark(match, self.a), mark(match, self.b)


class Stage(NamedTuple):
    """A stage of a bracket, the pairings of a challenger, or a round."""

    number: int
    label: str
    pairings: list[Pairing]


def view_of(league: League) -> View:
    if _bracket(league):
        return "bracket"
    return "challengers" if _challengers(league) else "rounds"


def advancement(league: League) -> str:
    """A sentence about how a player advances, or what decides. It has ids of players if the format names them."""
    made = league.settings.known_format
    return made.describe(league.seeding) if made is not None and league.seeding else league.settings.advancement


def stages(league: League) -> list[Stage]:
    """The stages of the bracket, or the pairings of each challenger.

    Without either, it is the round drawn last, or nothing if all rounds are known at the start.
    """
    if bracket := _bracket(league):
        met: dict[frozenset[str | None], list[Match]] = {}
        for match in league.matches.values():
            met.setdefault(frozenset(match.players), []).append(match)
        return [
            Stage(number, stage.label, [_in_bracket(place, met) for place in stage.places])
            for number, stage in enumerate(bracket, start=1)
        ]
    if challengers := _challengers(league):
        return [_of_challenger(league, player, number) for number, player in enumerate(challengers, start=1)]
    return [round_stage(league, len(league.rounds))] if league.draws_rounds and league.rounds else []


def visible_stages(league: League, limit: int) -> list[Stage]:
    """The part of the stages that a front page shows.

    Of a bracket these are the stages with at most ``limit`` pairings. Of a round there are at most ``limit`` pairings,
    and at most ``limit`` players without an opponent. All challengers together have four times as many.
    """
    found, view = stages(league), view_of(league)
    if view == "bracket":
        return [stage for stage in found if len(stage.pairings) <= limit]
    if view == "challengers":
        limit = 4 * limit // len(found)
    return [stage._replace(pairings=_limited(stage.pairings, limit)) for stage in found]


def _limited(pairings: list[Pairing], limit: int) -> list[Pairing]:
    met = [pairing for pairing in pairings if pairing.alone is None]
    alone = [pairing for pairing in pairings if pairing.alone is not None]
    return met[:limit] + alone[:limit]


def round_stage(league: League, round_id: int) -> Stage:
    """A round with the points of the players before it, the leaders first; then the players without an opponent."""
    round_ = league.rounds[round_id - 1]
    points = points_before(league, round_id)
    pairings = [_in_round(league.matches[name], points) for name in round_.matches]
    pairings.sort(key=lambda pairing: sorted(pairing.points or (), reverse=True), reverse=True)
    for player in league.idle_players(round_):
        if player in round_.byes:
            pairings.append(Pairing(player, None, [], alone="bye", points=(points[player], 0)))
        elif league.players[player].out is None:
            pairings.append(Pairing(player, None, [], alone="rests", points=(points[player], 0)))
    return Stage(round_id, round_.label or f"Round {round_id}", pairings)


def points_before(league: League, round_id: int) -> Counter[str]:
    """The points of the players before a round."""
    points: Counter[str] = Counter()
    for round_ in league.rounds[: round_id - 1]:
        points.update(dict.fromkeys(round_.byes, WIN_POINTS))
        for match in (league.matches[name] for name in round_.matches):
            if match.outcome is not None:
                points[match.a] += match.outcome.points_a
                points[match.b] += match.outcome.points_b
    return points


def _bracket(league: League) -> list[BracketStage]:
    made = league.settings.known_format
    return [] if made is None or not league.draws_rounds else made.bracket(tournament_so_far(league))


def _challengers(league: League) -> Sequence[str]:
    made = league.settings.known_format
    return [] if made is None else made.challengers_of(league.seeding)


def _of_challenger(league: League, challenger: str, number: int) -> Stage:
    """The matches of a challenger by opponent, in the order of the schedule. The challenger is ``a``."""
    met: dict[str, list[Match]] = {}
    for match in league.matches.values():
        if challenger in match.players:
            met.setdefault(match.b if match.a == challenger else match.a, []).append(match)
    label = f"{challenger} against everybody"
    return Stage(number, label, [Pairing(challenger, other, matches) for other, matches in met.items()])


def tally(marks: Iterable[Mark]) -> str:
    """How many matches with these marks were won, drawn and lost, in words."""
    counts = Counter(_IN_WORDS[one] for one in marks)
    return ", ".join(f"{counts[word]} {word}" for word in ("won", "drawn", "lost"))


def _in_bracket(place: BracketPlace, met: dict[frozenset[str | None], list[Match]]) -> Pairing:
    matches = met.get(frozenset((place.a, place.b)), [])
    alone: Literal["rests"] | None = "rests" if place.rests else None
    return Pairing(place.a, place.b, matches, place.winner, place.by_lot, alone, place.title)


def _in_round(match: Match, points: Counter[str]) -> Pairing:
    winner = None
    if match.outcome is not None and WIN_POINTS in (match.outcome.points_a, match.outcome.points_b):
        winner = match.a if match.outcome.points_a == WIN_POINTS else match.b
    return Pairing(match.a, match.b, [match], winner, points=(points[match.a], points[match.b]))
