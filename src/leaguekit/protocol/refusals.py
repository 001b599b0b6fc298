"""The errors with which each kind of agent answers invalid calls: a number, a text, and a complete message as data."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import ProtocolError, rpc_number
from leaguekit.protocol.fields import ConversationId, MatchId, Name, PlayerId
from leaguekit.protocol.ids import MANAGER
from leaguekit.protocol.messages import GameError, LeagueError, envelope, game_error
from leaguekit.protocol.methods import BY_NAME
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.rpc import Call, InvalidCall, RpcError

_CONSEQUENCE = "This message does not count."
Refuse = Callable[[ProtocolError, Call | InvalidCall], RpcError]


class _RequestFields(msgspec.Struct):
    """Fields of the message of a rejected call. Each is used if it is valid, whatever else is wrong."""

    message_type: msgspec.Raw = msgspec.Raw(b"")
    conversation_id: msgspec.Raw = msgspec.Raw(b"")
    match_id: msgspec.Raw = msgspec.Raw(b"")
    player_id: msgspec.Raw = msgspec.Raw(b"")
    auth_token: msgspec.Raw = msgspec.Raw(b"")


def manager_refusal(
    now: Callable[[], datetime], player_with: Callable[[str], str | None] = lambda _token: None
) -> Refuse:
    """Errors of a manager contain a LEAGUE_ERROR. It names the player with the token, or the player in the message."""

    def refuse(error: ProtocolError, call: Call | InvalidCall) -> RpcError:
        known = _request_fields(call)
        token, action = _text(known.auth_token), _original(known, call)
        player = None if token is None else player_with(token)
        message = LeagueError(
            **envelope(MANAGER, now(), _conversation(known)),
            error_code=error.code,
            error_description=error.fault.name,
            error_name=error.fault.name,
            original_message_type=action,
            affected_player=player or _valid(known.player_id, PlayerId) or None,
            action_required=error.fault.remedy,
            retryable=error.fault.retryable,
            consequence=_CONSEQUENCE,
            context={"detail": error.detail, "action": action} | error.context,
        )
        return _rpc_error(error, call, message)

    return refuse


def referee_refusal(sender: str, now: Callable[[], datetime]) -> Refuse:
    """Errors of a referee contain a GAME_ERROR."""

    def refuse(error: ProtocolError, call: Call | InvalidCall) -> RpcError:
        known = _request_fields(call)
        message = game_error(
            envelope(sender, now(), _conversation(known)),
            code=error.code,
            match_id=_valid(known.match_id, MatchId),
            player_id=_valid(known.player_id, PlayerId) or None,
            action_required=error.fault.remedy,
            consequence=_CONSEQUENCE,
            retryable=error.fault.retryable,
            retry_count=0,
            max_retries=0,
            detail=error.detail,
            context={"action": _original(known, call)} | error.context,
        )
        return _rpc_error(error, call, message)

    return refuse


def player_refusal(error: ProtocolError, call: Call | InvalidCall) -> RpcError:
    """Errors of a player contain only code, name and context: the documents give players no error message."""
    number, text = rpc_number(_method(call), error.code)
    context = {"detail": error.detail, "remedy": error.fault.remedy} | error.context
    data = {"error_code": error.code, "error_name": error.fault.name, "context": context} | error.data
    return RpcError(number, text, data)


def _rpc_error(error: ProtocolError, call: Call | InvalidCall, message: LeagueError | GameError) -> RpcError:
    number, text = rpc_number(_method(call), error.code)
    return RpcError(number, text, msgspec.to_builtins(message) | error.data)


def _method(call: Call | InvalidCall) -> str | None:
    method = BY_NAME.get(call.method or "")
    return None if method is None else method.name


def _request_fields(call: Call | InvalidCall) -> _RequestFields:
    try:
        return msgspec.json.decode(call.params, type=_RequestFields) if isinstance(call, Call) else _RequestFields()
    except msgspec.DecodeError:
        return _RequestFields()


def _valid(raw: msgspec.Raw, kind: Any) -> str | UnsetType:
    text = _text(raw)
    return UNSET if text is None or not valid(kind, text) else text


def _text(raw: msgspec.Raw) -> str | None:
    try:
        return msgspec.json.decode(raw, type=str)
    except DECODE_ERRORS:
        return None


def _conversation(known: _RequestFields) -> str:
    return _valid(known.conversation_id, ConversationId) or "conv-error"


def _original(known: _RequestFields, call: Call | InvalidCall) -> str:
    return _valid(known.message_type, Name) or (call.method or "unknown")[:100]
