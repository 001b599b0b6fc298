"""Checks of the endpoint in a registration, and of the address that the registration comes from."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.calls import is_transient
from leaguekit.league.commands import Rejected
from leaguekit.manager.reachability import check_reachable
from leaguekit.protocol.rpc import RpcError, RpcRefusal
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import CallerUnable, HttpAnswer, NoRoute, Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.memory import MemoryCaller
from tests.agents.leagues import Hall, Json, in_virtual_time
from tests.certificates import make_certificate, server_side
from tests.zoo import bad_servers as zoo

ELSEWHERE = "192.168.1.23"


async def register(
    hall: Hall, role: str, number: int, endpoint: str, peer: str, query: str = "", server: tuple[str, int] = ("", 0)
) -> Json:
    call = {
        "jsonrpc": "2.0",
        "method": f"register_{role}",
        "params": hall.registration(role, number, {"contact_endpoint": endpoint}),
        "id": 1,
    }
    answer = await hall.manager.handle(json.dumps(call).encode(), Peer(peer, query, server))
    result: Json = json.loads(answer or b"")["result"]
    return result


async def is_called(body: bytes, _peer: Any) -> bytes:
    pytest.fail("it was called")


async def answers(body: bytes, _peer: Any) -> bytes:
    return b'{"jsonrpc":"2.0","result":{},"id":1}'


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.8.8.8"])
@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_a_loopback_endpoint_from_another_machine_is_rejected_with_the_address_to_use(
    tmp_path: Path, role: str, host: str
) -> None:
    async with Hall(tmp_path) as hall:
        endpoint = f"http://{host}:8777/mcp"
        # The program that listens there belongs to another agent, and is not called at all.
        hall.network.listen(endpoint, is_called)
        code = await hall.manager.provide_referee_code(None)
        rejected = await register(hall, role, 1, endpoint, ELSEWHERE, f"referee={code}")
        assert (rejected["status"], rejected["error_code"], rejected[f"{role}_id"]) == ("REJECTED", "E048", None)
        assert f"register with http://{ELSEWHERE}:8777/mcp" in rejected["reason"]


@in_virtual_time
async def test_from_the_managers_own_machine_a_loopback_endpoint_is_taken(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        hall.network.listen("http://127.0.0.1:8777/mcp", answers)
        assert (await register(hall, "player", 1, "http://127.0.0.1:8777/mcp", "127.0.0.1"))["status"] == "ACCEPTED"


@in_virtual_time
async def test_an_endpoint_on_the_agents_own_address_is_taken(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        hall.network.listen(f"http://{ELSEWHERE}:8777/mcp", answers)
        assert (await register(hall, "player", 1, f"http://{ELSEWHERE}:8777/mcp", ELSEWHERE))["status"] == "ACCEPTED"


@pytest.mark.parametrize("host", ["192.168.1.10", "[::ffff:192.168.1.10]"])
@pytest.mark.parametrize("profile", ["spec", "open"])
@in_virtual_time
async def test_where_the_manager_was_called_is_no_endpoint_of_an_agent(tmp_path: Path, profile: str, host: str) -> None:
    async with Hall(tmp_path, profile=profile) as hall:
        endpoint = f"http://{host}:8000/x"
        hall.network.listen(endpoint, answers)
        rejected = await register(hall, "player", 1, endpoint, ELSEWHERE, server=("192.168.1.10", 8000))
        assert (rejected["status"], rejected["error_code"]) == ("REJECTED", "E048")
        assert "the manager itself" in rejected["reason"]


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [
        ("http://10.0.0.5:8101/mcp", "may not call http://10.0.0.5:8101/mcp"),
        ("http://[::ffff:8.8.8.8]/mcp", "--allow public"),
        ("http://127.1:8101/mcp", "four decimal numbers"),
    ],
)
@pytest.mark.parametrize("profile", ["spec", "open"])
@in_virtual_time
async def test_an_endpoint_that_the_manager_will_never_call_is_rejected_with_the_reason(
    tmp_path: Path, profile: str, endpoint: str, reason: str
) -> None:
    async with Hall(tmp_path, profile=profile, policy=AddressPolicy.local()) as hall:
        rejected = await register(hall, "player", 1, endpoint, "127.0.0.1")
        assert (rejected["status"], rejected["error_code"]) == ("REJECTED", "E048")
        assert reason in rejected["reason"]
        hall.network.listen("http://127.0.0.1:8777/mcp", answers)
        assert (await register(hall, "player", 1, "http://127.0.0.1:8777/mcp", "127.0.0.1"))["status"] == "ACCEPTED"


@pytest.mark.parametrize("profile", ["spec", "open"])
@pytest.mark.parametrize("host", ["127.255.255.255", "255.255.255.255", "224.0.0.1", "0.0.0.0", "[ff02::1]", "[::]"])
@in_virtual_time
async def test_an_address_at_which_nobody_can_ever_be_called_is_rejected(
    tmp_path: Path, host: str, profile: str
) -> None:
    async with Hall(tmp_path, profile=profile) as hall:
        rejected = await register(hall, "player", 1, f"http://{host}:8777/mcp", "127.0.0.1")
        assert (rejected["status"], rejected["error_code"]) == ("REJECTED", "E048")
        assert f"no agent is called at {host.strip('[]')}" in rejected["reason"]
        is_remedy_known = "register with http://127.0.0.1:8777/mcp" in rejected["reason"]
        assert is_remedy_known is (host in ("0.0.0.0", "[::]"))


@pytest.mark.parametrize("role", ["player", "referee"])
@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (CallerUnable("", "too many open files"), "cannot call anybody at the moment (too many open files)"),
        (NoRoute("", "network is unreachable"), "has no way to http://127.0.0.1:8777/mcp (network is unreachable)"),
    ],
)
@in_virtual_time
async def test_a_manager_that_cannot_call_rejects_nobody_and_says_so(
    tmp_path: Path, role: str, failure: CallerUnable, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unable(_caller: MemoryCaller, _url: str, *_: Any) -> HttpAnswer:
        raise failure

    async with Hall(tmp_path) as hall:
        hall.network.listen("http://127.0.0.1:8777/mcp", answers)
        query = f"referee={await hall.manager.provide_referee_code(None)}"
        params = hall.registration(role, 1, {"contact_endpoint": "http://127.0.0.1:8777/mcp"})
        call = {"jsonrpc": "2.0", "method": f"register_{role}", "params": params, "id": 1}
        with monkeypatch.context() as patched:
            patched.setattr(MemoryCaller, "post", unable)
            answer = json.loads(await hall.manager.handle(json.dumps(call).encode(), Peer("127.0.0.1", query)) or b"")
        error = answer["error"]
        assert error["data"]["error_code"] == "E060"
        assert said in json.dumps(error["data"])
        # Agents that retry after a transient error register again. Those of leaguekit do.
        assert is_transient(RpcRefusal(RpcError(error["code"], error["message"], error["data"])))
        league = hall.manager.ledger.league
        assert (league.players, league.referees) == ({}, {})
        accepted = await register(hall, role, 1, "http://127.0.0.1:8777/mcp", "127.0.0.1", query)
        assert accepted["status"] == "ACCEPTED"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"), "DNS:localhost")


async def called(url: str) -> str | None:
    """The result of a call to an applicant by a manager on this machine."""
    caller = HttpCaller(AddressPolicy.local())
    try:
        return await check_reachable(caller, "player", url, "league_2025_even_odd")
    finally:
        await caller.close()


def test_an_endpoint_with_a_certificate_that_is_not_valid_is_rejected_because_of_that(
    certificate: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> Rejected:
        async with zoo.serving(zoo.good, tls=server_side(certificate)) as server:
            with pytest.raises(Rejected) as caught:
                await called(f"https://localhost:{server.port}/mcp")
            return caught.value

    caplog.set_level("INFO")
    rejected = asyncio.run(main())
    assert rejected.code == "E048"
    assert "its certificate is not valid (self-signed certificate" in rejected.reason
    assert "nothing answered" not in rejected.reason
    assert "its certificate is not valid" in caplog.text


def test_an_https_endpoint_without_tls_is_rejected_because_of_that() -> None:
    async def answers_anything(line: zoo.Line) -> None:
        await line.reader.read(100)
        await line.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def main() -> Rejected:
        async with zoo.serving(answers_anything) as server:
            with pytest.raises(Rejected) as caught:
                await called(f"https://localhost:{server.port}/mcp")
            return caught.value

    assert "TLS" in asyncio.run(main()).reason


def test_a_port_at_which_nothing_listens_is_still_said_to_be_that(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(Rejected, match="nothing answered at https"):
            asyncio.run(called(f"https://127.0.0.1:{free.getsockname()[1]}/mcp"))
    assert "refused" in caplog.text


def test_a_private_authority_is_trusted_by_the_documented_variable(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with zoo.serving(zoo.good, tls=server_side(certificate)) as server:
            assert await called(f"https://localhost:{server.port}/mcp") is None

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    asyncio.run(main())


@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_endpoints_of_applicants_are_called_apart_from_those_of_registered_agents(
    tmp_path: Path, role: str
) -> None:
    called: list[str] = []

    class Noting(MemoryCaller):
        async def post(self, url: str, *rest: Any) -> HttpAnswer:
            called.append(url)
            return await super().post(url, *rest)

    async with Hall(tmp_path) as hall:
        url = "http://127.0.0.1:8777/mcp"
        hall.network.listen(url, answers)
        admission = hall.manager._admission
        noting = Noting(hall.network)
        hall._callers[noting] = "manager"
        admission._world = replace(admission._world, applicants_caller=noting)
        query = f"referee={await hall.manager.provide_referee_code(None)}"
        accepted = await register(hall, role, 1, url, "127.0.0.1", query)
        assert (accepted["status"], called) == ("ACCEPTED", [url])
        params = hall.registration(role, 1, {"contact_endpoint": url}) | {"auth_token": accepted["auth_token"]}
        assert (await hall.post(f"register_{role}", params))["result"]["status"] == "ACCEPTED"
        assert called == [url]
