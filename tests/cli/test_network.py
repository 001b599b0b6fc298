"""The addresses that the programs call and accept, by the options of the operator."""

from __future__ import annotations

import argparse
import http.client
import json
import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leaguekit.cli import CommandError, program
from tests.programs import Program
from tests.stress.lines import registration

ELSEWHERE = "10.99.99.0/24"


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a manager with one referee of its own, which may call nobody on this machine but that."""
    folder = tmp_path_factory.mktemp("hosted")
    with Program(
        "host", "--port", "0", "--allow", f"lan={ELSEWHERE}", "--host-name", "league.example", "--data-dir", folder
    ) as host:
        port = int(host.said(r"is at http://127\.0\.0\.1:(\d+)/mcp")[1])
        host.said("is registered: Referee 1")
        yield port


def ask(port: int, body: bytes, **headers: str) -> tuple[int, Any]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        line.request("POST", "/mcp", body, headers)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        line.close()


def test_a_manager_may_call_the_referees_that_were_started_with_it_wherever_they_are(hosted: int) -> None:
    status = json.dumps({"jsonrpc": "2.0", "method": "operator", "params": {"command": "status"}, "id": 1})
    assert ask(hosted, status.encode())[1]["result"]["referees"] == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_it_calls_nobody_else_whom_the_operator_did_not_allow(hosted: int, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        endpoint = f"http://{host}:{listening.getsockname()[1]}/mcp"
        result = ask(hosted, registration(1, endpoint))[1]["result"]
        assert (result["status"], result["error_code"]) == ("REJECTED", "E048")
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_who_comes_through_a_proxy_on_this_machine_is_not_of_this_machine(hosted: int) -> None:
    forwarded = {"X-Forwarded-For": "127.0.0.1, 203.0.113.7"}
    result = ask(hosted, registration(1, "http://127.0.0.1:9/mcp"), **forwarded)[1]["result"]
    assert "register with an address that others can reach" in result["reason"]


def test_a_proxy_on_this_machine_is_believed_if_the_endpoint_leads_elsewhere(tmp_path: Path) -> None:
    forwarded = {"X-Forwarded-For": "127.0.0.1, 203.0.113.7"}
    endpoint = "https://league.example:8443/mcp"
    with socket.create_server(("127.0.0.1", 0)) as sock:
        chosen = ("--socket-fd", str(sock.fileno()), "--endpoint", endpoint, "--data-dir", tmp_path)
        started, port = Program("manager", *chosen, pass_fds=[sock.fileno()]), sock.getsockname()[1]
    with started as manager:
        manager.said("League .* is at https://league.example:8443/mcp")
        result = ask(port, registration(1, "http://127.0.0.1:9/mcp"), **forwarded)[1]["result"]
        assert "register with http://203.0.113.7:9/mcp" in result["reason"]


@pytest.mark.parametrize(
    ("name", "status"), [("127.0.0.1", 200), ("league.example:8000", 200), ("evil.example", 421), ("", 421)]
)
def test_it_answers_only_to_addresses_and_to_names_that_it_was_told(hosted: int, name: str, status: int) -> None:
    ping = b'{"jsonrpc":"2.0","method":"ping","id":1}'
    assert ask(hosted, ping, Host=name)[0] == status
    assert ask(hosted, ping, Host="127.0.0.1", Origin="http://evil.example")[0] == 403


# Options


def options(**given: Any) -> argparse.Namespace:
    return argparse.Namespace(**({"host": "127.0.0.1", "allow": None, "proxy": []} | given))


@pytest.mark.parametrize(
    ("host", "allow", "address", "is_allowed"),
    [
        ("127.0.0.1", None, "127.0.0.1", True),
        ("localhost", None, "10.0.0.1", False),
        ("0.0.0.0", "local", "127.0.0.1", True),
        ("0.0.0.0", "lan=10.0.0.0/8,192.168.1.0/24", "192.168.1.9", True),
        ("0.0.0.0", "lan=10.0.0.0/8,192.168.1.0/24", "127.0.0.1", False),
        ("0.0.0.0", "public", "8.8.8.8", True),
        ("0.0.0.0", "public", "10.0.0.1", False),
    ],
)
def test_where_calls_may_go_is_loopback_or_what_the_operator_says(
    host: str, allow: str | None, address: str, is_allowed: bool
) -> None:
    assert program.policy_for(options(host=host, allow=allow)).allows(address) == is_allowed


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"host": "0.0.0.0"}, "it listens at 0.0.0.0, so say which addresses it may call"),
        ({"host": "192.168.1.5"}, "it listens at 192.168.1.5, so say which addresses it may call"),
        ({"allow": "lan"}, "--allow must be local, lan=CIDR,… or public, got 'lan'"),
        ({"allow": "lan=nowhere"}, "--allow lan=nowhere: 'nowhere' does not appear to be"),
    ],
)
def test_where_calls_may_go_must_be_said_rightly(given: dict[str, Any], why: str) -> None:
    with pytest.raises(CommandError) as refused:
        program.policy_for(options(**given))
    assert str(refused.value).startswith(why)


def test_a_proxy_is_an_address_or_a_network() -> None:
    found = program.proxies_for(options(proxy=["192.168.1.5", "10.0.0.0/8"]))
    assert [str(one) for one in found] == ["192.168.1.5/32", "10.0.0.0/8"]
    with pytest.raises(CommandError, match="--proxy must be an address: 'nginx'"):
        program.proxies_for(options(proxy=["nginx"]))


def test_a_program_that_listens_everywhere_names_the_address_that_it_has_where_others_come_from() -> None:
    everywhere: Any = SimpleNamespace(family=socket.AF_INET, getsockname=lambda: ("0.0.0.0", 8000))
    assert (
        program.url_of_socket(everywhere, program.outward_url(options(allow="lan=127.0.0.0/8")))
        == "http://127.0.0.1:8000/mcp"
    )
    assert program.url_of_socket(everywhere, "no URL", "") == "http://127.0.0.1:8000/mcp"
    assert program.outward_url(options(allow="lan=192.168.1.0/24,10.0.0.0/8")) == "http://192.168.1.1/"
    assert program.outward_url(options(allow="lan=fd12::/64")) == "http://[fd12::1]/"
    assert program.outward_url(options(allow="local")) == ""
    assert program.outward_url(options(allow="public")) != ""
    bound: Any = SimpleNamespace(family=socket.AF_INET, getsockname=lambda: ("192.168.1.5", 8000))
    assert program.url_of_socket(bound, "http://127.0.0.1/") == "http://192.168.1.5:8000/mcp"


def test_a_program_takes_as_many_files_as_the_system_lets_it_have() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        program.raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(before[1], program.MAX_FILES)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
