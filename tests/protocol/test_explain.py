"""``explain`` on everything that people paste: messages, requests, answers, batches, exchanges, rubbish."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from leaguekit.protocol.decoding import encode
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.explain import explain
from tests.samples import samples_of

INVITATION = msgspec.json.decode(encode(samples_of("GAME_INVITATION")[0]))
JOIN = msgspec.json.decode(encode(samples_of("GAME_JOIN_ACK")[0]))
ERROR = msgspec.json.decode(encode(samples_of("LEAGUE_ERROR")[0]))
REQUEST = {"jsonrpc": "2.0", "method": "handle_game_invitation", "params": INVITATION, "id": 1}
ANSWER = {"jsonrpc": "2.0", "result": JOIN, "id": 1}
FAILURE = {"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params", "data": ERROR}, "id": 1}


def _wrong(value: Any) -> list[list[str]]:
    return [[violation.path for violation in part.wrong] for part in explain(msgspec.json.encode(value))]


@pytest.mark.parametrize(
    "value",
    [
        INVITATION,
        REQUEST,
        ANSWER,
        FAILURE,
        REQUEST | {"id": "req-1"},
        REQUEST | {"method": "GAME_INVITATION"},
        {"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 1},
        [REQUEST, ANSWER],
        [REQUEST, FAILURE],
        [REQUEST, REQUEST | {"id": 2}],
        {"jsonrpc": "2.0", "error": {"code": 5003, "message": "Duplicate report"}, "id": 1},
    ],
)
def test_nothing_is_wrong_with_what_is_right(value: Any) -> None:
    assert not any(_wrong(value))


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ([], [["(message)"]]),
        (5, [["(message)"]]),
        ({"jsonrpc": "2.0"}, [["id", "result"]]),
        (REQUEST | {"jsonrpc": "1.0"}, [["jsonrpc"]]),
        ({name: REQUEST[name] for name in ("method", "params", "id")}, [["jsonrpc"]]),
        (REQUEST | {"id": {}}, [["id"]]),
        (REQUEST | {"id": True}, [["id"]]),
        (REQUEST | {"method": "fly"}, [["method"]]),
        (REQUEST | {"method": 5}, [["method"]]),
        (REQUEST | {"params": [1]}, [["params"]]),
        ({"jsonrpc": "2.0", "method": "league_query", "id": 1}, [["params"]]),
        (REQUEST | {"method": "notify_round"}, [["params.message_type"]]),
        (REQUEST | {"params": INVITATION | {"round_id": 0}}, [["params.round_id"]]),
        (ANSWER | {"result": None}, [["result"]]),
        (ANSWER | {"result": 5}, [["result"]]),
        (ANSWER | {"error": {"code": 1, "message": "x"}}, [["error"]]),
        (ANSWER | {"result": INVITATION}, [["result.message_type"]]),
        (ANSWER | {"result": {"status": "ok"}}, [[
            "result.message_type", "result.protocol", "result.timestamp", "result.sender", "result.conversation_id"
        ]]),
        (FAILURE | {"error": "no"}, [["error"]]),
        (FAILURE | {"error": {}}, [["error.code", "error.message"]]),
        (FAILURE | {"error": {"code": True, "message": "x"}}, [["error.code"]]),
        ([REQUEST, ANSWER | {"id": 2}], [["id"], []]),
        ([REQUEST, ANSWER, ANSWER], [["id"], [], []]),
        ([REQUEST, ANSWER | {"id": True}], [["id"], ["id"]]),
        ([REQUEST | {"method": "notify_match_result"}, ANSWER], [["params.message_type", "(answer)"], []]),
        ([REQUEST | {"method": 5}, ANSWER], [["method"], []]),
    ],
)  # fmt: skip
def test_everything_that_is_wrong_is_named_by_its_path(value: Any, wrong: list[list[str]]) -> None:
    assert _wrong(value) == wrong


def test_a_notification_is_called_one() -> None:
    (part,) = explain(msgspec.json.encode({name: REQUEST[name] for name in ("jsonrpc", "method", "params")}))
    assert "notification" in part.what


def test_a_standard_number_is_put_into_words() -> None:
    assert "(wrong fields)" in explain(msgspec.json.encode(FAILURE))[0].what


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 1000 + b"]" * 1000, b"NaN"])
def test_what_is_no_json_is_said_to_be_none(text: bytes) -> None:
    with pytest.raises(ProtocolError) as refusal:
        explain(text)
    assert refusal.value.code == "E040"
