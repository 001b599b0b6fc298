"""Real processes in two network namespaces, between which the network goes down and comes back."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from leaguekit.league import events as e
from tests.programs import Program
from tests.recovery.league_programs import wait_for_events
from tests.recovery.machines import ip, skip_without_namespaces

PLAYERS = 6
SECONDS = 25.0
HOST, FAR = "10.77.0.1", "10.77.0.2"


pytestmark = [pytest.mark.longest]


@pytest.fixture
def networks() -> Iterator[tuple[str, str]]:
    """The namespace of the manager and the referee, and that of the players, with a cable between them."""
    skip_without_namespaces()
    here, there = f"leaguekit-here-{os.getpid()}", f"leaguekit-there-{os.getpid()}"
    try:
        for name in (here, there):
            assert ip("netns", "add", name)
            assert ip("-n", name, "link", "set", "lo", "up")
        assert ip("-n", here, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", there)
        for name, address in ((here, HOST), (there, FAR)):
            assert ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            assert ip("-n", name, "link", "set", "cable", "up")
        yield here, there
    finally:
        for name in (here, there):
            ip("netns", "del", name)


@pytest.mark.parametrize("how", ["route", "cable"])
def test_a_network_that_is_down_costs_nobody_a_match_but_the_player_that_is_really_gone(
    networks: tuple[str, str], tmp_path: Path, how: Literal["route", "cable"]
) -> None:
    here, there = networks
    store = tmp_path / "league.db"
    shared = ("--data-dir", tmp_path)
    lan = "lan=10.77.0.0/24,127.0.0.0/8"

    def program(namespace: str, *arguments: str | Path) -> Program:
        inside = ("ip", "netns", "exec", namespace, sys.executable, "-m", "leaguekit")
        return Program(*arguments, *shared, command=inside)

    with contextlib.ExitStack() as running:
        manager = running.enter_context(
            program(
                here, "manager", "--host", HOST, "--port", "8000", "--allow", lan, "--store", store, "--grant-ids",
                "--announce-lead", "2", "--start-when", f"players={PLAYERS},referees=1",
            )
        )  # fmt: skip
        code = Path(manager.said(r"referee code: (\S+)")[1]).read_text().strip()
        url = f"http://{HOST}:8000/mcp"
        running.enter_context(
            program(
                here, "referee", "--host", HOST, "--port", "8001", "--allow", lan, "--max-concurrent", "10",
                "--manager", f"{url}?referee={code}",
            )
        )  # fmt: skip
        players = [
            running.enter_context(
                program(
                    there, "player", "--host", FAR, "--port", str(8100 + number), "--manager", url,
                    "--strategy", "random", "--name", f"Player {number}", "--wanted-id", f"P{number:02d}",
                )
            )
            for number in range(1, PLAYERS + 1)
        ]  # fmt: skip
        wait_for_events(store, e.MatchAssigned, 1)
        players[-1].process.kill()
        wait_for_events(store, e.RoundAnnounced, 2)
        if how == "route":
            assert ip("-n", here, "route", "del", "10.77.0.0/24")
        else:
            assert ip("-n", there, "link", "set", "cable", "down")
        time.sleep(SECONDS)
        if how == "route":
            assert ip("-n", here, "route", "add", "10.77.0.0/24", "dev", "cable", "src", HOST)
        else:
            assert ip("-n", there, "link", "set", "cable", "up")
        events = wait_for_events(store, e.LeagueCompleted, 1)
    results = {event.match_id: event.result for event in events if isinstance(event, e.ResultRecorded)}
    assert len(results) == PLAYERS * (PLAYERS - 1) // 2
    lost = [result for result in results.values() if result.details.status == "TECHNICAL_LOSS"]
    losers = [[player for player, points in result.score.items() if not points] for result in lost]
    assert [one for one in losers if one != [f"P{PLAYERS:02d}"]] == []
    said = "".join(path.read_text() for path in (tmp_path / "agents").rglob("log.jsonl"))
    assert "the network of this machine seems to be down" in said
    assert "most players can be reached again" in said
