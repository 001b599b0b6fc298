"""Two managers on one PostgreSQL, real processes: when one of them is gone, the other goes on, and nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from leaguekit.cli import CommandError, main
from leaguekit.cli.manager_client import call
from leaguekit.league import events as e
from tests.programs import Program, needs_program
from tests.recovery.health_proxy import HealthProxy
from tests.recovery.league_programs import free_ports, read_events, successive_free_ports
from tests.store.proxy import DatabaseProxy

ROOT = Path(__file__).parent.parent.parent
LEAGUE = "league_of_two"
PLAYERS = 8
MATCHES = PLAYERS * (PLAYERS - 1) // 2
# A league must go on within this time when its manager is gone.
MAX_SECONDS = 10.0
# A match takes about this long, so that some are in play at any moment.
MOVE_SECONDS = 0.7
STRATEGY = f"""
import asyncio

async def choose(context):
    await asyncio.sleep({MOVE_SECONDS})
    return "even"
"""


class Cable:
    """A connection to the database that a test can cut. It runs in a thread of its own."""

    def __init__(self, far_url: str) -> None:
        self.far_url = far_url
        self._proxy = DatabaseProxy(far_url)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._proxy.__aenter__())
        self.url = self._proxy.url
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, object]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _stop(self) -> None:
        self._proxy.close_all()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)  # type: ignore[arg-type]

    def swallow(self) -> None:
        """From now on all data is lost, as if the network were down."""
        self._proxy.loses_requests = self._proxy.loses_answers = True

    def refuse(self) -> None:
        """Cut all connections, and accept no others, as a server that is down."""
        self._loop.call_soon_threadsafe(self._proxy.close_all)

    def mend(self) -> None:
        """Cut all connections, and accept others."""
        self._loop.call_soon_threadsafe(self._proxy.cut)
        self._call(self._proxy.open())


class Pair:
    """Two managers behind a proxy, two referees, and players. Hosts start referees by themselves."""

    def __init__(
        self,
        root: Path,
        cable: Cable,
        endpoint: str,
        ports: tuple[int, ...],
        stack: contextlib.ExitStack,
        command: tuple[str, ...] = ("manager",),
    ) -> None:
        self._command = command
        self.url, self.endpoint, self.cable = cable.far_url, endpoint, cable
        self._root, self._ports, self._stack = root, ports, stack
        self.first = self.start_manager(0)
        self.first.said("No manager serves this league: this one does now.")
        self.first.said("League .* is at")
        self.second = self.start_manager(1)
        self.second.said("serves this league. This one waits")
        strategy = root / "slow.py"
        strategy.write_text(STRATEGY)
        shared = ("--manager", endpoint, "--port", "0", "--data-dir", str(root))
        for number in (1, 2) if command == ("manager",) else ():
            self._run("referee", *shared, "--name", f"Referee {number}", "--max-concurrent", "2")
        self._run("players", *shared, "--count", str(PLAYERS), "--strategy", f"{strategy}:choose")

    def _run(self, *arguments: str) -> Program:
        return self._stack.enter_context(Program(*arguments))

    def start_manager(self, number: int) -> Program:
        """Start a manager on one of the machines. That of number 0 is connected to the database by the cable."""
        return self._run(
            *self._command, "--standby", "--port", str(self._ports[number]), "--endpoint", self.endpoint,
            "--data-dir", str(self._root / f"machine {number}"), "--store", self.url if number else self.cable.url,
            "--league-id", LEAGUE, "--announce-lead", "0.2", "--start-when", f"players={PLAYERS},referees=2",
        )  # fmt: skip

    def status(self) -> dict[str, Any] | None:
        with contextlib.suppress(CommandError):
            return call(self.endpoint, {"command": "status"})
        return None

    def until(self, is_so: Callable[[dict[str, Any]], bool], seconds: float = 120.0) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if (status := self.status()) is not None and is_so(status):
                return status
            time.sleep(0.05)
        pytest.fail(f"not in {seconds} s: {status}\n{self.first.stderr}\n--- the other:\n{self.second.stderr}")

    def until_played(self, matches: int) -> int:
        return int(self.until(lambda status: status["matches_played"] >= matches)["matches_played"])

    def check_goes_on(self, played: int, began: float) -> None:
        """Wait for the next result, and check that it came in time."""
        self.until(lambda status: status["matches_played"] > played)
        seconds = time.monotonic() - began
        sys.stdout.write(f"The next result came after {seconds:.1f} s.\n")
        assert seconds < MAX_SECONDS

    def check_end(self) -> list[e.Event]:
        """Wait for the end of the league, and check that each match counts once. The events."""
        self.until(lambda status: status["state"] == "LEAGUE_COMPLETED" and status["everybody_told"])
        assert main(["verify", self.url]) == 0
        events = read_events(self.url)
        counted = Counter(one.match_id for one in events if isinstance(one, e.ResultRecorded))
        assert len(counted) == MATCHES
        assert set(counted.values()) == {1}
        assert not [one for one in events if isinstance(one, e.MatchForfeited)]
        return events


@contextlib.contextmanager
def haproxy(folder: Path, ports: tuple[int, ...]) -> Iterator[str]:
    """The real HAProxy with our file, without TLS and at other ports. Its URL."""
    port = free_ports(1)[0]
    text = (ROOT / "deploy" / "haproxy.cfg").read_text()
    for ours, here in (
        (":443 ssl crt /etc/haproxy/league.example.pem", f"127.0.0.1:{port}"),
        ("hdr Host league.example", f"hdr Host 127.0.0.1:{port}"),
        ("10.0.0.1:8000", f"127.0.0.1:{ports[0]}"),
        ("10.0.0.2:8000", f"127.0.0.1:{ports[1]}"),
    ):
        assert text.count(ours) == 1
        text = text.replace(ours, here)
    (folder / "haproxy.cfg").write_text(text)
    with Program("-db", "-f", folder / "haproxy.cfg", command=["haproxy"]):
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture
def pair(request: pytest.FixtureRequest, postgres_url: str, tmp_path: Path) -> Iterator[Pair]:
    first = successive_free_ports(2)
    ports = (first, first + 1)
    managers = [f"127.0.0.1:{port}" for port in ports]
    is_small = getattr(request, "param", "small") == "small"
    front = HealthProxy(managers) if is_small else haproxy(tmp_path, ports)
    with Cable(postgres_url) as cable, front as url, contextlib.ExitStack() as stack:
        yield Pair(tmp_path, cable, url, ports, stack)


def voids(events: list[e.Event]) -> list[e.AttemptVoided]:
    return [one for one in events if isinstance(one, e.AttemptVoided)]


@pytest.mark.long
@pytest.mark.parametrize("pair", ["small", pytest.param("haproxy", marks=needs_program("haproxy"))], indirect=True)
def test_a_killed_manager_is_replaced_within_ten_seconds(pair: Pair) -> None:
    played = pair.until_played(3)
    pair.first.process.kill()
    began = time.monotonic()
    pair.second.said("is gone: this one takes over")
    pair.check_goes_on(played, began)
    assert voids(pair.check_end()) == []


@pytest.mark.parametrize("seconds", [0.0, pytest.param(60.0, marks=pytest.mark.longest)])
@pytest.mark.long
def test_a_stopped_manager_is_replaced_within_ten_seconds_and_ends_when_it_wakes_up(pair: Pair, seconds: float) -> None:
    played = pair.until_played(3)
    pair.first.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    pair.check_goes_on(played, began)
    assert re.search(r"has not been heard of for [\d.]+ s: its connection is ended", pair.second.stderr)
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    pair.first.process.send_signal(signal.SIGCONT)
    assert pair.first.ended() == 2
    assert "another manager has taken this league over" in pair.first.stderr
    assert "Traceback" not in pair.first.stderr
    assert voids(pair.check_end()) == []


@pytest.mark.long
def test_a_manager_that_is_cut_off_from_the_database_is_replaced_within_ten_seconds(pair: Pair) -> None:
    played = pair.until_played(3)
    pair.cable.swallow()
    began = time.monotonic()
    pair.check_goes_on(played, began)
    pair.first.said("The league waits for its store: no answer for")
    pair.cable.mend()
    assert pair.first.ended() == 2
    assert "another manager has taken this league over" in pair.first.stderr
    assert "Traceback" not in pair.first.stderr
    assert voids(pair.check_end()) == []


@pytest.mark.long
def test_a_planned_hand_over_voids_no_match_and_goes_both_ways(pair: Pair) -> None:
    for newer in (1, 0):
        played = pair.until_played(3 + 3 * (1 - newer))
        pair.first.process.terminate()
        began = time.monotonic()
        pair.second.said("is gone: this one takes over")
        assert pair.first.ended() == 0
        pair.check_goes_on(played, began)
        pair.first, pair.second = pair.second, pair.start_manager(1 - newer)
        pair.second.said("serves this league. This one waits")
    assert voids(pair.check_end()) == []


@pytest.fixture
def trio(postgres_url: str, tmp_path: Path) -> Iterator[Pair]:
    """As ``pair``, with room for a third manager."""
    first = successive_free_ports(3)
    ports = (first, first + 1, first + 2)
    front = HealthProxy([f"127.0.0.1:{port}" for port in ports])
    with Cable(postgres_url) as cable, front as url, contextlib.ExitStack() as stack:
        yield Pair(tmp_path, cable, url, ports, stack)


@pytest.mark.long
def test_of_two_standbys_one_takes_over_and_the_other_waits_for_it(trio: Pair) -> None:
    third = trio.start_manager(2)
    third.said("serves this league. This one waits")
    played = trio.until_played(3)
    trio.first.process.kill()
    began = time.monotonic()
    trio.check_goes_on(played, began)
    took_over = [one for one in (trio.second, third) if "is gone: this one takes over" in one.stderr]
    assert len(took_over) == 1
    trio.first, trio.second = took_over[0], third if took_over[0] is trio.second else trio.second
    played = trio.until_played(played + 2)
    trio.first.process.kill()
    began = time.monotonic()
    trio.check_goes_on(played, began)
    trio.second.said("is gone: this one takes over")
    assert voids(trio.check_end()) == []


@pytest.mark.long
def test_a_host_that_is_killed_is_replaced_within_ten_seconds_together_with_its_referees(
    postgres_url: str, tmp_path: Path
) -> None:
    # The referees of a host listen at the ports after its own.
    first = successive_free_ports(3)
    ports = (first, successive_free_ports(3, first + 3))
    front = HealthProxy([f"127.0.0.1:{port}" for port in ports])
    with Cable(postgres_url) as cable, front as url, contextlib.ExitStack() as stack:
        hosts = Pair(tmp_path, cable, url, ports, stack, ("host", "--referees", "2"))
        played = hosts.until_played(3)
        hosts.first.process.kill()
        hosts.check_goes_on(played, time.monotonic())
        events = hosts.check_end()
    assert sum(isinstance(one, e.RefereeRegistered) for one in events) == 4
    # The matches that the referees of the first host had.
    assert len(voids(events)) <= 4
