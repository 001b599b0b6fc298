"""What it takes a manager to send new standings to 100 players: ``python standings_broadcast.py [TIMES]`` prints JSON.

``cpu_ms`` are milliseconds of the manager's process, one figure each time, from the report of a result until every
player has acknowledged the standings with it. The manager has its log on disk and calls the players, which are raw
servers in one other process, by HTTP.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import sys
import time
from pathlib import Path

from agents import run as run_agent
from fake_agents import FakeAgents, opened, until
from limit_agents import ANSWER, Served
from programs import data_folder

from leaguekit.agents.serving import new_loop
from leaguekit.manager.broadcasts import STANDINGS_PAUSE_SECONDS
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller

PLAYERS, REFEREES, TIMES = 100, 5, 5
# About as long as a player's acknowledgement.
ACKNOWLEDGED = b'{"jsonrpc":"2.0","id":1,"result":%b}' % json.dumps({"said": "x" * 230}).encode()


def answer_at(sockets: list[socket.socket]) -> None:
    """Be all players."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        answers = {"mcp": ANSWER % (len(ACKNOWLEDGED), ACKNOWLEDGED)}
        servers = [await loop.create_server(lambda: Served(answers, lambda *_: None), sock=sock) for sock in sockets]
        await asyncio.gather(*(server.serve_forever() for server in servers))

    run_agent(serve())


async def tell(times: int, urls: list[str], folder: Path) -> list[float]:
    """Milliseconds of this process per broadcast to everybody."""
    caller = HttpCaller(AddressPolicy.local())
    fakes = FakeAgents(caller, urls)
    fakes.holds = True
    manager = await opened(fakes, folder)
    running = asyncio.create_task(manager.run())
    await fakes.register_all(PLAYERS, REFEREES)
    manager.runner.start_when = (PLAYERS, REFEREES)
    manager.runner.wake()
    await until(lambda: len(fakes.held) == PLAYERS // 2, fakes, running)
    found = []
    for report in fakes.held[: times + 1]:
        # Earlier, the standings would wait for the rest of their pause.
        await asyncio.sleep(STANDINGS_PAUSE_SECONDS + 0.1)
        answered, began = fakes.answered + PLAYERS, time.process_time()
        await fakes.send_body(report)
        while fakes.answered < answered:  # noqa: ASYNC110 - whatever else would wait would be measured as well
            await asyncio.sleep(0.002)
        found.append(1e3 * (time.process_time() - began))
    await manager.close()
    running.cancel()
    await caller.close()
    # The first warms up.
    return found[1:]


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else TIMES
    sockets = [socket.create_server(("127.0.0.1", 0), backlog=64) for _ in range(PLAYERS)]
    urls = [f"http://127.0.0.1:{sock.getsockname()[1]}/mcp" for sock in sockets]
    players = multiprocessing.get_context("fork").Process(target=answer_at, args=(sockets,), daemon=True)
    players.start()
    try:
        with data_folder() as folder, asyncio.Runner(loop_factory=new_loop) as runner:
            found = runner.run(tell(times, urls, folder))
    finally:
        players.kill()
        players.join()
    print(json.dumps({"players": PLAYERS, "cpu_ms": [round(one, 2) for one in found]}))


if __name__ == "__main__":
    main()
