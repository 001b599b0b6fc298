"""Serving an agent over real sockets: until its league is over or it is stopped, its logs, and its progress texts."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leaguekit.agents.logs import log_to
from leaguekit.agents.serving import endpoint_of, serve
from leaguekit.agents.world import World
from leaguekit.protocol.rpc import request
from leaguekit.referee.referee import RefereeAgent
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import Server, listen
from tests.agents.scene import LEAGUE, Scene
from tests.transport.running import of_requests

CHOICE = {
    "protocol": "league.v2",
    "message_type": "CHOOSE_PARITY_RESPONSE",
    "sender": "player:P01",
    "timestamp": "2025-01-15T10:30:00Z",
    "conversation_id": "conv-r1m1",
    "auth_token": "tok-p01-x",
    "match_id": "R1M1",
    "player_id": "P01",
    "parity_choice": "even",
}


class Hall:
    """A scripted manager and a real referee that is served; ``said`` is what it told its operator."""

    def __init__(self, root: Path, now: Callable[[], datetime]) -> None:
        self.scene = Scene(root)
        self.caller = HttpCaller(AddressPolicy.local())
        self.stop = asyncio.Event()
        self.said: list[str] = []
        self.registered = asyncio.Event()
        self._sockets = [listen("127.0.0.1", 0) for _ in range(2)]
        manager_url, self.url = (endpoint_of(sock) for sock in self._sockets)
        answer = of_requests(self.scene.manager.handle)
        self.manager = Server(answer, sockets=self._sockets[:1], max_bytes=100_000, too_large=b"{}")
        world = World(self.caller, root, now=now)
        self.referee = RefereeAgent(world, manager_url=manager_url, endpoint=self.url, name="Alpha")

    async def serve(self) -> bool:
        return await serve(self.referee, self._sockets[1], self.referee.refuse, self.stop, notify=self.notify)

    def notify(self, text: str) -> None:
        self.said.append(text.replace(self.url.split(":")[2].removesuffix("/mcp"), "PORT"))
        if text.endswith("is registered"):
            self.registered.set()


def held(
    tmp_path: Path, course: Callable[[Hall], Awaitable[None]], now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> tuple[bool, list[str]]:
    """Serve a referee while something takes its course: whether its league is over, and what it said."""

    async def main() -> tuple[bool, list[str]]:
        hall = Hall(tmp_path, now)
        serving = asyncio.ensure_future(hall.serve())
        async with asyncio.timeout(20):
            await course(hall)
            is_over = await serving
        await hall.caller.close()
        await hall.manager.stop()
        return is_over, hall.said

    package = logging.getLogger("leaguekit")
    before = ([*package.handlers], package.level)
    told = asyncio.run(main())
    assert ([*package.handlers], package.level) == before
    return told


def test_an_agent_is_served_until_its_league_is_over_and_logs_to_its_own_folder(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        await hall.manager.start()
        await hall.registered.wait()
        end = {"total_rounds": 1, "total_matches": 1, "message_type": "LEAGUE_COMPLETED", "final_standings": []}
        end |= {"champion": {"player_id": "P01", "display_name": "Agent P01", "points": 3}, "league_id": LEAGUE}
        end |= {"sender": "league_manager", "conversation_id": "conv-league", "timestamp": "2025-01-15T10:30:00Z"}
        end |= {"protocol": "league.v2", "auth_token": hall.scene.manager.shown_token()}
        await hall.caller.post(hall.url, request("notify_league_completed", json.dumps(end).encode(), 1), 10)

    is_over, said = held(tmp_path, course)
    assert is_over
    assert [text.partition(" and registers")[0] for text in said] == [
        "Alpha listens at port PORT",
        "Alpha is registered",
        "Alpha: the league is over",
    ]
    lines = (tmp_path / "agents" / LEAGUE / "referee-Alpha" / "log.jsonl").read_text().splitlines()
    (line,) = map(json.loads, lines)
    assert (line["agent_id"], line["message_type"]) == ("REF01", "LEAGUE_COMPLETED")


@pytest.mark.settles("000-L1566")
def test_a_referee_refuses_large_bodies_under_its_present_name_and_time_with_its_own_limits(tmp_path: Path) -> None:
    answers = []
    moment = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)

    async def course(hall: Hall) -> None:
        nonlocal moment
        await hall.manager.start()
        await hall.registered.wait()
        moment = datetime(2025, 1, 15, 11, 45, tzinfo=UTC)
        from_player = request("choose_parity_response", json.dumps(CHOICE).encode(), 1) + b" " * 10_240
        answers.extend([await hall.caller.post(hall.url, body, 10) for body in (b" " * 1_048_577, from_player)])
        hall.stop.set()

    held(tmp_path, course, lambda: moment)
    limit = (
        "at most 1,048,576 bytes are taken, and 10,240 from a player or of a body that shows no valid auth_token within"
    )
    assert len(answers) == 2
    for answer in answers:
        error = json.loads(answer.body)["error"]
        data = error["data"]
        assert (answer.status, error["code"], data["error_code"]) == (413, -32600, "E046")
        assert (data["sender"], data["timestamp"]) == ("referee:REF01", "2025-01-15T11:45:00Z")
        assert limit in data["context"]["detail"].lower()
        assert "10,240" not in data["action_required"]


def test_an_agent_that_is_told_to_stop_stops_in_the_middle_of_its_league(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        await hall.manager.start()
        await hall.registered.wait()
        hall.stop.set()

    is_over, said = held(tmp_path, course)
    assert not is_over
    assert said[-1] == "Alpha is registered"


def test_an_agent_that_is_told_to_stop_waits_for_no_manager(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        await hall.manager.start()
        await hall.manager.stop()
        hall.stop.set()

    is_over, said = held(tmp_path, course)
    assert not is_over
    assert len(said) == 1


def test_where_no_log_file_can_be_there_is_none_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "agents").write_text("a file where a folder should be")
    with log_to(tmp_path / "agents" / "log.jsonl", "P01"):
        pass
    assert "There will be no log file" in caplog.text
