"""The common parts of long-running commands: options, event loop, signals, sockets, and the end of the parent."""

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
import threading
from collections.abc import Awaitable, Callable, Coroutine
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from leaguekit.agents.logs import TerminalFormatter, skip_unused_log_fields
from leaguekit.agents.serving import Agent, endpoint_of, new_loop, serve
from leaguekit.cli import EXIT_INTERRUPTED, CommandError, add_data_dir_option
from leaguekit.protocol.plain_text import sanitize_lines
from leaguekit.protocol.refusals import Refuse
from leaguekit.transport.addresses import EVERY_ADDRESS, Address, AddressPolicy, Network, read_url
from leaguekit.transport.base import Unreachable
from leaguekit.transport.descriptors import max_descriptors
from leaguekit.transport.server.server import CannotListen, listen


class Stop(asyncio.Event):
    """Set when a program is to end. ``exit_code`` is that of a program which only its user ends."""

    exit_code = 0

    def interrupt(self) -> None:
        """Set it because of Ctrl-C."""
        self.exit_code = EXIT_INTERRUPTED
        self.set()


MAX_FILES = 16_384
# The open files that every program needs: its log, its store, its event loop, and a few connections.
OTHER_FILES = 64
GC_THRESHOLD = 10_000
# An address reserved for documentation. The route to it is the default route.
_PUBLIC_URL = "http://192.0.2.1/"
_LOOPBACK_URLS = ("http://127.0.0.1/", "http://[::1]/")
HOST = "127.0.0.1"


def add_options(parser: argparse.ArgumentParser, *, port: int) -> None:
    """Add the options of every agent."""
    parser.add_argument("--host", default=HOST, help=f"the address to listen at (default {HOST})")
    parser.add_argument("--port", type=int, default=port, help=f"the port (default {port}; 0 takes a free one)")
    parser.add_argument("--endpoint", metavar="URL", help="how others reach it, if not at host and port")
    add_data_dir_option(parser, "where its files go (default SHARED)")
    # For `league run`: a listening socket, and a pipe that closes when the parent ends.
    parser.add_argument("--socket-fd", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--parent-fd", type=int, help=argparse.SUPPRESS)


def add_allow_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--allow``, the option of agents that call addresses which other agents name."""
    parser.add_argument(
        "--allow",
        metavar="WHERE",
        help="which addresses it may call: local, lan=10.0.0.0/24,… or public "
        "(default local; required if --host is not this machine only)",
    )


def add_proxy_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of servers that are called by browsers or through proxies."""
    parser.add_argument(
        "--host-name", metavar="NAME", action="append", default=[], help="another host name of it, beside --endpoint's"
    )
    parser.add_argument(
        "--proxy",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="a proxy whose X-Forwarded-For is trusted; a proxy on this machine is trusted as well if --endpoint is "
        "not the address at which this server listens",
    )


def policy_for(options: argparse.Namespace) -> AddressPolicy:
    """The addresses to which the operator allows calls."""
    allowed = options.allow
    if allowed is None and options.host not in ("127.0.0.1", "::1", "localhost"):
        raise CommandError(
            f"it listens at {options.host}, so say which addresses it may call: --allow local, lan=… or public"
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


def current_address(options: argparse.Namespace) -> str:
    """The address of ``--host``, or what has replaced it if this machine has another address in the same network now.

    Raises CommandError if it has none.
    """
    with contextlib.suppress(CannotListen):
        listen(options.host, 0).close()
        return str(options.host)
    policy, towards = policy_for(options), outward_url(options)
    with contextlib.suppress(OSError, Unreachable):
        url = read_url(towards)
        with socket.socket(socket.AF_INET6 if ":" in url.host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # Nothing is sent. The system only chooses the route.
            probe.connect((url.host, url.port))
            found = probe.getsockname()[0]
        if options.allow == "public" or not policy.forbids(f"http://{_format_host(ip_address(found))}/"):
            print_notice(f"{options.host} is no longer an address of this machine: listening at {found}")
            return str(found)
    where = f"none in --allow {options.allow}" if options.allow else "no other"
    raise CommandError(
        f"{options.host} is no longer an address of this machine, which has {where}. Say where to listen, and which "
        "addresses may be called, such as --host 0.0.0.0 --allow lan=192.168.1.0/24"
    )


def open_socket(options: argparse.Namespace, manager: str = "") -> tuple[socket.socket, str]:
    """Open the socket to serve. Returns it with the URL at which others, above all the manager, reach it."""
    if options.socket_fd is not None:
        served = socket.socket(fileno=options.socket_fd)
    else:
        served = listen(options.host, options.port)
    return served, options.endpoint or url_of_socket(served, manager)


def url_of_socket(served: socket.socket, *towards: str) -> str:
    """The URL of a listening socket.

    If the socket listens at all addresses, the URL has the address from which the first of ``towards`` that can be
    reached is called.
    """
    urls = [endpoint_of(served, one) for one in (*towards, *_LOOPBACK_URLS)]
    return next((url for url in urls if urlsplit(url).hostname not in EVERY_ADDRESS), urls[-1])


def proxies_for(options: argparse.Namespace) -> list[Network]:
    """The trusted proxies, from the options."""
    try:
        return [ip_network(text, strict=False) for text in options.proxy]
    except ValueError as error:
        raise CommandError(f"--proxy must be an address: {error}") from None


def outward_url(options: argparse.Namespace) -> str:
    """A URL in the network from which others call, to find this machine's address there. Nothing is sent to it."""
    if (options.allow or "").startswith("lan="):
        network = ip_network(options.allow.removeprefix("lan=").split(",")[0], strict=False)
        return f"http://{_format_host(network.network_address + 1)}/"
    return _PUBLIC_URL if options.allow == "public" else ""


def _format_host(address: Address) -> str:
    return f"[{address}]" if address.version == 6 else str(address)


def check_url(option: str, url: str) -> None:
    """Raise CommandError if the value of an option is not a URL that can be called."""
    try:
        read_url(url)
    except Unreachable as error:
        raise CommandError(f"{option}: {error}. Give it as http://HOST:PORT/mcp.") from None


def dashboard_url(endpoint: str) -> str:
    """The URL of the page of the server at an endpoint."""
    return endpoint.partition("?")[0].removesuffix("mcp")


def raise_file_limit(wanted: int = MAX_FILES) -> None:
    """Raise the limit of open files, and so of connections, to ``wanted`` or as far as the system allows."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # Windows does not have it

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = max(soft, wanted if hard == resource.RLIM_INFINITY else min(hard, wanted))
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def check_file_limit(needed: int) -> None:
    """Raise CommandError if this program cannot open this number of files beside ``OTHER_FILES``."""
    needed += OTHER_FILES
    raise_file_limit(max(needed, MAX_FILES))
    if (limit := max_descriptors()) < needed:
        raise CommandError(
            f"this needs {needed:,} open files, and the limit is {limit:,}: raise it with `ulimit -n {needed}`"
        )


def run(main: Callable[[Stop], Coroutine[Any, Any, int]], parent_fd: int | None = None) -> int:
    """Run a program until it ends, is interrupted, or its parent ends."""
    if logging.lastResort is not None:
        # Records that are logged before there is a log file go to the terminal.
        logging.lastResort.setFormatter(TerminalFormatter())
    skip_unused_log_fields()
    raise_file_limit()
    _reduce_garbage_collections()
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_until_stopped(main, parent_fd))


def _reduce_garbage_collections() -> None:
    """Make garbage collections rare: nearly all objects are freed by reference counting, and collections took 0.3 ms
    per match.
    """
    # Imported modules stay.
    gc.freeze()
    # With Python's default of 700, even the messages of one round would be visited several times.
    gc.set_threshold(GC_THRESHOLD)


async def _until_stopped(main: Callable[[Stop], Awaitable[int]], parent_fd: int | None) -> int:
    stop = Stop()
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as restored:
        for number, action in ((signal.SIGINT, stop.interrupt), (signal.SIGTERM, stop.set)):
            try:
                loop.add_signal_handler(number, action)
            except NotImplementedError:  # on Windows
                restored.callback(signal.signal, number, signal.signal(number, _call_in_loop(loop, action)))
        if parent_fd is not None:
            _watch_parent(loop, parent_fd, stop, restored)
        return await main(stop)


def _call_in_loop(loop: asyncio.AbstractEventLoop, action: Callable[[], None]) -> Callable[[int, object], object]:
    return lambda _number, _frame: loop.call_soon_threadsafe(action)


def _watch_parent(loop: asyncio.AbstractEventLoop, parent_fd: int, stop: Stop, restored: contextlib.ExitStack) -> None:
    """Set ``stop`` when the parent ends. Nothing is written to its pipe, which can be read when its end is closed."""

    def wait() -> None:
        # The loop may be closed before the pipe is.
        with contextlib.suppress(OSError, RuntimeError):
            os.read(parent_fd, 1)
            loop.call_soon_threadsafe(stop.set)

    try:
        loop.add_reader(parent_fd, stop.set)
    except NotImplementedError:  # on Windows
        threading.Thread(target=wait, name="parent", daemon=True).start()
    else:
        restored.callback(loop.remove_reader, parent_fd)


def print_notice(text: str) -> None:
    """Print a notice to standard error. Errors of writing are ignored."""
    with contextlib.suppress(OSError):
        print(sanitize_lines(text), file=sys.stderr, flush=True)


async def serve_agent(
    agent: Agent, served: socket.socket, refuse: Refuse, stop: Stop, *, is_quiet: bool = False
) -> int:
    """Serve a player or a referee until its league is over. Returns the exit code."""
    is_over = await serve(agent, served, refuse, stop, notify=(lambda _text: None) if is_quiet else print_notice)
    return 0 if is_over else 130
