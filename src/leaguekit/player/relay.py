"""A player behind a router: it connects out to a gateway, which is called in its place and passes every call on.

The player makes a secret and keeps it; what the gateway makes of the secret is the player's address there. So nobody
else can take its calls, it has the same address whenever it comes back, and the gateway keeps nothing. The player asks
for calls again and again (``relay_take`` waits until there are some) and hands in each answer (``relay_give``). What it
says that it has it is not given again; what got lost on the way it is.
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

from leaguekit.agents.calls import next_id, passes
from leaguekit.agents.registration import RegistrationRefused, pause_after
from leaguekit.agents.serving import first, in_silence, play
from leaguekit.agents.world import World
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.caller_checks import CallerVerifier
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import RpcRefusal, read_answer, request
from leaguekit.store.base import StoreError
from leaguekit.store.files import safe_name
from leaguekit.transport.base import CallerLate, CallFailed, Peer

log = logging.getLogger(__name__)

TAKE, GIVE = "relay_take", "relay_give"
# How long the gateway lets a player wait for a call, and how long it may take to say that there is none.
TAKE_SECONDS = 10.0
SPARE_SECONDS = 10.0
GIVE_SECONDS = 10.0
# An answer is of no use to anybody much later than it was asked for.
MAX_GIVES = 5
CLOSE_SECONDS = 2.0
# Without its gateway a player loses matches: it asks again soon.
LONGEST_PAUSE = 0.5
MAX_TAKEN_BYTES = 4_194_304
SECRET_BYTES = 32
# The gateway speaks for whoever called it.
_PEER = Peer("")

T = TypeVar("T")


class RelayTakeRequest(Struct, kw_only=True):
    """A player asks for the calls that are there for it, but for those that it has."""

    secret: str
    has: list[int] = []
    seconds: float = TAKE_SECONDS
    # Whose calls it takes. If it does not say, the gateway cannot tell them from those of others.
    callers: CallerVerifier | None = None
    # Whether it takes large bodies of callers that the gateway does not recognise.
    takes_large: bool = True


class RelayedCall(Struct):
    """A call that came for the player; its body is written in base64."""

    number: int
    body: bytes


class RelayTakeResponse(Struct, kw_only=True):
    """What there is, and where the player is called."""

    endpoint: str
    calls: list[RelayedCall]


class RelayGiveRequest(Struct, kw_only=True):
    """The answer to a call; None where JSON-RPC wants none."""

    secret: str
    number: int
    body: bytes | None


class Given(Struct):
    """Whether somebody still waited for it."""

    in_time: bool


def place_of(kind: str, secret: str) -> str:
    """Where the holder of a secret is called; it does not lead back to the secret."""
    return hashlib.sha256(f"{kind} at a gateway:{secret}".encode()).hexdigest()[:32]


class Line:
    """A player's way out to a gateway: ``open`` it, let ``serve`` have every call answered, and ``close``."""

    def __init__(self, world: World, gateway_url: str, name: str) -> None:
        self.gateway_url = gateway_url
        self._world = world
        self._path = world.data_root / "agents" / "relay" / f"player-{safe_name(name)}.json"
        self._secret = ""
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def open(self) -> str:
        """Where the player is called from now on; tries until the gateway answers. Raises RegistrationRefused."""
        self._secret = await self._world.blocking(_kept_secret, self._world, self._path)
        return (await self._take(0.0)).endpoint

    async def serve(self, agent: PlayerAgent) -> NoReturn:
        """Have an agent answer what comes, for ever."""
        while True:
            for passed in (await self._take(TAKE_SECONDS, agent)).calls:
                if passed.number not in self._tasks:
                    self._tasks[passed.number] = asyncio.create_task(self._answer(passed, agent))

    async def close(self) -> None:
        """Hand in what is being answered, if that does not take long."""
        tasks = [*self._tasks.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, passed: RelayedCall, agent: PlayerAgent) -> None:
        try:
            given = RelayGiveRequest(
                secret=self._secret, number=passed.number, body=await agent.handle(passed.body, _PEER)
            )
            for number in range(MAX_GIVES):
                with contextlib.suppress(CallFailed, CallerLate, RpcRefusal, ProtocolError):
                    if not (await self._ask(GIVE, given, Given, GIVE_SECONDS)).in_time:
                        log.warning("An answer came too late to the gateway.")
                    break
                await asyncio.sleep(pause_after(number))
        finally:
            del self._tasks[passed.number]

    async def _take(self, seconds: float, agent: PlayerAgent | None = None) -> RelayTakeResponse:
        failures = 0
        while True:
            asked = RelayTakeRequest(secret=self._secret, has=[*self._tasks], seconds=seconds, takes_large=False)
            if agent is not None:
                asked.callers = agent.callers()
                asked.takes_large = agent.identity is not None and asked.callers is None
            try:
                taken = await self._ask(TAKE, asked, RelayTakeResponse, seconds + SPARE_SECONDS)
            except (CallFailed, CallerLate) as failure:
                why: Exception = failure
            except RpcRefusal as refusal:
                if not passes(refusal):
                    raise _no_gateway(self.gateway_url, str(refusal)) from None
                why = refusal
            except ProtocolError as error:
                raise _no_gateway(self.gateway_url, error.detail) from None
            else:
                if failures:
                    log.info("The gateway passes calls on again.")
                return taken
            if not failures:
                log.warning("The gateway passes no calls on (%s). Trying until it does.", why)
            await asyncio.sleep(min(pause_after(failures), LONGEST_PAUSE))
            failures += 1

    async def _ask(self, method: str, params: Struct, kind: type[T], seconds: float) -> T:
        call_id = next_id()
        body = request(method, msgspec.json.encode(params), call_id)
        came = await self._world.caller.post(self.gateway_url, body, seconds, MAX_TAKEN_BYTES)
        try:
            return msgspec.json.decode(read_answer(came.body, call_id), type=kind)
        except msgspec.DecodeError as error:
            raise ProtocolError("E043", f"{error}.") from None


def _no_gateway(url: str, detail: str) -> RegistrationRefused:
    return RegistrationRefused(
        f"What answers at {url} does not pass calls on: {detail}", "Give the URL that `league gateway` shows."
    )


def _kept_secret(world: World, path: Path) -> str:
    """The secret of an earlier run, or a new one."""
    try:
        if kept := world.files.read(path):
            return msgspec.json.decode(kept, type=str)
    except (StoreError, msgspec.DecodeError, UnicodeDecodeError) as error:
        log.warning("%s is left aside: %s", path, error)
    secret = world.entropy(SECRET_BYTES).hex()
    try:
        world.files.write(path, msgspec.json.encode(secret), private=True)
    except StoreError as error:
        log.warning("%s", error)
    return secret


async def serve_relayed(
    agent: PlayerAgent,
    line: Line,
    stop: asyncio.Event,
    *,
    stay: bool = False,
    tell: Callable[[str], None] = in_silence,
) -> bool:
    """As ``serving.serve``, for an agent that is called through a line that is open."""
    tell(f"{agent.registrar.name} is called through {line.gateway_url.partition('?')[0]}")
    try:
        await first(line.serve(agent), play(agent, stop, stay=stay, tell=tell), stop.wait())
    finally:
        await line.close()
        await agent.close()
    return agent.finished.is_set()
