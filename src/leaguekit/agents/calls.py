"""Calls between agents: send a message as a JSON-RPC request, and read the message in the answer."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.errors import ProtocolError, rpc_number
from leaguekit.protocol.messages import Message
from leaguekit.protocol.methods import BY_REQUEST, read_pong
from leaguekit.protocol.responses import answer_of
from leaguekit.protocol.rpc import MAX_TRUSTED_BYTES, RpcError, RpcRefusal, request
from leaguekit.transport.base import TOO_MANY_REQUESTS, Caller, CallerLate, CallFailed

AnswerT = TypeVar("AnswerT", bound=Message)

_ids = count(1)
_INTERNAL_ERROR = -32603
_INVALID_TOKEN = 3001


# The maximum size of an answer whose content does not matter. The error page of a framework may be long.
MAX_ANY_ANSWER_BYTES = 131_072


class _Refusal(msgspec.Struct):
    class Error(msgspec.Struct):
        code: Any = None
        data: Any = None

    error: Error


def next_id() -> int:
    """An id for a request, which no other request of this process has."""
    return next(_ids)


async def ask(
    caller: Caller,
    url: str,
    message: Message,
    answer: type[AnswerT],
    *,
    seconds: float | None = None,
    max_bytes: int = MAX_TRUSTED_BYTES,
) -> AnswerT:
    """Send a request and read its answer.

    Raises CallFailed (there was no answer), CallerLate (this machine was too slow or could not call), RpcRefusal (the
    peer refused the request) or ProtocolError (the answer is not valid).
    """
    method = BY_REQUEST[type(message)]
    call_id = next(_ids)
    body = request(method.name, encode(message), call_id)
    response = await caller.post(url, body, method.seconds if seconds is None else seconds, max_bytes)
    if response.status == TOO_MANY_REQUESTS:
        # The body does not matter: the server may have sent it before it read the request.
        raise RpcRefusal(RpcError(*rpc_number(None, "E059"), {"error_code": "E059"}))
    try:
        return answer_of(answer, response.body, call_id)
    except (ProtocolError, RpcRefusal) as error:
        error.answer = response.body
        raise


async def deliver(caller: Caller, url: str, message: Message, seconds: float) -> bytes:
    """Send a request and return the body of the answer. Any HTTP answer will do. Raises CallFailed or CallerLate."""
    body = request(BY_REQUEST[type(message)].name, encode(message), next(_ids))
    return (await caller.post(url, body, seconds, MAX_ANY_ANSWER_BYTES)).body


async def ping(caller: Caller, url: str, seconds: float) -> bytes:
    """Send a ping, and return the body of the answer. Any HTTP answer is success. Raises CallFailed or CallerLate."""
    return (await caller.post(url, request("ping", b"{}", next(_ids)), seconds, MAX_ANY_ANSWER_BYTES)).body


def claimed_identity(pong: bytes) -> tuple[str | None, str | None] | None:
    """The id and the league that an agent states in its answer to a ping, or None if it states none."""
    stated = read_pong(pong)
    agent_id = stated.get("player_id", stated.get("referee_id", UNSET))
    return None if agent_id is UNSET else (agent_id, stated.get("league_id"))


def registration_digest(conversation_id: str, timestamp: str) -> str:
    """A hash of a registration. The agent that sent the registration shows it in its answer to a ping."""
    return hashlib.sha256(f"registering:{timestamp}:{conversation_id}".encode()).hexdigest()[:32]


def has_registration_digest(pong: bytes, digest: str) -> bool:
    """Whether the answer to a ping comes from the agent that sent the registration with this digest."""
    return read_pong(pong).get("registering") == digest


async def answers_ping(caller: Caller, url: str, seconds: float, agent_id: str | None = None) -> bool:
    """Whether a ping is answered. With an ``agent_id``, an answer that states another id, or no id yet, does not count.

    If this machine is too slow or cannot call, the result is True.
    """
    try:
        body = await ping(caller, url, seconds)
    except CallerLate:
        return True
    except CallFailed:
        return False
    stated = claimed_identity(body)
    return agent_id is None or stated is None or stated[0] == agent_id


def error_code_of(refusal: RpcRefusal) -> str | None:
    """The catalogue's code of a refusal, or None if the peer gave none."""
    data = refusal.error.data
    return data.get("error_code") if isinstance(data, dict) else None


def detail_of(refusal: RpcRefusal) -> str:
    """The sentence about the cause of a refusal, or an empty string."""
    data = refusal.error.data
    context = data.get("context") if isinstance(data, dict) else None
    return context.get("detail") or "" if isinstance(context, dict) else ""


def is_transient(refusal: RpcRefusal) -> bool:
    """Whether the same request may succeed later: the peer had an internal error or too many requests."""
    return refusal.error.code == _INTERNAL_ERROR or error_code_of(refusal) in ("E059", "E060", "E061")


def read_error_code(answer: bytes) -> str | None:
    """The catalogue's code in an undecoded answer, or None if the answer is not a refusal with a code."""
    return _read_codes(answer)[1]


def refuses_token(answer: bytes) -> bool:
    """Whether an undecoded answer refuses the token of a message, by the number of document 001 or by our code."""
    number, code = _read_codes(answer)
    return number == _INVALID_TOKEN or code == "E012"


def _read_codes(answer: bytes) -> tuple[object, str | None]:
    """The number and the catalogue's code of a refusal. Each is None if the answer has none."""
    try:
        error = msgspec.json.decode(answer, type=_Refusal).error
    except DECODE_ERRORS:
        return None, None
    return error.code, error.data.get("error_code") if isinstance(error.data, dict) else None


def is_caller_unknown(answer: bytes) -> bool:
    """Whether an undecoded answer says that the called agent does not know its caller.

    That agent may still wait for the answer to its registration. Any other answer means that it has read the message.
    """
    return read_error_code(answer) in ("E005", "E011", "E012")
