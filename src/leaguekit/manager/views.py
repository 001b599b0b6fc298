"""The JSON files that other tools read: what is in them, and how the manager keeps its own as views of the league."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec

from leaguekit.agents.world import World
from leaguekit.league import events as e
from leaguekit.league import queries
from leaguekit.league.records import Player, Referee
from leaguekit.league.state import League
from leaguekit.manager.ledger import Ledger
from leaguekit.store.base import StoreError
from leaguekit.store.files import Shared, Views, ViewWriter

PAUSE = 0.5
MATCHES_PER_CHUNK = 500
Make = Callable[[], tuple[Path, Any]]


class ManagerViews:
    """agents_config.json (no tokens in it), standings.json and rounds.json, each written after what it shows.

    They are made anew at most twice a second, so that a league's size does not weigh on each of its results.
    """

    def __init__(self, world: World, ledger: Ledger) -> None:
        self._ledger = ledger
        self._paths = Views(world.data_root)
        # When the league was created.
        self._created_at = ""
        self._writer = ViewWriter(files=world.files, inline=world.inline)
        self._stale: dict[Make, None] = {}
        self._renewing: asyncio.Task[None] | None = None
        ledger.listeners.append(self._react)

    async def begin(self) -> None:
        """Write all of them for the first time, once the league is created."""
        self._created_at = await self._ledger.created_at()
        self.refresh()

    def refresh(self) -> None:
        """Make all of them anew."""
        self._renew(self._agents, self._standings, self._rounds)

    async def close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
        self._stale = dict.fromkeys((self._agents, self._standings, self._rounds))
        with contextlib.suppress(StoreError):
            await self._put_stale()
        await self._writer.close()

    def _react(self, event: e.Event) -> None:
        match event:
            case e.PlayerRegistered() | e.RefereeRegistered() | e.PlayerWithdrawn() | e.PlayerDisqualified():
                self._renew(self._agents, self._standings)
            case e.PlayerSuspended() | e.PlayerReturned() | e.RefereeLost() | e.RefereeReturned():
                self._renew(self._agents)
            case e.LeagueStarted() | e.LeagueCompleted():
                self.refresh()
            case e.RoundAnnounced() | e.RoundCompleted() | e.ResultCorrected() | e.MatchReplayed():
                self._renew(self._standings, self._rounds)
            case e.ResultRecorded() | e.MatchForfeited():
                self._renew(self._standings)

    def _renew(self, *makes: Make) -> None:
        self._stale |= dict.fromkeys(makes)
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew_soon())

    async def _renew_soon(self) -> None:
        # That the log cannot be written is for others to tell; nothing is shown any more.
        with contextlib.suppress(StoreError):
            while self._stale:
                await self._put_stale()
                await asyncio.sleep(PAUSE)
            self._renewing = None

    async def _put_stale(self) -> None:
        made = [make() for make in self._stale]
        self._stale.clear()
        await self._ledger.wait_written()
        for path, view in made:
            self._writer.put(path, view)

    def _agents(self) -> tuple[Path, Any]:
        return agents_view(self._ledger.league, self._paths, self._created_at)

    def _standings(self) -> tuple[Path, Any]:
        return standings_view(self._ledger.league, self._paths)

    def _rounds(self) -> tuple[Path, Any]:
        return rounds_view(self._ledger.league, self._paths)


def agents_view(league: League, paths: Views, created_at: str) -> tuple[Path, Any]:
    """The agents' configuration, and where it lies; there are no tokens in it."""
    league_id = league.settings.league_id
    config = {
        "league_id": league_id,
        "created_at": created_at,
        "players": [_described(player) for player in league.players.values()],
        "referees": [_described(referee) for referee in league.referees.values()],
    }
    return paths.agents_config(league_id), Shared(config, paths.newest_agents_config(), created_at, league_id)


def standings_view(league: League, paths: Views) -> tuple[Path, Any]:
    league_id = league.settings.league_id
    view = {"league_id": league_id, "round_id": league.current_round, "standings": queries.standings(league)}
    return paths.standings(league_id), view


def rounds_view(league: League, paths: Views) -> tuple[Path, Any]:
    league_id = league.settings.league_id
    game_type = league.settings.game_type
    head = msgspec.json.encode({"league_id": league_id, **msgspec.to_builtins(queries.status(league))})
    # All matches of a large league take much room as objects; of what is shown only the outcomes change.
    matches = list(league.matches.values())
    outcomes = [match.outcome for match in matches]

    def text() -> Iterator[bytes]:
        yield head[:-1] + b',"matches":['
        for first in range(0, len(matches), MATCHES_PER_CHUNK):
            piece = slice(first, first + MATCHES_PER_CHUNK)
            shown = map(queries.scheduled_match, repeat(game_type), matches[piece], outcomes[piece])
            yield (b",\n" if first else b"\n") + b",\n".join(map(msgspec.json.encode, shown))
        yield b"\n]}\n"

    return paths.rounds(league_id), text


def _described(agent: Player | Referee) -> dict[str, Any]:
    meta: dict[str, Any] = msgspec.to_builtins(agent.meta)
    return {"id": agent.id, "state": agent.state} | meta
