"""What all long-running commands share: the loop, signals, sockets that a parent passes on, and ending with it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from leaguekit.agents.logs import PlainLines, spare_logging
from leaguekit.agents.registration import RegistrationRefused
from leaguekit.agents.serving import Agent, endpoint_of, new_loop, serve
from leaguekit.cli import CommandError
from leaguekit.protocol.codes import Purpose, with_code, without_codes
from leaguekit.protocol.plain_text import harmless_lines
from leaguekit.protocol.refusals import Refuse
from leaguekit.store.base import StoreError
from leaguekit.transport.addresses import Address, AddressPolicy, Network, read_url
from leaguekit.transport.base import Unreachable
from leaguekit.transport.descriptors import max_descriptors
from leaguekit.transport.server.server import CannotListen, listen

Stop = asyncio.Event
MAX_FILES = 16_384
# What a program needs of open files in any case: its log, its store, its event loop, and a few connections.
OTHER_FILES = 64
OBJECTS_A_COLLECTION = 10_000
# An address for documents only: the way to it is the way to everywhere.
_ANYWHERE = "http://192.0.2.1/"
_HERE = ("http://127.0.0.1/", "http://[::1]/")
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
HOST = "127.0.0.1"
# Where the codes may stand by which a player or a referee comes in, if they are not to stand in its URL.
SEAT, REFEREE_CODE = "LEAGUE_SEAT", "LEAGUE_REFEREE_CODE"


def add_options(parser: argparse.ArgumentParser, *, port: int) -> None:
    """The options of every agent."""
    parser.add_argument("--host", default=HOST, help=f"the address to listen at (default {HOST})")
    parser.add_argument("--port", type=int, default=port, help=f"the port (default {port}; 0 takes a free one)")
    parser.add_argument("--endpoint", metavar="URL", help="how others reach it, if not at host and port")
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        default=Path("SHARED"),
        help="where its files go (default SHARED)",
    )
    # For `league run`: a socket that is bound already, and a pipe that closes when the parent ends.
    parser.add_argument("--socket-fd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--parent-fd", type=int, help=argparse.SUPPRESS)


def add_policy(parser: argparse.ArgumentParser) -> None:
    """The option of those who call whom others name."""
    parser.add_argument(
        "--allow",
        metavar="WHERE",
        help="whom it may call: local, lan=10.0.0.0/24,… or public (default local; needed if --host is not)",
    )


def add_names(parser: argparse.ArgumentParser) -> None:
    """The options of those whom browsers call, and others through proxies."""
    parser.add_argument(
        "--host-name", metavar="NAME", action="append", default=[], help="a name others call it by, beside --endpoint's"
    )
    parser.add_argument(
        "--proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="a proxy that is believed whom it passes on (X-Forwarded-For); one on this machine also is if --endpoint "
        "leads elsewhere than to where it listens",
    )


def policy_for(options: argparse.Namespace) -> AddressPolicy:
    """Where the operator allows calls to go."""
    allowed = options.allow
    if allowed is None and options.host not in ("127.0.0.1", "::1", "localhost"):
        raise CommandError(
            f"listening at {options.host}, it must be told whom it may call: --allow local, lan=… or public"
        )
    try:
        if allowed in (None, "local"):
            return AddressPolicy.local()
        if allowed == "public":
            return AddressPolicy.public()
        if allowed.startswith("lan="):
            return AddressPolicy.lan(allowed.removeprefix("lan=").split(","))
    except ValueError as error:
        raise CommandError(f"--allow {allowed}: {error}") from None
    raise CommandError(f"--allow must be local, lan=CIDR,… or public, got {allowed!r}")


def opened(options: argparse.Namespace, manager: str = "") -> tuple[socket.socket, str]:
    """The socket to serve, and the URL at which others, above all the manager, reach it."""
    try:
        if options.socket_fd is not None:
            served = socket.socket(fileno=options.socket_fd)
        else:
            served = listen(options.host, options.port)
    except CannotListen as error:
        raise CommandError(str(error)) from None
    return served, options.endpoint or reached_at(served, manager)


def reached_at(served: socket.socket, *towards: str) -> str:
    """The URL of a socket; of one that listens everywhere, as it faces the first of these that there is a way to."""
    urls = [endpoint_of(served, one) for one in (*towards, *_HERE)]
    return next((url for url in urls if urlsplit(url).hostname not in _EVERYWHERE), urls[-1])


def proxies_for(options: argparse.Namespace) -> list[Network]:
    """The proxies that the operator named."""
    try:
        return [ip_network(text, strict=False) for text in options.proxy]
    except ValueError as error:
        raise CommandError(f"--proxy must be an address: {error}") from None


def facing(options: argparse.Namespace) -> str:
    """A URL on the side from which others come, which shows the address that a machine has there. Nothing is sent."""
    if (options.allow or "").startswith("lan="):
        network = ip_network(options.allow.removeprefix("lan=").split(",")[0], strict=False)
        return f"http://{_written(network.network_address + 1)}/"
    return _ANYWHERE if options.allow == "public" else ""


def _written(address: Address) -> str:
    return f"[{address}]" if address.version == 6 else str(address)


def mcp_url(url: str) -> str:
    """The URL of a server at which messages are posted; people leave the path out."""
    parts = urlsplit(url)
    return parts._replace(path="/mcp").geturl() if parts.path in ("", "/") else url


def check_url(option: str, url: str) -> None:
    """Whether an option is a URL that can be called at all: nobody is to wait for an answer from nowhere."""
    try:
        read_url(url)
    except Unreachable as error:
        raise CommandError(f"{option}: {error}. Give it as http://HOST:PORT/mcp.") from None


def dashboard(endpoint: str) -> str:
    """Where a browser finds the page of the manager at an endpoint."""
    return endpoint.partition("?")[0].removesuffix("mcp")


def raise_file_limit(wanted: int = MAX_FILES) -> None:
    """Allow this program as many open files, and so connections, as the system lets it have."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # there is none on Windows

        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = max(now, wanted if most == resource.RLIM_INFINITY else min(most, wanted))
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def check_files(needed: int) -> None:
    """Raise CommandError if this program may not open that many files beside its connections."""
    needed += OTHER_FILES
    raise_file_limit(max(needed, MAX_FILES))
    if (limit := max_descriptors()) < needed:
        raise CommandError(
            f"this needs {needed:,} open files, and the limit is {limit:,}: raise it with `ulimit -n {needed}`"
        )


def run(main: Callable[[Stop], Coroutine[Any, Any, int]], parent_fd: int | None = None) -> int:
    """Run a program until it ends by itself, is interrupted, or its parent is gone."""
    if logging.lastResort is not None:
        # What is logged before there is a log file goes to the terminal.
        logging.lastResort.setFormatter(PlainLines())
    spare_logging()
    raise_file_limit()
    _spare_collections()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_until_stopped(main, parent_fd))


def _spare_collections() -> None:
    """Look for garbage rarely: there is hardly any but what goes by itself, and looking took 0.3 ms of every match."""
    # What has been imported stays.
    gc.freeze()
    # At Python's 700 even the messages of one round that are under way are looked through again and again.
    gc.set_threshold(OBJECTS_A_COLLECTION)


async def _until_stopped(main: Callable[[Stop], Awaitable[int]], parent_fd: int | None) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if parent_fd is not None:
        # Nothing is ever written there: it becomes readable when the parent's end is closed.
        loop.add_reader(parent_fd, stop.set)
    try:
        return await main(stop)
    finally:
        if parent_fd is not None:
            loop.remove_reader(parent_fd)


def manager_url(url: str, purpose: Purpose) -> str:
    """The manager's URL with the seat or referee code that the environment has, if it has one.

    A seat code brings a referee back whose token was rotated.
    """
    if code := os.environ.get(SEAT):
        purpose = "seat"
    elif purpose == "referee":
        code = os.environ.get(REFEREE_CODE)
    return with_code(without_codes(url), purpose, code) if code else url


def say(text: str) -> None:
    """Tell the person at the terminal. That this cannot be written stops no program."""
    with contextlib.suppress(OSError):
        print(harmless_lines(text), file=sys.stderr, flush=True)


async def serve_agent(agent: Agent, served: socket.socket, refuse: Refuse, stop: Stop) -> int:
    """Serve a player or a referee, and say how it goes; the program's exit code."""
    try:
        is_over = await serve(agent, served, refuse, stop, tell=say)
    except (RegistrationRefused, StoreError) as error:
        raise CommandError(str(error)) from None
    return 0 if is_over else 130
