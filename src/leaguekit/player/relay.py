"""A player behind a router: it connects to a gateway, which receives the calls for the player and passes them on.

The player makes a secret and keeps it. The gateway derives the player's endpoint from the secret, so no other program
can take the player's calls, the player has the same endpoint whenever it comes back, and the gateway stores nothing.

The player asks for calls in a loop: ``relay_take`` waits until there are some. It sends each answer with
``relay_give``. With every ``relay_take`` the player lists the calls that it has. The gateway sends all others. A call
that was lost on its way to the player is therefore sent again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec
from msgspec import Struct

from leaguekit.agents.calls import is_transient, next_id
from leaguekit.agents.registration import RegistrationRefused
from leaguekit.agents.retries import Backoff
from leaguekit.agents.serving import play, run_until_first
from leaguekit.agents.tasks import cancel
from leaguekit.agents.world import World
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.caller_checks import CallerVerifier
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import RpcRefusal, read_answer, request
from leaguekit.store.base import StoreError
from leaguekit.store.json_files import safe_name
from leaguekit.transport.base import CallerLate, CallFailed, Peer

log = logging.getLogger(__name__)

TAKE, GIVE = "relay_take", "relay_give"
# How long the gateway waits for a call before it answers that there is none, and how much longer its answer may take.
TAKE_SECONDS = 10.0
EXTRA_TAKE_SECONDS = 10.0
GIVE_SECONDS = 10.0
# How often an answer is sent. Much later no caller waits for it.
MAX_GIVE_TRIES = 5
CLOSE_SECONDS = 2.0
# A player without its gateway loses matches, so the pauses between tries are short.
MAX_PAUSE_SECONDS = 0.5
MAX_TAKEN_BYTES = 4_194_304
SECRET_BYTES = 32
# The host of a relayed call is not known.
_UNKNOWN_PEER = Peer("")

T = TypeVar("T")


class RelayTakeRequest(Struct, kw_only=True):
    """The params of ``relay_take``: a player asks for its calls, except those that it has."""

    secret: str
    has: list[int] = []
    seconds: float = TAKE_SECONDS
    # How the gateway identifies the manager and the referees. Without it, no caller can be identified.
    callers: CallerVerifier | None = None
    # Whether the player accepts large bodies from callers that the gateway does not identify.
    takes_large: bool = True


class RelayedCall(Struct):
    """A call for the player. Its body is in base64."""

    number: int
    body: bytes


class RelayTakeResponse(Struct, kw_only=True):
    """The result of ``relay_take``: the waiting calls, and the player's endpoint."""

    endpoint: str
    calls: list[RelayedCall]


class RelayGiveRequest(Struct, kw_only=True):
    """The params of ``relay_give``: the answer to a call. ``body`` is None if JSON-RPC asks for no answer."""

    secret: str
    number: int
    body: bytes | None


class RelayGiveResponse(Struct):
    """The result of ``relay_give``. ``in_time`` says whether the caller still waited."""

    in_time: bool


def endpoint_id(kind: str, secret: str) -> str:
    """The public id of a secret's owner in the gateway's URLs. The secret cannot be computed from it."""
    return hashlib.sha256(f"{kind} at a gateway:{secret}".encode()).hexdigest()[:32]


class RelayClient:
    """A player's connection to a gateway: ``open`` it, ``serve`` an agent, and ``close`` it."""

    def __init__(self, world: World, gateway_url: str, name: str) -> None:
        self.gateway_url = gateway_url
        self._world = world
        self._path = world.data_root / "agents" / "relay" / f"player-{safe_name(name)}.json"
        self._secret = ""
        # By number, the calls that are being answered.
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def open(self) -> str:
        """The player's endpoint at the gateway. This tries until the gateway answers. Raises RegistrationRefused."""
        self._secret = await self._world.blocking(_load_secret, self._world, self._path)
        return (await self._take(0.0)).endpoint

    async def serve(self, agent: PlayerAgent) -> NoReturn:
        """Let an agent answer all calls, until this is cancelled."""
        while True:
            for call in (await self._take(TAKE_SECONDS, agent)).calls:
                if call.number not in self._tasks:
                    self._tasks[call.number] = asyncio.create_task(self._answer(call, agent))

    async def close(self) -> None:
        """Send the answers that are ready soon, and cancel the others."""
        tasks = [*self._tasks.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        await cancel(*tasks)

    async def _answer(self, call: RelayedCall, agent: PlayerAgent) -> None:
        try:
            body = await agent.handle(call.body, _UNKNOWN_PEER)
            params = RelayGiveRequest(secret=self._secret, number=call.number, body=body)
            backoff = Backoff()
            while backoff.failures < MAX_GIVE_TRIES:
                with contextlib.suppress(CallFailed, CallerLate, RpcRefusal, ProtocolError):
                    if not (await self._call_gateway(GIVE, params, RelayGiveResponse, GIVE_SECONDS)).in_time:
                        log.warning("An answer came too late to the gateway.")
                    break
                await backoff.pause()
        finally:
            del self._tasks[call.number]

    async def _take(self, seconds: float, agent: PlayerAgent | None = None) -> RelayTakeResponse:
        """Ask for calls until the gateway answers. Raises RegistrationRefused if it is not a gateway."""
        backoff = Backoff(longest_seconds=MAX_PAUSE_SECONDS)
        while True:
            params = RelayTakeRequest(secret=self._secret, has=[*self._tasks], seconds=seconds, takes_large=False)
            if agent is not None:
                params.callers = agent.caller_verifier()
                params.takes_large = agent.identity is not None and params.callers is None
            try:
                response = await self._call_gateway(TAKE, params, RelayTakeResponse, seconds + EXTRA_TAKE_SECONDS)
            except (CallFailed, CallerLate) as failure:
                why: Exception = failure
            except RpcRefusal as refusal:
                if not is_transient(refusal):
                    raise _not_a_gateway(self.gateway_url, str(refusal)) from None
                why = refusal
            except ProtocolError as error:
                raise _not_a_gateway(self.gateway_url, error.detail) from None
            else:
                if backoff.failures:
                    log.info("The gateway passes calls on again.")
                return response
            if not backoff.failures:
                log.warning("The gateway passes no calls on (%s). Trying until it does.", why)
            await backoff.pause()

    async def _call_gateway(self, method: str, params: Struct, kind: type[T], seconds: float) -> T:
        call_id = next_id()
        body = request(method, msgspec.json.encode(params), call_id)
        answer = await self._world.caller.post(self.gateway_url, body, seconds, MAX_TAKEN_BYTES)
        try:
            return msgspec.json.decode(read_answer(answer.body, call_id), type=kind)
        except msgspec.DecodeError as error:
            raise ProtocolError("E043", f"{error}.") from None


def _not_a_gateway(url: str, detail: str) -> RegistrationRefused:
    return RegistrationRefused(
        f"What answers at {url} does not pass calls on: {detail}", "Give the URL that `league gateway` shows."
    )


def _load_secret(world: World, path: Path) -> str:
    """The secret of an earlier run, or a new one, which is written to the file."""
    try:
        if content := world.files.read(path):
            return msgspec.json.decode(content, type=str)
    except (StoreError, *DECODE_ERRORS) as error:
        log.warning("%s is left aside: %s", path, error)
    secret = world.entropy(SECRET_BYTES).hex()
    try:
        world.files.write(path, msgspec.json.encode(secret), private=True)
    except StoreError as error:
        log.warning("%s", error)
    return secret


async def serve_relayed(
    agent: PlayerAgent, client: RelayClient, stop: asyncio.Event, *, notify: Callable[[str], None]
) -> bool:
    """Serve an agent that is called through an open relay client, until its league is over.

    Returns whether that was so, as ``serving.serve`` does.
    """
    notify(f"{agent.registrar.name} is called through {client.gateway_url.partition('?')[0]}")
    try:
        await run_until_first(client.serve(agent), play(agent, stop, stay=False, notify=notify), stop.wait())
    finally:
        await client.close()
        await agent.close()
    return agent.finished.is_set()
