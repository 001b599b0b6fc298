"""A league as the tournament that its format sees, and the commands that draw its rounds.

The fold never calls a format. The manager draws in the background, and records the round if nothing that the draw
depends on has changed in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leaguekit.formats import Format, FormatError
from leaguekit.formats.base import Ended, GameResult, NextRound, PairingEngine, PastRound, Tournament, lot
from leaguekit.formats.swiss import has_a_first
from leaguekit.formats.trf import PlayerInfo, write
from leaguekit.league import events as e
from leaguekit.league.records import Match, Round
from leaguekit.league.settings import Settings
from leaguekit.league.state import League, id_order
from leaguekit.protocol.messages import MatchResult


def seed_players(settings: Settings, names: Mapping[str, str]) -> list[str]:
    """The players in the order of the seeding. ``names`` has their display names by id.

    Players that ``seeds`` does not name come after the others, as they registered.
    """
    players = sorted(names, key=id_order)
    if settings.seeding == "lot":
        seed = bytes.fromhex(settings.seed_hex or "")
        return sorted(players, key=lambda player: lot(seed, "seeding", player))
    return sorted(players, key=lambda player: settings.seed_key(names[player]))


def tournament(league: League, corrected: Mapping[str, MatchResult | None] | None = None) -> Tournament:
    """The completed rounds of a league, with other results for some matches if ``corrected`` has them."""
    return _tournament(league, (one for one in league.rounds if one.completed and not one.remaining), corrected or {})


def tournament_so_far(league: League) -> Tournament:
    """The same with all games that have ended, also those of a round that is being played."""
    return _tournament(league, league.rounds, {})


def _tournament(league: League, rounds: Iterable[Round], corrected: Mapping[str, MatchResult | None]) -> Tournament:
    return Tournament(
        tuple(league.seeding),
        tuple(_past_round(league, round_, corrected) for round_ in rounds),
        bytes.fromhex(league.settings.seed_hex or ""),
        frozenset(name for name in league.seeding if league.players[name].out is not None),
        starters=league.starters,
    )


def _past_round(league: League, round_: Round, corrected: Mapping[str, MatchResult | None]) -> PastRound:
    matches = (league.matches[name] for name in round_.matches)
    games = (_game(match, corrected.get(match.id, match.result)) for match in matches)
    return PastRound(tuple(game for game in games if game is not None), dict.fromkeys(round_.byes, "bye"), round_.label)


def _game(match: Match, result: MatchResult | None) -> GameResult | None:
    """A technical loss is a forfeit: the two have not met."""
    if result is None:
        return None
    points = (result.score[match.a], result.score[match.b])
    return GameResult(match.a, match.b, points, forfeit=result.details.status == "TECHNICAL_LOSS")


def needs_draw(league: League) -> bool:
    """Whether the next thing to happen is that the format draws a round, or ends the league."""
    return (
        league.draws_rounds
        and league.state == "RUNNING_LEAGUE"
        and not league.paused
        and not league.outstanding
        and not league.round_in_play
        and league.current_round == len(league.rounds)
    )


def has_next_round(league: League) -> bool:
    """Whether another round follows when the rounds so far are over."""
    made = league.settings.known_format
    return league.draws_rounds and made is not None and made.ended(tournament(league)) is None


def draws_more(league: League) -> bool:
    """Whether more rounds may be drawn, so that the number of matches is not known yet."""
    made = league.settings.known_format
    if not league.draws_rounds or made is None or league.state != "RUNNING_LEAGUE":
        return False
    total = made.total_rounds(league.starters)
    return total is None or len(league.rounds) < total


def total_rounds(league: League) -> int:
    """The number of rounds, or of those drawn so far if it is not known."""
    if league.draws_rounds and league.state == "RUNNING_LEAGUE" and (made := league.settings.known_format) is not None:
        return made.total_rounds(league.starters) or len(league.rounds)
    return len(league.rounds)


def describe_round(league: League, number: int) -> str:
    """A round as a text: ``round 2 of 7``, or ``round 2, Semi-finals`` where the number of rounds is not known."""
    made = league.settings.known_format
    is_known = not league.draws_rounds or (made is not None and made.total_rounds(league.starters) is not None)
    label = league.rounds[number - 1].label if number else ""
    text = f"round {number}{f' of {total_rounds(league)}' if is_known else ''}"
    return text if label.lower() in ("", f"round {number}") else f"{text}, {label}"


def late_player_fault(league: League) -> str | None:
    """Why no player can be added to a league that has started; None if one can. It is paired from the next draw on."""
    made = league.settings.known_format
    if made is None or not made.takes_late_players:
        return f"the format {league.settings.format_text} takes nobody after the start"
    total = made.total_rounds(league.starters)
    if league.state == "LEAGUE_COMPLETED" or (total is not None and len(league.rounds) >= total):
        return "the last round is drawn"
    return made.player_count_error(len(league.table.rows) + 1)


def tournament_report(league: League) -> str:
    """The completed rounds as a tournament report file (TRF). The players are in the order of the seeding.

    Raises FormatError before the start.
    """
    if not league.seeding:
        raise FormatError("the league has not started: a tournament report file has its players by seeding")
    so_far, settings = tournament(league), league.settings
    ranks = league.table.standings()
    ratings = settings.seeds or {} if settings.seeding == "rating" else {}
    players = {}
    for name in league.seeding:
        display_name = ranks[name].display_name
        rating = ratings.get(display_name)
        players[name] = PlayerInfo(display_name, None if rating is None else round(rating), ranks[name].rank)
    total = max(total_rounds(league), len(so_far.rounds))
    return write(so_far, total, a_first=has_a_first(so_far), title=settings.full_name, players=players)


def drawn_by(made: Format, engine: PairingEngine | None) -> str:
    """What draws the rounds, with versions."""
    own = f"{made.name} {made.version}"
    return f"{own}, {engine.version}" if made.needs_engine and engine is not None else own


def record_draw(league: League, drawn: NextRound, by: str, at: str) -> list[e.Event]:
    """The next round, as the format drew it."""
    return [
        e.RoundDrawn(
            at=at,
            round_id=len(league.rounds) + 1,
            pairs=drawn.pairs,
            byes=drawn.byes,
            label=drawn.label,
            engine=by,
            ranking=drawn.ranking,
        )
    ]


def record_end(ended: Ended, at: str) -> list[e.Event]:
    """The end of a league, as the format decided."""
    return [e.LeagueCompleted(at=at, reason=ended.reason, ranking=ended.ranking)]


def objection(league: League, match: Match, result: MatchResult | None) -> str | None:
    """Why a result may not be changed; None if it may. A later round may depend on it. None annuls the result."""
    made = league.settings.known_format
    is_settled = match.round_id < len(league.rounds) or league.state == "LEAGUE_COMPLETED"
    if not league.draws_rounds or made is None or not is_settled:
        return None
    return made.objection(tournament(league), tournament(league, {match.id: result}))
