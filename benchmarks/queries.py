"""Queries and reports per second: a manager with its log on disk, against the same server answering a constant.

Both are asked by raw sockets, in turns of some hundred requests.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from fake_agents import ENVELOPE, LEAGUE
from limit_agents import REQUEST, Opened
from programs import HERE, Program, cpu_seconds, data_folder, programs, start

from leaguekit.agents.serving import new_loop
from leaguekit.protocol.fields import QUERY_TYPES

AT_ONCE = 16
# The manager limits how much each player asks for. This is how often it may ask for each thing without a pause.
QUERIES_EACH = 12
# Between two turns, until everybody may ask as much again.
REST_SECONDS = 0.5
QUERY_PLAYERS, QUERY_REFEREES = 20, 2
REPORT_PLAYERS, REPORT_REFEREES = 100, 5


class Asked:
    """Requests a second, turn by turn, and what they took each server of the processors in all."""

    def __init__(self) -> None:
        self.manager: list[float] = []
        self.constant: list[float] = []
        self.manager_cpu = self.constant_cpu = 0.0

    @property
    def shares(self) -> list[float]:
        return [one / other for one, other in zip(self.manager, self.constant, strict=True)]

    def add(self, bodies: list[str], manager: Server, constant: Server) -> None:
        """One turn of both."""
        for server, rates in ((constant, self.constant), (manager, self.manager)):
            before = cpu_seconds([server.program])
            rates.append(rate(server.port, bodies))
            seconds = cpu_seconds([server.program]) - before
            if server is manager:
                self.manager_cpu += seconds
            else:
                self.constant_cpu += seconds


class Server(NamedTuple):
    """Somebody to be asked."""

    program: Program
    port: int


class Checked(Opened):
    """A connection whose every answer must be good."""

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status != 200 and self._waiter is not None:
            waiter, self._waiter = self._waiter, None
            waiter.set_exception(RuntimeError(f"the server answered {status}"))
        super().on_message_complete()


def queries(turns: int) -> Asked:
    """All kinds of LEAGUE_QUERY by every player of a league in turn."""
    with data_folder() as folder, programs() as started:
        manager, players = start_manager(QUERY_PLAYERS, QUERY_REFEREES, str(folder), started)
        bodies = [body for _ in range(QUERIES_EACH) for body in every_query(players)]
        size = sum(answer_size(manager, body) for body in bodies[: len(QUERY_TYPES)]) // len(QUERY_TYPES)
        constant = start_constant(size, started)
        # The first turn warms up.
        Asked().add(bodies, manager, constant)
        found = Asked()
        for _ in range(turns):
            time.sleep(REST_SECONDS)
            found.add(bodies, manager, constant)
        return found


def reports(turns: int) -> Asked:
    """The results of a whole round each time, and the manager's going on to the next."""
    with data_folder() as folder, programs() as started:
        manager, _ = start_manager(REPORT_PLAYERS, REPORT_REFEREES, str(folder), started)
        first, *rest = heard(manager.program, "reports")
        constant = start_constant(answer_size(manager, first), started)
        # The first round warms up.
        Asked().add(rest, manager, constant)
        found = Asked()
        for _ in range(turns):
            found.add(heard(manager.program, "reports"), manager, constant)
        return found


def heard(server: Program, asked: str = "") -> Any:
    """What a server says next."""
    assert server.stdin is not None
    assert server.stdout is not None
    if asked:
        print(asked, file=server.stdin, flush=True)
    line = server.stdout.readline()
    if not line:
        raise SystemExit("served.py has ended; run it by itself to see why")
    return json.loads(line)


def start_manager(players: int, referees: int, folder: str, started: list[Program]) -> tuple[Server, dict[str, str]]:
    """A manager, and each of its players' tokens."""
    program = start(str(HERE / "served.py"), "manager", str(players), str(referees), folder)
    started.append(program)
    at = heard(program)
    return Server(program, at["port"]), at["players"]


def start_constant(size: int, started: list[Program]) -> Server:
    """A server that answers so many bytes."""
    program = start(str(HERE / "served.py"), "constant", str(size))
    started.append(program)
    return Server(program, heard(program)["port"])


def every_query(players: dict[str, str]) -> Iterator[str]:
    for player, token in players.items():
        for query_type in QUERY_TYPES:
            params = {"player_id": player} | ({"round_id": 1} if query_type == "GET_SCHEDULE" else {})
            fields = {"league_id": LEAGUE, "query_type": query_type, "query_params": params}
            envelope = ENVELOPE | {"sender": f"player:{player}", "auth_token": token, "message_type": "LEAGUE_QUERY"}
            yield json.dumps({"jsonrpc": "2.0", "method": "league_query", "params": envelope | fields, "id": 1})


def answer_size(server: Server, body: str) -> int:
    """How long the answer is, which must be a good one."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    line.request("POST", "/mcp", body, {"content-type": "application/json"})
    answer = line.getresponse().read()
    line.close()
    result = json.loads(answer).get("result", {})
    if not result.get("success", result.get("status") == "ACCEPTED"):
        raise SystemExit(f"the manager answered {answer.decode()} to {body}")
    return len(answer)


def rate(port: int, bodies: list[str]) -> float:
    """Requests a second, some at once."""
    requests = [REQUEST % (b"mcp", port, len(body.encode()), body.encode()) for body in bodies]
    # As fast as it can be: the servers are to be what is waited for.
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_rate(port, requests))


async def _rate(port: int, requests: list[bytes]) -> float:
    loop = asyncio.get_running_loop()
    opened = [(await loop.create_connection(lambda: Checked([]), "127.0.0.1", port)) for _ in range(AT_ONCE)]
    left = iter(requests)

    async def ask(connection: Checked) -> None:
        for request in left:
            waiter: asyncio.Future[None] = loop.create_future()
            connection.ask(waiter, request)
            await waiter

    # The loop's own clock may go by milliseconds.
    began = time.perf_counter()
    await asyncio.gather(*(ask(connection) for _, connection in opened))
    seconds = time.perf_counter() - began
    for transport, _ in opened:
        transport.close()
    return len(requests) / seconds
