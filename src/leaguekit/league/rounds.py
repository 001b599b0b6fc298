"""The course of a league: it begins, is started, goes from round to round, and hands its matches to referees."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import cycle

from leaguekit.league.events import (
    Event,
    LeagueCompleted,
    LeagueCreated,
    LeagueStarted,
    MatchAssigned,
    MatchForfeited,
    RegistrationsClosed,
    RoundAnnounced,
    RoundCompleted,
)
from leaguekit.league.records import Match, Round
from leaguekit.league.schedule import MAX_MATCHES, match_count, round_robin
from leaguekit.league.settings import Settings
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError


def create(settings: Settings, at: str) -> list[Event]:
    """Begin a league; the events go to a new ``League()``."""
    return [LeagueCreated(at=at, settings=settings)]


def start(league: League, at: str, *, by_operator: bool = False, max_matches: int = MAX_MATCHES) -> list[Event]:
    """Close the registrations and make the schedule, in the order of the players' ids.

    A league that would have more than ``max_matches`` is not started.
    """
    if not league.is_open:
        raise ProtocolError("E058", "The league has been started already.")
    players = sorted(league.table.rows, key=lambda player: int(player[1:]))
    if len(players) < 2 or not available_referees(league):
        raise ProtocolError(
            "E030",
            "A league needs two players and a referee; this one has "
            f"{len(players)} and {len(available_referees(league))}.",
        )
    count, most = match_count(len(players), league.settings.rounds), min(max_matches, MAX_MATCHES)
    if count > most:
        raise ProtocolError("E058", _too_many(len(players), count, most))
    rounds = round_robin(players, league.settings.rounds)
    return [RegistrationsClosed(at=at), LeagueStarted(at=at, rounds=rounds, by_operator=by_operator)]


def _too_many(players: int, matches: int, most: int) -> str:
    sentence = f"{players:,} players would have {matches:,} matches, and at most {most:,} are allowed"
    remedy = "withdraw players (`league withdraw`)" if most == MAX_MATCHES else "confirm that number"
    return f"{sentence}: {remedy}, and start again."


def announce_round(league: League, at: str) -> list[Event]:
    """Open the next round, if it is time: the league runs, the round before is over, a referee is there.

    Matches of players that have left are ruled at once; a round of nothing else is over at once.
    """
    if league.state != "RUNNING_LEAGUE" or league.paused or league.round_in_play:
        return []
    if league.current_round == len(league.rounds) or not available_referees(league):
        return []
    round_ = league.rounds[league.current_round]
    matches = [league.matches[name] for name in round_.matches]
    forfeits = [ruling for match in matches if (ruling := _forfeit(league, match, at)) is not None]
    turns = cycle(referee_rotation(league))
    return [
        RoundAnnounced(at=at, round_id=round_.id, referees=[next(turns) for _ in matches]),
        *forfeits,
        *closing(league, round_, [league.matches[ruling.match_id] for ruling in forfeits], at),
    ]


def assign(league: League, at: str, resting: Container[str] = ()) -> list[Event]:
    """Give the matches that wait to referees that have room, each to the one planned for it if that has.

    Nobody is given two matches at once, although a match that is played again may meet a later round. A referee that
    begins on the announcement has all matches that were announced for it, whatever else is the case. Matches in
    ``resting`` are left out.
    """
    if league.paused or not league.waiting:
        return []
    living = len(available_referees(league))
    free = {referee.id: referee.free for referee in league.referees.values() if referee.free}
    on_announcement = {one.id for one in league.referees.values() if one.shows_own_token and not one.lost}
    events: list[Event] = []
    busy: set[str] = set()
    for name in league.waiting:
        if name in resting:
            continue
        match = league.matches[name]
        if match.planned in on_announcement and not match.attempt:
            referee = str(match.planned)
        elif not free:
            if not on_announcement:
                break
            continue
        elif busy.intersection(match.players) or any(league.players[player].playing for player in match.players):
            continue
        elif living > 1 and list(free) == [match.referee_id]:
            # Its last attempt came to nothing there, or is played again: another referee will have room.
            continue
        else:
            referee = _referee_for(match, free, on_announcement)
        busy.update(match.players)
        events.append(MatchAssigned(at=at, match_id=name, referee_id=referee, attempt=match.attempt + 1))
        free[referee] = free.get(referee, 0) - 1
        if free[referee] <= 0:
            del free[referee]
    return events


def _referee_for(match: Match, free: dict[str, int], on_announcement: set[str]) -> str:
    """The planned referee if it has room; after an attempt that came to nothing, rather another than the same.

    One that begins on the announcement is taken last, for its players have to be informed first.
    """
    if match.planned in free and match.planned != match.referee_id:
        return str(match.planned)
    others = [one for one in free if one != match.referee_id]
    return max(others or free, key=lambda one: (one not in on_announcement, free[one]))


def available_referees(league: League) -> list[str]:
    return [referee.id for referee in league.referees.values() if not referee.lost]


def referee_rotation(league: League) -> list[str]:
    """The order in which matches fall to referees, over and over: each as often as it takes matches at once."""
    referees = [league.referees[name] for name in available_referees(league)] or list(league.referees.values())
    turns = sorted((turn / one.capacity, place) for place, one in enumerate(referees) for turn in range(one.capacity))
    return [referees[place].id for _, place in turns]


def _forfeit(league: League, match: Match, at: str) -> MatchForfeited | None:
    """The ruling on a match of players that have left, None if neither has; of two causes the graver names it."""
    gone = [player for name in match.players if (player := league.players[name]).out is not None]
    if not gone:
        return None
    return MatchForfeited(
        at=at,
        match_id=match.id,
        losers=[player.id for player in gone],
        ruling="DISQUALIFICATION" if any(player.out == "DISQUALIFICATION" for player in gone) else "WITHDRAWAL",
        reason="; ".join(player.out_reason for player in gone),
    )


def closing(league: League, round_: Round, ended: Sequence[Match], at: str) -> list[Event]:
    """What follows when these matches end: the round's end if they were its last, the league's if there are no more."""
    events: list[Event] = []
    if not round_.completed and round_.remaining == sum(match.round_id == round_.id for match in ended):
        events.append(RoundCompleted(at=at, round_id=round_.id))
    if league.outstanding == len(ended):
        events.append(LeagueCompleted(at=at))
    return events
