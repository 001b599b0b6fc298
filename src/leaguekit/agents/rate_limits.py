"""The rate limits of an agent's server: per agent for callers with a valid token, per address for all others.

Many agents may share one address: those of a school, or those of a league that is played on one machine. So a caller
with a valid token is counted by itself. All other callers are counted by their address, and cannot use up the rate of
the agents at the same address.

The manager identifies the token of every request. For players and referees, that would take as long as the rest of an
answer. They identify a token only in three cases: the caller's address is over its limit, many bytes are to be charged
for, or some known caller is over its limit.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, MutableMapping
from functools import lru_cache
from typing import Any, NoReturn
from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from leaguekit.agents.credentials import IdentifyBody, TokenOwner, credentials_in, endpoint_in, token_of
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_NAME
from leaguekit.protocol.refusals import Refuse
from leaguekit.protocol.rpc import Call, InvalidCall, RpcRequest, answer
from leaguekit.transport.base import TOO_MANY_REQUESTS, Handler, Peer, TooManyRequests
from leaguekit.transport.server.origin_headers import address_block
from leaguekit.transport.server.pending_requests import BYTES_BEFORE_ADMISSION
from leaguekit.transport.token_buckets import TokenBuckets

log = logging.getLogger(__name__)

# The interval between two warnings in the log.
WARNING_INTERVAL_SECONDS = 10.0
# A registration costs more than other requests: the manager calls the applicant and writes to its event log.
REGISTRATION_COST = 5
# A long request or answer is charged as one request per this number of bytes. A schedule takes long to make.
BYTES_PER_REQUEST = 2_048
# The same for pages, which are cheaper because they come from memory.
BYTES_PER_PAGE = 65_536
# The longest possible name of a host, with a port.
_MAX_HOST_LENGTH = 260
# The methods that cost more than one request, by all their names.
_COSTS: dict[str | None, float] = {
    name: REGISTRATION_COST
    for name, method in BY_NAME.items()
    if method.name in ("register_player", "register_referee")
}


# The key of a caller in its buckets: the id of an agent, or an address and the port that it called.
_Key = str | tuple[str, int]
_Account = tuple[TokenBuckets, _Key]
# A token → its owner, or None if the token is not valid.
IdentifyToken = Callable[[str], TokenOwner | None]


# A call with the id null. Its answer ends with "null}", which can be replaced by another id.
_ANY_CALL = RpcRequest(b'{"jsonrpc":"2.0","method":"batch","id":null}')


class RateLimiter:
    """Limits the rate of requests per caller, with a token bucket for each.

    The ``acquire_…`` methods return 0 if a request is allowed, and count it. Otherwise they return the number of
    seconds after which it would be allowed.
    """

    def __init__(
        self, identify: IdentifyToken | None = None, identify_body: IdentifyBody = lambda _beginning, _peer: None
    ) -> None:
        """``identify`` is called for every request, and ``identify_body`` only where the result matters."""
        self._identify = identify
        self._identify_body = identify_body
        self._addresses = TokenBuckets(1_000, 2_000)
        # An address that is over its limit may still send a few registrations, and very few per endpoint.
        self._registrations = TokenBuckets(20, 40)
        self._registrations_per_endpoint = TokenBuckets(0.2, 3)
        self._players = TokenBuckets(200, 400)
        # A referee reports the progress, the result and the transcript of every match.
        self._referees = TokenBuckets(5_000, 10_000)
        # Pages have their own limit: many spectators at one address must not use up the rate of the agents there.
        self._pages = TokenBuckets(500, 5_000)
        # A request takes about twenty times as long by MCP.
        self._mcp_addresses = TokenBuckets(50, 200)
        self._mcp_agents = TokenBuckets(50, 200)
        self._next_warning_at = 0.0
        # Known callers that are over their limits.
        self._over_limit: dict[_Key, TokenBuckets] = {}

    def acquire_for_message(self, token: str, peer: Peer, size: int = 0) -> float:
        """Count a message of that size that did not come by JSON-RPC."""
        account = self._account(self._owner_of(token), peer)
        return 0.0 if account is None else self._take(*account, size)

    def acquire_for_page(self, peer: Peer) -> float:
        """Count a request for a page of the dashboard or for the manager's health."""
        return self._take(self._pages, _address_key(peer), 0)

    def charging_send(self, peer: Peer, send: Send) -> Send:
        """Wrap an ASGI ``send``, so that the reader of a page is charged for the bytes that are sent."""

        async def sending(message: MutableMapping[str, Any]) -> None:
            size = len(message.get("body", b""))
            if size > BYTES_PER_PAGE:
                self._pages.charge(_address_key(peer), size / BYTES_PER_PAGE)
            await send(message)

        return sending

    def limit_pages(
        self, app: ASGIApp, peer_of: Callable[[Scope], Peer], refusal: Callable[[float], dict[str, str]]
    ) -> ASGIApp:
        """Wrap an application, so that requests over the limit are refused.

        ``refusal`` makes the JSON body of a refusal from the number of seconds to wait.
        """

        async def limited(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            peer = peer_of(scope)
            if seconds := self.acquire_for_page(peer):
                headers = {"retry-after": str(math.ceil(seconds))}
                await JSONResponse(refusal(seconds), TOO_MANY_REQUESTS, headers)(scope, receive, send)
            else:
                await app(scope, receive, self.charging_send(peer, send))

        return limited

    def acquire_for_mcp(self, peer: Peer, body: bytes) -> float:
        """Count an MCP request. The calls that it makes to the agent's methods are counted like all other calls."""
        buckets, key = self._mcp_addresses, _address_key(peer)
        seconds = buckets.take(key)
        if seconds and (known := self._token_owner(body, peer)) is not None:
            buckets, key = self._mcp_agents, (known.id, 0)
            seconds = buckets.take(key)
        if seconds:
            self._warn(key)
        elif len(body) > BYTES_PER_REQUEST:
            buckets.charge(key, len(body) / BYTES_PER_REQUEST)
        return seconds

    def sender_of(self, request: RpcRequest) -> str | None:
        """The name of the agent that owns the token in a request."""
        known = self._owner_of(token_of(request))
        return None if known is None else known.id or known.role

    def sender_of_body(self, body: bytes, peer: Peer) -> str | None:
        """The name of the agent or seat whose token or code is in the beginning of a body."""
        known = self._token_owner(body, peer)
        return None if known is None else known.id or known.role

    def _account(self, known: TokenOwner | None, peer: Peer) -> _Account | None:
        if known is None:
            return self._addresses, _address_key(peer)
        if known.role == "operator":
            return None
        return self._players if known.role == "player" else self._referees, known.id

    def _token_owner(self, body: bytes, peer: Peer) -> TokenOwner | None:
        beginning = body[:BYTES_BEFORE_ADMISSION]
        if self._identify is None:
            return self._identify_body(beginning, peer)
        return self._owner_of(credentials_in(beginning).auth_token)

    def _owner_of(self, token: str) -> TokenOwner | None:
        return self._identify(token) if token and self._identify is not None else None

    def _take(self, buckets: TokenBuckets, key: _Key, size: int) -> float:
        """Count a request, and charge for its bytes."""
        seconds = buckets.take(key)
        if seconds:
            self._warn(key)
        elif size > BYTES_PER_REQUEST:
            buckets.charge(key, size / BYTES_PER_REQUEST)
        return seconds

    def _warn(self, key: _Key) -> None:
        """Log that a caller is over its limit, at most once per interval: many requests must not write many lines."""
        now = time.monotonic()
        if now >= self._next_warning_at:
            self._next_warning_at = now + WARNING_INTERVAL_SECONDS
            caller = key if isinstance(key, str) else key[0]
            log.warning("%s asks too often: some of its requests are refused", caller)

    def limit(self, handler: Handler, refuse: Refuse, max_bytes: int) -> Handler:
        """Wrap a handler, so that requests over the limit are refused.

        Each request is charged for its own bytes and for the bytes of its answer.
        """

        async def limited(request: RpcRequest, peer: Peer) -> bytes | None:
            account, seconds = self._count(request, peer)
            if seconds:
                await refuse_too_many(request, seconds, refuse, max_bytes)
            if account is None:
                return await handler(request, peer)
            size = len(request.body)
            if size > BYTES_PER_REQUEST:
                # Charge before the handler may wait. Otherwise further requests would be free until it is done.
                self._charge(request.body, peer, account, size)
                size = 0
            answer = await handler(request, peer)
            size += len(answer or b"")
            if size > BYTES_PER_REQUEST:
                self._charge(request.body, peer, account, size)
            return answer

        return limited

    def _count(self, request: RpcRequest, peer: Peer) -> tuple[_Account | None, float]:
        """Count a request. Return its account, and the seconds to wait if it is over the limit.

        The requests of the operator are not counted.
        """
        if self._identify is None:
            cost = float(len(request.calls)) if request.is_batch else 1.0
            account: _Account | None = self._addresses, _address_key(peer)
            if self._over_limit:
                account = self._identified_account(request.body, peer) or account
        else:
            calls = request.calls
            if request.is_batch:
                cost = sum([_COSTS.get(call.method, 1.0) for call in calls])
            else:
                cost = _COSTS.get(calls[0].method, 1.0)
            account = self._account(self._owner_of(token_of(request)), peer)
        if account is None:
            return None, 0.0
        buckets, key = account
        seconds = buckets.take(key, cost)
        if seconds:
            buckets, key = account = self._identified_account(request.body, peer) or account
            seconds = buckets.take(key, cost)
            if seconds and cost == REGISTRATION_COST and not request.is_batch and self._may_register(request, peer):
                seconds = 0.0
            if seconds:
                self._warn(key)
        return account, seconds

    def _may_register(self, request: RpcRequest, peer: Peer) -> bool:
        """Whether a registration is accepted although its address is over its limit. If so, it is counted."""
        host, address = _host_in(request.calls[0]), _address_key(peer)
        return (
            bool(host)
            and not self._registrations_per_endpoint.take((address, host))
            and not self._registrations.take(address)
        )

    def _identified_account(self, body: bytes, peer: Peer) -> _Account | None:
        """The account of the agent whose token is in a body, where the token has not been identified yet."""
        known = self._identify_body(body[:BYTES_BEFORE_ADMISSION], peer)
        return None if known is None else self._account(known, peer)

    def _charge(self, body: bytes, peer: Peer, account: _Account, size: int) -> None:
        # To identify a token takes longer than to answer a short message.
        known = self._identified_account(body, peer) if size > BYTES_BEFORE_ADMISSION else None
        buckets, key = known or account
        buckets.charge(key, size / BYTES_PER_REQUEST)
        if known is not None:
            candidates = self._over_limit | {key: buckets}
            self._over_limit = {one: theirs for one, theirs in candidates.items() if theirs.take(one, 0.0)}


async def refuse_too_many(request: RpcRequest, seconds: float, refuse: Refuse, max_bytes: int) -> NoReturn:
    """Raise TooManyRequests with the answer to a request that is over the limit."""

    async def too_early(_call: Call) -> NoReturn:
        raise ProtocolError("E059", retry_sentence(seconds))

    if not request.is_batch:
        raise TooManyRequests(await answer(request, too_early, refuse, max_bytes) or b"", seconds)
    # All members get the same answer with their ids. To make each answer by itself would take as long as to serve it.
    made = (await answer(_ANY_CALL, too_early, refuse) or b"").removesuffix(b"null}")
    ids = [call.id for call in request.calls if call.id is not None]
    raise TooManyRequests(b"[%b]" % b",".join([b"%b%b}" % (made, one) for one in ids]), seconds)


def retry_sentence(seconds: float) -> str:
    """The text of the refusal of a request that is over the limit."""
    return f"Too many requests: try again in {max(seconds, 0.1):.1f} s."


def _host_in(call: Call | InvalidCall) -> str:
    """The host and port of the endpoint in a registration, or empty if there is none."""
    try:
        host = urlsplit(endpoint_in(call)).netloc.lower()
    except ValueError:
        return ""
    return host if len(host) <= _MAX_HOST_LENGTH else ""


@lru_cache(maxsize=1_024)
def _address_key(peer: Peer) -> tuple[str, int]:
    # The port is part of the key because one server may serve many players, and one referee may call all of them.
    return address_block(peer.host), peer.server[1]
