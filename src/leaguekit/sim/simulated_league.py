"""A whole league in one process: the real manager, referees and players, in virtual time and with injected faults.

Each agent is a simulated process. After a crash it is started again. A simulated operator acts where a real league
needs one.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET

from leaguekit.agents.registration import RegistrationRefused
from leaguekit.agents.serving import Agent, run_until
from leaguekit.agents.world import World
from leaguekit.league.settings import Settings, with_game
from leaguekit.manager.manager import Manager
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import codes
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.ids import player_id
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim.faults import FIRST_PLAYERS_PORT, SECOND_MANAGER, FaultInjector, FaultPlan
from leaguekit.sim.files import MemoryFiles, SimulatedDisk
from leaguekit.sim.log import SimLog
from leaguekit.sim.network import Delivery, Network, SimCaller
from leaguekit.sim.operator import Operator
from leaguekit.sim.outcome import MANAGER, LeagueSetup, Outcome, ReceivedGameOver
from leaguekit.sim.processes import Process, ProcessLoop
from leaguekit.sim.proxy import HEALTH
from leaguekit.store.base import EventLog, StoreError
from leaguekit.store.json_files import safe_name
from leaguekit.store.memory import MemoryLogContent
from leaguekit.transport.base import HttpAnswer
from leaguekit.transport.memory import Address

if TYPE_CHECKING:
    from leaguekit.sim.takeovers import TakeoverScenario

T = TypeVar("T")

MANAGER_URL = "http://127.0.0.1:8000/mcp"
# If there are two managers, a proxy is at that URL, and the managers at these.
MANAGERS = {MANAGER: "http://127.0.0.1:7001/mcp", SECOND_MANAGER: "http://127.0.0.1:7002/mcp"}
ADMIN_TOKEN = "adm-simulation"  # noqa: S105 - of a simulation
LEAGUE = "league_sim"
START_TIME = datetime(2030, 1, 1, tzinfo=UTC)
# In virtual time. A league that has not ended after this will never end.
MAX_LEAGUE_SECONDS = 6_000.0
MAX_REFUSALS = 5
STOPPING_SECONDS = 5.0
# A small number, so that small leagues are resumed from snapshots too.
SNAPSHOT_EVERY_EVENTS = 20
_TOKEN = re.compile(rb"tok-([a-z0-9]+)-[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class SimWorld(World):
    """A world in which blocking work takes virtual time and no thread."""

    blocking_delay: Callable[[], float] = lambda: 0.0

    async def blocking(self, work: Callable[..., T], *arguments: Any) -> T:
        if delay := self.blocking_delay():
            await asyncio.sleep(delay)
        return work(*arguments)


class SimulatedLeague:
    """One simulated league, from registration to its end."""

    def __init__(self, loop: ProcessLoop, plan: FaultPlan, setup: LeagueSetup) -> None:
        self.plan = plan
        self.setup = setup
        self.outcome = Outcome()
        self.fault_injector = FaultInjector(plan, loop.time)
        self.network = Network(self._delivery_for, plan.random_for("network"), self._inspect_message)
        self.disk = SimulatedDisk()
        self.log_content = MemoryLogContent()
        self.commits = 0
        # Called before and after each commit with its number. If it returns True, the manager crashes.
        self.at_commit: Callable[[Literal["before", "after"], int], bool] = lambda _moment, _number: False
        self.manager: Manager | None = None
        self._loop = loop
        self._clocks = dict.fromkeys(plan.agents, 0.0)
        self._runs = dict.fromkeys(plan.agents, 0)
        self._crash_rng = plan.random_for("crash")
        self._log: SimLog | None = None
        self._owners: dict[bytes, str] = {}
        self._ended: dict[Process, asyncio.Future[str]] = {}
        # The agents whose disk failed to store their state, and the seat codes that agents were given.
        self._lost_state: list[str] = []
        self._seats: dict[str, str] = {}
        count = self.fault_injector.count
        self._operator = Operator(self.network, Process(loop, "operator"), MANAGER_URL, ADMIN_TOKEN, count)
        self._league_over = asyncio.Event()
        # The events that end the managers, by process.
        self._stops: dict[Process, asyncio.Event] = {}
        self._is_closing = False
        self._takeovers: TakeoverScenario | None = None
        if plan.kind == "standby":
            self._takeovers = self._make_takeovers()

    def _make_takeovers(self) -> TakeoverScenario:
        # Only leagues with two managers need asyncpg.
        from leaguekit.sim.takeovers import TakeoverScenario  # noqa: PLC0415

        return TakeoverScenario(
            self._loop,
            self.plan,
            self.network,
            self.log_content,
            urls=MANAGERS,
            url=MANAGER_URL,
            kill=self.kill,
            hand_over=lambda process: self._stops[process].set(),
            add_violation=self._add_violation,
            count=self.fault_injector.count,
        )

    async def play(self) -> Outcome:
        """Play the league to its end, and stop all agents."""
        for at, agent, seconds in self.plan.clock_steps:
            self._loop.call_at(at, self._step_clock, agent, seconds)
        late = self.plan.agents[-1] if self.plan.late_after_rounds else None
        tasks = {
            name: asyncio.create_task(self._supervise(name) if name != late else self._supervise_late(name))
            for name in self.plan.agents
        }
        managers = [task for name, task in tasks.items() if name in MANAGERS]
        others = [task for name, task in tasks.items() if name not in MANAGERS]
        operator_task = asyncio.create_task(self._operator.settle_matches(lambda: self.manager))
        try:
            async with asyncio.timeout(MAX_LEAGUE_SECONDS):
                await asyncio.gather(self._league_over.wait(), *others)
                # Everything that the last calls started must end before the manager is closed.
                await asyncio.sleep(60)
                self._is_closing = True
                for stop in self._stops.values():
                    stop.set()
                await asyncio.gather(*managers)
        except TimeoutError:
            waiting = [process.name for process in self._ended if process.alive]
            over = "over" if self._league_over.is_set() else "not over"
            self._add_violation(
                f"after {MAX_LEAGUE_SECONDS:.0f} s the league is {over}, and these have not ended: {', '.join(waiting)}"
            )
        finally:
            if self._takeovers is not None:
                self._takeovers.close()
            for task in [operator_task, *tasks.values()]:
                task.cancel()
            await asyncio.wait([operator_task, *tasks.values()])
        if not self.outcome.violations and self.network.open_exchanges:
            self._add_violation(f"{len(self.network.open_exchanges)} connections are left")
        self.outcome.events, self.outcome.documents = self.log_content.events, self.log_content.documents
        self.outcome.seconds = self._loop.time()
        self.outcome.exchanges = self.network.exchanges
        self.outcome.injected = dict(self.fault_injector.injected)
        return self.outcome

    def _add_violation(self, text: str) -> None:
        self.outcome.violations.append(text)

    def _step_clock(self, agent: str, seconds: float) -> None:
        self._clocks[agent] += seconds
        self.fault_injector.count("clock step")

    # Processes

    async def _supervise(self, name: str) -> None:
        """Run an agent's program, and start it again until it ends normally."""
        programs = {MANAGER: self._run_manager, "referee": self._run_referee, "player": self._run_player}
        program = programs[name.partition(" ")[0]]
        crashes = iter(self.plan.crashes.get(name, ()))
        refusals = 0
        while True:
            process = Process(self._loop, name)
            ended = self._ended[process] = self._loop.create_future()
            crash = next(crashes, None) if self._loop.time() < self.plan.faults_end_at else None
            if crash is not None:
                process.crash_at_step = crash.step
                process.on_crash = lambda process=process: self.kill(process)  # type: ignore[misc]
            task = process.start(self._run_program(process, program))
            task.add_done_callback(lambda task, process=process: self._end(process, task))  # type: ignore[misc]
            end = await ended
            if end == "done" and (name not in MANAGERS or self._is_closing):
                return
            if end.startswith("refused"):
                # While faults are injected, they may be the reason for the refusal. Such refusals do not count.
                refusals += self._loop.time() > self.plan.faults_end_at
                if refusals == MAX_REFUSALS:
                    if name not in self._lost_state and self._has_token(name):
                        self._add_violation(f"{name} is {end} for good")
                        return
                    # The answer to its registration was lost, or its disk did not store it. The operator must help.
                    self._lost_state = [one for one in self._lost_state if one != name]
                    self._seats[name] = await self._operator.seat_for(self._id_of(name))
                    refusals = 0
            await asyncio.sleep(2.0 if crash is None or end != "crashed" else crash.pause)

    async def _supervise_late(self, name: str) -> None:
        """Run a player that the operator adds after the start, if the league still takes it then."""
        url, after = _player_url(name), self.plan.late_after_rounds
        if await self._operator.add_late_player(lambda: self.manager, after, url, self._display_name(name)):
            await self._supervise(name)

    def kill(self, process: Process) -> None:
        """Crash a process."""
        if not process.alive:
            return
        self.outcome.crashes += 1
        logging.getLogger(__name__).info("%s crashes at its step %d", process.name, process.steps)
        process.kill()
        self.network.crash(process)
        self.disk.crash(process, self._crash_rng)
        if process.name == MANAGER and self._log is not None:
            self._log.crash(self._crash_rng)
        self._ended[process].set_result("crashed")

    def _end(self, process: Process, task: asyncio.Task[str]) -> None:
        """Note the end of a program, and check that it left no task and no lock."""
        end = "failed"
        if task.cancelled():
            self._add_violation(f"{process.name} was cancelled")
        elif (error := task.exception()) is not None:
            self._add_violation(f"{process.name} ended with {error!r}")
            logging.getLogger(__name__).error("%s ended", process.name, exc_info=error)
        else:
            end = task.result()
        if left := self._loop.tasks_of(process):
            names = sorted(getattr(one.get_coro(), "__qualname__", "?") for one in left)
            self._add_violation(f"{process.name} ended and left {len(left)} tasks: {', '.join(names)}")
        self._loop.kill(process)
        self.network.crash(process)
        if any(holder is process for holder in self.disk.locks.values()):
            self._add_violation(f"{process.name} ended and left a lock")
        self._ended[process].set_result(end)

    async def _run_program(self, process: Process, program: Callable[[Process, World], Awaitable[None]]) -> str:
        try:
            await program(process, self._world(process))
        except StoreError as error:
            logging.getLogger(__name__).info("%s ends: %s", process.name, error)
            return "failed"
        except RegistrationRefused as error:
            logging.getLogger(__name__).info("%s is refused: %s", process.name, error)
            return f"refused ({error.reason})"
        return "done"

    def _world(self, process: Process) -> SimWorld:
        name = process.name
        self._runs[name] += 1
        run = self._runs[name]
        fails, slow = self.plan.random_for("disk", name, run), self.plan.random_for("slow disk", name, run)
        return SimWorld(
            SimCaller(self.network, process),
            Path("SHARED"),
            now=lambda: START_TIME + timedelta(seconds=self._loop.time() + self._clocks[name]),
            entropy=self.plan.random_for("entropy", name, run).randbytes,
            files=MemoryFiles(self.disk, process, lambda kind: self._disk_fails(name, kind, fails)),
            inline=True,
            blocking_delay=lambda: slow.uniform(0.0, 1.0) if self.fault_injector.inject("slow disk", slow) else 0.0,
        )

    def _disk_fails(self, name: str, kind: str, rng: Random) -> bool:
        fails = self.fault_injector.inject(kind, rng)
        if fails and kind == "state" and name not in self._lost_state:
            self._lost_state.append(name)
        return fails

    def _has_token(self, name: str) -> bool:
        """Whether an agent has a token on its disk."""
        role = name.partition(" ")[0]
        own = safe_name(self._display_name(name))
        return Path("SHARED", "agents", LEAGUE, f"{role}-{own}", "state.json") in self.disk.files

    def _display_name(self, name: str) -> str:
        role, _, number = name.partition(" ")
        return f"Referee {number}" if role == "referee" else f"{self._strategy_of(int(number))} {number}"

    def _strategy_of(self, number: int) -> str:
        return self.setup.strategies[(number - 1) % len(self.setup.strategies)]

    def _id_of(self, name: str) -> str:
        """The id of a registered agent."""
        if self.manager is None:
            return ""
        league = self.manager.ledger.league
        # The first referee of a name counts.
        ids = {one.meta.display_name: one.id for one in reversed(league.referees.values())}
        # A player that has lost its state and registers again gets another id. The player with the old id is out.
        ids |= {one.meta.display_name: one.id for one in reversed(league.players.values()) if one.out is None}
        return ids.get(self._display_name(name), "")

    def _manager_url(self, name: str) -> str:
        seat = self._seats.get(name)
        return MANAGER_URL if seat is None else codes.with_code(MANAGER_URL, "seat", seat)

    async def _run_manager(self, process: Process, world: World) -> None:
        stop = self._stops[process] = asyncio.Event()
        if self._is_closing:
            return
        if self._takeovers is None:
            rng = self.plan.random_for("commits", self._runs[MANAGER])
            self._log = SimLog(self.log_content, _LeagueCommitFaults(self, process, rng))
            await self._serve_league(process, world, self._log, MANAGER_URL, stop)
            return
        lock = await run_until(stop, self._takeovers.stand_by(process))
        if lock is not None:
            try:
                event_log, url = await self._takeovers.open_log(process), MANAGERS[process.name]
                await self._serve_league(process, world, event_log, url, stop, takes_over=lock.was_served)
            finally:
                lock.release()

    async def _serve_league(
        self,
        process: Process,
        world: World,
        event_log: EventLog,
        url: str,
        stop: asyncio.Event,
        *,
        takes_over: bool = False,
    ) -> None:
        """Serve the league at a URL until ``stop`` is set."""
        settings = with_game(
            Settings(
                league_id=LEAGUE,
                game_type=self.setup.game,
                announce_lead=0.0,
                format=self.setup.format or UNSET,
                seed_hex=self.plan.random_for("league").randbytes(32).hex(),
            )
        )
        manager = Manager(world, event_log, settings, MANAGER_URL, ADMIN_TOKEN, grant_ids=True, takes_over=takes_over)
        self.manager = manager
        manager.ledger.snapshot_every = SNAPSHOT_EVERY_EVENTS

        async def receive(path: str, body: bytes) -> HttpAnswer:
            if path == HEALTH:
                return HttpAnswer(200 if (await manager.ledger.health())[1] is None else 503, b"")
            return await manager.reports.receive_document(path, body)

        try:
            await manager.open()
        except StoreError:
            await manager.ledger.close()
            raise
        try:
            manager.runner.start_when = (self.setup.players, self.setup.referees)
            self.network.listen(url, process, manager.handle, receive)
            await run_until(stop, manager.run())
            if not stop.is_set():
                self._league_over.set()
                await run_until(stop, manager.serve_forever())
        finally:
            await self._stop(url, process)
            await manager.close()

    async def _run_referee(self, process: Process, world: World) -> None:
        url = f"http://127.0.0.1:{8000 + _number_of(process.name)}/mcp"
        manager_url, name = self._manager_url(process.name), self._display_name(process.name)
        agent = RefereeAgent(world, manager_url=manager_url, endpoint=url, name=name, max_concurrent=2)
        await self._serve(agent, url, process)

    async def _run_player(self, process: Process, world: World) -> None:
        number = _number_of(process.name)
        url = _player_url(process.name)
        player = Player(self._display_name(process.name), STRATEGIES[self._strategy_of(number)])
        wanted, manager_url = player_id(number), self._manager_url(process.name)
        agent = PlayerAgent(player, world, manager_url, url, seed=self.plan.seed, wanted_id=wanted)
        await self._serve(agent, url, process)

    async def _serve(self, agent: Agent, url: str, process: Process) -> None:
        """Run an agent, as ``agents.serving`` does with a socket."""
        self.network.listen(url, process, agent.handle)
        try:
            await agent.register()
            await agent.finished.wait()
        finally:
            await self._stop(url, process)
            await agent.close()

    async def _stop(self, url: str, process: Process) -> None:
        """Stop listening, and wait for the running handlers, as a server does."""
        self.network.close(url)
        run_until = self._loop.time() + STOPPING_SECONDS
        while self.network.is_answering(process) and self._loop.time() < run_until:  # noqa: ASYNC110 - virtual time costs nothing
            await asyncio.sleep(0.1)

    def _delivery_for(self, caller: str, address: Address) -> Delivery:
        """Decide how an exchange is delivered."""
        if self._takeovers is not None and self._takeovers.is_cut_off(caller, address):
            return Delivery(fault="lost")
        return self.fault_injector.delivery_for(caller, address)

    def _inspect_message(self, sender: str, receiver: str, body: bytes) -> None:
        """Note a GAME_OVER to a player, and check that no message reveals another agent's token."""
        if self._takeovers is not None:
            self._takeovers.check_sender(sender, body)
            sender, receiver = (MANAGER if name in _AT_MANAGER_URL else name for name in (sender, receiver))
            if sender == receiver:
                return
        if b'"GAME_OVER"' in body and receiver.startswith("player"):
            over = of_type(m.GameOver, decode(msgspec.json.decode(body, type=_Call).params))
            self.outcome.game_overs.append(ReceivedGameOver(receiver, over))
        for found in _TOKEN.finditer(body) if b"tok-" in body else ():
            agent = receiver if sender == MANAGER else sender
            owner = self._owners.setdefault(found[0], agent)
            if MANAGER not in (sender, receiver) or owner != agent:
                self._add_violation(f"{sender} showed {receiver} the token of {owner}, {found[1].decode()}")


def _player_url(name: str) -> str:
    return f"http://127.0.0.1:{FIRST_PLAYERS_PORT + _number_of(name)}/mcp"


def _number_of(name: str) -> int:
    return int(name.partition(" ")[2])


# The agents behind the manager's URL.
_AT_MANAGER_URL = (*MANAGERS, "proxy")


class _Call(msgspec.Struct):
    params: msgspec.Raw


class _LeagueCommitFaults:
    """The faults of the manager's commits, as the plan of the league says."""

    def __init__(self, league: SimulatedLeague, process: Process, rng: Random) -> None:
        self._league = league
        self._process = process
        self._rng = rng

    def delay(self) -> float:
        slow = self._league.fault_injector.inject("slow commit", self._rng)
        return self._rng.uniform(0.0, self._league.plan.max_delay_seconds) if slow else 0.0

    def failure(self) -> Literal["lost", "written"] | None:
        if not self._league.fault_injector.inject("failing commit", self._rng):
            return None
        return self._rng.choice(("lost", "written"))

    def reach(self, moment: Literal["before", "after"]) -> bool:
        self._league.commits += moment == "before"
        if self._league.at_commit(moment, self._league.commits):
            self._league.kill(self._process)
        return self._process.alive
