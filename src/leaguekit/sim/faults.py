"""The faults of one simulated league: of the network, disks, clocks, processes and hosts. The seed determines them all.

The rates differ from seed to seed: some leagues have a few faults of every kind, others many of one kind. After a while
no more faults are injected, so that every league can end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Literal, NamedTuple, get_args

from leaguekit.sim.network import Delivery, NetworkFault
from leaguekit.transport.memory import Address

FaultKind = Literal["none", "network", "crash", "outage", "all", "standby"]
# Player n listens at this port + n.
FIRST_PLAYERS_PORT = 8100
NETWORK_FAULTS: tuple[NetworkFault, ...] = ("lost", "refused", "reset", "mute", "twice")
# The standby manager, if there is one.
SECOND_MANAGER = "manager 2"
# What each fault is. Three are acts of the operator: with ``rematch`` and ``seat`` it repairs the consequences of a
# fault, and a late player is one that it adds.
MEANINGS = {
    "clock step": "the clock of an agent jumps",
    "cut off": "the machine of a manager is cut off from everything",
    "database away": "the network to the database is down",
    "database restart": "the database ends all connections, and accepts none for a time",
    "database slow": "each statement of the database takes long",
    "failing commit": "the database cannot store an event",
    "handed over": "a manager is asked to end, and is started again",
    "journal": "the disk fails while a referee writes down a ruling",
    "killed": "a manager is killed",
    "late player": "a player that the operator adds after the start",
    "lost": "a request never arrives",
    "machine died": "a manager is killed, and the database does not hear of it",
    "mute": "a request is handled, but the answer never arrives",
    "no database": "a manager is cut off from the database",
    "outage": "a call between the players and the others, who are cut off from each other",
    "refused": "a connection is refused",
    "rematch": "a match that was void too often is played again by the operator",
    "reset": "a request is handled, but the connection breaks before the answer",
    "seat": "an agent has lost its token, and the operator gives it a new one",
    "shortage": "a call by an agent whose machine cannot open connections, or has no route",
    "slow": "a request or an answer is late",
    "slow commit": "the database is slow",
    "slow disk": "writing a file is slow",
    "state": "the disk is full while an agent writes its own file",
    "stopped": "a manager is stopped for a time, and continued",
    "takeover": "a manager takes the league over from the other one",
    "twice": "a request arrives twice",
    "view": "the disk is full while the manager writes a file for other tools",
}


HostFaultKind = Literal[
    "killed",
    "machine died",
    "stopped",
    "handed over",
    "cut off",
    "no database",
    "database away",
    "database restart",
    "database slow",
]


class Crash(NamedTuple):
    """A process crashes at its n-th step (see ``Process.steps``), and is started again after a pause in seconds."""

    step: int
    pause: float


class Outage(NamedTuple):
    """A fault of a host between two moments.

    Without ``agent``, the manager and the referees are cut off from the players. With ``agent``, only calls of that
    agent fail: all of them if the fault is ``unable``, and otherwise those to players.
    """

    begins: float
    ends: float
    fault: NetworkFault
    agent: str | None = None

    def affects(self, caller: str, address: Address, now: float) -> bool:
        if not self.begins <= now < self.ends:
            return False
        if self.agent is not None:
            return caller == self.agent and (self.fault == "unable" or address[1] > FIRST_PLAYERS_PORT)
        return caller.startswith("player") != (address[1] > FIRST_PLAYERS_PORT)


class HostFault(NamedTuple):
    """A fault of a manager's machine or of the database. ``serves`` says whether it hits the manager that serves."""

    at: float
    kind: HostFaultKind
    seconds: float
    serves: bool = True


@dataclass(slots=True)
class FaultPlan:
    """The faults of one league. A rate is the share of messages, commits or writes that fail."""

    seed: int
    kind: FaultKind
    # The names of the agents; the first is the manager.
    agents: list[str]
    faults_end_at: float = 0.0
    rates: dict[str, float] = field(default_factory=dict)
    max_delay_seconds: float = 0.0
    crashes: dict[str, list[Crash]] = field(default_factory=dict)
    # (moment, agent, seconds): the agent's wall clock jumps by these seconds.
    clock_steps: list[tuple[float, str, float]] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    # Only if there are two managers.
    host_faults: list[HostFault] = field(default_factory=list)
    # The last agent is a player that the operator adds when this number of rounds is drawn. 0: no player is late.
    late_after_rounds: int = 0

    @property
    def players(self) -> int:
        """The number of players."""
        return sum(name.startswith("player") for name in self.agents)

    def random_for(self, *purpose: object) -> Random:
        """A random generator for one purpose. An additional draw from it does not change any other generator."""
        return Random(":".join(map(str, (self.seed, *purpose))))  # noqa: S311 - it must be reproducible


def make_fault_plan(seed: int, kind: FaultKind, agents: list[str], late_rounds: int = 0) -> FaultPlan:
    """Derive the faults from a seed, for a league of these agents. The first agent is the manager.

    ``late_rounds`` is the number of rounds after whose draw the format still takes players.
    """
    plan = FaultPlan(seed, kind, agents)
    rng = plan.random_for("plan")
    plan.faults_end_at = rng.choice((5.0, 20.0, 60.0, 180.0))
    plan.max_delay_seconds = rng.choice((0.05, 0.5, 3.0, 12.0))
    if kind in ("network", "all"):
        for fault in (*NETWORK_FAULTS, "slow"):
            plan.rates[fault] = rng.choice((0.0, 0.0, 0.01, 0.03, 0.1))
    if kind in ("crash", "all"):
        _add_crashes(plan, rng)
    if kind == "all":
        for fault in ("slow commit", "failing commit", "slow disk", "state", "view", "journal"):
            plan.rates[fault] = rng.choice((0.0, 0.0, 0.005, 0.02))
        for _ in range(rng.choice((0, 0, 1, 3))):
            seconds = rng.choice((-7200.0, -120.0, -2.0, 1.0, 45.0, 200.0, 86_400.0))
            plan.clock_steps.append((rng.uniform(0.0, plan.faults_end_at), rng.choice(agents), seconds))
    if kind in ("outage", "all"):
        _add_outages(plan)
    if kind == "all" and late_rounds:
        _add_late_player(plan, late_rounds)
    if kind == "standby":
        _add_host_faults(plan)
    return plan


def _add_crashes(plan: FaultPlan, rng: Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 3, 5, 8))):
        role = rng.choice(("manager", "referee", "player"))
        agent = rng.choice([name for name in plan.agents if name.startswith(role)])
        step = int(rng.uniform(1.0, _estimate_steps(role, plan.agents)))
        pause = rng.choice((0.0, 0.2, 1.0, 4.0, 9.0, 25.0))
        plan.crashes.setdefault(agent, []).append(Crash(step, pause))


def _add_host_faults(plan: FaultPlan) -> None:
    """Add a second manager, and let things happen to the two and to their database, one after the other."""
    rng = plan.random_for("standby")
    plan.agents = [*plan.agents, SECOND_MANAGER]
    at = 0.0
    for _ in range(rng.choice((1, 2, 3, 5))):
        # Without other faults a round takes less than a fifth of a second.
        at += rng.uniform(0.0, 0.2 * plan.players)
        kind: HostFaultKind = rng.choice(get_args(HostFaultKind))
        seconds = rng.choice((0.5, 3.0, 8.0, 20.0, 60.0))
        plan.host_faults.append(HostFault(at, kind, seconds, rng.random() < 0.8))
        at += rng.choice((0.0, 1.0, seconds, seconds + 8.0))
    plan.faults_end_at = max(fault.at + fault.seconds for fault in plan.host_faults)


def _add_late_player(plan: FaultPlan, late_rounds: int) -> None:
    """Add a player after the start, in half of the leagues. It crashes in a third of these."""
    rng = plan.random_for("late player")
    if rng.random() < 0.5:
        return
    plan.late_after_rounds = rng.randint(1, late_rounds)
    name = f"player {1 + plan.players}"
    plan.agents = [*plan.agents, name]
    if rng.random() < 1 / 3:
        plan.crashes[name] = [Crash(rng.randint(1, 40), rng.choice((0.0, 1.0, 9.0)))]


def _add_outages(plan: FaultPlan) -> None:
    """Cut hosts off, one after the other. If there are other faults too, do so in a third of the leagues only."""
    # A separate generator, so that the other faults of a seed stay the same.
    rng = plan.random_for("hosts")
    if plan.kind == "all" and rng.random() > 1 / 3:
        return
    # Without other faults a round takes less than a fifth of a second.
    at = rng.uniform(0.0, 0.2 * plan.players)
    for _ in range(rng.choice((1, 1, 2, 3))):
        agent = rng.choice((None, None, *plan.agents))
        fault: NetworkFault = "unable" if agent is not None else rng.choice(("lost", "refused", "unable"))
        ends = at + rng.choice((1.0, 4.0, 7.0, 10.0, 25.0, 90.0))
        plan.outages.append(Outage(at, ends, fault, agent))
        at = ends + rng.uniform(0.0, 1.0)
    _add_referee_outage(plan)
    plan.faults_end_at = max(plan.faults_end_at, *(outage.ends for outage in plan.outages))


def _add_referee_outage(plan: FaultPlan) -> None:
    """Cut the first referee off from the players, in half of the leagues that have a second referee."""
    rng = plan.random_for("referee")
    if "referee 2" not in plan.agents or rng.random() < 0.5:
        return
    begins = rng.uniform(0.0, 0.2 * plan.players)
    ends = begins + rng.choice((10.0, 40.0, 90.0))
    fault: NetworkFault = rng.choice(("lost", "no route"))
    if rng.random() < 0.25:
        fault = "refused"
    plan.outages.append(Outage(begins, ends, fault, "referee 1"))


def _estimate_steps(role: str, agents: list[str]) -> float:
    """Roughly the number of steps that an agent takes in such a league. A crash at a later step never happens."""
    players = sum(name.startswith("player") for name in agents)
    referees = sum(name.startswith("referee") for name in agents)
    matches = players * (players - 1) / 2
    return {"manager": 150 + 45 * matches, "referee": 20 + 40 * matches / referees, "player": 10 + 9 * players}[role]


class FaultInjector:
    """Decides by a plan which faults happen now, and counts them."""

    def __init__(self, plan: FaultPlan, now: Callable[[], float]) -> None:
        self.plan = plan
        self.injected: Counter[str] = Counter()
        self._now = now
        self._links: dict[tuple[str, Address], Random] = {}
        self._network_rates = {kind: rate for kind in (*NETWORK_FAULTS, "slow") if (rate := plan.rates.get(kind, 0.0))}
        self._has_delays = plan.kind != "none"

    def delivery_for(self, caller: str, address: Address) -> Delivery:
        """Decide how an exchange is delivered."""
        if not self._has_delays:
            return Delivery()
        link = self._links.get((caller, address))
        if link is None:
            link = self._links[caller, address] = self.plan.random_for("link", caller, *address)
        out, back, roll = link.uniform(0.0005, 0.02), link.uniform(0.0005, 0.02), link.random()
        now = self._now()
        for outage in self.plan.outages:
            if outage.affects(caller, address, now):
                self.injected["outage" if outage.agent is None else "shortage"] += 1
                return Delivery(out, back, outage.fault)
        if now < self.plan.faults_end_at:
            for kind, rate in self._network_rates.items():
                roll -= rate
                if roll < 0:
                    self.injected[kind] += 1
                    if kind == "slow":
                        slow = link.uniform(0.0, self.plan.max_delay_seconds)
                        return Delivery(out + slow, back) if link.random() < 0.5 else Delivery(out, back + slow)
                    return Delivery(out, back, kind, link.uniform(0.0, self.plan.max_delay_seconds))  # type: ignore[arg-type]
        return Delivery(out, back)

    def count(self, kind: str) -> None:
        """Count a fault, or an action of the operator because of one."""
        self.injected[kind] += 1

    def inject(self, kind: str, rng: Random) -> bool:
        """Decide whether a fault of this kind happens now, and count it."""
        rate = self.plan.rates.get(kind, 0.0)
        if not rate or self._now() >= self.plan.faults_end_at or rng.random() >= rate:
            return False
        self.injected[kind] += 1
        return True
