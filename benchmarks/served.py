"""A server to be asked: a manager some rounds into a league, or the same server with a constant for an answer.

    python served.py manager PLAYERS REFEREES FOLDER
    python served.py constant BYTES

It prints one line of JSON saying where it is, and a manager then another for each line that it reads: the reports of
the matches in play, which it waits for.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from fake_agents import FakeAgents, opened, results, until

from leaguekit.agents.serving import new_loop
from leaguekit.manager.server import manager_server
from leaguekit.protocol.rpc import MAX_BYTES, RpcRequest
from leaguekit.transport.base import Peer
from leaguekit.transport.server.server import Server, listen

# This number of rounds of the league is over.
ROUNDS = 8


async def line() -> str:
    return await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


def say(told: Any) -> None:
    print(json.dumps(told), flush=True)


async def serve_manager(players: int, referees: int, folder: Path) -> None:
    fakes = FakeAgents()
    manager = await opened(fakes, folder)
    running = asyncio.create_task(manager.run())
    await fakes.register_all(players, referees)
    manager.runner.start_when = (players, referees)
    manager.runner.wake()
    a_round = players // 2
    await until(lambda: results(manager) >= ROUNDS * a_round, fakes, running)
    fakes.holds = True
    # What was reported before is over as well.
    await until(lambda: len(fakes.held) == a_round, fakes, running)
    server = manager_server(manager, listen("127.0.0.1", 0))
    await server.start()
    say({"port": server.port, "players": fakes.players})
    while await line():
        await until(lambda: len(fakes.held) == a_round, fakes, running)
        say([report.decode() for report in fakes.held])
        fakes.held.clear()


async def serve_constant(size: int) -> None:
    answer = b"x" * size

    async def constant(_request: RpcRequest, _peer: Peer) -> bytes:
        return answer

    server = Server(constant, sockets=[listen("127.0.0.1", 0)], max_bytes=MAX_BYTES, too_large=b"")
    await server.start()
    say({"port": server.port})
    await line()


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    with asyncio.Runner(loop_factory=new_loop) as runner:
        if kind == "manager":
            runner.run(serve_manager(int(arguments[0]), int(arguments[1]), Path(arguments[2])))
        else:
            runner.run(serve_constant(int(arguments[0])))
