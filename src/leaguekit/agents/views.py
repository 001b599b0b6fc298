"""The JSON files that other tools read, kept by the manager as views of the league."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from leaguekit.agents.ledger import Ledger
from leaguekit.agents.world import World
from leaguekit.league import events as e
from leaguekit.league import queries
from leaguekit.league.records import Player, Referee
from leaguekit.store.files import Views, ViewWriter

PAUSE = 0.5


class ManagerViews:
    """agents_config.json (no tokens in it), standings.json and rounds.json, each written after what it shows.

    They are made anew at most twice a second, so that a league's size does not weigh on each of its results.
    """

    def __init__(self, world: World, ledger: Ledger) -> None:
        self._ledger = ledger
        self._paths = Views(world.data_root)
        self._writer = ViewWriter(inline=world.inline)
        self._stale: dict[Callable[[], None], None] = {}
        self._renewing: asyncio.Task[None] | None = None
        ledger.listeners.append(self._react)

    def refresh(self) -> None:
        """Make all of them anew."""
        self._renew(self._put_agents, self._put_standings, self._put_rounds)

    async def close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
        self._put_stale()
        await self._writer.close()

    def _react(self, event: e.Event) -> None:
        match event:
            case e.PlayerRegistered() | e.RefereeRegistered() | e.PlayerWithdrawn() | e.PlayerDisqualified():
                self._renew(self._put_agents)
            case e.LeagueStarted() | e.RoundAnnounced() | e.RoundCompleted() | e.LeagueCompleted():
                self._renew(self._put_standings, self._put_rounds)
            case e.ResultRecorded() | e.MatchForfeited():
                self._renew(self._put_standings)
            case e.ResultCorrected() | e.MatchReplayed():
                self._renew(self._put_standings, self._put_rounds)

    def _renew(self, *puts: Callable[[], None]) -> None:
        self._stale |= dict.fromkeys(puts)
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_soon())

    async def _renew_soon(self) -> None:
        while self._stale:
            await self._ledger.settled()
            self._put_stale()
            await asyncio.sleep(PAUSE)
        self._renewing = None

    def _put_stale(self) -> None:
        for put in self._stale:
            put()
        self._stale.clear()

    def _put_agents(self) -> None:
        league = self._ledger.league
        config = {
            "league_id": league.settings.league_id,
            "players": [_described(player) for player in league.players.values()],
            "referees": [_described(referee) for referee in league.referees.values()],
        }
        self._writer.put(self._paths.agents_config(), config)

    def _put_standings(self) -> None:
        league = self._ledger.league
        league_id = league.settings.league_id
        view = {"league_id": league_id, "round_id": league.current_round, "standings": queries.standings(league)}
        self._writer.put(self._paths.standings(league_id), view)

    def _put_rounds(self) -> None:
        league = self._ledger.league
        league_id = league.settings.league_id
        status: dict[str, Any] = msgspec.to_builtins(queries.status(league))
        self._writer.put(
            self._paths.rounds(league_id), {"league_id": league_id, **status, "matches": queries.schedule(league)}
        )


def _described(agent: Player | Referee) -> dict[str, Any]:
    meta: dict[str, Any] = msgspec.to_builtins(agent.meta)
    return {"id": agent.id, "state": agent.state} | meta
