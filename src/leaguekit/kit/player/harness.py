"""The league around a player under test: the kit is its manager, its referee and its opponents.

What the player registers with, and whatever else it sends, arrives at one desk; what the kit asks it is kept in
``seen``, under a name, for every check that looks at it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import Any

from leaguekit.agents.world import World
from leaguekit.games.base import Game, Side
from leaguekit.kit.agent_harness import PING_SECONDS, Host
from leaguekit.kit.checks import USUAL, CheckSettings, NotRun
from leaguekit.kit.exchanges import Arrived, Exchange, Ground, Json, Refusal
from leaguekit.kit.player.match import LIMITS, Bout
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.ids import MANAGER, match_id
from leaguekit.protocol.methods import BY_NAME, BY_REQUEST, PING

# With --full, the answer to the registration takes so long; the player has to wait for 10 s.
SLOW_SECONDS = 8.0
# A number that nobody guesses: a player that calls itself P01 whatever it is told would go unnoticed as P01.
PLAYER_ID = "P07"
OPPONENT_ID = "P03"
REFEREE_ID = "REF01"
_REGISTER = BY_REQUEST[m.LeagueRegisterRequest]
_REGISTRATION = m.message_type(m.LeagueRegisterRequest)
_POSTED = (m.GameJoinAck, m.ChooseParityResponse, m.GameMoveResponse)


class PlayerScene(Host):
    """Everything the checks of a player need."""

    role = "player"
    agent_id = PLAYER_ID

    def __init__(
        self, world: World, ground: Ground, game: Game[Any], *, url: str | None = None, terms: CheckSettings = USUAL
    ) -> None:
        super().__init__(world, ground, url, terms)
        self.game = game
        # Every answer in the order of the questions: what is measured of all of them is measured here.
        self.exchanges: list[Exchange] = []
        self._rounds = itertools.count(1)
        self.round_id = next(self._rounds)
        # The match of the first round, and of each of its moves what is wrong with it.
        self.match = self.bout()
        self.moves: list[tuple[str | None, Exchange]] = []
        # The one that is asked about more than once, and those that the player has not been told the end of.
        self.other_match = self.match
        self._open: dict[str, Bout] = {}
        self._conversations = itertools.count(1)

    # What the player sends

    def is_registration(self, arrived: Arrived) -> bool:
        names = _REGISTER.names
        return arrived.method in names or arrived.type == _REGISTRATION or "player_meta" in self.introduction(arrived)

    def introduction(self, arrived: Arrived) -> Json:
        """The message of a registration, also where it stands in a place of the player's own choice."""
        inner = (arrived.message.get(name) for name in ("message", "arguments", "payload"))
        found = [one for one in (arrived.message, *inner) if isinstance(one, dict) and "player_meta" in one]
        return found[0] if found else arrived.message

    async def script(self, arrived: Arrived) -> Any:
        message = arrived.message
        if arrived.method == PING:
            return {"status": "ok", "league_id": self.league_id}
        if self.is_registration(arrived):
            return await self.register(arrived)
        known = BY_NAME.get(arrived.method)
        if known is None:
            raise Refusal(-32601, f"There is no method {arrived.method!r} here.")
        if known.request is m.LeagueQuery:
            return self.answer_to(message, known.answer) | self._query(message)
        if known.request in _POSTED:
            ids = {"match_id": message.get("match_id"), "player_id": PLAYER_ID}
            return self.answer_to(message, known.answer) | {"status": "ACKNOWLEDGED"} | ids
        raise Refusal(-32601, f"{arrived.method} is not for a player to call.")

    async def look_at_newcomer(self) -> None:
        """Call the player as a manager does before it takes anybody: who registers has to be there already."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        with contextlib.suppress(NotRun):
            self.seen["early"] = await self.line.call(self.url, PING, {}, PING_SECONDS)
        if self.terms.full:
            await asyncio.sleep(began + SLOW_SECONDS - loop.time())

    def _query(self, message: Json) -> Json:
        query = message.get("query_type")
        rows = [row for row in self.standings(2) if row.player_id == PLAYER_ID]
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
            "GET_STANDINGS": {"standings": self.standings(2)},
            "GET_SCHEDULE": {"schedule": []},
            "GET_NEXT_MATCH": {"next_match": None},
            "GET_PLAYER_STATS": {"player_stats": rows[0]},
            "GET_STATUS": {"status": status},
        }
        if not isinstance(query, str) or query not in data:
            raise Refusal(6002, "Invalid query type")
        flat = {"standings": self.standings(2), "current_round": self.round_id} if query == "GET_STANDINGS" else {}
        return {
            "query_type": query,
            "success": True,
            "data": data[query],
        } | flat

    def own_messages(self) -> list[Arrived]:
        """What the player sent by itself, besides registering."""
        return [one for one in self.desk.arrived if one.type and not self.is_registration(one)]

    # What is sent to the player

    async def say(self, name: str, message: m.Request | Json, *, method: str | None = None) -> Exchange:
        """Send the player a message as its method says, and keep what comes of it under a name."""
        kind = m.BY_TYPE[message["message_type"]] if isinstance(message, dict) else type(message)
        known = BY_REQUEST[kind]
        if isinstance(message, m.GameOver):
            self._open.pop(message.match_id, None)
        exchange = await self.line.call(self.url, method or known.name, message, known.seconds)
        self.seen[name] = exchange
        self.exchanges.append(exchange)
        return exchange

    async def fresh(self, *, number: int = 1, side: Side = "A", announced: bool = True) -> Bout:
        """A match in a round of its own. Those before are ended first: some players wait for that."""
        await self.finish()
        self.round_id = next(self._rounds)
        if announced:
            await self.say("announcement", self.announcement(number))
        return self.opened(self.bout(number=number, side=side))

    def opened(self, bout: Bout) -> Bout:
        """The same match; the player will be told its end."""
        self._open[bout.match_id] = bout
        return bout

    async def finish(self) -> None:
        """End every match that is still open."""
        for bout in [*self._open.values()]:
            await self.say("end of a match", bout.lost())

    def bout(self, *, number: int = 1, side: Side = "A") -> Bout:
        """A match of the player's in this round."""
        names = {side: PLAYER_ID}
        seats = {one: self._seat(names.get(one, OPPONENT_ID), number) for one in ("A", "B")}
        assignment = m.MatchAssignment(
            **m.envelope(MANAGER, self.world.now(), "conv-check"),
            league_id=self.league_id,
            round_id=self.round_id,
            match_id=match_id(self.round_id, number),
            game_type=self.game.name,
            attempt=1,
            match_seed=self.world.entropy(32).hex(),
            time_limits=LIMITS,
            player_A=seats["A"],
            player_B=seats["B"],
        )
        return Bout(self.world, assignment, REFEREE_ID, self.game, side)

    def _seat(self, player_id: str, number: int) -> m.AssignedPlayer:
        match = match_id(self.round_id, number)
        shown = tokens.referee_to_player(self.key, self.league_id, match, 1, REFEREE_ID)
        return m.AssignedPlayer(
            player_id=player_id,
            endpoint=self.here,
            state="ACTIVE",
            record=m.OwnRecord(wins=0, losses=0, draws=0, points=0),
            shown_token=shown,
        )

    def tokens_of(self, match: str) -> tuple[str, str]:
        """By which tokens the player may be known in a match: its own, and the one made for its referee."""
        return self.token, tokens.player_to_referee(self.key, self.league_id, match, 1, REFEREE_ID)

    def announcement(self, matches: int = 1) -> m.RoundAnnouncement:
        announced = [
            m.AnnouncedMatch(
                match_id=match_id(self.round_id, number),
                game_type=self.game.name,
                player_A_id=PLAYER_ID,
                player_B_id=OPPONENT_ID,
                referee_endpoint=self.here,
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
        """A table of so many players, the one under test second."""
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
