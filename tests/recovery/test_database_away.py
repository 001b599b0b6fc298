"""A real PostgreSQL that is away or slow while a league is played: the league waits, says so, and goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from leaguekit.cli import main
from leaguekit.league import events as e
from tests.postgres import Server, running
from tests.programs import Program, league
from tests.recovery.league_programs import read_events, wait_for_events

PLAYERS = 6
STRATEGY = """
import asyncio

async def choose(context):
    await asyncio.sleep(0.5)
    return "even"
"""

pytestmark = [pytest.mark.long]


@pytest.fixture
def server(postgres_server: Server) -> Iterator[Server]:
    """A server that the test may stop."""
    with running("fsync=off") as made:
        yield made


class Played:
    """A league in play, with the URL of its manager."""

    def __init__(self, store: str, root: Path, programs: contextlib.ExitStack) -> None:
        self.store = store
        strategy = root / "slow.py"
        strategy.write_text(STRATEGY)
        shared = ("--data-dir", root, "--port", "0")
        start = f"players={PLAYERS},referees=1"
        self.manager = programs.enter_context(
            Program("manager", *shared, "--store", store, "--announce-lead", "0.2", "--start-when", start)
        )
        self.url = self.manager.said(r"is at (\S+)")[1]
        shared = (*shared, "--manager", self.url)
        programs.enter_context(Program("referee", *shared, "--max-concurrent", "2"))
        players = ("--count", str(PLAYERS), "--strategy", f"{strategy}:choose")
        programs.enter_context(Program("players", *shared, *players))
        wait_for_events(store, e.ResultRecorded, 2)

    def get(self, path: str) -> tuple[int, dict[str, Any]]:
        """The answer to a browser, which comes within 10 s."""
        try:
            with urllib.request.urlopen(self.url.removesuffix("mcp") + path, timeout=10) as answer:
                return int(answer.status), json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def check_waits(self) -> None:
        """Check that everybody who asks learns that the league waits."""
        self.manager.said("The league waits for its store: no answer for")
        status, health = self.get("health")
        assert (status, health["status"]) == (503, "waiting")
        assert health["reason"].startswith("no answer for")
        assert self.get("api/league")[0] == 503
        asked = league("status", "--manager", self.url)
        assert (asked.process.returncode, asked.stderr.count("\n")) == (2, 1)
        assert "The manager waits for its store: send this again in a while." in asked.stderr

    def check_goes_on(self) -> None:
        """Check that the league is played to its end, and that each match counts once."""
        began = time.monotonic()
        self.manager.said("The store answers again")
        sys.stdout.write(f"The league goes on {time.monotonic() - began:.1f} s after its database.\n")
        events = wait_for_events(self.store, e.LeagueCompleted, 1)
        assert "Traceback" not in self.manager.stderr
        assert main(["verify", self.store]) == 0
        counted = Counter(one.match_id for one in events if isinstance(one, e.ResultRecorded))
        assert len(counted) == PLAYERS * (PLAYERS - 1) // 2
        assert set(counted.values()) == {1}
        assert [one for one in events if isinstance(one, (e.MatchForfeited, e.AttemptVoided))] == []


# A restart, and a server that is away for a minute.
@pytest.mark.parametrize("seconds", [0.0, pytest.param(60.0, marks=pytest.mark.longest)])
def test_a_league_waits_for_a_database_that_is_restarted(server: Server, tmp_path: Path, seconds: float) -> None:
    with contextlib.ExitStack() as programs:
        played = Played(server.url(), tmp_path, programs)
        server.stop()
        began = time.monotonic()
        played.check_waits()
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        server.start()
        played.check_goes_on()


def test_a_league_waits_for_a_database_whose_statements_take_long(server: Server, tmp_path: Path) -> None:
    async def slow(played: Played) -> int:
        connection = await asyncpg.connect(server.url())
        async with connection.transaction():
            await connection.execute("LOCK TABLE leaguekit_events IN SHARE MODE")
            written = int(await connection.fetchval("SELECT count(*) FROM leaguekit_events"))
            await asyncio.to_thread(played.check_waits)
            assert await connection.fetchval("SELECT count(*) FROM leaguekit_events") == written
        await connection.close()
        return written

    with contextlib.ExitStack() as programs:
        played = Played(server.url(), tmp_path, programs)
        written = asyncio.run(slow(played))
        played.check_goes_on()
        assert len(read_events(server.url())) > written
