"""The ASGI application for MCP. It loads the SDK when the first MCP request comes.

The SDK is imported in a thread. That takes most of a second. The loop continues meanwhile, because Python switches
between threads every few milliseconds, so that matches in progress are hardly delayed. Without the SDK, the answer says
what to install.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import rpc_number
from leaguekit.protocol.rpc import NULL, RpcError, failure
from leaguekit.transport.base import TOO_MANY_REQUESTS, Peer
from leaguekit.transport.mcp.surface import Surface

log = logging.getLogger(__name__)

SDK_MISSING = (
    "This server does not speak MCP, only league.v2 by JSON-RPC: it runs without pip install 'leaguekit[mcp]'."
)
# After a failure to load MCP, requests get this failure for a time. Then loading is tried again.
RETRY_SECONDS = 5.0
_METHOD_NOT_FOUND = -32601
_NOT_FOUND = 404
_ONLY_POST = 405

# A peer and a body → 0 if the request is allowed, or the number of seconds after which it would be.
Admit = Callable[[Peer, bytes], float]
# The name of the known agent or seat that sent a request with this body; None if its sender is not known.
SenderOf = Callable[[bytes, Peer], str | None]


class SdkMissing(Exception):
    """The SDK is not installed, or has another version."""


class Served(NamedTuple):
    """An application, and a function that ends its streams."""

    app: ASGIApp
    end_streams: Callable[[], None]


# The context in which an application is served.
Running = AbstractAsyncContextManager[Served]


class _WithId(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw(NULL)


class LazyMcpApp:
    """Serves MCP requests with the application of ``load``, which is called in a thread at the first request.

    ``sender_of`` names the known sender of a request. ``only_post`` refuses all other methods. They are for sessions,
    and for streams outside of a call.
    """

    def __init__(
        self,
        load: Callable[[], Running],
        *,
        admit: Admit | None = None,
        sender_of: SenderOf | None = None,
        only_post: bool = False,
    ) -> None:
        self._load = load
        self._admit = admit
        self.sender_of = sender_of
        self._only_post = only_post
        self._opening: asyncio.Future[Served] | None = None
        self._running: asyncio.Task[None] | None = None
        self._retry_at = 0.0
        self._closing = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._only_post and scope["method"] != "POST":
            await Response(status_code=_ONLY_POST, headers={"allow": "POST"})(scope, receive, send)
            return
        first_message: Message | None = await receive()
        if first_message is None or first_message["type"] != "http.request":
            # The peer has disconnected already.
            return

        async def receive_again() -> Message:
            nonlocal first_message
            if first_message is None:
                return await receive()
            message, first_message = first_message, None
            return message

        query = scope.get("query_string", b"").decode("latin-1")
        peer = Peer((scope.get("client") or ("", 0))[0], query, scope.get("server") or ("", 0))
        if self._admit is not None and (seconds := self._admit(peer, first_message["body"])):
            await _too_many_requests(seconds)(scope, receive_again, send)
            return
        try:
            app = (await self._open()).app
        except SdkMissing as missing:
            await _refusal(missing, first_message["body"])(scope, receive_again, send)
            return
        await app(scope, receive_again, send)

    async def _open(self) -> Served:
        if self._opening is None or self._has_failed():
            self._opening = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._opening))
        # Several requests may wait for this. One that is cancelled must not cancel it for the others.
        return await asyncio.shield(self._opening)

    def _has_failed(self) -> bool:
        """Whether it failed some time ago: the fault may have been one of the host, and have passed."""
        opening, now = self._opening, asyncio.get_running_loop().time()
        return opening is not None and opening.done() and opening.exception() is not None and now >= self._retry_at

    async def _run(self, opening: asyncio.Future[Served]) -> None:
        try:
            async with await asyncio.to_thread(self._load) as served:
                opening.set_result(served)
                await self._closing.wait()
        except BaseException as error:
            if opening.done():
                raise
            self._retry_at = asyncio.get_running_loop().time() + RETRY_SECONDS
            opening.set_exception(error)
            # Requests that wait get the exception. If none is left, asyncio must not log it as unhandled.
            opening.exception()

    def end_streams(self) -> None:
        """End the streams, which would not end by themselves."""
        if self._opening is not None and self._opening.done() and self._opening.exception() is None:
            self._opening.result().end_streams()

    async def close(self) -> None:
        """Stop the application. Every request must have been answered or aborted before."""
        self._closing.set()
        if self._running is not None:
            await self._running


def lazy_mcp_app(
    surface: Callable[[], Surface],
    max_bytes: int,
    *,
    admit: Admit | None = None,
    sender_of: SenderOf | None = None,
) -> LazyMcpApp:
    """An application for a surface, which is made when the first request comes."""

    def load() -> Running:
        try:
            sdk: Any = importlib.import_module("leaguekit.transport.mcp.sdk")
        except ImportError as error:
            log.warning("MCP is not served: %s", error)
            raise SdkMissing(SDK_MISSING) from error
        running: Running = sdk.served(surface(), max_bytes)
        return running

    return LazyMcpApp(load, admit=admit, sender_of=sender_of, only_post=True)


def _refusal(missing: SdkMissing, body: bytes) -> Response:
    try:
        call_id = bytes(msgspec.json.decode(body, type=_WithId).id)
    except DECODE_ERRORS:
        call_id = NULL
    body = failure(call_id, RpcError(_METHOD_NOT_FOUND, str(missing), None))
    return Response(body, _NOT_FOUND, media_type="application/json")


def _too_many_requests(seconds: float) -> Response:
    body = failure(NULL, RpcError(*rpc_number(None, "E059"), {"error_code": "E059"}))
    return Response(body, TOO_MANY_REQUESTS, {"retry-after": str(math.ceil(seconds))}, "application/json")
