"""Referees on other machines: a slow network that loses packets, and partitions, cost nobody a match."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from leaguekit.cli import main
from leaguekit.league import events as e
from tests.programs import Program
from tests.recovery.league_programs import wait_for_events
from tests.recovery.machines import Machines, skip_without_namespaces

pytestmark = [pytest.mark.longest]

MANAGER, FIRST, SECOND, PLAYERS = 1, 2, 3, 4
COUNT = 8
MATCHES = COUNT * (COUNT - 1) // 2
# A round trip takes 200 ms, and each direction loses 5 % of the packets.
SECONDS, LOSS = 0.1, 0.05


@pytest.fixture
def machines() -> Iterator[Machines]:
    skip_without_namespaces()
    with Machines(4, SECONDS, LOSS) as made:
        yield made


def test_referees_on_other_machines_behind_a_bad_network_cost_nobody_a_match(
    machines: Machines, tmp_path: Path
) -> None:
    store = tmp_path / "league.db"
    lan = f"lan={machines.addresses[MANAGER].rpartition('.')[0]}.0/24,127.0.0.0/8"

    with contextlib.ExitStack() as running:

        def start(machine: int, role: str, *arguments: str | Path) -> Program:
            shared = ("--data-dir", tmp_path / str(machine), "--host", machines.addresses[machine])
            return running.enter_context(Program(role, *shared, *arguments, command=machines.command(machine)))

        manager = start(
            MANAGER, "manager", "--allow", lan, "--port", "8000", "--store", store, "--announce-lead", "1",
            "--start-when", f"players={COUNT},referees=2",
        )  # fmt: skip
        code = Path(manager.said(r"referee code: (\S+)")[1]).read_text().strip()
        url = f"http://{machines.addresses[MANAGER]}:8000/mcp"
        for machine in (FIRST, SECOND):
            start(machine, "referee", "--allow", lan, "--port", "8001", "--manager", f"{url}?referee={code}")
        start(PLAYERS, "players", "--port", "8100", "--manager", url, "--count", str(COUNT), "--strategy", "random")

        wait_for_events(store, e.ResultRecorded, 2)
        # The first referee's machine is cut off from all others. The second referee goes on.
        with machines.partition((FIRST, MANAGER), (FIRST, SECOND), (FIRST, PLAYERS)):
            events = wait_for_events(store, e.RefereeLost, 1)
            wait_for_events(store, e.ResultRecorded, 3 + sum(isinstance(one, e.ResultRecorded) for one in events))
        events = wait_for_events(store, e.RefereeReturned, 1)
        # The second referee reaches the manager, and no player.
        with machines.partition((SECOND, PLAYERS)):
            wait_for_events(store, e.AttemptVoided, 1 + sum(isinstance(one, e.AttemptVoided) for one in events))
        events = wait_for_events(store, e.LeagueCompleted, 1)
    assert main(["verify", str(store)]) == 0
    results = [one for one in events if isinstance(one, e.ResultRecorded)]
    assert Counter(one.match_id for one in results) == Counter({one.match_id for one in results})
    assert len(results) == MATCHES
    assert [one.match_id for one in results if one.result.details.status == "TECHNICAL_LOSS"] == []
    assert [one for one in events if isinstance(one, e.MatchForfeited)] == []
    # The network was as bad as it was to be.
    assert machines.lost > LOSS / 2 * machines.carried
