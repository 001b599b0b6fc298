"""How much an agent's server takes: of each agent that it knows by its token, and of each address otherwise.

A whole class may share one address, and so may all agents of a league that is played on one machine. So whoever shows
a good token is counted as itself; strangers are counted by their address, and cannot use up what agents may ask for.

The manager looks at every token. For other agents that would take as long as the rest of an answer: they look at a
token only when its address has asked too often, when many bytes are to be paid for, and while anybody known owes more
than it may.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, MutableMapping
from functools import lru_cache
from typing import Any, NoReturn
from urllib.parse import urlsplit

from starlette.types import Send

from leaguekit.agents.credentials import IdentifyBody, TokenOwner, credentials_in, endpoint_in, token_of
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_NAME
from leaguekit.protocol.refusals import Refuse
from leaguekit.protocol.rpc import Call, InvalidCall, RpcRequest, answer
from leaguekit.transport.base import Handler, Peer, TooManyRequests
from leaguekit.transport.server.origin_headers import address_block
from leaguekit.transport.server.pending_requests import FREE_BYTES
from leaguekit.transport.token_buckets import TokenBuckets

log = logging.getLogger(__name__)

WARNING_INTERVAL_SECONDS = 10.0
# A registration has the manager call the applicant and write to its log.
REGISTRATION_COST = 5
# A long request or answer is paid for afterwards, as one request for each such part: a schedule takes long to make.
BYTES_PER_REQUEST = 2_048
# The same for pages, which come from memory.
BYTES_PER_PAGE = 65_536
# Longer names of hosts do not exist.
_MAX_HOST_LENGTH = 260
_REGISTRATIONS = ("register_player", "register_referee")


# What a request is counted under: an agent's id, or an address and the port that it called.
_Name = str | tuple[str, int]
_Account = tuple[TokenBuckets, _Name]
# Whose token it is, if anybody's.
IdentifyToken = Callable[[str], TokenOwner | None]


# A call whose id is null, which ends its answer.
_ANY_CALL = RpcRequest(b'{"jsonrpc":"2.0","method":"batch","id":null}')


def identify_nobody(_token: str) -> None:
    """For a server that knows no tokens, or does not look at each."""


def _no_one(_beginning: bytes, _peer: Peer) -> None:
    """For a server that knows no tokens."""


class RateLimiter:
    """Who may ask how often."""

    def __init__(self, identify: IdentifyToken = identify_nobody, recognise: IdentifyBody = _no_one) -> None:
        """``identify`` is asked for every request, and ``recognise`` only where that matters."""
        self._identify = identify
        self._recognise = recognise
        self._strangers = TokenBuckets(1_000, 2_000)
        # An address that has asked too often still has a few registrations, and few of them for one endpoint.
        self._tries = TokenBuckets(20, 40)
        self._tries_of_endpoints = TokenBuckets(0.2, 3)
        self._players = TokenBuckets(200, 400)
        # A referee reports every match, how it stands, and what was said in it.
        self._referees = TokenBuckets(5_000, 10_000)
        # A whole class may open the dashboard at once, and takes nothing from what agents at its address may ask for.
        self._spectators = TokenBuckets(500, 5_000)
        # By MCP the same takes some twenty times as long.
        self._visitors = TokenBuckets(50, 200)
        self._known_visitors = TokenBuckets(50, 200)
        self._silent_until = 0.0
        # Known callers that owe more than they may.
        self._debtors: dict[_Name, TokenBuckets] = {}

    def waits(self, token: str, peer: Peer, size: int = 0) -> float:
        """How many seconds too early a request of that size is; 0 if it may pass, and then it has been counted."""
        account = self._account(token, peer)
        if account is None:
            return 0.0
        buckets, name = account
        seconds = self._waits(buckets, name)
        if not seconds and size > BYTES_PER_REQUEST:
            buckets.owe(name, size / BYTES_PER_REQUEST)
        return seconds

    def watches(self, peer: Peer) -> float:
        """The same for one who only looks: at the dashboard, or whether the manager is there."""
        return self._waits(self._spectators, _stranger(peer))

    def charged(self, peer: Peer, send: Send) -> Send:
        """The same ``send``, where the one who looks is charged for what is sent."""

        async def sending(message: MutableMapping[str, Any]) -> None:
            size = len(message.get("body", b""))
            if size > BYTES_PER_PAGE:
                self._spectators.owe(_stranger(peer), size / BYTES_PER_PAGE)
            await send(message)

        return sending

    def visits(self, peer: Peer, body: bytes) -> float:
        """The same for one who comes by MCP; what it then asks of an agent's methods is counted like all else."""
        buckets, name = self._visitors, _stranger(peer)
        seconds = buckets.take(name)
        if seconds and (known := self._known(body, peer)) is not None:
            buckets, name = self._known_visitors, (known.id, 0)
            seconds = buckets.take(name)
        if seconds:
            self._tell(name)
        elif len(body) > BYTES_PER_REQUEST:
            buckets.owe(name, len(body) / BYTES_PER_REQUEST)
        return seconds

    def sender_of(self, request: RpcRequest) -> str | None:
        """The name of the agent whose token a request shows."""
        known = self._identify(token) if (token := token_of(request)) else None
        return None if known is None else known.id or known.role

    def _account(self, token: str, peer: Peer) -> _Account | None:
        known = self._identify(token) if token else None
        if known is None:
            return self._strangers, _stranger(peer)
        return None if known.role == "operator" else self._of(known)

    def _of(self, known: TokenOwner) -> _Account:
        return self._players if known.role == "player" else self._referees, known.id

    def _known(self, body: bytes, peer: Peer) -> TokenOwner | None:
        beginning = body[:FREE_BYTES]
        if self._identify is identify_nobody:
            return self._recognise(beginning, peer)
        token = credentials_in(beginning).auth_token
        return self._identify(token) if token else None

    def _waits(self, buckets: TokenBuckets, name: _Name, cost: float = 1.0) -> float:
        seconds = buckets.take(name, cost)
        if seconds:
            self._tell(name)
        return seconds

    def _tell(self, name: _Name) -> None:
        """Say so in the log, but now and then only: a flood of requests must not become one of lines."""
        now = time.monotonic()
        if now >= self._silent_until:
            self._silent_until = now + WARNING_INTERVAL_SECONDS
            who = name if isinstance(name, str) else name[0]
            log.warning("%s asks too often: some of its requests are refused", who)

    def limit(self, handler: Handler, refuse: Refuse, max_bytes: int) -> Handler:
        """The same handler, for requests that do not come too often. Each is charged for its bytes and its answer's."""

        async def limited(request: RpcRequest, peer: Peer) -> bytes | None:
            account, seconds = self._count(request, peer)
            if seconds:
                await refuse_too_many(request, seconds, refuse, max_bytes)
            if account is None:
                return await handler(request, peer)
            size = len(request.body)
            if size > BYTES_PER_REQUEST:
                # Charged before the handler may wait, so that further requests do not come for nothing meanwhile.
                self._owe(request.body, peer, account, size)
                size = 0
            answer = await handler(request, peer)
            size += len(answer or b"")
            if size > BYTES_PER_REQUEST:
                self._owe(request.body, peer, account, size)
            return answer

        return limited

    def _count(self, request: RpcRequest, peer: Peer) -> tuple[_Account | None, float]:
        """Count a request: for whom, and how many seconds too early it came. The operator is not counted."""
        if self._identify is identify_nobody:
            cost = float(len(request.parsed.calls)) if request.is_batch else 1.0
            account: _Account | None = self._strangers, _stranger(peer)
            if self._debtors:
                account = self._of_known(request.body, peer) or account
        else:
            calls = request.parsed.calls
            cost = _cost(calls[0].method) if len(calls) == 1 else sum(_cost(call.method) for call in calls)
            account = self._account(token_of(request), peer)
        if account is None:
            return None, 0.0
        buckets, name = account
        seconds = buckets.take(name, cost)
        if seconds:
            buckets, name = account = self._of_known(request.body, peer) or account
            seconds = buckets.take(name, cost)
            if seconds and cost == REGISTRATION_COST and not request.is_batch and self._may_try(request, peer):
                seconds = 0.0
            if seconds:
                self._tell(name)
        return account, seconds

    def _may_try(self, request: RpcRequest, peer: Peer) -> bool:
        """Whether a registration is taken although its address has asked too often. Then it has been counted."""
        host, address = _host_in(request.parsed.calls[0]), _stranger(peer)
        return bool(host) and not self._tries_of_endpoints.take((address, host)) and not self._tries.take(address)

    def _of_known(self, body: bytes, peer: Peer) -> _Account | None:
        """The account of a caller that is known by its token, where that was not looked at before."""
        known = self._recognise(body[:FREE_BYTES], peer)
        return None if known is None else self._of(known)

    def _owe(self, body: bytes, peer: Peer, account: _Account, size: int) -> None:
        # To look at a token takes longer than to answer a short message.
        known = self._of_known(body, peer) if size > FREE_BYTES else None
        buckets, name = known or account
        buckets.owe(name, size / BYTES_PER_REQUEST)
        if known is not None:
            owing = self._debtors | {name: buckets}
            self._debtors = {one: theirs for one, theirs in owing.items() if theirs.take(one, 0.0)}


async def refuse_too_many(request: RpcRequest, seconds: float, refuse: Refuse, max_bytes: int) -> NoReturn:
    """Raise TooOften with the answer to a request."""

    async def too_early(_call: Call) -> NoReturn:
        raise ProtocolError("E059", retry_sentence(seconds))

    if not request.is_batch:
        raise TooManyRequests(await answer(request, too_early, refuse, max_bytes) or b"", seconds)
    # All members get the same answer, each with its id: to make each by itself would take as long as to serve it.
    made = (await answer(_ANY_CALL, too_early, refuse) or b"").removesuffix(b"null}")
    ids = [call.id for call in request.parsed.calls if call.id is not None]
    raise TooManyRequests(b"[%b]" % b",".join([b"%b%b}" % (made, one) for one in ids]), seconds)


def retry_sentence(seconds: float) -> str:
    return f"Too many requests: try again in {max(seconds, 0.1):.1f} s."


def _host_in(call: Call | InvalidCall) -> str:
    """Host and port of the endpoint in a registration; empty if there is none."""
    try:
        host = urlsplit(endpoint_in(call)).netloc.lower()
    except ValueError:
        return ""
    return host if len(host) <= _MAX_HOST_LENGTH else ""


@lru_cache(maxsize=1_024)
def _stranger(peer: Peer) -> tuple[str, int]:
    # By port too: many players may be served by one server, and called by one referee.
    return address_block(peer.host), peer.server[1]


def _cost(method: Any) -> float:
    known = BY_NAME.get(method or "")
    return REGISTRATION_COST if known is not None and known.name in _REGISTRATIONS else 1.0
