"""Other machines: slow networks, lost packets and partitions cost nobody a match, and do not stop a league."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from leaguekit.cli import main
from leaguekit.league import events as e
from tests.postgres import Server, running
from tests.programs import Program
from tests.recovery.league_programs import read_events, wait_for_events
from tests.recovery.machines import Machines, skip_without_namespaces

pytestmark = [pytest.mark.longest]

MANAGER, FIRST, SECOND, PLAYERS = 1, 2, 3, 4
COUNT = 8
MATCHES = COUNT * (COUNT - 1) // 2
# The machines of a league with a standby.
ACTIVE, STANDBY, DATABASE, PROXY, AGENTS = range(1, 6)
# A league must go on within this time when its manager is gone.
MAX_SECONDS = 10.0
STRATEGY = """
import asyncio

async def choose(context):
    await asyncio.sleep(0.7)
    return "even"
"""
# A round trip takes 200 ms, and each direction loses 5 % of the packets.
SECONDS, LOSS = 0.1, 0.05


@pytest.fixture
def machines() -> Iterator[Machines]:
    skip_without_namespaces()
    with Machines(4, SECONDS, LOSS) as made:
        yield made


@pytest.fixture
def good_machines() -> Iterator[Machines]:
    """Five machines in a good network."""
    skip_without_namespaces()
    with Machines(5, 0.0005, 0.0) as made:
        yield made


@pytest.fixture
def database(postgres_server: Server, good_machines: Machines) -> Iterator[Server]:
    """A PostgreSQL on a machine of its own. The test reaches it by its socket, whatever happens to the network."""
    with running("listen_addresses=*", "fsync=off", inside=good_machines.inside(DATABASE)) as server:
        yield server


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


@pytest.mark.parametrize("unreachable", [(STANDBY, DATABASE, PROXY, AGENTS), (DATABASE,)], ids=["all", "database"])
def test_a_league_goes_on_within_ten_seconds_when_the_machine_of_its_manager_is_cut_off(
    good_machines: Machines, database: Server, tmp_path: Path, unreachable: tuple[int, ...]
) -> None:
    machines, store = good_machines, database.url()
    lan = f"lan={machines.addresses[ACTIVE].rpartition('.')[0]}.0/24,127.0.0.0/8"
    url = f"http://{machines.addresses[PROXY]}:8000/mcp"
    strategy = tmp_path / "slow.py"
    strategy.write_text(STRATEGY)

    with contextlib.ExitStack() as programs:

        def start(machine: int, *arguments: str | Path) -> Program:
            shared = ("--data-dir", tmp_path / str(machine), "--host", machines.addresses[machine])
            return programs.enter_context(Program(*arguments, *shared, command=machines.command(machine)))

        def start_manager(machine: int) -> Program:
            return start(
                machine, "manager", "--standby", "--port", "8000", "--endpoint", url, "--announce-lead", "0.2",
                "--store", f"postgresql://postgres@{machines.addresses[DATABASE]}/postgres", "--league-id", "cut",
                "--start-when", f"players={COUNT},referees=2", "--proxy", machines.addresses[PROXY], "--allow", lan,
            )  # fmt: skip

        active = start_manager(ACTIVE)
        code = Path(active.said(r"referee code: (\S+)")[1]).read_text().strip()
        standby = start_manager(STANDBY)
        standby.said("serves this league. This one waits")
        managers = [f"{machines.addresses[number]}:8000" for number in (ACTIVE, STANDBY)]
        proxy = (*machines.inside(PROXY), sys.executable, "-m", "tests.recovery.health_proxy")
        programs.enter_context(Program(f"{machines.addresses[PROXY]}:8000", *managers, command=proxy))
        referee = ("--allow", lan, "--manager", f"{url}?referee={code}", "--max-concurrent", "2")
        for port in ("8001", "8002"):
            start(AGENTS, "referee", *referee, "--port", port, "--name", f"Referee {port}")
        players = ("--count", str(COUNT), "--strategy", f"{strategy}:choose")
        start(AGENTS, "players", "--port", "8100", "--manager", url, *players)

        wait_for_events(store, e.ResultRecorded, 3)
        played = sum(isinstance(one, e.ResultRecorded) for one in read_events(store))
        with machines.partition(*((ACTIVE, other) for other in unreachable)):
            began = time.monotonic()
            wait_for_events(store, e.ResultRecorded, played + 1, 60)
            seconds = time.monotonic() - began
            active.said("The league waits for its store: no answer for", 60)
            wait_for_events(store, e.LeagueCompleted, 1)
        sys.stdout.write(f"The next result came after {seconds:.1f} s.\n")
        assert seconds < MAX_SECONDS
        assert active.ended(60) == 2
        assert "another manager has taken this league over" in active.stderr
        assert "Traceback" not in active.stderr
    assert main(["verify", store]) == 0
    events = read_events(store)
    results = [one for one in events if isinstance(one, e.ResultRecorded)]
    assert Counter(one.match_id for one in results) == Counter({one.match_id for one in results})
    assert len(results) == MATCHES
    assert [one for one in events if isinstance(one, (e.MatchForfeited, e.AttemptVoided))] == []
