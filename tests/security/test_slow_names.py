"""Registrations with names that are slow to look up hold up no registered agent, and no applicant at localhost."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from leaguekit.transport.addresses import MAX_THREADS_FOR_APPLICANTS
from tests.programs import Program
from tests.stress.lines import Line, Seen, post, registration
from tests.zoo import bad_servers as zoo

# A name server that never answers: the look-up of such names takes as long as the system's may.
SLOW_NAMES = """
import runpy, socket, sys, threading
look_up = socket.getaddrinfo
def slow(host, *rest, **more):
    if str(host).endswith(".slow.test"):
        threading.Event().wait(30)
    return look_up("127.0.0.1" if str(host).endswith(".test") else host, *rest, **more)
socket.getaddrinfo = slow
sys.argv[0] = "league"
runpy.run_module("leaguekit", run_name="__main__")
"""


async def registered(port: int, number: int, endpoint: str, token: str | None = None) -> dict[str, Any]:
    """The answer to a registration."""
    request = json.loads(registration(number, endpoint))
    if token is not None:
        request["params"]["auth_token"] = token
    line = Line(port, "127.0.0.1", Seen())
    _, body = await line.ask(post(json.dumps(request).encode()))
    line.close()
    answer: dict[str, Any] = json.loads(body)
    return answer


def test_slow_names_of_applicants_hold_up_nobody_else(tmp_path: Path) -> None:
    async def attacked(port: int) -> None:
        async with zoo.serving(zoo.good) as agent, zoo.serving(zoo.good) as newcomer:
            url = f"http://honest.test:{agent.port}/mcp"
            token = (await registered(port, 1, url))["result"]["auth_token"]
            flood = [
                asyncio.create_task(registered(port, number, f"http://n{number}.slow.test:8101/mcp"))
                for number in range(100, 140)
            ]
            await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
            # Those that have a thread hold it for long.
            assert (await registered(port, 1, url, token))["result"]["status"] == "ACCEPTED"
            at_localhost = f"http://localhost:{newcomer.port}/mcp"
            assert (await registered(port, 2, at_localhost))["result"]["status"] == "ACCEPTED"
            answers = await asyncio.gather(*flood)
        rejected = [answer["result"]["reason"] for answer in answers if "result" in answer]
        unable = [json.dumps(answer["error"]) for answer in answers if "error" in answer]
        assert len(rejected) == MAX_THREADS_FOR_APPLICANTS
        assert all("nothing answered at" in reason for reason in rejected)
        assert len(unable) == len(flood) - len(rejected)
        assert all("too many names are being looked up" in error for error in unable)

    command = (sys.executable, "-c", SLOW_NAMES)
    with Program("manager", "--port", "0", "--data-dir", tmp_path, command=command) as manager:
        port = int(manager.said(r"is at http://127\.0\.0\.1:(\d+)/mcp")[1])
        asyncio.run(asyncio.wait_for(attacked(port), 60))
