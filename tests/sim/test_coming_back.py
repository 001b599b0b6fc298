"""Agents that crash and come back while answers are lost, with a manager that was restarted too."""

from __future__ import annotations

import pytest

from leaguekit.sim.checks import violations
from leaguekit.sim.faults import Plan
from leaguekit.sim.network import Fate
from leaguekit.sim.outcome import Cast
from leaguekit.sim.runner import play
from leaguekit.sim.simulated_league import House
from leaguekit.transport.memory import Address

CAST = Cast(players=2, referees=1)
# How many answers of the manager are lost after the crash: to the ping; to whatever follows; to every ping.
LOST = (1, 2, 6)


@pytest.mark.parametrize("lost", LOST)
@pytest.mark.parametrize("agent", ["player 1", "referee 1"])
def test_an_agent_with_its_token_comes_back_although_answers_are_lost(agent: str, lost: int) -> None:
    def prepare(house: House) -> None:
        rest = [lost]

        def fate_of(caller: str, _address: Address) -> Fate:
            now = house._loop.time()
            if caller == agent and now > 1 and rest[0]:
                rest[0] -= 1
                return Fate(trouble="mute")
            # The league begins when player 2 is there, which is after the crash.
            return Fate(trouble="refused") if caller == "player 2" and now < 2 else Fate()

        def crash() -> None:
            for process in [one for one in house._ended if one.name in ("manager", agent)]:
                house.kill(process)

        house.network._fate_of = fate_of
        house._loop.call_at(1.0, crash)

    outcome = play(Plan(1, "none", CAST.agents()), CAST, prepare)
    assert outcome.crashes == 2
    assert violations(outcome, CAST) == []
