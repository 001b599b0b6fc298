"""Agents that crash and register again while answers are lost, with a manager that was restarted too."""

from __future__ import annotations

import pytest

from leaguekit.sim.checks import find_violations
from leaguekit.sim.faults import FaultPlan
from leaguekit.sim.network import Delivery
from leaguekit.sim.outcome import LeagueSetup
from leaguekit.sim.runner import play
from leaguekit.sim.simulated_league import SimulatedLeague
from leaguekit.transport.memory import Address

SETUP = LeagueSetup(players=2, referees=1)
# How many answers of the manager are lost after the crash: to the ping; to whatever follows; to every ping.
LOST = (1, 2, 6)


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("agent", ["player 1", "referee 1"])
def test_an_agent_with_its_token_comes_back_although_answers_are_lost(agent: str, lost: int) -> None:
    def prepare(league: SimulatedLeague) -> None:
        rest = [lost]

        def delivery_for(caller: str, _address: Address) -> Delivery:
            now = league._loop.time()
            if caller == agent and now > 1 and rest[0]:
                rest[0] -= 1
                return Delivery(fault="mute")
            # The league begins when player 2 is there, which is after the crash.
            return Delivery(fault="refused") if caller == "player 2" and now < 2 else Delivery()

        def crash() -> None:
            for process in [one for one in league._ended if one.name in ("manager", agent)]:
                league.kill(process)

        league.network._delivery_for = delivery_for
        league._loop.call_at(1.0, crash)

    outcome = play(FaultPlan(1, "none", SETUP.agent_names()), SETUP, prepare)
    assert outcome.crashes == 2
    assert find_violations(outcome, SETUP) == []
