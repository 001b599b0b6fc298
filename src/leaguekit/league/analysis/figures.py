"""The statistics of a league, and their significance.

They are the table with the changes of ranks, the cross table, points after each round, and ratings with their
intervals. Plain sentences say which of the results are statistically significant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import accumulate, islice
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import UNSET, Struct, structs

from leaguekit.games import find_game
from leaguekit.league.analysis.cycles import Cycles, find_cycles
from leaguekit.league.analysis.linear_algebra import CancelCheck, never_cancel
from leaguekit.league.analysis.ratings import Difference, Played, Ratings
from leaguekit.league.analysis.significance import Equality, champions_chance, equality
from leaguekit.league.records import Match
from leaguekit.league.standings import WIN_POINTS, PlacedRow
from leaguekit.league.state import League
from leaguekit.league.ties import MAX_TIES, describe_order, tie_sentences
from leaguekit.protocol.fields import LeagueState
from leaguekit.protocol.messages import MoveOrigins

# A result is significant if its probability among equal players is below this.
SIGNIFICANCE_LEVEL = 0.05

# The matches of each player, and the number of matches that are in it. To search a large schedule takes 50 ms.
_by_player: WeakKeyDictionary[League, tuple[int, dict[str, list[Match]]]] = WeakKeyDictionary()

# A win, a draw and a loss; a win and a loss without play.
Mark = Literal["1", "½", "0", "+", "-"]


class Meeting(NamedTuple):
    """A match from the point of view of one of its players."""

    match_id: str
    mark: Mark


class PlayerFigures(PlacedRow, kw_only=True):
    """A player: its row of the table, the ranks that it gained in the last round, and its rating.

    There is no movement in the first round. A player without a match that was played to its end has no rating.
    """

    movement: int | None = None
    rating: int | None = None
    rating_low: int | None = None
    rating_high: int | None = None
    rated_matches: int = 0
    # The shares of own moves, and of those for which an illegal move was stated at first, as the player states.
    own_rate: float | None = None
    illegal_rate: float | None = None


class Figures(Struct, kw_only=True, frozen=True):
    """All figures of a league, in the order of its table."""

    league_id: str
    # The title of the league, or its id.
    title: str
    game_type: str
    state: LeagueState
    round: int
    rounds: int
    matches: int
    played: int
    technical_losses: int
    lines: list[PlayerFigures]
    # By player and opponent. Pairs that have not met are not in it.
    cross_table: dict[str, dict[str, list[Meeting]]]
    # By player, after each round so far.
    points: dict[str, list[int]]
    # The test of equal strength, unless results decided who met whom; and the probability that one of equal players
    # gets as many points as the first.
    equality: Equality | None
    champions_chance: float | None
    # The advantage of side A in points of the ratings, and the cycles if there are more than chance explains.
    side_a: Difference | None
    cycles: Cycles | None
    # By player, as the player states, without a reason. A player that states nothing is not in it.
    move_origins: dict[str, MoveOrigins]
    sentences: list[str]
    # Of the sentences, the one that says how certain the first place is.
    certainty: str
    # How ties were broken, and the tie-breaks of the league.
    ties: list[str]
    order: str


def figures(league: League, check: CancelCheck = never_cancel, *, unrated: Collection[str] = ()) -> Figures:
    """The statistics of a league. See ``linear_algebra`` for ``check``.

    The matches ``unrated`` count in the table and not in the ratings and tests: those with replaced moves, if the
    operator wants that.
    """
    ended = [match for match in league.matches.values() if match.has_ended]
    decided = [(match.id, one) for match in ended if (one := _played(match)) is not None]
    played = [one for name, one in decided if name not in unrated]
    ratings = Ratings(played, check)
    lines = list(_lines(league, ended, ratings))
    equality_test = equality(played, check) if played and not league.draws_rounds else None
    # While a knockout is in progress, its table begins with the first of the seeding that is in play.
    is_led = bool(lines) and (not league.table.ranking or league.state == "LEAGUE_COMPLETED")
    first = lines[0].player_id if is_led and lines[0].player_id in ratings else None
    by_payoff = league.settings.payoff_range is not UNSET
    chance = None if first is None or by_payoff else champions_chance(played, first)
    side = ratings.side() if played else None
    cycles = find_cycles(played, check)
    luck = _luck_sentence(league)
    difference = list(_difference_sentence(league, equality_test, sum(line.rated_matches > 0 for line in lines)))
    champion = list(_champion_sentences(league, lines, chance, ratings))
    return Figures(
        league_id=league.settings.league_id,
        title=league.settings.title or league.settings.league_id,
        game_type=league.settings.game_type,
        state=league.state,
        round=league.current_round,
        rounds=len(league.rounds),
        matches=len(league.matches),
        played=len(ended),
        technical_losses=len(ended) - len(decided),
        lines=lines,
        cross_table=_cross_table(league, ended),
        points={name: points_after_rounds(league, name) for name in league.table.standings()},
        equality=equality_test,
        champions_chance=chance,
        side_a=side,
        cycles=cycles,
        move_origins={name: structs.replace(one, reason=UNSET) for name, one in league.move_origins.items()},
        sentences=[
            *filter(None, [luck, _payoff_sentence(league)]),
            *difference,
            *champion,
            *_side_sentence(side),
            *_cycle_sentence(cycles),
            *_technical_loss_sentence(len(ended) - len(decided)),
            *_unrated_sentence(len(decided) - len(played)),
            *_replaced_move_sentences(league),
        ],
        certainty=luck or (champion or difference)[0],
        ties=tie_sentences(lines, league.settings.tie_breaks, MAX_TIES),
        order=describe_order(league.settings),
    )


def _played(match: Match) -> Played | None:
    """A match as the ratings need it; None if it has not ended, or was decided without play."""
    outcome = match.outcome
    if outcome is None or outcome.status == "TECHNICAL_LOSS":
        return None
    scores = {WIN_POINTS: 1.0, 0: 0.0}
    return Played(match.a, match.b, scores.get(outcome.points_a, 0.5))


def _lines(league: League, ended: list[Match], ratings: Ratings) -> Iterator[PlayerFigures]:
    before = _ranks_before(league, ended)
    for row in league.table.placed_rows():
        name = row.player_id
        rating = ratings.of(name) if name in ratings else None
        origins = league.move_origins.get(name, MoveOrigins())
        yield PlayerFigures(
            **structs.asdict(row),
            movement=before[name] - row.rank if before else None,
            rating=None if rating is None else round(rating.points),
            rating_low=None if rating is None else round(rating.low),
            rating_high=None if rating is None else round(rating.high),
            rated_matches=0 if rating is None else rating.matches,
            own_rate=origins.own_rate,
            illegal_rate=origins.illegal_rate,
        )


def _ranks_before(league: League, ended: list[Match]) -> dict[str, int]:
    """The ranks before the latest round that has a result; empty if that was the first round, or the format ranks."""
    latest = max((match.round_id for match in ended), default=1)
    if latest == 1 or league.table.ranking:
        return {}
    table = league.new_table()
    for row in league.table.rows.values():
        table.add_player(row.player_id, row.display_name)
    for match in ended:
        if match.round_id < latest and (result := match.result) is not None:
            table.count(result)
    if league.draws_rounds:
        for round_ in league.rounds[: latest - 1]:
            table.count_without_game(league.idle_players(round_), round_.byes)
    return {name: row.rank for name, row in table.standings().items()}


def _cross_table(league: League, ended: list[Match]) -> dict[str, dict[str, list[Meeting]]]:
    cross: dict[str, dict[str, list[Meeting]]] = {name: {} for name in league.table.standings()}
    for match in ended:
        for player, opponent in (match.players, match.players[::-1]):
            cross[player].setdefault(opponent, []).append(Meeting(match.id, mark(match, player)))
    return cross


def mark(match: Match, player_id: str) -> Mark:
    """The result of a match that has ended, from the point of view of one of its players."""
    points = _points_in(match, player_id)
    if match.outcome is None or match.outcome.status == "TECHNICAL_LOSS":
        return "+" if points else "-"
    return "1" if points == WIN_POINTS else "½" if points else "0"


def _points_in(match: Match, player_id: str) -> int:
    """The points of a player from a match so far."""
    if match.outcome is None:
        return 0
    return match.outcome.points_a if player_id == match.a else match.outcome.points_b


def matches_of(league: League, player_id: str) -> list[Match]:
    """All matches of a player, in the order of the schedule."""
    count, index = _by_player.get(league, (0, dict[str, list[Match]]()))
    if count < len(league.matches):
        # A format that draws rounds adds matches, and none is ever removed.
        for match in islice(league.matches.values(), count, None):
            index.setdefault(match.a, []).append(match)
            index.setdefault(match.b, []).append(match)
        _by_player[league] = (len(league.matches), index)
    # A player that left before the start has no matches.
    return index.get(player_id, [])


def points_after_rounds(league: League, player_id: str) -> list[int]:
    """The points of a player after each round so far."""
    gained = [0] * league.current_round
    for match in matches_of(league, player_id):
        if match.round_id <= league.current_round:
            gained[match.round_id - 1] += _points_in(match, player_id)
    for round_ in league.rounds[: league.current_round] if league.draws_rounds else ():
        if round_.completed and player_id in round_.byes:
            gained[round_.id - 1] += WIN_POINTS
    return list(accumulate(gained))


def _luck_sentence(league: League) -> str:
    """The game's sentence about luck; empty if the game is not installed here."""
    game = find_game(league.settings.game_name)
    return "" if game is None else game.luck


def _payoff_sentence(league: League) -> str:
    """A sentence about what the tests and the ratings leave open; empty if the table is not ranked by payoff."""
    by_payoff = "Tests and ratings count wins, draws and losses. They say nothing about payoffs, which rank the table."
    return "" if league.settings.payoff_range is UNSET else by_payoff


def _difference_sentence(league: League, found: Equality | None, players: int) -> Iterator[str]:
    if league.draws_rounds and players:
        yield (
            "Who meets whom depends on results here. So there is no test of all players against chance, and if they "
            "are nearly equal, fewer than 95 % of the intervals contain the true ratings."
        )
        return
    if found is None:
        yield "No rated match has been played yet, so there is nothing to compare with chance."
        return
    alike = f"{players} players who are all alike would differ as much {_frequency(found.chance)}."
    if found.chance < SIGNIFICANCE_LEVEL:
        yield f"The players differ by more than chance explains: {alike}"
    else:
        yield f"The players differ by no more than chance explains: {alike}"


def _champion_sentences(
    league: League, lines: list[PlayerFigures], chance: float | None, ratings: Ratings
) -> Iterator[str]:
    if chance is None:
        return
    is_over = league.state == "LEAGUE_COMPLETED"
    if not is_over and lines[0].shown_rank == lines[1].shown_rank:
        return
    first = lines[0].player_id
    leader = f"the first place of the {'champion' if is_over else 'leader'}, {first}"
    alike = f"among players who are all alike, one does so well {_frequency(chance, 'up to ')}."
    yield f"Chance alone {'hardly explains' if chance < SIGNIFICANCE_LEVEL else 'may explain'} {leader}: {alike}"
    if _luck_sentence(league):
        return
    second = lines[1].player_id
    if second in ratings:
        _, low, high = (round(value) for value in ratings.between(first, second))
        # As the table shows them. The difference of unrounded ratings may be another by 1.
        points = (lines[0].rating or 0) - (lines[1].rating or 0)
        conclusion = "is the stronger of the two" if low > 0 else "may be the weaker of the two"
        apart = f"{points} points above" if points > 0 else f"{-points} points below"
        rated = apart if points else "as high as"
        interval = f"95 %: {signed(low)} to {signed(high)}"
        yield f"{first} is rated {rated} the second, {second} ({interval}), and {conclusion}."


def _side_sentence(side: Difference | None) -> Iterator[str]:
    if side is not None:
        points, low, high = map(round, side)
        means = (
            "an advantage" if side.low > 0 else "a disadvantage" if side.high < 0 else "no more than chance explains"
        )
        interval = f"95 %: {signed(low)} to {signed(high)}"
        yield f"Side A was worth {signed(points)} points of rating ({interval}), {means}; the ratings allow for it."


def _cycle_sentence(cycles: Cycles | None) -> Iterator[str]:
    if cycles is not None:
        (first, second, third), found, expected = cycles
        groups = "1 group of three has" if found == 1 else f"{found:,} groups of three have"
        yield (
            f"Results go in circles more often than chance explains: {first} beat {second}, {second} beat {third}, and "
            f"{third} beat {first}. {groups} such a circle, where among equal players about {expected:.1f} would. "
            "No rating can describe this."
        )


def signed(points: int) -> str:
    """A rating or a difference of ratings as people write it: "+94", "0", "−12"."""
    return f"{points:+}".replace("-", "−") if points else "0"


def _technical_loss_sentence(count: int) -> Iterator[str]:
    if count:
        matches = "1 match was" if count == 1 else f"{count} matches were"
        yield f"{matches} decided by technical losses: they count in the table, but not in ratings."


def _unrated_sentence(count: int) -> Iterator[str]:
    if count:
        matches = "1 match has replaced moves and is" if count == 1 else f"{count} matches have replaced moves and are"
        yield f"{matches} not in the ratings."


def _replaced_move_sentences(league: League) -> Iterator[str]:
    for player, origins in league.move_origins.items():
        if replaced := structs.replace(origins, reason=UNSET).describe_replaced(player):
            yield f"{replaced}, by its own statement."


def _frequency(chance: float, at_most: str = "") -> str:
    """A probability in words. With ``at_most`` it is an upper bound, and the true one may be far below."""
    if chance > 0.99:
        return "perhaps in every such league" if at_most else "in nearly every such league"
    if chance < 0.001:
        return "in fewer than 1 of 1,000 such leagues"
    if chance < 0.01:
        return f"in {at_most}{round(1000 * chance)} of 1,000 such leagues"
    return f"in {at_most}{round(100 * chance)} of 100 such leagues"
