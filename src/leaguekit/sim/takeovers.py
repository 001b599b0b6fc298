"""Two simulated managers on one database, behind a proxy: what happens to them, and what must be true meanwhile.

The manager that serves is killed, stopped, cut off or handed over, and the database is restarted, slow or away. One of
the two must serve within ``MAX_SECONDS`` of the latest fault if it can. A manager that was replaced must send nothing
any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from random import Random

from leaguekit.sim.database import ADDRESS, Database
from leaguekit.sim.faults import FaultPlan, HostFault
from leaguekit.sim.network import Network
from leaguekit.sim.processes import NO_OWNER, Process, ProcessLoop
from leaguekit.sim.proxy import Proxy
from leaguekit.store import postgres_lock
from leaguekit.store.memory import MemoryLogContent
from leaguekit.store.postgres import PostgresLog
from leaguekit.transport.memory import Address, address_of

log = logging.getLogger(__name__)

# A league must go on within this time when its manager is gone.
MAX_SECONDS = 10.0
CHECK_SECONDS = 0.25
# If statements took longer, an agent might never get the answer to its registration in time, and lose its matches.
MAX_STATEMENT_SECONDS = 1.0


class TakeoverScenario:
    """The database, the proxy at ``url``, and the faults of their hosts. ``urls`` are those of the managers, by name.

    ``kill`` crashes a process, and ``hand_over`` asks one to end. ``add_violation`` is called with each violation.
    """

    def __init__(
        self,
        loop: ProcessLoop,
        plan: FaultPlan,
        network: Network,
        content: MemoryLogContent,
        *,
        urls: Mapping[str, str],
        url: str,
        kill: Callable[[Process], None],
        hand_over: Callable[[Process], None],
        add_violation: Callable[[str], None],
        count: Callable[[str], None],
    ) -> None:
        self.database = Database(loop, content, self, plan.random_for("database"))
        self.database.on_takeover = self._note_takeover
        self._loop = loop
        self._plan = plan
        self._urls = urls
        self._kill, self._hand_over = kill, hand_over
        self._add_violation, self._count = add_violation, count
        self._rng: Random = plan.random_for("statements")
        # The latest process of each manager.
        self._processes: dict[str, Process] = {}
        # The manager that has taken the league over last; empty before the first.
        self._latest_writer = ""
        # Machines that are cut off from everything, and from the database alone, each with the number of such faults.
        self._cut_off: dict[str, int] = dict.fromkeys(urls, 0)
        self._without_database: dict[str, int] = dict.fromkeys(urls, 0)
        # How long a statement takes at most, by each fault that makes the database slow.
        self._statement_limits: list[float] = []
        self._slow_until = 0.0
        self._latest_fault_at = 0.0
        self._process = Process(loop, "proxy")
        self.proxy = Proxy(network, self._process, url, [*urls.values()])
        self._tasks = [self._process.start(self.proxy.check()), self._process.start(self._check_service())]
        for fault in plan.host_faults:
            loop.call_at(fault.at, self._inject, fault)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    # A manager's program

    async def stand_by(self, process: Process) -> postgres_lock.HeldLock:
        """Wait as ``league manager --standby`` does. Release the result when the store is closed."""
        self._processes[process.name] = process
        notify = partial(log.info, "%s")
        return await postgres_lock.stand_by(ADDRESS, notify, self.database.connect_for(process))

    async def open_log(self, process: Process) -> PostgresLog:
        return await PostgresLog.open(ADDRESS, self.database.connect_for(process))

    # Faults

    def is_connected(self, machine: str) -> bool:
        """Whether a machine and the database reach each other."""
        return not (self._cut_off[machine] or self._without_database[machine])

    def statement_seconds(self) -> float:
        return self._rng.uniform(0.0, max(self._statement_limits)) if self._statement_limits else 0.0003

    def is_cut_off(self, caller: str, address: Address) -> bool:
        """Whether a message of ``caller`` to an address is lost."""
        return any(
            cut and (name == caller or address_of(self._urls[name]) == address) for name, cut in self._cut_off.items()
        )

    def _inject(self, fault: HostFault) -> None:
        serving = self._latest_writer or next(iter(self._urls))
        name = serving if fault.serves else next(one for one in self._urls if one != serving)
        log.info("%s (%g s): %s", fault.kind, fault.seconds, name)
        self._count(fault.kind)
        self._latest_fault_at = self._loop.time()
        later = partial(self._loop.call_later, fault.seconds, context=NO_OWNER)
        match fault.kind:
            case "killed" | "machine died" | "stopped" | "handed over":
                process = self._processes[name]
                if process.alive:
                    self._inject_into_process(fault, process)
            case "cut off":
                self._add_faults(self._cut_off, [name], 1)
                later(self._add_faults, self._cut_off, [name], -1)
            case "no database" | "database away":
                names = [name] if fault.kind == "no database" else [*self._urls]
                self._add_faults(self._without_database, names, 1)
                later(self._add_faults, self._without_database, names, -1)
            case "database restart":
                self.database.restart(fault.seconds)
            case "database slow":
                limit = min(fault.seconds / 4, MAX_STATEMENT_SECONDS)
                self._statement_limits.append(limit)
                later(self._statement_limits.remove, limit)
                # The last slow statement ends then.
                self._slow_until = max(self._slow_until, self._loop.time() + fault.seconds + limit)

    def _inject_into_process(self, fault: HostFault, process: Process) -> None:
        match fault.kind:
            case "stopped":
                self._loop.suspend(process)
                self._loop.call_later(fault.seconds, self._loop.resume, process, context=NO_OWNER)
            case "handed over":
                self._hand_over(process)
            case _:
                self.database.crash(process, silently=fault.kind == "machine died")
                self._kill(process)

    def _add_faults(self, faults: dict[str, int], names: list[str], step: int) -> None:
        for name in names:
            faults[name] += step
        self.database.deliver()

    # Checks

    def check_sender(self, sender: str, body: bytes) -> None:
        """Check that a manager that sends something was not replaced.

        A ping does no harm, and neither does an error that says to try again.
        """
        is_harmless = not body or b'"method":"ping"' in body or b"E060" in body
        if sender in self._urls and sender != self._latest_writer and not is_harmless:
            what = body[:200].decode(errors="replace")
            self._add_violation(f"{sender} sent this after {self._latest_writer} had taken the league over: {what}")

    def _note_takeover(self, name: str) -> None:
        if self._latest_writer not in ("", name):
            self._count("takeover")
        self._latest_writer = name

    def _can_serve(self) -> bool:
        """Whether a manager is running and can reach the database."""
        if not self.database.is_up or self._loop.time() < self._slow_until:
            return False
        return any(
            process.alive and process.held is None and self.is_connected(name)
            for name, process in self._processes.items()
        )

    async def _check_service(self) -> None:
        """Check again and again that a manager serves the league if one can."""
        since = self._loop.time()
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now = self._loop.time()
            active = next((name for name, url in self._urls.items() if url == self.proxy.active), None)
            if not self._can_serve() or (active == self._latest_writer and active is not None):
                since = now
            elif now - max(since, self._latest_fault_at) > MAX_SECONDS:
                self._add_violation(f"no manager served the league for {MAX_SECONDS:.0f} s, and one could")
                since = now
