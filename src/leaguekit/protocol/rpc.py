"""JSON-RPC 2.0 in full: requests, notifications, batches, and one answer for every request that has an id.

Ids are never decoded: the bytes that came are the bytes that go back, so that 1, 1.0, 1e400 and "é" all return as
they were sent.

Nearly every body is one request with a message that is right: it is read at one go. Everything else is taken apart
with care, so that its sender hears what is wrong with it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, Union

import msgspec
from msgspec import Raw

from leaguekit.protocol.decoding import CHECKERS, check_text, shorten_json
from leaguekit.protocol.errors import ProtocolError, rpc_number
from leaguekit.protocol.messages import EVERY_MESSAGE, Message
from leaguekit.protocol.tokens import redact

# What a player may send to a referee and anybody to the manager; from its manager or referee an agent takes more.
MAX_BYTES = 10_240
MAX_TRUSTED_BYTES = 1_048_576
MAX_IN_BATCH = 100
# The answer to a batch is at most this many times as long as the batch, or this long.
MAX_BATCH_ANSWER_RATIO = 10
MAX_BATCH_ANSWER_BYTES = 65_536
# What the short refusal of a member takes beside its id, and what any other refusal takes at most.
_SHORT, _LONG = 250, 16_384

NULL = b"null"
_BATCH = re.compile(rb"[ \t\n\r]*\[")
# How JSON begins that is no id: an object, a list, true or false.
_NO_IDS = (b"{", b"[", b"t", b"f")
_ABSENT = Raw(b"")
_SUCCESS = b'{"jsonrpc":"2.0","result":%b,"id":%b}'
_encode = msgspec.json.Encoder().encode
log = logging.getLogger(__name__)


class Call(msgspec.Struct):
    """A request, or a notification if it has no id (``id`` is JSON text, not a value)."""

    id: bytes | None
    method: str
    # Its params; or the whole of it, if their message was read with it.
    text: Raw | bytes
    message: Message | None = None

    @property
    def params(self) -> Raw:
        """The params as they came."""
        return Raw(self.text) if self.message is None else _request.decode(self.text).params


class InvalidCall(NamedTuple):
    """A member of a body that is no valid request; it is answered with its id, or with null if that is unknown."""

    id: bytes
    method: str | None
    error: ProtocolError


class RpcError(NamedTuple):
    """The ``error`` member of an answer."""

    code: int
    message: str
    data: Any


class RpcRequest:
    """The body of one POST to /mcp. It is parsed once, when its calls are first needed."""

    __slots__ = ("_parsed", "body", "is_batch")

    def __init__(self, body: bytes) -> None:
        self.body = body
        # Whether the body is a list, if it is JSON.
        self.is_batch = not body.startswith(b"{") and _BATCH.match(body) is not None
        self._parsed: Parsed | None = None

    @property
    def parsed(self) -> Parsed:
        """The calls in the body. There is at least one."""
        if self._parsed is None:
            call = decode_valid_call(self.body, MAX_TRUSTED_BYTES)
            self._parsed = parse(self.body, MAX_TRUSTED_BYTES) if call is None else Parsed([call], is_batch=False)
        return self._parsed


class Parsed(NamedTuple):
    """A body taken apart, in the order in which its members came."""

    calls: list[Call | InvalidCall]
    is_batch: bool


class _Request(msgspec.Struct):
    jsonrpc: Raw = _ABSENT
    method: Raw = _ABSENT
    params: Raw = _ABSENT
    id: Raw = _ABSENT


class _Plain(msgspec.Struct):
    """A request that is right in every way."""

    jsonrpc: Literal["2.0"]
    method: str
    params: Union[EVERY_MESSAGE]  # type: ignore[valid-type]  # noqa: UP007 - a tuple of them
    id: Raw


_request = msgspec.json.Decoder(_Request)
_plain = msgspec.json.Decoder(_Plain)
# A Struct reads the first members and only passes over the others; a list would make an object of each.
_Members = msgspec.defstruct(
    "_Members", [(f"member_{number}", Raw, _ABSENT) for number in range(MAX_IN_BATCH + 1)], array_like=True
)
_members = msgspec.json.Decoder(_Members)
_text = msgspec.json.Decoder(str)
_any = msgspec.json.Decoder(Raw)


# What a body raises that is not plainly right, such as bad JSON, other types, or bytes that are no text.
_NOT_PLAIN = (ProtocolError, msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode_valid_call(body: bytes, max_bytes: int = MAX_BYTES) -> Call | None:
    """The call in a body that is one request with one message, and right; None if it has to be taken apart."""
    if len(body) > max_bytes:
        return None
    try:
        check_text(body)
        request = _plain.decode(body)
    except _NOT_PLAIN:
        return None
    message, call_id = request.params, bytes(request.id)
    if call_id.startswith(_NO_IDS) or not CHECKERS[type(message)](message):
        return None
    return Call(call_id, request.method, body, message)


def is_batch(body: bytes | bytearray) -> bool:
    """Whether a body is a list, if it is JSON."""
    return not body.startswith(b"{") and _BATCH.match(body) is not None


def parse(body: bytes, max_bytes: int = MAX_BYTES) -> Parsed:
    """Take a body apart. Whatever is wrong with it becomes a ``InvalidCall``; nothing is raised."""
    if len(body) > max_bytes:
        too_large = ProtocolError("E046", f"The message has {len(body):,} bytes; at most {max_bytes:,} are taken.")
        return Parsed([InvalidCall(NULL, None, too_large)], is_batch=False)
    try:
        check_text(body)
        if not is_batch(body):
            return Parsed([_one(body)], is_batch=False)
        members = [raw for raw in msgspec.structs.astuple(_members.decode(body)) if bytes(raw)]
    except msgspec.DecodeError as error:
        malformed = ProtocolError("E040", f"The body is not JSON: {error}.")
        return Parsed([InvalidCall(NULL, None, malformed)], is_batch=False)
    except ProtocolError as error:
        return Parsed([InvalidCall(NULL, None, error)], is_batch=False)
    if not members:
        return Parsed([InvalidCall(NULL, None, ProtocolError("E041", "A batch must not be empty."))], is_batch=False)
    if len(members) > MAX_IN_BATCH:
        too_many = ProtocolError("E041", f"A batch has at most {MAX_IN_BATCH} members; this one has more.")
        return Parsed([InvalidCall(NULL, None, too_many)], is_batch=False)
    return Parsed([_one(member) for member in members], is_batch=True)


def _one(raw: bytes | Raw) -> Call | InvalidCall:
    try:
        request = _request.decode(raw)
    except msgspec.ValidationError:
        # The first value is no object; only now is it worth knowing whether the rest is JSON.
        _any.decode(raw)
        return InvalidCall(NULL, None, ProtocolError("E041", f"A request is an object, got {_shown(raw)}."))
    call_id, valid_id = bytes(request.id) or None, not bytes(request.id).startswith(_NO_IDS)
    answer_to = call_id if valid_id else NULL
    method = _as_text(request.method)
    if bytes(request.jsonrpc) != b'"2.0"' and _as_text(request.jsonrpc) != "2.0":
        wrong = f'jsonrpc must be "2.0", got {_shown(request.jsonrpc)}.'
    elif method is None:
        wrong = f"method must be text, got {_shown(request.method)}."
    elif not valid_id:
        wrong = f"id must be text, a number or null, got {_shown(request.id)}."
    elif bytes(request.params)[:1] not in (b"", b"{", b"["):
        wrong = f"params must be an object, got {_shown(request.params)}."
    else:
        return Call(answer_to, method, request.params)
    # What cannot be told from a request gets an answer; only a well-formed notification gets none.
    return InvalidCall(answer_to or NULL, method, ProtocolError("E041", wrong))


def _as_text(raw: Raw) -> str | None:
    try:
        return _text.decode(raw)
    except msgspec.DecodeError:
        return None


def _shown(raw: bytes | Raw) -> str:
    text = bytes(raw)
    return shorten_json(Raw(text)) if text else "nothing"


def params_of(call: Call) -> Raw:
    """The params object of a call; document 001 wants an object, JSON-RPC would also allow a list or nothing."""
    if bytes(call.params)[:1] != b"{":
        raise ProtocolError("E003" if not bytes(call.params) else "E043", "params must be an object.")
    return call.params


_Handle = Callable[[Call], Awaitable[Any]]
_Refuse = Callable[[ProtocolError, Call | InvalidCall], RpcError]


async def answer(request: RpcRequest, handle: _Handle, refuse: _Refuse, max_bytes: int = MAX_BYTES) -> bytes | None:
    """The answer to a request, or None for a notification.

    ``handle`` gives the result of a call or raises ProtocolError. ``refuse`` makes the error that this agent sends. Any
    other exception is a fault of this program: it is logged, and the peer gets an internal error.
    """
    size = len(request.body)
    if size > max_bytes:
        error = ProtocolError("E046", f"The message has {size:,} bytes; at most {max_bytes:,} are taken.")
        return failure(NULL, refuse(error, InvalidCall(NULL, None, error)))
    if not request.is_batch:
        return await _answer_one(request.parsed.calls[0], handle, refuse)
    calls, is_batch = request.parsed
    if not is_batch:
        # The batch itself is wrong.
        return await _answer_one(calls[0], handle, refuse)
    most = max(MAX_BATCH_ANSWER_RATIO * size, MAX_BATCH_ANSWER_BYTES) - _SHORT * len(calls) - _LONG
    return await _answer_each(calls, handle, refuse, most)


async def _answer_each(calls: list[Call | InvalidCall], handle: _Handle, refuse: _Refuse, most: int) -> bytes | None:
    answers: list[bytes] = []
    size = 0
    for call in calls:
        text = await _answer_one(call, handle, refuse) if size <= most else _not_carried_out(call)
        if text is not None:
            answers.append(text)
            size += len(text)
    return b"[%b]" % b",".join(answers) if answers else None


def _not_carried_out(call: Call | InvalidCall) -> bytes | None:
    """For what comes in a batch after members whose answers are as long as all may be."""
    detail = "The answers to the members before it are too long: send it again in another batch."
    data = {"error_code": "E059", "context": {"detail": detail}}
    return None if call.id is None else failure(call.id, RpcError(*rpc_number(None, "E059"), data))


async def _answer_one(call: Call | InvalidCall, handle: _Handle, refuse: _Refuse) -> bytes | None:
    if isinstance(call, InvalidCall):
        return failure(call.id, refuse(call.error, call))
    try:
        result = _encode(await handle(call))
    except Exception as error:  # noqa: BLE001 - it is answered, and a fault of ours is logged
        return _failed(call, error, refuse)
    return None if call.id is None else success(call.id, result)


def _failed(call: Call, error: Exception, refuse: _Refuse) -> bytes | None:
    if not isinstance(error, ProtocolError):
        log.error("internal error while answering %s", call.method, exc_info=error)
        error = ProtocolError("E060")
    return None if call.id is None else failure(call.id, refuse(error, call))


def success(call_id: bytes, result: bytes) -> bytes:
    return _SUCCESS % (result, call_id)


def failure(call_id: bytes, error: RpcError) -> bytes:
    return b'{"jsonrpc":"2.0","error":%b,"id":%b}' % (_encode(error._asdict()), call_id)


def request(method: str, params: bytes, call_id: int) -> bytes:
    """A request as we send it: ids are integers, for some agents take no other."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b,"id":%d}' % (_encode(method), params, call_id)


class RpcRefusal(Exception):
    """The peer answered with a JSON-RPC error."""

    def __init__(self, error: RpcError) -> None:
        self.error = error
        super().__init__(redact(f"{error.code} {error.message}"))


class _ErrorMember(msgspec.Struct):
    code: int
    message: str
    data: Any = None


class _Response(msgspec.Struct):
    result: Raw = _ABSENT
    error: _ErrorMember | None = None
    id: Raw = _ABSENT


_response = msgspec.json.Decoder(_Response)


def read_answer(body: bytes, call_id: int) -> Raw:
    """The result in an answer to our call.

    Raises RpcRefusal if the peer refused the call, and ProtocolError if this is no answer to it.
    """
    check_text(body)
    try:
        response = _response.decode(body)
    except msgspec.ValidationError as error:
        raise ProtocolError("E041", f"This is no JSON-RPC answer: {error}.") from None
    except msgspec.DecodeError as error:
        raise ProtocolError("E040", f"The answer is not JSON: {error}.") from None
    if bytes(response.id) != b"%d" % call_id:
        raise ProtocolError("E041", f"The answer's id must be {call_id}, got {_shown(response.id)}.")
    if response.error is not None:
        raise RpcRefusal(RpcError(response.error.code, response.error.message, response.error.data))
    if not bytes(response.result):
        raise ProtocolError("E041", "The answer has neither a result nor an error.")
    return response.result
