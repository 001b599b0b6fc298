"""Matches that a referee starts from the announcement of a round.

A manager that implements only the documents sends no assignments. The announcement names the players and their
endpoints. The rest of an assignment comes from the documents, and from the manager's answer to a query.
"""

from __future__ import annotations

import logging

from msgspec import UNSET

from leaguekit.agents.calls import ask
from leaguekit.agents.identity import Identity
from leaguekit.agents.world import World
from leaguekit.league.endpoints import parse_endpoint
from leaguekit.league.settings import Settings
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import match_conversation, sender_of
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.transport.base import CallerLate, CallFailed

log = logging.getLogger(__name__)

SEED_BYTES = 32
QUERY_SECONDS = 5.0


def own_matches(announcement: m.RoundAnnouncement, endpoint: str, referee_id: str) -> list[m.AnnouncedMatch]:
    """The matches of an announcement that this referee has to play, and that name the endpoints of their players."""
    return [
        match
        for match in announcement.matches
        if (
            match.referee_id == referee_id
            if match.referee_id
            else parse_endpoint(match.referee_endpoint) == parse_endpoint(endpoint)
        )
        and match.player_A_endpoint is not UNSET
        and match.player_B_endpoint is not UNSET
    ]


async def fetch_records(world: World, manager_url: str, identity: Identity, league_id: str) -> dict[str, m.OwnRecord]:
    """Query the players' records. The result is empty if the manager does not answer."""
    referee_id = identity.agent_id
    query = m.LeagueQuery(
        **m.envelope(sender_of("referee", referee_id), world.now(), f"conv-{referee_id.lower()}-standings"),
        auth_token=identity.auth_token or UNSET,
        league_id=league_id,
        query_type="GET_STANDINGS",
    )
    try:
        answer = await ask(world.caller, manager_url, query, m.LeagueQueryResponse, seconds=QUERY_SECONDS)
    except (CallFailed, CallerLate, RpcRefusal, ProtocolError) as error:
        log.info("the manager does not send the standings: %s", error)
        return {}
    data = answer.data.standings if answer.data else UNSET
    return {
        row.player_id: m.OwnRecord(wins=row.wins, losses=row.losses, draws=row.draws, points=row.points)
        for row in answer.standings or data or []
        if row.wins is not UNSET and row.losses is not UNSET and row.draws is not UNSET
    }


def make_assignment(
    world: World,
    announcement: m.RoundAnnouncement,
    match: m.AnnouncedMatch,
    identity: Identity,
    records: dict[str, m.OwnRecord],
) -> m.MatchAssignment:
    """The assignment that our own manager would send for an announced match."""

    def player(player_id: str, endpoint: str) -> m.AssignedPlayer:
        return m.AssignedPlayer(
            player_id=player_id,
            endpoint=endpoint,
            state="ACTIVE",
            record=records.get(player_id, UNSET),
            # Under document 001 a referee sends its own token. A player cannot check that token, and could misuse it.
            shown_token=tokens.referee_to_player(
                identity.key, announcement.league_id, match.match_id, 1, identity.agent_id
            ),
        )

    return m.MatchAssignment(
        **m.envelope(announcement.sender, world.now(), match_conversation(match.match_id, 1)),
        league_id=announcement.league_id,
        round_id=announcement.round_id,
        match_id=match.match_id,
        game_type=match.game_type,
        game_args=match.game_args,
        attempt=1,
        match_seed=world.entropy(SEED_BYTES).hex(),
        time_limits=Settings(league_id=announcement.league_id).time_limits,
        player_A=player(match.player_A_id, str(match.player_A_endpoint)),
        player_B=player(match.player_B_id, str(match.player_B_endpoint)),
    )
