"""The messages that the manager sends to all agents, made from the state of the league."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET

from leaguekit.league import queries
from leaguekit.league.state import League
from leaguekit.manager.broadcasts import EncodedMessage, encode_message
from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import MANAGER

# The maximum number of matches in an announcement to players.
MAX_ANNOUNCED = 100


def round_announcement(league: League, round_id: int, match_ids: list[str], now: datetime) -> EncodedMessage:
    """The announcement of a round, or of some of its matches, for referees."""
    return encode_message(_announcement(league, round_id, match_ids, now, to_referees=True))


def round_announcements(
    league: League, round_id: int, match_ids: list[str], now: datetime
) -> dict[str, EncodedMessage]:
    """The same for each player. Of more than 100 matches, these are the first 99 and the player's own."""
    message = _announcement(league, round_id, match_ids, now, to_referees=False)
    matches, message.matches = message.matches, message.matches[:MAX_ANNOUNCED]
    messages = dict.fromkeys(league.players, encode_message(message))
    if len(matches) > MAX_ANNOUNCED:
        for own in matches[MAX_ANNOUNCED - 1 :]:
            message.matches = [*matches[: MAX_ANNOUNCED - 1], own]
            messages[own.player_A_id] = messages[own.player_B_id] = encode_message(message)
    return messages


def _announcement(
    league: League, round_id: int, match_ids: list[str], now: datetime, *, to_referees: bool
) -> m.RoundAnnouncement:
    return m.RoundAnnouncement(
        **m.envelope(MANAGER, now, f"conv-round-{round_id}-announce"),
        league_id=league.settings.league_id,
        round_id=round_id,
        matches=queries.announced_matches(league, match_ids, to_referees=to_referees),
        label=league.rounds[round_id - 1].label or UNSET,
        byes=league.rounds[round_id - 1].byes or UNSET,
        profile="open" if to_referees and league.settings.profile == "open" else UNSET,
    )


def round_completed(league: League, round_id: int, now: datetime) -> EncodedMessage:
    summary = queries.round_summary(league, round_id)
    return encode_message(
        m.RoundCompleted(
            **m.envelope(MANAGER, now, f"conv-round-{round_id}-complete"),
            league_id=league.settings.league_id,
            round_id=round_id,
            matches_completed=summary.total_matches,
            matches_played=summary.total_matches,
            next_round_id=queries.next_round_id(league, round_id),
            summary=summary,
        )
    )


def standings_updates(league: League, round_id: int, now: datetime) -> dict[str, EncodedMessage]:
    """The update for each player. A player that is not among the first rows of the table also gets its own row."""
    update = m.LeagueStandingsUpdate(
        **m.envelope(MANAGER, now, f"conv-round-{round_id}-standings"),
        league_id=league.settings.league_id,
        round_id=round_id,
        standings=queries.standings(league),
        total_players=len(league.table.rows),
    )
    updates = dict.fromkeys(league.players, encode_message(update))
    listed = {row.player_id for row in update.standings}
    for player in [one for one in league.table.rows if one not in listed]:
        update.standings = queries.standings(league, player)
        updates[player] = encode_message(update)
    return updates


def league_completed(league: League, now: datetime) -> dict[str, EncodedMessage]:
    """The message for each agent. A player that is not among the first rows of the table also gets its own row."""
    message = m.LeagueCompleted(
        **m.envelope(MANAGER, now, "conv-league-complete"),
        league_id=league.settings.league_id,
        total_rounds=len(league.rounds),
        total_matches=len(league.matches),
        champion=queries.champion(league),
        final_standings=queries.final_standings(league),
        total_players=len(league.table.rows),
    )
    messages = dict.fromkeys([*league.players, *league.referees], encode_message(message))
    listed = {row.player_id for row in message.final_standings}
    for player in [one for one in league.table.rows if one not in listed]:
        message.final_standings = queries.final_standings(league, player)
        messages[player] = encode_message(message)
    return messages
