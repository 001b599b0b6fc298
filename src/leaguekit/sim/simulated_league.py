"""A whole league in one process: the real manager, referees and players, in virtual time and in whatever weather.

Each agent is a simulated process that is started again when it has crashed, as its operator would. The house calls
the operator where one is needed.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar

import msgspec

from leaguekit.agents.registration import RegistrationRefused
from leaguekit.agents.serving import Agent, until
from leaguekit.agents.world import World
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.player.player import Player, PlayerAgent
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import codes
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import player_id
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim.faults import FIRST_PLAYERS_PORT, Plan, Weather
from leaguekit.sim.files import Drive, MemoryFiles
from leaguekit.sim.log import SimLog
from leaguekit.sim.network import Network, SimCaller
from leaguekit.sim.operator import Operator
from leaguekit.sim.outcome import MANAGER, Cast, Outcome, Told
from leaguekit.sim.processes import Process, ProcessLoop
from leaguekit.store.base import StoreError
from leaguekit.store.files import safe_name
from leaguekit.store.memory import MemoryDisk
from leaguekit.transport.base import HttpAnswer

T = TypeVar("T")

MANAGER_URL = "http://127.0.0.1:8000/mcp"
ADMIN = "adm-simulation"
LEAGUE = "league_sim"
BEGAN = datetime(2030, 1, 1, tzinfo=UTC)
# Virtual seconds: after this a league that has not ended never will.
PATIENCE = 6_000.0
MAX_REFUSALS = 5
STOPPING_SECONDS = 5.0
# Often, so that small leagues are taken up from snapshots too.
SNAPSHOT_EVERY = 20
_TOKEN = re.compile(rb"tok-([a-z0-9]+)-[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class SimWorld(World):
    """A world in which blocking work takes its time, without threads."""

    pause: Callable[[], float] = lambda: 0.0

    async def blocking(self, work: Callable[..., T], *arguments: Any) -> T:
        if pause := self.pause():
            await asyncio.sleep(pause)
        return work(*arguments)


class House:
    """One league. ``play`` it."""

    def __init__(self, loop: ProcessLoop, plan: Plan, cast: Cast) -> None:
        self.plan = plan
        self.cast = cast
        self.outcome = Outcome()
        self.weather = Weather(plan, loop.time)
        self.network = Network(self.weather.fate_of, plan.chance("network"), self._saw)
        self.drive = Drive()
        self.disk = MemoryDisk()
        self.commits = 0
        # Lets a test end the manager at a commit: its number, and whether it is done.
        self.at_commit: Callable[[Literal["before", "after"], int], bool] = lambda _moment, _number: False
        self.manager: Manager | None = None
        self._loop = loop
        self._clocks = dict.fromkeys(plan.agents, 0.0)
        self._runs = dict.fromkeys(plan.agents, 0)
        self._crash_chance = plan.chance("crash")
        self._log: SimLog | None = None
        self._owners: dict[bytes, str] = {}
        self._ended: dict[Process, asyncio.Future[str]] = {}
        # Whose disk has failed to keep something of its own, in order; and who has been given a seat.
        self._forgetful: list[str] = []
        self._seats: dict[str, str] = {}
        self._operator = Operator(self.network, Process(loop, "operator"), MANAGER_URL, ADMIN, self._helped)
        self._league_over = asyncio.Event()
        self._closing = asyncio.Event()

    async def play(self) -> Outcome:
        """Play the league to its end, and let everybody go."""
        for at, agent, seconds in self.plan.clock_steps:
            self._loop.call_at(at, self._step_clock, agent, seconds)
        keeping = [asyncio.create_task(self._keep(name)) for name in self.plan.agents]
        operating = asyncio.create_task(self._operator.settle_matches(lambda: self.manager))
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(self._league_over.wait(), *keeping[1:])
                # What its last calls have set off is over before everything is closed.
                await asyncio.sleep(60)
                self._closing.set()
                await keeping[0]
        except TimeoutError:
            waiting = [process.name for process in self._ended if process.alive]
            over = "over" if self._league_over.is_set() else "not over"
            self._fault(f"after {PATIENCE:.0f} s the league is {over}, and these have not ended: {', '.join(waiting)}")
        finally:
            for task in [operating, *keeping]:
                task.cancel()
            await asyncio.wait([operating, *keeping])
        if not self.outcome.faults and self.network.open:
            self._fault(f"{len(self.network.open)} connections are left")
        self.outcome.events, self.outcome.kept = self.disk.events, self.disk.kept
        self.outcome.seconds = self._loop.time()
        self.outcome.exchanges = self.network.exchanges
        self.outcome.injected = dict(self.weather.injected)
        return self.outcome

    def _fault(self, text: str) -> None:
        self.outcome.faults.append(text)

    def _step_clock(self, agent: str, seconds: float) -> None:
        self._clocks[agent] += seconds
        self.weather.injected["clock step"] += 1

    def _helped(self, what: str) -> None:
        self.weather.injected[what] += 1

    # Processes

    async def _keep(self, name: str) -> None:
        """Run an agent's program, again and again until it has ended by itself."""
        program = self._program_of(name)
        crashes = iter(self.plan.crashes.get(name, ()))
        refusals = 0
        while True:
            process = Process(self._loop, name)
            ended = self._ended[process] = self._loop.create_future()
            crash = next(crashes, None) if self._loop.time() < self.plan.calm_at else None
            if crash is not None:
                process.crash_at, process.crash = crash.turn, lambda process=process: self.kill(process)  # type: ignore[misc]
            task = process.start(self._run(name, process, program))
            task.add_done_callback(lambda task, process=process: self._end(process, task))  # type: ignore[misc]
            how = await ended
            if how == "done":
                return
            if how.startswith("refused"):
                # While much goes wrong a registration may be refused because of that, and is worth another try.
                refusals += self._loop.time() > self.plan.calm_at
                if refusals == MAX_REFUSALS:
                    if name not in self._forgetful and self._has_token(name):
                        self._fault(f"{name} is {how} for good")
                        return
                    # The answer to its registration was lost, or its disk did not keep it: a case for the operator.
                    self._forgetful = [one for one in self._forgetful if one != name]
                    self._seats[name] = await self._operator.seat_for(self._id_of(name))
                    refusals = 0
            await asyncio.sleep(2.0 if crash is None or how != "crashed" else crash.pause)

    def kill(self, process: Process) -> None:
        """Crash a process."""
        if not process.alive:
            return
        self.outcome.crashes += 1
        logging.getLogger(__name__).info("%s crashes at its turn %d", process.name, process.turns)
        process.kill()
        self.network.crash(process)
        self.drive.crash(process, self._crash_chance)
        if process.name == MANAGER and self._log is not None:
            self._log.crash(self._crash_chance)
        self._ended[process].set_result("crashed")

    def _end(self, process: Process, task: asyncio.Task[str]) -> None:
        """A program has ended: nothing of it may be left."""
        how = "failed"
        if task.cancelled():
            self._fault(f"{process.name} was cancelled")
        elif (error := task.exception()) is not None:
            self._fault(f"{process.name} ended with {error!r}")
            logging.getLogger(__name__).error("%s ended", process.name, exc_info=error)
        else:
            how = task.result()
        if left := self._loop.tasks_of(process):
            names = sorted(getattr(one.get_coro(), "__qualname__", "?") for one in left)
            self._fault(f"{process.name} ended and left {len(left)} tasks: {', '.join(names)}")
        self._loop.kill(process)
        self.network.crash(process)
        if any(holder is process for holder in self.drive.locks.values()):
            self._fault(f"{process.name} ended and left a lock")
        self._ended[process].set_result(how)

    async def _run(self, name: str, process: Process, program: Callable[[Process, World], Awaitable[None]]) -> str:
        try:
            await program(process, self._world(name, process))
        except StoreError as error:
            logging.getLogger(__name__).info("%s ends: %s", name, error)
            return "failed"
        except RegistrationRefused as error:
            logging.getLogger(__name__).info("%s is refused: %s", name, error)
            return f"refused ({error.reason})"
        return "done"

    def _world(self, name: str, process: Process) -> SimWorld:
        self._runs[name] += 1
        run = self._runs[name]
        fails, slow = self.plan.chance("disk", name, run), self.plan.chance("slow disk", name, run)
        return SimWorld(
            SimCaller(self.network, process),
            Path("SHARED"),
            now=lambda: BEGAN + timedelta(seconds=self._loop.time() + self._clocks[name]),
            entropy=self.plan.chance("entropy", name, run).randbytes,
            files=MemoryFiles(self.drive, process, lambda what: self._disk_fails(name, what, fails)),
            inline=True,
            pause=lambda: slow.uniform(0.0, 1.0) if self.weather.hits("slow disk", slow) else 0.0,
        )

    def _disk_fails(self, name: str, what: str, chance: Random) -> bool:
        fails = self.weather.hits(what, chance)
        if fails and what == "state" and name not in self._forgetful:
            self._forgetful.append(name)
        return fails

    def _has_token(self, name: str) -> bool:
        """Whether an agent has a token on its disk."""
        role, _, number = name.partition(" ")
        own = f"Referee {number}" if role == "referee" else self._player_name(int(number))
        return Path("SHARED", "agents", LEAGUE, f"{role}-{safe_name(own)}", "state.json") in self.drive.files

    def _player_name(self, number: int) -> str:
        return f"{self._strategy(number)} {number}"

    def _strategy(self, number: int) -> str:
        return self.cast.strategies[(number - 1) % len(self.cast.strategies)]

    def _id_of(self, name: str) -> str:
        """The id of an agent that has been registered."""
        role, _, number = name.partition(" ")
        if self.manager is None:
            return ""
        league = self.manager.ledger.league
        if role == "referee":
            called = f"Referee {number}"
            return next((one.id for one in league.referees.values() if one.meta.display_name == called), "")
        # A player that has forgotten its registration gets its endpoint back, and another id.
        players = [one for one in league.players.values() if one.meta.display_name == self._player_name(int(number))]
        return next((one.id for one in players if one.out is None), "")

    def _manager_url(self, name: str) -> str:
        seat = self._seats.get(name)
        return MANAGER_URL if seat is None else codes.with_code(MANAGER_URL, "seat", seat)

    def _program_of(self, name: str) -> Callable[[Process, World], Coroutine[Any, Any, None]]:
        role, _, number = name.partition(" ")
        if role == MANAGER:
            return self._manage
        if role == "referee":
            return lambda process, world: self._referee(int(number), process, world)
        return lambda process, world: self._play(int(number), process, world)

    async def _manage(self, process: Process, world: World) -> None:
        settings = Settings(
            league_id=LEAGUE,
            game_type=self.cast.game,
            announce_lead=0.0,
            seed_hex=self.plan.chance("league").randbytes(32).hex(),
        )
        self._log = SimLog(self.disk, _Commits(self, process, self.plan.chance("commits", self._runs[MANAGER])))
        self.manager = manager = Manager(world, self._log, settings, MANAGER_URL, ADMIN, grant_ids=True)
        manager.ledger.snapshot_every = SNAPSHOT_EVERY
        try:
            await manager.open()
            manager.conductor.start_when = (self.cast.players, self.cast.referees)
            self.network.listen(MANAGER_URL, process, manager.handle, _Transcripts(manager).take)
            await manager.run()
            self._league_over.set()
            await until(self._closing, manager.serve_on())
        finally:
            await self._stop(MANAGER_URL, process)
            await manager.close()

    async def _referee(self, number: int, process: Process, world: World) -> None:
        url = f"http://127.0.0.1:{8000 + number}/mcp"
        name = f"Referee {number}"
        agent = RefereeAgent(
            world, manager_url=self._manager_url(f"referee {number}"), endpoint=url, name=name, max_concurrent=2
        )
        await self._serve(agent, url, process)

    async def _play(self, number: int, process: Process, world: World) -> None:
        url = f"http://127.0.0.1:{FIRST_PLAYERS_PORT + number}/mcp"
        player = Player(self._player_name(number), STRATEGIES[self._strategy(number)])
        wanted = player_id(number)
        agent = PlayerAgent(
            player, world, self._manager_url(f"player {number}"), url, seed=self.plan.seed, wanted_id=wanted
        )
        await self._serve(agent, url, process)

    async def _serve(self, agent: Agent, url: str, process: Process) -> None:
        """As agents.serving does with a socket."""
        self.network.listen(url, process, agent.handle)
        try:
            await agent.register()
            await agent.finished.wait()
        finally:
            await self._stop(url, process)
            await agent.close()

    async def _stop(self, url: str, process: Process) -> None:
        """Listen no more; a server that ends lets its handlers finish."""
        self.network.close(url)
        until = self._loop.time() + STOPPING_SECONDS
        while self.network.busy(process) and self._loop.time() < until:  # noqa: ASYNC110 - virtual time costs nothing
            await asyncio.sleep(0.1)

    # What is seen

    def _saw(self, sender: str, receiver: str, body: bytes) -> None:
        """Look at a message: what players are told, and whose token it shows to whom."""
        if b'"GAME_OVER"' in body and receiver.startswith("player"):
            over = of_type(m.GameOver, decode(msgspec.json.decode(body, type=_Called).params))
            self.outcome.told.append(Told(receiver, over))
        for found in _TOKEN.finditer(body) if b"tok-" in body else ():
            agent = receiver if sender == MANAGER else sender
            owner = self._owners.setdefault(found[0], agent)
            if MANAGER not in (sender, receiver) or owner != agent:
                self._fault(f"{sender} showed {receiver} the token of {owner}, {found[1].decode()}")


class _Called(msgspec.Struct):
    params: msgspec.Raw


class _Transcripts:
    """What the manager's server does with a transcript."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    async def take(self, path: str, body: bytes) -> HttpAnswer:
        try:
            await self._manager.keep_transcript(of_type(m.MatchTranscript, decode(body)), path.rpartition("/")[2])
        except ProtocolError as error:
            return HttpAnswer(400, str(error).encode())
        return HttpAnswer(200, b"{}")


class _Commits:
    def __init__(self, house: House, process: Process, chance: Random) -> None:
        self._house = house
        self._process = process
        self._chance = chance

    def delay(self) -> float:
        slow = self._house.weather.hits("slow commit", self._chance)
        return self._chance.uniform(0.0, self._house.plan.slow_by) if slow else 0.0

    def fails(self) -> Literal["lost", "written"] | None:
        if not self._house.weather.hits("failing commit", self._chance):
            return None
        return self._chance.choice(("lost", "written"))

    def at(self, moment: Literal["before", "after"]) -> bool:
        self._house.commits += moment == "before"
        if self._house.at_commit(moment, self._house.commits):
            self._house.kill(self._process)
        return self._process.alive
