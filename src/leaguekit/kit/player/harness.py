"""The league around a player under test: the kit is its manager, its referee and its opponents.

Every request of the player arrives in one inbox. The kit keeps its calls and their answers in ``answers`` under a
name, for every check that looks at them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import Any

from leaguekit.agents.world import World
from leaguekit.games.base import SIDES, Game, Side
from leaguekit.kit.checks import DEFAULTS, CheckSettings, NotRun
from leaguekit.kit.documented_game import ChoiceAnswer
from leaguekit.kit.exchanges import Exchange, IncomingRequest, Json, Network, Refusal
from leaguekit.kit.harness import AgentHarness
from leaguekit.kit.player.match import LIMITS, RefereedMatch
from leaguekit.match.move_messages import stated_info
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.ids import match_id
from leaguekit.protocol.methods import BY_NAME, PING

# With --full, the answer to the registration takes this long. The player must wait for up to 10 s.
SLOW_ANSWER_SECONDS = 8.0
# Not P01: a player that ignores its id and always calls itself P01 must fail.
PLAYER_ID = "P07"
OPPONENT_ID = "P03"
REFEREE_ID = "REF01"
_POSTED = (m.GameJoinAck, ChoiceAnswer, m.GameMoveResponse)


class PlayerHarness(AgentHarness):
    """The state of the checks of one player, and the actions that they share."""

    role = "player"
    agent_id = PLAYER_ID

    def __init__(
        self,
        world: World,
        network: Network,
        game: Game[Any],
        *,
        url: str | None = None,
        settings: CheckSettings = DEFAULTS,
    ) -> None:
        super().__init__(world, network, url, settings)
        self.game = game
        # All exchanges in their order, for checks of all answers.
        self.exchanges: list[Exchange] = []
        self._rounds = itertools.count(1)
        self.round_id = next(self._rounds)
        self.first_match = self.new_match()
        # The moves of the first match, each with its fault, if any.
        self.moves: list[tuple[str | None, Exchange]] = []
        # A match that several checks use.
        self.other_match = self.first_match
        # Matches whose end the player has not been sent.
        self._open_matches: dict[str, RefereedMatch] = {}
        self._conversations = itertools.count(1)

    # Requests of the player

    def is_registration(self, request: IncomingRequest) -> bool:
        kinds = (request.kind, BY_NAME[request.method].request if request.method in BY_NAME else None)
        return m.LeagueRegisterRequest in kinds or "player_meta" in self.registration_message(request)

    def registration_message(self, request: IncomingRequest) -> Json:
        """Return the message in a registration. It may be nested in another field, which a check reports."""
        inner = (request.message.get(name) for name in ("message", "arguments", "payload"))
        found = [one for one in (request.message, *inner) if isinstance(one, dict) and "player_meta" in one]
        return found[0] if found else request.message

    async def respond(self, request: IncomingRequest) -> Any:
        message = request.message
        if request.method == PING:
            return {"status": "ok", "league_id": self.league_id, "game_type": self.game.name}
        if self.is_registration(request):
            return await self.register(request)
        known = BY_NAME.get(request.method)
        if known is None:
            raise Refusal(-32601, f"There is no method {request.method!r} here.")
        if known.request is m.LeagueQuery:
            return self.answer_to(message, known.answer) | self._query(message)
        if known.request in _POSTED:
            ids = {"match_id": message.get("match_id"), "player_id": PLAYER_ID}
            return self.answer_to(message, known.answer) | {"status": "ACKNOWLEDGED"} | ids
        raise Refusal(-32601, f"{request.method} is not for a player to call.")

    async def before_first_answer(self) -> None:
        """Call the player, as a manager does before it accepts an agent: the player must already listen."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        with contextlib.suppress(NotRun):
            self.answers["early"] = await self.ping()
        if self.settings.full:
            await asyncio.sleep(began + SLOW_ANSWER_SECONDS - loop.time())

    def _query(self, message: Json) -> Json:
        query = message.get("query_type")
        standings = self.standings(2)
        status = m.LeagueStatus(
            state="RUNNING_LEAGUE",
            current_round=self.round_id,
            total_rounds=3,
            matches_played=0,
            total_matches=3,
            players=2,
            referees=1,
        )
        data: Json = {
            "GET_STANDINGS": {"standings": standings},
            "GET_SCHEDULE": {"schedule": []},
            "GET_NEXT_MATCH": {"next_match": None},
            "GET_PLAYER_STATS": {"player_stats": standings[1]},
            "GET_STATUS": {"status": status},
        }
        if not isinstance(query, str) or query not in data:
            raise Refusal(6002, "Invalid query type")
        flat = {"standings": standings, "current_round": self.round_id} if query == "GET_STANDINGS" else {}
        return {"query_type": query, "success": True, "data": data[query]} | flat

    def own_messages(self) -> list[IncomingRequest]:
        """Return the messages that the player has sent, without its registration."""
        return [one for one in self.inbox.requests if one.message_type and not self.is_registration(one)]

    # Messages to the player

    def good_call(self) -> m.Request:
        return self.announcement()

    async def send(self, name: str, message: m.Request | Json, *, method: str = "") -> Exchange:
        if isinstance(message, m.GameOver):
            self._open_matches.pop(message.match_id, None)
        self.exchanges.append(await super().send(name, message, method=method))
        return self.exchanges[-1]

    def move_origins(self) -> m.MoveOrigins:
        """Count the choices of the player by the origin that it states."""
        origins = m.MoveOrigins()
        for exchange in self.exchanges:
            origins.count(stated_info(exchange.message))
        return origins

    def remark(self) -> str:
        return self.move_origins().describe_replaced(self.name)

    async def match_in_new_round(self, *, number: int = 1, side: Side = "A", announced: bool = True) -> RefereedMatch:
        """Return a match in a new round. Earlier matches are ended first, because some players wait for that."""
        await self.end_open_matches()
        self.round_id = next(self._rounds)
        if announced:
            await self.send("announcement", self.announcement(number))
        return self.keep_open(self.new_match(number=number, side=side))

    def keep_open(self, match: RefereedMatch) -> RefereedMatch:
        """Return the same match, after noting that the player must be sent its end."""
        self._open_matches[match.match_id] = match
        return match

    async def end_open_matches(self) -> None:
        """Send the player the end of every match that is still open."""
        for match in [*self._open_matches.values()]:
            await self.send("end of a match", match.technical_loss())

    def new_match(self, *, number: int = 1, side: Side = "A") -> RefereedMatch:
        """Return a match of the player in this round."""
        name = match_id(self.round_id, number)
        players = {
            one: m.AssignedPlayer(
                player_id=PLAYER_ID if one == side else OPPONENT_ID,
                endpoint=self.manager_url,
                state="ACTIVE",
                record=m.OwnRecord(wins=0, losses=0, draws=0, points=0),
                shown_token=tokens.referee_to_player(self.key, self.league_id, name, 1, REFEREE_ID),
            )
            for one in SIDES
        }
        assignment = self.assignment(self.round_id, name, self.game.name, LIMITS, players)
        return RefereedMatch(self.world, assignment, REFEREE_ID, self.game, side)

    def tokens_of(self, match_name: str) -> tuple[str, str]:
        """Return the tokens that the player may show in a match: its own, and the one derived for the referee."""
        return self.token, tokens.player_to_referee(self.key, self.league_id, match_name, 1, REFEREE_ID)

    def announcement(self, matches: int = 1) -> m.RoundAnnouncement:
        announced = [
            m.AnnouncedMatch(
                match_id=match_id(self.round_id, number),
                game_type=self.game.name,
                player_A_id=PLAYER_ID,
                player_B_id=OPPONENT_ID,
                referee_endpoint=self.manager_url,
            )
            for number in range(1, matches + 1)
        ]
        return m.RoundAnnouncement(**self._from_manager(), round_id=self.round_id, matches=announced)

    def standings_update(self, players: int = 2) -> m.LeagueStandingsUpdate:
        rows = self.standings(players)
        return m.LeagueStandingsUpdate(**self._from_manager(), round_id=self.round_id, standings=rows)

    def round_completed(self) -> m.RoundCompleted:
        return m.RoundCompleted(
            **self._from_manager(),
            round_id=self.round_id,
            next_round_id=self.round_id + 1,
            matches_completed=1,
            matches_played=1,
            summary=m.RoundSummary(total_matches=1, wins=1, draws=0, technical_losses=0),
        )

    def league_completed(self) -> m.LeagueCompleted:
        rows = self.standings(2)
        final = [m.FinalStanding(rank=row.rank, player_id=row.player_id, points=row.points) for row in rows]
        champion = m.Champion(player_id=rows[0].player_id, display_name=rows[0].display_name, points=rows[0].points)
        return m.LeagueCompleted(
            **self._from_manager(),
            total_rounds=self.round_id,
            total_matches=self.round_id,
            champion=champion,
            final_standings=final,
        )

    def standings(self, players: int) -> list[m.Standing]:
        """Return a table with that number of players. The player under test is second."""
        ids = [OPPONENT_ID, PLAYER_ID, *(f"P{number}" for number in range(100, 98 + players))]
        return [
            m.Standing(
                rank=rank,
                player_id=player,
                display_name=self.name[:50] if player == PLAYER_ID else f"Player number {player}",
                played=1,
                wins=int(rank == 1),
                draws=0,
                losses=int(rank > 1),
                points=3 * (rank == 1),
                technical_losses=0,
            )
            for rank, player in enumerate(ids, 1)
        ]

    def _from_manager(self) -> dict[str, Any]:
        return self.envelope(f"conv-check-{next(self._conversations):03d}")
