"""Which requests to /mcp are MCP's, and which the league's."""

from __future__ import annotations

import json

import pytest

from leaguekit.protocol.methods import BY_NAME
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.server.mcp_detection import is_mcp


def request(method: object, **more: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, **more}).encode()


@pytest.mark.parametrize("marked", [False, True])
@pytest.mark.parametrize("name", BY_NAME)
def test_the_leagues_methods_are_the_leagues_whatever_the_headers(name: str, marked: bool) -> None:
    asked = RpcRequest(request(name, params={"contact_endpoint": "http://initialize/"}))
    assert not is_mcp(asked, has_mcp_header=marked)


@pytest.mark.parametrize(("body", "marked", "expected"), [
    (request("initialize"), False, True),
    (request("tools/list"), False, True),
    (request("notifications/initialized"), False, True),
    # The form in which some agents of the field speak league.v2, and the same by a client of MCP.
    (request("tools/call"), False, False),
    (request("tools/call"), True, True),
    (request("ping"), False, False),
    (request("ping"), True, True),
    (request("unknown"), False, False),
    (request("unknown"), True, True),
    (request(5), False, False),
    (request(5), True, True),
    (b"[" + request("tools/list") + b"]", False, False),
    (b" [" + request("tools/list") + b"]", True, False),
    (b'{"jsonrpc":"2.0","id":1,"result":{}}', True, True),
    (b'{"jsonrpc":"2.0","id":1,"result":{}}', False, False),
    (b"no json/", False, False),
    (b"no json", True, True),
    (b"", False, False),
    (b"\xff/", False, False),
    (b"[" * 100_000 + b"/", False, False),
    (b'{"a":' * 100_000 + b"/", True, True),
])  # fmt: skip
def test_what_is_mcp_is_told_by_the_method_and_by_the_headers(body: bytes, marked: bool, expected: bool) -> None:
    assert is_mcp(RpcRequest(body), has_mcp_header=marked) == expected
