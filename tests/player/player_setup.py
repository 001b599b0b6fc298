"""A player with a scripted manager on a network in memory, and the messages of a manager and a referee."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import UNSET

from leaguekit.agents.world import World
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.decoding import decode, encode, violations
from leaguekit.protocol.ids import MANAGER, match_conversation
from leaguekit.protocol.methods import BY_REQUEST, PING, read_call
from leaguekit.protocol.refusals import manager_refusal
from leaguekit.protocol.rpc import Call, RpcRequest, answer, request
from leaguekit.sim.loop import VirtualLoop, run
from leaguekit.transport.base import Peer
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork

START = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)
LEAGUE = "league_2025_even_odd"
MANAGER_URL = "http://127.0.0.1:8000/mcp"
PLAYER_URL = "http://127.0.0.1:8101/mcp"
TOKEN = "tok-p01-" + "s" * 43
KEY = tokens.signing_key(TOKEN)
ACCEPTED = {"status": "ACCEPTED", "player_id": "P01", "auth_token": TOKEN, "league_id": LEAGUE, "reason": None}
DERIVED = ACCEPTED | {"token_scheme": "derived"}


def now() -> datetime:
    """The virtual time in a virtual loop, and the real time over real sockets."""
    loop = asyncio.get_running_loop()
    return START + timedelta(seconds=loop.time()) if isinstance(loop, VirtualLoop) else datetime.now(UTC)


class ScriptedManager:
    """Answers registrations with ``response``, and keeps what it received."""

    def __init__(self, response: dict[str, Any] | Exception) -> None:
        self.response = response
        self.came = asyncio.Event()
        self.ping: Any = {"status": "ok", "league_id": LEAGUE}
        self.registrations: list[m.LeagueRegisterRequest] = []
        self.bodies: list[bytes] = []

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        self.bodies.append(body)
        return await answer(RpcRequest(body), self._answer, manager_refusal(now))

    async def _answer(self, call: Call) -> Any:
        if call.method == PING:
            return self.ping
        _, message = read_call(call, "league_manager")
        assert isinstance(message, m.LeagueRegisterRequest)
        self.registrations.append(message)
        self.came.set()
        if isinstance(self.response, Exception):
            raise self.response
        return m.LeagueRegisterResponse(**m.envelope(MANAGER, now(), message.conversation_id), **self.response)


class PlayerSetup:
    """A network with a scripted manager and one real player. ``call`` sends a message to the player, as anyone may."""

    def __init__(
        self,
        root: Path,
        choose: Any = STRATEGIES["always_even"],
        response: Any = DERIVED,
        name: str = "Agent Alpha",
        entropy: Callable[[int], bytes] = lambda size: b"e" * size,
        **more: Any,
    ) -> None:
        self.network = MemoryNetwork()
        self.caller = MemoryCaller(self.network)
        self.manager = ScriptedManager(response)
        self.network.listen(MANAGER_URL, self.manager.handle)
        self.world = World(caller=MemoryCaller(self.network), data_root=root, now=now, entropy=entropy, inline=True)
        self.agent = PlayerAgent(Player(name, choose), self.world, MANAGER_URL, PLAYER_URL, **more)
        self.network.listen(PLAYER_URL, self.agent.handle)

    async def raw(self, method: str, params: bytes) -> Any:
        came = await self.caller.post(PLAYER_URL, request(method, params, 7), 30)
        found = json.loads(came.body)
        assert (found["jsonrpc"], found["id"]) == ("2.0", 7)
        return found

    async def call(self, message: m.Message, method: str | None = None) -> Any:
        """The player's answer to a message. It is checked to be a valid message with a complete envelope."""
        found = await self.raw(method or BY_REQUEST[type(message)].name, encode(message))
        assert "error" not in found, found["error"]
        result = found["result"]
        assert violations(result) == []
        assert (result["protocol"], result["sender"], result["player_id"]) == ("league.v2", "player:P01", "P01")
        assert result["conversation_id"] == message.conversation_id
        assert result["timestamp"] == times.format_timestamp(now())
        return decode(json.dumps(result).encode())

    async def refused(self, message: m.Message) -> dict[str, Any]:
        return (await self.raw(BY_REQUEST[type(message)].name, encode(message)))["error"]

    async def state(self) -> dict[str, Any]:
        return (await self.raw("get_player_state", b"{}"))["result"]

    def saved(self) -> dict[str, Any]:
        return json.loads((self.world.data_root / "data/players/P01/history.json").read_text())


def run_script(script: Callable[[PlayerSetup], Awaitable[Any]], setup: PlayerSetup, *, registered: bool = True) -> Any:
    """Run a script in virtual time. The player is registered before it and closed after it."""

    async def main() -> Any:
        if registered:
            await setup.agent.register()
        try:
            return await script(setup)
        finally:
            await setup.agent.close()

    return run(main())


# Messages of a manager and of a referee.


def from_manager(token: str | None = None) -> dict[str, Any]:
    shown = tokens.manager_to_agent(KEY, LEAGUE, "P01") if token is None else token
    return {**m.envelope(MANAGER, now(), "conv-league-001"), "auth_token": shown or UNSET, "league_id": LEAGUE}


def announcement(round_id: int = 1, **more: Any) -> m.RoundAnnouncement:
    match = m.AnnouncedMatch(
        match_id=f"R{round_id}M1",
        game_type="even_odd",
        player_A_id="P01",
        player_B_id="P02",
        referee_endpoint="http://127.0.0.1:8001/mcp",
    )
    return m.RoundAnnouncement(**from_manager(**more), round_id=round_id, matches=[match])


def standing(rank: int, player_id: str, wins: int) -> m.Standing:
    return m.Standing(
        rank=rank,
        player_id=player_id,
        display_name=f"Agent {player_id}",
        played=1,
        wins=wins,
        draws=0,
        losses=1 - wins,
        points=3 * wins,
    )


def standings(**more: Any) -> m.LeagueStandingsUpdate:
    rows = [standing(1, "P01", 1), standing(2, "P02", 0)]
    return m.LeagueStandingsUpdate(**from_manager(**more), round_id=1, standings=rows)


def round_completed(round_id: int = 1, **more: Any) -> m.RoundCompleted:
    return m.RoundCompleted(**from_manager(**more), round_id=round_id, next_round_id=round_id + 1, matches_completed=1)


def league_completed(**more: Any) -> m.LeagueCompleted:
    return m.LeagueCompleted(
        **from_manager(**more),
        total_rounds=1,
        total_matches=1,
        champion=m.Champion(player_id="P01", display_name="Agent Alpha", points=3),
        final_standings=[
            m.FinalStanding(rank=1, player_id="P01", points=3),
            m.FinalStanding(rank=2, player_id="P02", points=0),
        ],
    )


def from_referee(match_id: str, attempt: int = 1, token: str | None = None, referee: str = "REF01") -> dict[str, Any]:
    shown = tokens.referee_to_player(KEY, LEAGUE, match_id, attempt, referee) if token is None else token
    conversation = match_conversation(match_id, attempt)
    return {**m.envelope(f"referee:{referee}", now(), conversation), "auth_token": shown or UNSET, "match_id": match_id}


def invitation(match_id: str = "R1M1", attempt: int = 1, **more: Any) -> m.GameInvitation:
    fields = {"round_id": int(match_id[1]), "game_type": "even_odd", "role_in_match": "PLAYER_A", "player_id": "P01"}
    fields |= {name: more.pop(name) for name in (*fields, "opponent_id") if name in more}
    return m.GameInvitation(
        **from_referee(match_id, attempt, **more),
        **{"opponent_id": "P02"} | fields,
        league_id=LEAGUE,
        attempt=attempt,
    )


def parity_call(match_id: str = "R1M1", attempt: int = 1, *, seconds: float = 30, **more: Any) -> m.ChooseParityCall:
    fields = {"player_id": more.pop("player_id", "P01"), "context": more.pop("context", UNSET)}
    deadline = times.format_timestamp(now() + timedelta(seconds=seconds))
    return m.ChooseParityCall(
        **from_referee(match_id, attempt, **more), **fields, game_type="even_odd", deadline=deadline
    )


def move_call(board: str, options: list[int], match_id: str = "R1M1") -> m.GameMoveCall:
    asked = m.MoveRequest(move_type="place_mark", valid_options=options, context={"board": board, "your_mark": "X"})
    return m.GameMoveCall(
        **from_referee(match_id),
        player_id="P01",
        game_type="tic_tac_toe",
        move_request=asked,
        deadline=times.format_timestamp(now() + timedelta(seconds=30)),
    )


def game_over(match_id: str = "R1M1", winner: str | None = "P01", attempt: int = 1, **more: Any) -> m.GameOver:
    result = m.GameResult(
        status="DRAW" if winner is None else "WIN",
        winner_player_id=winner,
        drawn_number=8,
        number_parity="even",
        choices={"P01": "even", more.pop("opponent_id", "P02"): "odd"},
        reason=more.pop("reason", "P01 chose even, and 8 is even"),
    )
    return m.GameOver(**from_referee(match_id, attempt, **more), game_type="even_odd", game_result=result)


def game_error(match_id: str = "R1M1", **more: Any) -> m.GameError:
    return m.GameError(
        **from_referee(match_id, **more),
        error_code="E001",
        error_description="TIMEOUT_ERROR",
        affected_player="P01",
        consequence="Technical loss if no answer comes within 3 retries.",
    )


# Makes one of each message that a player accepts.
CALLS: list[Callable[..., m.Message]] = [
    announcement, standings, round_completed, league_completed, invitation, parity_call, game_over, game_error,
]  # fmt: skip
