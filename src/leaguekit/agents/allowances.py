"""How much an agent's server takes: of each agent that it knows by its token, and of each address otherwise.

A whole class may share one address, and so may all agents of a league that is played on one machine. So whoever shows
a good token is counted as itself; strangers are counted by their address, and cannot use up what agents may ask for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine
from functools import lru_cache
from typing import Any, Literal, NamedTuple, NoReturn

import msgspec

from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_NAME
from leaguekit.protocol.refusals import Refuse
from leaguekit.protocol.rpc import Call, Reply, answer, parse
from leaguekit.transport.base import Peer, QuickHandler, TooOften
from leaguekit.transport.origins import neighbourhood
from leaguekit.transport.rates import Buckets

log = logging.getLogger(__name__)

SILENT_SECONDS = 10.0
# A registration has the manager call the applicant and write to its log.
REGISTRATION_COST = 5
# A long answer is paid for afterwards, as one request for each such part: a whole schedule takes long to make.
ANSWER_BYTES = 2_048
_REGISTRATIONS = ("register_player", "register_referee")


class Known(NamedTuple):
    """Whom a token belongs to."""

    role: Literal["player", "referee", "operator"]
    id: str = ""


# What a request is counted under: an agent's id, or an address and the port that it called.
_Name = str | tuple[str, int]
# Whose token it is, if anybody's.
Identify = Callable[[str], Known | None]


class _Shown(msgspec.Struct):
    auth_token: str = ""
    admin_token: str = ""


class _Asked(msgspec.Struct):
    method: str = ""
    params: _Shown = msgspec.field(default_factory=_Shown)


_asked = msgspec.json.Decoder(_Asked)
_shown = msgspec.json.Decoder(_Shown)
_NOT_READABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NOTHING_SHOWN = _Asked()


def nobody(_token: str) -> None:
    """For a server that knows no tokens."""


class Allowances:
    """Who may ask how often."""

    def __init__(self, identify: Identify = nobody) -> None:
        self._identify = identify
        self._strangers = Buckets(1_000, 2_000)
        self._players = Buckets(200, 400)
        # A referee reports every match, how it stands, and what was said in it.
        self._referees = Buckets(5_000, 10_000)
        # A whole class may open the dashboard at once, and takes nothing from what agents at its address may ask for.
        self._spectators = Buckets(500, 5_000)
        # By MCP the same takes some twenty times as long.
        self._visitors = Buckets(50, 200)
        self._silent_until = 0.0

    def waits(self, token: str, peer: Peer, cost: float = 1.0) -> float:
        """How many seconds too early a request is; 0 if it may pass, and then it has been counted."""
        account = self._account(token, peer)
        return 0.0 if account is None else self._waits(*account, cost)

    def watches(self, peer: Peer) -> float:
        """The same for one who only looks: at the dashboard, or whether the manager is there."""
        return self._waits(self._spectators, _stranger(peer))

    def visits(self, peer: Peer) -> float:
        """The same for one who comes by MCP; what it then asks of an agent's methods is counted like all else."""
        return self._waits(self._visitors, _stranger(peer))

    def sender_of(self, body: bytes) -> str | None:
        """The name of the agent whose token a message shows."""
        known = self._identify(token) if (token := _token_and_cost(body)[0]) else None
        return None if known is None else known.id or known.role

    def _account(self, token: str, peer: Peer) -> tuple[Buckets, _Name] | None:
        known = self._identify(token) if token else None
        if known is None:
            return self._strangers, _stranger(peer)
        if known.role == "operator":
            return None
        return self._players if known.role == "player" else self._referees, known.id

    def _waits(self, buckets: Buckets, name: _Name, cost: float = 1.0) -> float:
        seconds = buckets.take(name, cost)
        if seconds:
            self._tell(name)
        return seconds

    def _tell(self, name: _Name) -> None:
        """Say so in the log, but now and then only: a flood of requests must not become one of lines."""
        now = time.monotonic()
        if now >= self._silent_until:
            self._silent_until = now + SILENT_SECONDS
            who = name if isinstance(name, str) else name[0]
            log.warning("%s asks too often: some of its requests are refused", who)

    def guard(self, handler: QuickHandler, refuse: Refuse, most_bytes: int) -> QuickHandler:
        """The same handler, which is spared what comes too often."""
        knows_nobody = self._identify is nobody
        looked_at = _cost_alone if knows_nobody else _token_and_cost

        def guarded(body: bytes, peer: Peer) -> Reply:
            name: _Name
            # One request to an agent that knows nobody is by far the most frequent case.
            if knows_nobody and body.startswith(b"{"):
                cost, buckets, name = 1.0, self._strangers, _stranger(peer)
            else:
                token, cost = looked_at(body)
                account = self._account(token, peer)
                if account is None:
                    return handler(body, peer)
                buckets, name = account
            if seconds := buckets.take(name, cost):
                self._tell(name)
                return _refused(body, seconds, refuse, most_bytes)
            given = handler(body, peer)
            if given is None:
                return None
            if not isinstance(given, bytes):
                return _paid_later(given, buckets, name)
            if len(given) > ANSWER_BYTES:
                buckets.owe(name, len(given) / ANSWER_BYTES)
            return given

        return guarded


async def _paid_later(work: Coroutine[Any, Any, bytes | None], buckets: Buckets, name: _Name) -> bytes | None:
    given = await work
    if given is not None and len(given) > ANSWER_BYTES:
        buckets.owe(name, len(given) / ANSWER_BYTES)
    return given


async def _refused(body: bytes, seconds: float, refuse: Refuse, most_bytes: int) -> NoReturn:
    def too_early(_call: Call) -> NoReturn:
        raise ProtocolError("E059", too_many(seconds))

    raise TooOften(await answer(body, too_early, refuse, most_bytes) or b"", seconds)


def too_many(seconds: float) -> str:
    return f"Too many requests: try again in {max(seconds, 0.1):.1f} s."


@lru_cache(maxsize=1_024)
def _stranger(peer: Peer) -> tuple[str, int]:
    # By port too: many players may be served by one server, and called by one referee.
    return neighbourhood(peer.host), peer.server[1]


def token_in(message: bytes) -> str:
    """The token that a message shows by itself."""
    try:
        return _shown.decode(message).auth_token
    except _NOT_READABLE:
        return ""


def _cost_alone(body: bytes) -> tuple[str, float]:
    """No token, and what a request costs a server that knows none, where nobody registers either."""
    return "", len(parse(body).calls) if _is_batch(body) else 1.0


def _is_batch(body: bytes) -> bool:
    return body.lstrip(b" \t\n\r").startswith(b"[")


def _token_and_cost(body: bytes) -> tuple[str, float]:
    """The token that a request shows, and what it costs; a batch shows none."""
    if _is_batch(body):
        return "", sum(_cost(call.method) for call in parse(body).calls)
    try:
        asked = _asked.decode(body)
    except _NOT_READABLE:
        asked = _NOTHING_SHOWN
    return asked.params.auth_token or asked.params.admin_token, _cost(asked.method)


def _cost(method: Any) -> float:
    known = BY_NAME.get(method or "")
    return REGISTRATION_COST if known is not None and known.name in _REGISTRATIONS else 1.0
