"""Commands that create and start a league, announce its rounds, and assign its matches to referees."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import cycle

from leaguekit.formats import ScheduledFormat, parse_format
from leaguekit.league import events as e
from leaguekit.league.commands.tournaments import seed_players
from leaguekit.league.records import Match, Round
from leaguekit.league.settings import Settings, format_fault
from leaguekit.league.state import League, id_order
from leaguekit.protocol.errors import ProtocolError

# A start with this number of matches takes seconds, and 400 MB.
MAX_MATCHES = 1_000_000


def match_count(settings: Settings, players: int) -> int:
    """The number of matches that are known at the start; 0 if the format draws each round."""
    made = settings.known_format
    return made.match_count(players) if isinstance(made, ScheduledFormat) else 0


def start_fault(settings: Settings, players: int) -> str | None:
    """Why the format does not let a league with this number of players start; None if it does."""
    made = settings.known_format
    return format_fault(settings) if made is None else made.player_count_error(players)


def create(settings: Settings, at: str) -> list[e.Event]:
    """Create a league. Apply the events to a new ``League()``."""
    return [e.LeagueCreated(at=at, settings=settings)]


def start(league: League, at: str, *, by_operator: bool = False, max_matches: int = MAX_MATCHES) -> list[e.Event]:
    """Close the registrations, seed the players, and create the schedule if the format has one.

    Raises ProtocolError if the league would have more than ``max_matches``.
    """
    if not league.is_open:
        raise ProtocolError("E058", "The league has been started already.")
    players = seed_players(league.settings, {player: row.display_name for player, row in league.table.rows.items()})
    if len(players) < 2 or not available_referees(league):
        raise ProtocolError(
            "E030",
            "A league needs two players and a referee; this one has "
            f"{len(players)} and {len(available_referees(league))}.",
        )
    count, limit = match_count(league.settings, len(players)), min(max_matches, MAX_MATCHES)
    if count > limit:
        raise ProtocolError("E058", _too_many_matches(len(players), count, limit))
    if (fault := start_fault(league.settings, len(players))) is not None:
        raise ProtocolError("E058", f"The league cannot start: {fault}.")
    rounds = parse_format(league.settings.format_text).full_schedule(players) or []
    seeding = [] if players == sorted(players, key=id_order) else players
    started = e.LeagueStarted(at=at, rounds=rounds, by_operator=by_operator, seeding=seeding)
    return [e.RegistrationsClosed(at=at), started]


def _too_many_matches(players: int, matches: int, limit: int) -> str:
    sentence = f"{players:,} players would have {matches:,} matches, and at most {limit:,} are allowed"
    remedy = "withdraw players (`league withdraw`)" if limit == MAX_MATCHES else "confirm that number"
    return f"{sentence}: {remedy}, and start again."


def announce_round(league: League, at: str) -> list[e.Event]:
    """Announce the next round if the league is running, the previous round is over, and a referee is available.

    Matches of players that have left the league are forfeited at once. A round of only such matches ends at once.
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
        e.RoundAnnounced(at=at, round_id=round_.id, referees=[next(turns) for _ in matches]),
        *forfeits,
        *completion_events(league, round_, [league.matches[ruling.match_id] for ruling in forfeits], at),
    ]


def assign(league: League, at: str, resting: Container[str] = ()) -> list[e.Event]:
    """Assign the waiting matches to referees that have free capacity, preferably to the planned referee of each.

    A player is in one match at a time, although a match that is played again may coincide with a later round. A referee
    that begins on the announcement gets all matches that were announced for it, in any case. Matches in ``resting`` are
    not assigned.
    """
    if league.paused or not league.waiting:
        return []
    referee_count = len(available_referees(league))
    free = {referee.id: referee.free for referee in league.referees.values() if referee.free}
    on_announcement = {
        referee.id for referee in league.referees.values() if referee.shows_own_token and not referee.lost
    }
    events: list[e.Event] = []
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
        elif referee_count > 1 and list(free) == [match.referee_id]:
            # This referee had the previous attempt. Wait for another referee.
            continue
        else:
            referee = _referee_for(match, free, on_announcement)
        busy.update(match.players)
        events.append(e.MatchAssigned(at=at, match_id=name, referee_id=referee, attempt=match.attempt + 1))
        free[referee] = free.get(referee, 0) - 1
        if free[referee] <= 0:
            del free[referee]
    return events


def _referee_for(match: Match, free: dict[str, int], on_announcement: set[str]) -> str:
    """The planned referee if it has free capacity; after a void attempt, preferably another referee.

    A referee that begins on the announcement is the last choice, because its players have to be informed first.
    """
    if match.planned in free and match.planned != match.referee_id:
        return str(match.planned)
    others = [one for one in free if one != match.referee_id]
    return max(others or free, key=lambda one: (one not in on_announcement, free[one]))


def available_referees(league: League) -> list[str]:
    return [referee.id for referee in league.referees.values() if referee.lost_since is None]


def referee_rotation(league: League) -> list[str]:
    """The cyclic order in which matches are planned for referees. Each comes as often as its capacity."""
    referees = [league.referees[name] for name in available_referees(league)] or list(league.referees.values())
    turns = sorted(
        (turn / referee.capacity, index) for index, referee in enumerate(referees) for turn in range(referee.capacity)
    )
    return [referees[index].id for _, index in turns]


def _forfeit(league: League, match: Match, at: str) -> e.MatchForfeited | None:
    """The forfeit of a match whose players have left the league; None if neither has. The graver cause names it."""
    departed = [player for name in match.players if (player := league.players[name]).out is not None]
    if not departed:
        return None
    return e.MatchForfeited(
        at=at,
        match_id=match.id,
        losers=[player.id for player in departed],
        ruling="DISQUALIFICATION" if any(player.out == "DISQUALIFICATION" for player in departed) else "WITHDRAWAL",
        reason="; ".join(player.out_reason for player in departed),
    )


def completion_events(league: League, round_: Round, ended: Sequence[Match], at: str) -> list[e.Event]:
    """RoundCompleted if these matches were the last of the round, and LeagueCompleted if they were the last of all.

    If the format draws the rounds, it also decides on the end of the league (``tournaments.record_end``).
    """
    events: list[e.Event] = []
    if not round_.completed and round_.remaining == sum(match.round_id == round_.id for match in ended):
        events.append(e.RoundCompleted(at=at, round_id=round_.id))
    if league.outstanding == len(ended) and not league.draws_rounds:
        events.append(e.LeagueCompleted(at=at))
    return events
