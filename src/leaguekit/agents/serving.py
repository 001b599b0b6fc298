"""Runs a player or a referee: serves it at a socket, registers it, and waits for the end of its league."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from leaguekit.agents.credentials import TokenOwner
from leaguekit.agents.identity import Identity
from leaguekit.agents.logs import log_to
from leaguekit.agents.registration import Registrar
from leaguekit.agents.server import agent_server
from leaguekit.agents.tasks import cancel
from leaguekit.protocol.codes import Purpose, with_code, without_codes
from leaguekit.protocol.methods import prepare_decoders
from leaguekit.protocol.refusals import Refuse
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.addresses import EVERY_ADDRESS, read_url
from leaguekit.transport.base import Peer, Unreachable

T = TypeVar("T")
# The environment variables for the codes of a player and a referee. A code may be in the manager's URL instead.
SEAT_VARIABLE, REFEREE_CODE_VARIABLE = "LEAGUE_SEAT", "LEAGUE_REFEREE_CODE"


class Agent(Protocol):
    """The interface of players and referees to the code that serves them."""

    finished: asyncio.Event
    registrar: Registrar

    async def handle(self, body: bytes, peer: Peer, /) -> bytes | None: ...

    def answer(self, request: RpcRequest, peer: Peer, /) -> Coroutine[Any, Any, bytes | None]: ...

    def admits_large_body(self, beginning: bytes, peer: Peer, /) -> bool: ...

    def identify_sender(self, beginning: bytes, peer: Peer, /) -> TokenOwner | None: ...

    async def register(self) -> Identity: ...

    async def close(self) -> None: ...


async def play(agent: Agent, stop: asyncio.Event, *, stay: bool, notify: Callable[[str], None]) -> None:
    """Register an agent that is served already, and wait until its league is over.

    With ``stay``, wait for ``stop`` as well.
    """
    name = agent.registrar.name
    identity = await agent.register()
    notify(f"{name} is registered")
    # Now, while other agents still register. In the first round all agents are called at once.
    prepare_decoders(agent.registrar.role)
    with log_to(agent.registrar.folder(identity.league_id) / "log.jsonl", identity.agent_id):
        await agent.finished.wait()
        notify(f"{name}: the league is over")
        if stay:
            await stop.wait()


async def serve(
    agent: Agent,
    sock: socket.socket,
    refuse: Refuse,
    stop: asyncio.Event | None = None,
    *,
    stay: bool = False,
    notify: Callable[[str], None] = lambda _text: None,
) -> bool:
    """Register an agent, and serve it until its league is over or ``stop`` is set. Return whether the league is over.

    With ``stay``, serve until ``stop`` is set, even if the league is over. ``notify`` is called with a sentence about
    each step. Raises RegistrationRefused.
    """
    name, stop = agent.registrar.name, stop or asyncio.Event()
    server = agent_server(
        agent.answer,
        [sock],
        refuse,
        agent.registrar.endpoint,
        role=agent.registrar.role,
        admits_large_body=agent.admits_large_body,
        identify_sender=agent.identify_sender,
    )
    await server.start()
    try:
        notify(f"{name} listens at port {server.port} and registers at {without_codes(agent.registrar.manager_url)}")
        await run_until(stop, play(agent, stop, stay=stay, notify=notify))
    finally:
        await server.stop()
        await agent.close()
    return agent.finished.is_set()


async def run_until(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Run a coroutine until it ends or ``stop`` is set. Return its result, or None if it has not ended."""
    task = asyncio.ensure_future(work)
    await run_until_first(task, stop.wait())
    return None if task.cancelled() or task.exception() else task.result()


async def run_until_first(*works: Awaitable[object]) -> None:
    """Run coroutines concurrently until one of them ends, and cancel the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel(*tasks)
    for task in done:
        task.result()


def manager_url(url: str, purpose: Purpose) -> str:
    """The manager's URL with the seat or referee code from the environment, if there is one.

    A seat code is also for a referee whose token was rotated.
    """
    if code := os.environ.get(SEAT_VARIABLE):
        purpose = "seat"
    elif purpose == "referee":
        code = os.environ.get(REFEREE_CODE_VARIABLE)
    return with_code(without_codes(url), purpose, code) if code else url


def endpoint_of(sock: socket.socket, manager: str = "") -> str:
    """The URL at which others reach a socket.

    For a socket that listens at all addresses, it has the local address of the route to the manager.
    """
    host, port = sock.getsockname()[:2]
    if host in EVERY_ADDRESS:
        with contextlib.suppress(OSError, Unreachable), socket.socket(sock.family, socket.SOCK_DGRAM) as probe:
            url = read_url(manager)
            # Nothing is sent. The system only chooses the route.
            probe.connect((url.host, url.port))
            host = probe.getsockname()[0]
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


def new_loop() -> asyncio.AbstractEventLoop:
    """A new event loop: uvloop's where it is installed."""
    try:
        import uvloop  # noqa: PLC0415 - not available for Windows
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
