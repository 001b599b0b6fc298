"""What a request says about its sender, before the request is handled."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.messages import LeagueRegisterRequest, RefereeRegisterRequest
from leaguekit.protocol.rpc import Call, InvalidCall, RpcRequest
from leaguekit.transport.base import Peer

_FIELD = re.compile(rb'"(auth_token|match_id|sender|secret|code)"\s*:\s*"([^"\\]{1,200})"')


class TokenOwner(NamedTuple):
    """Whom a token belongs to."""

    role: Literal["player", "referee", "operator", "manager"]
    id: str = ""


# The beginning of a body and where it comes from → whom the token in it belongs to.
IdentifyBody = Callable[[bytes, Peer], TokenOwner | None]


class Credentials(NamedTuple):
    """The first value of each of these fields; empty where there is none."""

    auth_token: str = ""
    match_id: str = ""
    sender: str = ""
    # Of a relay, and of a seat.
    secret: str = ""
    code: str = ""


def credentials_in(beginning: bytes) -> Credentials:
    """What the beginning of a body shows."""
    found: dict[str, str] = {}
    for name, value in _FIELD.findall(beginning):
        found.setdefault(name.decode(), value.decode(errors="replace"))
    return Credentials(**found)


class _Shown(msgspec.Struct):
    auth_token: str = ""
    admin_token: str = ""


class _Meta(msgspec.Struct):
    contact_endpoint: str = ""


class _Applied(msgspec.Struct):
    player_meta: _Meta | None = None
    referee_meta: _Meta | None = None


_applied = msgspec.json.Decoder(_Applied)
_shown = msgspec.json.Decoder(_Shown)


def token_in(message: bytes) -> str:
    """The token that a message shows by itself."""
    try:
        return _shown.decode(message).auth_token
    except DECODE_ERRORS:
        return ""


def token_of(request: RpcRequest) -> str:
    """The token that a request shows; in a batch, and in other forms, the first token counts."""
    call = None if request.is_batch else request.parsed.calls[0]
    token = ""
    if isinstance(call, Call):
        if call.message is None:
            token = _token_in_params(call)
        elif isinstance(shown := getattr(call.message, "auth_token", None), str):
            token = shown
    return token or credentials_in(request.body).auth_token


def _token_in_params(call: Call) -> str:
    try:
        shown = _shown.decode(call.params)
    except DECODE_ERRORS:
        return ""
    return shown.auth_token or shown.admin_token


def endpoint_in(call: Call | InvalidCall) -> str:
    """The endpoint in a registration, also in one that is not valid; empty if there is none."""
    if isinstance(call, InvalidCall):
        return ""
    if isinstance(call.message, LeagueRegisterRequest):
        return call.message.player_meta.contact_endpoint
    if isinstance(call.message, RefereeRegisterRequest):
        return call.message.referee_meta.contact_endpoint
    try:
        applied = _applied.decode(call.params)
    except DECODE_ERRORS:
        return ""
    return (applied.player_meta or applied.referee_meta or _Meta()).contact_endpoint
