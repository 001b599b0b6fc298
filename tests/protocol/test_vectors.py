"""Every JSON example of the specification: 83 decode, and of the three fragments we say exactly what they lack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from leaguekit.protocol.decoding import decode
from leaguekit.protocol.explain import explain
from leaguekit.protocol.messages import message_type
from leaguekit.protocol.methods import BY_NAME
from leaguekit.protocol.rpc import Call, params_of, parse
from leaguekit.protocol.schemas import message_schemas

VECTORS = sorted((Path(__file__).parent.parent / "vectors").glob("*.json"))
FRAGMENTS = {
    "000-L0061-bare-SPECIFIC_MESSAGE_TYPE": {"message_type", "sender", "timestamp"},
    "003-L0073-bare-GAME_INVITATION": {"game_type", "role_in_match", "opponent_id"},
    "003-L0274-bare-LEAGUE_REGISTER_REQUEST": {
        "protocol",
        "sender",
        "timestamp",
        "conversation_id",
        "player_meta.contact_endpoint",
    },
}
# Document 000 leaves the envelope out of its examples to save space, and says so.
ENVELOPE = {
    "protocol": "league.v2",
    "sender": "player:P01",
    "timestamp": "2025-01-15T10:30:00Z",
    "conversation_id": "conv-r1m1-001",
}
WHOLE = [path for path in VECTORS if path.stem not in FRAGMENTS]


def _message(value: dict[str, Any]) -> dict[str, Any] | None:
    """The message in a vector, with the envelope added where it is bare; None for an error without one."""
    if "error" in value and "jsonrpc" in value:
        data: dict[str, Any] = value["error"]["data"]
        return data if "message_type" in data else None
    for member in ("params", "result"):
        if "jsonrpc" in value and member in value:
            return dict(value[member])
    return ENVELOPE | value


def test_there_are_86_vectors_of_which_83_are_whole() -> None:
    assert (len(VECTORS), len(WHOLE)) == (86, 83)


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_a_whole_vector_decodes_and_satisfies_its_published_schema(path: Path) -> None:
    value = json.loads(path.read_bytes())
    message = _message(value)
    if message is None:
        assert type(value["error"]["code"]) is int
        assert explain(path.read_bytes())[0].wrong == []
        return
    decoded = decode(json.dumps(message).encode())
    assert message_type(decoded) == message["message_type"]
    assert message_type(decoded) in path.stem
    jsonschema_rs.validator_for(message_schemas()[message_type(decoded)]).validate(message)


@pytest.mark.parametrize("path", [path for path in WHOLE if "-request-" in path.stem], ids=lambda path: path.stem)
def test_a_request_vector_is_a_call_of_its_method(path: Path) -> None:
    (call,) = parse(path.read_bytes()).calls
    assert isinstance(call, Call)
    assert isinstance(decode(bytes(params_of(call))), BY_NAME[call.method].request)


@pytest.mark.parametrize(("name", "lacking"), FRAGMENTS.items())
def test_explain_names_exactly_what_a_fragment_lacks(name: str, lacking: set[str]) -> None:
    (path,) = (path for path in VECTORS if path.stem == name)
    (part,) = explain(path.read_bytes())
    assert {violation.path for violation in part.wrong} == lacking
    assert all(violation.requirement for violation in part.wrong)
