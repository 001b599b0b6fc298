"""Keeps JSON files with the agents, the standings and the rounds up to date. Other tools read these files."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec

from leaguekit.agents.tasks import cancel
from leaguekit.agents.world import World
from leaguekit.league import events as e
from leaguekit.league import queries
from leaguekit.league.records import Player, Referee, agent_order
from leaguekit.league.state import League
from leaguekit.manager.ledger import Ledger
from leaguekit.store.base import StoreError
from leaguekit.store.json_files import JsonPaths, JsonWriter, MirroredJson

PAUSE_SECONDS = 0.5
MATCHES_PER_CHUNK = 500
MakeFile = Callable[[League, JsonPaths], tuple[Path, Any]]


class JsonFiles:
    """Writes agents_config.json (without tokens), standings.json and rounds.json after the events that change them.

    Each file is written at most twice per second. Otherwise every result of a large league would cost much time.
    """

    def __init__(self, world: World, ledger: Ledger) -> None:
        self._ledger = ledger
        self._paths = JsonPaths(world.data_root)
        self._writer = JsonWriter(files=world.files, inline=world.inline)
        self._agents = partial(agents_file, created_at="")
        self._stale: dict[MakeFile, None] = {}
        self._update_task: asyncio.Task[None] | None = None
        ledger.listeners.append(self._react)

    async def start(self) -> None:
        """Write all files for the first time. The league must have been created."""
        self._agents = partial(agents_file, created_at=await self._ledger.created_at())
        self.refresh()

    def refresh(self) -> None:
        """Write all files again."""
        self._mark_stale(self._agents, standings_file, rounds_file)

    async def close(self) -> None:
        await cancel(self._update_task)
        self._stale = dict.fromkeys((self._agents, standings_file, rounds_file))
        with contextlib.suppress(StoreError):
            await self._write_stale()
        await self._writer.close()

    def _react(self, event: e.Event) -> None:
        match event:
            case (
                e.PlayerRegistered()
                | e.RefereeRegistered()
                | e.PlayerWithdrawn()
                | e.PlayerDisqualified()
                | e.PlayerReadmitted()
            ):
                self._mark_stale(self._agents, standings_file)
            case e.PlayerSuspended() | e.PlayerReturned() | e.RefereeLost() | e.RefereeReturned():
                self._mark_stale(self._agents)
            case e.LeagueStarted() | e.LeagueCompleted():
                self.refresh()
            case e.RoundDrawn() | e.RoundAnnounced() | e.RoundCompleted() | e.ResultCorrected() | e.MatchReplayed():
                self._mark_stale(standings_file, rounds_file)
            case e.ResultRecorded() | e.MatchForfeited():
                self._mark_stale(standings_file)

    def _mark_stale(self, *makes: MakeFile) -> None:
        self._stale |= dict.fromkeys(makes)
        if self._update_task is None:
            self._update_task = asyncio.create_task(self._update_stale())

    async def _update_stale(self) -> None:
        # If the log cannot be written, the manager stops. That error is reported elsewhere.
        with contextlib.suppress(StoreError):
            while self._stale:
                await self._write_stale()
                await asyncio.sleep(PAUSE_SECONDS)
            self._update_task = None

    async def _write_stale(self) -> None:
        made = [make(self._ledger.league, self._paths) for make in self._stale]
        self._stale.clear()
        await self._ledger.wait_written()
        for path, value in made:
            self._writer.put(path, value)


def agents_file(league: League, paths: JsonPaths, created_at: str) -> tuple[Path, Any]:
    """The path and the content of the agents' configuration. It contains no tokens."""
    league_id = league.settings.league_id
    config = {
        "league_id": league_id,
        "created_at": created_at,
        "players": [_describe(player) for player in sorted(league.players.values(), key=agent_order)],
        "referees": [_describe(referee) for referee in sorted(league.referees.values(), key=agent_order)],
    }
    return paths.agents_config(league_id), MirroredJson(config, paths.newest_agents_config(), created_at, league_id)


def standings_file(league: League, paths: JsonPaths) -> tuple[Path, Any]:
    league_id = league.settings.league_id
    table = {"league_id": league_id, "round_id": league.current_round, "standings": queries.standings(league)}
    return paths.standings(league_id), table


def rounds_file(league: League, paths: JsonPaths) -> tuple[Path, Any]:
    league_id = league.settings.league_id
    game_type = league.settings.game_type
    head = msgspec.json.encode({"league_id": league_id, **msgspec.to_builtins(queries.status(league))})
    # As objects, all matches of a large league would take much memory, so they are encoded in chunks while the file is
    # written. Outcomes may change meanwhile, so they are copied now.
    matches = list(league.matches.values())
    outcomes = [match.outcome for match in matches]

    def chunks() -> Iterator[bytes]:
        yield head[:-1] + b',"matches":['
        for first in range(0, len(matches), MATCHES_PER_CHUNK):
            part = slice(first, first + MATCHES_PER_CHUNK)
            rows = map(queries.scheduled_match, repeat(game_type), matches[part], outcomes[part])
            yield (b",\n" if first else b"\n") + b",\n".join(map(msgspec.json.encode, rows))
        yield b"\n]}\n"

    return paths.rounds(league_id), chunks


def _describe(agent: Player | Referee) -> dict[str, Any]:
    meta: dict[str, Any] = msgspec.to_builtins(agent.meta)
    return {"id": agent.id, "state": agent.state} | meta
