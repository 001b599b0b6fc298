"""A league of real processes, each with a port of its own, that a test can kill one by one or all at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from leaguekit.cli import CommandError
from leaguekit.cli.manager_client import call
from leaguekit.league import events as e
from leaguekit.league.fold import apply
from leaguekit.league.state import League
from leaguekit.store.opening import open_reader

LEAGUE = "league_of_kills"
STRATEGIES = ("random", "frequency", "history_based", "alternating", "always_even")
# A test must not fail on a machine that runs ten other things.
PATIENCE = 240.0


class LeaguePrograms:
    """The programs, by name. A program that was killed can be started again with the same command."""

    def __init__(
        self,
        root: Path,
        store: str | Path,
        *,
        players: int = 10,
        referees: int = 2,
        lead: float = 0.2,
        seed: int = 7,
        format_text: str = "round_robin",
    ) -> None:
        self.root, self.store = root, str(store)
        self._files = [*free_ports(1 + referees + players)]
        ports = iter(self._files)
        port = next(ports)
        self.manager_url = f"http://127.0.0.1:{port}/mcp"
        shared = ["--data-dir", str(root)]
        self.commands: dict[str, list[str]] = {
            "manager": [
                "manager", "--port", str(port), *shared, "--store", self.store, "--league-id", LEAGUE,
                "--seed", str(seed), "--announce-lead", str(lead), "--grant-ids",
                "--start-when", f"players={players},referees={referees}", "--format", format_text,
            ]
        }  # fmt: skip
        for number in range(1, referees + 1):
            self.commands[f"referee {number}"] = [
                "referee", "--port", str(next(ports)), *shared, "--manager", self.manager_url,
                "--name", f"Referee {number}",
            ]  # fmt: skip
        for number in range(1, players + 1):
            self.commands[f"player {number}"] = [
                "player", "--port", str(next(ports)), *shared, "--manager", self.manager_url,
                "--strategy", STRATEGIES[number % len(STRATEGIES)], "--name", f"Player {number}",
                "--seed", str(seed), "--wanted-id", f"P{number:02d}",
            ]  # fmt: skip
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.deadline = time.monotonic() + PATIENCE

    def __enter__(self) -> Self:
        self.start(self.commands)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()

    def start(self, names: Iterable[str]) -> None:
        for name in names:
            with (self.root / f"{name}.txt").open("ab") as said:
                self.processes[name] = subprocess.Popen(
                    [sys.executable, "-m", "leaguekit", *self.commands[name]],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    env=os.environ,
                )

    def kill(self, names: Iterable[str]) -> list[str]:
        """Kill programs, all before any of them is waited for. Return those that had not ended by themselves."""
        alive = [name for name in names if self.processes[name].poll() is None]
        for name in alive:
            self.processes[name].kill()
        for name in alive:
            self.processes[name].wait()
        return alive

    def status(self) -> dict[str, Any] | None:
        """How far the league is; None if no manager answers."""
        assert time.monotonic() < self.deadline, self.said()
        with contextlib.suppress(CommandError):
            return call(self.manager_url, {"command": "status"})
        assert self.processes["manager"].poll() in (None, -9), self.said()
        return None

    def up(self) -> dict[str, Any]:
        """Wait for the manager to answer."""
        while (status := self.status()) is None:
            time.sleep(0.02)
        return status

    def over(self) -> bool:
        status = self.status()
        return status is not None and status["state"] == "LEAGUE_COMPLETED" and status["everybody_told"]

    def until_over(self) -> None:
        while not self.over():
            time.sleep(0.05)

    def said(self) -> str:
        return "\n".join(f"--- {path.name}\n{path.read_text()[-2_000:]}" for path in sorted(self.root.glob("*.txt")))

    def log(self) -> list[e.Event]:
        return read_events(self.store)


def read_events(store: str) -> list[e.Event]:
    return asyncio.run(_read_events(store))


async def _read_events(store: str) -> list[e.Event]:
    reader = await open_reader(store)
    try:
        return [e.decode(one.event) for one in await reader.read()]
    finally:
        await reader.close()


def wait_for_events(store: str | Path, kind: type[e.Event], count: int, seconds: float = PATIENCE) -> list[e.Event]:
    """Wait until a log has this number of events of a kind. Returns all its events."""
    latest = time.monotonic() + seconds
    while time.monotonic() < latest:
        events = read_events(str(store))
        if sum(isinstance(event, kind) for event in events) >= count:
            return events
        time.sleep(0.1)
    raise AssertionError(f"the league did not come to {count} {kind.__name__}")


def table(events: Iterable[e.Event]) -> list[tuple[Any, ...]]:
    """The standings that a log makes, each row whole."""
    league = League()
    for event in events:
        apply(league, event)
    assert league.state == "LEAGUE_COMPLETED"
    return [
        (row.rank, row.player_id, row.played, row.wins, row.draws, row.losses, row.points)
        for row in league.table.rows_for(None)
    ]


def free_ports(count: int) -> tuple[int, ...]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return tuple(one.getsockname()[1] for one in sockets)


# Processes of tests begin at different ports, so that no two of them find the same.
LOWEST_PORT = 20_000 + os.getpid() % 1_000 * 10


def successive_free_ports(count: int, lowest: int = LOWEST_PORT) -> int:
    """The first of ``count`` successive ports that are free. Systems give none of these to other programs, so they are
    still free for a program that begins to listen later.
    """
    for port in range(lowest, 32_000, count):
        with contextlib.suppress(OSError), contextlib.ExitStack() as held:
            for number in range(count):
                held.enter_context(socket.create_server(("127.0.0.1", port + number)))
            return port
    raise AssertionError("no ports are free")
