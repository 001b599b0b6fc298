"""A surface without the SDK: resources and their templates, typed tools, and notifications of changes."""

from __future__ import annotations

import asyncio
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from leaguekit.protocol.methods import METHODS
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.base import Peer, TooManyRequests
from leaguekit.transport.mcp.methods import method_tools
from leaguekit.transport.mcp.surface import ChangeNotifier, Resource, ToolContext, ToolRefused
from leaguekit.transport.mcp.typed import typed_tool
from tests.transport.running import echo

VISIT = ToolContext(Peer("127.0.0.1"))


async def read(_names: Any) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(("uri", "names"), [
    ("league://matches/R1M1", {"match_id": "R1M1"}),
    ("league://matches/", None),
    ("league://matches/R1M1/more", None),
    ("league://matchesXR1M1", None),
    ("xleague://matches/R1M1", None),
])  # fmt: skip
def test_a_template_fits_what_has_something_in_the_place_of_its_names(uri: str, names: dict[str, str] | None) -> None:
    assert Resource("league://matches/{match_id}", "match", "Match", "One match", read).match_uri(uri) == names


def test_a_plain_uri_fits_only_itself() -> None:
    resource = Resource("league://a.b", "a", "A", "A", read)
    assert resource.match_uri("league://a.b") == {}
    assert resource.match_uri("league://axb") is None


def test_whoever_listens_is_told_until_it_stops() -> None:
    changes, heard = ChangeNotifier(), []
    assert not changes
    stop = changes.subscribe(heard.append)
    assert changes
    changes.notify("league://standings")
    stop()
    stop()
    changes.notify("league://standings")
    assert heard == ["league://standings"]
    assert not changes


class Takes(msgspec.Struct):
    number: int


class Gives(msgspec.Struct):
    twice: int
    inner: list[Takes]


async def double(taken: Takes, _visit: ToolContext) -> Gives:
    return Gives(2 * taken.number, [taken])


def test_a_typed_tool_takes_and_gives_what_its_structs_say() -> None:
    tool = typed_tool("double_it", "Doubles.", Takes, Gives, double, is_read_only=True)
    given = asyncio.run(tool.call({"number": 4}, VISIT))
    assert given == {"twice": 8, "inner": [{"number": 4}]}
    assert tool.title == "Double it"
    assert tool.input["type"] == tool.output["type"] == "object"
    jsonschema_rs.validator_for(tool.output).validate(given)
    with pytest.raises(ToolRefused, match=r"double_it are wrong: Expected `int`, got `str` - at `\$\.number`"):
        asyncio.run(tool.call({"number": "4"}, VISIT))


@pytest.mark.parametrize("role", ["league_manager", "referee", "player"])
def test_every_method_of_a_role_is_a_tool_with_schemas_that_are_valid_and_small(role: Any) -> None:
    tools = method_tools(role, echo)
    assert [tool.name for tool in tools] == [method.name for method in METHODS if role in method.receivers]
    for tool in tools:
        for schema in (tool.input, tool.output):
            assert schema["type"] == "object"
            jsonschema_rs.meta.validate(schema)
            assert not any(mark in msgspec.json.encode(schema) for mark in (b"x-requirement", b"0229))T"))
        assert tool.description.startswith("league.v2: ")


def test_a_methods_tool_asks_the_same_handler_as_plain_json_rpc() -> None:
    asked = []

    async def handler(request: RpcRequest, peer: Peer) -> bytes:
        asked.append((msgspec.json.decode(request.body), peer))
        return b'{"jsonrpc":"2.0","result":{"status":"ok"},"id":1}'

    [tool] = [one for one in method_tools("league_manager", handler) if one.name == "league_query"]
    assert tool.is_read_only
    assert asyncio.run(tool.call({"query_type": "é"}, VISIT)) == {"status": "ok"}
    assert asked == [({"jsonrpc": "2.0", "method": "league_query", "params": {"query_type": "é"}, "id": 1}, VISIT.peer)]


def test_what_the_handler_refuses_the_tool_refuses_with_the_same_error() -> None:
    async def refusing(_request: RpcRequest, _peer: Peer) -> bytes:
        return b'{"jsonrpc":"2.0","error":{"code":6001,"message":"no","data":{"error_code":"E012"}},"id":1}'

    async def tired(_request: RpcRequest, _peer: Peer) -> bytes:
        raise TooManyRequests(b"{}", 2.5)

    for handler, words in ((refusing, '"code":6001,"message":"no"'), (tired, r"the next in 2\.5 s")):
        with pytest.raises(ToolRefused, match=words):
            asyncio.run(method_tools("player", handler)[0].call({}, VISIT))
