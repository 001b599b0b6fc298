"""Players that are plain MCP servers, written with the official SDK, are called like all other players."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.responses import Response

from leaguekit.agents.calls import ask, deliver, ping
from leaguekit.protocol import messages as m
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import HttpAnswer, TimedOut, Unreachable
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.mcp.calling import McpCaller, is_mcp_server
from leaguekit.transport.mcp.client import McpClient
from leaguekit.transport.mcp.lazy_app import LazyMcpApp, Served
from tests.samples import SAMPLES
from tests.transport.mcp.served_league import ServedLeague, mcp_server, registration
from tests.transport.running import Run, serving

STRICT = {"type": "object", "properties": {"match_id": {"type": "string"}}, "additionalProperties": False}
Mode = dict[str, Any]
# As the SDK serves by default, with sessions and streams; with one JSON body an answer; without sessions; and both.
WAYS: list[Mode] = [
    {},
    {"json_response": True},
    {"stateless_http": True},
    {"json_response": True, "stateless_http": True},
]


def sample(kind: type[Any]) -> Any:
    return next(one for one in SAMPLES if isinstance(one, kind))


INVITATION, CALL, MOVE_CALL = sample(m.GameInvitation), sample(m.ChooseParityCall), sample(m.GameMoveCall)


def chooser() -> MCPServer:
    """The whole player."""
    server = MCPServer("Ada", log_level="WARNING")

    @server.tool()
    def parity_choose(match_id: str) -> str:
        return "even"

    return server


@asynccontextmanager
async def calling() -> AsyncIterator[McpCaller]:
    caller = McpCaller(HttpCaller(AddressPolicy.local()))
    yield caller
    await caller.close()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_player_of_one_function_is_asked_like_every_other(run: Run, way: Mode) -> None:
    async def main() -> None:
        async with mcp_server(chooser(), **way) as url, calling() as caller:
            joined = await ask(caller, url, INVITATION, m.GameJoinAck)
            assert (joined.accept, joined.match_id, joined.player_id) == (True, "R1M1", "P01")
            for _ in range(2):
                chosen = await ask(caller, url, CALL, m.ChooseParityResponse)
                assert (chosen.parity_choice, chosen.sender) == ("even", "player:P01")
                assert chosen.conversation_id == CALL.conversation_id
            # What it has no function for it need not hear.
            await deliver(caller, url, sample(m.GameOver), 5.0)
            await ping(caller, url, 5.0)
            with pytest.raises(RpcRefusal, match="There is no tool choose_move here; there are parity_choose"):
                await ask(caller, url, MOVE_CALL, m.GameMoveResponse)

    run(main())


def test_a_player_may_give_whole_messages_and_hears_what_it_has_tools_for(run: Run) -> None:
    async def main() -> None:
        server, heard = MCPServer("Ada", log_level="WARNING"), []

        @server.tool()
        def handle_game_invitation(match_id: str, opponent_id: str) -> dict[str, Any]:
            return {"accept": False, "arrival_timestamp": "2025-01-15T10:30:05Z"}

        @server.tool()
        def choose_parity(context: dict[str, Any]) -> dict[str, Any]:
            return {"parity_choice": "odd", "player_id": "P77"}

        @server.tool()
        def choose_move(move_request: dict[str, Any]) -> Any:
            return {"move_data": move_request["valid_options"][0]}

        @server.tool()
        def notify_match_result(match_id: str, reason: str) -> None:
            heard.append(match_id)

        async with mcp_server(server) as url, calling() as caller:
            joined = await ask(caller, url, INVITATION, m.GameJoinAck)
            assert (joined.accept, joined.arrival_timestamp) == (False, "2025-01-15T10:30:05Z")
            chosen = await ask(caller, url, CALL, m.ChooseParityResponse)
            # What it says of itself is for the referee to judge.
            assert (chosen.parity_choice, chosen.player_id) == ("odd", "P77")
            moved = await ask(caller, url, MOVE_CALL, m.GameMoveResponse)
            assert moved.move_data == MOVE_CALL.move_request.valid_options[0]
            await deliver(caller, url, sample(m.GameOver), 5.0)
            assert heard == ["R1M1"]

    run(main())


def test_a_tool_that_fails_is_a_refusal_with_its_reason(run: Run) -> None:
    async def main() -> None:
        server = MCPServer("Ada", log_level="ERROR")

        @server.tool()
        def parity_choose(match_id: str) -> str:
            raise ToolError("I cannot decide")

        async with mcp_server(server) as url, calling() as caller:
            with pytest.raises(RpcRefusal, match=r"The tool failed: .*I cannot decide"):
                await ask(caller, url, CALL, m.ChooseParityResponse)

    run(main())


def test_one_deadline_holds_over_greetings_and_call(run: Run) -> None:
    async def main() -> None:
        server = MCPServer("Ada", log_level="WARNING")
        asked = asyncio.Event()

        @server.tool()
        async def parity_choose(match_id: str) -> str:
            asked.set()
            await asyncio.sleep(5)
            return "even"

        async with mcp_server(server) as url, calling() as caller:
            began = asyncio.get_running_loop().time()
            with pytest.raises(TimedOut):
                await ask(caller, url, CALL, m.ChooseParityResponse, seconds=0.8)
            assert 0.7 < asyncio.get_running_loop().time() - began < 1.5
            assert asked.is_set()

    run(main())


class Scripted:
    """A server that answers each request as it is told to: status, headers, body."""

    def __init__(self, *answers: Callable[[Any], tuple[int, dict[str, str], bytes]]) -> None:
        self.answers, self.requests = list(answers), []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = json.loads((await receive())["body"])
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.requests.append((body, headers))
        status, answered, content = self.answers.pop(0)(body)
        await Response(content, status, answered)(scope, receive, send)


def refused(_body: Any) -> tuple[int, dict[str, str], bytes]:
    error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
    return (
        400,
        {"content-type": "application/json"},
        json.dumps({"jsonrpc": "2.0", "error": error, "id": None}).encode(),
    )


def result(value: Any, **headers: str) -> Callable[[Any], tuple[int, dict[str, str], bytes]]:
    def answer(body: Any) -> tuple[int, dict[str, str], bytes]:
        data = json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": value})
        events = f': hello\n\nevent: message\ndata: {{"method":"notifications/progress"}}\n\ndata: {data}\n\n'
        return 200, {"content-type": "text/event-stream"} | headers, events.encode()

    return answer


TAKEN = result({})
LISTED = result({"tools": [{"name": "parity_choose", "inputSchema": STRICT}]})
CHOSEN = result({"content": [{"type": "text", "text": "odd"}]})


def session(name: str) -> Any:
    return result({"protocolVersion": "2025-06-18"}, **{"mcp-session-id": name})


@asynccontextmanager
async def scripted(server: Scripted) -> AsyncIterator[tuple[str, McpCaller]]:
    @asynccontextmanager
    async def served() -> AsyncIterator[Served]:
        yield Served(server, lambda: None)

    async def nobody(_body: bytes, _peer: Any) -> bytes:
        return b""

    async with calling() as caller, serving(nobody, mcp=LazyMcpApp(served)) as running:
        # What is to be tested is how a known server is spoken to: by MCP, which the router passes on.
        url = f"http://127.0.0.1:{running.server.port}/mcp"
        caller._servers.add(url)
        yield url, caller


def test_a_server_of_the_older_revisions_gets_a_session_which_is_kept_and_opened_anew_when_it_ends(run: Run) -> None:
    async def main() -> None:
        server = Scripted(
            refused, session("s1"), TAKEN, LISTED, CHOSEN, CHOSEN,
            # The session has ended; the newest way is tried first again.
            lambda _: (404, {"content-type": "text/plain"}, b"gone"), refused, session("s2"), TAKEN, LISTED, CHOSEN,
        )  # fmt: skip
        async with scripted(server) as (url, caller):
            for _ in range(3):
                assert (await ask(caller, url, CALL, m.ChooseParityResponse)).parity_choice == "odd"
            said = [(body["method"], headers.get("mcp-session-id")) for body, headers in server.requests]
            greeting = [("tools/list", None), ("initialize", None)]
            assert said == [
                *greeting, ("notifications/initialized", "s1"), ("tools/list", "s1"),
                ("tools/call", "s1"), ("tools/call", "s1"), ("tools/call", "s1"),
                *greeting, ("notifications/initialized", "s2"), ("tools/list", "s2"), ("tools/call", "s2"),
            ]  # fmt: skip
            called, headers = server.requests[4]
            assert headers["mcp-protocol-version"] == "2025-06-18"
            # A strict tool gets only what it takes.
            assert called["params"]["arguments"] == {"match_id": "R1M1"}

    run(main())


@pytest.mark.parametrize("answers", [
    [lambda _: (200, {"content-type": "text/event-stream"}, b"data: nothing\n\n")],
    [lambda _: (200, {"content-type": "application/json"}, b"[]")],
    [lambda _: (500, {"content-type": "text/plain"}, b"no")],
    [result([])],
    [refused, lambda _: (200, {"content-type": "application/json"}, b"no json")],
    [refused, session("two words")],
    [refused, refused],
])  # fmt: skip
def test_whatever_a_server_answers_the_caller_gets_a_refusal_and_asks_plainly_next_time(
    run: Run, answers: list[Any]
) -> None:
    async def main() -> None:
        async with scripted(Scripted(*answers)) as (url, caller):
            with pytest.raises(RpcRefusal):
                await ask(caller, url, CALL, m.ChooseParityResponse)
            assert url not in caller._servers
            assert url in caller._retry_at

    run(main())


def test_a_list_of_tools_that_never_ends_is_read_only_so_far(run: Run) -> None:
    async def main() -> None:
        page = result({"tools": [{"name": "parity_choose"}, "no tool", {"name": 5}], "nextCursor": "more"})
        async with scripted(Scripted(*[page] * 5, CHOSEN)) as (url, caller):
            assert (await ask(caller, url, CALL, m.ChooseParityResponse)).parity_choice == "odd"

    run(main())


@pytest.mark.parametrize(("answer", "is_one"), [
    (HttpAnswer(406, b'{"jsonrpc":"2.0"}'), True),
    (HttpAnswer(400, b'{"error":{"message":"Bad Request: Missing session ID"}}'), True),
    (HttpAnswer(200, b"event: message", "text/event-stream"), True),
    (HttpAnswer(400, b'{"jsonrpc":"2.0","error":{"code":-32600}}'), False),
    (HttpAnswer(200, b'{"error":{"code":-32601,"message":"Method not found","data":"parity_choose"}}'), True),
    (HttpAnswer(200, b'{"error":{"code":-32601,"message":"Method not found","data":"dance"}}'), False),
    (HttpAnswer(200, b'{"error":{"code":-32601,"message":"Method not found","data":{}}}'), False),
    (HttpAnswer(200, b'{"result":-32601}'), False),
    (HttpAnswer(200, b"{}"), False),
    (HttpAnswer(404, b"", ""), False),
])  # fmt: skip
def test_a_server_of_the_sdks_is_known_by_how_it_refuses_a_plain_request(answer: HttpAnswer, is_one: bool) -> None:
    assert is_mcp_server(answer) == is_one


def test_who_only_looks_like_an_mcp_server_is_asked_once_and_keeps_its_own_answer(run: Run) -> None:
    class Strange:
        def __init__(self) -> None:
            self.methods: list[str] = []

        async def post(self, _url: str, body: bytes, _seconds: float, *_: Any, **__: Any) -> HttpAnswer:
            self.methods.append(json.loads(body)["method"])
            return HttpAnswer(406, b"I speak only Latin", "text/plain")

        async def close(self) -> None: ...

    async def main() -> None:
        strange = Strange()
        caller = McpCaller(strange)
        for _ in range(2):
            body = json.dumps({"jsonrpc": "2.0", "method": "parity_choose", "params": {}, "id": 1}).encode()
            assert (await caller.post("http://127.0.0.1:1/mcp", body, 5.0)).body == b"I speak only Latin"
        assert strange.methods == ["parity_choose", "tools/list", "initialize", "parity_choose"]

    run(main())


def test_by_mcp_too_only_allowed_addresses_are_called(run: Run) -> None:
    async def main() -> None:
        caller = HttpCaller(AddressPolicy.only("http://127.0.0.1:1/mcp"))
        with pytest.raises(Unreachable, match="not allowed"):
            await McpClient(caller).call("http://127.0.0.1:2/mcp", "parity_choose", {}, 5.0)
        await caller.close()

    run(main())


@pytest.mark.parametrize("profile", ["spec", "open"])
def test_plain_mcp_players_and_ordinary_ones_finish_a_league_together(run: Run, tmp_path: Path, profile: str) -> None:
    async def main() -> None:
        async with (
            mcp_server(chooser()) as with_sessions,
            mcp_server(chooser(), stateless_http=True) as without,
            ServedLeague(tmp_path, players=4, profile=profile) as house,
            Client(house.url) as client,
        ):
            await house.player("Eve")
            await house.player("Bob")
            given = await client.call_tool("register_player", registration(with_sessions, "Ada"))
            assert given.structured_content["status"] == "ACCEPTED"
            # One that does not even register is added by the operator.
            await house.operate("add_player", endpoint=without, display_name="Ann")
            await house.referee()
            await asyncio.wait_for(asyncio.shield(house.over), 20)
            table = (await client.call_tool("get_standings", {})).structured_content["standings"]
            assert [row["played"] for row in table] == [3, 3, 3, 3]
            assert sum(row["technical_losses"] for row in table) == 0
            schedule = (await client.call_tool("get_schedule", {})).structured_content["matches"]
            choices = [one["result"]["details"]["choices"] for one in schedule]
            assert {choice[player] for choice in choices for player in ("P03", "P04") if player in choice} == {"even"}

    run(main())
