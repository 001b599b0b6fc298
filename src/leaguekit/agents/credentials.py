"""The credentials in a request, read before the request is handled: tokens, codes and endpoints."""

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


class TokenOwner(msgspec.Struct, frozen=True):
    """The agent that a token belongs to, or the operator."""

    role: Literal["player", "referee", "operator", "manager"]
    id: str = ""


# The beginning of a body and its sender's address → the owner of the token in it, or None.
IdentifyBody = Callable[[bytes, Peer], TokenOwner | None]


class Credentials(NamedTuple):
    """The first value of each of these fields in a body, or empty where there is none."""

    auth_token: str = ""
    match_id: str = ""
    sender: str = ""
    # The secret of a relay, and the code of a seat.
    secret: str = ""
    code: str = ""


def credentials_in(beginning: bytes) -> Credentials:
    """The credentials in the beginning of a body, which need not be valid JSON."""
    found: dict[str, str] = {}
    for name, value in _FIELD.findall(beginning):
        found.setdefault(name.decode(), value.decode(errors="replace"))
    return Credentials(**found)


class _Tokens(msgspec.Struct):
    auth_token: str = ""
    admin_token: str = ""


class _Meta(msgspec.Struct):
    contact_endpoint: str = ""


class _Registration(msgspec.Struct):
    player_meta: _Meta | None = None
    referee_meta: _Meta | None = None


_registration_decoder = msgspec.json.Decoder(_Registration)
_tokens_decoder = msgspec.json.Decoder(_Tokens)


def token_in(message: bytes) -> str:
    """The token in an undecoded message, or empty if there is none."""
    try:
        tokens = _tokens_decoder.decode(message)
    except DECODE_ERRORS:
        return ""
    return tokens.auth_token or tokens.admin_token


def token_of(request: RpcRequest) -> str:
    """The token in a request, or empty if there is none. In a batch, and in other forms, it is the first token."""
    token = ""
    if not request.is_batch and isinstance(call := request.calls[0], Call):
        token = token_in(call.params) if call.message is None else getattr(call.message, "auth_token", "")
    return token or credentials_in(request.body).auth_token


def endpoint_in(call: Call | InvalidCall) -> str:
    """The endpoint in a registration, even if the registration is not valid. Empty if there is none."""
    if isinstance(call, InvalidCall):
        return ""
    if isinstance(call.message, LeagueRegisterRequest):
        return call.message.player_meta.contact_endpoint
    if isinstance(call.message, RefereeRegisterRequest):
        return call.message.referee_meta.contact_endpoint
    try:
        registration = _registration_decoder.decode(call.params)
    except DECODE_ERRORS:
        return ""
    return (registration.player_meta or registration.referee_meta or _Meta()).contact_endpoint
