"""Real leagues by real processes: a manager with its log on disk, referees, players; played whole or cut short."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from observed import beginnings
from programs import Forked, Program, cpu_seconds, data_folder, end, megabytes, programs, start
from tapped import tapped

from leaguekit.player.strategies import strategies_for
from leaguekit.transport.server.server import listen

LEAGUE = "league_20260101_000000_even_odd_0123"
# As long as a person would wait for a league to come together, or to go on.
PATIENCE = 90.0
POLL_SECONDS = 0.05
REFEREE_MATCHES = 10


class Shape(NamedTuple):
    """A league's size; whether its players share one process; and after how many rounds it is cut, if it is.

    What is measured of a league that is cut begins after the ``warm_up`` rounds, for connections are made then.
    """

    players: int
    referees: int
    together: bool = False
    rounds: int | None = None
    warm_up: int = 0

    @property
    def name(self) -> str:
        return f"{self.players} players{' in one' if self.together else ''}"


class Played(NamedTuple):
    """What came of a league: seconds from the first match on, and CPU in each kind of program."""

    matches: int
    seconds: float
    cpu: dict[str, float]
    mb_per_player: float | None

    @property
    def rate(self) -> float:
        return self.matches / self.seconds

    @property
    def cpu_ms(self) -> dict[str, float]:
        """A match, in each kind of program."""
        return {role: 1e3 * seconds / self.matches for role, seconds in self.cpu.items()}

    @property
    def total_ms(self) -> float:
        return sum(self.cpu_ms.values())


class League:
    """The programs of one league, and what is asked of its manager."""

    def __init__(self, shape: Shape, folder: Path, started: list[Program | Forked]) -> None:
        self._shape, self._folder, self._started = shape, folder, started
        self.manager_options: tuple[str, ...] = ()
        self.roles: dict[str, list[Forked]] = {"manager": [], "referees": [], "players": []}
        self._line: http.client.HTTPConnection | None = None

    def gather(self) -> None:
        """Start everybody, and wait until all are registered."""
        with listen("127.0.0.1", 0) as served:
            port = served.getsockname()[1]
            self._start("manager", "manager", "--league-id", LEAGUE, "--announce-lead", "0", *self.manager_options,
                        served=served)  # fmt: skip
        url = f"http://127.0.0.1:{port}/mcp"
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        for number in range(1, self._shape.referees + 1):
            name = f"Referee {number}"
            self._start("referees", "referee", "--manager", url, "--name", name,
                        "--max-concurrent", str(REFEREE_MATCHES))  # fmt: skip
        self.start_players(url)
        wanted = self._shape.players, self._shape.referees
        self.until(lambda now: (now["players"], now["referees"]) == wanted, "everybody has registered")

    def start_players(self, url: str) -> None:
        names = strategies_for("even_odd")
        if self._shape.together:
            self._start("players", "players", "--manager", url, "--strategy", ",".join(names),
                        "--count", str(self._shape.players))  # fmt: skip
        else:
            for number in range(self._shape.players):
                name = names[number % len(names)]
                self._start("players", "player", "--manager", url, "--strategy", name,
                            "--name", f"{name} {number + 1}")  # fmt: skip

    def begin(self) -> None:
        token = self._folder.joinpath("agents", LEAGUE, "manager", "admin_token").read_text().strip()
        self.ask(command="start", admin_token=token)

    def until(self, is_so: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        """Wait until something holds of the league's status: that status."""
        latest = time.monotonic() + PATIENCE
        while not is_so(status := self.ask(command="status")):
            if time.monotonic() > latest:
                raise SystemExit(f"{self._shape.name}: not within {PATIENCE:.0f} s: {what}")
            time.sleep(POLL_SECONDS)
        return status

    def ask(self, **params: str) -> dict[str, Any]:
        assert self._line is not None
        body = json.dumps({"jsonrpc": "2.0", "method": "operator", "params": params, "id": 1})
        self._line.request("POST", "/mcp", body, {"content-type": "application/json"})
        answer = json.loads(self._line.getresponse().read())
        if "result" not in answer:
            raise SystemExit(f"the manager refuses {params['command']}: {answer}")
        return dict(answer["result"])

    def cpu(self) -> dict[str, float]:
        return {role: cpu_seconds(one) for role, one in self.roles.items()}

    def mb_per_player(self) -> float:
        return sum(map(megabytes, self.roles["players"])) / self._shape.players

    def _start(self, role: str, *arguments: str, served: socket.socket | None = None) -> None:
        at = ["--port", "0"] if served is None else ["--socket-fd", str(served.fileno())]
        kept = () if served is None else (served.fileno(),)
        one = Forked([*arguments, *at, "--data-dir", str(self._folder)], kept_fds=kept)
        self._started.append(one)
        self.roles[role].append(one)


def play(shape: Shape, *, silent: bool = False) -> Played:
    """Play a league. One that is silent does everything but send broadcasts."""
    with data_folder() as folder, programs() as started:
        league = League(shape, folder, started)
        with tapped(None, silent=silent) if silent else nullcontext():
            league.gather()
        before, cpu_before = league.ask(command="status"), league.cpu()
        league.begin()
        if shape.warm_up:
            before = league.until(lambda now: now["current_round"] > shape.warm_up, "the first rounds are over")
            cpu_before = league.cpu()
        after = league.until(lambda now: is_over(now, shape), "the league is over")
        cpu_after = league.cpu()
        memory = None if shape.rounds is None else league.mb_per_player()
    cpu = {role: seconds - cpu_before[role] for role, seconds in cpu_after.items()}
    matches = after["matches_played"] - before["matches_played"]
    return Played(matches, after["seconds"] - before["seconds"], cpu, memory)


def is_over(status: dict[str, Any], shape: Shape) -> bool:
    if status["state"] == "LEAGUE_COMPLETED":
        return bool(status["everybody_told"])
    return shape.rounds is not None and status["current_round"] > shape.rounds


def record(shape: Shape, folder: Path) -> float:
    """Play a league whose programs leave in the folder what they have sent; how many MB a player took in its middle."""
    with data_folder() as data, programs() as started:
        league = League(shape, data, started)
        with tapped(folder):
            league.gather()
        league.begin()
        league.until(
            lambda now: now["current_round"] > (shape.rounds or now["total_rounds"]) // 2, "half of the rounds are over"
        )
        memory = league.mb_per_player()
        league.until(lambda now: is_over(now, shape), "the league is over")
        # The players first: a referee reports its match to the manager afterwards.
        for role in ("players", "referees", "manager"):
            end(league.roles[role])
    return memory


def start_seconds(players: int, referees: int) -> float:
    """From the command ``league run`` to the beginning of its first match."""
    with data_folder() as folder, programs() as started:
        counts = ["--players", str(players), "--referees", str(referees)]
        began = time.time()
        started.append(start("-m", "leaguekit", "run", "--port", "0", *counts, "--data-dir", str(folder), "--json"))
        started[0].wait(PATIENCE)
        return min(beginnings(folder).values()) - began
