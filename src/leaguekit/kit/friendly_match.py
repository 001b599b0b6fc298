"""A friendly match: two players and a referee without a league, for trying out a player.

assigned_player, assignment  what a manager would send to the referee
unregistered_player          a player that runs without registration
play                         play one match to its result
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET

from leaguekit.agents.identity import Identity
from leaguekit.agents.world import World
from leaguekit.games import game
from leaguekit.league.settings import Settings
from leaguekit.match.draw import match_seed
from leaguekit.match.signals import Void
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.context import PastMatch, record_of
from leaguekit.player.definition import PlayerDefinition
from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import MANAGER, match_conversation, match_id
from leaguekit.referee.match_runner import MatchRunner, RulingRecord

LEAGUE = "friendly"
REFEREE = "REF01"
_ATTEMPT = 1


def assigned_player(player_id: str, url: str, history: Iterable[PastMatch] = ()) -> m.AssignedPlayer:
    """Return a player as the assignment names it to its referee, without tokens."""
    return m.AssignedPlayer(player_id=player_id, endpoint=url, state="ACTIVE", record=record_of(history))


def assignment(
    world: World, players: tuple[m.AssignedPlayer, m.AssignedPlayer], game_name: str, seed: bytes, round_id: int = 1
) -> m.MatchAssignment:
    """Return the assignment of a match between two players. The first has side A."""
    name, rules = match_id(round_id, 1), game(game_name)
    return m.MatchAssignment(
        **m.envelope(MANAGER, world.now(), match_conversation(name, _ATTEMPT)),
        league_id=LEAGUE,
        round_id=round_id,
        match_id=name,
        game_type=rules.name,
        game_args=dict(rules.args) or UNSET,
        attempt=_ATTEMPT,
        match_seed=match_seed(seed, name, _ATTEMPT).hex(),
        time_limits=Settings(league_id=LEAGUE).time_limits,
        player_A=players[0],
        player_B=players[1],
    )


def unregistered_player(
    player: PlayerDefinition, world: World, player_id: str, url: str, *, seed: int | None = None
) -> PlayerAgent:
    """Return a player under an id that no manager gave it. It accepts the messages of every referee."""
    agent = PlayerAgent(player, world, "", url, seed=seed)
    agent.registrar.identity = Identity(agent_id=player_id, auth_token=None, league_id=LEAGUE)
    agent.league_id = LEAGUE
    return agent


async def play(match: MatchRunner) -> RulingRecord | Void:
    """Play a match and send its players the result. Return when they have acknowledged it, or cannot be reached."""
    ended = await match.play()
    if isinstance(ended, Void):
        return ended
    ruling = match.make_ruling(ended.verdict)
    await match.send_result(ended.verdict, ruling)
    await match.wait_acknowledged()
    return ruling
