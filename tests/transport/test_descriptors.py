"""Errors of this machine: no peer is blamed for them."""

from __future__ import annotations

import asyncio
import errno
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import CallerUnable, NoRoute, Unreachable
from leaguekit.transport.descriptors import (
    LOCAL_ERRORS,
    MAX_SERVER_SHARE,
    MAX_SHARE,
    are_descriptors_scarce,
    backlog,
    has_route,
    is_broadcast,
    local_fault,
    local_look_up_fault,
)
from tests.transport.client.test_caller import AMPLE, GOOD, calling, is_at_rest, on, on_both_loops
from tests.transport.running import post
from tests.transport.running import serving as serving_ours
from tests.zoo import bad_servers as zoo
from tests.zoo.bad_servers import serving


@contextmanager
def no_descriptors_left() -> Iterator[None]:
    """Every number below the limit is in use."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as last:
        free = last.fileno()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@on_both_loops
async def test_without_descriptors_the_caller_is_at_fault_and_a_later_call_succeeds() -> None:
    async with serving(zoo.good) as server, calling() as caller:
        with no_descriptors_left(), pytest.raises(CallerUnable, match="too many open files") as caught:
            await caller.post(server.url, b"{}", AMPLE)
        assert caught.value.why == "too many open files"
        assert is_at_rest(caller)
        assert await caller.post(server.url, b"{}", AMPLE) == GOOD


@on_both_loops
async def test_without_descriptors_a_name_cannot_be_looked_up_and_the_caller_is_at_fault() -> None:
    async with calling() as caller:
        with no_descriptors_left(), pytest.raises(CallerUnable):
            await caller.post("http://peer.test:9/mcp", b"{}", AMPLE)


class FailingLoop(asyncio.SelectorEventLoop):
    """A loop on which connecting fails with given errors, one for each address."""

    errors: list[int]

    async def create_connection(self, *_: Any, **__: Any) -> Any:
        number = self.errors.pop(0)
        raise OSError(number, "planted")


async def _failure(*errors: int, addresses: int = 1) -> BaseException:
    asyncio.get_running_loop().errors = list(errors)  # type: ignore[attr-defined]
    found = [f"127.0.0.{number}" for number in range(1, addresses + 1)]
    async with calling(look_up=lambda _host, _port: found) as caller:
        try:
            await caller.post("http://peer.test:9/mcp", b"{}", AMPLE)
        except Exception as error:  # noqa: BLE001 - which one is the question
            return error
    raise AssertionError("there was an answer")


@on(FailingLoop)
async def test_which_errors_of_connecting_are_the_callers_and_which_the_peers() -> None:
    own = (
        "EMFILE ENFILE ENOBUFS ENOMEM",
        "EADDRNOTAVAIL ENETDOWN EPERM",
        "ENETUNREACH ECONNREFUSED ECONNRESET ETIMEDOUT EHOSTUNREACH EHOSTDOWN EPIPE ECONNABORTED EACCES EAFNOSUPPORT",
    )
    for names, kind in zip(own, (CallerUnable, NoRoute, Unreachable), strict=True):
        for name in names.split():
            assert type(await _failure(getattr(errno, name))) is kind, name


@on(FailingLoop)
async def test_an_unreachable_network_is_the_callers_fault_only_without_a_route(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # With a route, another machine has said so, which may be the peer's firewall.
    assert has_route("127.0.0.1")
    assert not has_route("127.255.255.255")
    monkeypatch.setattr("leaguekit.transport.client.caller.has_route", lambda _address: False)
    assert type(await _failure(errno.ENETUNREACH)) is NoRoute


def test_a_broadcast_address_is_recognised_and_nothing_else_is() -> None:
    assert is_broadcast("127.255.255.255")
    assert not any(map(is_broadcast, ("127.0.0.1", "127.1.2.3", "::1")))
    with no_descriptors_left():
        assert not is_broadcast("127.255.255.255")


@on_both_loops
async def test_who_names_a_broadcast_address_cannot_be_called_and_the_caller_is_not_at_fault() -> None:
    anywhere = AddressPolicy.only("http://somewhere:9/mcp")
    # No address of that kind is allowed otherwise.
    anywhere.allows = lambda *_: True  # type: ignore[method-assign]
    async with calling(anywhere, look_up=lambda _host, _port: ["127.255.255.255"]) as caller:
        with pytest.raises(Unreachable, match="leads to a broadcast address"):
            await caller.post("http://somewhere:9/mcp", b"{}", AMPLE)


@on(FailingLoop)
async def test_of_several_addresses_one_that_is_the_peers_fault_decides() -> None:
    unreachable, refused = errno.ENETDOWN, errno.ECONNREFUSED
    assert type(await _failure(unreachable, unreachable, addresses=2)) is NoRoute
    assert type(await _failure(unreachable, errno.EMFILE, addresses=2)) is CallerUnable
    for errors in ((unreachable, refused), (refused, unreachable)):
        error = await _failure(*errors, addresses=2)
        assert type(error) is Unreachable
        assert "refused" in str(error)


@on(asyncio.SelectorEventLoop)
async def test_a_network_that_goes_down_under_a_connection_is_the_callers_fault() -> None:
    async with serving(zoo.hangs) as server, calling() as caller:
        call = asyncio.create_task(caller.post(server.url, b"{}", AMPLE))
        await server.asked.wait()
        (connection,) = next(iter(caller._hosts.values())).connections
        connection.transport._fatal_error(OSError(errno.ENETDOWN, "planted"))  # type: ignore[attr-defined]
        with pytest.raises(CallerUnable, match="network is down"):
            await call


def test_look_ups_that_fail_are_the_names_fault_unless_this_machine_is_short_of_something() -> None:
    assert local_look_up_fault(socket.gaierror(socket.EAI_NONAME, "planted")) is None
    assert local_look_up_fault(socket.gaierror(socket.EAI_AGAIN, "planted")) is None
    assert local_look_up_fault(OSError(errno.EBUSY, "planted")) is None
    assert local_look_up_fault(socket.gaierror(socket.EAI_MEMORY, "planted")) == "cannot allocate memory"
    with no_descriptors_left():
        for error in (socket.gaierror(socket.EAI_NONAME, "planted"), OSError(errno.EBUSY, "planted")):
            assert local_look_up_fault(error) == "too many open files"
    assert local_fault(None) is local_fault(ValueError()) is local_fault(OSError("no number")) is None
    assert errno.ECONNREFUSED not in LOCAL_ERRORS


@on(asyncio.SelectorEventLoop)
async def test_without_threads_a_name_cannot_be_looked_up_and_the_caller_is_at_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async with calling(look_up=lambda _host, _port: ["127.0.0.1"]) as caller:
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", start)
            for _ in range(40):
                with pytest.raises(CallerUnable, match="cannot allocate memory"):
                    await caller.post("http://peer.test:9/mcp", b"{}", AMPLE)
        with pytest.raises(Unreachable):
            await caller.post("http://peer.test:9/mcp", b"{}", AMPLE)


@contextmanager
def descriptors(most: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _next_descriptor() -> int:
    with socket.socket() as one:
        return one.fileno()


@contextmanager
def many_in_use() -> Iterator[None]:
    """Use so much of the descriptors that the reserve is some descriptors too."""
    with ExitStack() as stack:
        for _ in range(80):
            stack.enter_context(socket.socket())
        yield


@on_both_loops
async def test_calls_leave_a_reserve_of_descriptors_and_first_close_what_is_only_kept() -> None:
    with many_in_use():
        await _leave_a_reserve()


async def _leave_a_reserve() -> None:
    async with serving(zoo.good) as server, serving(zoo.good) as other, calling() as caller:
        assert await caller.post(server.url, b"{}", AMPLE) == GOOD
        # The next connection takes a number beyond the share, and the system still has some.
        with descriptors(int((_next_descriptor() - 1) / MAX_SHARE)):
            assert await caller.post(other.url, b"{}", AMPLE) == GOOD
        assert [len(host.idle) for host in caller._hosts.values()] == [0, 1]
    async with serving(zoo.hangs) as server, serving(zoo.good) as other, calling() as caller:
        call = asyncio.create_task(caller.post(server.url, b"{}", AMPLE))
        await server.asked.wait()
        with (
            descriptors(int((_next_descriptor() - 1) / MAX_SHARE)),
            pytest.raises(CallerUnable, match="nearly all descriptors"),
        ):
            await caller.post(other.url, b"{}", AMPLE)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert await caller.post(other.url, b"{}", AMPLE) == GOOD


@on_both_loops
async def test_a_server_leaves_descriptors_for_calls_and_the_longest_idle_connection_gives_way() -> None:
    async with serving_ours() as running:
        idle = await running.connect()
        with descriptors(int(_next_descriptor() / MAX_SERVER_SHARE)):
            client = await running.connect()
            await client.send(post(b"x"))
            assert (await client.answer())[::2] == (200, b"x")
            assert await idle.ends()


def test_a_program_without_a_limit_is_never_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    far: Any = SimpleNamespace(get_extra_info=lambda _: SimpleNamespace(fileno=lambda: 1_000_000))
    assert not are_descriptors_scarce(far, MAX_SHARE)
    assert backlog(2_048) == 2_048
