"""Play matches, series and leagues inside a unit test: real players and referees, in memory and in virtual time.

play_match    one match of a strategy against another, with everything that was said in it
play_series   match after match between the same two, who remember them
play_league   a whole league by the real manager

No port is opened and nobody waits: an async strategy may sleep for an hour in no time. The same seed gives the same
match. If a strategy raises, takes too long or makes an illegal move, the test fails with what its author must know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count, cycle, islice
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from leaguekit.agents.serving import Agent
from leaguekit.agents.world import World
from leaguekit.games import game as rules_of
from leaguekit.kit import friendly_match
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.match.draw import league_seed
from leaguekit.match.signals import Void
from leaguekit.player.context import PastMatch, ReplacedMove, Result, Strategy
from leaguekit.player.player import Player, PlayerAgent
from leaguekit.player.strategies import check_can_play
from leaguekit.player.strategy_loading import load
from leaguekit.protocol.fields import Role
from leaguekit.protocol.ids import player_id
from leaguekit.protocol.messages import MatchResultReport, Standing, TranscriptEntry
from leaguekit.referee.match_runner import MatchRunner
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim.files import Drive, MemoryFiles
from leaguekit.sim.processes import Process, ProcessLoop
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork

__all__ = ["PlayedLeague", "PlayedMatch", "StrategyFailed", "play_league", "play_match", "play_series"]

T = TypeVar("T")
# A function, the name of a strategy as `league player --strategy` takes it, or a whole player.
Entrant = Strategy | str | Player

ME, OPPONENT = "P01", "P02"
ROLES: tuple[Role, Role] = ("PLAYER_A", "PLAYER_B")
BEGAN = datetime(2030, 1, 1, tzinfo=UTC)
MANAGER_URL, REFEREE_URL = "http://127.0.0.1:8000/mcp", "http://127.0.0.1:8001/mcp"
# Virtual seconds, which cost nothing: more than any league of a test needs.
PATIENCE = 1_000_000.0
# Between two matches time must move.
PAUSE = 0.01


class StrategyFailed(AssertionError):
    """A move had to be played for a strategy; the text says why. ``replaced`` has such moves, the first first."""

    def __init__(self, name: str, replaced: Sequence[ReplacedMove]) -> None:
        self.replaced = [*replaced]
        super().__init__(f"{name}: {replaced[0]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedMatch:
    """A match that was played; the strategy that was tried is P01, its opponent P02."""

    match_id: str
    game_type: str
    # P01's side, and how it ended for P01.
    role: Role
    result: Result
    winner: str | None
    # From the closed list of rulings: WIN, DRAW, or why somebody lost without play.
    ruling: str
    reason: str
    # What each chose, by its id; of a game of turns all its moves, such as "4,0,8".
    choices: dict[str, str | None]
    drawn_number: int | None
    # The game's last position.
    position: dict[str, Any]
    # Everything that the referee sent and got, in order.
    messages: list[TranscriptEntry] = field(repr=False)
    # How long it took, in virtual time.
    seconds: float
    # Moves that were played for P01's strategy; there are none where that fails the test.
    replaced: list[ReplacedMove] = field(default_factory=list)

    @property
    def choice(self) -> str | None:
        """What P01 chose."""
        return self.choices[ME]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedLeague:
    """A league that was played to its end."""

    standings: list[Standing]
    # Each player's matches by its name, the oldest first, as its strategy saw them.
    matches: dict[str, tuple[PastMatch, ...]]
    # The moves that were played for each strategy.
    replaced: dict[str, list[ReplacedMove]]

    @property
    def champion(self) -> str:
        """The name of the player on the first place."""
        return str(self.standings[0].display_name)


def play_match(
    choose: Entrant,
    opponent: Entrant = "random",
    *,
    game: str = "even_odd",
    seed: int = 1,
    role: Role = "PLAYER_A",
    strict: bool = True,
) -> PlayedMatch:
    """Play one match. ``role`` is the side of ``choose``: in a game of turns PLAYER_A begins.

    Raises StrategyFailed if a move had to be played for either of the two, unless it is not to be ``strict``.
    """
    return _series(choose, opponent, game, seed, [role], strict=strict)[0]


def play_series(
    choose: Entrant,
    opponent: Entrant = "random",
    *,
    matches: int = 10,
    game: str = "even_odd",
    seed: int = 1,
    strict: bool = True,
) -> list[PlayedMatch]:
    """Play match after match between the same two, who remember them and change sides each time."""
    return _series(choose, opponent, game, seed, [*islice(cycle(ROLES), matches)], strict=strict)


def play_league(
    players: Mapping[str, Entrant], *, game: str = "even_odd", seed: int = 1, strict: bool = True
) -> PlayedLeague:
    """Play a whole league, from the registrations to the final table; the players by their names, P01 first."""
    rules_of(game)
    if len(players) < 2:
        raise ValueError(f"a league needs at least two players, got {len(players)}")
    named = {name: _player(entrant, name, game) for name, entrant in players.items()}
    played = _in_virtual_time(seed, lambda hall: hall.league(named, game, seed))
    for name, replaced in played.replaced.items():
        if strict and replaced:
            raise StrategyFailed(name, replaced) from replaced[0].error
    return played


def _series(
    choose: Entrant, opponent: Entrant, game: str, seed: int, roles: list[Role], *, strict: bool
) -> list[PlayedMatch]:
    rules_of(game)
    pair = {ME: _player(choose, "P01", game), OPPONENT: _player(opponent, "P02", game)}
    return _in_virtual_time(seed, lambda hall: hall.series(pair, game, seed, roles, strict=strict))


def _player(entrant: Entrant, name: str, game: str) -> Player:
    """A player. Raises CannotPlay if its strategy is one of ours that cannot play the game."""
    if isinstance(entrant, Player):
        return Player(name, entrant.strategy, games=entrant.games, version=entrant.version)
    strategy = load(entrant) if isinstance(entrant, str) else entrant
    check_can_play(str(getattr(strategy, "__name__", strategy)), strategy, game)
    return Player(name, strategy)


class _Hall:
    """A network in memory, and worlds whose agents meet on it."""

    def __init__(self, loop: ProcessLoop, seed: int) -> None:
        self._network = MemoryNetwork()
        self._loop = loop
        self._files = MemoryFiles(Drive(), Process(loop, "test"))
        self._chance = Random(seed)  # noqa: S311 - the same test is to be the same match

    def _world(self) -> World:
        return World(
            MemoryCaller(self._network),
            Path("SHARED"),
            now=lambda: BEGAN + timedelta(seconds=self._loop.time()),
            entropy=self._chance.randbytes,
            files=self._files,
            inline=True,
        )

    async def series(
        self, pair: dict[str, Player], game: str, seed: int, roles: list[Role], *, strict: bool
    ) -> list[PlayedMatch]:
        agents = {
            name: friendly_match.unregistered_player(player, self._world(), name, _url(name), seed=seed)
            for name, player in pair.items()
        }
        for name, agent in agents.items():
            self._network.listen(_url(name), agent.handle)
        played = []
        for round_id, role in enumerate(roles, start=1):
            for agent in agents.values():
                agent.replaced.clear()
            played.append(await self._match(agents, game, league_seed(seed), round_id, role))
            for name, agent in agents.items():
                if strict and agent.replaced:
                    who = "the strategy" if name == ME else "its opponent"
                    raise StrategyFailed(who, agent.replaced) from agent.replaced[0].error
            await asyncio.sleep(PAUSE)
        for agent in agents.values():
            await agent.close()
        return played

    async def _match(
        self, agents: dict[str, PlayerAgent], game: str, seed: bytes, round_id: int, role: Role
    ) -> PlayedMatch:
        seats = [
            friendly_match.assigned_player(name, _url(name), agent.history.values()) for name, agent in agents.items()
        ]
        a, b = seats if role == ROLES[0] else reversed(seats)
        world, began = self._world(), self._loop.time()
        referee = MatchRunner(
            world,
            friendly_match.assignment(world, (a, b), game, seed, round_id),
            friendly_match.REFEREE,
            lambda _match: None,
        )
        ruled = await friendly_match.play(referee)
        if isinstance(ruled, Void):
            raise RuntimeError(f"The match came to nothing: {ruled.reason}")  # noqa: TRY004 - the game broke down
        return _played(ruled.report, role, referee.transcript.entries(), self._loop.time() - began, agents[ME])

    async def league(self, players: dict[str, Player], game: str, seed: int) -> PlayedLeague:
        settings = Settings(
            league_id=friendly_match.LEAGUE, game_type=game, announce_lead=0.0, seed_hex=league_seed(seed).hex()
        )
        manager = Manager(self._world(), MemoryLog(), settings, MANAGER_URL, "adm-test", grant_ids=True)
        await manager.open()
        manager.conductor.start_when = (len(players), 1)
        self._network.listen(MANAGER_URL, manager.handle)
        referee = RefereeAgent(
            self._world(), manager_url=MANAGER_URL, endpoint=REFEREE_URL, name="Referee", max_concurrent=10
        )
        agents = {
            name: PlayerAgent(player, self._world(), MANAGER_URL, _url(own), seed=seed, wanted_id=own)
            for own, (name, player) in zip(map(player_id, count(1)), players.items(), strict=False)
        }
        everybody: list[Agent] = [referee, *agents.values()]
        try:
            async with asyncio.timeout(PATIENCE):
                for agent in everybody:
                    self._network.listen(agent.registrar.endpoint, agent.handle)
                    await agent.register()
                await manager.run()
                await asyncio.gather(*(agent.finished.wait() for agent in everybody))
        finally:
            for agent in everybody:
                await agent.close()
            await manager.close()
        return PlayedLeague(
            standings=[*manager.ledger.league.table.standings().values()],
            matches={name: tuple(agent.history.values()) for name, agent in agents.items()},
            replaced={name: agent.replaced for name, agent in agents.items()},
        )


def _in_virtual_time(seed: int, work: Callable[[_Hall], Coroutine[Any, Any, T]]) -> T:
    """Do some work in a new hall, to its end."""
    with asyncio.Runner(loop_factory=ProcessLoop) as runner:
        loop = runner.get_loop()
        if not isinstance(loop, ProcessLoop):
            raise TypeError("time is not virtual here")
        return runner.run(work(_Hall(loop, seed)))


def _url(own: str) -> str:
    return f"http://127.0.0.1:{8100 + int(own.removeprefix('P'))}/mcp"


def _played(
    report: MatchResultReport, role: Role, messages: list[TranscriptEntry], seconds: float, agent: PlayerAgent
) -> PlayedMatch:
    result, details = report.result, report.result.details
    outcome: Result = "WIN" if result.winner == ME else "LOSS"
    return PlayedMatch(
        match_id=report.match_id,
        game_type=report.game_type,
        role=role,
        result="DRAW" if details.status == "DRAW" else outcome,
        winner=result.winner,
        ruling=str(details.ruling),
        reason=agent.history[report.match_id].reason,
        choices=details.choices,
        drawn_number=details.drawn_number or None,
        position=details.position or {},
        messages=messages,
        seconds=seconds,
        replaced=[*agent.replaced],
    )
