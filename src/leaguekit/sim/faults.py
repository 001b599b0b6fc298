"""The faults of one simulated league, all from its seed: of the network, of disks, of clocks, of processes, of hosts.

Rates differ from seed to seed: some leagues have a little of everything, others much of one thing. After a while it is
calm, so that every league can end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Literal, NamedTuple

from leaguekit.sim.network import Fate, Trouble
from leaguekit.transport.memory import Address

Kinds = Literal["none", "network", "crash", "outage", "all"]
# Players listen at the ports after this one.
FIRST_PLAYERS_PORT = 8100
TROUBLES: tuple[Trouble, ...] = ("lost", "refused", "reset", "mute", "twice")


class Crash(NamedTuple):
    """A process dies when it is given its turn for the n-th time, and is started again after a pause."""

    turn: int
    pause: float


class Outage(NamedTuple):
    """A fault of a host, from one time to another.

    Without an agent, the manager and the referees are cut off from the players. An agent cannot call anybody if it is
    ``unable``, and otherwise no player.
    """

    begins: float
    ends: float
    trouble: Trouble
    agent: str | None = None

    def hits(self, caller: str, address: Address, now: float) -> bool:
        if not self.begins <= now < self.ends:
            return False
        if self.agent is not None:
            return caller == self.agent and (self.trouble == "unable" or address[1] > FIRST_PLAYERS_PORT)
        return caller.startswith("player") != (address[1] > FIRST_PLAYERS_PORT)


@dataclass(slots=True)
class Plan:
    """What goes wrong in one league. A rate is the share of messages, commits or writes that it hits."""

    seed: int
    kinds: Kinds
    agents: list[str]
    calm_at: float = 0.0
    rates: dict[str, float] = field(default_factory=dict)
    slow_by: float = 0.0
    crashes: dict[str, list[Crash]] = field(default_factory=dict)
    # When whose wall clock jumps by how many seconds.
    clock_steps: list[tuple[float, str, float]] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)

    def chance(self, *purpose: object) -> Random:
        """A source of chance of its own for each purpose, so that one more draw here changes nothing there."""
        return Random(":".join(map(str, (self.seed, *purpose))))  # noqa: S311 - it must come again


def plan_for(seed: int, kinds: Kinds, agents: list[str]) -> Plan:
    """The faults that a seed stands for, in a league of these agents; the first is the manager."""
    plan = Plan(seed, kinds, agents)
    chance = plan.chance("plan")
    plan.calm_at = chance.choice((5.0, 20.0, 60.0, 180.0))
    plan.slow_by = chance.choice((0.05, 0.5, 3.0, 12.0))
    if kinds in ("network", "all"):
        for trouble in (*TROUBLES, "slow"):
            plan.rates[trouble] = chance.choice((0.0, 0.0, 0.01, 0.03, 0.1))
    if kinds in ("crash", "all"):
        for _ in range(chance.choice((1, 1, 2, 3, 5, 8))):
            kind = chance.choice(("manager", "referee", "player"))
            agent = chance.choice([name for name in agents if name.startswith(kind)])
            turn = int(chance.uniform(1.0, _turns(kind, agents)))
            pause = chance.choice((0.0, 0.2, 1.0, 4.0, 9.0, 25.0))
            plan.crashes.setdefault(agent, []).append(Crash(turn, pause))
    if kinds == "all":
        for trouble in ("slow commit", "failing commit", "slow disk", "state", "view", "journal"):
            plan.rates[trouble] = chance.choice((0.0, 0.0, 0.005, 0.02))
        for _ in range(chance.choice((0, 0, 1, 3))):
            step = chance.choice((-7200.0, -120.0, -2.0, 1.0, 45.0, 200.0, 86_400.0))
            plan.clock_steps.append((chance.uniform(0.0, plan.calm_at), chance.choice(agents), step))
    if kinds in ("outage", "all"):
        _add_outages(plan)
    return plan


def _add_outages(plan: Plan) -> None:
    """Cut hosts off, one after the other; where there are other faults too, in a third of all leagues."""
    # A source of its own: a seed keeps its other faults.
    chance = plan.chance("hosts")
    if plan.kinds == "all" and chance.random() > 1 / 3:
        return
    # Without other faults a round takes less than a fifth of a second.
    at = chance.uniform(0.0, 0.2 * sum(name.startswith("player") for name in plan.agents))
    for _ in range(chance.choice((1, 1, 2, 3))):
        agent = chance.choice((None, None, *plan.agents))
        trouble: Trouble = "unable" if agent is not None else chance.choice(("lost", "refused", "unable"))
        ends = at + chance.choice((1.0, 4.0, 7.0, 10.0, 25.0, 90.0))
        plan.outages.append(Outage(at, ends, trouble, agent))
        at = ends + chance.uniform(0.0, 1.0)
    _cut_a_referee_off(plan)
    plan.calm_at = max(plan.calm_at, *(outage.ends for outage in plan.outages))


def _cut_a_referee_off(plan: Plan) -> None:
    """Cut one referee off from the players in half of the leagues that have another.

    It is never refused: in the middle of a game that cannot be told from a player that hides.
    """
    chance = plan.chance("referee")
    if "referee 2" not in plan.agents or chance.random() < 0.5:
        return
    begins = chance.uniform(0.0, 0.2 * sum(name.startswith("player") for name in plan.agents))
    ends = begins + chance.choice((10.0, 40.0, 90.0))
    trouble: Trouble = chance.choice(("lost", "no route"))
    plan.outages.append(Outage(begins, ends, trouble, "referee 1"))


def _turns(kind: str, agents: list[str]) -> float:
    """How often an agent has its turn in such a league, roughly: a crash at a later one never happens."""
    players = sum(name.startswith("player") for name in agents)
    referees = sum(name.startswith("referee") for name in agents)
    matches = players * (players - 1) / 2
    return {"manager": 150 + 45 * matches, "referee": 20 + 40 * matches / referees, "player": 10 + 9 * players}[kind]


class Weather:
    """Decides, as a plan says, what goes wrong now, and counts it."""

    def __init__(self, plan: Plan, now: Callable[[], float]) -> None:
        self.plan = plan
        self.injected: Counter[str] = Counter()
        self._now = now
        self._links: dict[tuple[str, Address], Random] = {}
        self._network = {kind: rate for kind in (*TROUBLES, "slow") if (rate := plan.rates.get(kind, 0.0))}
        self._delayed = plan.kinds != "none"

    def fate_of(self, caller: str, address: Address) -> Fate:
        """What becomes of an exchange."""
        if not self._delayed:
            return Fate()
        link = self._links.get((caller, address))
        if link is None:
            link = self._links[caller, address] = self.plan.chance("link", caller, *address)
        out, back, roll = link.uniform(0.0005, 0.02), link.uniform(0.0005, 0.02), link.random()
        now = self._now()
        for outage in self.plan.outages:
            if outage.hits(caller, address, now):
                self.injected["outage" if outage.agent is None else "shortage"] += 1
                return Fate(out, back, outage.trouble)
        if now < self.plan.calm_at:
            for kind, rate in self._network.items():
                roll -= rate
                if roll < 0:
                    self.injected[kind] += 1
                    if kind == "slow":
                        slow = link.uniform(0.0, self.plan.slow_by)
                        return Fate(out + slow, back) if link.random() < 0.5 else Fate(out, back + slow)
                    return Fate(out, back, kind, link.uniform(0.0, self.plan.slow_by))  # type: ignore[arg-type]
        return Fate(out, back)

    def hits(self, kind: str, chance: Random) -> bool:
        """Whether this happens now."""
        rate = self.plan.rates.get(kind, 0.0)
        if not rate or self._now() >= self.plan.calm_at or chance.random() >= rate:
            return False
        self.injected[kind] += 1
        return True
