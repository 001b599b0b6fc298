"""Calls between agents: a message out, the answer's message back, by JSON-RPC over whatever network there is."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import TypeVar

import msgspec
from msgspec import UNSET

from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.errors import rpc_number
from leaguekit.protocol.messages import Message
from leaguekit.protocol.methods import BY_REQUEST, read_pong
from leaguekit.protocol.responses import answer_of
from leaguekit.protocol.rpc import MAX_TRUSTED_BYTES, RpcError, RpcRefusal, request
from leaguekit.transport.base import TOO_MANY_REQUESTS, Caller, CallerLate, CallFailed

AnswerT = TypeVar("AnswerT", bound=Message)

_ids = count(1)
_INTERNAL_ERROR = -32603
_INVALID_TOKEN = 3001


class _Refused(msgspec.Struct):
    class Error(msgspec.Struct):
        class Data(msgspec.Struct):
            error_code: str

        data: Data

    error: Error


# The maximum size of an answer where any answer will do: the error page of a framework may be long.
MAX_ANY_ANSWER_BYTES = 131_072


class _Numbered(msgspec.Struct):
    class Error(msgspec.Struct):
        code: int

    error: Error


def next_id() -> int:
    """An id for a request that no other has."""
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

    Raises CallFailed (no answer), CallerLate (our own fault), RpcRefusal (the peer refused), ProtocolError (what came
    is no valid answer).
    """
    method = BY_REQUEST[type(message)]
    call_id = next(_ids)
    body = request(method.name, encode(message), call_id)
    came = await caller.post(url, body, method.seconds if seconds is None else seconds, max_bytes)
    if came.status == TOO_MANY_REQUESTS:
        # Whatever its body says: it may have been said before our request was read.
        raise RpcRefusal(RpcError(*rpc_number(None, "E059"), {"error_code": "E059"}))
    return answer_of(answer, came.body, call_id)


async def deliver(caller: Caller, url: str, message: Message, seconds: float) -> bytes:
    """Send a request of which any HTTP answer is delivery; that answer. Raises CallFailed or CallerLate."""
    body = request(BY_REQUEST[type(message)].name, encode(message), next(_ids))
    return (await caller.post(url, body, seconds, MAX_ANY_ANSWER_BYTES)).body


async def ping(caller: Caller, url: str, seconds: float) -> bytes:
    """The answer to a ping; any HTTP answer shows that somebody is there. Raises CallFailed or CallerLate."""
    return (await caller.post(url, request("ping", b"{}", next(_ids)), seconds, MAX_ANY_ANSWER_BYTES)).body


def claimed_identity(pong: bytes) -> tuple[str | None, str | None] | None:
    """The id and the league that an agent says it has, in its answer to a ping; None if it does not say."""
    said = read_pong(pong)
    agent_id = said.get("player_id", said.get("referee_id", UNSET))
    return None if agent_id is UNSET else (agent_id, said.get("league_id"))


def registration_digest(conversation_id: str, timestamp: str) -> str:
    """What the answer to a ping shows of the registration that an agent has sent: a hash, to compare it by."""
    return hashlib.sha256(f"registering:{timestamp}:{conversation_id}".encode()).hexdigest()[:32]


def has_registration_digest(pong: bytes, mark: str) -> bool:
    """Whether the answer to a ping is that of the agent that has sent a registration."""
    return read_pong(pong).get("registering") == mark


async def answers_ping(caller: Caller, url: str, agent_id: str, seconds: float) -> bool:
    """Whether an agent answers a ping: any HTTP answer will do, unless it says that it is another, or nobody yet."""
    try:
        body = await ping(caller, url, seconds)
    except CallerLate:
        return True
    except CallFailed:
        return False
    said = claimed_identity(body)
    return said is None or said[0] == agent_id


def error_code_of(refusal: RpcRefusal) -> str | None:
    """The catalogue's code for a refusal, if the peer said."""
    data = refusal.error.data
    return data.get("error_code") if isinstance(data, dict) else None


def is_transient(refusal: RpcRefusal) -> bool:
    """Whether it is worth asking again: the peer failed, or there were too many at once."""
    return refusal.error.code == _INTERNAL_ERROR or error_code_of(refusal) in ("E059", "E060")


def read_error_code(answer: bytes) -> str | None:
    """The catalogue's code for a refusal in an answer that nobody has read; None if it is no such refusal."""
    try:
        return msgspec.json.decode(answer, type=_Refused).error.data.error_code
    except DECODE_ERRORS:
        return None


def refuses_token(answer: bytes) -> bool:
    """Whether an unread answer refuses the token of a message by the manager: by 001's number, or by our code."""
    try:
        refused = msgspec.json.decode(answer, type=_Numbered).error.code == _INVALID_TOKEN
    except DECODE_ERRORS:
        return False
    return refused or read_error_code(answer) == "E012"


def is_caller_unknown(answer: bytes) -> bool:
    """Whether an answer says that its sender cannot tell who we are: it may wait for the answer to its registration.

    An agent in the field may answer anything, and has heard us.
    """
    return read_error_code(answer) in ("E005", "E011", "E012")
