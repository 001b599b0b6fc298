"""Play matches, series and leagues inside a unit test: real players and referees, in memory and in virtual time.

play_match    play one match between two strategies; the result has all messages
play_series   play several matches between the same two players, which remember them
play_league   play a whole league, with the real manager

No port is opened, and waiting takes no real time: an async strategy may sleep for an hour. The same seed gives the same
match. If a strategy raises, takes too long or makes an illegal move, the test fails with an explanation.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count, cycle, islice
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from leaguekit.agents.game_loading import known_name
from leaguekit.agents.logs import restored_logging
from leaguekit.agents.serving import Agent
from leaguekit.agents.world import World
from leaguekit.games import game as rules_of
from leaguekit.games.base import DEFAULT_GAME
from leaguekit.kit import friendly_match
from leaguekit.league.settings import Settings, with_game
from leaguekit.manager.manager import Manager
from leaguekit.match.draw import league_seed
from leaguekit.match.signals import Void
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.context import PastMatch, ReplacedMove, Result, Strategy
from leaguekit.player.decisions import CALLERS
from leaguekit.player.move_limit import move_timeout
from leaguekit.player.player import Player
from leaguekit.player.strategies import check_can_play
from leaguekit.player.strategy_loading import load
from leaguekit.protocol.fields import MatchRole
from leaguekit.protocol.ids import player_id
from leaguekit.protocol.messages import MatchResultReport, Standing, TranscriptEntry
from leaguekit.referee.match_runner import MatchRunner
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim.files import MemoryFiles, SimulatedDisk
from leaguekit.sim.processes import Process, ProcessLoop
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork

__all__ = ["PlayedLeague", "PlayedMatch", "StrategyFailed", "play_league", "play_match", "play_series"]

T = TypeVar("T")
# A function, the name of a strategy as `league player --strategy` takes it, or a whole player.
Entrant = Strategy | str | Player

ME, OPPONENT = "P01", "P02"
ROLES: tuple[MatchRole, MatchRole] = ("PLAYER_A", "PLAYER_B")
START_TIME = datetime(2030, 1, 1, tzinfo=UTC)
MANAGER_URL, REFEREE_URL = "http://127.0.0.1:8000/mcp", "http://127.0.0.1:8001/mcp"
# In virtual time. It is more than any league of a test needs.
MAX_LEAGUE_SECONDS = 1_000_000.0
# Between two matches the virtual clock must advance.
PAUSE_SECONDS = 0.01


class StrategyFailed(AssertionError):
    """A move of a strategy had to be replaced. The text says why. ``replaced`` lists these moves in order."""

    def __init__(self, name: str, replaced: Sequence[ReplacedMove]) -> None:
        self.replaced = [*replaced]
        # What a strategy raised is the cause of this exception, with its traceback.
        super().__init__(f"{name}: {replaced[0].summary}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedMatch:
    """A match that was played. The tested strategy is P01, its opponent P02."""

    match_id: str
    game_type: str
    # The side of P01, and the result for P01.
    role: MatchRole
    result: Result
    winner: str | None
    # From the closed list of rulings: WIN, DRAW, or the reason of a technical loss.
    ruling: str
    reason: str
    # The choice of each player, by its id. In a game of turns these are all its moves, such as "4,0,8".
    choices: dict[str, str | None]
    drawn_number: int | None
    # The game's last position.
    position: dict[str, Any]
    # All messages that the referee sent and received, in order.
    messages: list[TranscriptEntry] = field(repr=False)
    # The duration in virtual time.
    seconds: float
    # The moves of P01's strategy that were replaced. This is always empty if the match is strict.
    replaced: list[ReplacedMove] = field(default_factory=list)

    @property
    def choice(self) -> str | None:
        """The choice of P01."""
        return self.choices[ME]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedLeague:
    """A league that was played to its end."""

    standings: list[Standing]
    # The matches of each player by its name, the oldest first, as its strategy saw them.
    matches: dict[str, tuple[PastMatch, ...]]
    # The moves of each player that were replaced, by its name.
    replaced: dict[str, list[ReplacedMove]]

    @property
    def champion(self) -> str:
        """The name of the winner of the league."""
        return str(self.standings[0].display_name)


def play_match(
    choose: Entrant,
    opponent: Entrant = "random",
    *,
    game: str = DEFAULT_GAME,
    seed: int = 1,
    role: MatchRole = "PLAYER_A",
    strict: bool = True,
) -> PlayedMatch:
    """Play one match. ``role`` is the side of ``choose``: in a game of turns PLAYER_A begins.

    If it is ``strict``, raises StrategyFailed if a move of either player had to be replaced.
    """
    __tracebackhide__ = True
    return _play_series(choose, opponent, game, seed, [role], strict=strict)[0]


def play_series(
    choose: Entrant,
    opponent: Entrant = "random",
    *,
    matches: int = 10,
    game: str = DEFAULT_GAME,
    seed: int = 1,
    strict: bool = True,
) -> list[PlayedMatch]:
    """Play several matches between the same two players. They remember the matches and change sides each time.

    In a league a pair meets once, or twice with ``--rounds double``.
    """
    __tracebackhide__ = True
    return _play_series(choose, opponent, game, seed, [*islice(cycle(ROLES), matches)], strict=strict)


def play_league(
    players: Mapping[str, Entrant], *, game: str = DEFAULT_GAME, seed: int = 1, strict: bool = True
) -> PlayedLeague:
    """Play a whole league, from the registrations to the final table. ``players`` is by name; the first is P01."""
    __tracebackhide__ = True
    game = known_name(game)
    rules_of(game)
    if len(players) < 2:
        raise ValueError(f"a league needs at least two players, got {len(players)}")
    named_players = {name: _make_player(entrant, name, game) for name, entrant in players.items()}
    with _logged_unless(strict):
        played = _run_in_virtual_time(
            seed, lambda network: network.play_league(named_players, game, seed), strict=strict
        )
    for name, replaced in played.replaced.items():
        if strict and replaced:
            raise StrategyFailed(name, replaced) from replaced[0].error
    return played


def _play_series(
    choose: Entrant, opponent: Entrant, game: str, seed: int, roles: list[MatchRole], *, strict: bool
) -> list[PlayedMatch]:
    game = known_name(game)
    rules_of(game)
    pair = {ME: _make_player(choose, "P01", game), OPPONENT: _make_player(opponent, "P02", game)}
    __tracebackhide__ = True
    try:
        with _logged_unless(strict):
            return _run_in_virtual_time(
                seed, lambda network: network.play_series(pair, game, seed, roles, strict=strict), strict=strict
            )
    except StrategyFailed as failed:
        # Without the frames below, which say nothing about the strategy.
        raise failed.with_traceback(None) from failed.__cause__


@contextmanager
def _logged_unless(strict: bool) -> Iterator[None]:
    """A context in which the agents log, unless a failure ends the test. What they log would repeat its text."""
    with restored_logging() as package:
        if strict:
            package.setLevel(logging.CRITICAL + 1)
        yield


def _make_player(entrant: Entrant, name: str, game: str) -> Player:
    """A player. Raises CannotPlay if its strategy is a built-in one that cannot play the game."""
    if isinstance(entrant, Player):
        return Player(name, entrant.strategy, games=entrant.given_games, version=entrant.version)
    strategy = load(entrant) if isinstance(entrant, str) else entrant
    check_can_play(str(getattr(strategy, "__name__", strategy)), strategy, game)
    return Player(name, strategy)


class _TestNetwork:
    """A network in memory, and agents that are connected to it."""

    def __init__(self, loop: ProcessLoop, seed: int) -> None:
        self._network = MemoryNetwork()
        self._loop = loop
        self._files = MemoryFiles(SimulatedDisk(), Process(loop, "test"))
        self._random = Random(seed)  # noqa: S311 - it must be reproducible
        self._players: list[PlayerAgent] = []

    def has_replaced(self) -> bool:
        """Whether a move of a player had to be replaced."""
        return any(player.replaced for player in self._players)

    def _world(self) -> World:
        return World(
            MemoryCaller(self._network),
            Path("SHARED"),
            now=lambda: START_TIME + timedelta(seconds=self._loop.time()),
            entropy=self._random.randbytes,
            files=self._files,
            inline=True,
        )

    async def play_series(
        self, pair: dict[str, Player], game: str, seed: int, roles: list[MatchRole], *, strict: bool
    ) -> list[PlayedMatch]:
        agents = {
            name: friendly_match.unregistered_player(player, self._world(), name, _url(name), seed=seed)
            for name, player in pair.items()
        }
        self._players = [*agents.values()]
        for name, agent in agents.items():
            self._network.listen(_url(name), agent.handle)
        played = []
        for round_id, role in enumerate(roles, start=1):
            for agent in agents.values():
                agent.replaced.clear()
            played.append(await self._play_match(agents, game, league_seed(seed), round_id, role))
            for name, agent in agents.items():
                if strict and agent.replaced:
                    who = "the strategy" if name == ME else "its opponent"
                    raise StrategyFailed(who, agent.replaced) from agent.replaced[0].error
            await asyncio.sleep(PAUSE_SECONDS)
        for agent in agents.values():
            await agent.close()
        return played

    async def _play_match(
        self, agents: dict[str, PlayerAgent], game: str, seed: bytes, round_id: int, role: MatchRole
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
        ruling = await friendly_match.play(referee)
        if isinstance(ruling, Void):
            raise RuntimeError(f"The match came to nothing: {ruling.reason}")  # noqa: TRY004 - the game broke down
        return _summarize(ruling.report, role, referee.transcript.entries(), self._loop.time() - began, agents[ME])

    async def play_league(self, players: dict[str, Player], game: str, seed: int) -> PlayedLeague:
        settings = with_game(
            Settings(
                league_id=friendly_match.LEAGUE, game_type=game, announce_lead=0.0, seed_hex=league_seed(seed).hex()
            )
        )
        manager = Manager(self._world(), MemoryLog(), settings, MANAGER_URL, "adm-test", grant_ids=True)
        await manager.open()
        manager.runner.start_when = (len(players), 1)
        self._network.listen(MANAGER_URL, manager.handle, manager.reports.receive_document)
        referee = RefereeAgent(
            self._world(), manager_url=MANAGER_URL, endpoint=REFEREE_URL, name="Referee", max_concurrent=10
        )
        agents = {
            name: PlayerAgent(player, self._world(), MANAGER_URL, _url(own_id), seed=seed, wanted_id=own_id)
            for own_id, (name, player) in zip(map(player_id, count(1)), players.items(), strict=False)
        }
        self._players = [*agents.values()]
        all_agents: list[Agent] = [referee, *self._players]
        try:
            async with asyncio.timeout(MAX_LEAGUE_SECONDS):
                for agent in all_agents:
                    self._network.listen(agent.registrar.endpoint, agent.handle)
                    await agent.register()
                await manager.run()
                await asyncio.gather(*(agent.finished.wait() for agent in all_agents))
        finally:
            for agent in all_agents:
                await agent.close()
            await manager.close()
        return PlayedLeague(
            standings=[*manager.ledger.league.table.standings().values()],
            matches={name: tuple(agent.history.values()) for name, agent in agents.items()},
            replaced={name: agent.replaced for name, agent in agents.items()},
        )


def _run_in_virtual_time(seed: int, work: Callable[[_TestNetwork], Coroutine[Any, Any, T]], *, strict: bool) -> T:
    """Do some work with a new network in virtual time."""
    with asyncio.Runner(loop_factory=ProcessLoop) as runner:
        loop = runner.get_loop()
        if not isinstance(loop, ProcessLoop):
            raise TypeError("time is not virtual here")
        network = _TestNetwork(loop, seed)
        # The first replaced move fails a strict test: it does not wait for the later moves.
        with move_timeout(*CALLERS, is_ending=lambda: strict and network.has_replaced()):
            # With runner.run, the first Ctrl-C would not reach a strategy that does not return.
            return loop.run_until_complete(work(network))


def _url(own_id: str) -> str:
    return f"http://127.0.0.1:{8100 + int(own_id.removeprefix('P'))}/mcp"


def _summarize(
    report: MatchResultReport, role: MatchRole, messages: list[TranscriptEntry], seconds: float, agent: PlayerAgent
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
