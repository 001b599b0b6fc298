"""JSON-RPC 2.0: requests, notifications, batches, and one answer for every request that has an id.

Ids are never decoded. The bytes of an id are returned as they came, so that 1, 1.0, 1e400 and "é" all come back
unchanged.

Nearly every body is one valid request with a valid message. Such a body is decoded in one step. Every other body is
decoded step by step, so that the error can say what is wrong.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal, NamedTuple, Union

import msgspec
from msgspec import Raw

from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import check_text, shorten_json
from leaguekit.protocol.errors import ProtocolError, rpc_number
from leaguekit.protocol.messages import EVERY_MESSAGE, Message
from leaguekit.protocol.patterns import checker
from leaguekit.protocol.tokens import redact

# The maximum size of a message from a player to a referee, and of any message to the manager. Agents accept more from
# their manager or referee.
MAX_BYTES = 10_240
MAX_TRUSTED_BYTES = 1_048_576
MAX_IN_BATCH = 100
# The answer to a batch is at most this many times as long as the batch, or has at most this many bytes.
MAX_BATCH_ANSWER_RATIO = 10
MAX_BATCH_ANSWER_BYTES = 65_536
# The size of the short refusal of a member without its id, and the maximum size of any other refusal.
_SHORT_REFUSAL_BYTES, _MAX_REFUSAL_BYTES = 250, 16_384

NULL = b"null"
_BATCH = re.compile(rb"[ \t\n\r]*\[")
# The first bytes of JSON that is not a valid id: an object, a list, true or false.
_INVALID_ID_STARTS = (b"{", b"[", b"t", b"f")
_ABSENT = Raw(b"")
_SUCCESS = b'{"jsonrpc":"2.0","result":%b,"id":%b}'
_encode = msgspec.json.Encoder().encode
log = logging.getLogger(__name__)


class Call(msgspec.Struct):
    """A request, or a notification if it has no id (``id`` is JSON text, not a value)."""

    id: bytes | None
    method: str
    # The params; or the whole request, if its message was decoded together with it.
    text: Raw | bytes
    message: Message | None = None

    @property
    def params(self) -> Raw:
        """The params as JSON text."""
        return Raw(self.text) if self.message is None else _request.decode(self.text).params


class InvalidCall(NamedTuple):
    """A member of a body that is not a valid request. It is answered with its id, or with null if that is not known."""

    id: bytes
    method: str | None
    error: ProtocolError


class RpcError(msgspec.Struct, frozen=True):
    """The ``error`` member of an answer."""

    code: int
    message: str
    data: Any = None


class RpcRequest:
    """The body of one POST to /mcp. It is parsed once, when its calls are first needed."""

    __slots__ = ("_calls", "body", "is_batch")

    def __init__(self, body: bytes) -> None:
        self.body = body
        # Whether the body begins like a list; when it is parsed, whether it is a valid batch.
        self.is_batch = not body.startswith(b"{") and is_batch(body)
        self._calls: list[Call | InvalidCall] | None = None

    @property
    def calls(self) -> list[Call | InvalidCall]:
        """The calls in the body. There is at least one."""
        if self._calls is None:
            call = decode_valid_call(self.body, MAX_TRUSTED_BYTES)
            if call is not None:
                self._calls = [call]
            else:
                self._calls, self.is_batch = parse(self.body, MAX_TRUSTED_BYTES)
        return self._calls


class Parsed(NamedTuple):
    """The calls in a body, in their order."""

    calls: list[Call | InvalidCall]
    is_batch: bool


class _Request(msgspec.Struct):
    jsonrpc: Raw = _ABSENT
    method: Raw = _ABSENT
    params: Raw = _ABSENT
    id: Raw = _ABSENT


class _ValidRequest(msgspec.Struct):
    """A valid request with a valid message."""

    jsonrpc: Literal["2.0"]
    method: str
    params: Union[EVERY_MESSAGE]  # type: ignore[valid-type]  # noqa: UP007 - EVERY_MESSAGE is a tuple
    id: Raw


_request = msgspec.json.Decoder(_Request)
_valid_request = msgspec.json.Decoder(_ValidRequest)
# A batch as a Struct: it decodes the first members and skips the others. A list would make an object of every member.
_Members = msgspec.defstruct(
    "_Members", [(f"member_{number}", Raw, _ABSENT) for number in range(MAX_IN_BATCH + 1)], array_like=True
)
_members = msgspec.json.Decoder(_Members)
_text = msgspec.json.Decoder(str)
_any_value = msgspec.json.Decoder(Raw)

# Raised for a body that is not one valid request: invalid JSON, other types, or bytes that are not UTF-8.
_NOT_VALID = (ProtocolError, *DECODE_ERRORS)


def decode_valid_call(body: bytes, max_bytes: int = MAX_BYTES) -> Call | None:
    """Decode a body that is one valid request with a valid message. None for every other body."""
    if len(body) > max_bytes:
        return None
    try:
        check_text(body)
        request = _valid_request.decode(body)
    except _NOT_VALID:
        return None
    message: Message = request.params
    call_id = bytes(request.id)
    if call_id.startswith(_INVALID_ID_STARTS) or not checker(type(message))(message):
        return None
    return Call(call_id, request.method, body, message)


def is_batch(body: bytes | bytearray) -> bool:
    """Whether a body is a list, if it is JSON."""
    return _BATCH.match(body) is not None


def parse(body: bytes, max_bytes: int = MAX_BYTES) -> Parsed:
    """Parse any body. Every fault becomes an ``InvalidCall``, and nothing is raised."""
    try:
        if len(body) > max_bytes:
            raise _too_large(len(body), max_bytes)
        check_text(body)
        if not is_batch(body):
            return Parsed([_parse_call(body)], is_batch=False)
        members = [raw for raw in msgspec.structs.astuple(_members.decode(body)) if bytes(raw)]
        if members and len(members) <= MAX_IN_BATCH:
            return Parsed([_parse_call(member) for member in members], is_batch=True)
        too_many = f"A batch has at most {MAX_IN_BATCH} members; this one has more."
        fault = ProtocolError("E041", too_many if members else "A batch must not be empty.")
    except msgspec.DecodeError as error:
        fault = ProtocolError("E040", f"The body is not JSON: {error}.")
    except ProtocolError as error:
        fault = error
    return Parsed([InvalidCall(NULL, None, fault)], is_batch=False)


def _too_large(size: int, max_bytes: int) -> ProtocolError:
    return ProtocolError("E046", f"The message has {size:,} bytes; at most {max_bytes:,} are taken.")


def _parse_call(raw: bytes | Raw) -> Call | InvalidCall:
    try:
        request = _request.decode(raw)
    except msgspec.ValidationError:
        # The value is not an object. Raise DecodeError if it is not JSON either.
        _any_value.decode(raw)
        return InvalidCall(NULL, None, ProtocolError("E041", f"A request is an object, got {_shorten(raw)}."))
    call_id, valid_id = bytes(request.id) or None, not bytes(request.id).startswith(_INVALID_ID_STARTS)
    answer_to = call_id if valid_id else NULL
    method = _decode_text(request.method)
    if bytes(request.jsonrpc) != b'"2.0"' and _decode_text(request.jsonrpc) != "2.0":
        fault = f'jsonrpc must be "2.0", got {_shorten(request.jsonrpc)}.'
    elif method is None:
        fault = f"method must be text, got {_shorten(request.method)}."
    elif not valid_id:
        fault = f"id must be text, a number or null, got {_shorten(request.id)}."
    elif bytes(request.params)[:1] not in (b"", b"{", b"["):
        fault = f"params must be an object, got {_shorten(request.params)}."
    else:
        return Call(answer_to, method, request.params)
    # It may have been meant as a request, so it gets an answer. Only a valid notification gets none.
    return InvalidCall(answer_to or NULL, method, ProtocolError("E041", fault))


def _decode_text(raw: Raw) -> str | None:
    try:
        return _text.decode(raw)
    except msgspec.DecodeError:
        return None


def _shorten(raw: bytes | Raw) -> str:
    text = bytes(raw)
    return shorten_json(Raw(text)) if text else "nothing"


def params_of(call: Call) -> Raw:
    """The params of a call, which must be an object by document 001. JSON-RPC would also allow a list or nothing."""
    if bytes(call.params)[:1] != b"{":
        raise ProtocolError("E003" if not bytes(call.params) else "E043", "params must be an object.")
    return call.params


_Handle = Callable[[Call], Awaitable[Any]]
_Refuse = Callable[[ProtocolError, Call | InvalidCall], RpcError]
_Answering = Coroutine[Any, Any, bytes | None]


def answer(request: RpcRequest, handle: _Handle, refuse: _Refuse, max_bytes: int = MAX_BYTES) -> _Answering:
    """The answer to a request, or None for a notification. It must be awaited.

    ``handle`` returns the result of a call or raises ProtocolError. ``refuse`` makes the error that this agent sends.
    Any other exception is an error in this program: it is logged, and the peer gets an internal error.
    """
    size = len(request.body)
    if size > max_bytes:
        return _answer_one(InvalidCall(NULL, None, _too_large(size, max_bytes)), handle, refuse)
    calls = request.calls
    if not request.is_batch:
        return _answer_one(calls[0], handle, refuse)
    max_answer = max(MAX_BATCH_ANSWER_RATIO * size, MAX_BATCH_ANSWER_BYTES)
    return _answer_each(calls, handle, refuse, max_answer - _SHORT_REFUSAL_BYTES * len(calls) - _MAX_REFUSAL_BYTES)


async def _answer_each(
    calls: list[Call | InvalidCall], handle: _Handle, refuse: _Refuse, max_bytes: int
) -> bytes | None:
    answers: list[bytes] = []
    size = 0
    for call in calls:
        text = await _answer_one(call, handle, refuse) if size <= max_bytes else _refuse_excess(call)
        if text is not None:
            answers.append(text)
            size += len(text)
    return b"[%b]" % b",".join(answers) if answers else None


def _refuse_excess(call: Call | InvalidCall) -> bytes | None:
    """The refusal of a member of a batch, because the answers to earlier members are too long already."""
    detail = "The answers to the members before it are too long: send it again in another batch."
    data = {"error_code": "E059", "context": {"detail": detail}}
    return None if call.id is None else failure(call.id, RpcError(*rpc_number(None, "E059"), data))


async def _answer_one(call: Call | InvalidCall, handle: _Handle, refuse: _Refuse) -> bytes | None:
    if isinstance(call, InvalidCall):
        return failure(call.id, refuse(call.error, call))
    try:
        result = _encode(await handle(call))
    except Exception as error:  # noqa: BLE001 - it is answered, and logged if it is our error
        return _answer_failed(call, error, refuse)
    return None if call.id is None else success(call.id, result)


def _answer_failed(call: Call, error: Exception, refuse: _Refuse) -> bytes | None:
    if not isinstance(error, ProtocolError):
        log.error("internal error while answering %s", call.method, exc_info=error)
        error = ProtocolError("E060")
    return None if call.id is None else failure(call.id, refuse(error, call))


def success(call_id: bytes, result: bytes) -> bytes:
    """Encode the answer with a result."""
    return _SUCCESS % (result, call_id)


def failure(call_id: bytes, error: RpcError) -> bytes:
    """Encode the answer with an error."""
    return b'{"jsonrpc":"2.0","error":%b,"id":%b}' % (_encode(error), call_id)


def request(method: str, params: bytes, call_id: int) -> bytes:
    """Encode a request of a known method. Ids are integers, because some agents accept no others."""
    return b'{"jsonrpc":"2.0","method":"%b","params":%b,"id":%d}' % (method.encode(), params, call_id)


class RpcRefusal(Exception):
    """The peer answered with a JSON-RPC error. ``answer`` is the whole answer, if it is known."""

    answer = b""

    def __init__(self, error: RpcError) -> None:
        self.error = error
        super().__init__(redact(f"{error.code} {error.message}"))


class _Response(msgspec.Struct):
    result: Raw = _ABSENT
    error: RpcError | None = None
    id: Raw = _ABSENT


_response = msgspec.json.Decoder(_Response)


def read_answer(body: bytes, call_id: int) -> Raw:
    """The result in the answer to a call of ours.

    Raises RpcRefusal if the peer refused the call, and ProtocolError if this is not an answer to it.
    """
    check_text(body)
    try:
        response = _response.decode(body)
    except msgspec.ValidationError:
        raise ProtocolError("E041", "This is not a JSON-RPC answer.") from None
    except msgspec.DecodeError as error:
        raise ProtocolError("E040", f"The answer is not JSON: {error}.") from None
    if bytes(response.id) != b"%d" % call_id:
        raise ProtocolError("E041", f"The answer's id must be {call_id}, got {_shorten(response.id)}.")
    if response.error is not None:
        raise RpcRefusal(response.error)
    if not bytes(response.result):
        raise ProtocolError("E041", "The answer has neither a result nor an error.")
    return response.result
