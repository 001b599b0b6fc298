"""A host and its agents whose addresses change between two days, in two network namespaces."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.programs import Program
from tests.recovery.machines import ip, skip_without_namespaces

NETWORK = "10.78.0.0/24"
# The addresses of the host and of the student on the first day and on the next.
DAYS = (("10.78.0.10", "10.78.0.20"), ("10.78.0.11", "10.78.0.21"))

pytestmark = [pytest.mark.long]


class Machines:
    """Two machines with a cable between them: the host's and the student's."""

    def __init__(self) -> None:
        self.names = tuple(f"leaguekit-{what}-{os.getpid()}" for what in ("host", "student"))

    def __enter__(self) -> Self:
        host, student = self.names
        for name in self.names:
            assert ip("netns", "add", name)
            assert ip("-n", name, "link", "set", "lo", "up")
        assert ip("-n", host, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", student)
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.names:
            ip("netns", "del", name)

    def move(self, *addresses: str) -> None:
        """Give each machine another address."""
        for name, address in zip(self.names, addresses, strict=True):
            ip("-n", name, "address", "flush", "dev", "cable")
            assert ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            assert ip("-n", name, "link", "set", "cable", "up")

    def run(self, machine: int, *arguments: str | Path) -> Program:
        inside = ("ip", "netns", "exec", self.names[machine])
        return Program(*arguments, command=(*inside, sys.executable, "-m", "leaguekit"))


@pytest.fixture
def machines() -> Iterator[Machines]:
    skip_without_namespaces()
    with Machines() as made:
        yield made


def test_a_host_with_another_address_goes_on_with_its_referees_and_with_agents_that_have_a_seat(
    machines: Machines, tmp_path: Path
) -> None:
    machines.move(*DAYS[0])
    host_data, student_data = tmp_path / "host", tmp_path / "student"
    began = ("host", "--host", DAYS[0][0], "--allow", f"lan={NETWORK}", "--port", "8090", "--league-id", "days")
    with machines.run(0, *began, "--require-seat", "--announce-lead", "0", "--data-dir", host_data) as host:
        url = host.said(r"is at (http://\S+)")[1]
        assert url == f"http://{DAYS[0][0]}:8090/mcp"
        host.said("is registered: Referee 1")
        codes = _seats(machines, url, host_data)
        with _student(machines, url, codes[0], student_data) as student:
            student.said("is registered as P01|Ada is registered")
            host.said("P01 is registered: Ada")
        again = _interrupt(host)
    assert "--host" not in again
    assert "--port" not in again
    machines.move(*DAYS[1])
    with machines.run(0, *again[1:]) as host:
        host.said(f"{DAYS[0][0]} is no longer an address of this machine: listening at {DAYS[1][0]}")
        url = host.said(r"is at (http://\S+)")[1]
        assert url == f"http://{DAYS[1][0]}:8090/mcp"
        host.said("REF01 is back: Referee 1")
        with (
            _student(machines, url, codes[0], student_data),
            _student(machines, url, codes[1], student_data, name="Bob", port=8102),
        ):
            host.said("P01 is back: Ada")
            host.said("P02 is registered: Bob")
            started = _league(machines, 0, "start", "--manager", url, "--data-dir", host_data)
            assert started.process.returncode == 0, started.stderr
            host.said("The league is over", 60)


def test_a_host_in_another_network_says_what_it_needs_to_know(machines: Machines, tmp_path: Path) -> None:
    machines.move(*DAYS[0])
    began = ("manager", "--host", DAYS[0][0], "--allow", f"lan={NETWORK}", "--port", "8090", "--league-id", "days")
    with machines.run(0, *began, "--data-dir", tmp_path) as manager:
        manager.said("is at")
    machines.move("10.79.0.10", "10.79.0.20")
    with machines.run(0, "manager", "--league-id", "days", "--data-dir", tmp_path) as manager:
        assert manager.ended() == 2
    assert f"{DAYS[0][0]} is no longer an address of this machine, which has none in --allow" in manager.stderr
    elsewhere = ("--host", "10.79.0.10", "--allow", "lan=10.79.0.0/24")
    with machines.run(0, "manager", "--league-id", "days", "--data-dir", tmp_path, *elsewhere) as manager:
        assert manager.said(r"is at (http://\S+)")[1] == "http://10.79.0.10:8090/mcp"


def _league(machines: Machines, machine: int, *arguments: str | Path) -> Program:
    with machines.run(machine, *arguments) as program:
        program.ended()
    return program


def _seats(machines: Machines, url: str, data: Path) -> list[str]:
    made = _league(machines, 0, "seats", "new", "2", "--manager", url, "--data-dir", data, "--json")
    return [one["code"] for one in json.loads(made.stdout)["seats"]]


def _student(machines: Machines, url: str, code: str, data: Path, *, name: str = "Ada", port: int = 8101) -> Program:
    where = ("--host", "0.0.0.0", "--port", str(port), "--name", name, "--data-dir", data)
    return machines.run(1, "player", "--manager", f"{url}?seat={code}", *where)


def _interrupt(host: Program) -> list[str]:
    """End a host as Ctrl-C does, and return the command that continues."""
    host.process.send_signal(signal.SIGINT)
    host.ended()
    return shlex.split(host.said("Start it again, at the same address and port, with: (.*)")[1])
