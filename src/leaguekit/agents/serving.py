"""Serving a player or a referee: from an open socket through its registration to the end of its league."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from leaguekit.agents.credentials import TokenOwner
from leaguekit.agents.logs import log_to
from leaguekit.agents.registration import Identity, Registrar
from leaguekit.agents.server import agent_server
from leaguekit.protocol.codes import without_codes
from leaguekit.protocol.methods import prepare_decoders
from leaguekit.protocol.refusals import Refuse
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.transport.addresses import read_url
from leaguekit.transport.base import Peer, Unreachable


class Agent(Protocol):
    """What a player and a referee have in common as programs."""

    finished: asyncio.Event
    registrar: Registrar

    async def handle(self, body: bytes, peer: Peer, /) -> bytes | None: ...

    async def answer(self, request: RpcRequest, peer: Peer, /) -> bytes | None: ...

    def admits(self, beginning: bytes, peer: Peer, /) -> bool: ...

    def caller(self, beginning: bytes, peer: Peer, /) -> TokenOwner | None: ...

    async def register(self) -> Identity: ...

    async def close(self) -> None: ...


def ignore_progress(_text: str) -> None: ...


async def play(agent: Agent, stop: asyncio.Event, *, stay: bool, tell: Callable[[str], None]) -> None:
    """Register an agent that is being served, and wait until its league is over."""
    name = agent.registrar.name
    identity = await agent.register()
    tell(f"{name} is registered")
    # While others are still coming: in the first round everybody is called at once.
    prepare_decoders(agent.registrar.role)
    with log_to(agent.registrar.folder(identity.league_id) / "log.jsonl", identity.agent_id):
        await agent.finished.wait()
        tell(f"{name}: the league is over")
        if stay:
            await stop.wait()


async def serve(
    agent: Agent,
    sock: socket.socket,
    refuse: Refuse,
    stop: asyncio.Event | None = None,
    *,
    stay: bool = False,
    tell: Callable[[str], None] = ignore_progress,
) -> bool:
    """Register an agent and serve it until its league is over, or until ``stop``; whether the league is over.

    To ``stay`` is to go on serving until ``stop``. ``tell`` hears how it goes. Raises RegistrationRefused.
    """
    name, stop = agent.registrar.name, stop or asyncio.Event()
    server = agent_server(
        agent.answer,
        [sock],
        refuse,
        agent.registrar.endpoint,
        role=agent.registrar.role,
        admits=agent.admits,
        caller=agent.caller,
    )
    await server.start()
    try:
        tell(f"{name} listens at port {server.port} and registers at {without_codes(agent.registrar.manager_url)}")
        await run_until(stop, play(agent, stop, stay=stay, tell=tell))
    finally:
        await server.stop()
        await agent.close()
    return agent.finished.is_set()


async def run_until(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do some work to its end or until the signal to stop."""
    await run_until_first(work, stop.wait())


async def run_until_first(*works: Coroutine[Any, Any, object]) -> None:
    """Do several things at once until one of them ends."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


def endpoint_of(sock: socket.socket, manager: str = "") -> str:
    """How others reach a socket; one that listens everywhere is reached where it faces the manager."""
    host, port = sock.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        with contextlib.suppress(OSError, Unreachable), socket.socket(sock.family, socket.SOCK_DGRAM) as probe:
            to = read_url(manager)
            # Nothing is sent: the system only chooses the way.
            probe.connect((to.host, to.port))
            host = probe.getsockname()[0]
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


def new_loop() -> asyncio.AbstractEventLoop:
    """The fastest loop that there is here."""
    try:
        import uvloop  # noqa: PLC0415 - there is none for Windows
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
